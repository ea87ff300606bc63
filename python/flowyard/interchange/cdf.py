"""Distributions of flow sizes as text: a size and its cumulative share a line.

Reading is the engine's, so that a file means the same in a scenario (`sizes.cdf.file`) and here. Written are
the two dialects that say what they are: HPCC's, in percent, whose generator wants both columns strictly
ascending and the first share 0, and TrafficGenerator's, in fractions, from 0 to 1.
"""

import itertools
import json
from collections.abc import Sequence
from typing import Any

from flowyard.errors import UserError
from flowyard.interchange import tables
from flowyard.interchange.text import Source, decimal

Point = tuple[int, float]

# What a step or a flat part of the curve is tilted by where it must ascend strictly.
TILT_PERCENT = 1e-6
# A stated mean may be off by that share, and is another quantity if it is so many times the points'.
MEAN_CLOSE = 0.02
MEAN_FAR = 2
# A line of a distribution, digits of a share, and how far the sum of all may be off.
SIZE_AND_SHARE, _PLACES, SUM_CLOSE = 2, 12, 1e-3
# Points of a curve that is measured.
MEASURED_MAX = 1000


def read(
    source: Source, dialect: str | None, packet_bytes: int | None, interpolation: str | None
) -> dict[str, Any]:
    """The engine's reading: points (bytes, percent), mean_bytes, dialect, interpolation."""
    from flowyard import _native

    if packet_bytes is not None and not 1 <= packet_bytes < 2**63:
        raise UserError(f"packet_bytes is {packet_bytes}; use 1 or more")
    try:
        text = _native.read_cdf(source.text, source.name, dialect, packet_bytes, interpolation)
    except ValueError as error:
        raise _density(source) or UserError(str(error)) from None
    found: dict[str, Any] = json.loads(text)
    return found


def _density(source: Source) -> UserError | None:
    """The error of shares of single sizes: they add up to one, where each of a CDF is the sum up to its size."""
    shares = []
    for _, words in tables.rows(source):
        number = decimal(words[-1], _PLACES) if len(words) == SIZE_AND_SHARE else None
        if number:
            shares.append(number[0] / 10**_PLACES)
    sums = list(itertools.accumulate(shares))
    whole = next((whole for whole in (1, 100) if sums and abs(sums[-1] - whole) <= whole * SUM_CLOSE), None)
    if whole is None or abs(shares[-1] - whole) <= whole * SUM_CLOSE:
        return None
    first = ", ".join(f"{share:.4g}" for share in sums[:3])
    what = (
        f"shares add up to {whole}: they are those of single sizes, and a CDF has those of all up to a size"
    )
    return source.wrong(0, f"{what}; write the sums, {first}{', ...' if len(sums) > 3 else ''}")


def compare_mean(source: Source, found: dict[str, Any], *, told: bool, notes: list[str]) -> None:
    """The mean that stands above the points of the dialect "homa", beside theirs.

    A mean far off is that of another unit, or the file is no distribution: refused, unless the user says what it is.
    """
    line, words = next(source.lines(), (0, []))
    if found["dialect"] != "homa" or len(words) != 1:
        return
    said, mean = float(words[0]), found["mean_bytes"]
    close = said * MEAN_CLOSE >= abs(said - mean)
    if not close and not told and not mean / MEAN_FAR <= said <= mean * MEAN_FAR:
        what = f"states a mean of {said:g}, but its points have {mean:g}"
        raise source.wrong(
            line,
            f"{what}: sizes may be packets (--packet-bytes), or these are no sizes; --dialect homa reads them",
        )
    if not close:
        notes.append(f"the file states a mean of {said:g}, its points have {mean:g} bytes, which counts")


def told_mean(found: dict[str, Any], notes: list[str]) -> None:
    """A note where the mean of the flows that are drawn is not that of the lines between the points."""
    points = found["points"]
    plain = points[0][0] * points[0][1] / 100
    for (low, share), (high, until) in itertools.pairwise(points):
        plain += (low + high) / 2 * (until - share) / 100
    if abs(plain - found["mean_bytes"]) > MEAN_CLOSE * found["mean_bytes"]:
        what = f"flows have whole bytes, one at least: their mean is {found['mean_bytes']:g} bytes"
        notes.append(f"{what}, that of the lines between the points {plain:g}")


def write(points: Sequence[Point], *, percent: bool) -> str:
    """The text of points (bytes, percent), linear in between."""
    lines = [
        f"{size} {share:.10g}" if percent else f"{size} {share / 100:.12g}"
        for size, share in _strictly(points)
    ]
    return "\n".join(lines) + "\n"


def _strictly(points: Sequence[Point]) -> list[Point]:
    """The same curve from 0 percent, strictly ascending in both columns: steps become a byte wide."""
    first, share = points[0]
    rising = list(points) if share == 0 else [(first, 0.0), *points]
    found: list[Point] = []
    for i, (size, share) in enumerate(rising):
        step = i + 1 < len(rising) and rising[i + 1][0] == size
        # The lower end of a step gives way to its upper end.
        size = max(size - step, 0)
        if found and size <= found[-1][0]:
            found[-1] = (found[-1][0], max(found[-1][1], share)) if len(found) > 1 else found[-1]
            continue
        if found and share <= found[-1][1]:
            share = found[-1][1] + TILT_PERCENT
        found.append((size, min(share, 100.0)))
    if found[-1][1] >= 100:
        # A flat end says nothing: the curve is complete where it first reaches 100.
        while len(found) > 1 and found[-2][1] >= 100 - TILT_PERCENT / 2:
            found.pop()
        found[-1] = (found[-1][0], 100.0)
    return found


def measured(sizes: Sequence[int]) -> list[Point]:
    """The distribution of drawn sizes: the share that is no larger, at up to so many of them."""
    ordered = sorted(sizes)
    count = len(ordered)
    at = sorted({(i + 1) * count // min(count, MEASURED_MAX) - 1 for i in range(min(count, MEASURED_MAX))})
    shares: dict[int, float] = {}
    for index in at:
        # Of equal sizes the last: all of them are no larger.
        shares[ordered[index]] = 100.0 * (index + 1) / count
    return list(shares.items())
