"""XMP: a flow moves to the path that it has for itself; and goodput of a permutation beside MPTCP with LIA.

Cao, Xu, Fu and Dong, "Explicit multipath congestion control for data center networks", CoNEXT 2013: BOS takes a quarter
off a marked window, TraSh couples those of a flow's subflows.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, by_reading, judged, not_reached
from flowyard.sweeps import Axis, Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

XMP, LIA, LIA_SOON = "XMP", "LIA", "LIA, timeouts of 10 ms"
RATE_BPS, PAYLOAD = 1_000_000_000, 1460 / 1500
TRASH, UNCOUPLED = "trash", "uncoupled"
SUBFLOWS = (2, 4)
BOS = {"congestion": "bos"}
MARKS = {"ecn": {"limit": {"packets": 100}, "threshold": {"packets": 10}}}
DROPS = {"drop-tail": {"limit": {"packets": 100}}}
STACKS: dict[str, dict[str, Any]] = {
    XMP: {"transport": {"mptcp": {"coupling": "trash", "tcp": BOS}}, "queue": MARKS},
    LIA: {"transport": {"mptcp": {}}, "queue": DROPS},
    # As under LIT-MPTCP: a subflow that waits for its timer stops no other by the receive window of the flow.
    LIA_SOON: {
        "transport": {
            "mptcp": {"receive_window": "subflow", "tcp": {"rto_min": "10ms", "rto_initial": "20ms"}}
        },
        "queue": DROPS,
    },
}
LONG = {"background": True, "arrivals": {"at-once": {"jitter": "1ms"}}, "sizes": "endless"}


def _route(source: int, spine: int, to: int) -> dict[str, Any]:
    return {"path": [f"host {source}", "leaf 0", f"spine {spine}", "leaf 1", f"host {to}"]}


def plans(scale: Scale) -> dict[str, Plan]:
    """A flow over two paths, one of which another flow shares; a permutation on a fat-tree."""
    shift = {
        "topology": {
            "leaf-spine": {
                "leaves": 2,
                "spines": 2,
                "hosts": 2,
                "rate": "10Gbps",
                "delay": "20us",
                "spine": {"rate": "1Gbps", "delay": "20us"},
            }
        },
        "routing": {
            "balancer": {"explicit": {"routes": [_route(0, 0, 2), _route(0, 1, 2), _route(1, 0, 3)]}}
        },
        "transport": {"tcp": BOS},
        "queue": MARKS,
        "traffic": [
            LONG
            | {
                "name": "two-paths",
                "matrix": {"pairs": [[0, 2]]},
                "transport": {"mptcp": {"subflows": 2, "coupling": TRASH, "tcp": BOS}},
            },
            LONG | {"name": "one-path", "matrix": {"pairs": [[1, 3]]}},
        ],
        "run": {"until": scale.pick("500ms", "5s"), "measure": {"from": "200ms", "until": "end"}},
    }
    couplings = (TRASH, UNCOUPLED)
    coupling = Axis(
        "coupling", {"traffic.two-paths.transport.mptcp.coupling": list(couplings)}, labels=couplings
    )
    tree = {
        "topology": {"fat-tree": {"k": scale.pick(4, 8), "rate": "1Gbps", "delay": "20us"}},
        "traffic": [LONG | {"name": "long", "matrix": "permutation"}],
        "run": {"until": f"{_until_ms(scale)}ms"},
    }
    fields = {key: [one[key] for one in STACKS.values()] for key in ("transport", "queue")}
    axes = [
        Axis("stack", fields, labels=list(STACKS)),
        Axis("subflows", {"transport.mptcp.subflows": list(SUBFLOWS)}, labels=SUBFLOWS),
    ]
    return {
        "shift": Plan(shift, [coupling], scale.pick(1, 5), name="two paths"),
        "permutation": Plan(tree, axes, scale.pick(1, 5), name="permutation"),
    }


def _until_ms(scale: Scale) -> int:
    return scale.pick(300, 500)


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """Use of both paths, and that by the flow with one; goodput of the flows of a permutation."""
    keys = ["coupling", "replica"]
    links = sweeps["shift"].links.filter(pl.col("to") == "leaf 1")
    used = links.group_by(keys).agg(
        shared=pl.col("utilisation").filter(pl.col("from") == "spine 0").first(),
        free=pl.col("utilisation").filter(pl.col("from") == "spine 1").first(),
    )
    # The link of the second receiver carries the second flow alone.
    second = sweeps["shift"].links.filter(pl.col("to") == "host 3")
    other = second.select(*keys, other=pl.col("utilisation") * pl.col("rate_bps") / RATE_BPS)
    shift = used.join(other, on=keys).with_columns(own=pl.col("shared") - pl.col("other"))
    could = RATE_BPS * PAYLOAD * _until_ms(scale) / 1e3
    delivered = pl.col("delivered_bytes")
    by = ["stack", "subflows", "replica"]
    runs = (
        sweeps["permutation"]
        .flows.group_by(by)
        .agg(
            goodput=8 * delivered.mean() / could,
            least=8 * delivered.min() / could,
            timeouts=pl.col("timeouts").sum().cast(pl.Int64),
        )
        .sort(by)
        .collect()
    )
    return {
        "shift": shift.sort(keys).collect(),
        "runs": runs,
        "points": replica_means(runs, ["stack", "subflows"], ["goodput", "least"]),
    }


def _shift(tables: Tables) -> Judgement:
    """The share of the common path, by coupling, as means over seeds."""
    rows = tables["shift"].group_by("coupling").agg(pl.col("own", "other", "free").mean())
    found = {row["coupling"]: row for row in rows.to_dicts()}
    if set(found) != {TRASH, UNCOUPLED}:
        return not_reached("there are not both couplings")
    own = {name: found[name]["own"] / (found[name]["own"] + found[name]["other"]) for name in found}
    measured = (
        f"{100 * own[TRASH]:.1f} % of the shared path, {100 * own[UNCOUPLED]:.1f} % uncoupled; "
        f"{100 * found[TRASH]['free']:.1f} % of the other one"
    )
    return judged(own[TRASH] < min(0.5, own[UNCOUPLED]), measured, "less than half, and than uncoupled")


def _goodput(tables: Tables) -> Judgement:
    """The means over seeds, XMP over LIA with four subflows."""
    rows = tables["points"].select("stack", "subflows", "goodput").iter_rows()
    found = {(stack, n): goodput for stack, n, goodput in rows}
    if len(found) < len(STACKS) * len(SUBFLOWS):
        return not_reached("there are not all numbers of subflows")
    readings = {
        "XMP with 4 subflows": (4, LIA),
        "XMP with 2 subflows": (2, LIA),
        "4 subflows, timeouts of 10 ms under LIA": (4, LIA_SOON),
    }
    return by_reading(
        {
            name: judged(
                found[XMP, n] > found[lia, 4],
                f"{found[XMP, n]:.3f} of a link, {found[lia, 4]:.3f} under LIA with 4",
                "more than under LIA",
            )
            for name, (n, lia) in readings.items()
        }
    )


def draw(tables: Tables) -> "Picture":
    """Shares of two paths by coupling; goodput by the number of subflows."""
    picture, (shift, tree) = style.panels(1, 2)
    means = tables["shift"].group_by("coupling").agg(pl.col("own", "other", "free").mean())
    rows = {row["coupling"]: row for row in means.to_dicts()}
    names = {
        "own": "of the flow, shared path",
        "other": "of the other flow, there",
        "free": "of the flow, free path",
    }
    for place, (column, label) in enumerate(names.items()):
        heights = [rows[name][column] for name in (TRASH, UNCOUPLED)]
        bars = [n + 0.27 * (place - 1) for n in range(2)]
        shift.bar(bars, heights, 0.25, color=style.COLOURS[place], label=label)
    shift.set(ylabel="use of the link", title="one of two paths shared", ylim=(0, 1.5))
    shift.set_yticks([0, 0.25, 0.5, 0.75, 1.0])
    shift.set_xticks(range(2), ["TraSh", "uncoupled"])
    shift.legend(loc="upper left")
    points = tables["points"]
    for place, stack in enumerate(STACKS):
        own = dict(points.filter(stack=stack).select("subflows", "goodput").iter_rows())
        bars = [n + 0.27 * (place - 1) for n in range(len(SUBFLOWS))]
        tree.bar(bars, [own[n] for n in SUBFLOWS], 0.25, color=style.COLOURS[place], label=stack)
    tree.set(xlabel="subflows", ylabel="goodput / payload of a full link", title="permutation", ylim=(0, 1.4))
    tree.set_yticks([0, 0.25, 0.5, 0.75, 1.0])
    tree.set_xticks(range(len(SUBFLOWS)), [str(n) for n in SUBFLOWS])
    tree.legend(loc="upper left")
    return picture


FIGURE = Figure(
    id="LIT-XMP",
    title="XMP: traffic moves to the free path; goodput of a permutation beside LIA",
    plans=plans,
    tables=tables,
    claims={"LIT-XMP.a": _shift, "LIT-XMP.b": _goodput},
    draw=draw,
    needs={"shift": Needs(5, by=("coupling",)), "points": Needs(5, by=("stack", "subflows"))},
    assumed=(
        "Two paths of 1 Gbps between two leaves, whose hosts have 10 Gbps: a flow has a subflow on each, and a flow of "
        "BOS alone shares one of them. Means from 0.2 to 5 s (quick scale: to 0.5 s).",
        "The permutation is on a fat-tree of k = 8 (quick scale: 4) at 1 Gbps with 20 us a cable; goodput is of the "
        "first 0.5 s (quick scale: 0.3 s), slow start with it.",
        "Marks above 10 packets and a cut of a quarter are from memory of the paper; ports hold 100 packets, and drop "
        "under LIA, over NewReno with no timeout below 200 ms and a receive window of 1 MB for the flow.",
    ),
)
