"""Chapter 4: Front-Back against Divide, figures 4.3, 4.4 and 4.6; its lemmas, theorem 4.1 and conjecture 4.1 by search.

A model of segments on paths of given rates: no packets, no losses. 200,000 segments go over two or four paths that are
believed to send 10 segments a second each; one of them sends by some error more or less.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Tables
from flowyard_papers.mp import _front_back_judges as lemmas
from flowyard_papers.mp._divide_check import falls_under_all
from flowyard_papers.mp._exact import exact
from flowyard_papers.mp._transfers import (
    ERRORS,
    RATE,
    ROUNDINGS,
    SEGMENTS,
    SIZES,
    SMALLER,
    TRACES,
    tables,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


def _of(table: pl.DataFrame, algorithm: str, column: str, **where: Any) -> dict[Any, Any]:
    """A column of an algorithm's rows by error, or at one error by size."""
    rows = table.filter(algorithm=algorithm, **where)
    by = "segments" if "error_percent" in where else "error_percent"
    return dict(rows.sort(by).select(by, column).rows())


def _disorder(tables: Tables) -> Judgement:
    ours, theirs = (_of(tables["errors"], name, "context_switches") for name in ("FB2", "Divide2"))
    wrong = [error for error in ERRORS if ours.get(error) != 0 or (theirs.get(error, 0) > 0) != (error != 0)]
    kept = f"no switch under FB2, some under Divide2 where estimates err: {len(ERRORS) - len(wrong)} of {len(ERRORS)}"
    found = judge.judged(not wrong, kept, f"all {len(ERRORS)}")
    return found.because(f"not so at {', '.join(map(str, wrong))} %")


def _grows(values: Sequence[int]) -> bool:
    return all(a <= b for a, b in pairwise(values))


def _by_size_said(values: Sequence[int]) -> str:
    """Values by size: their range, and how often a larger size has fewer."""
    falls = sum(b < a for a, b in pairwise(values))
    return f"{min(values)} to {max(values)} switches, fewer at {falls} of {len(values) - 1} steps of the size"


def _by_error(table: pl.DataFrame, name: str) -> Judgement:
    """From 0 to either side it never falls."""
    of = _of(table, name, "context_switches")
    up, down = (
        [of[error] for error in ERRORS if error >= 0],
        [of[error] for error in reversed(ERRORS) if error <= 0],
    )
    falls = [f"from {a} to {b}" for side in (up, down) for a, b in pairwise(side) if b < a]
    steps = len(up) + len(down) - 2
    said = f"switches: {up[0]} at 0 %, {down[-1]} at -90 %, {up[-1]} at +100 %, fewer at {len(falls)} of {steps} steps"
    found = judge.judged(not falls, said, "never falls to either side")
    return found.because(f"it falls {', '.join(falls)} where splits come out even")


def _disorder_of_divide(tables: Tables) -> Judgement:
    return judge.by_reading(
        {reading: _disorder_of(tables, name) for reading, name in _roundings("Divide2").items()}
    )


def _roundings(name: str) -> dict[str, str]:
    """The name of a Divide by reading of how an odd rest is divided."""
    return {SMALLER: name} | {reading: f"{name}, {reading}" for reading in ROUNDINGS}


def _disorder_of(tables: Tables, name: str) -> Judgement:
    of = _of(tables["errors"], name, "context_switches")
    allowed = {0: (0, 0), 25: (5, 5), 50: (6, 6), -50: (8, 9), -90: (13, 15)}
    values = [
        judge.between(of.get(error), *bounds).called(f"switches at {error} %")
        for error, bounds in allowed.items()
    ]
    return judge.together([_by_error(tables["errors"], name), *values])


def _finish(tables: Tables) -> Judgement:
    """Against both versions of Divide2; FB2 by whole segments is up to one segment of the slower path late."""
    ours = _of(tables["errors"], "FB2", "finish_s")
    wrong = []
    for error in ERRORS:
        rate = float(RATE) * (100 + error) / 100
        late = ours[error] - SEGMENTS / (float(RATE) + rate)
        if not -1e-6 <= late <= 1 / min(rate, float(RATE)) + 1e-6:
            wrong.append(f"{error} %: {late:g} s late")
    exactly = judge.judged(
        not wrong, f"FB2: {len(ERRORS) - len(wrong)} of {len(ERRORS)} within a segment", f"all {len(ERRORS)}"
    )
    readings = {}
    for reading, name in (("Divide2 goes on", "Divide2"), ("Divide2 once", "Divide2, once")):
        theirs = _of(tables["errors"], name, "finish_s")
        sooner = [error for error in ERRORS if theirs[error] < ours[error] - 1e-6]
        said = f"Divide2 sooner than FB2 at {len(sooner)} of {len(ERRORS)} errors"
        never = judge.judged(not sooner, said, "at none").because(
            f"it is sooner at {', '.join(map(str, sooner))} %"
        )
        half = judge.within(ours[-50], 13_333, absolute=1).measured_in("s").called("FB2 at -50 %")
        readings[reading] = judge.together([exactly.because("; ".join(wrong[: judge.SHOWN])), half, never])
    return judge.by_reading(readings)


def _once(tables: Tables) -> Judgement:
    ours, once = (_of(tables["errors"], name, "finish_s") for name in ("FB2", "Divide2, once"))
    rows = [
        (
            f"{error} %",
            str(exact(once[error])),
            str(exact(max(10_000, SEGMENTS / 2 / (float(RATE) * (100 + error) / 100)))),
        )
        for error in ERRORS
    ]
    return judge.together(
        [
            judge.all_exactly(rows, "finish times"),
            judge.within(once[-50], 20_000, relative=1e-9).measured_in("s").called("one division at -50 %"),
            judge.within(once[-50] / ours[-50], 1.5, relative=1e-4).called("that over FB2's time"),
        ]
    )


def _by_size(tables: Tables) -> Judgement:
    of = _of(tables["sizes"], "Divide2", "context_switches", error_percent=50)
    zero = {*_of(tables["sizes"], "FB2", "context_switches", error_percent=50).values()}
    values = [of[size] for size in SIZES]
    return judge.together(
        [
            judge.judged(_grows(values), f"Divide2: {_by_size_said(values)}", "never falls"),
            judge.between(values[0], 3, 7).called(f"with {SIZES[0]:,} segments"),
            judge.between(values[-1], 3, 7).called(f"with {SIZES[-1]:,} segments"),
            judge.judged(zero == {0}, f"FB2: {max(zero)} switches at most", "0"),
        ]
    )


def _four_paths(tables: Tables) -> Judgement:
    points = [
        (
            f"{error} %",
            _of(tables["errors"], "FB4", "context_switches")[error],
            _of(tables["errors"], "Divide4", "context_switches")[error],
        )
        for error in ERRORS
    ]
    for error in (-50, 50):
        ours, theirs = (
            _of(tables["sizes"], name, "context_switches", error_percent=error) for name in ("FB4", "Divide4")
        )
        points += [(f"{size} segments at {error} %", ours[size], theirs[size]) for size in SIZES]
    more = [f"{where}: FB4 {a}, Divide4 {b}" for where, a, b in points if a > b]
    less = sum(a < b for _, a, b in points)
    found = judge.judged(
        not more and less > len(points) / 2,
        f"more at {len(more)}, less at {less} of {len(points)} points",
        "more at none, less at most",
    )
    return found.because("; ".join(more[: judge.SHOWN]))


def _divide_4_grows(tables: Tables) -> Judgement:
    """By each rounding: what falls under all of them is no matter of rounding."""
    readings = {}
    fewer, every = falls_under_all(40, 50, SEGMENTS, RATE)
    for reading, name in _roundings("Divide4").items():
        found = _grows_by(tables, name)
        readings[reading] = found.not_reproducible(
            f"flowyard_papers.mp._divide_check.falls_under_all: under {fewer} of {every} orders and roundings an "
            "independent calculation has fewer switches at +50 than at +40 %"
        )
    return judge.by_reading(readings)


def _grows_by(tables: Tables, name: str) -> Judgement:
    checks = [_by_error(tables["errors"], name)]
    for error in (-50, 50):
        of = _of(tables["sizes"], name, "context_switches", error_percent=error)
        values = [of[size] for size in SIZES]
        checks.append(judge.judged(_grows(values), f"at {error:+} %: {_by_size_said(values)}", "never falls"))
    return judge.together(checks)


def draw(tables: Tables) -> "Picture":
    """Figures 4.3 (both panels), 4.4 and 4.6."""
    figure, (disorder, finish, size, four) = style.panels(2, 2)
    for panel, column, names in (
        (disorder, "context_switches", ("FB2", "Divide2")),
        (finish, "finish_s", ("FB2", "Divide2", "Divide2, once")),
        (four, "context_switches", ("FB4", "Divide4")),
    ):
        for place, name in enumerate(names):
            rows = tables["errors"].filter(algorithm=name).sort("error_percent")
            panel.plot(rows["error_percent"], rows[column], marker=style.MARKERS[place], label=name)
        panel.set(
            xlabel="error of a path's rate (%)",
            ylabel="context switches" if panel is not finish else "finish time (s)",
        )
    for place, name in enumerate(("FB2", "Divide2", "FB4", "Divide4")):
        rows = tables["sizes"].filter(algorithm=name, error_percent=50).sort("segments")
        size.plot(rows["segments"], rows["context_switches"], marker=style.MARKERS[place], label=name)
    size.set(xscale="log", xlabel="segments, error +50 %", ylabel="context switches")
    for panel, title in (
        (disorder, "4.3, disorder"),
        (finish, "4.3, finish time"),
        (size, "4.4 and 4.6 (b)"),
        (four, "4.6 (a)"),
    ):
        panel.set_title(title)
        panel.legend()
    return figure


FIGURE = Figure(
    id="MP-F4.3",
    title="Figures 4.3, 4.4 and 4.6, theorem 4.1: Front-Back against Divide",
    tables=tables,
    claims={
        "MP-L4.1.a": lemmas.switches_are_pieces,
        "MP-L4.1.b": lemmas.worst_case,
        "MP-L4.2.a": lemmas.never_switches,
        "MP-TH4.1.a": lemmas.optimal_for_two,
        "MP-C4.1.a": lemmas.optimal_for_more,
        "MP-C4.1.b": lemmas.fewest_switches,
        "MP-F4.3.a": _disorder,
        "MP-F4.3.b": _disorder_of_divide,
        "MP-F4.3.c": _finish,
        "MP-F4.3.d": _once,
        "MP-F4.4.a": _by_size,
        "MP-F4.6.a": _four_paths,
        "MP-F4.6.b": _divide_4_grows,
        "MP-F4.5.a": lemmas.first_groups,
        "MP-F4.5.b": lemmas.later_groups,
    },
    draw=draw,
    quick="20 of 200 draws of varying rates, no steady rates of 4 segments/s",
    needs={"traces": Needs(TRACES, by=("algorithm",), column="draw")},
    assumed=(
        "A path claims a segment when it begins to send it. Ranges are divided by whole segments, halves to the first.",
        "Divide splits what is left by the estimates, which never change; Front-Back groups by what was delivered. "
        '"Divide2 splits the unfinished portion" (4.3): all segments that have not begun at that instant, of which the '
        "path that has finished takes the smaller half; readings have the larger half, and a division after the other "
        "path's next segment if both are free at once.",
        "A context switch is a piece more than there are paths; what a path sends on in its direction is one piece.",
    ),
)
