"""Ctrl-C, SIGTERM and SIGHUP: active runs end in order, results are kept, nothing is left behind.

SIGTERM is what Slurm, Docker and `timeout` send, SIGHUP what a closing terminal does. Both act as Ctrl-C, which is
SIGINT, but for two things: a signal that is ignored, as SIGHUP under nohup, or that the program around handles itself
stays as it is; and coming again they change nothing, for `timeout` sends its signal twice.
"""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any, Self

# Besides SIGINT.
ENDS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
# Seconds from which on a second Ctrl-C is one of its own: programs around may hand the first one on.
HASTE = 0.5


class Deferred:
    """While open, a signal only raises a flag, which a watched callback turns into KeyboardInterrupt.

    An exception at a random point could lose the results: between the end of the simulation and the
    rename of the folder, say. A second SIGINT is a plain KeyboardInterrupt, for who will not wait.
    Signals come to the main thread only: in another one the flag stays down.
    """

    def __init__(self) -> None:
        self.raised = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {
                number: signal.signal(number, self._handle) for number in (signal.SIGINT, *_unclaimed())
            }
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self.raised:
            self.raised = True
            self._since = time.monotonic()
        elif number == signal.SIGINT and time.monotonic() - self._since > HASTE:
            signal.default_int_handler(number, frame)

    def watch(self, callback: Callable[[Any], object]) -> Callable[[Any], None]:
        """The callback, which from the signal on raises KeyboardInterrupt."""

        def watched(value: object) -> None:
            if self.raised:
                raise KeyboardInterrupt
            callback(value)

        return watched


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """While open, SIGTERM and SIGHUP raise KeyboardInterrupt; the first of them only, so that tidying up goes on."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    once = _Once()
    before = {number: signal.signal(number, once) for number in _unclaimed()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Once:
    """A handler that raises KeyboardInterrupt when it is first called."""

    def __init__(self) -> None:
        self._called = False

    def __call__(self, *_: object) -> None:
        if not self._called:
            self._called = True
            raise KeyboardInterrupt


def _unclaimed() -> list[int]:
    """The signals that would end the program, or do so through `stoppable`."""
    return [
        number
        for number in ENDS
        if (handler := signal.getsignal(number)) is signal.SIG_DFL or isinstance(handler, _Once)
    ]
