"""Impact of each fault: the flows that were active during it, its duration, and their losses."""

from dataclasses import dataclass
from typing import Any

from flowyard import text
from flowyard.analysis import met, quantities, spans_of
from flowyard.forks import pl
from flowyard.report.run import facts
from flowyard.report.run.tables import Cell
from flowyard.run_data import Run

# Faults of a run, and flows of a fault, that are listed.
MOST_FAULTS, MOST_FLOWS = 6, 12


@dataclass(frozen=True)
class FaultImpact:
    """A fault, what it came to in words, and the flows that it hit most.

    Attributes:
        fault: When and what, and to what.
        routes: When routes changed, in words; empty if they did not.
        counts: How many flows were active, how many of them lost packets, and what the links lost.
        losers: Flows that lost packets to faults.
        rows: Cells of each that lost most: number, from, to, size, active in the interval from and
            to, lost, retransmissions, timeouts, slowdown.
    """

    fault: facts.Cell
    routes: str
    counts: str
    losers: int
    rows: list[list[Cell]]


def impacts(run: Run) -> list[FaultImpact]:
    """The first faults of a run."""
    wrong = spans_of(run.faults)[:MOST_FAULTS]
    return [
        _impact(run, fault, end, met(run.flows, fault["at_ps"], end), _lost(run, fault))
        for fault, end in wrong
    ]


def _routes(run: Run, fault: dict[str, Any], end: int | None) -> str:
    """When routes changed to avoid what was down, and when to use it again."""
    settings = run.scenario.get("faults") or {}
    if fault["change"] != "down" or "detection_delay" not in settings:
        return ""
    delay = quantities.picoseconds(settings["detection_delay"])
    # What was down at time 0 was so before the run, which routes knew.
    times = [at + delay for at in (fault["at_ps"] or None, end) if at is not None]
    changed = [text.duration(at) for at in times if at <= run.end_ps]
    start = [] if fault["at_ps"] else ["avoided it from the start"]
    said = [*start, *([f"changed at {' and '.join(changed)}"] if changed else [])]
    return f"routes {' and '.join(said)}" if said else "the run ended before routes changed"


def _lost(run: Run, fault: dict[str, Any]) -> int:
    """Packets lost on the links of a fault, and on those of its nodes."""
    own = pl.col("id").is_in(fault["links"]) | pl.any_horizontal(
        pl.col("from", "to").cast(pl.String).is_in(fault["nodes"])
    )
    return int(run.links.filter(own)["lost"].sum())


def _impact(run: Run, fault: dict[str, Any], end: int | None, flows: pl.DataFrame, lost: int) -> FaultImpact:
    losers = flows.filter(pl.col("lost") > 0)
    were = "was" if flows.height == 1 else "were"
    counts = (
        f"{text.counted(flows.height, 'flow')} {were} active; {text.count(losers.height)} of them lost packets "
        f"to faults; its links lost {text.counted(lost, 'packet')}"
    )
    rows = [
        [
            Cell(text.count(flow["id"]), value=flow["id"], title=flow["tag"]),
            Cell(f"host {flow['src']}", value=flow["src"]),
            Cell(f"host {flow['dst']}", value=flow["dst"]),
            Cell(text.size(flow["size_bytes"]), value=flow["size_bytes"]),
            Cell(text.duration(flow["met_from_ps"]), value=flow["met_from_ps"]),
            Cell(text.duration(flow["met_to_ps"] or run.end_ps), value=flow["met_to_ps"] or run.end_ps),
            *(
                Cell(text.count(flow[name]), "" if flow[name] else "zero", value=flow[name])
                for name in ("lost", "retransmissions", "timeouts")
            ),
            Cell(
                text.ratio(flow["slowdown"]) if flow["completed"] else "unfinished",
                "" if flow["completed"] else "bad",
                value=flow["slowdown"],
            ),
        ]
        for flow in losers.head(MOST_FLOWS).iter_rows(named=True)
    ]
    return FaultImpact(facts.fault(run, fault), _routes(run, fault, end), counts, losers.height, rows)
