"""DCTCP with 2 to 20 long flows over one port: queue and alpha against section 3.3 of its paper, and shares of flows.

Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010. In their model N windows move in step. Each is
W = (C RTT + K) / N packets when the port reaches its threshold K, grows by one more in the round trip that it takes to
react to it, in which all packets are marked, and loses alpha / 2 of it: the marked share of a period is alpha with
alpha^2 (1 - alpha / 4) = (2 W + 1) / (W + 1)^2, about sqrt(2 / W). The queue is a saw-tooth, from K + N packets down by
A = N sqrt(2 W) / 2 and up again.

The model lets the window grow while echoes come in; RFC 3168, 6.1.2, which RFC 8257 leaves as it is, does not. So a
period has a round trip more, in which nothing is marked. And where a reduction takes a round trip (RFC 9937), the first
packets of it are marked, too: their echoes come when that round trip is over, and windows shrink a second time.
`rule_alpha` is the model's equation with either. Claims are judged on the default, which does both; the other series
shrink at once, as RFC 8257, 3.3 has it by its letter, and let echoes grow the window besides, as the model does. How
evenly flows share a port: _shares.py.
"""

from math import inf, sqrt
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import SHOWN, Judgement, by_reading, judged, not_reached
from flowyard.sweeps import Axis, Plan
from flowyard_papers.literature import _port, _shares
from flowyard_papers.literature._port import DELAY_S, FULL_PACKET, RATE_BPS, THRESHOLD

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

RFC, AT_ONCE, MODEL = "RFC 8257", "windows shrink at once", "growth as in the model"
SETTINGS = {
    RFC: {},
    AT_ONCE: {"proportional_reduction": False},
    MODEL: {"echoes_grow_window": True, "proportional_reduction": False},
}
# How far alpha may be from the model's.
APART = 0.15
ACK = 40
FLOWS = (2, 3, 5, 10, 15, 20)


def plans(scale: Scale) -> dict[str, Plan]:
    """Each number of flows in each reading; long enough that the slow start at the beginning counts for nothing."""
    base = _port.scenario(scale.pick("100ms", "1s"))
    base["transport"] = {"tcp": {"congestion": {"dctcp": {}}, "delayed_ack": 1}}
    axes = [
        Axis("reading", {"transport.tcp.congestion.dctcp": list(SETTINGS.values())}, labels=list(SETTINGS)),
        _port.senders(scale.pick(FLOWS, tuple(range(2, 21)))),
    ]
    return {"port": Plan(base, axes, scale.pick(2, 5), name="port"), "shares": _shares.plan(scale)}


def round_trip_s() -> float:
    """Of the empty network: four cables, a packet on two of them and its acknowledgement on the other two."""
    return 4 * DELAY_S + 2 * 8 * (FULL_PACKET + ACK) / RATE_BPS


def fluid_alpha(flows: int) -> float:
    """Of the paper's model."""
    return rule_alpha(flows, MODEL)


def rule_alpha(flows: int, reading: str) -> float:
    """The share of a period's packets that are marked, which is alpha, by bisection.

    In the model a period is the growth from the lowest window to W + 1, and the last round trip of it is marked. By RFC
    3168 there is one more, in which echoes come in, the lowest window is sent and nothing is marked. If reductions are
    in proportion there are two of both; and marks go on until the first has undone the packet by which windows are
    above W.
    """
    window = (RATE_BPS * round_trip_s() / (8 * FULL_PACKET) + THRESHOLD) / flows
    top = window + 1
    low, high = 0.0, 1.0
    for _ in range(60):
        alpha = (low + high) / 2
        lows = [top * (1 - alpha / 2) ** cut for cut in ((1, 2) if reading == RFC else (1,))]
        # A window that grows from a to b by a packet a round trip sends (b^2 - a^2) / 2.
        sent = (top**2 - lows[-1] ** 2) / 2 + (0 if reading == MODEL else sum(lows))
        still = min(lows[0], lows[0] / (top - lows[0])) if reading == RFC else 0
        marked = (top**2 - window**2) / 2 + still
        low, high = (alpha, high) if alpha * sent < marked else (low, alpha)
    return low


def saw_tooth(flows: int) -> tuple[float, float]:
    """The lowest and the highest queue of the paper's model, in packets: K + N - A and K + N."""
    packets = RATE_BPS * round_trip_s() / (8 * FULL_PACKET) + THRESHOLD
    highest = THRESHOLD + flows
    return highest - sqrt(2 * flows * packets) / 2, highest


def tables(sweeps: Sweeps) -> Tables:
    """One row per run, for the port to the receiver, beside the model; the means; and one for shares of a port."""
    runs = _port.runs(sweeps["port"], "reading")
    runs = runs.select(
        pl.exclude("marks", "packets", "used_percent"), alpha=pl.col("marks") / pl.col("packets")
    )
    model = {n: fluid_alpha(n) for n in runs["senders"].unique()}
    runs = runs.with_columns(model=pl.col("senders").replace_strict(model, return_dtype=pl.Float64))
    means = replica_means(runs, ["reading", "senders"], ["queue_mean_packets", "alpha", "model"])
    return {"runs": runs, "points": means, "shares": _shares.runs(sweeps["shares"])}


def _means(tables: Tables, reading: str) -> pl.DataFrame | None:
    """A reading's means by the number of flows; None if some are missing."""
    rows = (
        tables["runs"]
        .filter(reading=reading)
        .group_by("senders")
        .agg(pl.all().exclude("reading").mean())
        .sort("senders")
    )
    return rows if set(FLOWS) <= set(rows["senders"]) else None


def _near_threshold(tables: Tables) -> Judgement:
    rows = _means(tables, RFC)
    if rows is None:
        return not_reached("there are not all numbers of flows")
    outside, nearest = [], (inf, 0)
    for row in rows.iter_rows(named=True):
        queue, (low, high) = row["queue_mean_packets"], saw_tooth(row["senders"])
        nearest = min(nearest, (min(queue - low, high - queue), row["senders"]))
        if not low <= queue <= high or row["drops"]:
            outside.append(
                f"{row['senders']} flows {queue:.1f} packets of {low:.1f} to {high:.1f}, {row['drops']:g} drops"
            )
    inside = f"{len(rows) - len(outside)} of {len(rows)} numbers of flows"
    measured = (
        f"{inside} between the ends, {nearest[0]:.1f} packets from one at least, with {nearest[1]} flows"
    )
    return judged(
        not outside, f"{measured}; {rows['drops'].sum():g} drops", "all between the ends, no drop"
    ).because("; ".join(outside[:3]))


def _near_model(tables: Tables) -> Judgement:
    return by_reading({name: _apart(_means(tables, name), name) for name in SETTINGS})


def _apart(rows: pl.DataFrame | None, reading: str) -> Judgement:
    """How far alpha is from the model; and how far it has to be by the rule of a reading."""
    if rows is None:
        return not_reached("there are not all numbers of flows")
    off = {n: alpha / model - 1 for n, alpha, model in rows.select("senders", "alpha", "model").iter_rows()}
    worst = max(off, key=lambda n: abs(off[n]))
    wrong = [f"{n} flows {100 * more:+.1f} %" for n, more in off.items() if abs(more) > APART]
    measured = f"{100 * off[worst]:+.1f} % of the model at most, with {worst} flows"
    found = judged(not wrong, measured, "within 15 % of the model").because(
        ", ".join(wrong[:SHOWN])
        + ": after an echo the window does not grow for a round trip (RFC 3168, 6.1.2); the "
        "model's does"
    )
    rule = {n: rule_alpha(n, reading) / fluid_alpha(n) - 1 for n in off}
    most = max(rule, key=lambda n: abs(rule[n]))
    if abs(rule[most]) <= APART:
        return found
    twice = ", and a reduction that takes a round trip is followed by a second one" if reading == RFC else ""
    # No "not reproducible": with growth as in the model, another reading, the model's numbers are obtained.
    return found.noted(
        f"The model's own equation with that round trip{twice} has {100 * rule[worst]:+.1f} % with {worst} flows, "
        f"{100 * rule[most]:+.1f} % with {most} (rule_alpha)"
    )


def _even(tables: Tables) -> Judgement:
    return _shares.even(tables["shares"])


def draw(tables: Tables) -> "Picture":
    """Mean queue and alpha by the number of flows; the index of fairness at each point of the grid, sorted."""
    picture, (left, right, fair) = style.panels(1, 3)
    points = tables["points"]
    for name, colour, marker in zip(SETTINGS, style.COLOURS, style.MARKERS, strict=False):
        rows = points.filter(reading=name).sort("senders")
        look: dict[str, Any] = {"color": colour, "marker": marker, "label": name}
        left.plot(rows["senders"].to_numpy(), rows["queue_mean_packets"].to_numpy(), **look)
        right.plot(rows["senders"].to_numpy(), rows["alpha"].to_numpy(), linestyle="none", **look)
    right.plot(
        rows["senders"].to_numpy(),
        rows["model"].to_numpy(),
        color="#000000",
        linewidth=0.9,
        label="fluid model",
    )
    for name, colour in list(zip(SETTINGS, style.COLOURS, strict=False))[:-1]:
        ruled = [rule_alpha(n, name) for n in rows["senders"]]
        right.plot(rows["senders"].to_numpy(), ruled, color=colour, linewidth=0.9)
    left.axhline(THRESHOLD, color="#000000", linewidth=0.9, linestyle="--")
    numbers = sorted(set(points["senders"]))
    low, high = zip(*map(saw_tooth, numbers), strict=True)
    left.fill_between(numbers, low, high, color="#eeeeee", zorder=0)
    left.set(xlabel="senders", ylabel="mean queue (packets)", title="dashed: K; grey: the model's saw-tooth")
    left.set_ylim(bottom=0)
    right.set(xlabel="senders", ylabel="marked share, alpha", title="lines: by the model's equation")
    right.legend(loc="upper left")
    for name, colour in zip(_shares.REDUCTIONS, style.COLOURS, strict=False):
        indices = tables["shares"].filter(reduction=name).group_by(_shares.POINT).agg(pl.col("jain").mean())
        found = indices["jain"].sort().to_numpy()
        fair.plot([100 * (n + 1) / len(found) for n in range(len(found))], found, color=colour, label=name)
    fair.axhline(_shares.LEAST, color="#000000", linewidth=0.9, linestyle="--")
    fair.set(xlabel="points of the grid (%)", ylabel="Jain's index", title="shares of a port of 1 Gbps")
    fair.legend(loc="lower right")
    return picture


FIGURE = Figure(
    id="LIT-DCTCP",
    title="DCTCP: the queue and alpha against the fluid model",
    plans=plans,
    tables=tables,
    claims={"LIT-DCTCP.a": _near_threshold, "LIT-DCTCP.b": _near_model, "LIT-DCTCP.c": _even},
    draw=draw,
    needs={"runs": Needs(5, by=("reading", "senders")), "shares": Needs(5, by=tuple(_shares.POINT))},
    assumed=(
        "Flows without an end from as many hosts to one, all links 10 Gbps, cables of 25 us; K = 65 packets as in the "
        "paper at 10 Gbps, room for 500 packets.",
        "Every segment is acknowledged by itself: the model's windows grow by a packet a round trip, those with "
        "delayed acknowledgements by half of one.",
        "Alpha is the share of packets that the port marked in the whole run, which is what the senders' estimates "
        "average to; the model's RTT is that of the empty network.",
        "Shares: 2, 3, 8 and 16 such flows at 1 Gbps with K of 10 to 65 packets and cables of 10 to 100 us, all of the "
        "same length; what has been delivered after 500 ms, slow start with it.",
    ),
)
