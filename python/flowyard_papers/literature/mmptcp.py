"""MMPTCP and MPTCP: completion times of short flows beside long ones, and goodput of the long ones.

Kheirkhah, Wakeman and Parisis, "MMPTCP: a multipath transport protocol for data centers", INFOCOM 2016, abstract: short
flows end sooner and with less variation than under MPTCP, and long flows have its throughput.
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

MMPTCP, MPTCP = "MMPTCP", "MPTCP"
TRANSPORTS = (MMPTCP, MPTCP)
# The paper's network has four hosts for each uplink, and its threshold follows from the paths, of which there are 16
# between pods; in the authors' code the ratio is 1 and the threshold that of TCP.
PAPER, CODE = "4:1, threshold by paths", "1:1, threshold of TCP"
NETWORKS: dict[str, tuple[int, int]] = {PAPER: (4, 3 + 16), CODE: (1, 3)}
RATE_BPS = 100_000_000
# Goodput of long flows under MMPTCP, over that under MPTCP.
LEAST = 0.95
KEYS = ["network", "protocol"]
MEASURES = {
    "mean_ms": "mean FCT (ms)",
    "std_ms": "deviation of the FCT (ms)",
    "goodput": "goodput / 100 Mbps",
}


def _mptcp(scatter: dict[str, Any]) -> dict[str, Any]:
    return {"mptcp": {"tcp": {"initial_window": 1}} | scatter}


def plans(scale: Scale) -> dict[str, Plan]:
    """Short flows at random times, while a third of the hosts send long ones."""
    begin, until = scale.pick((500, 1500), (1000, 4000))
    entry = {"matrix": "permutation"}
    base = {
        "topology": {"fat-tree": {"k": scale.pick(4, 8), "rate": "100Mbps", "delay": "20us"}},
        "queue": {"drop-tail": {"limit": {"packets": 100}}},
        "traffic": [
            entry
            | {
                "name": "long",
                "background": True,
                "arrivals": {"at-once": {"jitter": "100ms"}},
                "sources": {"share": 0.3333},
                "sizes": "endless",
            },
            entry
            | {
                "name": "short",
                "arrivals": {"poisson": {"rate": 256.0}},
                "sources": {"not-in": "long"},
                "sizes": {"fixed": "70KB"},
            },
        ],
        "run": {"until": "60s", "measure": {"from": f"{begin}ms", "until": f"{until}ms"}},
    }
    cases = [(network, protocol) for network in NETWORKS for protocol in TRANSPORTS]
    transports = [
        _mptcp({"scatter": {"dupack_threshold": NETWORKS[network][1]}} if protocol == MMPTCP else {})
        for network, protocol in cases
    ]
    case = Axis(
        "case",
        {
            "topology.fat-tree.oversubscription": [NETWORKS[network][0] for network, _ in cases],
            "transport": transports,
        },
        labels=[f"{network}; {protocol}" for network, protocol in cases],
    )
    return {"short": Plan(base, [case], scale.pick(1, 5), name="short flows")}


def tables(sweeps: Sweeps) -> Tables:
    """One row per run: times of short flows, null where some have not ended, and goodput of long ones; and means."""
    sweep, keys = sweeps["short"], ["case", "replica"]
    fct_ms, done = pl.col("fct_ps") / 1e9, pl.col("completed").all()
    short = (
        sweep.flows.filter("measured", tag="short")
        .group_by(keys)
        .agg(
            flows=pl.len().cast(pl.Int64),
            timeouts=pl.col("timeouts").sum().cast(pl.Int64),
            mean_ms=pl.when(done).then(fct_ms.mean()),
            std_ms=pl.when(done).then(fct_ms.std()),
        )
        .collect()
    )
    ended = {run: summary["end_ps"] for run, summary in sweep.summaries().items()}
    seconds = pl.col("run").cast(pl.String).replace_strict(ended, return_dtype=pl.Float64).first() / 1e12
    long = (
        sweep.flows.filter(tag="long")
        .group_by(keys)
        .agg(goodput=8 * pl.col("delivered_bytes").mean() / seconds / RATE_BPS)
        .collect()
    )
    name = pl.col("case").cast(pl.String).str.split("; ")
    runs = short.join(long, on=keys, validate="1:1").select(
        pl.exclude("case"), network=name.list.get(0), protocol=name.list.get(1)
    )
    order = [*KEYS, "replica"]
    runs = runs.select(*order, pl.exclude(order)).sort(order)
    return {"runs": runs, "points": replica_means(runs, KEYS, list(MEASURES))}


def _ratio(tables: Tables, network: str, column: str) -> float | None:
    """Of the means over seeds, MMPTCP over MPTCP."""
    if tables["runs"].filter(network=network)[column].null_count():
        return None
    points = tables["points"].filter(network=network)
    means = dict(points.select("protocol", column).iter_rows())
    return means[MMPTCP] / means[MPTCP] if set(means) == set(TRANSPORTS) else None


def _short(tables: Tables) -> Judgement:
    """Mean and standard deviation of short flows."""

    def of(network: str) -> Judgement:
        mean, deviation = (_ratio(tables, network, column) for column in ("mean_ms", "std_ms"))
        if mean is None or deviation is None:
            return not_reached("short flows have not ended")
        measured = f"mean {100 * (mean - 1):+.0f} %, standard deviation {100 * (deviation - 1):+.0f} %"
        return judged(max(mean, deviation) < 1, measured, "both less")

    return by_reading({network: of(network) for network in NETWORKS})


def _long(tables: Tables) -> Judgement:
    """Goodput of long flows."""

    def of(network: str) -> Judgement:
        ratio = _ratio(tables, network, "goodput")
        if ratio is None:
            return not_reached("there are not both transports")
        return judged(ratio >= LEAST, f"{ratio:.3f} times", f"at least {LEAST:g} times that of MPTCP")

    return by_reading({network: of(network) for network in NETWORKS})


def draw(tables: Tables) -> "Picture":
    """Bars of each network and transport."""
    picture, panels = style.panels(1, len(MEASURES), size=(3.4, 2.8))
    for axes, (column, label) in zip(panels, MEASURES.items(), strict=True):
        for place, protocol in enumerate(TRANSPORTS):
            own = tables["points"].filter(protocol=protocol)
            rows = dict(own.select("network", column).iter_rows())
            bars = [n + 0.4 * place - 0.2 for n in range(len(NETWORKS))]
            heights = [rows.get(network) or 0 for network in NETWORKS]
            axes.bar(bars, heights, 0.38, color=style.COLOURS[place], label=protocol)
        axes.set(ylabel=label)
        axes.set_xticks(range(len(NETWORKS)), [network.replace(", ", "\n") for network in NETWORKS])
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return picture


FIGURE = Figure(
    id="LIT-MMPTCP",
    title="MMPTCP and MPTCP: short flows beside long ones, and goodput of the long ones",
    plans=plans,
    tables=tables,
    claims={"LIT-MMPTCP.a": _short, "LIT-MMPTCP.b": _long},
    draw=draw,
    needs={"points": Needs(5, by=tuple(KEYS))},
    assumed=(
        "A fat-tree of k = 8 (quick scale: 4) at 100 Mbps with 20 us a cable and ports of 100 packets, as in the "
        "authors' code; the paper has four hosts for each uplink, from memory. A third of the hosts send endless flows "
        "of a permutation, the others 256 flows of 70 KB a second together. Those that start from 1 to 4 s are "
        "measured (quick scale: 0.5 to 1.5 s).",
        "Eight subflows under LIA with a first window of one segment, no timeout below 200 ms. MMPTCP scatters the "
        "first 100 KB. By the paper its threshold of duplicates follows from the number of paths: three more than "
        "16 here; the authors' code has no more than TCP's three.",
        "Goodput of long flows is of the whole run, slow start with it.",
    ),
)
