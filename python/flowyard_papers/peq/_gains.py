"""By how much one scheme is above another on average over figures 3.5 to 3.16 of the PEQ thesis.

Its conclusions give percent, and say neither of what nor over what. Each figure counts the same here; points of
application throughput and the relative gain are two readings, in each mode.
"""

from collections.abc import Callable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import half_width
from flowyard.papers import style
from flowyard.papers.figure import Tables
from flowyard.papers.judge import Judgement, between, by_reading, not_reached
from flowyard_papers.peq._load import MODES, QUENCHED, STRICT, THROUGHPUT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STATEFUL = "Stateful D3"
# What the conclusions say, in percent: which scheme is above which, and by how much it has to be to pass.
CLAIMED: Mapping[tuple[str, str], tuple[float, float]] = {
    ("PEQ", "PDQ"): (0.5, 3),
    ("PEQ", "D3"): (12, 25),
    (STATEFUL, "D3"): (12, 25),
    ("PEQ", STATEFUL): (0, 5),
}
# The schemes as they are; a strict PDQ, where it is compared; D3 and Stateful D3 that quench, where the latter is.
PLAIN, STRICTLY, QUENCH = "", "strict", "quench"
VARIED: Mapping[str, tuple[str, ...]] = {STRICTLY: tuple(STRICT), QUENCH: tuple(QUENCHED)}
VARIANTS = tuple(
    (*pair, variant)
    for pair in CLAIMED
    for variant in (PLAIN, *((STRICTLY,) if "PDQ" in pair else (QUENCH,) if STATEFUL in pair else ()))
)
PERCENTAGE_POINTS, RELATIVE = "pp", "% relative"


def table(averages: pl.DataFrame) -> pl.DataFrame:
    """Both schemes of each comparison: a row for each mode, variant, figure and replica.

    Args:
        averages: By figure, mode, replica and scheme, with the application throughput.
    """
    index = ["figure", "mode", "replica"]
    found = []
    for better, worse, variant in VARIANTS:
        sides = [
            averages.filter(scheme=varied(scheme, variant)).select(*index, pl.col(THROUGHPUT).alias(side))
            for scheme, side in ((better, "better_percent"), (worse, "worse_percent"))
        ]
        about = (
            pl.lit(value).alias(name)
            for name, value in {"better": better, "worse": worse, "variant": variant or "plain"}.items()
        )
        both = sides[0].join(sides[1], on=index, maintain_order="left")
        found.append(both.select(*about, *index, "better_percent", "worse_percent"))
    return pl.concat(found)


def varied(scheme: str, variant: str) -> str:
    """The scheme as a variant has it, which may be as it is."""
    name = f"{scheme}, {variant}"
    return name if name in VARIED.get(variant, ()) else scheme


def chosen(table: pl.DataFrame, better: str, worse: str, variant: str) -> pl.DataFrame:
    """The rows of a comparison."""
    return table.filter(better=better, worse=worse, variant=variant or "plain")


def gains(rows: pl.DataFrame) -> tuple[float, float]:
    """Percentage points, and percent of the worse scheme's average."""
    better, worse = float(rows["better_percent"].sum()), float(rows["worse_percent"].sum())
    return (better - worse) / len(rows), 100 * (better / worse - 1) if worse else float("inf")


def claim(better: str, worse: str, figures: frozenset[str]) -> Callable[[Tables], Judgement]:
    """A judge: a verdict for each mode, unit and variant. The claim's own is of mode A, points, schemes as they are.

    Args:
        better: The scheme that is to be above.
        worse: The other one.
        figures: That must be there.
    """

    def judge(tables: Tables) -> Judgement:
        found = {}
        variants = [variant for *pair, variant in VARIANTS if pair == [better, worse]]
        for variant, unit, mode in product(variants, (PERCENTAGE_POINTS, RELATIVE), MODES):
            rows = chosen(tables["gains"], better, worse, variant).filter(mode=mode)
            name = f"mode {mode}, {unit}" + (f", {variant}" if variant else "")
            found[name] = _judged(rows, better, worse, unit, figures)
        return by_reading(found)

    return judge


def _judged(rows: pl.DataFrame, better: str, worse: str, unit: str, figures: frozenset[str]) -> Judgement:
    if absent := figures - set(rows["figure"]):
        return not_reached(f"{better} or {worse} was not run for {', '.join(sorted(absent))}")
    low, high = CLAIMED[better, worse]
    points, relative = gains(rows)
    expected = f"{low:g} to {high:g} {unit}"
    if unit == RELATIVE:
        return Judgement(
            between(relative, low, high).verdict, f"{better} over {worse}: {relative:+.3g} %", expected
        )
    gap = pl.col("better_percent") - pl.col("worse_percent")
    seeds = rows.group_by("replica").agg(gap=gap.mean())
    measured = f"{better} - {worse}: {points:.3f} +- {half_width(seeds['gap']):.2g} pp"
    by_figure = rows.group_by("figure").agg(gap=gap.mean()).sort("gap", "figure")
    least, most = by_figure.row(0), by_figure.row(-1)
    return Judgement(between(points, low, high).verdict, measured, expected).because(
        f"from {least[1]:.2f} pp in {least[0]} to {most[1]:.2f} pp in {most[0]}; PEQ-X2"
    )


def draw(axes: "Axes", table: pl.DataFrame, unit: str) -> None:
    """A place for each comparison, with the range that passes, and a mark for each mode."""
    for place, (better, worse, variant) in enumerate(VARIANTS):
        low, high = CLAIMED[better, worse]
        axes.bar(place, high - low, 0.8, low, color="#dddddd", label=None if place else "passes")
        for mode, marker, colour in zip(MODES, "ov^", style.COLOURS[4:], strict=True):
            rows = chosen(table, better, worse, variant).filter(mode=mode)
            look: dict[str, Any] = {"marker": marker, "color": colour, "linestyle": "none"}
            if len(rows):
                value = gains(rows)[unit == RELATIVE]
                axes.plot(place, value, **look, label=None if place else f"mode {mode}")
    axes.axhline(0, color="#000000", linewidth=0.8)
    names = [
        f"{better} -\n{worse}" + (f"\n({variant})" if variant else "") for better, worse, variant in VARIANTS
    ]
    names = [name.replace(STATEFUL, "Stateful\nD3") for name in names]
    # Gains of less than one percent and of hundreds.
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylim(top=2 * axes.get_ylim()[1])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xticks(range(len(VARIANTS)), names, fontsize=7)
    axes.set_title(f"Mean gains ({unit})")
