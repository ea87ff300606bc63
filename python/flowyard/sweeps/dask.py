"""Runs on a Dask cluster: an address is all that it takes, no shared folder.

The workers need flowyard[dask] of the same build. They send each run's files back, and this process writes them.
"""

import asyncio
import contextlib
import logging
import pickle
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from flowyard import _native
from flowyard.errors import UserError, contradictions
from flowyard.sweeps.outcomes import Outcomes
from flowyard.sweeps.store import Store
from flowyard.sweeps.task import Task
from flowyard.terminal.interrupt import Deferred
from flowyard.terminal.progress import Overall

# Seconds for the scheduler to answer, and for a first worker to come.
PATIENCE = "10s"
# Seconds between two looks at Ctrl-C.
BREATH = 0.2
# Runs given to the scheduler at a time, a worker's thread: more only fill its memory.
AHEAD = 4


# Times that workers are asked for their engine, of which all die before they answer.
ASKED = 3


def execute(
    tasks: Sequence[Task], store: Store, tally: Outcomes, overall: Overall, deferred: Deferred, cluster: Any
) -> None:
    """Runs all tasks on the cluster, and keeps each as soon as it is back.

    The cluster is the address of its scheduler, one of distributed's cluster objects, or a Client, which stays open.

    A worker that dies loses nothing but the time of its runs: they are given to others, until a run has seen as many
    workers die as the scheduler's allowed-failures say; then it has failed.
    """
    try:
        import distributed
    except ImportError:
        raise UserError("--dask needs a package that is not here: pip install distributed") from None
    # What cannot be sent is refused before anything is.
    pickle.dumps([getattr(task, "prototypes", ()) for task in tasks[:1]])
    with _quiet(), _connected(cluster) as client:
        address = _address(client)
        with client.as_current():
            _same_engine(client, address)
            slots = max(1, sum(client.nthreads().values())) * AHEAD
            left = list(reversed(tasks))
            waiting: dict[str, tuple[Any, Task]] = {}
            while (left or waiting) and not deferred.raised:
                while left and len(waiting) < slots and client.status == "running":
                    task = left.pop()
                    future = client.submit(compute, task, _native.__engine__, key=_name(task), pure=False)
                    waiting[task.key] = (future, task)
                with contextlib.suppress(TimeoutError, distributed.CancelledError):
                    futures = [future for future, _ in waiting.values()]
                    distributed.wait(futures, timeout=BREATH, return_when="FIRST_COMPLETED")
                if client.status == "closed" or any(future.cancelled() for future, _ in waiting.values()):
                    tally.failed.append(
                        f"--dask {address}: the scheduler is gone; the same command goes on with what is missing"
                    )
                    return
                for key in [key for key, (future, _) in waiting.items() if future.done()]:
                    future, task = waiting.pop(key)
                    if not _keep(future, task, store, tally, overall):
                        left.append(task)
            client.cancel([future for future, _ in waiting.values()])
    tally.interrupted = bool(left or waiting)


def compute(task: Task, engine: str) -> tuple[str, list[str], dict[str, bytes]]:
    """On a worker: a run's status, what its audit found, and its files by their paths in the run's folder."""
    import distributed

    worker = distributed.get_worker()
    # This worker may have come after the others were asked.
    if _native.__engine__ != engine:
        raise RuntimeError(f"worker {worker.address} has engine {_native.__engine__}, not {engine}")
    tasks = worker.state.tasks

    def wanted(_: object) -> None:
        """Gives the run up once no client waits for it: after Ctrl-C there, or when its scheduler is gone."""
        state = tasks.get(_name(task))
        if state is None or state.state != "executing":
            raise KeyboardInterrupt

    # A panic could not travel: no other process can import its class.
    with contradictions(), tempfile.TemporaryDirectory(prefix="flowyard-") as name:
        output = task.run(wanted)
        folder = Path(name)
        output.write(folder)
        files = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
    return output.status, list(getattr(output, "violations", ())), files


def _name(task: Task) -> str:
    """Name of a run on the cluster."""
    return f"flowyard-{task.key}"


def _keep(future: Any, task: Task, store: Store, tally: Outcomes, overall: Overall) -> bool:
    """Keeps what has come back; false if it has to be run again."""
    with overall.run():
        try:
            status, violations, files = future.result()
        except Exception as error:
            tally.broke(task, _in_short(error))
            return True
        if status == "interrupted":
            # Given up for an earlier call, just before this one asked for the same.
            return False

        def write(folder: Path) -> None:
            for name, content in files.items():
                # Such as pcap/NAME, what a run captured.
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(content)

        store.publish(task.key, write)
        tally.ended(task, status, violations)
    return True


def _in_short(error: Exception) -> Exception:
    """Message for a run that failed; for workers that died, one of our own."""
    from distributed import KilledWorker

    if not isinstance(error, KilledWorker):
        return error
    died = error.allowed_failures + 1
    workers = "the worker" if died == 1 else f"{died} workers one after the other, the last"
    return RuntimeError(f"it ended {workers} at {error.last_worker.address}; the worker's log may say why")


def engine() -> str:
    """On a worker: the engine that is there."""
    return _native.__engine__


@contextlib.contextmanager
def _connected(cluster: Any) -> Iterator[Any]:
    """A client of the cluster: what is given, or one that is closed afterwards."""
    import distributed

    is_cluster = isinstance(cluster, distributed.deploy.cluster.Cluster)
    if not is_cluster and not isinstance(cluster, str | distributed.Client):
        raise UserError(
            f"dask: {_shown(cluster)}; give the address of a scheduler, such as tcp://10.0.0.1:8786, or an object of "
            "distributed: a cluster or a Client"
        )
    if getattr(cluster, "asynchronous", False):
        raise UserError(
            f"dask: {_shown(cluster)} is asynchronous; give one that was made without asynchronous=True, or the "
            "address of its scheduler"
        )
    if isinstance(cluster, distributed.Client):
        if cluster.status != "running":
            raise UserError(
                f"dask: the client is {cluster.status}; give one that is connected to a scheduler"
            )
        yield cluster
        return
    try:
        if not is_cluster:
            # First, since a Client that fails is in the way for long when Python ends. On a thread of its own, for
            # in a notebook this one has an event loop that is running.
            with ThreadPoolExecutor(1) as threads:
                threads.submit(asyncio.run, _knock(cluster)).result()
        client = distributed.Client(cluster, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        name = _shown(cluster) if is_cluster else cluster
        raise UserError(f"--dask {name}: no scheduler answers ({error})") from None
    with client:
        yield client


def _shown(given: Any) -> str:
    """Description of the given cluster, for messages."""
    text = repr(given)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _address(client: Any) -> str:
    """The address of a client's scheduler."""
    return str(client.scheduler.address)


async def _knock(address: str) -> None:
    """Whether a scheduler is there; raises OSError, or ValueError if this is no address."""
    from distributed import Security
    from distributed.comm.core import connect

    comm = await connect(address, timeout=PATIENCE, **Security().get_connection_args("client"))
    await comm.close()


def _same_engine(client: Any, address: str) -> None:
    """Refuses workers that would compute something else.

    A worker that dies before it answers is passed over: another that comes for it is asked by `compute`.
    """
    for _ in range(ASKED):
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise UserError(f"--dask {address}: the scheduler has no worker") from None
        answers = client.run(engine, on_error="return")
        if alive := {worker: found for worker, found in answers.items() if not isinstance(found, OSError)}:
            break
    else:
        raise UserError(f"--dask {address}: its workers die before they answer; their logs may say why")
    for worker, found in alive.items():
        if isinstance(found, Exception):
            raise UserError(f"--dask {address}: a worker lacks this flowyard ({found})")
        if found != _native.__engine__:
            raise UserError(
                f"--dask {address}: worker {worker} has engine {found}, here is {_native.__engine__}; "
                "install the same version on both"
            )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silences distributed's log, whose relevant events have messages of our own."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]
    before = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
