"""HULL: use of a link and the queue of its port by the number of long flows, and latency of 1 KB flows beside DCTCP's.

Alizadeh et al., "Less is more: trading a little bandwidth for ultra-low latency in the data center", NSDI 2012. DCTCP
meets the marks of a phantom queue, which drains at 0.95 of the link's rate, so that about a tenth of the bandwidth is
given up (abstract) and the real queue stays near empty; a pacer at the hosts spaces the segments of marked flows.
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

HULL, UNPACED, DCTCP = "HULL", "HULL without its pacer", "DCTCP"
FULL, PAYLOAD = 1500, 1460
_DCTCP = {"congestion": "dctcp", "preset": "datacentre"}
_PHANTOM = {"transport": {"tcp": _DCTCP}, "queue": {"phantom": {"drain": 0.95}}}
PACED = _PHANTOM | {"transport": {"tcp": _DCTCP | {"nic_pacer": {}}}}
FLOWS = (2, 4, 8)
# By rate, with DCTCP's K.
RATES: dict[str, tuple[str, dict[str, Any]]] = {
    "10 Gbps": ("10Gbps", {"packets": 65}),
    "1 Gbps": ("1Gbps", {"bytes": "30KB"}),
}
# Goodput as a share of the link, each give or take 3 %; packets in the port; how many times the latency under DCTCP is.
LEAST, MOST, SLACK = 0.80, 0.95 * PAYLOAD / FULL, 0.03
PACKETS, FACTOR = 2, 5


def _stacks(threshold: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Transport and ports of each series."""
    marks = {"transport": {"tcp": _DCTCP}, "queue": {"ecn": {"threshold": threshold}}}
    return {HULL: PACED, UNPACED: _PHANTOM, DCTCP: marks}


def plans(scale: Scale) -> dict[str, Plan]:
    """So many long flows into one port at both rates; two of them beside flows of 1 KB at 1 Gbps."""
    long = {
        "name": "long",
        "background": True,
        "arrivals": {"at-once": {"jitter": "100us"}},
        "matrix": {"incast": {"senders": FLOWS[0], "receiver": 0}},
        "sizes": "endless",
    }
    until = scale.pick(150, 1000)
    base = {
        "topology": {"single-switch": {"hosts": 2, "rate": "10Gbps", "delay": "25us"}},
        "traffic": [long],
        "run": {"until": f"{until}ms", "measure": {"from": "100ms", "until": "end"}},
    }
    cases = [(rate, name, one) for rate, (_, k) in RATES.items() for name, one in _stacks(k).items()]
    axes = [
        Axis(
            "case",
            {
                "topology.single-switch.rate": [RATES[rate][0] for rate, _, _ in cases],
                "transport": [one["transport"] for *_, one in cases],
                "queue": [one["queue"] for *_, one in cases],
            },
            labels=[f"{rate}: {name}" for rate, name, _ in cases],
        ),
        Axis(
            "senders",
            {
                "topology.single-switch.hosts": [n + 1 for n in FLOWS],
                "traffic.long.matrix.incast.senders": list(FLOWS),
            },
            labels=FLOWS,
        ),
    ]
    short = {
        "name": "short",
        "arrivals": {"poisson": {"rate": 1000.0}},
        "matrix": {"pairs": [[3, 0]]},
        "sizes": {"fixed": "1KB"},
        "flows": scale.pick(500, 5000),
    }
    beside = {
        "topology": {"single-switch": {"hosts": 4, "rate": "1Gbps", "delay": "10us"}},
        "traffic": [long | {"matrix": {"pairs": [[1, 0], [2, 0]]}}, short],
        "run": {"measure": {"from": "100ms"}},
    }
    stacks = _stacks(RATES["1 Gbps"][1])
    fields = {key: [one[key] for one in stacks.values()] for key in ("transport", "queue")}
    return {
        "long": Plan(base, axes, scale.pick(1, 5), name="long flows"),
        "short": Plan(
            beside, [Axis("stack", fields, labels=list(stacks))], scale.pick(1, 5), name="short flows"
        ),
    }


def tables(sweeps: Sweeps) -> Tables:
    """One row per run: goodput and content of the port to the receiver; times of flows of 1 KB; and means."""
    port = sweeps["long"].links.filter(pl.col("to") == "host 0")
    name = pl.col("case").cast(pl.String).str.split(": ")
    keys = ["rate", "stack", "senders"]
    ports = port.select(
        rate=name.list.get(0),
        stack=name.list.get(1),
        senders="senders",
        replica="replica",
        goodput=pl.col("utilisation") * PAYLOAD / FULL,
        queue_packets=pl.col("queue_mean_bytes") / FULL,
        drops="drops",
    )
    runs = ports.sort(*keys, "replica").collect()
    fct_us = pl.col("fct_ps") / 1e6
    latency = (
        sweeps["short"]
        .flows.filter("measured", tag="short")
        .group_by("stack", "replica")
        .agg(
            flows=pl.len().cast(pl.Int64),
            median_us=fct_us.median(),
            p99_us=pl.when(pl.col("completed").all()).then(fct_us.quantile(0.99, "linear")),
        )
        .sort("stack", "replica")
        .collect()
    )
    return {
        "runs": runs,
        "points": replica_means(runs, keys, ["goodput", "queue_packets"]),
        "latency": latency,
    }


def _by_rate(tables: Tables, column: str, low: float, high: float, expected: str) -> Judgement:
    """A verdict for each rate: whether the means over seeds with each number of flows lie between two bounds."""

    def of(rate: str) -> Judgement:
        rows = tables["points"].filter(rate=rate, stack=HULL).sort("senders")
        if rows["senders"].to_list() != list(FLOWS):
            return not_reached("there are not all numbers of flows")
        measured = ", ".join(
            f"{value:.3f} with {n}" for n, value in rows.select("senders", column).iter_rows()
        )
        return judged(rows[column].is_between(low, high).all(), measured, expected)

    return by_reading({rate: of(rate) for rate in RATES})


def _goodput(tables: Tables) -> Judgement:
    expected = f"{LEAST:.2f} to {MOST:.3f} of the link, +- {SLACK:.0%}"
    return _by_rate(tables, "goodput", LEAST * (1 - SLACK), MOST * (1 + SLACK), expected)


def _queue(tables: Tables) -> Judgement:
    return _by_rate(tables, "queue_packets", 0, PACKETS, f"at most {PACKETS} packets")


def _latency(tables: Tables) -> Judgement:
    """The 99th percentile under DCTCP over that under HULL, as means over seeds."""
    rows = tables["latency"]
    tails = dict(rows.group_by("stack").agg(pl.col("p99_us").mean()).iter_rows())
    if not {HULL, DCTCP} <= tails.keys() or rows["p99_us"].null_count():
        return not_reached("short flows have not ended")
    measured = f"{tails[DCTCP] / tails[HULL]:.2f} times: {tails[DCTCP]:.0f} and {tails[HULL]:.0f} us"
    return judged(tails[DCTCP] >= FACTOR * tails[HULL], measured, f"at least {FACTOR} times")


def draw(tables: Tables) -> "Picture":
    """Goodput and content of the port by the number of long flows, and latencies of flows of 1 KB."""
    picture, (goodput, queue, latency) = style.panels(1, 3)
    stacks = (HULL, UNPACED, DCTCP)
    for place, stack in enumerate(stacks):
        for rate, line in zip(RATES, ("-", ":"), strict=True):
            rows = tables["points"].filter(rate=rate, stack=stack).sort("senders")
            label = stack if line == "-" else ""
            for axes, column in ((goodput, "goodput"), (queue, "queue_packets")):
                style.curve(axes, rows, "senders", column, place, label, linestyle=line)
        own = tables["latency"].filter(stack=stack)
        for column, shade in (("median_us", 0.45), ("p99_us", 1.0)):
            bar = (0.5 if shade < 1 else 0) + 1.5 * place
            latency.bar(
                bar, own.select(pl.col(column).mean()).item(), 0.45, color=style.COLOURS[place], alpha=shade
            )
    goodput.axhspan(LEAST, MOST, color="#eeeeee", zorder=0)
    goodput.set(ylabel="goodput / rate of the link", title="dotted: 1 Gbps; grey: the claim", ylim=(0, 1))
    queue.axhline(PACKETS, color="#000000", linewidth=0.9, linestyle="--")
    queue.set(ylabel="content of the port (packets)", title="dotted: 1 Gbps", yscale="log")
    for axes in (goodput, queue):
        axes.set(xlabel="long flows")
        axes.set_xticks(FLOWS, [str(n) for n in FLOWS])
    picture.legend(*goodput.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    latency.set(ylabel="FCT (us)", title="1 KB at 1 Gbps: 99th percentile, median pale")
    latency.set_xticks([0.25, 1.75, 3.25], ["HULL", "no pacer", "DCTCP"])
    return picture


FIGURE = Figure(
    id="LIT-HULL",
    title="HULL: use of a link, the queue of its port, and latency of 1 KB flows beside DCTCP's",
    plans=plans,
    tables=tables,
    claims={"LIT-HULL.a": _goodput, "LIT-HULL.b": _queue, "LIT-HULL.c": _latency},
    draw=draw,
    needs={
        "points": Needs(5, by=("rate", "stack", "senders")),
        "latency": Needs(5, by=("stack",), least={"flows": 5000}),
    },
    assumed=(
        "Endless flows of DCTCP from as many hosts into one port, cables of 25 us, from 0.1 to 1 s (quick scale: to "
        "0.15 s). A segment of 1460 B takes 1500 B; the port's content has the packet on the wire in it.",
        "Flows of 1 KB come 1000 times a second from a third host beside two long flows, cables of 10 us; each opens "
        "a connection. DCTCP marks above 30 KB.",
        "The drain of 0.95, thresholds of 1 KB at 1 Gbps and 3 KB at 10 Gbps, the constants of the pacer, and the "
        "factor of 5 are from memory of the paper.",
    ),
)
