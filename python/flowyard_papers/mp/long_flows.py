"""Equation 3.1 against packets: the loss rate of N long TCP flows at one bottleneck.

The equation's p is proportional to N^2. Losses of the first slow start, of which it says nothing, are left out: each
point is run twice, for a short and for a long time, and what the short one has is taken off the long one, which begins
with the very same packets.

The equation supposes that flows share the port. Over a drop-tail port they would stay in phase, and one would have
nearly all of it (Floyd and Jacobson, "On traffic phase effects in packet-switched gateways", 1992): hence 1 % of the
link's rate in packets of random lengths at random times among them. A second reading does without.
"""

from fractions import Fraction
from math import log
from statistics import fmean
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard.theory import loss

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# As in the figure of the equation itself: 1 Gbps in packets of 1500 B, 6 ms there and back.
RATE_PPS, PROPAGATION_S = Fraction(10**9, 12_000), Fraction(6, 1000)
BUFFER = 64
FLOWS = (4, 8, 16, 32, 64, 128)
LOW, HIGH = 1.4, 2.4
NOISE, SILENCE = "noise", "silence"
SAID = {NOISE: "1 % of random packets", SILENCE: "nothing else sends"}
START = "until the first slow start is over"


def plans(scale: Scale) -> dict[str, Plan]:
    """N senders on one switch, whose port to the receiver all of them share; for a short time and for a long one."""
    until = Axis("run_s", {"run.until": ["5s", scale.pick("8s", "35s")]}, labels=[START, "all"])
    return {
        name: Plan(
            None,
            [Axis("senders", scenarios=[_scenario(n, name) for n in FLOWS], labels=FLOWS), until],
            scale.pick(2, 5),
            name=name,
        )
        for name in SAID
    }


def _scenario(senders: int, name: str) -> dict[str, Any]:
    flows: dict[str, Any] = {
        "name": "long",
        "background": True,
        "matrix": {"pairs": [[n, 0] for n in range(1, senders + 1)]},
        "arrivals": {"at-once": {"jitter": "6ms"}},
        "sizes": "endless",
    }
    lengths = {"uniform": {"min": "64B", "max": "1500B"}}
    # Of all senders together 10 Mbps.
    random = {"datagram": {"lengths": lengths, "pace": {"poisson": f"{10_000_000 // senders}bps"}}}
    return {
        # Four cables, there and back, are the 6 ms.
        "topology": {"single-switch": {"hosts": senders + 1, "rate": "1Gbps", "delay": "1500us"}},
        "transport": "tcp",
        "queue": {"drop-tail": {"limit": {"packets": BUFFER}}},
        "traffic": [flows, *([flows | {"name": "noise", "transport": random}] if name == NOISE else [])],
    }


def tables(sweeps: Sweeps) -> Tables:
    """One row per run: packets of long flows that were sent and dropped once slow start is over; the means."""
    runs = pl.concat([_runs(sweeps[name]).select(pl.lit(name).alias("also"), pl.all()) for name in SAID])
    points = replica_means(runs, ["also", "senders"], ["loss_rate", "jain"]).with_columns(
        equation=pl.col("senders").map_elements(
            lambda n: float(loss.loss_rate(n, RATE_PPS, PROPAGATION_S, BUFFER)), pl.Float64
        )
    )
    return {"runs": runs, "points": points}


def _runs(sweep: Sweep) -> pl.DataFrame:
    keys, delivered = ["senders", "replica"], pl.col("delivered_bytes").cast(pl.Float64)
    found = (
        sweep.flows.filter(pl.col("tag").cast(pl.String) == "long")
        .group_by("run_s", *keys)
        .agg(
            pl.col("packets_sent", "drops").sum().cast(pl.Int64),
            jain=delivered.sum() ** 2 / (delivered**2).sum() / pl.len(),
        )
        .collect()
    )
    whole, start = (found.filter(run_s=of).drop("run_s") for of in ("all", START))
    both = whole.join(start, on=keys, suffix="_of_start")
    after = {name: pl.col(name) - pl.col(f"{name}_of_start") for name in ("packets_sent", "drops")}
    runs = both.select(*keys, "jain", **after)
    return runs.with_columns(loss_rate=pl.col("drops") / pl.col("packets_sent")).sort(keys)


def exponent(flows: list[int], rates: list[float]) -> float:
    """Of the power law through points, by least squares of logarithms."""
    x, y = [log(n) for n in flows], [log(rate) for rate in rates]
    middle = fmean(x)
    return sum((a - middle) * b for a, b in zip(x, y, strict=True)) / sum((a - middle) ** 2 for a in x)


def _power(tables: Tables, name: str) -> Judgement:
    runs = tables["runs"].filter(also=name)
    means = runs.group_by("senders").agg(pl.col("loss_rate", "jain").mean()).sort("senders")
    flows, rates = means["senders"].to_list(), means["loss_rate"].to_list()
    if len(flows) < 3 or max(flows) < FLOWS[-1]:
        return judge.not_reached(f"fewer than three numbers of flows, or not up to {FLOWS[-1]}")
    if min(rates) <= 0:
        return judge.not_reached(f"nothing is lost with {flows[rates.index(min(rates))]} flows")
    steps = ", ".join(
        f"{exponent(flows[n : n + 2], rates[n : n + 2]):.2f} from {flows[n]} to {flows[n + 1]}"
        for n in range(len(flows) - 1)
    )
    evenness = min(means["jain"].to_list())
    found = judge.between(exponent(flows, rates), LOW, HIGH)
    return found.noted(
        f"between neighbours {steps}; Jain's index of the flows' shares {evenness:.2f} at least"
    )


def _powers(tables: Tables) -> Judgement:
    return judge.by_reading({said: _power(tables, name) for name, said in SAID.items()})


def draw(tables: Tables) -> "Picture":
    """Loss rate, and how evenly flows share the port, over the number of flows."""
    picture, (panel, fair) = style.panels(1, 2)
    for place, (name, called) in enumerate(SAID.items()):
        points = tables["points"].filter(also=name).sort("senders")
        flows, rates = points["senders"].to_list(), points["loss_rate"].to_list()
        said = f"{called}: N^{exponent(flows, rates):.2f}"
        panel.plot(flows, rates, color=style.COLOURS[place], marker=style.MARKERS[place], label=said)
        style.curve(fair, points, "senders", "jain", place)
    panel.plot(flows, points["equation"], color="#000000", linestyle="--", label="equation 3.1: N^2")
    panel.set(yscale="log", ylabel="loss rate p", title=f"one port with {BUFFER} packets of buffer")
    panel.legend(loc="lower right", fontsize=7.5)
    fair.set(ylabel="Jain's index", ylim=(0, 1.05), title="how evenly flows share it")
    for axes in (panel, fair):
        axes.set(xscale="log", xlabel="long flows N")
        axes.set_xticks(flows, [str(n) for n in flows])
        axes.minorticks_off()
    return picture


FIGURE = Figure(
    id="MP-E3.1-PACKETS",
    title="Equation 3.1 on packets: loss rate by the number of long flows",
    plans=plans,
    tables=tables,
    claims={"MP-E3.1.b": _powers},
    draw=draw,
    needs={"runs": Needs(5, by=("also", "senders"))},
    assumed=(
        "1 Gbps, packets of 1500 B, 6 ms there and back, 64 packets of drop-tail buffer at the port that all flows "
        "share: C T_p + B is 564 packets. The dissertation names no set-up.",
        "1 % of the link's rate are packets of random lengths at random times, from all senders: without them flows "
        "stay in phase at a drop-tail port, and one has nearly all of it; that is the second reading.",
        "Flows without an end start within 6 ms; TCP (New Reno) has the simulator's defaults. The first 5 s are left "
        "out: the next 3 s count at quick scale, 30 s at full.",
        "p is the share of the long flows' packets that the port drops, and its exponent the slope of a line through "
        "logarithms of all points.",
    ),
)
