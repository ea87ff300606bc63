"""PEQ chapters 3.4 to 4: what the thesis concludes from figures 3.5 to 3.16 taken together.

Its conclusions say how far PEQ is above PDQ and D3 "on average". Here each figure counts the same: the mean over its
points, then the mean over the 12 figures.
"""

from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, all_exactly, by_reading, not_less, not_reached
from flowyard.sweeps.plan import ModelPlan
from flowyard_papers.peq import _gains as gains
from flowyard_papers.peq import _load as load
from flowyard_papers.peq import deadlines, probability, servers, sizes

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
ALL_FIGURES = frozenset(f"figure {number}" for number in FIGURES)
# Section 3.5: what the link can carry.
SERVERS = 40


def plans(scale: Scale) -> dict[str, ModelPlan]:
    """The plans of the four studies, with D3 as the variants have it; at quick scale with fewer seeds."""
    seeds = scale.pick(dict.fromkeys(load.MODES, 2), {})
    return {
        f"{name}-{mode}": plan
        for name, study in STUDIES.items()
        for mode, plan in load.plans(scale, {**study.axes(scale), "quench": (True,)}, seeds).items()
    }


def tables(sweeps: Sweeps) -> Tables:
    """Averages by figure and seed, pairs of them, completion times by point and seed, and what full load is."""
    rows = []
    for name, study in STUDIES.items():
        runs = load.runs({key: sweep for key, sweep in sweeps.items() if key.startswith(f"{name}-")})
        for number, value in study.FIGURES.items():
            of_figure = runs.filter(pl.col(study.BY) == value)
            rows.append(of_figure.select(pl.lit(f"figure {number}").alias("figure"), pl.all()))
    runs = pl.concat(rows)
    by = ["figure", "mode", "replica", "scheme"]
    averages = runs.group_by(by, maintain_order=True).agg(
        pl.len().alias("points"),
        pl.col("slots").min(),
        pl.col(load.THROUGHPUT, FCT, "offered_load", "size_mean_packets").mean(),
    )
    return {
        "averages": averages,
        "gains": gains.table(averages),
        "completion": _completion(runs),
        "full_load": _full_load(),
    }


def _completion(runs: pl.DataFrame) -> pl.DataFrame:
    """Mean completion times of PEQ and of PDQ by either rule in mode A, one row per point and seed."""
    schemes = ["PEQ", *load.RULES.values()]
    some = runs.filter(pl.col("scheme").is_in(schemes), mode="A")
    table = some.pivot("scheme", index=["figure", *load.POINT, "replica"], values=FCT, maintain_order=True)
    return table.rename({name: _column(name) for name in schemes})


def _column(scheme: str) -> str:
    return f"{scheme.lower().replace(', ', '_')}_{FCT}"


def _full_load() -> pl.DataFrame:
    """How many flows of mean size the slots have room for."""
    packets = (load.SIZE_MIN + load.SIZE_MAX) / 2
    row = {
        "slots": load.SLOTS,
        "servers": SERVERS,
        "size_mean_packets": packets,
        "flows": load.SLOTS / packets,
    }
    by_server = row["flows"] / SERVERS
    return pl.DataFrame([row | {"flows_per_server": by_server, "probability": by_server / load.SLOTS}])


def _sooner(tables: Tables) -> Judgement:
    """PDQ's mean completion time is nowhere below PEQ's: a verdict for each rule of PDQ."""
    runs = tables["completion"]
    if absent := ALL_FIGURES - set(runs["figure"]):
        return not_reached(f"no runs for {', '.join(sorted(absent))}")
    point = pl.format(
        "{}: {} servers, mean {}, p {}, sizes to {}",
        "figure",
        "servers",
        "deadline_mean_slots",
        "probability",
        "size_max_packets",
    )
    found = {}
    for rule, scheme in load.RULES.items():
        series = runs.select("replica", point=point, PDQ=pl.col(_column(scheme)), PEQ=pl.col(_column("PEQ")))
        found[rule] = not_less(series, "PDQ", "PEQ", x="point")
    return by_reading(found)


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
    """Above, the average of each figure, a panel for each mode; below, gains in both units, and completion times."""
    picture, panels = style.panels(2, 3, size=(4.6, 3.1))
    averages = tables["averages"]
    by_figure = averages.group_by("figure", "mode", "scheme").agg(pl.col(load.THROUGHPUT).mean())
    places = list(zip(load.SCHEMES, style.COLOURS, style.MARKERS, strict=False))
    for axes, (mode, title) in zip(panels, load.MODE_TITLES.items(), strict=False):
        for scheme, colour, marker in reversed(places):
            rows = by_figure.filter(mode=mode, scheme=scheme)
            values = dict(rows.select("figure", load.THROUGHPUT).iter_rows())
            heights = [values[f"figure {number}"] for number in FIGURES]
            ring: dict[str, Any] = {"markerfacecolor": "none", "markersize": 8} if scheme == "PDQ" else {}
            axes.plot(FIGURES, heights, color=colour, marker=marker, linestyle="none", label=scheme, **ring)
        axes.set(title=f"Means of each figure, {title}", ylim=(0, 100))
        axes.tick_params(axis="x", rotation=60)
    panels[0].set_ylabel("application throughput (%)")
    gains.draw(panels[3], tables["gains"], gains.PERCENTAGE_POINTS)
    gains.draw(panels[4], tables["gains"], gains.RELATIVE)

    points = tables["completion"].group_by("figure", *load.POINT).mean()
    peq, pdq = points[f"peq_{FCT}"].to_numpy(), points[f"pdq_{FCT}"].to_numpy()
    most = float(max(peq.max(), pdq.max()))
    panels[5].plot([0, most], [0, most], color="#000000", linewidth=0.8)
    panels[5].plot(pdq, peq, color=style.COLOURS[0], marker="o", markersize=3.5, linestyle="none")
    panels[5].set(title="Mean completion times (A)", xlabel="PDQ (slots)", ylabel="PEQ (slots)")
    handles = [*panels[0].get_legend_handles_labels()[0][::-1], *panels[3].get_legend_handles_labels()[0]]
    picture.legend(handles=handles, loc="outside upper center", ncols=6)
    return picture


FIGURE = Figure(
    id="PEQ-P1",
    title="Conclusions from figures 3.5 to 3.16 together",
    plans=plans,
    tables=tables,
    claims={
        "PEQ-P1": gains.claim("PEQ", "PDQ", ALL_FIGURES),
        "PEQ-P2": gains.claim("PEQ", "D3", ALL_FIGURES),
        "PEQ-P3": gains.claim("Stateful D3", "D3", ALL_FIGURES),
        "PEQ-P4": gains.claim("PEQ", "Stateful D3", ALL_FIGURES),
        "PEQ-P5": _sooner,
        "PEQ-P16": _full,
    },
    draw=draw,
    needs={
        "averages": Needs(load.SEEDS, by=("figure", "mode", "scheme"), least={"slots": load.SLOTS}),
        "gains": Needs(load.SEEDS, by=("figure", "mode", "better", "worse", "variant")),
        "completion": Needs(load.SEEDS, by=("figure", *load.POINT)),
    },
    assumed=(
        *load.ASSUMED,
        "The thesis says neither what its averages are over, nor whether its percent are points of application "
        "throughput or a relative gain. Here each of the 12 figures counts the same; each mode and unit is a reading, "
        "the relative gain being that of the average throughputs. The claim's own verdict is that of points, mode A, "
        "PDQ that removes waiting flows only. Strict is PDQ that removes any flow. With quench, D3 and Stateful D3 "
        "remove in every slot the flows that can no longer finish.",
        "That the four averages cannot hold together (PEQ-X17) is shown by the figure PEQ-COMBINATIONS, which tries "
        "240 combinations.",
        "All points of the four studies are here, with as many seeds; at quick scale two for each mode.",
        "Completion times are compared in these scenarios, of the flows that each scheme completes.",
    ),
)
