"""Incast: 2 to 100 servers send 50 KB each to one at once, under all transports; under NDP up to 8,000 send 10 KB."""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis import completion
from flowyard.papers import judge
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Plan
from flowyard_papers.literature import _compare
from flowyard_papers.ndp import _incast

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SENDERS, MANY = (2, 4, 8, 16, 32, 64, 100), (100, 1000, 2000, 4000, 8000)
# Of a packet with NDP's defaults: 64 of its 1500 B are header.
PAYLOAD, HEADER = 1436, 64
SIZE = 10_000
LAST = 1.2
# What is shown of many senders.
_MEASURES = {
    "last_over_ideal": "last flow / ideal",
    "goodput_share": "goodput / link",
    "jain": "Jain's index",
    "retransmissions": "packets repeated",
    "timeouts": "timeouts",
}


def plans(scale: Scale) -> dict[str, Plan]:
    """Each transport with each number of senders; NDP with many."""
    entry = _incast.entry(50_000) | {"deadlines": _compare.DEADLINES}
    base = {"topology": _compare.fat_tree(8), "traffic": [entry], "run": {"until": "60s"}}
    # All that is NDP's own are defaults.
    ndp = {"transport": {"ndp": {"mtu": "1500B"}}, "queue": "ndp"}
    many = {"topology": _compare.fat_tree(32), "transport": "ndp", "traffic": [_incast.entry(SIZE)]}
    numbers = scale.pick(MANY[:3], MANY)
    return {
        "incast": Plan(
            base, [_compare.axis(NDP=ndp), _incast.senders(SENDERS)], scale.pick(2, 10), name="incast"
        ),
        "many": Plan(many, [_incast.senders(numbers)], scale.pick(1, 5), name="many senders"),
    }


def tables(sweeps: Sweeps) -> Tables:
    """Completion of each run's flows; the last flow, goodput and fairness; what ports took away."""
    sweep = sweeps["incast"]
    on_wire = (SIZE + HEADER * -(-SIZE // PAYLOAD)) / SIZE
    return {
        "runs": _compare.groups(sweep, ["by", "senders"]).filter(group=completion.ALL),
        "last": _incast.runs(sweep, ["by", "senders"], _compare.RATE_BPS),
        "many": _incast.runs(sweeps["many"], ["senders"], _compare.RATE_BPS, on_wire),
    }


def _last_of_many(tables: Tables) -> Judgement:
    many = tables["many"]
    if not set(many["senders"]) >= set(MANY):
        return judge.not_reached(f"there are not all numbers of senders up to {MANY[-1]:,}")
    open_ones = many.filter(pl.col("last_over_ideal").is_null())["senders"].unique().sort()
    if len(open_ones):
        return judge.judged(
            False, f"flows that never end with {', '.join(map(str, open_ones))} senders", "all flows end"
        )
    worst = many.sort("last_over_ideal", descending=True).row(0, named=True)
    return judge.at_most(worst["last_over_ideal"], LAST).because(f"worst with {worst['senders']} senders")


def draw(tables: Tables) -> "Picture":
    """Mean and 99th percentile by the number of senders; a row below, the last of many under NDP."""
    picture = _compare.draw(tables["runs"], "senders", [completion.ALL], "senders", rows_below=1)
    below = picture.axes[len(_compare.MEASURES) :]
    for axes, (column, label) in zip(below, _MEASURES.items(), strict=True):
        axes.plot(tables["many"]["senders"], tables["many"][column], "o")
        axes.set(xlabel="senders", ylabel=label, title="NDP, 10 KB each")
    below[0].axhline(LAST, color="#000000", linewidth=0.9, linestyle="--")
    for axes in picture.axes:
        ticks = MANY if axes in below else SENDERS
        axes.set_xscale("log")
        axes.set_xticks(ticks, [str(n) for n in ticks])
        axes.set_xticks([], minor=True)
    return picture


FIGURE = Figure(
    id="LIT-INCAST",
    title="Incast: all transports, 50 KB from each of 2 to 100 servers; NDP, 10 KB from each of 100 to 8,000",
    plans=plans,
    tables=tables,
    claims={"LIT-INCAST.a": _last_of_many},
    draw=draw,
    needs={"many": Needs(5, by=("senders",))},
    assumed=(
        *_compare.ASSUMED,
        "A fat-tree of 128 servers; senders are drawn at random, and start within 1.2 us.",
        "Up to 8,000 senders: a fat-tree of 8,192 servers, and NDP with its defaults in all, per-packet ECMP "
        "included. The ideal has the headers of packets, as they are on the wire.",
    ),
)
