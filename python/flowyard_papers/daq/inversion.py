"""Deadline inversion (sections I and III): flows that are served ahead of one that is due earlier and then is late.

D3 gives rates to those who ask first, which the paper blames for it; DAQ's urgent queue is to prevent it. A flow counts
once if there is at least one that should have gone first, waited for it, and missed its deadline.
"""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis import deadlines
from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Plan
from flowyard_papers.daq import _judges as judges
from flowyard_papers.daq import _rack as rack
from flowyard_papers.daq import _readings as readings
from flowyard_papers.daq._models import DEADLINES, FLOORED

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

MEAN_BYTES = 30_000
KEYS = ["reading", "scheme", "senders"]
SCHEMES = (*rack.PAPER, rack.DAQ_LARGE, rack.DAQ_MET, rack.D3_PLAIN, rack.PDQ, rack.DCTCP)


def plans(scale: Scale) -> dict[str, Plan]:
    """Rounds of answers of 30 KB, with every reading of the deadlines."""
    flows = rack.incast(MEAN_BYTES, scale.pick(20, 100), "100ms", FLOORED)
    axes = [
        rack.readings(list(DEADLINES)),
        rack.schemes(SCHEMES, [flows]),
        rack.senders(scale.pick((10, 20, 40), tuple(range(5, 41, 5)))),
    ]
    return {"incast": Plan(axes=axes, replicas=scale.pick(3, 10), name="inversion")}


def tables(sweeps: Sweeps) -> Tables:
    """One row per run: the share of flows that were served ahead of one that should have gone first and missed."""
    columns = ("dst", "start_ps", "fct_ps", "deadline_ps", "met_deadline")
    rows = [
        dict(zip([*KEYS, "replica"], keys, strict=True))
        | {
            "inverted_pct": 100 * deadlines.inversions(flows).flows / len(flows),
            "missed_pct": 100 * (1 - (deadlines.application_throughput(flows) or 0.0)),
        }
        for keys, flows in sweeps["incast"]
        .flows.select(*KEYS, "replica", *columns)
        .collect()
        .group_by(*KEYS, "replica", maintain_order=True)
    ]
    runs = pl.DataFrame(rows).sort(*KEYS, "replica")
    return {"runs": runs, "points": replica_means(runs, KEYS, ["inverted_pct", "missed_pct"])}


def _fewer(tables: Tables) -> Judgement:
    pairs = [(rack.D3, rack.DAQ)]

    def fewer(runs: pl.DataFrame) -> Judgement:
        found = judges.ordered(runs, pairs, "inverted_pct", "senders", points=True)
        return found.because(f"{found.reason}. DAQ: {rack.CUT}")

    of_daq = [one for one in readings.OF_DAQ if one.daq in SCHEMES]
    of = (*readings.BY_DEADLINES, *of_daq, *readings.OF_D3)
    return judges.by_reading(tables["runs"], of, fewer)


def draw(tables: Tables) -> "Picture":
    """A panel for each reading of the deadlines."""
    picture, panels = style.panels(1, len(DEADLINES))
    for axes, reading in zip(panels, DEADLINES, strict=True):
        for scheme in SCHEMES:
            own = tables["points"].filter(reading=reading, scheme=scheme).sort("senders")
            axes.plot(own["senders"].to_numpy(), own["inverted_pct"].to_numpy(), **rack.look(scheme))
        axes.set(title=f"deadlines: {reading}", xlabel="senders")
    panels[0].set_ylabel("flows served out of turn (%)")
    panels[0].legend()
    return picture


FIGURE = Figure(
    id="DAQ-P4",
    title="Deadline inversion",
    plans=plans,
    tables=tables,
    claims={"DAQ-P4": _fewer},
    draw=draw,
    needs={
        "runs": [
            Needs(10, by=KEYS, where={"scheme": name})
            for name in (rack.DAQ, rack.DAQ_LARGE, rack.DAQ_MET, rack.D3, rack.D3_PLAIN)
        ]
    },
    assumed=(*rack.ASSUMED, *rack.ASSUMED_OTHERS, *readings.ASSUMED, "A mean size of 30 KB, and 100 rounds."),
)
