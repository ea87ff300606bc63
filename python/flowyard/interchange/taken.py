"""The network that `--topology` names for flows without one: by its number of hosts, or of a scenario.

Of a scenario flows take the transport, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowyard.errors import UserError
from flowyard.folders import reading
from flowyard.folders.reading import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

# Networks that need no file, only the number of hosts.
BY_HOSTS = SINGLE_SWITCH, FAT_TREE = "single-switch", "fat-tree"
# What else a scenario says of its network and its hosts.
_LEFT = ("routing", "queue", "buffer", "agent", "faults")


@dataclass(frozen=True)
class Named:
    """A scenario whose network flows take.

    Attributes:
        path: Its file.
        topology: Its network.
        stack: Its transport, and the controller beside it; empty if it names no transport for all entries.
        left: Other parts that it has, which are not taken.
    """

    path: Path
    topology: dict[str, Any]
    stack: dict[str, Any]
    left: list[str]

    @property
    def transport(self) -> str | None:
        """The name of its transport."""
        from flowyard import results

        return results.variant(self.stack["transport"]) if self.stack else None

    def hosts(self) -> Sequence[str]:
        """The names of its hosts."""
        from flowyard.interchange import exporting

        return exporting.fabric(exporting.with_traffic({"topology": self.topology})).hosts

    def taken(self) -> str:
        """The note of a scenario whose transport hosts run."""
        left = f"; not taken: its {', '.join(self.left)}" if self.left else ""
        return f"hosts run {self.transport}, as in {self.path}{left}; --transport changes it"

    def not_taken(self) -> str:
        """The note of a scenario whose transport is not that of htsim's files."""
        what = "files of htsim mean its NDP, and its settings"
        return f"the transport of {self.path}, {self.transport}, is not taken: {what}; --transport changes it"


def named(scenario: str) -> Named:
    """The scenario that --topology names."""
    from flowyard import scenarios

    file = Path(scenario)
    if scenario and not reading.is_there(file) and file.name.removesuffix(".toml") not in scenarios.names():
        raise UserError(
            f"--topology {shown(scenario)}: is no scenario file, and no packaged scenario, whose network to take; "
            f"those are {', '.join(scenarios.names())}; {' and '.join(BY_HOSTS)} are networks for as many hosts as "
            "the flows have"
        )
    path = scenarios.find(scenario)
    text = reading.text(path, encoding="utf-8-sig")
    data = (reading.parse_json if path.suffix == ".json" else reading.parse_toml)(text, str(path))
    if not isinstance(data, dict):
        data = {}
    topology = data.get("topology")
    if isinstance(topology, str):
        topology = {topology: {}}
    if not isinstance(topology, dict):
        raise UserError(f"{path}: has no topology to take")
    stack = {part: data[part] for part in ("transport", "controller") if data.get(part)}
    if not isinstance(stack.get("transport"), str | dict):
        stack = {}
    return Named(path, topology, stack, [part for part in _LEFT if data.get(part)])
