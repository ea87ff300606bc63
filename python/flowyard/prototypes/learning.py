"""A learning loop over a TCP connection: observe it each interval, set its window or its rate.

A policy is written as a class (`Learner`), which the engine calls, or as a loop that calls the simulation
(`Environment`), for libraries that want to be in charge. `flowyard.gym` gives the latter the interface of Gymnasium.
"""

import queue
import threading
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from flowyard.errors import UserError
from flowyard.prototypes.control import Answer, CongestionControl

if TYPE_CHECKING:
    from flowyard._native import Ack, Signal, Window
    from flowyard.results import Result


__all__ = ["Environment", "Learner", "Observation", "Setting", "Step"]


class Observation(NamedTuple):
    """Measurements of a connection's sender in an interval.

    Attributes:
        now_ps: The end of the interval.
        throughput_bps: Payload acknowledged in it, in bit/s.
        rtt_ps: The mean round trip of its acknowledgements, in picoseconds.
        queue_ps: By how much that is longer than the shortest round trip so far: time spent in queues.
        marked: The share of acknowledged bytes that were marked.
        losses: Losses and timeouts.
        in_flight: Bytes sent and not acknowledged at its end.
        cwnd: The congestion window at its end, in bytes.
        mss: A full segment, in bytes.
        connection: The connection's number, in the order in which connections begin.
    """

    now_ps: int
    throughput_bps: float
    rtt_ps: float
    queue_ps: float
    marked: float
    losses: int
    in_flight: int
    cwnd: int
    mss: int
    connection: int


class Setting(NamedTuple):
    """Settings of a policy.

    Attributes:
        cwnd: The congestion window in bytes, raised to one segment if it is less; None: as it is.
        pacing_bps: The rate at which payload is sent, in bit/s; None: as the window allows.
    """

    cwnd: float | None = None
    pacing_bps: float | None = None


class Learner(CongestionControl):
    """A congestion control that decides once an interval. Each connection has an object.

    Between decisions the window stays; losses are repeated, and after a timeout the window is one segment until the
    next decision. An interval ends with the first acknowledgement behind it. To see marks, set `echo`, for example to
    "each-segment".

    Attributes:
        interval_us: Its length.
        begun: How many connections have begun in this process.
    """

    interval_us: ClassVar[float] = 100.0
    begun: ClassVar[int] = 0

    def __init__(self) -> None:
        self.connection = type(self).begun
        type(self).begun += 1
        self.since: int | None = None
        self.shortest_ps: int | None = None
        self._begin(0)

    def decide(self, observation: Observation) -> Setting:
        """The action for the next interval."""
        raise NotImplementedError

    def on_ack(self, window: "Window", ack: "Ack") -> None:
        """Counts; at the end of an interval, decides."""
        self._count(ack)
        if self.since is None:
            self._begin(ack.now_ps)
        elif ack.now_ps - self.since >= self.interval_us * 1e6:
            self._decide(window, ack)

    def on_recovery_ack(self, window: "Window", ack: "Ack", full: bool, first_partial: bool) -> Any:
        """Counts as well; leaves the window alone."""
        self._count(ack)
        return "leave" if full else "repair-and-restart"

    def on_duplicate(self, window: "Window", ack: "Ack") -> None:
        """The window stays."""

    def on_loss(self, window: "Window", loss: "Signal") -> None:
        """The window stays."""
        self.losses += 1

    def on_timeout(self, window: "Window", timeout: "Signal") -> None:
        """One segment, until the next decision."""
        self.losses += 1
        window.cwnd = window.mss

    def on_echo(self, ack: "Ack") -> Answer:
        """Marks are seen, and reduce nothing by themselves."""
        return Answer(grow=True, reduce=False)

    def _begin(self, now_ps: int) -> None:
        self.since = now_ps or None
        self.acked = self.marked = self.losses = self.acks = self.rtts_ps = 0

    def _count(self, ack: "Ack") -> None:
        self.acked += ack.acked
        self.marked += ack.acked if ack.marked else 0
        self.acks += 1
        self.rtts_ps += ack.rtt_ps
        self.shortest_ps = min(self.shortest_ps or ack.rtt_ps, ack.rtt_ps)

    def _decide(self, window: "Window", ack: "Ack") -> None:
        assert self.since is not None
        assert self.shortest_ps is not None
        rtt = self.rtts_ps / self.acks
        seen = Observation(
            now_ps=ack.now_ps,
            throughput_bps=self.acked * 8e12 / (ack.now_ps - self.since),
            rtt_ps=rtt,
            queue_ps=rtt - self.shortest_ps,
            marked=self.marked / self.acked if self.acked else 0.0,
            losses=self.losses,
            in_flight=ack.in_flight - ack.acked,
            cwnd=int(window.cwnd),
            mss=window.mss,
            connection=self.connection,
        )
        setting = self.decide(seen)
        if not isinstance(setting, Setting):
            raise TypeError(
                f"{type(self).__name__}.decide returns {setting!r}; use Setting(cwnd=..., pacing_bps=...)"
            )
        if setting.cwnd is not None:
            window.cwnd = max(setting.cwnd, window.mss)
        window.pacing_bps = setting.pacing_bps
        self._begin(ack.now_ps)


class Step(NamedTuple):
    """Where an environment stands.

    Attributes:
        observation: Of the connection whose interval has ended; None once the run is over.
        result: The run, once it is over.
    """

    observation: Observation | None
    result: "Result | None"


class _ClosedError(BaseException):
    """Ends a run from within; not an error."""


class Environment:
    """A simulation that waits at the end of each interval for what to do: `reset`, then `step` until it is over.

    Args:
        scenario: As `flowyard.run` takes it; its flows run over TCP.
        overrides: As `flowyard.run` takes them.
        interval_us: The length of an interval.
        echo: How receivers tell of marks, such as "each-segment"; None: not at all.

    All connections with the congestion control of `transport.tcp` learn; an observation says whose it
    is. The same settings give the same run. The simulation runs in a thread, which `close` ends.
    """

    def __init__(
        self,
        scenario: str | PathLike[str] | Mapping[str, Any],
        overrides: Mapping[str, object] | None = None,
        *,
        interval_us: float = 100.0,
        echo: str | None = None,
    ) -> None:
        if interval_us <= 0:
            raise UserError(f"interval_us = {interval_us}: use a number above 0")
        self.scenario = scenario
        learner = {"name": "learner"} | ({"echo": echo} if echo else {})
        self.overrides = {**(overrides or {}), "transport.tcp.congestion": {"python": learner}}
        self.interval_us = interval_us
        self._thread: threading.Thread | None = None
        self._steps: queue.SimpleQueue[Step | BaseException] = queue.SimpleQueue()
        self._settings: queue.SimpleQueue[Setting | None] = queue.SimpleQueue()

    def reset(self, overrides: Mapping[str, object] | None = None) -> Step:
        """Begins a run, with other fields changed for this one, such as {"run.seed": 2}; its first observation."""
        self.close()
        steps = self._steps = queue.SimpleQueue()
        settings = self._settings = queue.SimpleQueue()

        class Asks(Learner):
            interval_us = self.interval_us
            begun = 0

            def decide(self, observation: Observation) -> Setting:
                steps.put(Step(observation, None))
                setting = settings.get()
                if setting is None:
                    raise _ClosedError
                return setting

        def simulate() -> None:
            import flowyard

            try:
                changed = {**self.overrides, **(overrides or {})}
                # Nobody looks at how far it is.
                run = flowyard.run(
                    self.scenario, changed, controls={"learner": Asks}, progress=lambda _: None
                )
                steps.put(Step(None, run))
            except BaseException as error:
                steps.put(error)

        self._thread = threading.Thread(target=simulate, daemon=True)
        self._thread.start()
        return self._next()

    def step(self, setting: Setting) -> Step:
        """Goes on with that setting to the end of the next interval, of this connection or another, or of the run."""
        if self._thread is None:
            raise UserError("the run is over: call reset")
        self._settings.put(setting)
        return self._next()

    def close(self) -> None:
        """Ends the run, if one is open."""
        if self._thread is not None:
            self._settings.put(None)
            self._thread.join()
            self._thread = None

    def _next(self) -> Step:
        step = self._steps.get()
        if not isinstance(step, BaseException) and step.observation is not None:
            return step
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if isinstance(step, BaseException):
            raise step
        return step
