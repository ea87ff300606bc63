"""Figure 1 and algorithms 1 and 2: what DAQ's port does with each packet, from captured packets of random traffic.

Short flows, as rounds of answers and at random times, go beside two long ones, with several thresholds and weights.
Every packet of data is captured as it comes to the switch and as it comes out of the port. Then its place by algorithm
1 is compared with the flow's deadline, the order of departures with what the queues allow, the bytes in flight with
the buffers, and each departure with that of a port that knows three queues and no flow.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard_papers.daq import _packets as packets
from flowyard_papers.daq import _rack as rack
from flowyard_papers.daq import _turns as turns
from flowyard_papers.daq._models import FLOORED, PLAIN

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

WEIGHTS = {"1:100": (1, 100), "100:1": (100, 1), "1:1": (1, 1), "3:7": (3, 7)}
BUFFER_BYTES, WORKERS, LONG_FLOWS = 2_000_000, 30, 2
FIRST = 1 + LONG_FLOWS
# From a packet's transmission by the port until its sender has the credit: a frame of 64 B, and the cable.
RETURN_NS = 512 + packets.DELAY_NS
# So long that a capture holds all that even the smallest packet says.
HEADERS = {"mss": "1436B", "header_bytes": "64B"}
# Shares are measured from then on, over at least 15 MB, which are 100 rounds of the weights 1:100.
STEADY_NS, LEAST_BYTES = 50_000_000, 15_000_000


def plans(scale: Scale) -> dict[str, Plan]:
    """Random traffic with captures; both classes backlogged; and the heaviest load without captures."""
    random = [rack.long_flows(LONG_FLOWS), *_short(scale.pick(150, 500), FIRST)]
    weights = Axis(
        "weights",
        {
            f"queue.daq.{key}": [pair[i] for pair in WEIGHTS.values()]
            for i, key in enumerate(("short_weight", "long_weight"))
        },
        labels=list(WEIGHTS),
    )
    captured = {"capture": {"links": ["host-switch", "* -> host 0"]}}
    hosts = FIRST + WORKERS
    ratios = Axis("ratio", {"queue.daq.ratio": [10, 30]}, labels=[10, 30])
    # Each port is watched from its first packet on.
    until = {"measure": "all", "until": "150ms"}

    def daq(traffic: list[dict[str, Any]], hosts: int, **more: Any) -> Axis:
        scenario = {"topology": rack.rack(hosts), "traffic": traffic, **rack.SCHEMES[rack.DAQ], **more}
        return Axis("scheme", scenarios=[scenario | {"transport": {"daq": HEADERS}}], labels=[rack.DAQ])

    backlog = [_backlog(1, "short", deadline="1000s"), _backlog(3, "long")]
    steady = {"observe": captured, "run": {"until": "250ms"}}
    heavy = [rack.long_flows(LONG_FLOWS), *_short(2000, FIRST, 100)]
    stress = rack.schemes((rack.DAQ,), heavy, FIRST + 100, run={"measure": "all"})
    replicas = scale.pick(2, 5)
    return {
        "random": Plan(
            axes=[daq(random, hosts, observe=captured, run=until), ratios, weights],
            replicas=replicas,
            name="random traffic",
        ),
        "backlog": Plan(axes=[daq(backlog, 5, **steady), weights], replicas=replicas, name="both backlogged"),
        "stress": Plan(axes=[stress, weights], replicas=replicas, name="100 workers"),
    }


def _short(flows: int, first: int, workers: int = WORKERS) -> list[dict[str, Any]]:
    """Three rounds of answers, and others at random times at nearly the rate of the link."""
    rounds = rack.incast(20_000, 3, "20ms", FLOORED) | {"name": "answers"}
    rounds |= {"matrix": rack.to_aggregator(first, workers)}
    return [rounds, rack.poisson(30_000, 3600, PLAIN, workers, first, flows=flows)]


def _backlog(first: int, name: str, **due: str) -> dict[str, Any]:
    """Two hosts that always have something to send."""
    return {
        "name": name,
        "arrivals": {"at-once": {"jitter": "50us"}},
        "matrix": rack.to_aggregator(first, 2),
        "sizes": {"fixed": "100MB"},
        "background": True,
        **due,
    }


def tables(sweeps: Sweeps) -> Tables:
    """One row per run: mistakes of the port; bytes by class; drops."""
    drops = [
        {"plan": name, "run": run, "drops": summary["counters"]["drops"]}
        for name, sweep in sweeps.items()
        for run, summary in sweep.summaries().items()
    ]
    return {
        "port": _port(sweeps["random"]),
        "shares": _shares(sweeps["backlog"]),
        "drops": pl.DataFrame(drops)
        .drop("run")
        .group_by("plan", maintain_order=True)
        .agg(runs=pl.len().cast(pl.Int64), drops=pl.col("drops").sum()),
    }


def _port(sweep: Sweep) -> pl.DataFrame:
    rows = []
    for run in sweep.runs.filter("done").iter_rows(named=True):
        own = packets.port(sweep.path(run["run"]), run["ratio"])
        flows = (
            sweep.flows.filter(pl.col("run") == run["run"]).select("id", "start_ps", "deadline_ps").collect()
        )
        counts = dict(own["place"].value_counts().iter_rows())
        outstanding = packets.most_outstanding(own, RETURN_NS)
        rows.append(
            {
                "ratio": run["ratio"],
                "weights": run["weights"],
                "replica": run["replica"],
                "packets": len(own),
                **{name: counts.get(name, 0) for name in (packets.URGENT, packets.OTHER, packets.LONG)},
                "misplaced": packets.misplaced(own, flows, run["ratio"]),
                **packets.disorders(own),
                "unforeseen": turns.unforeseen(own, *WEIGHTS[run["weights"]]),
                **{f"{name}_outstanding_bytes": most for name, most in outstanding.items()},
                "flows": flows.height,
            }
        )
    return pl.DataFrame(rows).sort("ratio", "weights", "replica")


def _shares(sweep: Sweep) -> pl.DataFrame:
    """Bytes of both classes that a port sent while both were backlogged all the time."""
    rows = []
    for run in sweep.runs.filter("done").iter_rows(named=True):
        own = packets.port(sweep.path(run["run"]), 30).filter(pl.col("began_ns") >= STEADY_NS)
        long = pl.col("place") == packets.LONG
        rows.append(
            {
                "weights": run["weights"],
                "replica": run["replica"],
                "short_bytes": own.filter(~long)["bytes"].sum(),
                "long_bytes": own.filter(long)["bytes"].sum(),
            }
        )
    return pl.DataFrame(rows).sort("weights", "replica")


def _none(tables: Tables, columns: tuple[str, ...], needs: tuple[str, ...] = ()) -> Judgement:
    """No mistake of a kind in any run, where there are packets in all queues named."""
    runs = tables["port"]
    if lacking := [name for name in needs if not runs[name].sum()]:
        return judge.not_reached(f"no packets in {', '.join(lacking)}")
    wrong = sum(runs[column].sum() for column in columns)
    return judge.judged(
        wrong == 0, f"{wrong} of {runs['packets'].sum():,} packets in {len(runs)} runs", "none of them"
    )


def _classified(tables: Tables) -> Judgement:
    # Where a packet waits shows in whom it goes before and after.
    return _none(tables, ("misplaced", "unforeseen"), (packets.URGENT, packets.OTHER, packets.LONG))


def _urgent_first(tables: Tables) -> Judgement:
    return _none(tables, ("later_before_urgent", "out_of_order"), (packets.URGENT, packets.OTHER))


def _no_flow_state(tables: Tables) -> Judgement:
    found = _none(tables, ("unforeseen",))
    flows = tables["port"]["flows"].sum()
    return found.noted(f"a port of three queues and two deficits foresees each departure of {flows:,} flows")


def _within_buffers(tables: Tables) -> Judgement:
    columns = ("short_outstanding_bytes", "long_outstanding_bytes")
    most = max(tables["port"][column].max() for column in columns)  # type: ignore[type-var]
    return judge.between(float(most), 1, BUFFER_BYTES)  # type: ignore[arg-type]


def _lossless(tables: Tables) -> Judgement:
    drops, runs = tables["drops"].select(pl.col("drops", "runs").sum()).row(0)
    return judge.judged(drops == 0, f"{drops} drops in {runs} runs", "0 drops")


def _by_weight(tables: Tables) -> Judgement:
    found = {}
    for name, (short, long) in WEIGHTS.items():
        sums = tables["shares"].filter(weights=name).select(pl.col("short_bytes", "long_bytes").sum())
        own, other = sums.row(0)
        if own + other < LEAST_BYTES:
            found[f"weights {name}"] = judge.not_reached(f"{own + other:,} bytes, fewer than 15 MB")
            continue
        ratio = own / other if other else None
        found[f"weights {name}"] = judge.within(ratio, short / long, relative=0.02)
    return judge.by_reading(found)


def draw(tables: Tables) -> "Picture":
    """Bytes by class against the weights, and the most bytes outstanding."""
    picture, (shares, buffers) = style.panels(1, 2)
    sums = (
        tables["shares"]
        .group_by("weights", maintain_order=True)
        .agg(pl.col("short_bytes", "long_bytes").sum())
    )
    for place, (name, (short, long)) in enumerate(WEIGHTS.items()):
        (row,) = sums.filter(weights=name).iter_rows(named=True)
        measured = row["short_bytes"] / row["long_bytes"]
        shares.plot(short / long, measured, style.MARKERS[place], color=style.COLOURS[place], label=name)
    shares.plot([0.005, 200], [0.005, 200], color="#000000", linewidth=0.9, linestyle="--")
    shares.set(xscale="log", yscale="log", xlabel="weight, short / long", ylabel="bytes, short / long")
    shares.legend()
    most = (
        tables["port"]
        .group_by("weights", maintain_order=True)
        .agg(pl.col("short_outstanding_bytes", "long_outstanding_bytes").max())
    )
    for place, name in enumerate(("short", "long")):
        spots = [at + 0.4 * place for at in range(len(most))]
        buffers.bar(spots, (most[f"{name}_outstanding_bytes"] / 1e6).to_numpy(), 0.4, label=name)
    buffers.set_xticks([at + 0.2 for at in range(len(most))], most["weights"].to_list())
    buffers.axhline(BUFFER_BYTES / 1e6, color="#000000", linewidth=0.9, linestyle="--")
    buffers.set(xlabel="weights, short : long", ylabel="most bytes outstanding (MB)")
    buffers.legend()
    return picture


FIGURE = Figure(
    id="DAQ-F1",
    title="Treatment of each packet at a port of DAQ",
    plans=plans,
    tables=tables,
    claims={
        "DAQ-A1.a": _classified,
        "DAQ-A2.a": _lossless,
        "DAQ-A2.b": _within_buffers,
        "DAQ-F1.a": _urgent_first,
        "DAQ-F1.b": _by_weight,
        "DAQ-P6": _no_flow_state,
    },
    draw=draw,
    needs={
        "port": Needs(5, by=("ratio", "weights")),
        "shares": Needs(5, by=("weights",)),
        "drops": Needs(least={"runs": 20}),
    },
    assumed=(
        *rack.ASSUMED[:1],
        "Three rounds of answers of 20 KB from 30 workers, 3600 other short flows of 30 KB a second and two long ones, "
        "with thresholds of 10 and 30 RTT and four pairs of weights; 100 workers without captures.",
        "A packet without a deadline says so by a mark of its own; the paper's is -10. Packets whose deadline has "
        "passed belong to Q1.2.",
        "Captured packets have 64 B of headers. Control packets, which have a queue of their own, do not count. A "
        "packet that comes at the very instant at which the port chooses is too late for that choice.",
    ),
)
