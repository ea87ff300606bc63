"""Views in notebooks. The report draws them, a room above the classes that have one: they know it by name alone."""

from importlib import import_module
from typing import ClassVar

# The module with a function for each view, imported when a notebook asks for one.
DRAWN_BY = "flowyard.report.notebook"


class Displayed:
    """An object that a notebook shows as HTML.

    Attributes:
        _view: The function that draws it, which gets the object; None from it is the plain text of the object.
    """

    _view: ClassVar[str]

    def _repr_html_(self) -> str | None:
        shown: str | None = getattr(import_module(DRAWN_BY), self._view)(self)
        return shown
