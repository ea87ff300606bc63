"""Answers of `flowyard why` in the terminal and as JSON."""

from typing import TYPE_CHECKING, Any

from flowyard.terminal.console import TextTable, show
from flowyard.why.path import Part

if TYPE_CHECKING:
    from flowyard.why import Answer

# Links at which a flow waited longest, so many of them.
PLACES = 5

US = 1e6


def as_json(answer: "Answer") -> dict[str, Any]:
    """Flow, completion time, totals by part, parts in the order of time, and losses."""
    return {
        "flow": answer.flow,
        "start_ps": answer.start_ps,
        "fct_ps": answer.fct_ps,
        "ideal_fct_ps": answer.ideal_fct_ps,
        "totals_ps": answer.totals,
        "parts": [
            {"part": part.name, "from_ps": part.from_ps, "until_ps": part.until_ps, "link": part.link}
            for part in answer.parts
        ],
        "lost": [
            {
                "made_ps": packet.made_ps,
                "data": packet.data,
                "link": packet.dropped[0],
                "reason": packet.dropped[1],
            }
            for packet in answer.lost
            if packet.dropped
        ],
    }


def tell(answer: "Answer") -> None:
    """Prints the parts of a flow's time, the links at which it waited, and its losses."""
    slowdown = answer.fct_ps / answer.ideal_fct_ps
    title = (
        f"Flow {answer.flow}: {answer.fct_ps / US:,.3f} us, {slowdown:,.2f} x the {answer.ideal_fct_ps / US:,.3f} us "
        "of the flow alone"
    )
    parts = [
        [name, f"{time / US:,.3f}", f"{time / answer.fct_ps:.1%}"] for name, time in answer.totals.items()
    ]
    show(TextTable(title, ("part", "us", "share"), parts))
    if places := waits(answer)[:PLACES]:
        rows = [[name, f"{time / US:,.3f}"] for name, time in places]
        show(TextTable("Ports where it waited", ("link", "us"), rows))
    if answer.lost:
        show(TextTable("Packets dropped", ("link", "reason", "kind", "made at us"), _losses(answer), left=3))


def _losses(answer: "Answer") -> list[list[str]]:
    """Link, reason and kind of the dropped packets, and when they were made."""
    rows = []
    for packet in answer.lost:
        assert packet.dropped is not None
        link, reason = packet.dropped
        kind = "data" if packet.data else "control"
        rows.append([answer.links[link], reason, kind, f"{packet.made_ps / US:,.3f}"])
    return rows


def waits(answer: "Answer") -> list[tuple[str, int]]:
    """Links at whose ports packets of the chain waited, with the time in ps, longest first."""
    sums: dict[str, int] = {}
    for part in answer.parts:
        if _waited(part):
            name = answer.links[part.link or 0]
            sums[name] = sums.get(name, 0) + part.until_ps - part.from_ps
    return sorted(sums.items(), key=lambda item: (-item[1], item[0]))


def _waited(part: Part) -> bool:
    return part.name == "queue" and part.link is not None
