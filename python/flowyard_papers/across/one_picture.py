"""One picture of transports: the tail of short flows and what long flows get, for all transports on one fabric.

A leaf-spine without oversubscription, web search, Homa's W4, and web search with incasts, at 10, 100 and 400 Gbps and
loads of 0.4 and 0.8. What belongs to an operator or to a simulator, and not to the transport, is equal where that is
possible (docs/how-to/compare-transports.md): no handshake where it can be left out, timeouts of 1 ms at least, 1460 B
of payload and 40 B of header, each segment acknowledged, one limit of ports. What a transport is made of stays: its
queues, paths, first window, marks. `FIGURE.assumed` says what differs.
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

WEB, W4, INCASTS = WORKLOADS = ("web search", "Homa's W4", "web search and incasts")
# Of hosts, in Gbps; bytes of a port that drops, about a port's share of the memory of switches at that rate.
PORTS = {10: "300KB", 100: "1MB", 400: "2MB"}
LOADS = (0.4, 0.8)
INCAST_PART, INCAST_BYTES = 0.2, 32_000
# So many flows of web search are as many as one: of incasts, 0.2 / 0.8 times 1.6 MB / 32 KB.
INCASTS_EACH = 12
TCP: dict[str, Any] = {
    "preset": "datacentre",
    "handshake": False,
    "rto_min": "1ms",
    "rto_initial": "1ms",
    "delayed_ack": 1,
    "sack": True,
    "rack": True,
    "tail_loss_probe": True,
    "receive_window": "16MB",
}
_ROCE = {"payload": "1460B", "header_bytes": "40B", "timeout": "1ms"}
_UET = {"mtu": "1500B", "header_bytes": "40B"}
_PACED = {"pacing": {"rto_min": "1ms"}}
_CENTRAL = {"central": {"link_bytes": "0B"}}


def _tcp(queue: str, **fields: Any) -> dict[str, Any]:
    return {"transport": {"tcp": {**TCP, **fields}}, "queue": queue}


def _roce(control: str) -> dict[str, Any]:
    return {"transport": {"roce": {**_ROCE, "congestion": control}}}


# What each has of a scenario; a queue here has the limit of `PORTS`, and where there is none it is the transport's own.
TRANSPORTS: Mapping[str, dict[str, Any]] = {
    "TCP NewReno": _tcp("drop-tail"),
    "CUBIC": _tcp("drop-tail", congestion="cubic"),
    "BBR": _tcp("drop-tail", congestion="bbr"),
    "Swift": _tcp("drop-tail", congestion="swift"),
    "ICTCP": _tcp("drop-tail", ictcp={}),
    "DCTCP": _tcp("ecn", congestion="dctcp"),
    "L2DCT": _tcp("ecn", congestion="l2dct"),
    "BOS": _tcp("ecn", congestion="bos"),
    "PIAS": _tcp("strict-priority", congestion="dctcp", tagging={}),
    "MPTCP": {"transport": {"mptcp": {"join": "at-once", "tcp": dict(TCP)}}, "queue": "drop-tail"},
    "RepFlow": {"transport": {"repflow": {"tcp": dict(TCP)}}, "queue": "drop-tail"},
    "parallel TCP": {"transport": {"parallel-tcp": {"tcp": dict(TCP)}}, "queue": "drop-tail"},
    "NDP": {"transport": {"ndp": {"header_bytes": "40B"}}},
    "pFabric": {"transport": "pfabric"},
    "Homa": {"transport": "homa", "queue": "strict-priority"},
    "pHost": {"transport": "phost"},
    "ExpressPass": {"transport": "expresspass"},
    "SIRD": {"transport": "sird", "queue": "strict-priority"},
    "dcPIM": {"transport": "dcpim", "queue": "strict-priority"},
    "UET, NSCC": {"transport": {"uet": _UET}},
    "UET, RCCC": {"transport": {"uet": {**_UET, "control": "rccc"}}},
    "RCP": {"transport": {"rcp": _PACED}, "queue": "drop-tail"},
    "NUMFabric": {"transport": "numfabric"},
    "PDQ": {"transport": {"pdq": _PACED}, "queue": "drop-tail"},
    "RACS": {"transport": {"racs": _PACED}, "queue": "drop-tail"},
    "DAQ": {"transport": "daq"},
    "DCQCN": {"transport": {"dcqcn": _ROCE}},
    "RoCE, HPCC": _roce("hpcc"),
    "RoCE, PowerTCP": _roce("powertcp"),
    "RoCE, TIMELY": _roce("timely"),
    "RoCE, DCTCP": _roce("dctcp"),
    "RoCE, pauses": _roce("line-rate"),
    "IRN, DCTCP": {
        "transport": {"roce": {**_ROCE, "congestion": "dctcp", "recovery": "irn"}},
        "queue": "ecn",
    },
    "SYN, SRJF": {"transport": _CENTRAL, "controller": {"syn": {"policy": "srjf"}}},
    "ASY": {"transport": _CENTRAL, "controller": "asy"},
    "Flowtune": {"transport": _CENTRAL, "controller": "flowtune"},
}
QUICK = ("DCTCP", "NDP", "Homa", "RoCE, HPCC", "ASY")
MEASURES = {
    "short_p99_slowdown": "p99 slowdown, up to 100 KB",
    "long_goodput_share": "goodput / link, above 1 MB",
}
# Colour and mark by rate, filled at the higher load.
LOOKS = {
    10: (style.COLOURS[0], "o", -0.22),
    100: (style.COLOURS[1], "s", 0.0),
    400: (style.COLOURS[2], "^", 0.22),
}


def _entry(load: float, sizes: str) -> dict[str, Any]:
    arrivals = {"poisson": {"load": round(load, 4)}}
    return {"name": "flows", "arrivals": arrivals, "matrix": "uniform", "sizes": sizes}


def _traffic(scale: Scale, workload: str, load: float) -> list[dict[str, Any]]:
    if workload == W4:
        return [_entry(load, "homa-w4")]
    if workload == WEB:
        return [_entry(load, "web-search")]
    incasts = {
        "name": "incasts",
        "arrivals": {"poisson": {"load": round(INCAST_PART * load, 4), "each": "round"}},
        "matrix": {"incast": {"senders": scale.pick(4, 16), "receiver": "random"}},
        "sizes": {"fixed": f"{INCAST_BYTES}B"},
    }
    return [_entry((1 - INCAST_PART) * load, "web-search"), incasts]


def _window(scale: Scale, workload: str) -> dict[str, Any]:
    """A third of the flows warms the network up, the others are measured; then arrivals end, all others too."""
    web = scale.pick(40, 500)
    warm = {WEB: web, W4: 4 * web, INCASTS: (1 + INCASTS_EACH) * web // 2}[workload]
    return {"from": warm, "until": 3 * warm, "drain": "0s"}


def _transports(scale: Scale, base: dict[str, Any], limit: str) -> Axis:
    used = {name: TRANSPORTS[name] for name in scale.pick(QUICK, tuple(TRANSPORTS))}
    scenarios = []
    for one in used.values():
        queue = {"queue": {one["queue"]: {"limit": {"bytes": limit}}}} if "queue" in one else {}
        scenarios.append({**base, **one, **queue})
    return Axis("by", scenarios=scenarios, labels=list(used))


def plans(scale: Scale) -> dict[str, Plan]:
    """A plan for each rate and workload: all transports at both loads."""
    leaves, hosts, spines = scale.pick((2, 4, 2), (4, 8, 4))
    made = {}
    for rate in scale.pick((10,), tuple(PORTS)):
        spine = {"rate": f"{rate * hosts // spines}Gbps"}
        fabric = {"leaves": leaves, "spines": spines, "hosts": hosts, "rate": f"{rate}Gbps", "spine": spine}
        for place, workload in enumerate(WORKLOADS):
            base = {
                "topology": {"leaf-spine": {**fabric, "delay": "1us"}},
                "run": {"measure": _window(scale, workload), "until": "2s"},
            }
            traffic = [_traffic(scale, workload, load) for load in LOADS]
            axes = [
                Axis("load", {"traffic": traffic}, labels=list(LOADS)),
                _transports(scale, base, PORTS[rate]),
            ]
            made[f"{rate}-{place}"] = Plan(None, axes[::-1], 1, name=f"{workload}, {rate} Gbps")
    return made


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """One row per run."""
    parts = []
    for name in plans(scale):
        rate, place = map(int, name.split("-"))
        goodput = pl.col("long_goodput_gbps") / rate
        runs = _short_long.runs(sweeps[name], ["load", "by"]).with_columns(long_goodput_share=goodput)
        parts.append(
            runs.select(pl.lit(WORKLOADS[place]).alias("workload"), pl.lit(rate).alias("rate_gbps"), pl.all())
        )
    return {"runs": pl.concat(parts)}


def draw(tables: Tables) -> "Picture":
    """A row of dots for each transport: both measures under each workload, a colour for each rate."""
    runs = tables["runs"]
    names = [name for name in TRANSPORTS if name in set(runs["by"])]
    picture, panels = style.panels(1, 6, size=(2.5, 1.6 + 0.25 * len(names)))
    places = [(measure, workload) for measure in MEASURES for workload in WORKLOADS]
    for place, (axes, (measure, workload)) in enumerate(zip(panels, places, strict=True)):
        for rate, (colour, marker, shift) in LOOKS.items():
            for load in LOADS:
                look = {
                    "color": colour,
                    "marker": marker,
                    "shift": shift,
                    "markersize": 4,
                    "markerfacecolor": colour if load == LOADS[-1] else "white",
                    "label": f"{rate} Gbps, load {load:g}",
                }
                own = runs.filter(workload=workload, rate_gbps=rate, load=load)
                _short_long.dots(axes, own, "by", names, measure, look)
        _short_long.rows_of(axes, names, labelled=place == 0)
        axes.set_title(workload)
        axes.set_xlabel(MEASURES[measure], fontsize=8)
        if measure == "short_p99_slowdown":
            axes.set_xscale("log")
            axes.set_xlim(left=1)
            _short_long.round_numbers(axes)
        else:
            axes.set_xlim(0, 1)
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=6)
    return picture


FIGURE = Figure(
    id="ALL-7",
    title="One picture of transports: short and long flows at 10, 100 and 400 Gbps",
    plans=plans,
    tables=tables,
    claims={},
    draw=draw,
    assumed=(
        "32 hosts under 4 leaves with 4 spines of twice their rate, without oversubscription; 1 us a cable at each "
        "rate. Loads are offered payload over the hosts' links; one seed, the same flows under all transports.",
        "1000 flows of web search are measured after 500, 4000 of W4 after 2000, and 6500 of web search with "
        "incasts after 3250; arrivals end with them. At 0.8 that is a shorter warm-up than the network needs to carry "
        "its load: the table has what it carried. Of web search, the 99th percentile rests on the five slowest short "
        "flows.",
        "In the third workload a fifth of the load is incasts: 16 hosts, drawn anew each time, send 32 KB to another.",
        "Equal: no handshake where it can be left out; timeouts of 1 ms where they are a field; 1460 B of payload and "
        "40 B of header for TCP, RoCE and NDP, 1500 B for UET; ports that drop or mark hold 300 KB, 1 MB and 2 MB at "
        "the three rates; TCP has SACK and RACK-TLP and acknowledges each segment.",
        "Different, as each is made: queues (trimming, short, priorities, credits, pauses, none), paths (by flow under "
        "TCP, RoCE and DAQ, by packet under NDP, pFabric, Homa, pHost and SIRD, by entropy under UET, drawn for each "
        "connection else), first windows (10 packets under TCP), marks, minimum rates, headers of the others; RCP, "
        "PDQ, RACS and DAQ begin with a request or handshake. PIAS has its authors' thresholds. Nothing is tuned to a "
        "rate.",
        "SYN, ASY and Flowtune know all flows at once and without delay, and hosts queue by destination, first come "
        "first served, behind long flows too.",
        "Left out: D2TCP and D3, as no flow has a deadline; datagrams, which repair nothing; prototypes in Python.",
    ),
)
