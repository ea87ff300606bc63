"""How far runs are, on stderr: live rows in a terminal, a plain line now and then elsewhere; or in a notebook."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import TracebackType
from typing import Any, Self, TextIO

from flowyard.terminal.names import printable
from flowyard.terminal.pace import Pace
from flowyard.terminal.streams import for_rich
from flowyard.text import percent, span

# Seconds between two plain lines of a run.
PLAIN_EVERY = 5.0
# Seconds that nobody wonders about.
PATIENCE = 1.0


class Display:
    """Shows any number of runs, each through the callback that `row` gives; safe from several threads.

    Args:
        stream: Where; default stderr.
        waiting: For who calls from Python: nothing before PATIENCE, nothing but in a terminal or in a notebook.
    """

    def __init__(self, stream: TextIO | None = None, *, waiting: bool = False) -> None:
        self._stream = stream or sys.stderr
        self._live: Any = None
        self._waiting = waiting
        self._entered = time.monotonic()

    def __enter__(self) -> Self:
        self._entered = time.monotonic()
        if not self._waiting and self._stream.isatty():
            self._begin()
        return self

    @property
    def is_seen(self) -> bool:
        """Whether the display is visible."""
        return not self._waiting or in_notebook() or self._stream.isatty()

    def _begin(self) -> None:
        if in_notebook():
            self._live = _Cell()
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[text]}"),
        )
        # Redrawn when a run has news: no thread of its own.
        self._live = Progress(
            *columns, console=Console(file=for_rich(self._stream)), auto_refresh=False, transient=True
        )
        self._live.start()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def line(self, name: str) -> Callable[[float, str], None]:
        """For work of any kind: a callback that takes the share that is done, and what to say."""
        name, last = printable(name), time.monotonic()
        task = self._live.add_task(name, total=1.0, text="") if self._live else None

        def show(share: float, text: str) -> None:
            nonlocal last, task
            if self._waiting:
                if not self.is_seen or time.monotonic() - self._entered < PATIENCE:
                    return
                if not self._live:
                    self._begin()
                if task is None:
                    task = self._live.add_task(name, total=1.0, text="")
            if self._live:
                self._live.update(task, completed=share, text=text)
                self._live.refresh()
            elif time.monotonic() - last >= PLAIN_EVERY:
                last = time.monotonic()
                print(f"{name}: {text}", file=self._stream, flush=True)

        return show

    def row(self, name: str) -> Callable[[Any], None]:
        """A run's progress callback."""
        started, pace = time.monotonic(), Pace()
        show = self.line(name)

        def advance(progress: Any) -> None:
            seconds = time.monotonic() - started
            pace.note(progress, seconds)
            show(pace.share, describe(progress, seconds, pace.left, pace.awaited))

        return advance


class _Cell:
    """A line under a notebook's cell, with what Display asks of rich's Progress."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._names: list[str] = []
        display = import_module("IPython.display").display
        self._handle = display(self._data(), raw=True, display_id=True)

    def add_task(self, name: str, **_: object) -> int:
        self._names.append(name)
        self._lines.append("")
        return len(self._names) - 1

    def update(self, task: int, *, completed: float, text: str) -> None:
        self._lines[task] = f"{self._names[task]}: {percent(completed, 0)}, {text}"

    def refresh(self) -> None:
        self._handle.update(self._data(), raw=True)

    def stop(self) -> None:
        self._lines = []
        self.refresh()

    def _data(self) -> dict[str, str]:
        return {"text/plain": "\n".join(self._lines)}


def in_notebook() -> bool:
    """Whether a notebook's cell calls: a shell of IPython's with a kernel."""
    ipython = sys.modules.get("IPython")
    return hasattr(ipython.get_ipython() if ipython else None, "kernel")


class Overall:
    """How far many runs are together, in one line; safe from several threads."""

    # Seconds between two changes of the line in a terminal.
    LIVE_EVERY = 0.1

    def __init__(self, name: str, total: int, stream: TextIO | None = None, *, waiting: bool = False) -> None:
        self._name = name
        self._total = total
        self._display = Display(stream, waiting=waiting)
        self._lock = threading.Lock()
        self._under_way: dict[int, Pace] = {}
        self._done = 0
        self._started = self._last = time.monotonic()

    def __enter__(self) -> Self:
        self._display.__enter__()
        self._show = self._display.line(self._name)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None
    ) -> None:
        self._display.__exit__(kind, value, at)

    @contextmanager
    def run(self) -> Iterator[Callable[[Any], None]]:
        """One of the runs, from its beginning to its end; gives its progress callback."""
        started, pace = time.monotonic(), Pace()

        def advance(progress: Any) -> None:
            with self._lock:
                pace.note(progress, time.monotonic() - started)
                self._under_way[id(pace)] = pace
                self._say()

        try:
            yield advance
        finally:
            with self._lock:
                self._under_way.pop(id(pace), None)
                self._done += 1
                self._say()

    def _say(self) -> None:
        now = time.monotonic()
        if now - self._last >= self.LIVE_EVERY:
            self._last = now
            work = self._done + sum(pace.share for pace in self._under_way.values())
            text = f"{self._done:,} of {self._total:,} runs"
            if self._done < self._total:
                text += f", {_left(self._seconds_left(now - self._started, work))}"
            self._show(work / self._total, text)

    def _seconds_left(self, seconds: float, work: float) -> float | None:
        """Time left by the runs so far, or that of the slowest active one if it is longer; None if nothing tells it."""
        active = self._under_way.values()
        # Others wait for a run that is about to end: only the last runs make the end uncertain.
        unknown = any((pace.is_beyond or pace.awaited) and pace.left is None for pace in active)
        if not work or (unknown and self._done + len(active) >= self._total):
            return None
        return max(seconds * (self._total - work) / work, *(pace.left or 0.0 for pace in active), 0.0)


def counter(name: str, what: str, stream: TextIO | None = None) -> Callable[[int, int], None]:
    """For work that counts: says how many of all are done, now and then if it takes long."""
    stream = stream or sys.stderr
    last = time.monotonic()

    def count(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= PLAIN_EVERY:
            last = now
            of = f" of {total:,}" if total else ""
            print(f"{name}: {done:,}{of} {what}", file=stream, flush=True)

    return count


def _left(seconds: float | None) -> str:
    """The time that work still takes, in words; None if nothing tells it."""
    if seconds is None:
        return "time left unknown"
    # Shorter than that is no number, and 0 s would say that it is over.
    return f"{span(seconds)} left" if seconds >= 1 else "less than a second left"


def describe(progress: Any, seconds: float, left: float | None, awaited: int = 0) -> str:
    """Time left, simulated time, flows and speed, in one line, of which a narrow terminal shows the first.

    Args:
        progress: The progress of the run.
        seconds: Seconds since its start.
        left: Seconds left; None if nothing tells it.
        awaited: Number of flows that have not ended, if only their ends are awaited.
    """
    if progress["now_ps"] < progress.get("from_ps", 0):
        flows = f"warm-up before {progress['flows']:,} flows"
    else:
        flows = f"{progress['flows_done']:,} of {progress['flows']:,} flows"
    speed = f"{progress['packet_hops'] / max(seconds, 1e-9) / 1e6:.2f} M packet-hops/s"
    time_left = f"waiting for the last {awaited:,} flow{'s' * (awaited != 1)}" if awaited else _left(left)
    return f"{time_left}, {progress['now_ps'] / 1e9:.3f} ms simulated, {flows}, {speed}"
