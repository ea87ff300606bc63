"""Figure 3: how evenly SYN with MMF and ASY serve the pairs of servers of a random R whose density is the load.

Section III-D explains the figure by "the sparseness of the offered rate matrix", which "becomes denser" above load 0.2,
and its caption compares "SYN MMF packet scheduling and ASY rate normalization algorithms": two algorithms for one R, of
which each entry is there with the probability of the load. Nothing of the network is in that, and nothing of flows.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from flowyard.analysis.fairness import jain
from flowyard.papers import judge
from flowyard.papers.figure import Judgement
from flowyard_papers.syn import _judges as judges
from flowyard_papers.syn import _sinkhorn as sinkhorn
from flowyard_papers.syn._leaf_spine import SERVERS
from flowyard_papers.syn._rack import ASY, MMF

SLOTS, RATES_INDEX = 500, "jain_rates"
# Why ASY is less fair to flows.
STARVED = "pairs outside every maximum matching of a sparse R get next to nothing until it changes (SYN-X4)"


def random_matrices(loads: Sequence[float], replicas: int) -> Iterator[dict[str, Any]]:
    """For each load and replica an R of 0 and 1 of that density, and Jain's index over what its entries get.

    Under ASY that is their rates, under SYN the slots that each has of 500 in which all of them have packets.
    """
    for load in loads:
        for replica in range(replicas):
            random = np.random.default_rng([3, round(1000 * load), replica])
            offered = (random.random((SERVERS, SERVERS)) < load).astype(np.float64)
            np.fill_diagonal(offered, 0)
            rates = sinkhorn.normalised(offered, random.permutation(offered.size).tolist())
            slots = served(offered > 0, SLOTS, random)
            about = {"load": load, "replica": replica, "entries": int(offered.sum())}
            for system, shares in ((MMF, slots), (ASY, rates)):
                yield {"system": system, **about, RATES_INDEX: jain(pl.Series(shares[offered > 0]))}


def served(
    waiting: np.ndarray[Any, np.dtype[np.bool_]], slots: int, random: np.random.Generator
) -> sinkhorn.Matrix:
    """How many slots each pair of servers has under MMF, if all of these always have packets.

    Greedy, the pair first whose packet has been the first of its queue for longest; a pair that is served has a new
    first packet in the next slot. Ties are drawn.
    """
    pairs = np.argwhere(waiting)
    order = random.permutation(len(pairs)).tolist()
    ends: list[tuple[int, int]] = [(int(i), int(j)) for i, j in pairs]
    counts = np.zeros(len(pairs))
    # No slot has more than that.
    most = min(int(waiting.any(axis).sum()) for axis in (0, 1))
    for _ in range(slots):
        senders, receivers = bytearray(len(waiting)), bytearray(len(waiting))
        matched, left = list[int](), list[int]()
        for place in order:
            i, j = ends[place]
            if senders[i] or receivers[j]:
                left.append(place)
                continue
            senders[i] = receivers[j] = 1
            matched.append(place)
            if len(matched) == most:
                break
        counts[matched] += 1
        seen = len(matched) + len(left)
        order = left + order[seen:] + random.permutation(matched).tolist()
    found = np.zeros(waiting.shape)
    found[tuple(pairs.T)] = counts
    return found


def _differences(runs: pl.DataFrame, index: str, asy: str) -> pl.DataFrame:
    """ASY's index less that of SYN: load, replica, difference."""
    wide = runs.filter(pl.col("system").is_in([MMF, asy])).pivot(
        "system", index=["load", "replica"], values=index
    )
    if not {MMF, asy} <= set(wide.columns):
        return pl.DataFrame(schema={"load": pl.Float64, "replica": pl.Int64, "difference": pl.Float64})
    return wide.select("load", "replica", difference=pl.col(asy) - pl.col(MMF)).drop_nulls()


def less_fair(runs: pl.DataFrame, index: str, asy: str) -> Judgement:
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


def near(runs: pl.DataFrame, index: str, asy: str) -> Judgement:
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


def fair(runs: pl.DataFrame, index: str, asy: str) -> Judgement:
    """F3.c: both are fair above load 0.2."""
    own = runs.filter(pl.col("load") > 0.2)
    if missing := judges.lacking(own, (MMF, asy)):
        return missing
    found = []
    for system in (MMF, asy):
        load, worst = min(judges.means(own, index)[system].items(), key=lambda item: item[1])
        found.append(
            judge.at_least(worst, 0.95).because(f"{system} at load {load:g}").called(f"index of {system}")
        )
    return judge.together(found)


def nearer(runs: pl.DataFrame, index: str, asy: str) -> Judgement:
    """F3.d: the difference does not grow from load 0.05 to 0.4."""
    own = _differences(runs, index, asy).filter(pl.col("load") <= 0.4)
    return judges.trend(own.with_columns(pl.col("difference").abs()), "difference", rising=False)
