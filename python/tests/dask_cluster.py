"""A Dask scheduler and its workers on this machine, each a process of its own that a test may kill."""

import contextlib
import json
import subprocess
import sys
import time

# Seconds that anything may take on a busy machine.
PATIENCE = 600


class Cluster:
    """A scheduler and its workers, each a process."""

    def __init__(self, folder):
        self._folder = folder
        self._file = folder / "scheduler.json"
        self.processes = []
        self.address = ""

    def start(self, *words):
        number = len(self.processes)
        # Its log must not fill a pipe that nobody reads.
        with (self._folder / f"{number}.log").open("w") as log:
            place = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(self._file)]
            self.processes.append(
                subprocess.Popen([*words, *place], cwd=self._folder, stdout=log, stderr=log)
            )
        return self.processes[-1]

    def scheduler(self, *words):
        self.start(*(words or (sys.executable, "-m", "distributed.cli.dask_scheduler")), "--port", "0")
        until(self._file.exists)
        until(lambda: self._file.read_text().endswith("}"))
        self.address = json.loads(self._file.read_text())["address"]
        return self.address

    def worker(self, *words):
        command = words or (sys.executable, "-m", "distributed.cli.dask_worker")
        options = ["--no-nanny", "--nthreads", "1", "--local-directory", str(self._folder)]
        process = self.start(*command, *options)
        log = self._folder / f"{len(self.processes) - 1}.log"
        until(lambda: "Registered to" in log.read_text())
        return process


@contextlib.contextmanager
def a_cluster(folder):
    folder.mkdir()
    cluster = Cluster(folder)
    try:
        yield cluster
    finally:
        for process in cluster.processes:
            process.kill()
        for process in cluster.processes:
            process.wait()


def until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
