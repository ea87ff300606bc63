"""How many senders a scheme can have before deadlines are missed: a search over runs.

    from flowyard.deadlines import most_senders

    found = most_senders(scenario, range(5, 45, 5), share=0.99, seeds=(1, 2, 3))
    found.most  # 35, say
    found.points  # application throughput by number of senders

What is measured of one run is in `flowyard.analysis`: application throughput, lateness, slack, inversions.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from flowyard import results
from flowyard.errors import UserError
from flowyard.sweeps.local import processors
from flowyard.terminal.interrupt import Deferred
from flowyard.terminal.progress import Overall

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

    import polars as pl

    from flowyard.model import Model

__all__ = ["Senders", "largest", "most_senders"]


@dataclass(frozen=True, eq=False)
class Senders:
    """Result of a search.

    Attributes:
        most: The largest number tried that reaches the share, as do all smaller ones that were tried; None if the
            smallest does not.
        highest: The largest number tried that reaches it at all: above `most` if throughput falls and rises again,
            which only a grid can find. None if none does.
        share: The application throughput that was asked for.
        points: A row for each number tried, ascending: senders, runs, flows (with a deadline), met,
            application_throughput (met / flows, of all seeds together), reached.
        runs: One row per run: senders, seed, status, flows, met, application_throughput.
    """

    most: int | None
    highest: int | None
    share: float
    points: pl.DataFrame
    runs: pl.DataFrame

    def __repr__(self) -> str:
        return f"<flowyard.deadlines.Senders: {self.most} reach {self.share:.4g}, {len(self.points)} numbers tried>"


def most_senders(
    scenario: Callable[[int], str | PathLike[str] | Model | Mapping[str, Any]],
    numbers: Sequence[int],
    *,
    share: float = 0.99,
    seeds: Sequence[int] = (1,),
    search: Literal["grid", "bisect"] = "grid",
    workers: int | None = None,
) -> Senders:
    """The largest number of senders with which at least a share of the flows meet their deadlines.

    Application throughput is that of the measured flows (after the warm-up, without background) of all seeds together.

    Args:
        scenario: Gives the scenario with so many senders, in any form that `fy.run` takes.
        numbers: Those that may be tried.
        share: The application throughput to reach, above 0 and at most 1.
        seeds: Each number is run with each of them as run.seed.
        search: "grid" runs every number. "bisect" runs about log2 of them, and is right if throughput never rises with
            the number: what it leaves out it takes to be as that would have it.
        workers: Runs at a time; default one per processor. A bisection has as many as there are seeds.

    Raises:
        UserError: What is asked for cannot be searched, or no flow of a run has a deadline.
        ScenarioError: A scenario cannot be run; a note says with how many senders.
        KeyboardInterrupt: Ctrl-C.
    """
    _check(numbers, share, seeds, search)
    ascending = sorted(numbers)
    steps = len(ascending) if search == "grid" else len(ascending).bit_length()
    rows: list[dict[str, Any]] = []
    with (
        Deferred() as deferred,
        Overall("senders", steps * len(seeds)) as overall,
        ThreadPoolExecutor(workers or processors()) as threads,
    ):

        def one(senders: int, seed: int, given: Any) -> dict[str, Any] | None:
            if deferred.raised:
                return None
            with overall.run() as progress:
                try:
                    return _row(given, senders, seed, deferred.watch(progress))
                except Exception as error:
                    # Nothing else is begun.
                    deferred.raised = True
                    error.add_note(f"with {senders} senders, run.seed = {seed}")
                    raise

        def run(some: Sequence[int]) -> list[dict[str, Any]]:
            given = {senders: scenario(senders) for senders in some}
            waiting = [threads.submit(one, n, seed, given[n]) for n in some for seed in seeds]
            errors = [error for future in waiting if (error := future.exception())]
            if errors:
                raise errors[0]
            done = [future.result() for future in waiting]
            if any(row is None for row in done):
                raise KeyboardInterrupt
            return [row for row in done if row is not None]

        if search == "grid":
            rows += run(ascending)
        else:
            # The place before all reaches the share, that behind all does not.
            reaches, fails = -1, len(ascending)
            while fails - reaches > 1:
                middle = (reaches + fails) // 2
                own = run([ascending[middle]])
                rows += own
                if _throughput(own) >= share:
                    reaches = middle
                else:
                    fails = middle
    return _found(rows, share)


def largest(throughput: Mapping[int, float], share: float = 0.99) -> tuple[int | None, int | None]:
    """The rule of the search for numbers that have been run otherwise, as by a sweep: `most` and `highest` of Senders.

    Args:
        throughput: Application throughput by number of senders.
        share: That to reach.
    """
    most = highest = None
    unbroken = True
    for senders in sorted(throughput):
        unbroken = unbroken and throughput[senders] >= share
        if throughput[senders] >= share:
            highest = senders
        if unbroken:
            most = senders
    return most, highest


def _row(given: Any, senders: int, seed: int, progress: Callable[[Any], None]) -> dict[str, Any] | None:
    """Runs a scenario; None if it was interrupted."""
    from flowyard.analysis import due, measured

    result = results.run(given, {"run.seed": seed}, progress=progress)
    if result.status == "interrupted":
        return None
    flows = measured(due(result.flows))
    if flows.is_empty():
        raise UserError(
            "no flow that counts has a deadline: give a traffic entry that is not background deadline or deadlines"
        )
    met = int(flows["met_deadline"].sum())
    return {"senders": senders, "seed": seed, "status": result.status, "flows": flows.height, "met": met}


def _throughput(rows: Sequence[Mapping[str, Any]]) -> float:
    """Of all runs together."""
    return float(sum(row["met"] for row in rows) / sum(row["flows"] for row in rows))


def _found(rows: Sequence[Mapping[str, Any]], share: float) -> Senders:
    from flowyard.forks import pl

    met = (pl.col("met") / pl.col("flows")).alias("application_throughput")
    runs = pl.DataFrame(rows).sort("senders", maintain_order=True).with_columns(met)
    points = (
        runs.group_by("senders", maintain_order=True)
        .agg(pl.len().alias("runs"), pl.col("flows", "met").sum())
        .with_columns(met)
        .with_columns((pl.col("application_throughput") >= share).alias("reached"))
    )
    most, highest = largest(dict(points.select("senders", "application_throughput").iter_rows()), share)
    return Senders(most, highest, share, points, runs)


def _check(numbers: Sequence[int], share: float, seeds: Sequence[int], search: str) -> None:
    problems = []
    for name, given in (("numbers", numbers), ("seeds", seeds)):
        least = 1 if name == "numbers" else 0
        wrong = [value for value in given if type(value) is not int or value < least]
        if wrong or not given or len(set(given)) < len(given):
            problems.append(
                f"{name}: {list(given)!r}; use whole numbers of at least {least}, at least one, no two the same"
            )
    if not 0 < share <= 1:
        problems.append(f"share: {share!r}; use a number above 0 and at most 1")
    if search not in ("grid", "bisect"):
        problems.append(f'search: {search!r}; use "grid" or "bisect"')
    if problems:
        raise UserError("\n".join(problems))
