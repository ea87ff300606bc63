"""Runs on this machine: threads of this process, since the engine works without Python's lock."""

import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from flowyard.errors import contradictions
from flowyard.sweeps.outcomes import Outcomes
from flowyard.sweeps.sharing import Share
from flowyard.sweeps.store import CannotWriteError, Store
from flowyard.sweeps.task import Output, Task
from flowyard.terminal.interrupt import Deferred
from flowyard.terminal.progress import Overall


def execute(
    tasks: Sequence[Task],
    store: Store,
    tally: Outcomes,
    overall: Overall,
    deferred: Deferred,
    shared: Share,
) -> None:
    """Runs all tasks, some at a time, and keeps each as soon as it is done.

    After Ctrl-C nothing new begins, and active runs are given up.
    """

    def one(task: Task) -> Output | None:
        if deferred.raised:
            return None
        # A panic, which is no Exception, fails its own run alone.
        with contradictions(), overall.run() as progress:
            output = task.run(deferred.watch(progress), shared.threads)
            if output.status == "interrupted":
                return None
            store.publish(task.key, output.write)
        return output

    with ThreadPoolExecutor(shared.workers) as threads:
        waiting = {threads.submit(one, task): task for task in tasks}
        for future in as_completed(waiting):
            # The results of thousands of runs do not fit into memory.
            task = waiting.pop(future)
            try:
                output = future.result()
            except CannotWriteError:
                # What is under way is given up, too.
                deferred.raised = True
                raise
            except Exception as error:
                tally.broke(task, error)
            else:
                if output is None:
                    tally.interrupted = True
                else:
                    tally.ended(task, output.status, getattr(output, "violations", ()))


def processors() -> int:
    """Processors that this process may use."""
    if sys.version_info >= (3, 13):
        return os.process_cpu_count() or 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
