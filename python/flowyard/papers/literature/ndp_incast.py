"""NDP's incast as its own paper has it (Handley et al., SIGCOMM 2017, section 6): 270 KB from each of N senders.

10 Gbps, packets of 9000 B, 8 of them in a port's queue and a window of 23, which the paper takes for large incasts. The
last flow ends when the receiver's link has carried everything; what it takes longer is what trimmed headers take of the
link, and what is lost of them.
"""

from typing import TYPE_CHECKING

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.papers.ndp import _incast
from flowyard.sweeps import Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

RATE_BPS, MTU, HEADER = 10_000_000_000, 9000, 64
SENDERS = (2, 4, 8, 16, 32, 64, 100)


def plans(scale: Scale) -> dict[str, Plan]:
    """All numbers of senders at both scales."""
    scenario = {
        "topology": {"fat-tree": {"k": 8, "rate": "10Gbps", "delay": "1us"}},
        "transport": {"ndp": {"mtu": f"{MTU}B", "initial_window": 23}},
        "traffic": [_incast.entry(270_000)],
    }
    return {"incast": Plan(scenario, [_incast.senders(SENDERS)], scale.pick(2, 10), name="incast")}


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """A row a run."""
    del scale
    # The last packet of a flow is short, so that the ideal is a little larger than real: 0.01 % of 31 packets.
    return {"runs": _incast.runs(sweeps["incast"], ["senders"], RATE_BPS, MTU / (MTU - HEADER))}


def _worst(tables: Tables, column: str, *, largest: bool) -> float | None:
    runs = tables["runs"]
    if set(runs["senders"]) != set(SENDERS) or runs[column].null_count():
        return None
    worst = runs[column].max() if largest else runs[column].min()
    return worst if isinstance(worst, float) else None


def _last_flow(tables: Tables) -> Judgement:
    return judge.at_most(_worst(tables, "last_over_ideal", largest=True), 1.05)


def _goodput(tables: Tables) -> Judgement:
    return judge.at_least(_worst(tables, "goodput_share", largest=False), 0.9)


def draw(tables: Tables) -> "Picture":
    """The last flow, goodput, and what the switches trimmed and lost."""
    picture, (last, goodput, lost) = style.panels(1, 3)
    runs = tables["runs"]
    last.plot(runs["senders"], runs["last_over_ideal"], "o")
    last.axhline(1.05, color="#000000", linewidth=0.9, linestyle="--")
    last.set(ylabel="last flow / ideal", ylim=(1, 1.08), title="completion of the last flow")
    goodput.plot(runs["senders"], runs["goodput_share"], "o")
    goodput.axhline(0.9, color="#000000", linewidth=0.9, linestyle="--")
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
        "A fat-tree of 128 hosts (the paper: 432), cables of 1 us, senders drawn at random, starts within 1.2 us.",
        "A header that finds its queue full is dropped, and its packet sent again after a timeout; the paper "
        "returns it to its sender.",
    ),
)
