"""The network of SIRD's and dcPIM's authors, smaller, and receiver-driven transports with full packets of 1538 B."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Scale
from flowyard.sweeps import Sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

RATE_BPS = 100_000_000_000
# Leaves, spines and hosts of a leaf: spines of 400 Gbps pass on all that hosts send.
SHAPES = {Scale.QUICK: (2, 2, 4), Scale.FULL: (4, 2, 8)}
# Ports drop nothing.
_LIMIT: dict[str, Any] = {"limit": {"bytes": "200MB"}}
UNMARKED: dict[str, Any] = {"strict-priority": {**_LIMIT, "mark": "none"}}
MARKED: dict[str, Any] = {"strict-priority": {**_LIMIT, "threshold": {"packets": 82}}}
# The headers of Homa's authors' simulator, Ethernet included.
HOMA_HEADERS: dict[str, Any] = {
    "unscheduled_header": "30B",
    "scheduled_header": "16B",
    "frame_overhead": "38B",
    "least_frame": "84B",
}
DCPIM: dict[str, Any] = {"header_bytes": "78B"}
# dcPIM as in its authors' simulator, where every packet has 1500 B, and its ports.
PADDED: dict[str, Any] = {"pad_last": True}
_SHORT_LIMIT: dict[str, Any] = {"limit": {"bytes": "500KB"}}
CLASSES: dict[str, Any] = {"strict-priority": {**_SHORT_LIMIT, "mark": "none"}}
# Selective dropping from 6 kB on at 10 Gbps.
DROPPING: dict[str, Any] = {"selective-drop": {**_SHORT_LIMIT, "drop_above": {"bytes": "60KB"}}}
# IMC10 in the files of pHost's and dcPIM's authors: packets of 1460 B and per cent of flows, straight lines between.
_IMC10 = (
    (1, 50),
    (2, 60),
    (3, 70),
    (5, 75),
    (7, 80),
    (40, 81.25),
    (72, 82.5),
    (137, 85),
    (267, 90),
    (1187, 95),
    (2107, 100),
)
IMC10: dict[str, Any] = {"cdf": {"points": [[1460 * packets, percent] for packets, percent in _IMC10]}}


def payload(load: float) -> float:
    """The load in payload where a load is of packets of 1500 B, as in the simulators of these authors."""
    return round(load * 1460 / 1500, 4)


def hosts(scale: Scale) -> int:
    """Hosts of the network."""
    leaves, _, of_leaf = SHAPES[scale]
    return leaves * of_leaf


def network(scale: Scale, delay: str) -> dict[str, Any]:
    """A leaf-spine of 100 and 400 Gbps, with this delay a cable."""
    leaves, spines, of_leaf = SHAPES[scale]
    shape: dict[str, Any] = {"leaves": leaves, "spines": spines, "hosts": of_leaf}
    return {"leaf-spine": shape | {"rate": "100Gbps", "delay": delay, "spine": {"rate": "400Gbps"}}}


def overload(begin_us: int, end_us: int) -> dict[str, Any]:
    """The network of dcPIM's authors with fewer hosts, IMC10 flows, dcPIM; the run ends with its measuring window."""
    return {
        "topology": {
            "leaf-spine": {
                "leaves": 4,
                "spines": 2,
                "hosts": 4,
                "rate": "100Gbps",
                "delay": "650ns",
                "spine": {"rate": "400Gbps"},
            }
        },
        "transport": {"dcpim": PADDED},
        "queue": CLASSES,
        "traffic": [
            {
                "name": "flows",
                "arrivals": {"poisson": {"load": 0.5, "until": f"{end_us}us"}},
                "matrix": "uniform",
                "sizes": IMC10,
            }
        ],
        "run": {"until": f"{end_us}us", "measure": {"from": f"{begin_us}us", "until": "end"}},
    }


def kept(sweep: Sweep, keys: list[str]) -> pl.DataFrame:
    """One row per run: payload delivered in the measuring window over that of the flows that start in it."""
    found = [
        (run, summary["measured"]["carried_load"] / summary["measured"]["realised_load"])
        for run, summary in sweep.summaries().items()
    ]
    table = pl.DataFrame(found, schema={"run": pl.String, "kept": pl.Float64}, orient="row")
    return sweep.runs.join(table, on="run").select(*keys, "kept")


def fullest(sweep: Sweep, keys: list[str]) -> pl.DataFrame:
    """One row per run: the content of the fullest port of a switch, and all packets dropped."""
    of_switch = ~pl.col("from").cast(pl.String).str.starts_with("host")
    return (
        sweep.links.group_by(keys)
        .agg(
            queue_max_bytes=pl.col("queue_max_bytes").filter(of_switch).max(),
            drops=pl.col("drops").sum().cast(pl.Int64),
        )
        .collect()
    )


def goodput(sweep: Sweep, keys: list[str]) -> pl.DataFrame:
    """One row per run: payload delivered in the measuring window, as a share of the links to hosts."""
    found = [(run, summary["measured"]["hosts_payload"]) for run, summary in sweep.summaries().items()]
    table = pl.DataFrame(found, schema={"run": pl.String, "goodput": pl.Float64}, orient="row")
    return sweep.runs.join(table, on="run").select(*keys, "goodput")


def bars(axes: "Axes", place: int, number: int, count: int, values: Sequence[float | None]) -> None:
    """Bars of one series, one for each group; those of other series stand beside them.

    Args:
        axes: Where.
        place: Which colour.
        number: Of the series in a group.
        count: Series of a group.
        values: By group; none where it is None.
    """
    width = 0.8 / count
    known = [(at - 0.4 + width * (number + 0.5), value) for at, value in enumerate(values) if value]
    axes.bar([at for at, _ in known], [value for _, value in known], width, color=style.COLOURS[place])


def swatches(names: Iterable[str]) -> "list[Patch]":
    """The colours of these series, for a legend."""
    from matplotlib.patches import Patch

    return [Patch(color=style.COLOURS[place], label=name) for place, name in enumerate(names)]
