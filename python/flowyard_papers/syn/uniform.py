"""Figures 3 and 5: packets of 1500 B between all servers; fairness, mean FCT and its variation over load.

One set of runs serves both figures, and with them the paper's headline (claim P9).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Plan
from flowyard_papers.syn import _completion as completion
from flowyard_papers.syn import _judges as judges
from flowyard_papers.syn import _rack as rack
from flowyard_papers.syn._judges import Judge
from flowyard_papers.syn._pictures import curves
from flowyard_papers.syn._rack import ASY, DOWN, MAX_MIN, MMF, OCF, PASSES, SRJF

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

QUICK_LOADS = (0.05, 0.1, 0.2, 0.4, 0.5, 0.7, 0.8, 0.9, 0.95)
JUDGED, ORDERS, RATED = (MMF, ASY), (OCF, SRJF), (MMF, ASY, DOWN)
EVERY_MS = 1
# Up to here means are alike (F5.a).
LOW = 0.7
FLOWS_INDEX, PAIRS_INDEX = "jain_flows", "jain_pairs"
# Why ASY is less fair, and its times vary more.
STARVED = "pairs outside every maximum matching of a sparse R get next to nothing until it changes (SYN-X4)"
# Readings of what is fair, and of the normalisation.
OF_FLOWS, OF_PAIRS = "throughput of flows of 10 packets or more", "rates of pairs in 1 ms"
BOTH, ONLY_DOWN = "ASY scales both ways", "ASY scales down only"


def _window(scale: Scale) -> rack.Window:
    return scale.pick(rack.Window(50, 60, 0, 30), rack.Window(500, 2000, 21_000, 100))


def _rated(scale: Scale) -> rack.Window:
    return scale.pick(rack.Window(20, 30, 0, 0), rack.Window(100, 150, 0, 0))


def plans(scale: Scale) -> dict[str, Plan]:
    """All systems at each load; and shorter runs that sample the rates of flows."""
    loads, window = scale.pick(QUICK_LOADS, rack.LOADS), _window(scale)
    sampled = {"samples": {"every": f"{EVERY_MS}ms", "links": [], "flow_limit": 1_000_000}}
    return {
        "paper": rack.plan("uniform", JUDGED, loads, window, replicas=scale.pick(2, 10)),
        "orders": rack.plan("uniform", ORDERS, loads, window, replicas=2),
        "scaled_down": rack.plan("uniform", [DOWN], loads, window, replicas=scale.pick(1, 3)),
        "max_min": rack.plan("uniform", [MAX_MIN], loads, window, replicas=1),
        "passes": rack.plan(
            "uniform", [PASSES], [load for load in loads if load <= LOW], window, replicas=scale.pick(1, 3)
        ),
        "rates": rack.plan("rates", RATED, loads, _rated(scale), replicas=scale.pick(1, 5), observe=sampled),
    }


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """A row a run, and the means; the same of the rates of pairs."""
    window = _window(scale)
    runs = pl.concat(
        [
            completion.runs(sweeps[name], window)
            for name in ("paper", "orders", "scaled_down", "max_min", "passes")
        ]
    )
    pairs = completion.pair_fairness(sweeps["rates"], _rated(scale), EVERY_MS * 10**9)
    keys = [*completion.KEYS, "unstable"]
    return {
        "runs": runs,
        "points": replica_means(runs, keys, completion.VALUES),
        "pairs": pairs,
        "pair_points": replica_means(pairs, completion.KEYS, ["pair_windows", PAIRS_INDEX]),
    }


def _fairness(one: Callable[[pl.DataFrame, str, str], Judgement]) -> Judge:
    """By what is fair, and by the normalisation."""
    return lambda tables: judge.by_reading(
        {
            OF_FLOWS: one(tables["runs"], FLOWS_INDEX, ASY),
            OF_PAIRS: one(tables["pairs"], PAIRS_INDEX, ASY),
            f"{OF_FLOWS}, {ONLY_DOWN}": one(tables["runs"], FLOWS_INDEX, DOWN),
            f"{OF_PAIRS}, {ONLY_DOWN}": one(tables["pairs"], PAIRS_INDEX, DOWN),
        }
    )


def _normalised(one: Callable[[pl.DataFrame, str], Judgement], *others: str) -> Judge:
    """By the normalisation, and by other readings of ASY."""
    readings = {BOTH: ASY, ONLY_DOWN: DOWN} | {name: name for name in others}
    return lambda tables: judge.by_reading(
        {reading: one(tables["runs"], asy) for reading, asy in readings.items()}
    )


def _differences(runs: pl.DataFrame, index: str, asy: str) -> pl.DataFrame:
    """ASY's index less that of SYN: load, replica, difference."""
    wide = runs.filter(pl.col("system").is_in([MMF, asy])).pivot(
        "system", index=["load", "replica"], values=index
    )
    if not {MMF, asy} <= set(wide.columns):
        return pl.DataFrame(schema={"load": pl.Float64, "replica": pl.Int64, "difference": pl.Float64})
    return wide.select("load", "replica", difference=pl.col(asy) - pl.col(MMF)).drop_nulls()


def _less_fair(runs: pl.DataFrame, index: str, asy: str) -> Judgement:
    """F3.a: at both of the low loads."""
    means = dict(
        _differences(runs, index, asy)
        .filter(pl.col("load") < 0.2)
        .group_by("load")
        .agg(pl.col("difference").mean())
        .sort("load")
        .iter_rows()
    )
    if missing := [load for load in (0.05, 0.1) if load not in means]:
        return judge.not_reached(f"no runs at load {missing[0]:g}")
    said = ", ".join(f"{means[load]:+.4f} at {load:g}" for load in (0.05, 0.1))
    holds = all(means[load] < 0 for load in (0.05, 0.1))
    return judge.judged(holds, f"ASY - SYN: {said}", "below 0 at both").because("ASY is the fairer one there")


def _near(runs: pl.DataFrame, index: str, asy: str) -> Judgement:
    """F3.b: above load 0.2."""
    means = _differences(runs, index, asy).filter(pl.col("load") > 0.2)
    if means.is_empty():
        return judge.not_reached("no runs above load 0.2")
    worst = (
        means.group_by("load")
        .agg(pl.col("difference").mean())
        .sort(pl.col("difference").abs(), "load")
        .row(-1, named=True)
    )
    found = judge.at_most(abs(worst["difference"]), 0.03)
    why = f": {STARVED}" if asy == ASY and worst["difference"] < 0 else ""
    return found.because(f"ASY - SYN is {worst['difference']:+.3f} at load {worst['load']:g}{why}")


def _fair(runs: pl.DataFrame, index: str, asy: str) -> Judgement:
    """F3.c: both are fair above load 0.2."""
    own = runs.filter(pl.col("load") > 0.2)
    if missing := judges.lacking(own, (MMF, asy)):
        return missing
    found = []
    for system in (MMF, asy):
        load, worst = min(judges.means(own, index)[system].items(), key=lambda item: item[1])
        found.append(judge.at_least(worst, 0.95).because(f"{system} at load {load:g}"))
    return judge.together(found)


def _nearer(runs: pl.DataFrame, index: str, asy: str) -> Judgement:
    """F3.d: the difference does not grow from load 0.05 to 0.4."""
    own = _differences(runs, index, asy).filter(pl.col("load") <= 0.4)
    return judges.trend(own.with_columns(pl.col("difference").abs()), "difference", rising=False)


def _same_mean(runs: pl.DataFrame, asy: str) -> Judgement:
    """F5.a: at low loads."""
    return judges.alike(runs.filter(pl.col("load") <= LOW), MMF, asy, "fct", 0.8, 1.25)


def _shorter(runs: pl.DataFrame, asy: str) -> Judgement:
    """F5.b: from load 0.8 on."""
    return judges.ordered(runs.filter(pl.col("load") >= 0.8), [(MMF, asy)], "fct")


def _same_spread(runs: pl.DataFrame, asy: str) -> Judgement:
    """F5.c."""
    return judges.alike(runs, asy, MMF, "fct_cv", 0.7, 1.43)


def _same_throughput(runs: pl.DataFrame, asy: str) -> Judgement:
    """F5.d: of what arrived during the window, in percent of SYN's."""
    if missing := judges.lacking(judges.compared(runs, (MMF, asy)), (MMF, asy)):
        return missing
    by_load = judges.ratios(runs, asy, MMF, "carried")
    load, worst = max(by_load.items(), key=lambda item: abs(item[1] - 1))
    found = judge.at_most(100 * abs(worst - 1), 1)
    found = found.because(f"%, at load {load:g} ASY carries {worst:.4f} of what SYN does")
    return judges.noted(found, judges.compared(runs, (MMF, asy)))


def _headline(tables: Tables) -> Judgement:
    """P9: throughput, fairness and FCT."""

    def all_three(asy: str) -> Judgement:
        runs = tables["runs"]
        return judge.together(
            [_near(runs, FLOWS_INDEX, asy), _same_mean(runs, asy), _same_throughput(runs, asy)]
        )

    return judge.by_reading({BOTH: all_three(ASY), ONLY_DOWN: all_three(DOWN)})


def draw(tables: Tables) -> "Picture":
    """Figure 3 by both definitions above, figures 5a and 5b below."""
    picture, (flows, pairs, mean, spread) = style.panels(2, 2)
    systems = (*JUDGED, *ORDERS, DOWN, MAX_MIN)
    curves(flows, tables["points"], FLOWS_INDEX, systems, log=False)
    rates = tables["pair_points"].with_columns(unstable=pl.lit(value=False))
    curves(pairs, rates, PAIRS_INDEX, RATED, log=False)
    curves(mean, tables["points"], "fct", systems, log=True)
    curves(spread, tables["points"], "fct_cv", systems, log=False)
    flows.set(title="3: throughput of long flows", ylabel="Jain's index", ylim=(0, 1.02))
    pairs.set(title="3: rates of pairs in 1 ms", ylabel="Jain's index", ylim=(0, 1.02))
    mean.set(title="5a: mean", ylabel="normalised FCT")
    spread.set(title="5b: coefficient of variation", ylabel="of the normalised FCT")
    picture.legend(*mean.get_legend_handles_labels(), loc="outside lower center", ncols=6)
    return picture


_PAPER_NEEDS = [
    Needs(10, by=completion.KEYS, least={"flows": 20_000}, where={"system": name}) for name in (MMF, ASY)
]
_DOWN_NEEDS = [
    Needs(3, by=completion.KEYS, where={"system": DOWN}, reading=reading)
    for reading in (ONLY_DOWN, f"{OF_FLOWS}, {ONLY_DOWN}")
]
_PASSES_NEEDS = Needs(3, by=completion.KEYS, where={"system": PASSES}, reading=PASSES)
_PAIRS_NEEDS = [Needs(5, by=completion.KEYS, reading=name) for name in (OF_PAIRS, f"{OF_PAIRS}, {ONLY_DOWN}")]
FIGURE = Figure(
    id="SYN-F5",
    title="Figures 3 and 5: fairness and FCT with packets of 1500 B, uniform traffic",
    plans=plans,
    tables=tables,
    claims={
        "SYN-F3.a": _fairness(_less_fair),
        "SYN-F3.b": _fairness(_near),
        "SYN-F3.c": _fairness(_fair),
        "SYN-F3.d": _fairness(_nearer),
        "SYN-F5.a": _normalised(_same_mean, PASSES),
        "SYN-F5.b": _normalised(_shorter),
        "SYN-F5.c": _normalised(_same_spread),
        "SYN-F5.d": _normalised(_same_throughput),
        "SYN-P9": _headline,
    },
    draw=draw,
    needs={"runs": [*_PAPER_NEEDS, *_DOWN_NEEDS, _PASSES_NEEDS], "pairs": _PAIRS_NEEDS},
    assumed=(
        *rack.ASSUMED,
        completion.ASSUMED,
        "Figure 3: the index of the throughputs (size over FCT) of flows of at least 10 packets; or of the rates at "
        "which pairs of servers were served in windows of 1 ms, of pairs that had something to send throughout, "
        "over all windows of a run. Its packets have 1500 B.",
        "No claim is about OCF and SRJF, which have 2 seeds; ASY that scales down only has 3 and max-min fair rates "
        "one. In units of slots loads are the same but for a factor, as all packets fill one.",
        "A queue of ASY that becomes empty keeps the wait for its last packet. F5.a has a verdict also for a wait that "
        "passes, with 3 seeds; SYN-LATE has one for queues that have their rate until that packet has leaked out.",
    ),
)
