"""Verdicts: comparing what was measured with what a claim says. Each function returns a Judgement.

The defaults are those of the register's conventions: "A is at least B at every x" allows for the confidence interval of
their paired difference and must hold strictly at more than half of the x; "no significant difference" is a ratio
between 0.8 and 1.25. An ordering that differences within the noise decide is a tie, and says so.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from flowyard.analysis.intervals import half_width
from flowyard.forks import pl
from flowyard.papers.words import BOUND, FAIL, NOT_REACHED, PASS, Value, worded

__all__ = ["FAIL", "NOT_REACHED", "PASS", "Judgement", "Value"]

# Mistakes of a long comparison that a verdict shows.
SHOWN = 3
# Differences below this, in points of a percentage or else in percent, are a tie if their 95 % interval includes 0.
TIE = 0.1


@dataclass(frozen=True)
class Judgement:
    """A verdict with its evidence.

    Attributes:
        verdict: PASS, FAIL or NOT-REACHED.
        measured: A number, or a short text.
        expected: What would pass, likewise.
        reason: Why it is not PASS, where more is known than the two values say.
        note: A remark on the verdict, whichever it is, such as that it is a tie. It follows the reason.
        readings: Where a claim has several readings, each with its name; the first is the claim's own.
        unit: Of both values, where they are numbers without one.
        calculation: Of a FAIL, what shows that the paper's number cannot be reproduced; else empty.
        searched: Whether it is a reading that only a search over parameters found.
        unpredicted: Whether a part of a claim fails that no contradiction predicts.
    """

    verdict: str
    measured: Value
    expected: Value
    reason: str = ""
    note: str = ""
    readings: "tuple[tuple[str, Judgement], ...]" = ()
    unit: str = ""
    calculation: str = ""
    searched: bool = False
    unpredicted: bool = False

    def because(self, reason: str) -> "Judgement":
        """With a reason, unless it is a PASS. A note stays."""
        return self if self.verdict == PASS else replace(self, reason=reason)

    def not_reproducible(self, calculation: str) -> "Judgement":
        """A FAIL that is no open question: something else than this figure shows that the number cannot be obtained.

        Args:
            calculation: The words that name it, such as a function of the study, with its result.
        """
        return replace(self, calculation=calculation) if self.verdict == FAIL else self

    def beyond_prediction(self) -> "Judgement":
        """Of a claim that a contradiction predicts to fail in part: it fails in another part, too, and so is open."""
        return replace(self, unpredicted=self.verdict == FAIL)

    def reachable(self) -> "Judgement":
        """As a reading that only a search over parameters found, and no word of the paper: never the claim's own."""
        return replace(self, searched=True)

    def measured_in(self, unit: str) -> "Judgement":
        """With the unit of both values."""
        return replace(self, unit=unit)

    def called(self, name: str) -> "Judgement":
        """With the name of what was measured in front of its value, for claims of several conditions."""
        measured, expected = (worded(value, self.unit) for value in (self.measured, self.expected))
        return replace(self, measured=f"{name}: {measured}", expected=expected, unit="")

    def noted(self, note: str) -> "Judgement":
        """With one more note, which is shown whatever the verdict is."""
        return replace(self, note="; ".join(filter(None, (self.note, note))))


def judged(holds: bool, measured: Value, expected: Value) -> Judgement:
    """PASS if it holds, else FAIL."""
    return Judgement(PASS if holds else FAIL, _plain(measured), _plain(expected))


def not_reached(reason: str) -> Judgement:
    """Nothing was measured."""
    return Judgement(NOT_REACHED, None, None, reason)


def exactly(measured: Value, expected: Value) -> Judgement:
    """Both are the same."""
    return judged(measured == expected, measured, expected)


def all_exactly(rows: Iterable[tuple[str, Value, Value]], what: str) -> Judgement:
    """All of many pairs are the same.

    Args:
        rows: What is compared, measured, expected.
        what: What they are, such as "counts".
    """
    rows = list(rows)
    wrong = [f"{name} is {got}, not {expected}" for name, got, expected in rows if got != expected]
    if not rows:
        return not_reached(f"there are no {what} to compare")
    more = f"; and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
    measured = f"{len(rows) - len(wrong)} of {len(rows)} {what} equal"
    found = judged(not wrong, measured, f"all {len(rows)} equal")
    return found.because("; ".join(wrong[:SHOWN]) + more)


def within(
    measured: float | None, expected: float, *, relative: float = 0.0, absolute: float = 0.0
) -> Judgement:
    """The measured number is the expected one, give or take a share of it or an amount."""
    allowed = max(relative * abs(expected), absolute)
    said = f"{worded(expected, digits=BOUND)} +- {worded(allowed, digits=3)}"
    if measured is None:
        return Judgement(NOT_REACHED, None, said, "there is no value")
    # The rounding of a last digit is no reason to fail.
    return judged(abs(measured - expected) <= allowed * (1 + 1e-12), measured, said)


def between(measured: float | None, low: float, high: float) -> Judgement:
    """From low to high, both included; either may be infinite."""
    least, most = (worded(bound, digits=BOUND) for bound in (low, high))
    said = f">= {least}" if high == math.inf else f"<= {most}" if low == -math.inf else f"{least} to {most}"
    if measured is None:
        return Judgement(NOT_REACHED, None, said, "there is no value")
    return judged(low <= measured <= high, measured, said)


def at_least(measured: float | None, bound: float) -> Judgement:
    """No less than a bound."""
    return between(measured, bound, math.inf)


def at_most(measured: float | None, bound: float) -> Judgement:
    """No more than a bound."""
    return between(measured, -math.inf, bound)


def comparable(ratio: float | None, low: float = 0.8, high: float = 1.25) -> Judgement:
    """No significant difference, by the ratio of two means."""
    return between(ratio, low, high)


def not_less(
    runs: pl.DataFrame, a: str, b: str, *, x: str, points: bool = False, replica: str = "replica"
) -> Judgement:
    """The standard ordering: a >= b at every x.

    At each x the mean of a - b is at least minus the larger of half the width of its 95 % confidence interval
    (paired by replica) and 1 % of b (with `points` 0.5 percentage points); and at more than half of the x, a's mean
    is above b's. It is a tie, and noted as one, if the verdict hangs on how points are counted at which a and b differ
    by less than 0.1 (percentage points, or percent of b) and by less than the interval.

    Args:
        runs: A row for each x and replica, with both series as columns.
        a: The column that should be larger.
        b: The other one.
        x: The column of the points.
        points: Whether the series are percentages, where absolute differences count.
        replica: The column that pairs.
    """
    known = runs.drop_nulls([a, b])
    if known.is_empty() or known[x].n_unique() < runs[x].n_unique():
        return not_reached(f"some {x} has no value of both {a} and {b}")
    if known.select(pl.struct(x, replica).is_duplicated().any()).item():
        raise ValueError(f"several rows of one {x} and {replica}")
    low, above, surely, ties, worst = [], 0, 0, 0, math.inf
    of_x, name_a, name_b = (name.replace("_", " ") for name in (x, a, b))
    for (at,), rows in known.sort(x).group_by(x, maintain_order=True):
        gap = rows[a].cast(pl.Float64) - rows[b].cast(pl.Float64)
        mean, base = _mean(gap), abs(_mean(rows[b]))
        interval = half_width(gap)
        slack = max(interval if math.isfinite(interval) else 0.0, 0.5 if points else 0.01 * base)
        share = mean if points else mean / base if base else math.copysign(math.inf, mean) if mean else 0.0
        worst = min(worst, share)
        tie = abs(share) < (TIE if points else TIE / 100) and abs(mean) <= interval
        ties += tie
        above += mean > 0
        surely += mean > 0 and not tie
        if mean < -slack:
            of_a, of_b = (worded(_mean(rows[name]), digits=4) for name in (a, b))
            low.append(f"at {of_x} = {at} {name_a} is {of_a}, {name_b} {of_b}")
    count = known[x].n_unique()
    unit = "pp" if points else "%"
    smallest = worst if points else 100 * worst
    measured = f"{name_a} - {name_b}: smallest {worded(smallest, unit, 3)}, positive at {above} of {count}"
    allowed = f"half the 95 % interval or {0.5 if points else 1} {unit}"
    verdict = judged(
        not low and above > count / 2,
        measured,
        f"{name_a} >= {name_b} at every {of_x} (tolerance: {allowed}), above at more than half of them",
    )
    more = f"; and {len(low) - SHOWN} more" if len(low) > SHOWN else ""
    verdict = verdict.because("; ".join(low[:SHOWN]) + more if low else "they hardly differ")
    if not low and surely <= count / 2 < surely + ties:
        return verdict.noted(
            f"a tie: {name_a} and {name_b} differ by less than {TIE} {unit} and by less than the 95 % interval at "
            f"{ties} of {count} values of {of_x}"
        )
    return verdict


def together(judgements: Iterable[Judgement]) -> Judgement:
    """Several conditions of one claim: the worst verdict, with the evidence of all.

    Raises:
        ValueError: One has readings. Each reading's conditions go together first, then the readings.
    """
    every = list(judgements)
    if any(one.readings for one in every):
        raise ValueError("put together the conditions of each reading, then the readings")
    order = {PASS: 0, NOT_REACHED: 1, FAIL: 2}
    verdict = max((one.verdict for one in every), key=order.__getitem__)
    measured = "; ".join(worded(one.measured, one.unit) for one in every)
    reasons = "; ".join(dict.fromkeys(one.reason for one in every if one.reason))
    notes = "; ".join(dict.fromkeys(one.note for one in every if one.note))
    expected = "; ".join(worded(one.expected, one.unit) for one in every)
    # One condition that fails for no known reason leaves the claim open.
    shown = [one.calculation for one in every if one.verdict == FAIL]
    calculation = "; ".join(dict.fromkeys(shown)) if all(shown) else ""
    unpredicted = any(one.unpredicted for one in every)
    return Judgement(
        verdict, measured, expected, reasons, notes, calculation=calculation, unpredicted=unpredicted
    )


def by_reading(judgements: Mapping[str, Judgement]) -> Judgement:
    """A verdict for each reading of a claim; the claim's own is that of the first, its default reading.

    Args:
        judgements: By the name of the reading, such as "mode A"; the default one first.

    Returns:
        The first judgement, with all of them as its readings.

    Raises:
        ValueError: There is none, or the first is one that only a search found.
    """
    if not judgements:
        raise ValueError("a claim has at least one reading")
    name, own = next(iter(judgements.items()))
    if own.searched:
        raise ValueError(f'"{name}" is only reachable: the first reading is that of the paper\'s words')
    return replace(own, readings=tuple(judgements.items()))


def _mean(values: pl.Series) -> float:
    mean = values.cast(pl.Float64).mean()
    assert isinstance(mean, float)
    return mean


def _plain(value: Value) -> Value:
    """A value for JSON: six digits of a fraction."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value if value is None or isinstance(value, str) else str(value)
    number = float(value)
    if not math.isfinite(number):
        return str(number)
    return int(number) if number == int(number) and abs(number) < 1e15 else float(f"{number:.6g}")
