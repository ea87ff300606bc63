"""How far runs are, on stderr: live rows in a terminal, a plain line now and then elsewhere."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TextIO

# Seconds between two plain lines of a run.
PLAIN_EVERY = 5.0


class Display:
    """Shows any number of runs, each through the callback that `row` gives; safe from several threads."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._live: Any = None

    def __enter__(self) -> Self:
        if self._stream.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            columns = (
                TextColumn("{task.description}"),
                BarColumn(bar_width=24),
                TextColumn("{task.fields[text]}"),
            )
            # Redrawn when a run has news: no thread of its own.
            self._live = Progress(
                *columns, console=Console(file=self._stream), auto_refresh=False, transient=True
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def row(self, name: str) -> Callable[[Any], None]:
        """A run's progress callback."""
        started = time.monotonic()
        if self._live:
            task = self._live.add_task(name, total=1.0, text="building")

            def live(progress: Any) -> None:
                seconds = time.monotonic() - started
                self._live.update(task, completed=fraction(progress), text=describe(progress, seconds))
                self._live.refresh()

            return live

        last = started

        def plain(progress: Any) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= PLAIN_EVERY:
                last = now
                print(f"{name}: {describe(progress, now - started)}", file=self._stream, flush=True)

        return plain


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


def fraction(progress: Any) -> float:
    """Share of the run that is done, by flows or by time, whichever ends it first."""
    by_flows = progress["flows_done"] / progress["flows"] if progress["flows"] else 0.0
    by_time = progress["now_ps"] / progress["until_ps"] if progress["until_ps"] else 0.0
    return min(max(by_flows, by_time), 1.0)


def describe(progress: Any, seconds: float) -> str:
    """Simulated time, flows, speed and time left, in one line."""
    done = fraction(progress)
    left = f"{seconds * (1 - done) / done:.0f} s left" if done > 0 else "time left unknown"
    return (
        f"{progress['now_ps'] / 1e9:.3f} ms simulated, {progress['flows_done']:,} of {progress['flows']:,} flows, "
        f"{progress['packet_hops'] / max(seconds, 1e-9) / 1e6:.2f} M packet-hops/s, {left}"
    )
