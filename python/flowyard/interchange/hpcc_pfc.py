"""Pauses as HPCC's ns-3 code lists them (pfc.txt).

    2000004213 17 1 3 1

A line is a frame that a port has received: time in ns, number of the node, 0 for a host and 1 for a switch, number of
the port on the node from 1, and 1 for a pause or 0 for a resume. It names no class: a line is written for each one that
stops or resumes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flowyard.errors import UserError
from flowyard.interchange.hpcc_ports import ports_of
from flowyard.interchange.text import Source

if TYPE_CHECKING:
    from flowyard.results import Result

PS_PER_NS = 1000
CLASSES = 8
_NS_MAX = 10**15
_NODES = 2**32


@dataclass(frozen=True)
class Frame:
    """A frame that a port has received.

    Attributes:
        time_ps: When it arrived.
        node: Number of the node.
        is_switch: Whether that is a switch.
        port: Number of the port on the node, from 1.
        pauses: Whether it pauses a class rather than resumes it.
    """

    time_ps: int
    node: int
    is_switch: bool
    port: int
    pauses: bool


def read(source: Source) -> list[Frame]:
    """The frames of a file, as listed."""
    frames = []
    for line, words in source.lines():
        if len(words) != 5:
            raise source.wrong(line, "must be five numbers: time in ns, node, type, port, pause")
        time, node, kind, port, pause = (
            source.whole(line, name, word, low, high)
            for (name, low, high), word in zip(
                (
                    ("time", 0, _NS_MAX),
                    ("node", 0, _NODES),
                    ("type", 0, 1),
                    ("port", 1, _NODES),
                    ("pause", 0, 1),
                ),
                words,
                strict=True,
            )
        )
        frames.append(Frame(time * PS_PER_NS, node, bool(kind), port, bool(pause)))
    return frames


def write(result: "Result") -> str:
    """The file of a run that has observed its pauses."""
    return "".join(
        f"{frame.time_ps // PS_PER_NS} {frame.node} {int(frame.is_switch)} {frame.port} {int(frame.pauses)}\n"
        for frame in frames_of(result)
    )


def frames_of(result: "Result") -> Iterator[Frame]:
    """The frames that ports of a run have received, in their order."""
    if result.events is None:
        raise UserError(
            'the run has not observed its pauses; run it with --set \'observe.events={"kinds": ["paused"]}\''
        )
    ports = ports_of(result)
    stopped = [0] * len(ports)
    paused = result.events.to_polars().filter(kind="paused").select("time_ps", "link", "value")
    for time_ps, link, value in paused.iter_rows():
        classes, before = int(value), stopped[link]
        stopped[link] = classes
        node, is_switch, port = ports[link]
        for number in range(CLASSES):
            if (classes ^ before) >> number & 1:
                yield Frame(time_ps, node, is_switch, port, bool(classes >> number & 1))
