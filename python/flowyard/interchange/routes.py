"""The paths that flows of a .cm file take, from a list beside it.

    # the connection, then the nodes that it passes, from host to host
    id 1: host 0, pod 0 edge 0, pod 0 aggregation 1, pod 0 edge 1, host 2
    line 5: 4, 18, 26, 19, 7

A connection is named by its id, or by its line in the .cm file; a node by its name in the scenario, or by its number:
hosts first, from 0, then switches. A connection on several lines has a path for each of its subflows.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from flowyard.folders.reading import shown
from flowyard.interchange.flows import Entry
from flowyard.interchange.htsim_cm import Matrix
from flowyard.interchange.network import Network
from flowyard.interchange.text import Source

# Most nodes of a route.
NODES_MAX = 250


def read(source: Source, matrix: Matrix, cm: str, network: Network) -> list[dict[str, Any]]:
    """The routes of `routing.balancer.explicit`, each with the flows that take it.

    Args:
        source: The list.
        matrix: The flows.
        cm: The name of their file.
        network: What they go through.

    Raises:
        UserError: A line names no connection of the file, or no path from its source to its destination.
    """
    return _Reader(source, matrix, cm, network).routes()


class _Reader:
    def __init__(self, source: Source, matrix: Matrix, cm: str, network: Network) -> None:
        self.source = source
        self.matrix = matrix
        self.cm = cm
        self.names = network.names
        self.nodes = {name: number for number, name in enumerate(self.names)}
        self.neighbours = [set(ports) for ports in network.ports()]
        # Of the connection at each line of the .cm file its entry and its place there.
        self.places = {
            line: (entry, place)
            for entry, lines in zip(matrix.entries, matrix.lines, strict=True)
            for place, line in enumerate(lines)
        }
        # A path is that of a connection with all of its messages.
        self.together = {line: lines for lines in matrix.ids.values() for line in lines}
        # The flow's number in its entry is by start, or as listed if flows wait for triggers.
        self.numbers = {entry.name: entry.numbers() for entry in matrix.entries}

    def routes(self) -> list[dict[str, Any]]:
        taken: dict[tuple[str, tuple[int, ...]], dict[int, int]] = {}
        for line, words in self.source.lines():
            who, colon, way = " ".join(words).partition(":")
            if not colon:
                raise self.source.wrong(line, 'has no colon; must be such as "id 1: host 0, switch, host 2"')
            places = self.connection(line, who.split())
            entry, place = places[0]
            path = self.path(line, way, (entry.src[place], entry.dst[place]))
            flows = taken.setdefault((entry.name, path), {})
            for _, place in places:
                number = self.numbers[entry.name][place]
                if number in flows:
                    raise self.source.wrong(line, f"is the path of line {flows[number]} once more")
                flows[number] = line
        if not taken:
            raise self.source.wrong(0, "has no path")
        return [
            {
                "path": [self.names[node] for node in path],
                "taken_by": {"traffic": name, "flows": sorted(flows)},
            }
            for (name, path), flows in taken.items()
        ]

    def connection(self, line: int, who: Sequence[str]) -> list[tuple[Entry, int]]:
        """The entry of a connection and its place there; of one with messages that of each."""
        if len(who) != 2 or who[0] not in ("id", "line"):
            said = shown(" ".join(who))
            raise self.source.wrong(line, f'{said} names no connection; must be such as "id 1" or "line 4"')
        number = self.source.whole(line, who[0], who[1])
        lines = self.matrix.ids.get(number, []) if who[0] == "id" else self.together.get(number, [number])
        found = [self.places[at] for at in lines if at in self.places]
        if not found:
            what = (
                f"no connection has the id {number}" if who[0] == "id" else f"line {number} is no connection"
            )
            raise self.source.wrong(line, f"in {self.cm} {what}")
        return found

    def path(self, line: int, way: str, ends: tuple[int, int]) -> tuple[int, ...]:
        """The nodes of a path, by number."""
        path = [self.node(line, word.strip()) for word in way.split(",")]
        if not 2 <= len(path) <= NODES_MAX:
            raise self.source.wrong(
                line, f"a path of {len(path)} nodes; a path has between 2 and {NODES_MAX}"
            )
        if (path[0], path[-1]) != ends:
            found, flow = (f"from {self.name(a)} to {self.name(b)}" for a, b in ((path[0], path[-1]), ends))
            raise self.source.wrong(line, f"the path leads {found}, the connection {flow}")
        for place, node in enumerate(path):
            if node in path[:place]:
                raise self.source.wrong(line, f"{self.name(node)} is on the path already")
        for a, b in pairwise(path):
            if b not in self.neighbours[a]:
                near = sorted(self.neighbours[a])
                more = " and others" if len(near) > 4 else ""
                others = ", ".join(map(self.name, near[:4])) + more
                raise self.source.wrong(
                    line,
                    f"there is no cable from {self.name(a)} to {self.name(b)}; its cables lead to {others}",
                )
        return tuple(path)

    def name(self, node: int) -> str:
        return shown(self.names[node])

    def node(self, line: int, word: str) -> int:
        """The number of a node that is given by name or number."""
        found = self.nodes.get(word)
        if found is None and word.isdecimal() and len(word) < 10 and int(word) < len(self.names):
            found = int(word)
        if found is None:
            last = len(self.names) - 1
            raise self.source.wrong(
                line,
                f"{shown(word)} is no node of the network; give a name, such as {shown(self.names[-1])}, or a"
                f" number from 0 to {last}",
            )
        return found
