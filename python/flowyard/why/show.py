"""Answers of `flowyard why` in the terminal and as JSON."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from flowyard import text
from flowyard.terminal.console import TextTable, show
from flowyard.why.faults import by_link

if TYPE_CHECKING:
    from flowyard.why import Answer

# Links at which a flow waited longest, and flows for whose packets it did, so many of each.
PLACES = 5
# Losses that are listed.
LOSSES = 12
# The table of the links that lost or trimmed a flow's packets.
LOST_AT = "Links that lost or trimmed its packets"

US = 1e6


def as_json(answer: "Answer") -> dict[str, Any]:
    """Flow, its hosts and size, completion time, totals by part, parts in the order of time, and losses."""
    return {
        "flow": answer.flow,
        "from": answer.ends[0],
        "to": answer.ends[1],
        "size_bytes": answer.size_bytes,
        "start_ps": answer.start_ps,
        "fct_ps": answer.fct_ps,
        "ideal_fct_ps": answer.ideal_fct_ps,
        "totals_ps": answer.totals,
        "parts": [
            {
                "part": part.name,
                "from_ps": part.from_ps,
                "until_ps": part.until_ps,
                "link": part.link,
                "of_flow": part.of,
            }
            for part in answer.parts
        ],
        "lost": [
            {
                "made_ps": loss.packet.made_ps,
                "data": loss.packet.data,
                "seq": loss.packet.seq,
                "link": loss.link,
                "reason": loss.reason,
                "fault": asdict(loss.fault) if loss.fault else None,
                "noticed": loss.noticed,
                "took_ps": loss.took_ps,
            }
            for loss in answer.losses
        ],
    }


def tell(answer: "Answer", *, asked: bool = True) -> None:
    """Prints the parts of a flow's time, the links at which it waited, for whose packets, and its losses.

    Of a large run it is not known for whose packets unless that is asked for, which it then says.
    A list of losses begins with the first, and may end before those to a fault: a table before it has them all by
    link and cause.
    """
    slowdown = answer.fct_ps / answer.ideal_fct_ps
    # Plain blanks: the terminal then needs no rich.
    name = f"Flow {answer.flow}, {' -> '.join(answer.ends)}, {text.size(answer.size_bytes)}".replace(
        "\u00a0", " "
    )
    title = (
        f"{name}: {answer.fct_ps / US:,.3f} us, {slowdown:,.2f} x the ideal of "
        f"{answer.ideal_fct_ps / US:,.3f} us"
    )
    parts = [
        [name, f"{time / US:,.3f}", text.percent(time / answer.fct_ps, 1)]
        for name, time in answer.totals.items()
    ]
    show(TextTable(title, ("part", "us", "share"), parts))
    if places := waits(answer):
        rows = [[answer.links[link], answer.tiers[link], f"{time / US:,.3f}"] for link, time in places]
        name = _listed("Ports where it waited", PLACES, len(places))
        show(TextTable(name, ("link", "tier", "us"), rows[:PLACES], left=2))
    if others := whose(answer):
        rows = [[f"flow {flow}", f"{time / US:,.3f}"] for flow, time in others]
        name = _listed("Flows for whose packets it waited", PLACES, len(others))
        show(TextTable(name, ("flow", "us"), rows[:PLACES]))
    elif waits(answer) and not asked:
        print("--whose says for whose packets it waited")
    if lost := by_link(answer.losses):
        rows = [[answer.links[one.link], f"{one.data:,}", f"{one.control:,}", one.cause] for one in lost]
        name = _listed(LOST_AT, PLACES, len(lost))
        show(TextTable(name, ("link", "data", "control", "reason"), rows[:PLACES], words_last=True))
        name = _listed("Packets dropped or trimmed", LOSSES, len(answer.losses))
        head = ("link", "reason", "kind", "noticed by", "made at us", "us until repeated")
        show(TextTable(name, head, _losses(answer), left=4))


def _listed(name: str, most: int, there: int) -> str:
    """The name of a table that lists at most so many of those that there are."""
    return f"{name}, the first {most} of {there:,}" if there > most else name


def _losses(answer: "Answer") -> list[list[str]]:
    """The first losses: where, why, how they were noticed, and how long that took."""
    rows = []
    for loss in answer.losses[:LOSSES]:
        kind = "data" if loss.packet.data else "control"
        took = "-" if loss.took_ps is None else f"{loss.took_ps / US:,.3f}"
        made = f"{loss.packet.made_ps / US:,.3f}"
        rows.append([answer.links[loss.link], loss.reason, kind, loss.noticed, made, took])
    return rows


def waits(answer: "Answer") -> list[tuple[int, int]]:
    """Links at whose ports packets of the chain waited, with the time in ps, longest first."""
    sums: dict[int, int] = {}
    for part in answer.parts:
        if part.waits and part.link is not None:
            sums[part.link] = sums.get(part.link, 0) + part.until_ps - part.from_ps
    return sorted(sums.items(), key=lambda item: (-item[1], item[0]))


def losing(answer: "Answer") -> list[int]:
    """Links at whose ports packets of the flow were lost or trimmed, most packets first."""
    counts: dict[int, int] = {}
    for loss in answer.losses:
        counts[loss.link] = counts.get(loss.link, 0) + 1
    return sorted(counts, key=lambda link: (-counts[link], link))


def whose(answer: "Answer") -> list[tuple[int, int]]:
    """Other flows for whose packets those of the chain waited, with the time in ps, longest first."""
    sums: dict[int, int] = {}
    for part in answer.parts:
        if part.of is not None and part.of != answer.flow:
            sums[part.of] = sums.get(part.of, 0) + part.until_ps - part.from_ps
    return sorted(sums.items(), key=lambda item: (-item[1], item[0]))
