"""Verdicts: what passes and what does not, by hand."""

import math

import polars as pl
import pytest

from flowyard.analysis.intervals import half_width, replica_means, student_t
from flowyard.papers import judge, words
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS


def runs(a, b, x=None):
    """Rows of a and b, replicas counted at each x."""
    x = x or [1] * len(a)
    replicas = [x[:i].count(one) for i, one in enumerate(x)]
    return pl.DataFrame({"x": x, "replica": replicas, "a": a, "b": b}, strict=False)


def verdict(*arguments, **options):
    return judge.not_less(runs(*arguments), "a", "b", x="x", **options).verdict


def test_numbers():
    assert judge.exactly(4, 4).verdict == PASS
    assert judge.exactly(4, 5).verdict == FAIL
    assert judge.within(0.3, 0.1, absolute=0.2).verdict == PASS
    assert judge.within(-1.02, -1, relative=0.01).verdict == FAIL
    assert judge.within(None, 1, relative=0.1).verdict == NOT_REACHED
    assert judge.at_least(0.9, 0.9).verdict == PASS
    assert judge.at_most(0.91, 0.9).verdict == FAIL
    assert judge.between(1.3, 0.8, 1.25).verdict == FAIL
    assert judge.comparable(0.79).verdict == FAIL
    assert judge.comparable(1.25).verdict == PASS
    assert judge.at_least(math.nan, 0).verdict == FAIL
    assert judge.exactly(True, True).measured == "True"


def test_what_json_cannot_hold_is_said_in_words():
    assert judge.at_most(math.inf, 1).measured == "inf"
    assert judge.at_most(1 / 3, 1).measured == 0.333333
    assert judge.at_most(4.0, 1).measured == 4


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (None, "s", "–"),  # noqa: RUF001
        (3, None, "3"),
        (17350, "KB/s", "17,350 KB/s"),
        (5.0, "%", "5 %"),
        (0.1 + 0.2, "s", "0.3 s"),
        (1 / 3, "", "0.33333"),
        (12345.67, "us", "12,346 us"),
        (2e6 + 0.5, None, "2,000,000"),
        (1e-9, None, "1e-9"),
        (-0.00123456, "pp", "-0.0012346 pp"),
        (math.inf, "s", "inf s"),
        (1e300, None, "1e+300"),
        ("1 +- 0.1", "s", "1 +- 0.1 s"),
        ("12 of 14 equal", None, "12 of 14 equal"),
    ],
)
def test_numbers_with_units_are_worded_in_one_way(value, unit, said):
    assert words.worded(value, unit) == said
    assert words.shown({"measured": value, "unit": unit}, "measured") == said


def test_what_passes_is_worded_with_all_its_digits():
    assert judge.within(1, 17350, relative=0.15).expected == "17,350 +- 2,602"
    assert judge.between(1, 1.00001, 2e6).expected == "1.00001 to 2,000,000"
    assert judge.at_most(1, 1e-9).expected == "<= 1e-9"


def test_many_pairs():
    rows = [("servers", 16, 16), ("cores", 4, 4)]
    assert judge.all_exactly(rows, "counts").verdict == PASS
    found = judge.all_exactly([*rows, ("pods", 5, 4)], "counts")
    assert (found.verdict, found.measured, found.reason) == (FAIL, "2 of 3 counts equal", "pods is 5, not 4")
    assert judge.all_exactly([], "counts").verdict == NOT_REACHED


def test_not_less_needs_more_than_half_strictly_above():
    assert verdict([2, 2, 1], [1, 1, 1], [1, 2, 3]) == PASS
    assert verdict([2, 1, 1], [1, 1, 1], [1, 2, 3]) == FAIL
    assert verdict([1, 1], [1, 1], [1, 2]) == FAIL
    # Half of the points are not more than half.
    assert verdict([2, 2, 1, 1], [1, 1, 1, 1], [1, 2, 3, 4]) == FAIL


def test_not_less_allows_for_a_hundredth():
    assert verdict([2, 2, 0.9901], [1, 1, 1], [1, 2, 3]) == PASS
    assert verdict([2, 2, 0.9899], [1, 1, 1], [1, 2, 3]) == FAIL
    # Of percentages, half a point.
    assert verdict([99, 99, 79.51], [80, 80, 80], [1, 2, 3], points=True) == PASS
    assert verdict([99, 99, 79.49], [80, 80, 80], [1, 2, 3], points=True) == FAIL


def test_not_less_allows_for_the_interval_of_the_paired_difference():
    # Differences -2 and 1: mean -0.5, standard deviation 2.121, half width 12.706 * 2.121 / sqrt 2 = 19.06.
    lower = runs([8, 11, 5, 5, 5, 5], [10, 10, 1, 1, 1, 1], [1, 1, 2, 2, 3, 3])
    assert judge.not_less(lower, "a", "b", x="x").verdict == PASS
    # The same spread in both, which pairing takes out: each replica is below by 2.
    paired = runs([8, 98, 5, 5, 5, 5], [10, 100, 1, 1, 1, 1], [1, 1, 2, 2, 3, 3])
    found = judge.not_less(paired, "a", "b", x="x")
    assert found.verdict == FAIL
    assert "at x = 1 a is 53, b 55" in found.reason


def test_not_less_without_values_or_with_too_many():
    assert verdict([None, 2], [1, 1], [1, 2]) == NOT_REACHED
    with pytest.raises(ValueError, match="several rows"):
        judge.not_less(
            pl.DataFrame({"x": [1, 1], "replica": [0, 0], "a": [1, 1], "b": [1, 1]}), "a", "b", x="x"
        )


def test_the_worst_of_several_counts():
    good, bad, missing = judge.at_least(2, 1), judge.at_least(0, 1), judge.not_reached("no runs")
    assert judge.together([good, good]).verdict == PASS
    assert judge.together([good, missing]).verdict == NOT_REACHED
    assert judge.together([good, bad, missing]).verdict == FAIL
    assert judge.together([good, missing]).reason == "no runs"


def test_a_reason_is_for_what_did_not_pass():
    assert judge.at_least(2, 1).because("x").reason == ""
    assert judge.at_least(0, 1).because("x").reason == "x"


class TestTies:
    """Percentages at three x, three replicas each: a - b by hand."""

    def judged(self, *gaps, points=True):
        x = [place for place in range(len(gaps)) for _ in range(3)]
        return judge.not_less(
            runs([50 + gap for one in gaps for gap in one], [50] * len(x), x), "a", "b", x="x", points=points
        )

    # Mean 0.05, and 0 is within its interval; mean -0.05 likewise; mean 2 for sure.
    NOISE, BELOW, AHEAD = (0.15, 0.0, 0.0), (-0.15, 0.0, 0.0), (2.0, 2.1, 1.9)

    def test_a_pass_that_noise_decides_is_a_tie(self):
        found = self.judged(self.NOISE, self.NOISE, self.BELOW)
        assert found.verdict == PASS
        assert (
            found.note
            == "a tie: a and b differ by less than 0.1 pp and by less than the 95 % interval at 3 of 3 values of x"
        )

    def test_so_is_a_fail(self):
        found = self.judged(self.AHEAD, self.BELOW, self.BELOW)
        assert (found.verdict, found.reason) == (FAIL, "they hardly differ")
        assert "a tie" in found.note
        assert "at 2 of 3" in found.because("for another reason").note

    def test_nothing_between_them_at_all_is_one(self):
        assert "at 3 of 3" in self.judged((0, 0, 0), (0, 0, 0), (0, 0, 0)).note

    def test_a_majority_beyond_the_noise_decides(self):
        assert self.judged(self.AHEAD, self.AHEAD, self.BELOW).note == ""

    def test_a_small_difference_that_is_sure_is_none(self):
        sure = (0.05, 0.05, 0.05)
        assert self.judged(sure, sure, self.BELOW).note == ""

    def test_who_is_behind_for_sure_does_not_tie(self):
        found = self.judged((-2.0, -2.0, -2.0), self.NOISE, self.NOISE)
        assert (found.verdict, found.note) == (FAIL, "")

    def test_what_is_no_percentage_ties_within_a_thousandth(self):
        assert self.judged((0.05, 0, 0), (0.05, 0, 0), points=False).note
        assert not self.judged((0.4, 0.1, 0), (0.4, 0.1, 0), points=False).note

    def test_the_conditions_of_a_claim_keep_their_notes(self):
        tie = self.judged(self.NOISE, self.NOISE)
        both = judge.together([tie, judge.at_least(2, 1), tie])
        assert (both.verdict, both.note) == (PASS, tie.note)


def test_a_note_is_for_every_verdict():
    noted = judge.at_least(2, 1).noted("one").noted("two").because("x")
    assert (noted.verdict, noted.reason, noted.note) == (PASS, "", "one; two")


class TestNotReproducible:
    low, high = judge.at_least(0, 1), judge.at_least(2, 1)

    def test_it_is_for_a_fail(self):
        assert self.low.not_reproducible("by hand: 0").calculation == "by hand: 0"
        assert self.high.not_reproducible("by hand: 0") == self.high
        assert judge.not_reached("why").not_reproducible("by hand: 0").calculation == ""

    def test_every_condition_that_fails_must_be(self):
        shown = self.low.not_reproducible("by hand: 0")
        assert judge.together([shown, self.high, shown]).calculation == "by hand: 0"
        assert judge.together([shown, self.low]).calculation == ""
        assert judge.together([self.high]).calculation == ""

    def test_of_the_first_reading_it_is_the_claims_own(self):
        shown = self.low.not_reproducible("by hand: 0")
        assert judge.by_reading({"A": shown, "B": self.high}).calculation == "by hand: 0"
        assert judge.by_reading({"B": self.high, "A": shown}).calculation == ""

    def test_a_part_that_no_contradiction_predicts_fails(self):
        beyond = self.low.beyond_prediction()
        assert judge.together([beyond, self.low]).unpredicted
        assert not self.high.beyond_prediction().unpredicted


class TestReadings:
    def test_the_first_is_the_claims_own(self):
        own, other = judge.at_least(0, 1).because("low"), judge.at_least(2, 1)
        found = judge.by_reading({"mode A": own, "mode B": other})
        assert (found.verdict, found.measured, found.reason) == (FAIL, 0, "low")
        assert found.readings == (("mode A", own), ("mode B", other))

    def test_there_is_one(self):
        with pytest.raises(ValueError, match="at least one"):
            judge.by_reading({})

    def test_one_that_only_a_search_found_is_not_the_first(self):
        own, found = judge.at_least(0, 1), judge.at_least(2, 1).reachable()
        both = judge.by_reading({"A": own, "B": found})
        assert (both.verdict, both.searched) == (FAIL, False)
        with pytest.raises(ValueError, match='"B" is only reachable'):
            judge.by_reading({"B": found, "A": own})

    def test_they_come_last(self):
        found = judge.by_reading({"A": judge.at_least(2, 1)})
        with pytest.raises(ValueError, match="each reading"):
            judge.together([found, found])


@pytest.mark.parametrize(("degrees", "table"), [(1, 12.706), (2, 4.303), (4, 2.776), (19, 2.093)])
def test_students_t_is_that_of_the_tables(degrees, table):
    assert student_t(degrees) == pytest.approx(table, abs=5e-4)


def test_an_interval_by_hand():
    # Mean 3, standard deviation sqrt(2.5): 2.776 * 1.5811 / sqrt(5) = 1.963.
    assert half_width(pl.Series([1, 2, 3, 4, 5, None])) == pytest.approx(1.963, abs=1e-3)
    assert half_width(pl.Series([1.0])) == math.inf
    table = pl.DataFrame({"x": ["p"] * 5 + ["q"], "y": [1, 2, 3, 4, 5, 7]})
    means = replica_means(table, ["x"], ["y"])
    assert means["y"].to_list() == [3, 7]
    assert means["y_ci95"][0] == pytest.approx(1.963, abs=1e-3)
    assert means["y_ci95"][1] is None
