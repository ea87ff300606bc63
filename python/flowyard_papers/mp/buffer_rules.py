"""Section 3.2: what flows lose with buffers by the rule from Stanford, and with the product of delay and bandwidth.

A model in rounds: flows in congestion avoidance share a link and its buffer, and what does not fit is lost, each packet
as likely as any other. Beside it equation 3.1.
"""

import random
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Tables
from flowyard.theory import loss

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# As in the figure of equation 3.1: 1 Gbps in packets of 1500 B, 6 ms there and back.
RATE_PPS, PROPAGATION_S = Fraction(10**9, 12_000), Fraction(6, 1000)
PRODUCT = float(RATE_PPS * PROPAGATION_S)
FLOWS = (16, 32, 64, 128, 192, 256)
STANFORD, BDP = "rule from Stanford", "product of delay and bandwidth"
RULES = (STANFORD, BDP)
MODEL, EQUATION = "model in rounds", "equation 3.1"
REPLICAS, ROUNDS, FIRST = 10, 1000, 200
# Below so many packets a window is too small for three duplicate acknowledgements.
FEW = 4
CITED = (5, 15)


def buffer(rule: str, flows: int) -> float:
    """Packets of buffer at the port."""
    share = sqrt(flows) if rule == STANFORD else 1
    return PRODUCT / share


def tables(scale: Scale) -> Tables:
    """Loss by rule, number of flows and replica, of the model; of the equation without replicas; the means."""
    rows = [
        {
            "rule": rule,
            "flows": flows,
            "replica": replica,
            "loss_percent": 100 * lost(flows, room, replica, rounds),
        }
        for rounds in (scale.pick(600, ROUNDS),)
        for rule in RULES
        for flows in FLOWS
        for room in (PRODUCT + buffer(rule, flows),)
        for replica in range(scale.pick(3, REPLICAS))
    ]
    equation = [
        {
            "rule": rule,
            "flows": flows,
            "loss_percent": 100
            * float(loss.loss_rate(flows, RATE_PPS, PROPAGATION_S, Fraction(buffer(rule, flows)))),
        }
        for rule in RULES
        for flows in FLOWS
    ]
    runs = pl.DataFrame(rows)
    points = replica_means(runs, ["rule", "flows"], ["loss_percent"])
    return {"runs": runs, "points": points, "equation": pl.DataFrame(equation)}


def lost(flows: int, room: float, replica: int, rounds: int = ROUNDS) -> float:
    """The share of packets lost by flows that each send a window a round.

    A window grows by a packet each round; after a loss it is halved, or where it was too small for a fast
    retransmission it is one packet, which misses the next round. The first rounds do not count.
    """
    source = random.Random(f"{flows} flows, {replica}")
    windows = [source.uniform(1, 2 * room / flows) for _ in range(flows)]
    silent = [False] * flows
    sent = dropped = 0
    for number in range(rounds):
        packets = [0 if silent[flow] else int(windows[flow]) for flow in range(flows)]
        total = sum(packets)
        excess = max(0, total - int(room))
        owners = [flow for flow, count in enumerate(packets) for _ in range(count)]
        hit = set(source.sample(owners, excess))
        if number >= FIRST:
            sent, dropped = sent + total, dropped + excess
        for flow in range(flows):
            small = windows[flow] < FEW
            if flow in hit:
                windows[flow] = 1 if small else windows[flow] / 2
            elif not silent[flow]:
                windows[flow] += 1
            silent[flow] = flow in hit and small
    return dropped / sent


def _more_loss(tables: Tables) -> Judgement:
    equation = tables["equation"].with_columns(replica=pl.lit(0))
    return judge.by_reading({MODEL: _more_loss_in(tables["runs"]), EQUATION: _more_loss_in(equation)})


def _more_loss_in(runs: pl.DataFrame) -> Judgement:
    """At every number of flows; and 5 to 15 % at some of them under the rule from Stanford."""
    wide = runs.pivot(on="rule", index=["flows", "replica"], values="loss_percent")
    if set(RULES) - set(wide.columns):
        return judge.not_reached("a rule was not run")
    means = runs.filter(rule=STANFORD).group_by("flows").agg(pl.col("loss_percent").mean()).sort("flows")
    low, high = CITED
    within = [flows for flows, percent in means.iter_rows() if low <= percent <= high]
    said = ", ".join(f"{percent:.1f} % ({flows})" for flows, percent in means.iter_rows())
    at = " and ".join(map(str, within)) or "no number of"
    cited = judge.judged(
        bool(within), f"{low} to {high} % with {at} flows", "with one number of flows or more"
    )
    more = judge.not_less(wide, STANFORD, BDP, x="flows", points=True)
    return judge.together([more, cited.because(f"loss under the {STANFORD}, by flows: {said}")])


def draw(tables: Tables) -> "Picture":
    """Loss over the number of flows by both rules, of the model and of the equation."""
    picture, (model, equation) = style.panels(1, 2)
    for place, rule in enumerate(RULES):
        style.curve(
            model, tables["points"].filter(rule=rule).sort("flows"), "flows", "loss_percent", place, rule
        )
        rows = tables["equation"].filter(rule=rule).sort("flows")
        equation.plot(
            rows["flows"], rows["loss_percent"], color=style.COLOURS[place], marker=style.MARKERS[place]
        )
    for axes, title in ((model, MODEL), (equation, EQUATION)):
        axes.axhspan(*CITED, color="#000000", alpha=0.08)
        axes.set(xlabel="flows", ylabel="packets lost (%)", title=title)
        axes.set_ylim(bottom=0)
    picture.legend(*model.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return picture


FIGURE = Figure(
    id="MP-P16",
    title="Section 3.2: loss with buffers by the rule from Stanford",
    tables=tables,
    claims={"MP-P16": _more_loss},
    draw=draw,
    quick=f"3 of {REPLICAS} replicas, 600 of {ROUNDS} rounds",
    needs={"runs": Needs(REPLICAS, by=("rule", "flows"))},
    assumed=(
        "1 Gbps, packets of 1500 B, 6 ms: the product is 500 packets. The cited study's set-up is not in the text; up "
        "to 256 flows, which leaves each some two packets of the product. The grey band is the cited 5 to 15 %.",
        "In the model a flow sends its window in a round trip; what exceeds product and buffer is lost, each packet as "
        "likely as any other; flows grow by a packet a round, halve after a loss, and miss a round where their window "
        f"was below {FEW} packets. The first {FIRST} rounds do not count.",
    ),
)
