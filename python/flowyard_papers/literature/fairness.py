"""Shares of flows when one host is the target or the source of all: incast, outcast, and the reverse.

On a fat-tree of 16 hosts all 15 others send to one, without an end. One sender is in the receiver's rack, two are in
its pod, twelve in other pods. Under TCP with drop-tail ports the near one is to get least: it has a port of the last
switch to itself, all others share two, and where packets of several ports come in step to a full queue, those of one
port are lost in a row, which hurts few flows more than many (Prakash et al., "The TCP Outcast Problem", NSDI 2012).
Which side loses them is a matter of phase, so that this is judged over a grid of cables and buffers (_outcast.py). The
left panels have one set-up, with cables of 1 us. Figure NDP-P4 has another, with cables of 9.5 us, and TCP's near
sender ahead of all. NDP's receiver pulls from all senders in turns, near or far. In the other direction, one sender to
15, the sender takes turns.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, pinned_fields, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard_papers.literature import _outcast
from flowyard_papers.literature._outcast import HOSTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

NDP, DCTCP, TCP = "NDP", "DCTCP", "TCP"
TRANSPORTS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any], str]] = {
    NDP: (
        {"ndp": {**pinned_fields.NDP, **pinned_fields.NDP_REPEATS}},
        {"ndp": pinned_fields.NDP_PORT},
        "per-packet",
    ),
    DCTCP: (
        {"tcp": {"congestion": "dctcp"}},
        {"ecn": {"limit": {"packets": 100}, "threshold": {"packets": 20}}},
        "per-flow",
    ),
    TCP: ({"tcp": {}}, {"drop-tail": {"limit": {"packets": 100}}}, "per-flow"),
}
TO_ONE, FROM_ONE, SETUPS = "to-one", "from-one", "set-ups"
# Links on the way from or to host 0.
RACK, POD, FAR = 2, 4, 6


def plans(scale: Scale) -> dict[str, Plan]:
    """Both directions under each transport; TCP's outcast over the grid."""
    axis = Axis(
        "by",
        {
            "transport": [transport for transport, _, _ in TRANSPORTS.values()],
            "queue": [queue for _, queue, _ in TRANSPORTS.values()],
            "routing.balancer": [balancer for _, _, balancer in TRANSPORTS.values()],
        },
        labels=list(TRANSPORTS),
    )
    pairs = {TO_ONE: _outcast.TO_ONE, FROM_ONE: [[0, n] for n in range(1, HOSTS)]}
    return {
        name: Plan(
            {
                "topology": {"fat-tree": {"k": 4, "rate": "1Gbps", "delay": "1us"}},
                "traffic": [
                    {
                        "name": "flows",
                        "arrivals": {"at-once": {"jitter": "1ms"}},
                        "matrix": {"pairs": matrix},
                        "sizes": "endless",
                        "background": True,
                    }
                ],
                "run": {"until": scale.pick("2s", "10s")},
            },
            [axis],
            scale.pick(2, 10),
            name=name,
        )
        for name, matrix in pairs.items()
    } | {SETUPS: _outcast.plan(scale)}


def tables(sweeps: Sweeps) -> Tables:
    """Goodput of each flow; of each run the index of fairness, and mean goodputs by distance; the grid."""
    flows = pl.concat([_flows(name, sweeps[name]) for name in (TO_ONE, FROM_ONE)])
    goodput = pl.col("goodput_mbps")
    runs = flows.group_by("direction", "by", "replica").agg(
        jain=goodput.sum() ** 2 / (pl.len() * (goodput**2).sum()),
        goodput_mbps=goodput.sum(),
        **{
            f"{name}_mbps": goodput.filter(pl.col("links") == links).mean()
            for name, links in (("rack", RACK), ("pod", POD), ("far", FAR))
        },
        timeouts=pl.col("timeouts").sum(),
    )
    runs = runs.sort("direction", "by", "replica")
    measured = ["jain", "goodput_mbps", "rack_mbps", "pod_mbps", "far_mbps", "timeouts"]
    points = replica_means(runs, ["direction", "by"], measured)
    return {"flows": flows, "runs": runs, "points": points, "grid": _outcast.runs(sweeps[SETUPS])}


def _flows(direction: str, sweep: Sweep) -> pl.DataFrame:
    end_ps = {run: summary["end_ps"] for run, summary in sweep.summaries().items()}
    other = pl.max_horizontal("src", "dst")
    links = pl.when(other < 2).then(RACK).when(other < 4).then(POD).otherwise(FAR)
    seconds = pl.col("run").replace_strict(end_ps, return_dtype=pl.Int64) / 1e12
    return (
        sweep.flows.select(
            "by",
            "replica",
            pl.lit(direction).alias("direction"),
            other=other.cast(pl.Int64),
            links=links.cast(pl.Int64),
            goodput_mbps=8e-6 * pl.col("delivered_bytes") / seconds,
            timeouts=pl.col("timeouts").cast(pl.Int64),
        )
        .sort("by", "replica", "other")
        .collect()
    )


def _means(tables: Tables, by: str, *columns: str) -> list[float] | None:
    """Means over all runs of an incast; None if there are none."""
    runs = tables["runs"].filter(direction=TO_ONE, by=by)
    means = [runs[column].mean() for column in columns]
    return [mean for mean in means if isinstance(mean, float)] if len(runs) else None


MISSING = "there are no such runs"


def _less_nearby(tables: Tables) -> Judgement:
    return _outcast.outcast(tables["grid"])


def _none_under_ndp(tables: Tables) -> Judgement:
    found = _means(tables, NDP, "rack_mbps", "far_mbps")
    return judge.not_reached(MISSING) if found is None else judge.within(found[0] / found[1], 1, absolute=0.1)


def _fair_under_ndp(tables: Tables) -> Judgement:
    found = _means(tables, NDP, "jain")
    return judge.at_least(None if found is None else found[0], 0.99)


def draw(tables: Tables) -> "Picture":
    """Goodputs of the flows by distance, in both directions; the indices of fairness; the grid."""
    picture, panels = style.panels(1, 4, size=(3.4, 3.0))
    titles = {TO_ONE: "15 to one", FROM_ONE: "one to 15"}
    for axes, direction in zip(panels, titles, strict=False):
        for place, by in enumerate(TRANSPORTS):
            rows = tables["flows"].filter(direction=direction, by=by)
            shift = 0.5 * (place - 1)
            axes.plot(
                (rows["links"] + shift).to_numpy(),
                rows["goodput_mbps"].to_numpy(),
                linestyle="none",
                marker=style.MARKERS[place],
                color=style.COLOURS[place],
                label=by,
            )
        axes.axhline(1000 / (HOSTS - 1), color="#000000", linewidth=0.9, linestyle="--")
        axes.set(xlabel="links between the hosts", title=titles[direction], ylim=(0, None))
        axes.set_xticks([RACK, POD, FAR])
    panels[0].set_ylabel("goodput of a flow (Mbps)")
    panels[0].legend(loc="upper left")
    for shift, direction in ((-0.18, TO_ONE), (0.18, FROM_ONE)):
        for place, by in enumerate(TRANSPORTS):
            (row,) = tables["points"].filter(direction=direction, by=by).iter_rows(named=True)
            look: dict[str, Any] = {"color": style.COLOURS[place], "alpha": 1 if direction == TO_ONE else 0.5}
            panels[2].bar(place + shift, row["jain"], 0.34, yerr=row["jain_ci95"], **look)
    panels[2].set_xticks(range(len(TRANSPORTS)), list(TRANSPORTS))
    panels[2].set(ylabel="Jain's index", title="15 to one; pale: one to 15", ylim=(0, 1.02))
    _draw_grid(panels[3], tables["grid"])
    return picture


def _draw_grid(axes: "Axes", grid: pl.DataFrame) -> None:
    means = _outcast.means(grid)
    for also, filled in ((_outcast.NOISE, "full"), (_outcast.SILENCE, "none")):
        for place, packets in enumerate(_outcast.BUFFERS):
            rows = means.filter(also=also, buffer=packets)
            axes.plot(
                [_outcast.DELAYS.index(delay) + 0.12 * (place - 1.5) for delay in rows["delay"]],
                rows["factor"].to_numpy(),
                linestyle="none",
                marker=style.MARKERS[place],
                color=style.COLOURS[place],
                fillstyle=filled,
                label=f"{packets} packets" if also == _outcast.NOISE else None,
            )
    low, high = _outcast.FACTOR
    axes.axhspan(low, high, color="#eeeeee", zorder=0)
    axes.axhline(1, color="#000000", linewidth=0.9, linestyle="--")
    axes.set_xticks(range(len(_outcast.DELAYS)), list(_outcast.DELAYS))
    axes.set(
        xlabel="delay of a cable", ylabel="far / near", title="TCP; full: with random packets", yscale="log"
    )
    axes.legend(loc="lower left", fontsize=7)


FIGURE = Figure(
    id="LIT-OUTCAST",
    title="Incast and outcast: shares of the senders",
    plans=plans,
    tables=tables,
    claims={
        "LIT-OUTCAST.a": _less_nearby,
        "LIT-OUTCAST.b": _none_under_ndp,
        "LIT-OUTCAST.c": _fair_under_ndp,
    },
    draw=draw,
    needs={"runs": Needs(5, by=("direction", "by")), "grid": Needs(5, by=("also", "delay", "buffer"))},
    assumed=(
        "A 4-ary fat-tree, links of 1 Gbps and 1 us, flows without an end that start within 1 ms.",
        "TCP (New Reno) and DCTCP over per-flow ECMP, with ports of 100 packets, DCTCP's marking above 20; NDP by "
        "packet, and headers that find no room are lost. Else all have the simulator's defaults, TCP and DCTCP a "
        "timeout of at least 200 ms.",
        "In the first three panels nothing disturbs the step in which packets come, as hosts do in a testbed: a sender "
        "that is shut out of a port stays shut out (phase effects: Floyd and Jacobson, 1992). Which one depends on the "
        "cables' delay: with 9.5 us, in NDP-P4, it is the far ones.",
        "The grid has TCP over cables of 1 to 10 us and ports of 30 to 100 packets; 1 % of random packets stands for "
        "what disturbs the step in a testbed.",
        "Goodput is what has been delivered by the end, 2 s at quick scale and 10 s at full scale.",
    ),
)
