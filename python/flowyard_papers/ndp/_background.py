"""Judges of figure 9: a verdict for each reading of the place of its background traffic."""

from collections.abc import Callable
from math import nan

from flowyard.papers import judge
from flowyard.papers.figure import Judgement, Tables
from flowyard_papers.ndp._scheduler import CONTROL_BYTES, PACKET_BYTES

LOADS = (0.5, 0.8)
# Where background is: on all servers, or on some that have nothing else, and the others in permutations or at random.
EVERYWHERE, APART, RANDOM = "all servers", "own servers, permutation", "own servers"
# The text demands the first: servers for background "are used only to run background traffic" (section 5).
READINGS = (APART, EVERYWHERE)
NAMES = {EVERYWHERE: EVERYWHERE, APART: APART, RANDOM: f"{RANDOM}, random matrix"}
SPLIT, SMALL, LARGE = 100_000, "below 100 KB", "100 KB and more"
RANGES = (SMALL, LARGE)
# Of the web search flows: 2500 x 1.711 MB a second over 250 links of 1 Gbps.
OWN_LOAD = 0.137
# What answers add to a load, as every server sends as much as it receives: an ACK and a PULL for each packet.
ANSWERS = 2 * CONTROL_BYTES / PACKET_BYTES
# Median slowdown of the lower range, by load.
LIMITS = {0.5: 2.0, 0.8: 3.0}


def _missing(tables: Tables, where: str) -> str:
    """Reasons not to judge a reading: no runs, not all of them, flows that did not end."""
    runs = tables["runs"].filter(on=where)
    if runs.is_empty():
        return "this reading has not been run"
    if set(runs.select("background", "range").iter_rows()) != {(b, r) for b in LOADS for r in RANGES}:
        return "not both loads and ranges have been run"
    return "" if (runs["flows"] == runs["completed"]).all() else "not all flows have ended"


def by_reading(judgement: Callable[[Tables, str], Judgement]) -> Callable[[Tables], Judgement]:
    """A verdict for each place where background may be."""

    def of_reading(tables: Tables, where: str) -> Judgement:
        if missing := _missing(tables, where):
            return judge.not_reached(missing)
        return judgement(tables, where).noted(
            "; ".join(filter(None, (unsteady(tables, where, load) for load in LOADS)))
        )

    return lambda tables: judge.by_reading({where: of_reading(tables, where) for where in READINGS})


def _offered(tables: Tables, where: str, load: float) -> float:
    """Offered load of a server's link where background is a load; without the endless flows where it is not."""
    offered = tables["loads"].filter(on=where, background=load, replica=0)["offered"].drop_nulls()
    return float(sum(offered.to_list()))


def unsteady(tables: Tables, where: str, load: float) -> str:
    """That links are offered more than they carry, with answers; empty if they are not."""
    offered = _offered(tables, where, load)
    all_in_all = offered * (1 + ANSWERS)
    if all_in_all < 1:
        return ""
    return (
        f"no steady state at background {load:g}: links are offered {offered:.3f}, {all_in_all:.2f} with answers, and "
        "the length of the run decides"
    )


def _mean(tables: Tables, where: str, load: float, name: str, column: str) -> float:
    value = tables["runs"].filter(on=where, background=load, range=name)[column].mean()
    return value if isinstance(value, float) else nan


def fast(tables: Tables, where: str) -> Judgement:
    """Flows of the lower range have a median slowdown within the limits."""
    found = judge.together(
        judge.at_most(_mean(tables, where, load, SMALL, "slowdown_p50"), limit).called(
            f"median slowdown at background {load:g}"
        )
        for load, limit in LIMITS.items()
    )
    if where == EVERYWHERE:
        fair = ", ".join(f"{1 / (1 - load - OWN_LOAD):.3g}" for load in LOADS)
        return found.because(
            f"even shares of receivers' links alone make flows {fair} times as long on average"
        )
    random = ", ".join(f"{_mean(tables, RANDOM, load, SMALL, 'slowdown_p50'):.3g}" for load in LOADS)
    return found.because(f"with a random matrix in place of permutations {random}")


def slower_under_load(tables: Tables, where: str) -> Judgement:
    """No percentile is smaller beside the heavier background."""
    rows = tables["percentiles"].filter(on=where)
    rows = rows.select("background", "replica", "range", "percentile", "fct_ms")
    light, heavy = (rows.filter(background=load).drop("background") for load in LOADS)
    pairs = heavy.rename({"fct_ms": "at_0.8"}).join(
        light.rename({"fct_ms": "at_0.5"}), on=["replica", "range", "percentile"]
    )
    return judge.together(
        judge.not_less(pairs.filter(range=name), "at_0.8", "at_0.5", x="percentile") for name in RANGES
    )


def larger_take_longer(tables: Tables, where: str) -> Judgement:
    """Flows of the upper range take longer on average."""
    found = []
    for load in LOADS:
        small, large = (_mean(tables, where, load, name, "fct_mean_ms") for name in RANGES)
        found.append(judge.judged(large > small, f"{large:.4g} ms, {small:.4g} ms", "the former is larger"))
    return judge.together(found)
