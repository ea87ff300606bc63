"""Curves of the papers' figures: bars no farther than values can be, and none of two replicas."""

from typing import Any

import polars as pl
import pytest

from flowyard.papers import style


def bars(rows, **options):
    """The lower and the upper end of each point's bar."""
    _, (axes,) = style.panels()
    style.curve(axes, rows, "x", "y", 0, **options)
    drawn: Any = axes.containers[0]
    segments = drawn.lines[2][0].get_segments()
    return [(float(low[1]), float(high[1])) for low, high in segments]


ROWS = pl.DataFrame({"x": [0, 1], "y": [99.0, 2.0], "y_ci95": [3.0, 5.0], "replicas": [3, 3]})


def test_bars_end_at_the_possible_values():
    assert bars(ROWS, within=(0, 100)) == [pytest.approx((96, 100)), pytest.approx((0, 7))]
    assert bars(ROWS) == [pytest.approx((96, 102)), pytest.approx((-3, 7))]


def test_two_replicas_have_no_bar():
    rows = ROWS.with_columns(replicas=pl.Series([2, 3]))
    assert bars(rows) == [pytest.approx((99, 99)), pytest.approx((-3, 7))]


def test_a_column_of_no_interval_draws_points_alone():
    rows = pl.DataFrame({"x": [0], "y": [1.0], "y_ci95": [None]})
    assert bars(rows) == [pytest.approx((1, 1))]
