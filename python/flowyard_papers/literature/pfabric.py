"""pFabric against the transports of its time, and against shortest remaining processing time on one link.

Alizadeh et al., "pFabric: Minimal Near-Optimal Datacenter Transport", SIGCOMM 2013, section 5: web-search flows on a
leaf-spine; the tail of small flows is where pFabric is to be best. On one link its schedule is close to preemptive
shortest remaining processing time, which no schedule beats in mean completion time (Schrage 1968) and which is worked
out here from starts and sizes alone. What is missing are packets sent twice: a flow that waits for its turn longer than
the fixed timeout takes its packets for lost. Runs with room for all packets and a timeout that hardly comes show it.

The flows are measured at the load, behind a warm-up and with arrivals that go on. By a second reading they are all
flows, from an empty network on: then the network carries little more than half of the load.
"""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import loads, pinned_fields, style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, judged, not_reached
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard_papers.literature import _srpt

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

OURS = "pFabric"
# Windows of the bandwidth-delay product from the first packet on, and a timeout that costs little.
_TCP = {
    "handshake": False,
    "initial_window": 12,
    "delayed_ack": 1,
    "rto_min": "200us",
    "rto_initial": "200us",
    "rto_granularity": "10us",
}
_MARKING: dict[str, object] = {"ecn": {"limit": {"packets": 150}, "threshold": {"packets": 65}}}
TRANSPORTS: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    OURS: ({"pfabric": {**pinned_fields.PFABRIC}}, {"pfabric": {**pinned_fields.PFABRIC_PORT}}),
    "NDP": (
        {"ndp": {**pinned_fields.NDP, **pinned_fields.NDP_REPEATS}},
        {"ndp": dict(pinned_fields.NDP_PORT)},
    ),
    "DCTCP": ({"tcp": {"congestion": {"dctcp": {}}, **_TCP}}, _MARKING),
    "D2TCP": ({"tcp": {"congestion": {"d2tcp": {}}, **_TCP}}, _MARKING),
    "TCP": ({"tcp": {"congestion": {"newreno": {}}, **_TCP}}, {"drop-tail": {"limit": {"packets": 150}}}),
}
# On one link: as it is published, and with nothing lost and hardly anything sent twice.
PUBLISHED, PATIENT = "as published", "long timeout, large buffer"
LINKS: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    PUBLISHED: TRANSPORTS[OURS],
    PATIENT: (
        {"pfabric": {**pinned_fields.PFABRIC, "rto": "10ms"}},
        {"pfabric": {"limit": {"bytes": "1.5MB"}}},
    ),
}
LOADS = (0.6, 0.8)
KEYS = ["reading", "load", "replica"]
REALISED = "realised_load"
SMALL_BYTES = 100_000


def plans(scale: Scale) -> dict[str, Plan]:
    """Each transport at each load on a leaf-spine, and pFabric on one link, with and without losses; both readings."""
    leaves, spines, hosts = scale.pick((2, 2, 4), (9, 4, 16))
    flows = {
        "name": "flows",
        "arrivals": {"poisson": {"load": LOADS[0]}},
        "sizes": "web-search",
        # D2TCP goes by them; the others do not know them.
        "deadlines": {"exponential": {"mean": "20ms", "min": "1ms"}},
    }
    load = Axis("load", {"traffic.flows.arrivals.poisson.load": LOADS})
    leaf_spine = {
        "leaves": leaves,
        "spines": spines,
        "hosts": hosts,
        "rate": "10Gbps",
        "delay": "1us",
        "spine": {"rate": "40Gbps"},
    }
    fabric = {
        "topology": {"leaf-spine": leaf_spine},
        "traffic": [flows | {"matrix": "uniform", "flows": scale.pick(600, 5000)}],
    }
    link = {
        "topology": {"single-switch": {"hosts": 17, "rate": "10Gbps", "delay": "1us"}},
        "traffic": [flows | {"matrix": {"incast": {"senders": 16}}, "flows": scale.pick(600, 5000)}],
    }
    reading = loads.readings()
    return {
        "fabric": Plan(fabric, [reading, _axis("stack", TRANSPORTS), load], scale.pick(1, 5), name="fabric"),
        "link": Plan(link, [reading, _axis("variant", LINKS), load], scale.pick(2, 5), name="link"),
    }


def _axis(name: str, stacks: dict[str, tuple[dict[str, object], dict[str, object]]]) -> Axis:
    """Pairs of a transport and its queue, by their labels."""
    transports, queues = zip(*stacks.values(), strict=True)
    return Axis(name, {"transport": list(transports), "queue": list(queues)}, labels=list(stacks))


def tables(sweeps: Sweeps) -> Tables:
    """One row per run: the tail of small flows on the leaf-spine; means on the link; and the means of either."""
    small = pl.col("size_bytes") <= SMALL_BYTES
    fct_us = pl.col("fct_ps") / 1e6
    keys = ["stack", *KEYS]
    fabric = (
        sweeps["fabric"]
        .flows.filter("measured")
        .group_by(keys)
        .agg(
            small=small.sum(),
            p99_small_us=fct_us.filter(small).quantile(0.99, "linear"),
            mean_small_us=fct_us.filter(small).mean(),
            mean_us=fct_us.mean(),
            mean_slowdown=pl.col("slowdown").mean(),
            unfinished=pl.col("fct_ps").null_count(),
            drops=pl.col("drops").sum(),
            timeouts=pl.col("timeouts").sum(),
        )
        .collect()
    )
    fabric = _with_loads(fabric, sweeps["fabric"], keys)
    columns = ["p99_small_us", "mean_small_us", "mean_us", "mean_slowdown", *loads.COLUMNS]
    keys = ["variant", *KEYS]
    needed = ["measured", "start_ps", "size_bytes", "fct_ps", "ideal_fct_ps", "timeouts"]
    runs = sweeps["link"].flows.select(*keys, *needed).collect().partition_by(keys)
    link = _with_loads(pl.concat([_srpt.compared(run, keys) for run in runs]), sweeps["link"], keys)
    return {
        "fabric": fabric,
        "points": replica_means(fabric, ["reading", "stack", "load"], columns),
        "link": link,
    }


def _with_loads(runs: pl.DataFrame, sweep: Sweep, keys: list[str]) -> pl.DataFrame:
    """One row per run, in order, with its loads."""
    own = loads.of_runs(sweep, [name for name in keys if name != "replica"])
    return runs.join(own, on=keys, validate="1:1").sort(keys)


def _lowest_tail(tables: Tables) -> Judgement:
    runs = tables["fabric"]
    means = runs.group_by("stack", "load").agg(pl.col("p99_small_us").mean(), pl.col("unfinished").sum())
    said, holds = [], True
    for load in LOADS:
        rows = means.filter(load=load)
        if set(rows["stack"]) != set(TRANSPORTS) or rows["unfinished"].sum():
            return not_reached("there are not all transports at all loads, or flows did not end")
        tails = dict(rows.select("stack", "p99_small_us").iter_rows())
        ours = tails.pop(OURS)
        best = min(tails, key=tails.__getitem__)
        holds = holds and ours < tails[best]
        said.append(f"{ours:.0f} us against {tails[best]:.0f} us of {best} at load {load}")
    return judged(holds, "; ".join(said), "less than all others at each load")


def _near_srpt(tables: Tables) -> Judgement:
    columns = ("fct_us", "srpt_us", "unfinished", "timeouts")
    means = tables["link"].group_by("variant", "load").agg(pl.col(columns).mean()).sort("load")
    off, said = {}, {}
    for variant in LINKS:
        rows = means.filter(variant=variant)
        if set(LOADS) != set(rows["load"]) or rows["unfinished"].sum():
            return not_reached("there are not all loads, or flows did not end")
        by = {
            load: fct / srpt - 1 for load, fct, srpt in rows.select("load", "fct_us", "srpt_us").iter_rows()
        }
        off[variant] = max(map(abs, by.values()))
        said[variant] = ", ".join(f"{100 * more:+.2f} % at load {load}" for load, more in by.items())
    timeouts = max(means.filter(variant=PUBLISHED)["timeouts"].to_list())
    return judged(off[PUBLISHED] <= 0.02, said[PUBLISHED], "within 2 % at each load").because(
        "a flow that waits for its turn longer than the fixed timeout sends the same again, up to "
        f"{timeouts:.0f} times a run; with a {PATIENT} it is {said[PATIENT]}{_by_seed(tables['link'])}."
    )


def _by_seed(link: pl.DataFrame) -> str:
    """How far each seed is off at the highest load, with the load that its flows have: few of them are most of it."""
    if REALISED not in link.columns:
        return ""
    rows = link.filter(variant=PUBLISHED, load=max(LOADS)).sort(REALISED)
    each = ", ".join(
        f"{100 * (fct / srpt - 1):+.1f} % at {load:.3f}"
        for load, fct, srpt in rows.select(REALISED, "fct_us", "srpt_us").iter_rows()
    )
    return f"; seeds at load {max(LOADS)} by the load that their flows have: {each}"


def draw(tables: Tables) -> "Picture":
    """The tail and the mean of small flows by load, and how far the mean on one link is above the oracle.

    At the load.
    """
    picture, (tail, mean, link) = style.panels(1, 3)
    points, links = (tables[name].filter(reading=loads.AT_LOAD) for name in ("points", "link"))
    for number, name in enumerate(TRANSPORTS):
        rows = points.filter(stack=name).sort("load")
        for axes, column, scale in ((tail, "p99_small_us", 1), (mean, "mean_us", 1000)):
            axes.plot(
                rows["load"].to_numpy(),
                rows[column].to_numpy() / scale,
                color=style.COLOURS[number],
                marker=style.MARKERS[number],
                label=name,
            )
    tail.set(ylabel="99th percentile of FCT (us)", title="flows up to 100 KB", yscale="log")
    mean.set(ylabel="mean FCT (ms)", title="all flows")
    mean.legend(loc="lower left")
    for number, variant in enumerate(LINKS):
        rows = links.filter(variant=variant)
        above = 100 * (rows["fct_us"] / rows["srpt_us"] - 1)
        link.plot(rows["load"], above, style.MARKERS[number], color=style.COLOURS[number], label=variant)
    link.set(ylabel="above shortest remaining first (%)", title="mean FCT on one link, each seed")
    link.legend(loc="upper left")
    for axes in (mean, link):
        axes.set_ylim(bottom=0)
    for axes in (tail, mean, link):
        axes.set(xlabel="load")
        axes.set_xticks(LOADS)
    return picture


FIGURE = Figure(
    id="LIT-PFABRIC",
    title="pFabric: small flows on a leaf-spine, and one link against shortest remaining first",
    plans=plans,
    tables=tables,
    claims={
        "LIT-PFABRIC.a": loads.by_reading(["fabric"], _lowest_tail),
        "LIT-PFABRIC.b": loads.by_reading(["link"], _near_srpt),
    },
    draw=draw,
    needs={
        "fabric": Needs(5, by=("stack", "load")),
        "link": Needs(5, by=("variant", "load")),
    },
    assumed=(
        "Hosts at 10 Gbps under leaves with 40 Gbps to the spines, as in the paper, which has 144 hosts (quick scale: "
        "8), cables of 1 us; each flow goes to another host at random.",
        "5000 flows are measured (quick scale: 600). By the second reading they are all flows.",
        *loads.ASSUMED,
        "TCP, DCTCP and D2TCP start without a handshake, with pFabric's initial window, on one path a flow; their "
        "shortest timeout is 200 us, every segment is acknowledged; ports hold 150 packets and mark above 65.",
        "Flows have deadlines for D2TCP alone: exponential with mean 20 ms, at least 1 ms.",
        "Under NDP headers that find no room are lost; a timeout of 1 ms or more repeats their packets.",
        "Nothing is judged by the runs on the link with a timeout of 10 ms and ports that hold 1.5 MB.",
        "On the link the oracle knows starts and bytes on the wire; what a flow takes alone beyond its time on the "
        "receiver's link is added to its time.",
    ),
)
