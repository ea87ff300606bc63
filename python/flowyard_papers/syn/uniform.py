"""Figures 3 and 5: packets of 1500 B between all servers; fairness, mean FCT and its variation over load.

One set of runs serves figure 5, the readings of figure 3 by flows and by pairs of servers, and the order of the
policies (claim F4.i: III-F.1 "similar to the case of the incast traffic pattern"). Figure 3 itself is of random
matrices: see `_fairness`. The paper's headline (claim P9) is of both.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Plan
from flowyard_papers.syn import _completion as completion
from flowyard_papers.syn import _fairness as fairness
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
# Up to here the policies stand as under incast (F4.i).
RANKED = 0.9
FLOWS_INDEX, PAIRS_INDEX = "jain_flows", "jain_pairs"
# Readings of what is fair, and of the normalisation.
OF_MATRIX = "rates for a random R of the load's density"
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
        "orders": rack.plan("uniform", ORDERS, loads, window, replicas=scale.pick(2, 10)),
        "scaled_down": rack.plan("uniform", [DOWN], loads, window, replicas=scale.pick(1, 3)),
        "max_min": rack.plan("uniform", [MAX_MIN], loads, window, replicas=1),
        "passes": rack.plan(
            "uniform", [PASSES], [load for load in loads if load <= LOW], window, replicas=scale.pick(1, 3)
        ),
        "rates": rack.plan("rates", RATED, loads, _rated(scale), replicas=scale.pick(1, 5), observe=sampled),
    }


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """One row per run, and the means; the same of the rates of pairs, and of random matrices."""
    window = _window(scale)
    runs = pl.concat(
        [
            completion.runs(sweeps[name], window)
            for name in ("paper", "orders", "scaled_down", "max_min", "passes")
        ]
    )
    pairs = completion.pair_fairness(sweeps["rates"], _rated(scale), EVERY_MS * 10**9)
    loads = scale.pick(QUICK_LOADS, rack.LOADS)
    matrices = pl.DataFrame(list(fairness.random_matrices(loads, scale.pick(2, 10))))
    keys = [*completion.KEYS, "unstable"]
    return {
        "runs": runs,
        "points": replica_means(runs, keys, completion.VALUES),
        "pairs": pairs,
        "pair_points": replica_means(pairs, completion.KEYS, ["pair_windows", PAIRS_INDEX]),
        "matrices": matrices.sort(*completion.KEYS, "replica"),
        "matrix_points": replica_means(matrices, completion.KEYS, ["entries", fairness.RATES_INDEX]),
    }


def _fairness(one: Callable[[pl.DataFrame, str, str], Judgement]) -> Judge:
    """By what is fair, and by the normalisation."""
    return lambda tables: judge.by_reading(
        {
            OF_MATRIX: one(tables["matrices"], fairness.RATES_INDEX, ASY),
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


def _same_mean(runs: pl.DataFrame, asy: str) -> Judgement:
    """F5.a: at low loads."""
    return judges.alike(runs.filter(pl.col("load") <= LOW), MMF, asy, "fct", 0.8, 1.25)


def _shorter(runs: pl.DataFrame, asy: str) -> Judgement:
    """F5.b: from load 0.8 on."""
    return judges.ordered(runs.filter(pl.col("load") >= 0.8), [(MMF, asy)], "fct")


def _same_spread(runs: pl.DataFrame, asy: str) -> Judgement:
    """F5.c."""
    return judges.alike(runs, asy, MMF, "fct_cv", 0.7, 1.43)


def _ranked(tables: Tables) -> Judgement:
    """F4.i: the policies stand as under incast."""
    runs = tables["runs"].filter(pl.col("load") <= RANKED)
    return judges.ordered(runs, [(OCF, MMF), (MMF, SRJF)], "fct")


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
    runs = tables["runs"]
    by_matrix = fairness.near(tables["matrices"], fairness.RATES_INDEX, ASY)

    def all_three(asy: str, fair: Judgement) -> Judgement:
        parts = {
            "difference of Jain indices": fair,
            "ratio of mean FCTs": _same_mean(runs, asy),
            "difference of throughputs": _same_throughput(runs, asy).measured_in("%"),
        }
        return judge.together(part.called(name) for name, part in parts.items())

    found = {OF_MATRIX: all_three(ASY, by_matrix)}
    for name, asy in ((OF_FLOWS, ASY), (f"{OF_FLOWS}, {ONLY_DOWN}", DOWN)):
        found[name] = all_three(asy, fairness.near(runs, FLOWS_INDEX, asy))
    return judge.by_reading(found)


def draw(tables: Tables) -> "Picture":
    """Figure 3 by three definitions above, figures 5a and 5b below."""
    picture, (matrix, pairs, flows, mean, spread, legend) = style.panels(2, 3)
    systems = (*JUDGED, *ORDERS, DOWN, MAX_MIN)
    rates, shares = (
        tables[name].with_columns(unstable=pl.lit(value=False)) for name in ("pair_points", "matrix_points")
    )
    curves(matrix, shares, fairness.RATES_INDEX, JUDGED, log=False)
    curves(flows, tables["points"], FLOWS_INDEX, systems, log=False)
    curves(pairs, rates, PAIRS_INDEX, RATED, log=False)
    curves(mean, tables["points"], "fct", systems, log=True)
    curves(spread, tables["points"], "fct_cv", systems, log=False)
    matrix.set(title="3: a random R of that density")
    pairs.set(title="3: rates of pairs in 1 ms")
    flows.set(title="3: throughput of long flows")
    for axes in (matrix, pairs, flows):
        axes.set(ylabel="Jain's fairness index", ylim=(0, 1.02))
    mean.set(title="5a: average", ylabel="normalised FCT")
    spread.set(title="5b: coefficient of variation", ylabel="of the normalised FCT")
    legend.axis("off")
    legend.legend(*mean.get_legend_handles_labels(), loc="center")
    return picture


_PAPER_NEEDS = [
    Needs(10, by=completion.KEYS, least={"flows": 20_000}, where={"system": name})
    for name in (*JUDGED, *ORDERS)
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
        "SYN-F3.a": _fairness(fairness.less_fair),
        "SYN-F3.b": _fairness(fairness.near),
        "SYN-F3.c": _fairness(fairness.fair),
        "SYN-F3.d": _fairness(fairness.nearer),
        "SYN-F4.i": _ranked,
        "SYN-F5.a": _normalised(_same_mean, PASSES),
        "SYN-F5.b": _normalised(_shorter),
        "SYN-F5.c": _normalised(_same_spread),
        "SYN-F5.d": _normalised(_same_throughput),
        "SYN-P9": _headline,
    },
    draw=draw,
    needs={
        "runs": [*_PAPER_NEEDS, *_DOWN_NEEDS, _PASSES_NEEDS],
        "pairs": _PAIRS_NEEDS,
        "matrices": Needs(10, by=completion.KEYS),
    },
    assumed=(
        *rack.ASSUMED,
        completion.ASSUMED,
        "Figure 3: R of 0 and 1, whose entries are there with the probability of the load, as III-D explains the "
        "figure by the sparseness of R and its caption names the two algorithms; the index of ASY's rates of the "
        "entries, and of the slots of 500 that MMF gives them. Beside it the index of the throughputs (size over FCT) "
        "of flows of at least 10 packets; and of the rates at which pairs of servers were served in windows of 1 ms, "
        "of pairs that had something to send throughout, over all windows of a run. Packets have 1500 B.",
        "ASY that scales down only has 3 seeds and max-min fair rates one. In units of slots loads are the same but "
        "for a factor, as all packets fill one.",
        "A queue of ASY that becomes empty keeps the wait for its last packet. F5.a has a verdict also for a wait that "
        "passes, with 3 seeds; SYN-LATE has one for queues that have their rate until that packet has leaked out.",
    ),
)
