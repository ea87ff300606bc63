"""Presto: a stride over leaves and spines against one switch, and paths of which one is slower.

He et al., "Presto: edge-based load balancing for fast datacenter networks", SIGCOMM 2015: cells of 64 KB take all paths
in turn. Where one of n equal paths has a share x of its rate, each still carries 1/n of a flow, which comes down to x;
with weights the slow path carries x of n - 1 + x, and the flow keeps (n - 1 + x)/n.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, judged, not_reached
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard_papers.literature import _asymmetry

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SWITCH, PRESTO, BARE, ECMP = "one switch", "Presto", "Presto, no buffer", "ECMP"
EQUAL, WEIGHTED = "equal weights", "weights by capacity"
BUFFER = "100us"
PATHS = 4
SHARES = (1.0, 0.5, 0.25)
SLACK = 0.05
WINDOW_MS = (20, 70)


def bound(weights: str, share: float) -> float:
    """The part of its healthy rate that a flow keeps at most, with one path at this share of its rate."""
    return share if weights == EQUAL else (PATHS - 1 + share) / PATHS


def _run(scale: Scale) -> dict[str, Any]:
    start, end = WINDOW_MS
    return {"until": f"{scale.pick(start + 10, end)}ms", "measure": {"from": f"{start}ms", "until": "end"}}


def _flows(pairs: list[list[int]]) -> list[dict[str, Any]]:
    return [
        {
            "name": "long",
            "background": True,
            "arrivals": {"at-once": {"jitter": "1ms"}},
            "matrix": {"pairs": pairs},
            "sizes": "endless",
        }
    ]


def _stride(scale: Scale) -> Plan:
    """Each of 16 hosts sends to the one eight places on: under one switch, and over four leaves and four spines."""
    leaves = {"leaf-spine": {"leaves": 4, "spines": PATHS, "hosts": 4, "rate": "10Gbps", "delay": "1us"}}
    switch = {"single-switch": {"hosts": 16, "rate": "10Gbps", "delay": "1us"}}
    base = {
        "topology": leaves,
        "transport": {"tcp": _asymmetry.TCP},
        "queue": {"drop-tail": {"limit": {"bytes": "1MB"}}},
        "traffic": _flows([[host, (host + 8) % 16] for host in range(16)]),
        "run": _run(scale),
    }
    networks: dict[str, tuple[Any, Any]] = {
        SWITCH: (switch, "per-flow"),
        PRESTO: (leaves, {"presto": {"reorder_timeout": BUFFER}}),
        BARE: (leaves, "presto"),
        ECMP: (leaves, "per-flow"),
    }
    axis = Axis(
        "network",
        {
            "topology": [topology for topology, _ in networks.values()],
            "routing.balancer": [balancer for _, balancer in networks.values()],
        },
        labels=list(networks),
    )
    return Plan(base, [axis], scale.pick(1, 5), name="stride")


def _slow(scale: Scale) -> Plan:
    """Four flows that fill four paths between two leaves; one path is slower."""
    base = {
        "topology": {
            "leaf-spine": {"leaves": 2, "spines": PATHS, "hosts": PATHS, "rate": "10Gbps", "delay": "1us"}
        },
        "transport": {"tcp": _asymmetry.TCP},
        "queue": {"drop-tail": {"limit": {"bytes": "1MB"}}},
        "traffic": _flows([[host, PATHS + host] for host in range(PATHS)]),
        "run": _run(scale),
    }
    link = {"link": [f"spine {PATHS - 1}", "leaf 1"]}
    events = [
        [{"at": "0s", "target": link, "change": {"rate": f"{10_000 * share:g}Mbps"}}] for share in SHARES
    ]
    balancers = [
        {"presto": {"weights": weights, "reorder_timeout": BUFFER}} for weights in ("equal", "capacity")
    ]
    axes = [
        Axis("weights", {"routing.balancer": balancers}, labels=[EQUAL, WEIGHTED]),
        Axis("share", {"faults.events": events}, labels=list(SHARES)),
    ]
    return Plan(base, axes, scale.pick(1, 5), name="slow path")


def plans(scale: Scale) -> dict[str, Plan]:
    """The stride, and a slow path."""
    return {"stride": _stride(scale), "slow": _slow(scale)}


def _goodput(sweep: Sweep, keys: list[str]) -> pl.DataFrame:
    """Of each run the payload that all flows deliver a second."""
    found = [(run, summary["measured"]["goodput_bps"] / 1e9) for run, summary in sweep.summaries().items()]
    table = pl.DataFrame(found, schema={"run": pl.String, "goodput_gbps": pl.Float64}, orient="row")
    return sweep.runs.join(table, on="run").select(*keys, "goodput_gbps").sort(keys)


def tables(sweeps: Sweeps) -> Tables:
    """Goodput of each run, and means; of a slow path as a share of that without one."""
    stride = _goodput(sweeps["stride"], ["network", "replica"])
    slow = _goodput(sweeps["slow"], ["weights", "share", "replica"])
    healthy = slow.filter(share=1.0).select("weights", "replica", healthy="goodput_gbps")
    slow = slow.join(healthy, on=["weights", "replica"]).with_columns(
        kept=pl.col("goodput_gbps") / pl.col("healthy")
    )
    return {
        "stride": stride,
        "strides": replica_means(stride, ["network"], ["goodput_gbps"]),
        "slow": slow.drop("healthy").sort("weights", "share", "replica"),
        "kept": replica_means(slow, ["weights", "share"], ["goodput_gbps", "kept"]),
    }


def _tracks(tables: Tables) -> Judgement:
    means = [_asymmetry.mean_of(tables["stride"], "goodput_gbps", network=name) for name in (PRESTO, SWITCH)]
    if means[0] is None or not means[1]:
        return not_reached("there are not both networks")
    return judged(
        abs(means[0] / means[1] - 1) <= SLACK,
        f"{means[0] / means[1]:.3f}: {means[0]:.1f} Gbps of {means[1]:.1f} Gbps",
        f"1 +- {SLACK:.0%}",
    )


def _held(tables: Tables) -> Judgement:
    said, holds = [], True
    for weights in (EQUAL, WEIGHTED):
        for share in SHARES[1:]:
            kept = _asymmetry.mean_of(tables["slow"], "kept", weights=weights, share=share)
            if kept is None:
                return not_reached("there are not all shares")
            most = bound(weights, share)
            holds = holds and kept <= most * (1 + SLACK)
            said.append(f"{kept:.3f} of at most {most:.3f} ({weights}, {share:g})")
    return judged(holds, ", ".join(said), f"no more than the bounds + {SLACK:.0%}")


def draw(tables: Tables) -> "Picture":
    """Goodput of the stride by network; the part of it that is left with a slow path."""
    picture, (stride, slow) = style.panels(1, 2)
    means = dict(tables["strides"].select("network", "goodput_gbps").iter_rows())
    names = [name for name in (SWITCH, PRESTO, BARE, ECMP) if name in means]
    stride.bar(names, [means[name] for name in names], color=style.COLOURS[: len(names)])
    stride.set(ylabel="goodput of 16 hosts (Gbps)")
    stride.tick_params(axis="x", labelsize=8)
    for place, weights in enumerate((EQUAL, WEIGHTED)):
        rows = tables["kept"].filter(weights=weights).sort("share")
        style.curve(slow, rows, "share", "kept", place, weights)
        line = [bound(weights, share) for share in sorted(SHARES)]
        slow.plot(sorted(SHARES), line, "--", color=style.COLOURS[place])
    slow.set(xlabel="rate of one of four paths", ylabel="goodput of that with equal paths", ylim=(0, 1.05))
    slow.set_title("dashed: bounds")
    slow.legend(loc="lower right")
    return picture


FIGURE = Figure(
    id="LIT-PRESTO",
    title="Presto: a stride against one switch, and a slow path with and without weights",
    plans=plans,
    tables=tables,
    claims={"LIT-PRESTO.a": _tracks, "LIT-PRESTO.b": _held},
    draw=draw,
    needs={"stride": Needs(5, by=("network",)), "slow": Needs(5, by=("weights", "share"))},
    assumed=(
        "Stride: 16 hosts under four leaves with four spines, 10 Gbps and 1 us a cable, each sends to the host eight "
        "places on, without an end. Slow path: four hosts of leaf 0 to four of leaf 1 over four spines, of which spine "
        "3 passes 5 or 2.5 Gbps to leaf 1.",
        "Goodput from 20 to 70 ms (quick scale: 30 ms). TCP with SACK and RACK-TLP, ports of 1 MB; hosts hold packets "
        "of later cells for up to 100 us, a fixed time where the paper adapts it.",
    ),
)
