"""Controls of RoCE side by side: with pauses, and without them under IRN, at 25, 100 and 400 Gbps.

Web search with incasts on a leaf-spine whose switches share their memory among ports: what short flows wait, how much
of a port's memory is used, for how long links are paused, and how much is sent twice. A question of operators: does a
control keep pauses away, and what does a lossy network cost under the same control?
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.across import _short_long

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# Of hosts, in Gbps; and the memory of a switch: that of 32 ports (16, 32, 64 MB) by its 12 ports.
RATES = {25: "6MB", 100: "12MB", 400: "24MB"}
LOAD, INCAST_LOAD, INCAST_BYTES = 0.48, 0.02, 500_000
PAUSES, LOSSES = "pauses", "IRN"
# Telemetry of five ports: 28 B in data, 22 B in acknowledgements (the HPCC simulator).
_TELEMETRY = {"header_bytes": "90B", "ack_bytes": "88B"}
CONTROLS: Mapping[str, dict[str, Any]] = {
    "no control": {"congestion": "line-rate"},
    "DCQCN": {"congestion": "dcqcn"},
    "TIMELY": {"congestion": "timely"},
    "DCTCP": {"congestion": "dctcp"},
    "HPCC": {"congestion": "hpcc", **_TELEMETRY},
    "PowerTCP": {"congestion": "powertcp", **_TELEMETRY},
}
QUICK = ("no control", "DCQCN", "HPCC")
# Bytes for each Gbps of a host: no mark below, each packet is marked above; and the probability of a mark in between.
MARKS = {"DCQCN": (200, 8000, 0.01), "DCTCP": (3000, 3000, 1.0)}
MEASURES = {
    "short_p99_slowdown": "p99 slowdown, up to 100 KB",
    "incast_p99_slowdown": "p99 slowdown, incasts",
    "fullest_port_share": "fullest port / memory",
    "paused_share": "time paused, links (%)",
    "repeated_share": "packets sent twice (%)",
}
LOOKS = {
    25: (style.COLOURS[0], "o", -0.22),
    100: (style.COLOURS[1], "s", 0.0),
    400: (style.COLOURS[2], "^", 0.22),
}


def _queue(control: str, ports: str, rate: int) -> dict[str, Any]:
    """The ports of switches: both kinds mark alike."""
    least, most, probability = MARKS.get(control, (0, 0, 0.0))
    kmin, kmax, memory = f"{least * rate}B", f"{most * rate}B", {"bytes": RATES[rate]}
    if ports == PAUSES:
        marks = {"kmin": kmin, "kmax": kmax, "pmax": probability} if most else {}
        return {"queue": {"lossless": marks}, "buffer": {"hpcc": {"size": RATES[rate]}}}
    shared = {"buffer": {"dynamic": {"size": RATES[rate]}}}
    if not most:
        return {"queue": {"drop-tail": {"limit": memory}}, **shared}
    if least == most:
        return {"queue": {"ecn": {"limit": memory, "threshold": {"bytes": kmin}}}, **shared}
    red = {
        "min_threshold": {"bytes": kmin},
        "max_threshold": {"bytes": kmax},
        "max_probability": probability,
        "weight": 1.0,
        "gentle": False,
        "ecn": True,
        "hard_drop": False,
        "limit": memory,
    }
    return {"queue": {"red": red}, **shared}


def _systems(scale: Scale, base: dict[str, Any], rate: int) -> Axis:
    names, scenarios = [], []
    for control, fields in CONTROLS.items():
        if control not in scale.pick(QUICK, tuple(CONTROLS)):
            continue
        for ports in (PAUSES, LOSSES):
            recovery = {"recovery": "irn"} if ports == LOSSES else {}
            names.append(f"{control}, {ports}")
            scenarios.append(
                {**base, "transport": {"roce": {**fields, **recovery}}, **_queue(control, ports, rate)}
            )
    return Axis("by", scenarios=scenarios, labels=names)


def plans(scale: Scale) -> dict[str, Plan]:
    """A plan for each rate: all controls with pauses and with losses."""
    leaves, hosts, spines = scale.pick((2, 4, 2), (4, 8, 4))
    warm = scale.pick(20, 400)
    made = {}
    for rate in scale.pick((25,), tuple(RATES)):
        fabric = {"leaves": leaves, "spines": spines, "hosts": hosts, "rate": f"{rate}Gbps", "delay": "1us"}
        flows = {
            "name": "flows",
            "arrivals": {"poisson": {"load": LOAD}},
            "matrix": "uniform",
            "sizes": "web-search",
        }
        incasts = {
            "name": "incasts",
            "arrivals": {"poisson": {"load": INCAST_LOAD, "each": "round"}},
            "matrix": {"incast": {"senders": scale.pick(4, 16), "receiver": "random"}},
            "sizes": {"fixed": f"{INCAST_BYTES}B"},
        }
        base = {
            "topology": {"leaf-spine": {**fabric, "spine": {"rate": f"{rate * hosts // spines}Gbps"}}},
            "traffic": [flows, incasts],
            "run": {"measure": {"from": warm, "until": 3 * warm, "drain": "0s"}, "until": "2s"},
        }
        made[str(rate)] = Plan(None, [_systems(scale, base, rate)], 1, name=f"{rate} Gbps")
    return made


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """One row per run."""
    return {"runs": pl.concat([_runs(sweeps[name], int(name)) for name in plans(scale)])}


def _runs(sweep: Any, rate: int) -> pl.DataFrame:
    """One row per run of a rate: tails, and what its links and packets say."""
    keys = ["by", "replica"]
    incasts = pl.col("tag") == "incasts"
    done = pl.col("completed").filter(incasts).all()
    flows = (
        sweep.flows.filter("measured")
        .group_by(keys)
        .agg(
            incast_p99_slowdown=pl.when(done).then(
                pl.col("slowdown").filter(incasts).quantile(0.99, "linear")
            ),
            repeated_share=100 * pl.col("retransmissions").sum() / pl.col("packets_sent").sum(),
        )
    )
    memory = int(RATES[rate].removesuffix("MB")) * 1_000_000
    of_switches = ~pl.col("from").cast(pl.String).str.starts_with("host")
    links = sweep.links.group_by(keys).agg(
        fullest_port_share=pl.col("queue_max_bytes").filter(of_switches).max() / memory,
        pauses=pl.col("pauses").sum().cast(pl.Int64),
        drops=pl.col("drops").sum().cast(pl.Int64),
        paused_ps=pl.col("paused_ps").mean(),
    )
    ends = sweep.flows.group_by(keys).agg(end_ps=(pl.col("start_ps") + pl.col("fct_ps")).max())
    found = flows.join(links, on=keys).join(ends, on=keys).collect()
    found = found.with_columns(paused_share=100 * pl.col("paused_ps") / pl.col("end_ps")).drop(
        "paused_ps", "end_ps"
    )
    tails = _short_long.runs(sweep, ["by"])
    rows = tails.join(found, on=keys, validate="1:1")
    return rows.select(pl.lit(rate).alias("rate_gbps"), pl.all()).sort("by", "replica")


def draw(tables: Tables) -> "Picture":
    """A row of dots for each control with pauses and under IRN, a colour for each rate."""
    runs = tables["runs"]
    every = [f"{control}, {ports}" for control in CONTROLS for ports in (PAUSES, LOSSES)]
    names = [name for name in every if name in set(runs["by"])]
    picture, panels = style.panels(1, len(MEASURES), size=(2.6, 1.6 + 0.28 * len(names)))
    for place, (axes, measure) in enumerate(zip(panels, MEASURES, strict=True)):
        for rate, (colour, marker, shift) in LOOKS.items():
            look = {
                "color": colour,
                "marker": marker,
                "shift": shift,
                "markersize": 4,
                "label": f"{rate} Gbps",
            }
            _short_long.dots(axes, runs.filter(rate_gbps=rate), "by", names, measure, look)
        _short_long.rows_of(axes, names, labelled=place == 0)
        axes.set_xlabel(MEASURES[measure], fontsize=8)
        if "slowdown" in measure:
            axes.set_xscale("log")
            axes.set_xlim(left=1)
            _short_long.round_numbers(axes)
        else:
            axes.set_xlim(left=0)
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return picture


FIGURE = Figure(
    id="ALL-8",
    title="Controls of RoCE: with pauses, and under IRN without, at 25, 100 and 400 Gbps",
    plans=plans,
    tables=tables,
    claims={},
    draw=draw,
    assumed=(
        "32 hosts under 4 leaves with 4 spines of twice their rate, 1 us a cable; one path a flow; one seed, the same "
        "flows under all controls (quick scale: 8 hosts at 25 Gbps, three controls).",
        "Web search loads the hosts' links to 0.48, and incasts to another 0.02: 16 hosts, drawn anew each time, send "
        "500 KB to another. 800 flows are measured after 400; arrivals end with them.",
        "Switches share 6, 12 and 24 MB: by links that are paused (the HPCC simulator's switch), or by dynamic "
        "thresholds with alpha = 1 where packets are dropped.",
        "Ports mark by 0.2 to 8 KB for each Gbps with up to 1 % under DCQCN, and above 3 KB for each Gbps under DCTCP, "
        "in both kinds of network. Without pauses all packets of a port wait in one queue, and RED drops "
        "acknowledgements where it would mark data with certainty. Everything else is the default of its control; "
        "nothing is tuned to a rate.",
    ),
)
