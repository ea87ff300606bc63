"""TIMELY: two flows use a link whatever their shares; and the tail of short flows beside that of flow control alone.

Mittal et al., "TIMELY: RTT-based congestion control for the datacenter", SIGCOMM 2015. Zhu et al., "ECN or delay:
lessons learnt from analysis of DCQCN and TIMELY", CoNEXT 2016: the gradient alone has no fair share.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, at_least, by_reading, judged, not_reached
from flowyard.sweeps import Axis, Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

PAYLOAD, WIRE = 1000, 1056
# Cables of two networks: those of HPCC's simulations, and the rate of TIMELY's testbed.
FAST, SLOW = "100 Gbps, 1 us", "10 Gbps, 5 us"
GBPS = {FAST: 100, SLOW: 10}
# When the second flow starts, in us after the first.
OFFSETS_US = (100, 300, 1000, 3000)
# The offset whose rates are drawn, and the pair of flows.
SHOWN_US = 1000
FLOWS = ("first", "second")
TIMELY, ALONE = "TIMELY", "flow control alone"
# Marks, which its flows do not have, are off: the control never acts.
CONTROLS = {TIMELY: "timely", ALONE: "dctcp"}
LOADS = (0.4, 0.6)
SHORT_BYTES = 100_000


def _two(scale: Scale) -> Plan:
    """Two long flows to one host; rates are of the last half."""
    entries = [
        {
            "name": name,
            "background": True,
            "arrivals": {"at-once": {"at": "0s", "jitter": "10us"}},
            "matrix": {"pairs": [[1 + place, 0]]},
            "sizes": "endless",
        }
        for place, name in enumerate(FLOWS)
    ]
    base = {
        "topology": {"single-switch": {"hosts": 3}},
        "transport": {"roce": {"congestion": "timely", "header_bytes": "56B", "ack_bytes": "60B"}},
        "queue": {"lossless": {"kmin": "1GB", "kmax": "1GB"}},
        "traffic": entries,
        "observe": {"samples": {"every": "200us", "links": ["switch -> host 0"]}},
        "run": {"until": f"{2 * _half_ms(scale)}ms"},
    }
    network = Axis(
        "network",
        {
            "topology.single-switch.rate": [f"{rate}Gbps" for rate in GBPS.values()],
            "topology.single-switch.delay": ["1us", "5us"],
        },
        labels=list(GBPS),
    )
    offset = Axis(
        "offset_us",
        {"traffic.second.arrivals.at-once.at": [f"{at}us" for at in OFFSETS_US]},
        labels=OFFSETS_US,
    )
    return Plan(base, [network, offset], scale.pick(1, 5), name="two flows")


def _half_ms(scale: Scale) -> int:
    """Half of the time of two flows: rates are those of the second half."""
    return scale.pick(10, 30)


def _tail(scale: Scale) -> Plan:
    """Web search flows on a fat-tree whose ports pause."""
    web: dict[str, Any] = {
        "name": "web",
        "arrivals": {"poisson": {"load": max(LOADS)}},
        "matrix": "uniform",
        "sizes": "web-search",
        "flows": scale.pick(80, 800),
    }
    base = {
        "topology": {"fat-tree": {"k": 4, "rate": "10Gbps", "delay": "5us"}},
        "transport": {"roce": {"header_bytes": "56B", "ack_bytes": "60B"}},
        "queue": {"lossless": {"kmin": "1GB", "kmax": "1GB"}},
        "traffic": [web],
        "run": {"measure": "all", "until": "1s"},
    }
    control = Axis("control", {"transport.roce.congestion": list(CONTROLS.values())}, labels=list(CONTROLS))
    load = Axis("load", {"traffic.web.arrivals.poisson.load": list(LOADS)}, labels=LOADS)
    return Plan(base, [control, load], scale.pick(1, 5), name="tail")


def plans(scale: Scale) -> dict[str, Plan]:
    """Two flows by when the second starts; web search traffic with TIMELY and without."""
    return {"two": _two(scale), "tail": _tail(scale)}


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """Rates of the two flows over time and in the last half; completion times and pauses of web search traffic."""
    keys = ["network", "offset_us", "replica"]
    time_ms = pl.col("time_ps").cast(pl.Int64) / 1e9
    samples = sweeps["two"].scan("samples").filter(pl.col("series") == "rate_bps")
    rates = samples.select(*keys, "time_ps", flow=pl.col("id").cast(pl.Int64), gbps=pl.col("value") / 1e9)
    late = rates.filter(time_ms > _half_ms(scale))
    means = late.group_by(*keys, "flow").agg(pl.col("gbps").mean())
    shares = means.group_by(keys).agg(
        first_gbps=pl.col("gbps").filter(pl.col("flow") == 0).sum(),
        second_gbps=pl.col("gbps").filter(pl.col("flow") == 1).sum(),
    )
    shown = rates.filter(replica=0, offset_us=SHOWN_US)
    short = pl.col("size_bytes") <= SHORT_BYTES
    done = pl.col("completed").all()
    by = ["control", "load", "replica"]
    flows = sweeps["tail"].flows.group_by(by)
    tail = flows.agg(
        flows=pl.len(),
        short_p99_us=pl.when(done).then((pl.col("fct_ps") / 1e6).filter(short).quantile(0.99)),
        mean_us=pl.when(done).then((pl.col("fct_ps") / 1e6).mean()),
    )
    pauses = sweeps["tail"].links.group_by(by).agg(pl.col("pauses").sum().cast(pl.Int64))
    return {
        "rates": shown.select("network", "flow", "gbps", time_ms=time_ms)
        .sort("network", "flow", "time_ms")
        .collect(),
        "shares": shares.sort(keys).collect(),
        "tail": tail.join(pauses, on=by).sort(by).collect(),
    }


def _sum(tables: Tables) -> Judgement:
    """The least sum of the two rates, as a share of what the link carries in payload, on each network."""
    return by_reading({name: _sum_on(name, tables["shares"].filter(network=name)) for name in GBPS})


def _sum_on(network: str, shares: pl.DataFrame) -> Judgement:
    if set(shares["offset_us"]) != set(OFFSETS_US):
        return not_reached("there are not all starts")
    both = (shares["first_gbps"] + shares["second_gbps"]).to_list()
    return at_least(min(both) * WIRE / PAYLOAD / GBPS[network], 0.9)


def _shorter_tail(tables: Tables) -> Judgement:
    """Means over seeds of the short flows' 99th percentile, TIMELY over flow control alone."""
    runs = tables["tail"]
    points = {(row["control"], row["load"]) for row in runs.to_dicts()}
    if len(points) != len(CONTROLS) * len(LOADS) or runs["short_p99_us"].null_count():
        return not_reached("there are not both controls, or flows have not ended")
    said, holds = [], True
    for load in LOADS:
        with_it, alone = (_mean(runs.filter(control=name, load=load)) for name in CONTROLS)
        holds = holds and with_it < alone
        said.append(f"{with_it:,.0f} against {alone:,.0f} us at {load:g}")
    return judged(holds, ", ".join(said), f"lower than under {ALONE}")


def _mean(runs: pl.DataFrame) -> float:
    return float(str(runs["short_p99_us"].mean()))


def draw(tables: Tables) -> "Picture":
    """Rates over time and by the start of the second flow, on each network; the tail of short flows by load."""
    picture, panels = style.panels(2, 3)
    for row, (network, gbps) in enumerate(GBPS.items()):
        rates, shares = panels[3 * row : 3 * row + 2]
        for (flow,), rows in tables["rates"].filter(network=network).group_by("flow", maintain_order=True):
            rates.plot(rows["time_ms"], rows["gbps"], linewidth=1, label=FLOWS[int(str(flow))])
        rates.set(
            xlabel="ms",
            ylabel="goodput (Gbps)",
            title=f"{network}; the second from {SHOWN_US / 1000:g} ms on",
        )
        rates.legend()
        rows = tables["shares"].filter(network=network)
        for place, name in enumerate(FLOWS):
            shares.plot(rows["offset_us"] / 1000, rows[f"{name}_gbps"], style.MARKERS[place], label=name)
        shares.set(
            xlabel="start of the second (ms)", ylabel="goodput (Gbps)", title=f"{network}; second half"
        )
        shares.set(xscale="log", ylim=(0, gbps))
        shares.legend()
    tail, pauses = panels[2], panels[5]
    for place, name in enumerate(CONTROLS):
        rows = tables["tail"].filter(control=name)
        tail.plot(rows["load"], rows["short_p99_us"], style.MARKERS[place], label=name)
        pauses.plot(rows["load"], rows["pauses"], style.MARKERS[place], label=name)
    tail.set(ylabel="p99 of the FCT up to 100 KB (us)", yscale="log", title="web search")
    pauses.set(ylabel="pauses in a run", yscale="symlog", title="web search")
    for axes in (tail, pauses):
        axes.set(xlabel="load")
        axes.set_xticks(LOADS)
        axes.legend()
    return picture


FIGURE = Figure(
    id="LIT-TIMELY",
    title="TIMELY: two flows by when the second starts; the tail of short flows over ports that pause",
    plans=plans,
    tables=tables,
    claims={"LIT-TIMELY.a": _sum, "LIT-TIMELY.b": _shorter_tail},
    draw=draw,
    needs={"shares": Needs(5, by=("network", "offset_us")), "tail": Needs(5, by=("control", "load"))},
    assumed=(
        "Two flows: one switch, rates of the last 30 of 60 ms (quick scale: 10 of 20). All constants of TIMELY are "
        "those of the HPCC simulator, which are the defaults.",
        "The tail: 800 uniform web search flows (quick scale: 80) on a fat-tree of 16 hosts, 10 Gbps and 5 us a cable, "
        "whose ports pause in both cases; the paper has round-trip times on a testbed. Flow control alone: flows at "
        "the rate of their line.",
    ),
)
