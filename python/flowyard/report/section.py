"""A section of a page: its template, what that shows, and its charts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flowyard.report import charts


@dataclass(frozen=True)
class Section:
    """A section.

    Attributes:
        key: The id of its element; its template is run/sections/<key>.html.jinja.
        menu: Its entries in the page's menu: the id of an element, and words.
        data: What its template shows, besides what all sections of the page do.
        specs: Vega-Lite data by the key of a chart.
    """

    key: str
    menu: tuple[tuple[str, str], ...]
    data: Mapping[str, Any]
    specs: Mapping[str, charts.Spec] = field(default_factory=dict)

    @property
    def template(self) -> str:
        """The file of its template."""
        return f"run/sections/{self.key}.html.jinja"
