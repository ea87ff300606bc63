"""MPTCP by the number of subflows: beside a TCP on one path (RFC 6356), and on a fat-tree under a permutation.

Raiciu et al., "Improving Datacenter Performance and Robustness with Multipath TCP", SIGCOMM 2011: with a path
for each flow, a permutation of long flows uses about half of a fat-tree; eight subflows, each on a path at random, use
about 90 %.

RFC 6356, section 1, goal 2: subflows that share a path take no more of it than one TCP would. At a loss of p a window
of TCP is sqrt(2 / p) segments; n subflows with alpha = 1 / n are as large together, which is LIA's alpha as long as
their windows are equal. Uncoupled they are n times as large. Windows are not equal: `beside_one` has what the RFC's
rule gives.
"""

import random
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, judged, not_reached
from flowyard.sweeps import Axis, Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

LIA, UNCOUPLED = "lia", "uncoupled"
RATE_BPS = 1_000_000_000
SUBFLOWS = (1, 4, 8)
# Use of the hosts' links: at least, with 8 subflows (90 % less 2 points), and about, with one.
EIGHT, ONE = 0.88, 0.5
PAYLOAD = 1460 / 1500
SHARING, LOSS = (2, 4, 8), 0.0005
# Long enough for windows that count in segments, and nothing waits for a timer longer than a few round trips.
TCP = {"delayed_ack": 1, "rto_min": "10ms", "rto_initial": "20ms", "receive_window": "100MB"}


def plans(scale: Scale) -> dict[str, Plan]:
    """A permutation on a fat-tree, and one path that loses a packet in 2,000."""
    base = {
        "topology": {"fat-tree": {"k": 8, "rate": "1Gbps", "delay": "10us"}},
        "transport": {"mptcp": {"receive_window": "subflow", "tcp": TCP}},
        "queue": {"drop-tail": {"limit": {"packets": 50}}},
        "traffic": [
            {
                "name": "long",
                "background": True,
                "arrivals": "at-once",
                "matrix": "permutation",
                "sizes": "endless",
            }
        ],
        "run": {"until": f"{scale.pick(400, 1000)}ms"},
    }
    subflows = scale.pick(SUBFLOWS, tuple(range(1, 9)))
    axis = Axis("subflows", {"transport.mptcp.subflows": list(subflows)}, labels=subflows)
    entry = {"background": True, "arrivals": "at-once", "sizes": "endless"}
    alone = {
        "topology": {"single-switch": {"hosts": 3, "rate": "10Gbps", "delay": "250us"}},
        "transport": {"tcp": TCP},
        "queue": "infinite",
        "traffic": [
            entry | {"name": "mptcp", "transport": {"mptcp": {"tcp": TCP}}, "matrix": {"pairs": [[0, 2]]}},
            entry | {"name": "tcp", "matrix": {"pairs": [[1, 2]]}},
        ],
        "faults": {
            "events": [{"at": "0s", "target": {"link": ["switch", "host 2"]}, "change": {"loss": LOSS}}]
        },
        "run": {"until": scale.pick("10s", "60s")},
    }
    own = "traffic.mptcp.transport.mptcp"
    axes = [
        Axis("coupling", {f"{own}.coupling": [LIA, UNCOUPLED]}, labels=(LIA, UNCOUPLED)),
        Axis("subflows", {f"{own}.subflows": list(SHARING)}, labels=SHARING),
    ]
    return {
        "fat-tree": Plan(base, [axis], scale.pick(1, 5), name="fat-tree"),
        "path": Plan(alone, axes, scale.pick(1, 5), name="path"),
    }


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """One row per run: payload over what the hosts' links could carry of bytes, and MPTCP beside TCP; and the means."""
    could = RATE_BPS * scale.pick(0.4, 1.0)
    delivered = pl.col("delivered_bytes")
    used = (
        sweeps["fat-tree"]
        .flows.group_by("subflows", "replica")
        .agg(
            utilisation=8 * delivered.mean() / could,
            least=8 * delivered.min() / could,
            reordered=pl.col("reordered").sum().cast(pl.Int64),
        )
        .sort("subflows", "replica")
        .collect()
    )
    shares = (
        sweeps["path"]
        .flows.group_by("coupling", "subflows", "replica")
        .agg(beside_tcp=delivered.filter(tag="mptcp").sum() / delivered.filter(tag="tcp").sum())
        .sort("coupling", "subflows", "replica")
        .collect()
    )
    return {
        "runs": used,
        "points": replica_means(used, ["subflows"], ["utilisation", "least"]),
        "shares": shares,
    }


@cache
def beside_one(subflows: int, rounds: int = 50_000) -> float:
    """The sum of windows over the window of one TCP, by RFC 6356's rule alone: packets, ports and timers are left out.

    In a round trip each subflow sends its window. If the path loses none of it the window grows by min(alpha / total,
    1 / own) for each segment, with alpha = total max(w) / (sum w)^2 at equal round trips; else it is halved.
    """

    def mean_total(windows: list[float]) -> float:
        source, sums = random.Random(1), 0.0
        for _ in range(rounds):
            for place, own in enumerate(windows):
                lost = source.random() < 1 - (1 - LOSS) ** int(own)
                step = min(max(windows) / sum(windows) ** 2, 1 / own)
                windows[place] = max(own / 2, 1.0) if lost else own + int(own) * step
            sums += sum(windows)
        return sums / rounds

    start = (2 / LOSS) ** 0.5
    return mean_total([start / subflows] * subflows) / mean_total([start])


def _mean(tables: Tables, subflows: int) -> float | None:
    mean = tables["runs"].filter(subflows=subflows)["utilisation"].mean()
    return mean if isinstance(mean, float) else None


def _as_one_tcp(tables: Tables) -> Judgement:
    rows = tables["shares"].filter(coupling=LIA).group_by("subflows").agg(pl.col("beside_tcp").mean())
    if set(rows["subflows"]) != set(SHARING):
        return not_reached("there are not all numbers of subflows")
    worst = rows.sort((pl.col("beside_tcp") - 1).abs()).row(-1, named=True)
    measured = f"{worst['beside_tcp']:.2f} of a TCP with {worst['subflows']} subflows"
    all_of_them = ", ".join(f"{n}: {share:.2f}" for n, share in rows.sort("subflows").iter_rows())
    found = judged(abs(worst["beside_tcp"] - 1) <= 0.2, measured, "within 20 % of a TCP").because(
        f"by subflows {all_of_them}: alpha goes by the largest window of all, and windows swing, so that the largest "
        "is the further above their mean the more there are; 1 / n supposes that they are equal"
    )
    rule = {n: beside_one(n) for n in SHARING}
    if max(rule.values()) <= 1.2:
        return found
    said = ", ".join(f"{n}: {share:.2f}" for n, share in rule.items())
    return found.not_reproducible(f"the RFC's rule alone has {said} (beside_one)")


def _by_reading(tables: Tables, subflows: int, judged: Callable[[float | None], Judgement]) -> Judgement:
    """A link is used by headers, too: the paper's axis is "% of optimal", and the optimum is a full link's payload."""
    payload = _mean(tables, subflows)
    return judge.by_reading(
        {
            "of what a full link carries": judged(None if payload is None else payload / PAYLOAD),
            "payload over the link's rate": judged(payload),
        }
    )


def _eight(tables: Tables) -> Judgement:
    reason = f"a full link carries {PAYLOAD:.3f} of its rate as payload, and slow start counts"
    return _by_reading(tables, 8, lambda used: judge.at_least(used, EIGHT).because(reason))


def _one(tables: Tables) -> Judgement:
    return _by_reading(tables, 1, lambda used: judge.within(used, ONE, relative=0.15))


def draw(tables: Tables) -> "Picture":
    """Use of a fat-tree, and shares of a path."""
    picture, (left, right) = style.panels(1, 2)
    points = tables["points"].sort("subflows")
    left.plot(points["subflows"].to_numpy(), points["utilisation"].to_numpy(), "o-", label="mean of flows")
    left.plot(points["subflows"].to_numpy(), points["least"].to_numpy(), "s-", label="slowest flow")
    left.set(xlabel="subflows", ylabel="goodput / host's link", ylim=(0, 1), title="permutation, k = 8")
    left.legend(loc="lower right")
    means = replica_means(tables["shares"], ["coupling", "subflows"], ["beside_tcp"]).sort("subflows")
    for name, marker in ((LIA, "o"), (UNCOUPLED, "s")):
        rows = means.filter(coupling=name)
        right.plot(rows["subflows"].to_numpy(), rows["beside_tcp"].to_numpy(), marker + "-", label=name)
    right.axhline(1, color="#000000", linewidth=0.9, linestyle="--")
    right.set(xlabel="subflows", ylabel="goodput / that of a TCP", title="all on one path", ylim=(0, None))
    right.legend(loc="upper left")
    return picture


FIGURE = Figure(
    id="LIT-MPTCP",
    title="MPTCP: use of a fat-tree, and share of a path, by the number of subflows",
    plans=plans,
    tables=tables,
    claims={"LIT-MPTCP.a": _as_one_tcp, "LIT-MPTCP.b": _eight, "LIT-MPTCP.c": _one},
    draw=draw,
    needs={"runs": Needs(5, by=("subflows",)), "shares": Needs(5, by=("coupling", "subflows"))},
    assumed=(
        "A fat-tree of 128 hosts, the smallest of the paper's, at 1 Gbps with 50 packets per port; the paper has 100 "
        "Mbps.",
        "Goodput is payload since the start of all flows, slow start included: of 0.4 s at quick scale, 1 s at full.",
        "The shared path loses one packet in 2,000 and has no queue, so that no phase of packets at a full port "
        "favours anybody; every segment is acknowledged by itself.",
    ),
)
