"""dcPIM beside Homa and NDP at high load; and a dispute, whether Homa has lower latency and more throughput than dcPIM.

Cai, Arashloo and Agarwal, "dcPIM: Near-Optimal Proactive Datacenter Transport", SIGCOMM 2022, compare dcPIM with Homa
under selective dropping (Aeolus). Homa's authors (the project's pages, homa-transport.atlassian.net) hold that Homa
itself is better in latency and throughput, and that short messages of dcPIM do well because they bypass its matching.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, by_reading, judged, not_reached
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard_papers.literature import _receivers, homa

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

HOMA, DROPPING, DCPIM, MATCHED = "Homa", "Homa, selective dropping", "dcPIM", "dcPIM, short = 0"
NDP = "NDP"
Stacks = dict[str, tuple[Any, Any]]
STACKS: Stacks = {
    HOMA: ("homa", _receivers.CLASSES),
    DROPPING: ("homa", _receivers.DROPPING),
    DCPIM: ({"dcpim": _receivers.PADDED}, _receivers.CLASSES),
    MATCHED: ({"dcpim": _receivers.PADDED | {"short": 0}}, _receivers.CLASSES),
    NDP: ("ndp", "ndp"),
}
DISPUTED = (HOMA, DROPPING, DCPIM, MATCHED)
# On Homa's set-up with the packets of its authors' simulator, and with acknowledgements: selective dropping drops.
_HOMA = {name: value for name, value in homa.HOMA.items() if name != "acknowledge"}
OF_HOMA: Stacks = {
    HOMA: ({"homa": _HOMA}, _receivers.UNMARKED),
    DROPPING: ({"homa": _HOMA}, {"selective-drop": {"limit": {"bytes": "200MB"}}}),
    DCPIM: ({"dcpim": _receivers.DCPIM}, _receivers.UNMARKED),
    MATCHED: ({"dcpim": _receivers.DCPIM | {"short": 0}}, _receivers.UNMARKED),
}
IMC10, WEB_SEARCH = "IMC10", "web search"
SIZES: dict[str, Any] = {IMC10: _receivers.IMC10, WEB_SEARCH: "web-search"}
LOADS, JUDGED = (0.7, 0.8, 0.88), (0.8, 0.88)
# The measuring window in us, for what is delivered, and for tails, at a load of 0.6.
FROM_US, UNTIL_US, TAILS_UNTIL_US, TAIL_LOAD = 5_000, 15_000, 10_000, 0.6
# Messages on Homa's set-up.
MESSAGES = {"W3": 100_000, "W4": 6_000}
DCPIMS, HOMAS = "dcPIM's set-up", "Homa's set-up"
WORKLOADS = {DCPIMS: (IMC10,), HOMAS: tuple(MESSAGES)}
# Which is to be better than which, by reading.
PAIRS = ((HOMA, DCPIM), (DROPPING, DCPIM), (HOMA, MATCHED))
KEYS, WHERE = ["workload", "stack", "load"], ["set_up", "workload", "stack"]


def plans(scale: Scale) -> dict[str, Plan]:
    """High loads of all transports; tails of the disputed ones on both set-ups."""
    begin, end, tails_end = (us // scale.pick(30, 1) for us in (FROM_US, UNTIL_US, TAILS_UNTIL_US))
    base = _receivers.overload(begin, end)
    load = "traffic.flows.arrivals.poisson.load"
    workload = Axis("workload", {"traffic.flows.sizes": list(SIZES.values())}, labels=list(SIZES))
    loads = scale.pick(JUDGED, LOADS)
    at = Axis("load", {load: [_receivers.payload(one) for one in loads]}, labels=loads)
    tails = _receivers.overload(begin, end)
    tails["traffic"][0]["arrivals"]["poisson"] = {"load": _receivers.payload(TAIL_LOAD), "until": "1s"}
    tails["run"] = {"measure": {"from": f"{begin}us", "until": f"{tails_end}us", "drain": "1ms"}}
    replicas = scale.pick(1, 2)
    return {
        "loads": Plan(base, [workload, _axis(STACKS), at], replicas, name="loads"),
        "tails": Plan(
            tails, [_axis({name: STACKS[name] for name in DISPUTED})], replicas, name="tails, dcPIM's set-up"
        ),
        "homas": _homas(scale, replicas),
    }


def _axis(stacks: Stacks) -> Axis:
    pairs = list(stacks.values())
    fields = {"transport": [one for one, _ in pairs], "queue": [port for _, port in pairs]}
    return Axis("stack", fields, labels=list(stacks))


def _homas(scale: Scale, replicas: int) -> Plan:
    """The disputed transports where Homa's authors measure: 10 Gbps, W3 and W4 at 80 % of the wire."""
    base = {
        "topology": homa.network(4, 2, 4),
        "traffic": [
            {
                "name": "messages",
                "arrivals": {"poisson": {"load": homa.LOAD}},
                "matrix": "uniform",
                "sizes": "homa-w3",
                "flows": 1,
            }
        ],
        "run": {"measure": "all", "until": "60s"},
    }
    rows = [homa.WORKLOADS[name] for name in MESSAGES]
    fields: dict[str, list[Any]] = {
        "traffic.messages.sizes": [sizes for sizes, *_ in rows],
        "traffic.messages.arrivals.poisson.load": [round(homa.LOAD * share, 4) for _, share, *_ in rows],
        "traffic.messages.flows": [flows // scale.pick(50, 1) for flows in MESSAGES.values()],
    }
    workload = Axis("workload", fields, labels=list(MESSAGES))
    return Plan(base, [workload, _axis(OF_HOMA)], replicas, name="tails, Homa's set-up")


def tables(sweeps: Sweeps) -> Tables:
    """Means over seeds: the delivered part of arrivals by load; tails of short messages; the fullest port of each."""
    keys = [*KEYS, "replica"]
    loads = _receivers.kept(sweeps["loads"], keys).join(_receivers.fullest(sweeps["loads"], keys), on=keys)
    own = _short(sweeps["tails"], ["stack", "replica"]).with_columns(
        set_up=pl.lit(DCPIMS), workload=pl.lit(IMC10)
    )
    homas = _short(sweeps["homas"], ["workload", "stack", "replica"]).with_columns(set_up=pl.lit(HOMAS))
    tails = pl.concat([own, homas], how="diagonal").sort(*WHERE, "replica")
    return {
        "loads": replica_means(loads.sort(keys), KEYS, ["kept", "queue_max_bytes", "drops"]),
        "tails": replica_means(tails, WHERE, ["short_p99", "slowdown_mean", "queue_max_bytes", "drops"]),
    }


def _short(sweep: Sweep, keys: list[str]) -> pl.DataFrame:
    """One row per run: slowdowns, null if some messages have not ended; the fullest port."""
    short = pl.col("size_bytes") <= pl.col("size_bytes").median()
    ended = pl.col("completed").all()
    tails = (
        sweep.flows.filter("measured")
        .group_by(keys)
        .agg(
            short_p99=pl.when(ended).then(pl.col("slowdown").filter(short).quantile(0.99, "linear")),
            slowdown_mean=pl.when(ended).then(pl.col("slowdown").mean()),
        )
        .collect()
    )
    return tails.join(_receivers.fullest(sweep, keys), on=keys, validate="1:1")


def _delivers_more(tables: Tables, first: str, others: Sequence[str]) -> Judgement:
    """The first one delivers a larger part of what arrives than each of the others, at each workload and load."""
    points = tables["loads"].to_dicts()
    values = {(row["workload"], row["load"], row["stack"]): row["kept"] for row in points}
    said, holds = [], True
    for workload in SIZES:
        for load in JUDGED:
            parts = {name: values.get((workload, load, name)) for name in (first, *others)}
            found = {name: part for name, part in parts.items() if part is not None}
            if len(found) <= len(others):
                return not_reached("there are not all transports and loads")
            holds = holds and all(found[first] > found[name] for name in others)
            each = ", ".join(f"{name} {100 * part:.1f}" for name, part in found.items())
            said.append(f"{workload} at {load}: {each}")
    return judged(holds, "; ".join(said) + " % delivered", f"most under {first} at each point")


def _higher(tables: Tables) -> Judgement:
    """The claim of dcPIM's README, against transports of its paper."""
    return _delivers_more(tables, DCPIM, (DROPPING, NDP))


def _throughput(tables: Tables) -> Judgement:
    """Homa against dcPIM, with selective dropping, and against matching of all flows."""
    return by_reading(
        {f"{first} - {other}": _delivers_more(tables, first, (other,)) for first, other in PAIRS}
    )


def _latency(tables: Tables) -> Judgement:
    """The tail of short messages on the two set-ups."""
    return by_reading(
        {
            f"{set_up}: {first} - {other}": _shorter(tables, set_up, first, other)
            for set_up in WORKLOADS
            for first, other in PAIRS
        }
    )


def _shorter(tables: Tables, set_up: str, first: str, other: str) -> Judgement:
    """The tail of the first one is shorter than that of the other, with each workload of the set-up."""
    rows = tables["tails"].filter(set_up=set_up).drop_nulls("short_p99").to_dicts()
    tails = {(row["workload"], row["stack"]): row["short_p99"] for row in rows}
    workloads = WORKLOADS[set_up]
    if not all((name, stack) in tails for name in workloads for stack in (first, other)):
        return not_reached("there are not both transports, or messages did not end")
    said = ", ".join(
        f"{tails[name, first]:.3g} and {tails[name, other]:.3g} with {name}" for name in workloads
    )
    holds = all(tails[name, first] < tails[name, other] for name in workloads)
    return judged(holds, said, f"less under {first} than under {other}")


def draw(tables: Tables) -> "Picture":
    """The delivered part by load; tails and buffers of the disputed transports."""
    picture, panels = style.panels(2, 3, size=(4.0, 2.9))
    for axes, workload in zip(panels, SIZES, strict=False):
        for place, name in enumerate(STACKS):
            rows = tables["loads"].filter(workload=workload, stack=name).sort("load")
            style.curve(axes, rows, "load", "kept", place, within=(0, 1.02))
        axes.set(xlabel="load", ylabel="delivered / arrived", title=workload)
        axes.set_xticks(LOADS)
    where = [(set_up, name) for set_up, names in WORKLOADS.items() for name in names]
    shown = (
        ("short_p99", 1, "p99 of the slowdown", "the shorter half of messages"),
        ("slowdown_mean", 1, "mean slowdown", "all messages"),
        ("queue_max_bytes", 1000, "fullest port (KB)", "the same runs"),
    )
    for axes, (measure, unit, label, title) in zip(panels[3:], shown, strict=True):
        known = tables["tails"].drop_nulls(measure).to_dicts()
        values = {(row["stack"], row["set_up"], row["workload"]): row[measure] / unit for row in known}
        for number, name in enumerate(DISPUTED):
            _receivers.bars(
                axes, number, number, len(DISPUTED), [values.get((name, *place)) for place in where]
            )
        axes.set_xticks(range(len(where)), [f"{name},\n{set_up}" for set_up, name in where], fontsize=7.5)
        axes.set(ylabel=label, title=title, yscale="log")
    panels[2].axis("off")
    panels[2].legend(handles=_receivers.swatches(STACKS), loc="center")
    return picture


FIGURE = Figure(
    id="LIT-HOMA-DCPIM",
    title="Homa and dcPIM, a dispute: what they deliver at high load, tails of short messages, buffers",
    plans=plans,
    tables=tables,
    claims={"LIT-HOMA-DCPIM.a": _higher, "LIT-HOMA-DCPIM.b": _latency, "LIT-HOMA-DCPIM.c": _throughput},
    draw=draw,
    needs={"loads": Needs(2, by=KEYS), "tails": Needs(2, by=WHERE)},
    assumed=(
        "dcPIM's set-up: 16 hosts of 100 Gbps under 4 leaves with 400 Gbps to 2 spines and cables of 650 ns, ports of "
        "500 KB; the authors have 144 hosts. Loads are of packets of 1500 B.",
        "Throughput is the payload delivered from 5 to 15 ms over the payload that arrives then (quick scale: a 30th "
        "of these times), as the authors' data have utilisation. Data mining is left out, whose flows of up to 1 GB "
        "need runs of seconds, and so is HPCC, which the paper has as well.",
        "Selective dropping is from 60 KB on, 6 kB at 10 Gbps, which is from memory; it repairs by Homa's own timer of "
        "1 ms, where Aeolus has probes. Homa and NDP have their defaults.",
        "Tails on dcPIM's set-up are of IMC10 flows at a load of 0.6 that start from 5 to 10 ms.",
        "Homa's set-up: 16 hosts at 10 Gbps with 40 Gbps between switches, W3 and W4 at 80 % of the wire as in "
        "LIT-HOMA, 100,000 and 6,000 messages (quick scale: a fiftieth), ports without a limit, full packets of "
        "1538 B.",
    ),
)
