"""Distributions written for peers: strictly ascending, with the mean they had."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowyard.interchange import cdf


def mean(points):
    return sum((x + y) / 2 * (q - p) for (x, p), (y, q) in pairwise(points)) / 100


WEB_SEARCH = [
    (0, 0), (10000, 15), (20000, 20), (30000, 30), (50000, 40), (80000, 53), (200000, 60), (1000000, 70),
    (2000000, 80), (5000000, 90), (10000000, 97), (30000000, 100),
]  # fmt: skip


def test_cdfs_in_both_dialects():
    assert cdf.write(WEB_SEARCH, percent=True).splitlines()[:2] == ["0 0", "10000 15"]
    assert cdf.write(WEB_SEARCH, percent=False).splitlines()[1:3] == ["10000 0.15", "20000 0.2"]
    assert cdf.write(WEB_SEARCH, percent=False).splitlines()[-1] == "30000000 1"


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(0, 100)), min_size=1, max_size=12),
)
@settings(derandomize=True, max_examples=200, deadline=None)
def test_written_cdfs_ascend_strictly_and_keep_their_mean(steps):
    points, size, share = [], 0, 0
    for more, percent in steps:
        size += 1000 * (more // 2)
        share = min(share + percent, 100)
        points.append((size + 10, share))
    points.append((size + 5010, 100))
    points = list(dict.fromkeys((size, float(share)) for size, share in points))
    rows = [line.split() for line in cdf.write(points, percent=True).splitlines()]
    written = [(int(size), float(share)) for size, share in rows]
    # The generator of HPCC refuses anything else.
    assert written[0][1] == 0
    assert written[-1][1] == 100
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(written))
    first = points[0][0] * points[0][1] / 100
    assert mean(written) == pytest.approx(first + mean(points), abs=2)


def test_a_measured_cdf_is_the_share_that_is_no_larger():
    assert cdf.measured([5, 1, 1, 9]) == [(1, 50.0), (5, 75.0), (9, 100.0)]
    many = cdf.measured(range(1, 100_001))
    assert len(many) == cdf.MEASURED_MAX
    assert all(share == pytest.approx(size / 1000) for size, share in many)
