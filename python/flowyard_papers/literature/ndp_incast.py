"""NDP's incast as its own paper has it (Handley et al., SIGCOMM 2017, section 6, figure 20a): 270 KB from each sender.

As in the scripts that its authors publish for this figure: a fat-tree of 8192 hosts, 10 Gbps, 30 packets of 9000 B and
a header each, 8 of them in a port's queue, a window of 23, all flows at the same instant; headers that find no room
return to their sender. The last flow ends when the receiver's link has carried everything; what it takes longer is what
trimmed headers take of the link, and the time in which nothing is on its way to it.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import judge, pinned_fields, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Plan
from flowyard_papers.ndp import _incast

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

RATE_BPS, PAYLOAD, HEADER = 10_000_000_000, 9000, 64
LAST, GOODPUT = 1.02, 0.9
SENDERS = (2, 4, 8, 16, 32, 64, 100)


def plans(scale: Scale) -> dict[str, Plan]:
    """All numbers of senders at both scales."""
    scenario = {
        "topology": {"fat-tree": {"k": 32, "rate": "10Gbps", "delay": "1us"}},
        "routing": {"balancer": "permuted"},
        "transport": {
            "ndp": {
                **pinned_fields.NDP,
                "mtu": f"{PAYLOAD}B",
                "mtu_includes_header": False,
                "initial_window": 23,
            }
        },
        "queue": {"ndp": {"return_to_sender": True}},
        "traffic": [_incast.entry(270_000) | {"arrivals": {"at-once": {"jitter": "0s"}}}],
    }
    return {"incast": Plan(scenario, [_incast.senders(SENDERS)], scale.pick(2, 10), name="incast")}


def tables(sweeps: Sweeps) -> Tables:
    """One row per run."""
    return {"runs": _incast.runs(sweeps["incast"], ["senders"], RATE_BPS, (PAYLOAD + HEADER) / PAYLOAD)}


def _worst(tables: Tables, column: str, *, largest: bool) -> dict[str, Any] | None:
    """The run that is furthest off."""
    runs = tables["runs"]
    if set(runs["senders"]) != set(SENDERS) or runs[column].null_count():
        return None
    return runs.sort(column, descending=largest).row(0, named=True)


MISSING = "there are not all numbers of senders, or flows have not ended"


def _last_flow(tables: Tables) -> Judgement:
    worst = _worst(tables, "last_over_ideal", largest=True)
    if worst is None:
        return judge.not_reached(MISSING)
    runs = tables["runs"]
    off = runs.filter(pl.col("last_over_ideal") > LAST)["senders"].unique().sort()
    means = runs.group_by("senders").agg(pl.col("last_over_ideal").mean())["last_over_ideal"].to_list()
    return judge.at_most(worst["last_over_ideal"], LAST).because(
        f"worst with {worst['senders']} senders; some run is above {LAST:g} with {', '.join(map(str, off))} senders "
        f"only; means over seeds are at most {max(means):.4g}"
    )


def _goodput(tables: Tables) -> Judgement:
    worst = _worst(tables, "goodput_share", largest=False)
    if worst is None:
        return judge.not_reached(MISSING)
    ideal = worst["goodput_share"] * worst["last_over_ideal"]
    return judge.at_least(worst["goodput_share"], GOODPUT).because(
        f"least with {worst['senders']} senders, where the ideal itself has {ideal:.3f}: nothing arrives until the "
        "first packet has come all the way"
    )


def draw(tables: Tables) -> "Picture":
    """The last flow, goodput, and what the switches trimmed and lost."""
    picture, (last, goodput, lost) = style.panels(1, 3)
    runs = tables["runs"]
    last.plot(runs["senders"], runs["last_over_ideal"], "o")
    last.axhline(LAST, color="#000000", linewidth=0.9, linestyle="--")
    last.set(ylabel="last flow / ideal", ylim=(1, 1.08), title="completion of the last flow")
    goodput.plot(runs["senders"], runs["goodput_share"], "o")
    goodput.axhline(GOODPUT, color="#000000", linewidth=0.9, linestyle="--")
    goodput.set(ylabel="goodput / link", ylim=(0.8, 1), title="goodput of the receiver")
    for name, marker in (("trims", "o"), ("drops", "s"), ("timeouts", "^")):
        lost.plot(runs["senders"], runs[name], marker, label=name)
    lost.set(ylabel="in a run", title="headers, those lost, timeouts", yscale="symlog")
    lost.legend(loc="upper left")
    for axes in (last, goodput, lost):
        axes.set(xlabel="senders", xscale="log")
        axes.set_xticks(SENDERS, [str(n) for n in SENDERS])
        axes.set_xticks([], minor=True)
    return picture


FIGURE = Figure(
    id="LIT-NDP",
    title="NDP: incast as in its own paper",
    plans=plans,
    tables=tables,
    claims={"LIT-NDP.a": _last_flow, "LIT-NDP.b": _goodput},
    draw=draw,
    needs={"runs": Needs(5, by=("senders",))},
    assumed=(
        "Cables of 1 us; senders drawn at random; a sender's packets walk through its paths in random orders. Queues "
        "hold as many bytes of headers as of data, and the link on which a packet is counts.",
        "The ideal is the receiver's link carrying all packets without a gap from the instant on at which the first "
        "can be there: 42.3 us for a sender in another pod.",
    ),
)
