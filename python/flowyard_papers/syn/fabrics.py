"""SYN, sections II-A and III-G (claims P6, F10.d): queues in the network under SYN, at two rates and at one (SYN-P8).

Also between leaves only: then all paths have four links, as the paper's argument asks for.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import judge, pcap, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard_papers.syn import _rack as rack
from flowyard_papers.syn import _sent as sent
from flowyard_papers.syn import _window as windows
from flowyard_papers.syn._leaf_spine import SERVERS, SERVERS_PER_LEAF

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

FAST, EQUAL = "10 Gbps uplinks", "1 Gbps everywhere"
UNIFORM, BETWEEN = "uniform", "between leaves"
LOAD = 0.8
# A packet of 1500 B with its frame at 10 Gbps; nine of them.
UPLINK_US = 1.2304
MOST_WAIT_US = 11.1
KEYS = ["fabric", "traffic", "replica"]


def plans(scale: Scale) -> dict[str, Plan]:
    """Both fabrics with both kinds of traffic; uplinks of 10 Gbps captured for a short time."""
    length, short = scale.pick(60, 500), 5
    fabrics = [_base(equal, length, windows.HISTOGRAMS) for equal in (False, True)]
    observe = {"capture": {"links": ["host-leaf", "leaf-spine"], "packet_limit": 5_000_000}}
    replicas = scale.pick(2, 10)
    return {
        "ports": Plan(
            axes=[Axis("fabric", scenarios=fabrics, labels=(FAST, EQUAL)), _traffic(length)],
            replicas=replicas,
            name="queues in the network",
        ),
        "uplinks": Plan(_base(False, short, observe), [_traffic(short)], replicas=replicas, name="uplinks"),
    }


def _base(equal: bool, until_ms: int, observe: dict[str, Any]) -> dict[str, Any]:
    run = {"measure": "all", "until": f"{until_ms}ms"}
    traffic = [rack.bursts(LOAD, rack.FIXED, until_ms)]
    found = rack.scenario(rack.CONTROLLERS[rack.MMF], run=run, traffic=traffic, observe=observe)
    found["topology"]["leaf-spine"]["equal_rate"] = equal
    return found


def _traffic(until_ms: int) -> Axis:
    uniform = rack.bursts(LOAD, rack.FIXED, until_ms)
    leaf = [server // SERVERS_PER_LEAF for server in range(SERVERS)]
    pairs = [[a, b] for a in range(SERVERS) for b in range(SERVERS) if leaf[a] != leaf[b]]
    between = uniform | {"matrix": {"pairs": pairs}}
    return Axis("traffic", {"traffic": [[uniform], [between]]}, labels=(UNIFORM, BETWEEN))


def tables(sweeps: Sweeps) -> Tables:
    """The most packets by kind of link; latencies by number of links; waits at uplinks."""
    sweep = sweeps["ports"]
    ports = sweep.links.with_columns(pl.col("tier").cast(pl.String)).group_by(*KEYS, "tier")
    histograms = sweep.scan("histograms").filter(pl.col("metric").cast(pl.String) == "network_ps")
    latencies = histograms.select(
        *KEYS, pl.col("class").cast(pl.String).alias("links"), "count", us=pl.col("low") / 1e6
    )
    return {
        "ports": ports.agg(most_packets=pl.col("queue_max_packets").max()).collect().sort(*KEYS, "tier"),
        "latencies": latencies.collect().sort(*KEYS, "links", "us"),
        "waits": pl.DataFrame(_waits(sweeps["uplinks"])).sort("traffic", "replica"),
    }


def _waits(sweep: Sweep) -> list[dict[str, Any]]:
    """The least and the longest wait at a leaf's uplink in each run."""
    rows = []
    for run in sweep.runs.filter("done").iter_rows(named=True):
        waits = _uplink_waits(sweep.path(run["run"]))
        rows.append(
            {
                "traffic": run["traffic"],
                "replica": run["replica"],
                "packets": len(waits),
                "least_us": waits.min(),
                "most_us": waits.max(),
            }
        )
    return rows


def _uplink_waits(run: Path) -> pl.Series:
    began, crossed = (_crossed(run, kind) for kind in ("host", "leaf"))
    joined = began.join(crossed, on=["port", "number", "from", "to"], suffix="_up", validate="1:1")
    return (joined["came_ns_up"] - joined["came_ns"] - sent.DELAY_NS) / 1e3 - UPLINK_US


def _crossed(run: Path, kind: str) -> pl.DataFrame:
    """When packets came out of the links up from servers, or from leaves."""
    share = {"host": 1, "leaf": SERVERS_PER_LEAF}[kind]
    tables = []
    for path in sorted((run / "pcap").iterdir()):
        lower = path.name.split("-")[1]
        if not lower.startswith(kind):
            continue
        records, _ = pcap.records(path)
        sources = pcap.hosts(records["from"])
        own = sources // share == int(lower.removeprefix(f"{kind}_"))
        columns = {
            "port": records["port"].astype("int64"),
            "number": records["number"].astype("int64"),
            "from": sources,
            "to": pcap.hosts(records["to"]),
            "came_ns": pcap.time_ns(records),
        }
        tables.append(pl.DataFrame({name: values[own] for name, values in columns.items()}))
    return pl.concat(tables)


def _most(tables: Tables, fabric: str, traffic: str, *tiers: str) -> int | None:
    own = tables["ports"].filter(pl.col("tier").is_in(tiers), fabric=fabric, traffic=traffic)
    most = own["most_packets"].max()
    return most if isinstance(most, int) else None


def _no_queues(tables: Tables) -> Judgement:
    """Of paths of equally many links first: of these the claim is."""
    up, down = ("leaf-spine", "spine-leaf"), ("leaf-host",)
    found = {}
    for traffic in (BETWEEN, UNIFORM):
        one = judge.at_most(_most(tables, EQUAL, traffic, *up, *down), 1)
        ten = judge.at_most(_most(tables, FAST, traffic, *up), 10)
        three = judge.at_most(_most(tables, FAST, traffic, *down), 3)
        waits = tables["waits"].filter(traffic=traffic).select(pl.col("most_us").max()).item()
        # Ten packets that come together at the end of a slot are gone when the next one ends.
        gone = judge.at_most(None if waits is None else waits + UPLINK_US, sent.SLOT_NS / 1e3)
        why = "packets over two links and over four meet at their server's port, even if all links have one rate"
        parts = {
            "most packets at a port, links of one rate": one.because(why),
            "between leaf and spine, fast uplinks": ten,
            "towards servers, fast uplinks": three,
            "longest wait at an uplink": gone.measured_in("us"),
        }
        found[traffic] = judge.together(part.called(name) for name, part in parts.items())
    return judge.by_reading(found)


def _smallest(tables: Tables, fabric: str, traffic: str, links: str) -> float | None:
    """The share of packets that have the smallest latency of their class."""
    own = tables["latencies"].filter(fabric=fabric, traffic=traffic, links=links)
    if own.is_empty():
        return None
    smallest = pl.col("count").filter(pl.col("us") == pl.col("us").min()).sum() / pl.col("count").sum()
    return float(own.select(smallest).item())


def _waits_at_uplinks(tables: Tables) -> Judgement:
    """F10.d: packets over four links wait for those of their slot; between leaves at one rate nothing waits.

    Of packets over two links no single value is asked for: one over two links comes 12.8 us after its slot began, one
    over four 16.3 us and its wait at the uplink, so that it is still on the wire to a server when one over two links of
    the next slot comes there. What share has the least latency is reported with the verdict.
    """
    found = {}
    for traffic in (UNIFORM, BETWEEN):
        waits = tables["waits"].filter(traffic=traffic)
        if waits.is_empty():
            return judge.not_reached("no waits at uplinks")
        least, most = (waits.select(pl.col("least_us").min(), pl.col("most_us").max())).row(0)
        # Captures have whole nanoseconds.
        waited = judge.judged(
            least >= -0.002 and most <= MOST_WAIT_US,
            f"waits {abs(least):.3g} to {most:.4g} us",
            "0 to 11.1",
        )
        if traffic == UNIFORM:
            share = _smallest(tables, FAST, UNIFORM, "2 links")
            found[traffic] = waited.noted(f"{100 * (share or 0):.3g} % of those over two links meet nothing")
        else:
            idle = judge.at_least(_smallest(tables, EQUAL, traffic, "4 links"), 1)
            found[traffic] = judge.together([waited, idle.called("share that meets nothing at one rate")])
    return judge.by_reading(found)


def draw(tables: Tables) -> "Picture":
    """Latencies by number of links on both fabrics, for both kinds of traffic."""
    picture, panels = style.panels(1, 2)
    for axes, traffic in zip(panels, (UNIFORM, BETWEEN), strict=True):
        place = 0
        for fabric in (FAST, EQUAL):
            for links in ("2 links", "4 links"):
                own = tables["latencies"].filter(fabric=fabric, traffic=traffic, links=links)
                summed = own.group_by("us").agg(pl.col("count").sum()).sort("us")
                if len(summed):
                    shares = (summed["count"].cum_sum() / summed["count"].sum()).to_list()
                    x = summed["us"].to_list()
                    label = f"{links}, {fabric}"
                    colour = style.COLOURS[place]
                    axes.step([x[0], *x, 80], [0, *shares, 1], where="post", color=colour, label=label)
                place += 1
        axes.set(xlabel="network latency (us)", ylabel="share of packets", title=traffic, xlim=(20, 80))
        axes.legend(fontsize=7)
    return picture


FIGURE = Figure(
    id="SYN-P6",
    title="Queues inside the network under SYN",
    plans=plans,
    tables=tables,
    claims={"SYN-F10.d": _waits_at_uplinks, "SYN-P6": _no_queues},
    draw=draw,
    needs={"ports": Needs(10, by=("fabric", "traffic")), "waits": Needs(10, by=("traffic",))},
    assumed=(
        *rack.ASSUMED,
        "Load 0.8 from an empty network, 500 ms, at quick scale 60 ms; waits at uplinks from captures of 5 ms.",
    ),
)
