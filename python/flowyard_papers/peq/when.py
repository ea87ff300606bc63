"""When does PEQ beat PDQ, and when not? A map of our own over what flows are like, in the terms of PEQ's chapter 3.

Upper row: a set of flows that are released together, with what no schedule can exceed (Optimal). Lower row: servers
that go on starting flows. Left: deadlines of size plus an exponential slack, over the spread of sizes and the mean
slack. Right: deadlines on a line over the size, from smaller flows due first to larger flows due first.
"""

from itertools import product
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard import slotted
from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.slotted.measures import measure
from flowyard.sweeps.plan import ModelPlan

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

MEAN_SIZE = 100
# Sizes are uniform around the mean, so that the same load has other spreads.
LARGEST = (110, 140, 170, 198)
# Mean slack over mean size; slots that a packet more gives. -0.5 is the thesis's adversarial set.
SLACKS = (0.1, 0.3, 1.0, 3.0)
SLOPES = (1.0, 0.5, 0.0, -0.25, -0.5)
# At mean size, which makes the thesis's 297 - 0.5 size.
DUE_AT_MEAN = 247
KINDS = {"slack": SLACKS, "slope": SLOPES}
RELEASES = {"set": "16 flows released together", "load": "40 servers, load about 1"}
SLACK, SLOPE = "slack", "slope"
SET_FLOWS, SERVERS = 16, 40


def deadlines(kind: str, value: float) -> dict[str, Any]:
    """As a file has them."""
    if kind == SLACK:
        return {"exponential": {"mean": value * MEAN_SIZE, "infeasible": "shift"}}
    return {"linear": {"at_zero": DUE_AT_MEAN - value * MEAN_SIZE, "slope": value}}


def point(release: str, kind: str, sets: int, slots: int, replica: int) -> pl.DataFrame:
    """All points of one map, each with all schemes on the same flows: in percent of the flows."""
    rows = []
    for largest, value in product(LARGEST, KINDS[kind]):
        sizes = {"uniform": {"min": 2 * MEAN_SIZE - largest, "max": largest}}
        config: dict[str, Any] = {
            "classes": [{"sizes": sizes, "deadlines": deadlines(kind, value)}],
            "run": {"replica": replica},
        }
        if release == "set":
            config["generation"] = {"sets": {"flows": SET_FLOWS, "sets": sets}}
        else:
            config["generation"] = {"random": {"servers": SERVERS, "probability": 1 / (SERVERS * MEAN_SIZE)}}
            config["run"]["slots"] = slots
        row = {"largest_packets": largest, "value": value, "optimal_pct": None}
        for name in ("peq", "pdq", *(("optimal",) if release == "set" else ())):
            flows = pl.DataFrame(slotted.run({**config, "discipline": name}).flows)
            row[f"{name}_pct"] = 100 * measure(flows)["application_throughput"].item()
        rows.append(row)
    return pl.DataFrame(rows, schema_overrides={"optimal_pct": pl.Float64})


def plans(scale: Scale) -> dict[str, ModelPlan]:
    """Each map."""
    axes: dict[str, list[Any]] = {
        "release": list(RELEASES),
        "kind": list(KINDS),
        "sets": [scale.pick(60, 200)],
        "slots": [scale.pick(60_000, 400_000)],
    }
    return {"map": ModelPlan(point, axes, scale.pick(4, 10), name="when")}


def tables(sweeps: Sweeps) -> Tables:
    """The points of all maps, and what they say in sum."""
    runs = sweeps["map"].scan("table").collect()
    runs = runs.with_columns(
        lead_pp=pl.col("peq_pct") - pl.col("pdq_pct"),
        below_optimal_pp=pl.col("optimal_pct") - pl.max_horizontal("peq_pct", "pdq_pct"),
    )
    columns = ["peq_pct", "pdq_pct", "optimal_pct", "lead_pp", "below_optimal_pp"]
    points = replica_means(runs, ["release", "kind", "largest_packets", "value"], columns)
    # A difference counts if its interval leaves out 0.
    sure = pl.col("lead_pp").abs() > pl.col("lead_pp_ci95")
    better = (
        pl.when(sure & (pl.col("lead_pp") > 0))
        .then(pl.lit("PEQ"))
        .when(sure)
        .then(pl.lit("PDQ"))
        .otherwise(pl.lit("neither"))
    )
    points = points.with_columns(better=better)
    return {"points": points, "conclusion": conclude(points)}


def conclude(points: pl.DataFrame) -> pl.DataFrame:
    """For each map: at how many points which scheme is better, the largest leads and where they are, in a sentence."""
    rows = []
    for (release, kind), some in points.group_by("release", "kind", maintain_order=True):
        best, worst = some.sort("lead_pp")[-1].row(0, named=True), some.sort("lead_pp")[0].row(0, named=True)
        wins = some.filter(better="PEQ")["value"]
        losses = some.filter(better="PDQ")["value"]
        ahead = f"PEQ ahead at {len(wins)} of {len(some)} points{_range(kind, wins)}"
        behind = f"PDQ at {len(losses)}{_range(kind, losses)}"
        rows.append(
            {
                "release": release,
                "kind": kind,
                "points": len(some),
                "peq_better": len(wins),
                "pdq_better": len(losses),
                "most_pp": best["lead_pp"],
                "most_at": _place(kind, best),
                "least_pp": worst["lead_pp"],
                "least_at": _place(kind, worst),
                "below_optimal_pp": some["below_optimal_pp"].mean(),
                "says": f"{ahead}, {behind}; lead {worst['lead_pp']:+.2g} to {best['lead_pp']:+.2g} pp",
            }
        )
    return pl.DataFrame(rows, schema_overrides={"below_optimal_pp": pl.Float64})


def _range(kind: str, values: pl.Series) -> str:
    if values.is_empty():
        return ""
    low, high = min(values), max(values)
    return f" ({kind} {low:g})" if low == high else f" ({kind} {low:g} to {high:g})"


def _place(kind: str, row: dict[str, Any]) -> str:
    return f"{kind} {row['value']:g}, sizes to {row['largest_packets']}"


def draw(tables: Tables) -> "Picture":
    """A map for each release and kind of deadlines: PEQ's lead; where there is a ceiling, what it leaves."""
    picture, panels = style.panels(2, 2, size=(5.0, 3.4))
    points = tables["points"]
    most = max(0.1, *(abs(lead) for lead in points["lead_pp"]))
    for (release, kind), axes in zip(product(RELEASES, KINDS), panels, strict=True):
        some, values = points.filter(release=release, kind=kind), KINDS[kind]
        rows = {(row["largest_packets"], row["value"]): row for row in some.iter_rows(named=True)}
        cells = [[rows[largest, value]["lead_pp"] for value in values] for largest in LARGEST]
        image = axes.imshow(cells, origin="lower", aspect="auto", cmap="RdBu", vmin=-most, vmax=most)
        for (y, largest), (x, value) in product(enumerate(LARGEST), enumerate(values)):
            row = rows[largest, value]
            text = f"{row['lead_pp']:+.1f}" + ("" if row["better"] != "neither" else " ?")
            if row["below_optimal_pp"] is not None:
                text += f"\nopt. {row['below_optimal_pp']:+.1f}"
            dark = abs(row["lead_pp"]) > 0.6 * most
            axes.text(
                x, y, text, ha="center", va="center", fontsize=7, color="#ffffff" if dark else "#000000"
            )
        axes.set_xticks(range(len(values)), [f"{value:g}" for value in values])
        axes.set_yticks(
            range(len(LARGEST)), [f"{2 * MEAN_SIZE - largest} to {largest}" for largest in LARGEST]
        )
        axes.set(xlabel=_LABELS[kind], ylabel="sizes (packets)")
        axes.grid(visible=False)
        (said,) = tables["conclusion"].filter(release=release, kind=kind)["says"]
        axes.set_title(f"{RELEASES[release]}\n" + said.replace("; ", "\n"), loc="left", fontsize=8)
    picture.colorbar(image, ax=panels, label="PEQ - PDQ (percentage points of flows in time)", shrink=0.7)
    return picture


_LABELS = {
    SLACK: "mean slack beyond the size / mean size",
    SLOPE: "smaller due first  <-  slots more a packet  ->  larger due first",
}

FIGURE = Figure(
    id="PEQ-WHEN",
    title="Conditions under which PEQ beats PDQ (ours)",
    plans=plans,
    tables=tables,
    claims={},
    draw=draw,
    assumed=(
        "Sizes are uniform around a mean of 100 packets. Deadlines on a line are due after 247 slots at that size; "
        "with a slope of -0.5 and sizes of 2 to 198 they are the adversarial set of PEQ's figure 3.1.",
        "PDQ drops hopeless flows at once (early_termination strict); PEQ has the weights 0.6 and 0.4. Idle servers "
        "start a flow in a slot with probability 1/4000.",
        "A question mark is a difference that its 95 % interval does not tell from 0; of those without, one in "
        "twenty would be there by chance. The second number, where there is "
        "one, is how much more Optimal gets done in time than the better of the two.",
    ),
)
