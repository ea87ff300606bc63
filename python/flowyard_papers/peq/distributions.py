"""PEQ figures 1.9 to 1.13, section 1.2: the distributions that the experiments draw from.

The thesis shows densities: uniform (1.9), normal with what lies within 1, 2 and 3 standard deviations (1.10 to 1.12),
and the times between the events of a Poisson process (1.13). Here they are those that this simulator's generators
draw: sizes of the slotted link in both ways in which it starts flows, normal sizes and Poisson starts of packet
traffic.
"""

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard import results, slotted
from flowyard.papers import style
from flowyard.papers.figure import Figure, Scale, Tables
from flowyard.papers.judge import Judgement, all_exactly, at_least, together, within

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SMALLEST, LARGEST = 2, 198
SIZES = {"uniform": {"min": SMALLEST, "max": LARGEST}}
MEAN_BYTES, DEVIATION_BYTES = 500_000, 50_000
# Events a second of the Poisson process, and their mean distance.
RATE = 1e6
GAP_PS = 1e12 / RATE
BELOW_P = 0.01


def tables(scale: Scale) -> Tables:
    """Drawn values as counts, and the tests' statistics."""
    normal = _flows(scale.pick(1_000_000, 4_000_000), {"normal": _bytes(MEAN_BYTES, DEVIATION_BYTES)})
    deviations = (normal["size_bytes"].cast(pl.Float64) - MEAN_BYTES) / DEVIATION_BYTES
    poisson = _flows(scale.pick(100_000, 1_000_000), {"fixed": "1KB"})
    gaps = poisson["start_ps"].sort().cast(pl.Int64).diff().drop_nulls().cast(pl.Float64) / GAP_PS
    return {
        "sizes": _sizes(scale.pick(1_000, 10_000)),
        "normal": _normal(deviations),
        "normal_density": _density(deviations, -4, 4, lambda x: math.erf(x / math.sqrt(2)) / 2),
        "gaps": pl.DataFrame(
            {"gaps": [len(gaps)], "mean_expected_gaps": [gaps.mean()], "distance": [distance(gaps)]}
        ),
        "gaps_density": _density(gaps, 0, 8, lambda x: -math.exp(-x)),
    }


def _bytes(mean: int, deviation: int) -> dict[str, str]:
    return {"mean": f"{mean}B", "deviation": f"{deviation}B"}


def _flows(count: int, sizes: dict[str, Any]) -> pl.DataFrame:
    """Flows of packet traffic, as drawn before a run."""
    entry = {
        "name": "drawn",
        "arrivals": {"poisson": {"rate": RATE}},
        "matrix": "uniform",
        "sizes": sizes,
        "flows": count,
    }
    network = {"topology": {"single-switch": {"hosts": 8}}, "transport": "tcp"}
    scenario = {**network, "traffic": [entry], "run": {"measure": "all"}}
    return pl.DataFrame(results.Checked(scenario).flows())


def _sizes(sets: int) -> pl.DataFrame:
    """How often each size is drawn: for sets of 100 flows, and by 100 servers that start one after the other."""
    flows = {"sizes": SIZES, "deadlines": {"fixed": 10}}
    generations: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "sets": ({"sets": {"flows": 100, "sets": sets}}, {}),
        "servers": ({"random": {"servers": 100, "probability": 0.1}}, {"slots": 20 * sets}),
    }
    every = pl.DataFrame({"size": range(SMALLEST, LARGEST + 1)}, schema={"size": pl.UInt32})
    counted = []
    for name, (generation, run) in generations.items():
        config = {"generation": generation, "classes": [flows], "discipline": "fcfs", "run": run}
        drawn = pl.DataFrame(slotted.run(config).flows)["size"].value_counts()
        # Sizes outside would be rows, too.
        rows = every.join(drawn, on="size", how="full", coalesce=True).sort("size")
        counted.append(rows.select(pl.lit(name).alias("started_by"), "size", pl.col("count").fill_null(0)))
    return pl.concat(counted)


def _normal(deviations: pl.Series) -> pl.DataFrame:
    """Which share lies within so many standard deviations, and which share does by the formula."""
    inside = [100 * (deviations.abs() <= k).sum() / len(deviations) for k in (1, 2, 3)]
    formula = [100 * math.erf(k / math.sqrt(2)) for k in (1, 2, 3)]
    return pl.DataFrame(
        {
            "deviations": [1, 2, 3],
            "sizes": [len(deviations)] * 3,
            "inside_pct": inside,
            "formula_pct": formula,
        }
    )


def _density(values: pl.Series, low: int, high: int, cumulative: Any, steps: int = 10) -> pl.DataFrame:
    """Mean density in bins, drawn and by the formula."""
    edges = [low + i / steps for i in range((high - low) * steps + 1)]
    places = (values.filter((values >= low) & (values < high)) - low) * steps
    counts = dict(places.floor().cast(pl.Int64).value_counts().iter_rows())
    rows = [
        {
            "middle": (start + end) / 2,
            "density": counts.get(i, 0) * steps / len(values),
            "formula": (cumulative(end) - cumulative(start)) * steps,
        }
        for i, (start, end) in enumerate(pairwise(edges))
    ]
    return pl.DataFrame(rows)


def distance(gaps: pl.Series) -> float:
    """Kolmogorov's distance from the exponential distribution of mean 1."""
    from scipy.stats import kstest

    return float(kstest(gaps.to_numpy(), "expon").statistic)


def _uniform(tables: Tables) -> Judgement:
    return together([_uniform_of(tables["sizes"], name) for name in ("sets", "servers")])


def _uniform_of(sizes: pl.DataFrame, name: str) -> Judgement:
    from scipy.stats import chisquare

    rows = sizes.filter(started_by=name).sort("size")
    count = pl.col("count")
    mean = rows.select((pl.col("size") * count).sum() / count.sum()).item()
    ends = [("smallest", rows["size"][0], SMALLEST), ("largest", rows["size"][-1], LARGEST)]
    in_range = all_exactly(ends, f"ends of sizes by {name}")
    p = float(chisquare(rows["count"].to_numpy()).pvalue)
    uniform, middle = at_least(p, BELOW_P), within(mean, 100, relative=0.01)
    return together([in_range, uniform.called("p of chi-square"), middle.called("mean")])


def _within_deviations(tables: Tables) -> Judgement:
    rows = tables["normal"].sort("deviations")
    return together(
        within(inside, said, absolute=0.5).measured_in("%").called(f"within {k} sigma")
        for k, inside, said in zip(rows["deviations"], rows["inside_pct"], (68, 95, 99.7), strict=True)
    )


def _exponential(tables: Tables) -> Judgement:
    from scipy.stats import kstwo

    (row,) = tables["gaps"].iter_rows(named=True)
    return at_least(float(kstwo.sf(row["distance"], row["gaps"])), BELOW_P)


def draw(tables: Tables) -> "Picture":
    """Drawn values over the densities."""
    picture, (left, middle, right) = style.panels(1, 3)
    for name, colour in zip(("sets", "servers"), style.COLOURS, strict=False):
        rows = tables["sizes"].filter(started_by=name)
        share = 100 * rows["count"] / rows["count"].sum()
        left.plot(rows["size"], share, ".", markersize=3, color=colour, label=f"started by {name}")
    left.axhline(100 / (LARGEST - SMALLEST + 1), color="#000000", linewidth=0.9)
    left.set(title="1.9: sizes, slotted link", xlabel="packets", ylabel="flows (%)", ylim=(0, None))
    left.legend(loc="lower center")
    shown = (
        (
            middle,
            "normal_density",
            "1.10 to 1.12: normal sizes, packet traffic",
            "standard deviations from the mean",
        ),
        (right, "gaps_density", "1.13: Poisson starts, packet traffic", "time to the next flow (means)"),
    )
    for axes, name, title, label in shown:
        rows = tables[name]
        axes.bar(rows["middle"], rows["density"], 0.1, color=style.COLOURS[4], label="drawn")
        axes.plot(rows["middle"], rows["formula"], color="#000000", linewidth=0.9, label="formula")
        axes.set(title=title, xlabel=label, ylabel="density")
        axes.legend(loc="upper right")
    for row in tables["normal"].iter_rows(named=True):
        height = 0.05 + 0.055 * (3 - row["deviations"])
        ends = (-row["deviations"], row["deviations"])
        middle.annotate("", (ends[0], height), (ends[1], height), arrowprops={"arrowstyle": "<->", "lw": 0.8})
        middle.text(0, height, f"{row['inside_pct']:.2f} %", ha="center", va="bottom", fontsize=7)
    return picture


FIGURE = Figure(
    id="PEQ-F1.9",
    title="Generated sizes and deadlines: uniform, normal and exponential (figures 1.9 to 1.13)",
    tables=tables,
    claims={"PEQ-F1.9.a": _uniform, "PEQ-F1.10.a": _within_deviations, "PEQ-F1.13.a": _exponential},
    draw=draw,
    quick="1,000,000 sizes for 4,000,000; 100,000 gaps for 1,000,000; 1,000 sets for 10,000",
    assumed=(
        "Sizes of the slotted link are judged for sets, which share one stream of chance each, and for servers, which "
        "have one each; both must pass. Seeds are the default.",
        "Normal sizes have mean 500 KB and standard deviation 50 KB, so that neither whole bytes nor the smallest size "
        "matter. The times of the Poisson process are compared with its own rate, a million flows per second; nothing "
        "is fitted.",
    ),
)
