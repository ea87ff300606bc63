"""Members that a comparison names: transports, and congestion controls and classes in Python by their own names."""

import difflib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flowyard import results
from flowyard.errors import UserError
from flowyard.member_names import transport_named, transport_names

if TYPE_CHECKING:
    from os import PathLike

    from flowyard.model import Model
    from flowyard.prototypes.registry import Registered

# The kind of the prototypes that a field may have, by the last word of its path.
KIND_OF_FIELD = {"congestion": "control", "queue": "queue", "balancer": "balancer"}


class Members:
    """The names that values of a comparison may have, and checks of scenarios with the classes behind them.

    Args:
        handed: Members in Python.
    """

    def __init__(self, handed: "Sequence[Registered]" = ()) -> None:
        self.handed = handed

    def checked(
        self, scenario: "str | PathLike[str] | Model | Mapping[str, Any]", changes: Mapping[str, Any]
    ) -> results.Checked:
        """A scenario with changes and these members in Python, checked by the engine."""
        return results.Checked(scenario, changes, self.handed)

    def check(
        self,
        scenario: "str | PathLike[str] | Model | Mapping[str, Any]",
        changes: Mapping[str, Any] | None = None,
        *,
        whole: bool = False,
    ) -> results.Resolved:
        """The fields of a checked scenario: see `flowyard.check`."""
        return results.Resolved(self.checked(scenario, changes or {}), whole=whole)

    def of_field(self, field: str, value: Any) -> Any:
        """A value of a field, in which a class in Python may go by its name alone."""
        last = field.rpartition(".")[2]
        if last == "transport":
            return self.transport(value)
        kind = KIND_OF_FIELD.get(last)
        return _python(value) if isinstance(value, str) and value in self._classes(kind) else value

    def transport(self, value: Any, own: str | None = None) -> Any:
        """A transport by its name, or by that of a congestion control of one: {"tcp": {"congestion": "dctcp"}}.

        Args:
            value: A name, or a transport as in scenarios, which stays as it is.
            own: The scenario's own transport, whose controls come before all other names.

        Raises:
            UserError: The name is that of no transport; the text has the nearest one.
        """
        if not isinstance(value, str):
            return value
        classes = self._classes("control")
        defined = results.schema()["$defs"]
        if (found := transport_named(value, defined, own)) is not None:
            return found
        if value in self._classes("transport"):
            return _python(value)
        if value in classes:
            return {"tcp": {"congestion": _python(value)}}
        for field, kind in (("queue", "queue"), ("balancer", "balancer")):
            if value in self._classes(kind):
                raise UserError(
                    f"compare: {value!r} is a {kind} of yours, no transport; name the field: --compare "
                    f"{field}=A,{value}"
                )
        names = [*transport_names(defined), *self._classes("transport"), *classes]
        near = _nearest(value, names)
        meant = f"did you mean {near}? " if near else ""
        raise UserError(
            f"compare: {value!r} is no transport; {meant}there are {', '.join(dict.fromkeys(names))}"
            + ("" if self.handed else "; the file of a class in Python follows --prototype")
        )

    def _classes(self, kind: str | None) -> list[str]:
        return [own.name for own in self.handed if own.kind == kind]


def _nearest(value: str, names: Sequence[str]) -> str | None:
    """The name that was probably meant: capitals and joints make no difference, and ns-3 has Tcp before some names."""
    plain = {name.lower().replace("_", "-"): name for name in reversed(names)}
    word = value.lower().replace("_", "-")
    for tried in (word, word.rpartition("::")[2].removeprefix("tcp").strip("-")):
        if near := difflib.get_close_matches(tried, plain, n=1):
            return plain[near[0]]
    return None


def _python(name: str) -> dict[str, Any]:
    """The member that is a class in Python."""
    return {"python": {"name": name}}
