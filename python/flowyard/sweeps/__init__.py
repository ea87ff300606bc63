"""Sweeps: many independent runs over the values of some fields, kept in one folder.

    SWEEP.toml -> plan.Plan -> tasks (one per run, each with a key) -> local or cluster -> store -> tables.Sweep

A run's key is a hash of what it computes: of its scenario with every default filled in, and of the engine. A
second call on the same folder therefore runs only what is missing, and never mixes what differs.
"""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowyard.errors import UserError
from flowyard.forks import require_threads
from flowyard.sweeps import advice, local, sharing
from flowyard.sweeps.outcomes import Outcomes
from flowyard.sweeps.plan import Axis, ModelPlan, Plan, ScenarioGivenError
from flowyard.sweeps.store import Store
from flowyard.sweeps.tables import Sweep
from flowyard.sweeps.task import Planned
from flowyard.terminal.interrupt import Deferred
from flowyard.terminal.names import printable
from flowyard.terminal.progress import Overall
from flowyard.text import counted

if TYPE_CHECKING:
    from flowyard.model import Model

__all__ = ["Axis", "ModelPlan", "Plan", "Sweep", "compare", "execute", "sweep"]


def compare(
    scenario: "str | PathLike[str] | Model | Mapping[str, Any]",
    values: Sequence[Any] | Mapping[str, Sequence[Any]],
    directory: str | PathLike[str],
    *,
    set: Mapping[str, Any] | None = None,  # noqa: A002
    replicas: int = 1,
    workers: int | None = None,
    update: bool = False,
    transports: Mapping[str, type] | None = None,
    controls: Mapping[str, type] | None = None,
    queues: Mapping[str, type] | None = None,
    balancers: Mapping[str, type] | None = None,
) -> Sweep:
    """Runs a scenario with several transports, or at several values of other fields, with the same flows.

    Args:
        scenario: A TOML or JSON file, the name of a packaged scenario, a Scenario, or plain data.
        values: Transports, by name or as in scenarios: ["ndp", "dctcp", {"tcp": {"preset": "datacentre"}}]; or values
            by the field, such as {"queue": ["drop-tail", "ecn"]}, of several fields every combination.
        directory: A new folder, or that of an earlier call, which goes on.
        set: Fields to change in every run; those of a transport, such as transport.tcp.preset, in runs that have it.
        replicas: Repetitions with other random streams.
        workers: Simultaneous runs; default one per processor.
        update: Let a folder of another comparison follow this one; its runs stay on disk.
        transports: Transports in Python by the names that values and the scenario have for them: see
            flowyard.prototypes.
        controls: Congestion controls in Python, likewise.
        queues: Queues in Python, likewise.
        balancers: Load balancers in Python, likewise.

    Raises:
        ScenarioError: The scenario cannot be run, or not with one of the transports.
        UserError: There is less than two of some value, or the folder has other runs.
        KeyboardInterrupt: Ctrl-C; the runs that were done are kept.
    """
    from flowyard.sweeps.comparison import comparison

    fields = values if isinstance(values, Mapping) else {"transport": values}
    given = {"transports": transports, "controls": controls, "queues": queues, "balancers": balancers}
    python = {kind: classes for kind, classes in given.items() if classes}
    plan = comparison(scenario, fields, set=set, replicas=replicas, python=python)
    return sweep(plan, directory, workers=workers, update=update)


def sweep(
    plan: str | PathLike[str] | Planned,
    directory: str | PathLike[str],
    *,
    workers: int | None = None,
    threads: int | None = None,
    dask: Any = None,
    shard: tuple[int, int] = (1, 1),
    update: bool = False,
) -> Sweep:
    """Runs what is missing of a sweep and opens its results.

    A sweep that takes longer than a second says how far it is, in a terminal and in a notebook.

    Args:
        plan: A TOML file, or a Plan.
        directory: A new folder, or that of an earlier call, which goes on.
        workers: Runs at a time on this machine; default one per processor.
        threads: Most threads of one run, for what would leave processors idle: see sharing.py.
        dask: Where to run instead: the address of a Dask scheduler, such as "tcp://10.0.0.1:8786", or a cluster or a
            Client of distributed. Works in a notebook, too.
        shard: (i, n): only the i-th of n parts, from 1; 0 is the n-th, for who counts from 0.
        update: Let a folder of another plan follow this one. Its runs stay on disk, but no longer belong to it.

    Raises:
        UserError: The plan cannot be run, the folder belongs to another one, or this process was forked after polars
            had worked: see forks.py.
        KeyboardInterrupt: Ctrl-C; the runs that were done are kept.
    """
    i, n = shard
    if not (type(i) is type(n) is int and 0 <= i <= n and n >= 1):
        raise UserError(f"shard: {shard!r}; use (i, n) with i from 1 to n")
    if dask is not None and (workers, threads) != (None, None):
        what = "workers" if threads is None else "threads"
        raise UserError(f"{what}: those of a Dask cluster are its own; give {what} or dask")
    try:
        planned = plan if isinstance(plan, Planned) else Plan.read(plan)
    except ScenarioGivenError:
        axes = 'axes=[fy.Axis("seed", {"run.seed": [1, 2, 3]})]'
        raise UserError(
            f'{plan} is a scenario, not a sweep: fy.sweep(fy.Plan("{plan}", {axes}), DIR)'
        ) from None
    tally = execute(
        planned,
        Path(directory),
        workers=workers,
        threads=threads,
        cluster=dask,
        shard=(i or n, n),
        update=update,
        waiting=True,
    )
    if tally.interrupted:
        raise KeyboardInterrupt
    if tally.failed:
        raise UserError("\n".join(tally.failed))
    return Sweep(Path(directory))


def execute(
    plan: Planned,
    directory: Path,
    *,
    workers: int | None = None,
    threads: int | None = None,
    cluster: Any = None,
    shard: tuple[int, int] = (1, 1),
    update: bool = False,
    announce: Callable[[str], object] = lambda _: None,
    waiting: bool = False,
) -> Outcomes:
    """Runs what is missing of this shard of a plan, on this machine or on a Dask cluster.

    Args:
        plan: What to run.
        directory: A new folder, or that of an earlier call.
        workers: Runs at a time on this machine; default one per processor.
        threads: Most threads of one run on this machine; default what its scenario says.
        cluster: A Dask cluster: see `sweep`.
        shard: (i, n): the i-th of n parts, from 1.
        update: Let a folder of another plan follow this one.
        announce: Called with a sentence on the planned runs.
        waiting: Say how far it is only to who sees it and has waited: see progress.Display.
    """
    # Before the runs, which a process that cannot keep their results would compute in vain.
    require_threads()
    tasks = plan.tasks()
    # From here on Ctrl-C ends the runs, not the program: what is done is kept, and nothing else is left.
    with Deferred() as deferred, Store(directory) as store:
        store.adopt(plan.header(), tasks, update=update)
        i, n = shard
        mine = tasks[i - 1 :: n]
        # Places whose scenarios are equal share a run.
        runs = {task.key: task for task in mine}
        there = {key for key in runs if store.has(key)}
        damaged = {key: why for key in runs if key in there and (why := store.damage(key))}
        whole = there - damaged.keys()
        missing = [task for key, task in runs.items() if key not in whole]
        of = f" (shard {i} of {n})" if n > 1 else ""
        done = sum(task.key in whole for task in mine)
        announce(
            f"{printable(plan.name)}: {counted(len(mine), 'run')}{of}"
            + (f", {done:,} of them done before" if done else "")
        )
        if damaged:
            were = "run was damaged and is" if len(damaged) == 1 else "runs were damaged and are"
            announce(f"{len(damaged):,} {were} made again; {next(iter(damaged.values()))}")
        tally = Outcomes(before=done, damaged=len(damaged))
        if not missing:
            return tally
        shared = sharing.share(missing, local.processors(), workers, threads)
        why = ""
        if cluster is None:
            shared, why = sharing.within(shared, sharing.need_of(missing))
        if threads is not None or why:
            announce(shared.said(why))
        # Before the runs, for they may take hours.
        tally.advice = advice.of(missing)
        for piece in tally.advice:
            announce(piece.line())
        with Overall(plan.name, len(missing), waiting=waiting) as overall:
            if cluster is None:
                local.execute(missing, store, tally, overall, deferred, shared)
            else:
                from flowyard.sweeps import dask

                dask.execute(missing, store, tally, overall, deferred, cluster)
    return tally
