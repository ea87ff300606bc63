"""L2DCT between DCTCP and PIAS: completion times of short web search flows at a load of 0.8.

Bai et al., "Information-Agnostic Flow Scheduling for Commodity Data Centers", NSDI 2015, abstract: PIAS improves the
mean completion time of short flows over DCTCP and L2DCT (Munir et al., INFOCOM 2013), which favours flows that have
sent little, as DCTCP does not. The network is that of their code for ns-2, as under LIT-PIAS.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, judged, not_reached
from flowyard.sweeps import Axis, Plan
from flowyard_papers.literature import pias

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

DCTCP, L2DCT, PIAS = "DCTCP", "L2DCT", "PIAS"
LOAD = 0.8
# Congestion control, and classes of ports: with one, tags say nothing.
SCHEMES = {DCTCP: ("dctcp", 1), L2DCT: ("l2dct", 1), PIAS: ("dctcp", 8)}
SHORT_BYTES = 100_000
MEASURES = {"mean_ms": "mean FCT (ms)", "p99_ms": "p99 of the FCT (ms)"}


def plans(scale: Scale) -> dict[str, Plan]:
    """The three at one load; a run ends when its short flows have, long ones may go on."""
    begin, end, until = scale.pick((30, 60, 80), (40, 60, 75))
    base = pias.plans(scale)["racks"].scenario
    assert isinstance(base, Mapping)
    tcp: dict[str, Any] = base["transport"]["tcp"]
    (entry,) = base["traffic"]
    web = {key: value for key, value in entry.items() if key != "flows"}
    thresholds = [f"{pias.SEGMENT * count}B" for count in pias.THRESHOLDS[LOAD]]
    transports = [
        {"tcp": tcp | {"congestion": congestion, "tagging": {"thresholds": thresholds}}}
        for congestion, _ in SCHEMES.values()
    ]
    scenario = {
        **base,
        "traffic": [web | {"arrivals": {"poisson": {"load": LOAD, "until": f"{until}ms"}}}],
        "run": {"until": f"{until}ms", "measure": {"from": f"{begin}ms", "until": f"{end}ms"}},
    }
    scheme = Axis(
        "scheme",
        {
            "transport": transports,
            "queue.strict-priority.classes": [classes for _, classes in SCHEMES.values()],
        },
        labels=list(SCHEMES),
    )
    return {"racks": Plan(scenario, [scheme], scale.pick(1, 5), name="racks")}


def tables(sweeps: Sweeps) -> Tables:
    """One row per run: times of its short flows, null where some have not ended; and means."""
    keys = ["scheme", "replica"]
    fct_ms, done = pl.col("fct_ps") / 1e9, pl.col("completed").all()
    runs = (
        sweeps["racks"]
        .flows.filter("measured", pl.col("size_bytes") < SHORT_BYTES)
        .group_by(keys)
        .agg(
            flows=pl.len().cast(pl.Int64),
            timeouts=pl.col("timeouts").sum().cast(pl.Int64),
            mean_ms=pl.when(done).then(fct_ms.mean()),
            p99_ms=pl.when(done).then(fct_ms.quantile(0.99, "linear")),
        )
        .collect()
        .sort(keys)
    )
    return {"runs": runs, "points": replica_means(runs, ["scheme"], list(MEASURES))}


def _no_longer(tables: Tables, sooner: str, later: str) -> Judgement:
    """The mean over seeds of the mean time under one, over that under another."""
    runs = tables["runs"].filter(pl.col("scheme").is_in([sooner, later]))
    means = dict(runs.group_by("scheme").agg(pl.col("mean_ms").mean()).iter_rows())
    if len(means) < 2 or runs["mean_ms"].null_count():
        return not_reached("there are not all schemes, or short flows have not ended")
    measured = (
        f"{100 * (means[sooner] / means[later] - 1):+.1f} %: {means[sooner]:.3f} and {means[later]:.3f} ms"
    )
    return judged(means[sooner] <= means[later], measured, f"no more than under {later}")


def _below_dctcp(tables: Tables) -> Judgement:
    return _no_longer(tables, L2DCT, DCTCP)


def _above_pias(tables: Tables) -> Judgement:
    return _no_longer(tables, PIAS, L2DCT)


def draw(tables: Tables) -> "Picture":
    """Bars of the three."""
    picture, panels = style.panels(1, len(MEASURES), size=(3.4, 2.8))
    for axes, (column, label) in zip(panels, MEASURES.items(), strict=True):
        found = dict(tables["points"].select("scheme", column).iter_rows())
        axes.bar(
            range(len(SCHEMES)),
            [found[name] or 0 for name in SCHEMES],
            0.6,
            color=style.COLOURS[: len(SCHEMES)],
        )
        axes.set(ylabel=label, title="web search below 100 KB, load 0.8")
        axes.set_xticks(range(len(SCHEMES)), list(SCHEMES))
    return picture


FIGURE = Figure(
    id="LIT-L2DCT",
    title="L2DCT: completion times of short flows beside DCTCP and PIAS",
    plans=plans,
    tables=tables,
    claims={"LIT-L2DCT.a": _below_dctcp, "LIT-L2DCT.b": _above_pias},
    draw=draw,
    needs={"runs": Needs(5, by=("scheme",))},
    assumed=(
        "Network, TCP and ports are those of LIT-PIAS: 144 hosts (quick scale: 8), a first window of 70 packets and "
        "239 at most, marks above 65 packets, packets sprayed. L2DCT has the constants of PIAS-NS2.",
        "Short flows are those that start from 40 to 60 ms (quick scale: 30 to 60 ms); the network still fills, as a "
        "steady state takes longer at a load of 0.8.",
    ),
)
