"""The hosts of a table's flows, by what its cells call them: a number, the host's name, or names in their order."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from flowyard.folders.reading import shown
from flowyard.interchange.hpcc_flow import node
from flowyard.interchange.text import Source, decimal

# Names of hosts that a message or a note lists.
SOME = 3
_IN_ORDER = "--hosts-in-order takes names as hosts 0, 1, ... in the order of their first appearance"
# A word and a number, such as h0, host_0 and server-0.
_NUMBERED = re.compile(r"[A-Za-z]+[ _.-]?(\d+)", re.ASCII)


@dataclass
class Hosts:
    """The names and numbers that cells may have for hosts.

    Attributes:
        names: The names of the network's hosts; none of a network that follows from the flows.
        host_of: The host of each node's number; by default the number itself.
        in_order: Whether the file's names are hosts 0, 1, ... in the order of their first appearance.
    """

    names: Sequence[str] = ()
    host_of: Mapping[int, int] | None = None
    in_order: bool = False
    _by_name: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self._by_name = {} if self.in_order else {name: host for host, name in enumerate(self.names)}

    @property
    def count(self) -> int | None:
        """How many hosts the file's names are, where these count in order."""
        return len(self._by_name) if self.in_order else None

    def number(self, source: Source, line: int, role: str, word: str) -> int:
        """The number of the host that a cell names."""
        if word in self._by_name:
            return self._by_name[word]
        if self.in_order and word:
            return self._next(source, line, role, word)
        if self.names and not word.isdecimal():
            raise source.wrong(line, f"{role} is {shown(word)}, {self._unknown(word)}")
        # An address, such as 10.0.0.1, is a name.
        if word and not self.names and decimal(word.lstrip("+-."), 0) is None:
            what = (
                f"names need their network: give a list of cables, too, or --topology SCENARIO; {_IN_ORDER}"
            )
            raise source.wrong(line, f"{role} is {shown(word)}; {what}")
        return node(source, line, role, word, self.host_of)

    def notes(self) -> list[str]:
        """Which hosts the names are, where these count in order."""
        if not self.in_order:
            return []
        first = [
            f"{shown(word)} is {self.names[host] if self.names else f'host {host}'}"
            for word, host in list(self._by_name.items())[:SOME]
        ]
        more = f"; {self.count} names in all" if len(self._by_name) > SOME else ""
        return [f"names are hosts in the order of their first appearance: {', '.join(first)}{more}"]

    def _next(self, source: Source, line: int, role: str, word: str) -> int:
        """The next host, for a name that appears for the first time."""
        host = len(self._by_name)
        if self.names and host == len(self.names):
            raise source.wrong(
                line, f"{role} is {shown(word)}, one name more than the {host} hosts of the topology"
            )
        self._by_name[word] = host
        return host

    def _unknown(self, word: str) -> str:
        """Of a name that no host has: some that there are, the one that may be meant, and the option for names."""
        said = f"which is no host of the topology, such as {', '.join(self.names[:SOME])}"
        match = _NUMBERED.fullmatch(word)
        meant = f"host {match[1].lstrip('0') or '0'}" if match else ""
        near = f"did you mean {shown(meant)}? " if meant in self._by_name else ""
        return f"{said}; {near}{_IN_ORDER}"
