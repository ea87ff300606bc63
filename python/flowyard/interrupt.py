"""Ctrl-C during a run: end the simulation at its next breath, and keep what there is."""

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self


class Deferred:
    """While open, the first SIGINT only raises a flag, which a watched callback turns into KeyboardInterrupt.

    An exception at a random point could lose the results: between the end of the simulation and the
    rename of the folder, say. A second SIGINT is a plain KeyboardInterrupt, for who will not wait.
    Signals come to the main thread only: in another one the flag stays down.
    """

    def __init__(self) -> None:
        self.raised = False

    def __enter__(self) -> Self:
        self._main = threading.current_thread() is threading.main_thread()
        if self._main:
            self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._main:
            signal.signal(signal.SIGINT, self._before)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.raised:
            signal.default_int_handler(number, frame)
        self.raised = True

    def watch(self, callback: Callable[[Any], object]) -> Callable[[Any], None]:
        """The callback, which from SIGINT on raises KeyboardInterrupt."""

        def watched(value: object) -> None:
            callback(value)
            if self.raised:
                raise KeyboardInterrupt

        return watched
