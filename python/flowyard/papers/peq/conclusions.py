"""PEQ chapters 3.4 to 4: what the thesis concludes from figures 3.5 to 3.16 taken together.

Its conclusions say how far PEQ is above PDQ and D3 "on average". Here each figure counts the same: the mean over its
points, then the mean over the 12 figures.
"""

from collections.abc import Mapping
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import half_width
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, all_exactly, between, not_less, not_reached
from flowyard.papers.peq import _load as load
from flowyard.papers.peq import deadlines, probability, servers, sizes
from flowyard.sweeps.plan import ModelPlan

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

STUDIES: Mapping[str, ModuleType] = {
    "deadlines": deadlines,
    "servers": servers,
    "probability": probability,
    "sizes": sizes,
}
FIGURES = tuple(number for study in STUDIES.values() for number in study.FIGURES)
FCT = "fct_mean_slots"
# Section 3.5: what the link can carry.
SLOTS, SERVERS = 1_000_000, 40


def plans(scale: Scale) -> dict[str, ModelPlan]:
    """The plans of the four studies, with fewer seeds."""
    seeds = {"A": scale.pick(2, 10), "B": 1, "C": 1}
    return {
        f"{name}-{mode}": plan
        for name, study in STUDIES.items()
        for mode, plan in load.plans(scale, study.axes(scale), seeds).items()
    }


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """Averages by figure and seed, completion times by point and seed, and what full load is."""
    del scale
    rows = []
    for name, study in STUDIES.items():
        runs = load.runs({key: sweep for key, sweep in sweeps.items() if key.startswith(f"{name}-")})
        for number, value in study.FIGURES.items():
            of_figure = runs.filter(pl.col(study.BY) == value)
            rows.append(of_figure.select(pl.lit(f"figure {number}").alias("figure"), pl.all()))
    runs = pl.concat(rows)
    by = ["figure", "mode", "replica", "scheme"]
    averages = runs.group_by(by, maintain_order=True).agg(
        pl.len().alias("points"), pl.col(load.THROUGHPUT, FCT, "offered_load").mean()
    )
    return {"averages": averages, "completion": _completion(runs), "full_load": _full_load()}


def _completion(runs: pl.DataFrame) -> pl.DataFrame:
    """Mean completion times of PEQ and PDQ in mode A, a row a point and seed."""
    both = runs.filter(pl.col("scheme").is_in(["PEQ", "PDQ"]), mode="A")
    table = both.pivot("scheme", index=["figure", *load.POINT, "replica"], values=FCT, maintain_order=True)
    return table.rename({name: f"{name.lower()}_{FCT}" for name in ("PEQ", "PDQ")})


def _full_load() -> pl.DataFrame:
    """How many flows of mean size the slots have room for."""
    packets = (load.SIZE_MIN + load.SIZE_MAX) / 2
    row = {"slots": SLOTS, "servers": SERVERS, "size_mean_packets": packets, "flows": SLOTS / packets}
    by_server = row["flows"] / SERVERS
    return pl.DataFrame([row | {"flows_per_server": by_server, "probability": by_server / SLOTS}])


def _gain(tables: Tables, better: str, worse: str, low: float, high: float) -> Judgement:
    """By how many percentage points one scheme is above another on average; the relative gain is told beside it."""
    means = tables["averages"].filter(mode="A")
    figures = {f"figure {number}" for number in FIGURES}
    for scheme in (better, worse):
        if absent := figures - set(means.filter(scheme=scheme)["figure"]):
            return not_reached(f"no runs of {scheme} for {', '.join(sorted(absent))}")
    seeds = means.group_by("replica", "scheme").agg(pl.col(load.THROUGHPUT).mean())
    pairs = seeds.pivot("scheme", index="replica", values=load.THROUGHPUT)
    highs: list[float] = pairs[better].to_list()
    lows: list[float] = pairs[worse].to_list()
    points, relative = (sum(highs) - sum(lows)) / len(highs), 100 * (sum(highs) / sum(lows) - 1)
    found = between(points, low, high)
    interval = half_width(pairs[better] - pairs[worse])
    said = f"{better} - {worse}: {points:.3f} +- {interval:.2g} pp; relative gain {relative:.3g} %"
    by_figure = means.pivot("scheme", index="figure", values=load.THROUGHPUT, aggregate_function="mean")
    gaps = by_figure.select("figure", gap=pl.col(better) - pl.col(worse)).sort("gap")
    least, most = gaps.row(0), gaps.row(-1)
    beside = [f"mode {mode} {_gap(tables['averages'], mode, better, worse):.2f} pp" for mode in ("B", "C")]
    inside = "inside" if low <= relative <= high else "outside"
    return Judgement(found.verdict, said, f"{low:g} to {high:g} pp").because(
        f"from {least[1]:.2f} pp in {least[0]} to {most[1]:.2f} pp in {most[0]}; the relative gain of {relative:.3g} % "
        f"is {inside} the range; with other deadlines {', '.join(beside)}; PEQ-X2"
    )


def _gap(averages: pl.DataFrame, mode: str, better: str, worse: str) -> float:
    """Mean difference over all figures, percentage points."""
    means = dict(
        averages.filter(mode=mode).group_by("scheme").agg(pl.col(load.THROUGHPUT).mean()).iter_rows()
    )
    return float(means[better] - means[worse])


def _sooner(tables: Tables) -> Judgement:
    """PDQ's mean completion time is nowhere below PEQ's."""
    runs = tables["completion"]
    if absent := {f"figure {number}" for number in FIGURES} - set(runs["figure"]):
        return not_reached(f"no runs for {', '.join(sorted(absent))}")
    point = pl.format(
        "{}: {} servers, mean {}, p {}, sizes to {}",
        "figure",
        "servers",
        "deadline_mean_slots",
        "probability",
        "size_max_packets",
    )
    series = runs.select("replica", point=point, PDQ=pl.col(f"pdq_{FCT}"), PEQ=pl.col(f"peq_{FCT}"))
    return not_less(series, "PDQ", "PEQ", x="point")


def _full(tables: Tables) -> Judgement:
    row = tables["full_load"].row(0, named=True)
    expected = {
        "slots": 1e6,
        "servers": 40,
        "size_mean_packets": 100,
        "flows": 10_000,
        "flows_per_server": 250,
    }
    return all_exactly(
        ((name, float(row[name]), float(value)) for name, value in expected.items()), "numbers"
    )


def draw(tables: Tables) -> "Picture":
    """The average of each figure; the gains, with the ranges that the thesis states; completion times."""
    picture, panels = style.panels(1, 3, size=(4.6, 3.4))
    averages = tables["averages"]
    by_figure = averages.group_by("figure", "mode", "scheme").agg(pl.col(load.THROUGHPUT).mean())
    for scheme, colour, marker in reversed(
        list(zip(load.SCHEMES, style.COLOURS, style.MARKERS, strict=False))
    ):
        rows = by_figure.filter(mode="A", scheme=scheme)
        values = dict(rows.select("figure", load.THROUGHPUT).iter_rows())
        heights = [values[f"figure {number}"] for number in FIGURES]
        ring: dict[str, Any] = {"markerfacecolor": "none", "markersize": 8} if scheme == "PDQ" else {}
        panels[0].plot(FIGURES, heights, color=colour, marker=marker, linestyle="none", label=scheme, **ring)
    panels[0].set(title="Means of each figure (A)", ylabel="application throughput (%)", ylim=(0, None))
    panels[0].tick_params(axis="x", rotation=60)
    panels[0].legend(ncols=2)

    stated = {("PEQ", "PDQ"): (1, 2), ("PEQ", "D3"): (15, 20), ("Stateful D3", "D3"): (15, 20)}
    every = {**stated, ("PEQ", "Stateful D3"): (0, 5)}
    for place, ((better, worse), (low, high)) in enumerate(every.items()):
        panels[1].bar(place, high - low, 0.8, low, color="#dddddd", label="claimed" if not place else None)
        for mode, marker, colour in zip(load.MODES, style.MARKERS, style.COLOURS, strict=False):
            gain = _gap(averages, mode, better, worse)
            label = f"mode {mode}" if not place else None
            panels[1].plot(place, gain, color=colour, marker=marker, linestyle="none", label=label)
    panels[1].axhline(0, color="#000000", linewidth=0.8)
    panels[1].set_xticks(range(len(every)), [f"{better}\n- {worse}" for better, worse in every], fontsize=8)
    panels[1].set(title="Mean gains over all figures", ylabel="percentage points")
    panels[1].legend()

    points = tables["completion"].group_by("figure", *load.POINT).mean()
    peq, pdq = points[f"peq_{FCT}"].to_numpy(), points[f"pdq_{FCT}"].to_numpy()
    most = float(max(peq.max(), pdq.max()))
    panels[2].plot([0, most], [0, most], color="#000000", linewidth=0.8)
    panels[2].plot(pdq, peq, color=style.COLOURS[0], marker="o", markersize=3.5, linestyle="none")
    panels[2].set(title="Mean completion times (A)", xlabel="PDQ (slots)", ylabel="PEQ (slots)")
    return picture


FIGURE = Figure(
    id="PEQ-P1",
    title="Conclusions from figures 3.5 to 3.16 together",
    plans=plans,
    tables=tables,
    claims={
        "PEQ-P1": partial(_gain, better="PEQ", worse="PDQ", low=0.5, high=3),
        "PEQ-P2": partial(_gain, better="PEQ", worse="D3", low=12, high=25),
        "PEQ-P3": partial(_gain, better="Stateful D3", worse="D3", low=12, high=25),
        "PEQ-P4": partial(_gain, better="PEQ", worse="Stateful D3", low=0, high=5),
        "PEQ-P5": _sooner,
        "PEQ-P16": _full,
    },
    draw=draw,
    needs={
        "averages": Needs(10, by=("figure", "scheme")),
        "completion": Needs(10, by=("figure", *load.POINT)),
    },
    assumed=(
        *load.ASSUMED,
        "The thesis says neither what its averages are over, nor whether its percent are points of application "
        "throughput or a relative gain. Here each of the 12 figures counts the same, and points are judged; the "
        "relative gain, of the average throughputs, is told beside them.",
        "All points of the four studies are here, but modes B and C have one seed, and mode A at quick scale two.",
        "Completion times are compared in these scenarios, of the flows that each scheme completes.",
    ),
)
