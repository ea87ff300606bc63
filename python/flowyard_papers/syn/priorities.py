"""SYN, sections II-B and IV (claims P11, P12): priorities by the entries of R, and rates as a maximum of utility.

Classes of queues whose offered rates are doubled; and the limit of the normalisation as a problem of network utility
maximisation.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Tables
from flowyard_papers.syn import _sinkhorn as sinkhorn
from flowyard_papers.syn._sinkhorn import Matrix

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# Rounding of sums of rates.
ROUNDING = 1e-9
EACH, SUM, ONE = "each queue of a class at once", "a class in total", "one queue"
POSITIVE, SPARSE = "positive", "sparse"


def tables(scale: Scale) -> Tables:
    """A row a matrix."""
    return {
        "priorities": pl.DataFrame(list(_priorities(scale.pick(100, 1000)))),
        "limits": pl.DataFrame(list(_limits(scale.pick(5, 25)))),
    }


def _priorities(count: int) -> Iterator[dict[str, Any]]:
    """Effect on a class of doubling its entries of R."""
    random = np.random.default_rng(2)
    for number in range(count):
        for kind in (POSITIVE, SPARSE):
            offered = 1 - random.random((12, 12)) if kind == POSITIVE else sinkhorn.sparse(random, even=False)
            places = np.argwhere(offered > 0)
            one = random.integers(len(places))
            for case, some in (
                (EACH, random.random(len(places)) < 1 / 3),
                (ONE, np.arange(len(places)) == one),
            ):
                own = tuple(places[some].T)
                order = random.permutation(offered.size).tolist()
                doubled = offered.copy()
                doubled[own] *= 2
                before, after = (sinkhorn.normalised(one, order)[own] for one in (offered, doubled))
                yield {
                    "number": number,
                    "matrix": kind,
                    "class": case,
                    "queues": len(before),
                    "least_gain": float((after - before).min(initial=0)),
                    "gain_of_sum": float(after.sum() - before.sum()),
                }


def _limits(count: int) -> Iterator[dict[str, Any]]:
    """The limit of positive matrices: sums of 1, and log(w / r) of rank one."""
    random = np.random.default_rng(3)
    for number in range(count):
        for servers in (2, 5, 20, 120):
            offered = 1 - random.random((servers, servers))
            rates = sinkhorn.scaled(offered, 10_000, agreed=1e-14)
            logs = np.log(rates / offered)
            fit = logs.mean(1)[:, None] + logs.mean(0) - logs.mean()
            yield {
                "number": number,
                "servers": servers,
                "residual": float(np.abs(logs - fit).max()),
                "off_one": float(max(np.abs(rates.sum(axis) - 1).max() for axis in (0, 1))),
                "utility_lost": _lost(offered, rates, random),
            }


def _lost(offered: Matrix, rates: Matrix, random: np.random.Generator) -> float:
    """How much more utility a step to other admissible rates has: below 0 at an optimum.

    The utility is concave, so that no rates are better if no small step is. Steps that keep all sums: more for two
    queues, less for the two that share their rows and columns.
    """
    best = -np.inf
    for _ in range(100):
        (i, k), (j, m) = (random.choice(len(rates), 2, replace=False) for _ in range(2))
        step = np.zeros_like(rates)
        step[i, j] = step[k, m] = 1e-3 * rates[[i, k], [m, j]].min()
        step[i, m] = step[k, j] = -step[i, j]
        best = max(best, _utility(offered, rates + step) - _utility(offered, rates))
    return best


def _utility(offered: Matrix, rates: Matrix) -> float:
    return float(-(rates * (np.log(rates / offered) - 1)).sum())


def _priority(tables: Tables) -> Judgement:
    rows = tables["priorities"]
    if set(rows["class"]) != {EACH, ONE} or set(rows["matrix"]) != {POSITIVE, SPARSE}:
        return judge.not_reached("some kind of matrix or class is missing")
    found = {}
    # "By properly scaling each value in R(t)" (II-B): a queue's value, or all those of a class.
    for reading, case, column in (
        (ONE, ONE, "least_gain"),
        (SUM, EACH, "gain_of_sum"),
        (EACH, EACH, "least_gain"),
    ):
        own = rows.filter(pl.col("class") == case)
        lost = own.filter(pl.col(column) < -ROUNDING)
        said = f"{len(lost)} of {len(own)} lose, at most {max(0.0, -float(own[column].min())):.3g}"  # type: ignore[arg-type]
        sparse = lost.filter(matrix=SPARSE).height
        why = f"{len(lost) - sparse} on positive R, {sparse} on sparse R"
        if reading == EACH:
            why += (
                "; in R of 2 x 2 ones, doubling all but r_22 takes w_11 from 1/2 to 0.414, as it shares both its row "
                "and its column with queues of its class"
            )
        else:
            why += "; on sparse R 20 rounds and the filling stop short of the limit"
        found[reading] = judge.judged(lost.is_empty(), said, "none loses").because(why)
    return judge.by_reading(found)


def _utility_maximum(tables: Tables) -> Judgement:
    rows = tables["limits"]
    return judge.together(
        judge.at_most(float(rows[column].max()), most).called(name)  # type: ignore[arg-type]
        for column, name, most in (
            ("residual", "log(w/r) off u + v", 1e-9),
            ("off_one", "sums off 1", 1e-9),
            ("utility_lost", "utility lost to other rates", ROUNDING),
        )
    )


def draw(tables: Tables) -> "Picture":
    """Gain of classes whose offered rates are doubled, and the distance of the limit from a maximum."""
    picture, (gains, limits) = style.panels(1, 2)
    for place, (case, column, name) in enumerate(
        ((EACH, "least_gain", EACH), (EACH, "gain_of_sum", SUM), (ONE, "least_gain", ONE))
    ):
        gained = tables["priorities"].filter(pl.col("class") == case)[column].sort().to_numpy()
        gains.plot(
            gained, np.arange(1, len(gained) + 1) / len(gained), color=style.COLOURS[place], label=name
        )
    gains.axvline(0, color="#000000", linewidth=0.9, linestyle="--")
    gains.set(
        xscale="symlog",
        xlabel="gain in rate, least of a class",
        ylabel="share of matrices",
        title="R doubled",
    )
    gains.set_xscale("symlog", linthresh=1e-3)
    gains.legend(loc="upper left")
    own = tables["limits"].group_by("servers").agg(pl.col("residual", "off_one").max()).sort("servers")
    for place, (column, label) in enumerate((("residual", "log(w/r) off u + v"), ("off_one", "sums off 1"))):
        look: dict[str, Any] = {"color": style.COLOURS[place], "marker": style.MARKERS[place], "label": label}
        limits.loglog(own["servers"].to_numpy(), own[column].to_numpy(), **look)
    limits.axhline(1e-9, color="#000000", linewidth=0.9, linestyle="--")
    limits.set(xlabel="servers", ylabel="largest", ylim=(1e-17, 1e-8), title="The limit of positive R")
    limits.legend(loc="lower right")
    return picture


FIGURE = Figure(
    id="SYN-P11",
    title="Rate normalisation: priorities, and utility",
    tables=tables,
    claims={"SYN-P11": _priority, "SYN-P12": _utility_maximum},
    draw=draw,
    needs={"priorities": Needs(rows=4000), "limits": Needs(rows=100)},
    assumed=(
        "The procedure of SYN-P5. Priorities on positive R of 12 servers, where a class is a third of the queues or "
        "one queue, and on sparse R of 8 to 120 servers; the limit on positive R of 2 to 120 servers.",
    ),
    quick="fewer random matrices",
)
