"""Every packet's wait at one port: its distribution, Lindley's recursion, and Little's law.

Each packet is a flow of its own, so that its arrival, its bytes and its departure stand in the table of flows.

- M/M/1: the stay, wait and service, is exponential with mean 1 / (1 - r) packet times (L. Kleinrock, "Queueing Systems,
  Volume 1: Theory", 1975, section 5.7, there from the transform).
- M/D/1: Erlang's formula of 1909 for the wait, see `_port.erlang`.
- A share r of Poisson arrivals finds the port busy (R. W. Wolff, "Poisson Arrivals See Time Averages", Operations
  Research 30(2), 1982).
- A packet leaves its own service after the later of its arrival and the departure of the one before (D. V. Lindley,
  "The Theory of Queues with a Single Server", Proc. Cambridge Phil. Soc. 48(2), 1952).
- The mean of what is in the port is the rate of arrivals times the mean stay (J. D. C. Little, "A Proof for the Queuing
  Formula: L = lambda W", Operations Research 9(3), 1961); for bytes, each packet's stay counts with its bytes. Over a
  run that begins and ends empty it holds exactly.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, all_exactly, at_most, not_reached
from flowyard.sweeps import Axis, Plan
from flowyard_papers.validation import _port as port

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture
    from numpy.typing import NDArray

LOADS = (0.5, 0.8)
REPLICAS = 20
# What is asked of each packet, and the time, in packet times, with which it is compared: how long it stays in M/M/1,
# how long it waits in M/D/1.
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
WAITS = {"beyond 1": 1.0, "beyond 2": 2.0, "beyond 4": 4.0}
BUSY = "waits"
# Steps of the drawn curves.
GRID = 60
LEAST_DRAWN = 1e-3


def thresholds(service: str, load: float) -> dict[str, float]:
    """The times beyond which packets are counted."""
    if service == port.MD1:
        return {BUSY: 0.0, **WAITS}
    return {BUSY: 0.0} | {name: -math.log(1 - p) / (1 - load) for name, p in PERCENTILES.items()}


def share_beyond(service: str, load: float, what: str) -> float:
    """The share of packets that theory has beyond that threshold."""
    if what == BUSY:
        return load
    return 1 - port.erlang(load, WAITS[what]) if service == port.MD1 else 1 - PERCENTILES[what]


def plans(scale: Scale) -> dict[str, Plan]:
    """Both services at each load."""
    loads = (*scale.pick((), (0.3,)), *LOADS, *scale.pick((), (0.9,)))
    packets: dict[str, Any] = {
        "topology": port.TOPOLOGY,
        "transport": {"datagram": {"header_bytes": "0B", "lengths": {"fixed": "65000B"}}},
        "traffic": [
            {
                "name": "packets",
                "arrivals": {"poisson": {"rate": 1}},
                "matrix": {"pairs": [[0, 1]]},
                "sizes": {"fixed": "1B"},
                "flows": scale.pick(30_000, 100_000),
            }
        ],
        "run": {"measure": "all"},
    }
    rates = [load * port.PORT_BPS / 8 / port.PACKET_BYTES for load in loads]
    seeds = list(range(1, len(loads) + 1))
    axes = [
        Axis("service", {"traffic.packets.sizes": list(port.LENGTHS.values())}, labels=list(port.LENGTHS)),
        Axis("load", {"traffic.packets.arrivals.poisson.rate": rates, "run.seed": seeds}, labels=loads),
    ]
    return {"packets": Plan(packets, axes, REPLICAS, name="packets")}


def tables(sweeps: Sweeps) -> Tables:
    """Checks of each run by Lindley and Little, the shares beyond thresholds, and their curves."""
    sweep = sweeps["packets"]
    summaries = sweep.summaries()
    runs, shares, curves = [], [], []
    for row in sweep.runs.sort("service", "load", "replica").iter_rows(named=True):
        where = {name: row[name] for name in ("service", "load", "replica")}
        folder = sweep.path(row["run"])
        flows = pl.read_parquet(folder / "flows.parquet", columns=["start_ps", "size_bytes", "fct_ps"])
        start, size, fct = (flows[name].cast(pl.Int64).to_numpy() for name in flows.columns)
        arrival = fifo(start, port.SOURCE_PS_PER_BYTE * size)
        service = port.PORT_PS_PER_BYTE * size
        departure = start + fct
        stay = departure - arrival
        links = pl.read_parquet(folder / "links.parquet", columns=["to", "packets", "queue_mean_bytes"])
        end = summaries[row["run"]]["end_ps"]
        runs.append(
            {
                **where,
                "packets": len(flows),
                "off_lindley_packets": int((departure != fifo(arrival, service)).sum()),
                "held_by_port_bytes": links.filter(pl.col("to") == "host 1")["queue_mean_bytes"].item(),
                # Rate times mean stay: bytes / end times the sum of bytes * stay / bytes.
                "rate_times_stay_bytes": int((size * stay).sum()) / end,
            }
        )
        counted = (stay - service if row["service"] == port.MD1 else stay) / port.PACKET_PS
        waits = stay > service
        for what, time in thresholds(row["service"], row["load"]).items():
            beyond = waits if what == BUSY else counted > time
            shares.append({**where, "what": what, "share": float(beyond.mean())})
        times = np.linspace(0, math.log(1000) / (1 - row["load"]), GRID)
        beyond = 1 - np.searchsorted(np.sort(counted), times, side="right") / len(counted)
        curves += [
            {**where, "time": t, "share": s} for t, s in zip(times.tolist(), beyond.tolist(), strict=True)
        ]
    curve = pl.DataFrame(curves).group_by("service", "load", "time", maintain_order=True)
    return {
        "runs": pl.DataFrame(runs),
        "shares": pl.DataFrame(shares),
        "curve": curve.agg(pl.col("share").mean()).rename({"time": "time_packet_times"}),
    }


def fifo(arrival: "NDArray[np.int64]", service: "NDArray[np.int64]") -> "NDArray[np.int64]":
    """When each customer leaves a server that serves in order of arrival.

    Lindley's recursion, departure[i] = max(arrival[i], departure[i - 1]) + service[i], solved: the last busy period
    began with the customer that makes its arrival plus all service since latest.
    """
    total = np.cumsum(service)
    result: NDArray[np.int64] = total + np.maximum.accumulate(arrival - (total - service))
    return result


def points(shares: pl.DataFrame, service: str) -> pl.DataFrame:
    """The mean shares of a service with their intervals and what theory says."""
    rows = shares.filter(service=service)
    found = port.intervals(rows, ["service", "load", "what"], "share")
    formula = [share_beyond(service, load, what) for load, what in found.select("load", "what").iter_rows()]
    return found.with_columns(formula=pl.Series(formula, dtype=pl.Float64))


def _distributed(tables: Tables, service: str) -> Judgement:
    found = points(tables["shares"], service)
    there = set(found.select("load", "what").iter_rows())
    if {(load, what) for load in LOADS for what in thresholds(service, load)} - there:
        return not_reached("there are not all loads and thresholds")
    return port.agree(found, ["load", "what"])


def _runs(tables: Tables) -> pl.DataFrame | None:
    """One row per run; None if not all services and loads are there."""
    runs = tables["runs"]
    there = set(runs.select("service", "load").iter_rows())
    return None if {(service, load) for service in port.LENGTHS for load in LOADS} - there else runs


def _lindley(tables: Tables) -> Judgement:
    runs = _runs(tables)
    if runs is None:
        return not_reached("there are not all services and loads")
    columns = runs.select("service", "load", "packets", "off_lindley_packets").iter_rows()
    return all_exactly(
        (
            (f"of {packets} packets of {service} at load {load} the number elsewhere", off, 0)
            for service, load, packets, off in columns
        ),
        "runs",
    )


def _little(tables: Tables) -> Judgement:
    runs = _runs(tables)
    if runs is None:
        return not_reached("there are not all services and loads")
    ratio = pl.col("held_by_port_bytes") / pl.col("rate_times_stay_bytes") - 1
    return at_most(runs.select(ratio.abs().max()).item(), 1e-9)


def draw(tables: Tables) -> "Picture":
    """Shares of packets that stay or wait longer, on the curves of theory."""
    picture, panels = style.panels(1, 2)
    for axes, service in zip(panels, (port.MM1, port.MD1), strict=True):
        curve = tables["curve"].filter(service=service)
        found = points(tables["shares"], service)
        for load, colour in zip(curve["load"].unique().sort(), style.COLOURS, strict=False):
            rows = curve.filter(pl.col("load") == load, pl.col("share") > LEAST_DRAWN)
            times = rows["time_packet_times"].to_numpy()
            axes.plot(times, rows["share"].to_numpy(), ".", color=colour, label=f"load {load:g}")
            fine = np.linspace(0, times[-1], 2 * GRID)
            axes.plot(fine, [_theory(service, load, time) for time in fine], color="#000000", linewidth=0.9)
            marked = found.filter(pl.col("load") == load, pl.col("what") != BUSY)
            at = [thresholds(service, load)[what] for what in marked["what"]]
            half = marked["half_width"].to_numpy()
            axes.errorbar(at, marked["mean"].to_numpy(), yerr=half, color=colour, linestyle="none", capsize=3)
        what = "stay longer" if service == port.MM1 else "wait longer"
        axes.set(title=service, yscale="log", ylim=(LEAST_DRAWN, 1.1))
        axes.set(xlabel="packet times", ylabel=f"share that {what}")
        axes.legend(loc="upper right", title="lines: theory")
    return picture


def _theory(service: str, load: float, time: float) -> float:
    return math.exp(-(1 - load) * time) if service == port.MM1 else 1 - port.erlang(load, time)


FIGURE = Figure(
    id="VAL-W",
    title="Waits packet by packet: distributions, Lindley's recursion, Little's law",
    plans=plans,
    tables=tables,
    claims={
        "VAL-W.a": lambda tables: _distributed(tables, port.MM1),
        "VAL-W.b": lambda tables: _distributed(tables, port.MD1),
        "VAL-W.c": _lindley,
        "VAL-W.d": _little,
    },
    draw=draw,
    needs={"runs": Needs(20, by=("service", "load")), "shares": Needs(20, by=("service", "load", "what"))},
    assumed=(
        "Instead of measured percentiles, which are biased in short runs, shares beyond the percentiles of theory are "
        "compared: their expectation is exact.",
        "Runs begin with an empty port. After 30,000 packets or more that is far below the width of the intervals.",
        "When a packet reaches the port follows from the flows' starts and sizes, by Lindley's recursion for the "
        "source.",
    ),
)
