"""Runs on a Dask cluster: an address is all that it takes, no shared folder.

The workers need flowyard[dask] of the same build. They send each run's files back, and this process writes them.
"""

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flowyard import _native
from flowyard.errors import UserError
from flowyard.interrupt import Deferred
from flowyard.progress import Overall
from flowyard.sweeps.store import Store
from flowyard.sweeps.task import Tally, Task

# Seconds for the scheduler to answer, and for a first worker to come.
PATIENCE = "10s"
# Seconds between two looks at Ctrl-C.
BREATH = 0.2
# How often a run may lose its worker. A run that itself kills workers must end some day.
RETRIES = 5
# Runs given to the scheduler at a time, a worker's thread: more only fill its memory.
AHEAD = 4


def execute(
    tasks: Sequence[Task], store: Store, tally: Tally, overall: Overall, deferred: Deferred, address: str
) -> None:
    """Runs all tasks on the cluster, and keeps each as soon as it is back.

    A worker that dies loses nothing but the time of its runs: they are given to others.
    """
    try:
        import distributed
    except ImportError:
        raise UserError("--dask needs the extra: pip install 'flowyard[dask]'") from None
    try:
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise UserError(f"--dask {address}: no scheduler answers ({error})") from None
    with client:
        _same_engine(client, address)
        slots = max(1, sum(client.nthreads().values())) * AHEAD
        left = list(reversed(tasks))
        waiting: dict[str, tuple[Any, Task]] = {}
        while (left or waiting) and not deferred.raised:
            while left and len(waiting) < slots:
                task = left.pop()
                future = client.submit(compute, task, key=f"flowyard-{task.key}", retries=RETRIES, pure=False)
                waiting[task.key] = (future, task)
            done = [key for key, (future, _) in waiting.items() if future.done()]
            for key in done:
                future, task = waiting.pop(key)
                _keep(future, task, store, tally, overall)
            if not done:
                time.sleep(BREATH)
        client.cancel([future for future, _ in waiting.values()])
    tally.interrupted = deferred.raised


def compute(task: Task) -> tuple[str, list[str], dict[str, bytes]]:
    """On a worker: a run's status, what its audit found, and its files by name."""
    output = task.run()
    with tempfile.TemporaryDirectory(prefix="flowyard-") as name:
        folder = Path(name)
        output.write(folder)
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
    return output.status, list(getattr(output, "violations", ())), files


def _keep(future: Any, task: Task, store: Store, tally: Tally, overall: Overall) -> None:
    with overall.run():
        try:
            status, violations, files = future.result()
        except Exception as error:
            tally.broke(task, error)
            return

        def write(folder: Path) -> None:
            for name, content in files.items():
                (folder / name).write_bytes(content)

        store.publish(task.key, write)
        tally.ended(task, status, violations)


def engine() -> str:
    """On a worker: the engine that is there."""
    return _native.__engine__


def _same_engine(client: Any, address: str) -> None:
    import distributed

    try:
        client.wait_for_workers(1, timeout=PATIENCE)
        engines = client.run(engine)
    except distributed.TimeoutError:
        raise UserError(f"--dask {address}: the scheduler has no worker") from None
    except ModuleNotFoundError as error:
        raise UserError(f"--dask {address}: a worker lacks flowyard ({error})") from None
    for worker, found in engines.items():
        if found != _native.__engine__:
            raise UserError(
                f"--dask {address}: worker {worker} has engine {found}, here is {_native.__engine__}; "
                "install the same version on both"
            )
