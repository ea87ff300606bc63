"""How figures 3.5 to 3.16 of the PEQ thesis are judged: who is ahead, what rises and falls, and ceilings."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise, product

import polars as pl

from flowyard.analysis.intervals import half_width, replica_means
from flowyard.papers.figure import Tables
from flowyard.papers.judge import Judgement, by_reading, judged, not_less, not_reached, together
from flowyard_papers.peq._load import MODES, POINT, RULES, SCHEMES, SEEDS, THROUGHPUT, by_rule, wide

OTHERS = tuple(SCHEMES)[1:]
# A series needs so many points to be judged.
POINTS_MIN = 3
# A step whose mean is nearer to its limit than this share of it is judged by all seeds that were run.
NEAR_LIMIT = 0.1


def all_ahead(
    figures: Mapping[str, float], by: str, x: str, ends: tuple[float, float]
) -> dict[str, Callable[[Tables], Judgement]]:
    """The first claim of each figure: PEQ is nowhere below the others.

    Args:
        figures: The value of `by` that a figure has, by its number.
        by: The column that tells figures apart.
        x: Their axis.
        ends: Which must have been run from end to end.
    """
    return {
        f"PEQ-F{number}.a": partial(ahead, where={by: value}, x=x, ends=ends)
        for number, value in figures.items()
    }


def ahead(tables: Tables, where: Mapping[str, float], x: str, ends: tuple[float, float]) -> Judgement:
    """PEQ is nowhere below the others: a verdict for each mode and rule of PDQ's early termination.

    The claim's own is that of mode A, waiting flows only.

    Args:
        tables: Runs.
        where: What tells the figure's points from others.
        x: Its axis.
        ends: Which must have been run from end to end.
    """
    runs = tables["runs"].filter(**where)
    return by_reading(
        {
            f"mode {mode}, {rule}": _ahead(by_rule(runs.filter(mode=mode), rule), x, ends)
            for rule, mode in product(RULES, MODES)
        }
    )


def _ahead(runs: pl.DataFrame, x: str, ends: tuple[float, float]) -> Judgement:
    if reason := missing(runs, x, ends):
        return not_reached(reason)
    series = wide(runs)
    found = together([not_less(series, "PEQ", other, x=x, points=True) for other in OTHERS])
    return found.because(f"{found.reason}: {_gaps(runs, x)}")


def _gaps(runs: pl.DataFrame, x: str) -> str:
    """How near PEQ and PDQ are, and why."""
    pairs = wide(runs).with_columns(gap=pl.col("PEQ") - pl.col("PDQ"))
    of_peq = runs.filter(scheme="PEQ")
    gap = _range(pairs, x, "gap")
    feasible = _range(of_peq, x, "feasible_percent")
    present = _range(of_peq, x, "present_mean_flows")
    offered = _range(of_peq, x, "offered_load")
    alone = "all" if feasible[0] == 100 else f"{feasible[0]:.0f} to {feasible[1]:.0f} % of the"
    why = " (PEQ-X2)" if feasible[0] < 100 else ""
    return (
        f"PEQ - PDQ is {gap[0]:+.3f} to {gap[1]:+.3f} pp; {alone} flows are feasible alone{why}, {present[0]:.2g} to "
        f"{present[1]:.2g} are present at a time, at loads of {offered[0]:.2g} to {offered[1]:.2g}"
    )


def _range(runs: pl.DataFrame, x: str, column: str) -> tuple[float, float]:
    """The smallest and the largest mean of a column over the points."""
    means: list[float] = runs.group_by(x).agg(pl.col(column).mean())[column].to_list()
    return min(means), max(means)


def moves(
    tables: Tables,
    x: str,
    ends: tuple[float, float],
    by: str,
    more: str,
    less: str,
    *,
    rising: bool,
    mode: str = "A",
) -> Judgement:
    """Every scheme rises, or falls, along x on each of several curves: a verdict for each rule of PDQ.

    Args:
        tables: Runs of all curves; `more_runs`, mode A with more replicas, where steps near the limit need them.
        x: Along which.
        ends: Which must have been run from end to end.
        by: The column that tells curves apart.
        more: What the larger x is, as in "with more servers".
        less: What the smaller x is.
        rising: Or falling.
        mode: Of the runs that are judged.
    """
    found = {}
    for rule, scheme in RULES.items():
        runs = by_rule(tables["runs"].filter(mode=mode), rule)
        if mode == "A" and "more_runs" in tables:
            series = tables["more_runs"].with_columns(PDQ=pl.col(scheme))
        else:
            series = wide(runs)
        reasons = [missing(curve, x, ends) for _, curve in runs.group_by(by)]
        reason = next(filter(None, reasons), "")
        found[f"mode {mode}, {rule}"] = (
            not_reached(reason) if reason else _moves(series, x, by, more, less, rising)
        )
    return by_reading(found)


def _moves(series: pl.DataFrame, x: str, by: str, more: str, less: str, rising: bool) -> Judgement:
    """The same for one rule; steps are paired by replica."""
    judgements, longer = [], []
    for scheme in SCHEMES:
        higher, lower = f"{scheme} with {more}", f"{scheme} with {less}"
        a, b = (higher, lower) if rising else (lower, higher)
        steps = []
        for (at,), curve in series.group_by(by, maintain_order=True):
            for one, two in pairwise(sorted(curve[x].unique())):
                before, after = (
                    curve.filter(pl.col(x) == value).select("replica", pl.col(scheme).alias(name))
                    for value, name in ((one, lower), (two, higher))
                )
                pairs = _enough(before.join(after, on="replica"), a, b)
                step = f"{one:g} to {two:g} ({by} {at:g})"
                steps.append(pairs.with_columns(step=pl.lit(step)))
                if len(pairs) > SEEDS:
                    longer.append(f"{scheme} from {x} {step} by {len(pairs)} seeds")
        judgements.append(not_less(pl.concat(steps), a, b, x="step", points=True))
    found = together(judgements)
    return found.noted(f"{SEEDS} seeds were near the limit: {', '.join(longer)}") if longer else found


def _enough(pairs: pl.DataFrame, a: str, b: str) -> pl.DataFrame:
    """The usual replicas of a step, or all of them if its mean is near its limit."""
    usual = pairs.filter(pl.col("replica") < SEEDS)
    gap = usual[a] - usual[b]
    interval = half_width(gap)
    limit = max(interval if interval < float("inf") else 0.0, 0.5)
    mean = gap.mean()
    return pairs if isinstance(mean, float) and abs(mean + limit) <= NEAR_LIMIT * limit else usual


def missing(runs: pl.DataFrame, x: str, ends: tuple[float, float]) -> str:
    """Why a series cannot be judged; empty if it can."""
    found = set(runs[x])
    if absent := sorted(set(SCHEMES) - set(runs["scheme"])):
        return f"there are no runs of {', '.join(absent)}"
    if not set(ends) <= found or len(found) < POINTS_MIN:
        return f"{x} was not run from {ends[0]:g} to {ends[1]:g} at {POINTS_MIN} points or more"
    return ""


def capped(
    tables: Tables, x: str, expected: Mapping[float, float], digit: float, rounding: float
) -> Judgement:
    """The ceilings of mode A are those expected, up to the rounding of deadlines; and no scheme is above its ceiling.

    What rounding adds is counted from the numbers as stated, or from the formula that they were computed by.

    Args:
        tables: Runs and ceilings.
        x: The axis.
        expected: The numbers as stated, percent, by x.
        digit: Half of their last digit, percentage points.
        rounding: What rounding deadlines up may add, percentage points.
    """
    rows = {row[x]: row for row in tables["ceilings"].iter_rows(named=True)}
    if absent := sorted(set(expected) - set(rows)):
        return not_reached(f"no ceiling at {x} {', '.join(f'{at:g}' for at in absent)}")
    formula = {at: rows[at]["ceiling_percent"] for at in expected}
    exact = {at: rows[at]["ceiling_rounded_up_percent"] for at in expected}
    plain = _near("formula", formula, expected, -digit, digit).because(
        "the last digit as stated is not that of the formula"
    )
    adds = "rounding deadlines up multiplies the formula by exp(1/mean deadline); the numbers stated are rounded, too"
    below = _below(tables)
    readings = {
        "from the numbers as stated": _near("exact ceiling", exact, expected, -digit, rounding),
        "from the formula": _near("exact ceiling", exact, formula, 0, rounding),
    }
    return by_reading({name: together([plain, own.because(adds), below]) for name, own in readings.items()})


def _near(
    what: str, values: Mapping[float, float], expected: Mapping[float, float], low: float, high: float
) -> Judgement:
    """Values differ from those expected by no less and no more than so many points."""
    off = {at: value - expected[at] for at, value in values.items()}
    # Sums of doubles are no reason to fail.
    wrong = [f"{value:+.4f} at {at:g}" for at, value in off.items() if not low - 1e-9 <= value <= high + 1e-9]
    measured = f"{what} off by {min(off.values()):+.4f} to {max(off.values()):+.4f} pp"
    more = f" (outside: {', '.join(wrong)})" if wrong else ""
    return judged(not wrong, measured + more, f"{low:+g} to {high:+g} pp")


def _below(tables: Tables) -> Judgement:
    """No run has more flows done than are feasible; no mean is above the exact ceiling by more than its interval."""
    runs, on = tables["runs"].filter(mode="A"), ["deadline_mean_slots", "size_max_packets"]
    if runs.is_empty():
        return not_reached("there are no runs")
    means = replica_means(runs, [*POINT, "scheme"], [THROUGHPUT])
    known = means.join(tables["ceilings"], on=on).drop_nulls()
    if len(known) < len(means):
        return not_reached("some point has no ceiling, or no interval")
    above = pl.col(THROUGHPUT) - pl.col("ceiling_rounded_up_percent")
    known = known.with_columns(above=above, beyond=above - pl.col(f"{THROUGHPUT}_ci95")).sort("beyond")
    worst = known.row(-1, named=True)
    wrong = runs.filter(pl.col("done") > pl.col("feasible")).height
    at = f"{worst['scheme']} at {worst['servers']} servers, mean {worst['deadline_mean_slots']:g}"
    measured = f"nearest to its ceiling, by interval: {worst['above']:+.3f} pp ({at})"
    found = judged(worst["beyond"] <= 0 and not wrong, measured, "none above by more than its interval")
    return found.because(
        f"{wrong} runs have more flows done than were feasible" if wrong else f"{at} is above"
    )
