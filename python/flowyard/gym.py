"""A TCP connection as an environment of Gymnasium: `pip install gymnasium`, then `flowyard.gym.Connection`.

The loop itself is flowyard.prototypes.learning.Environment, which needs no such package.
"""

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any

import numpy as np

from flowyard.errors import UserError
from flowyard.prototypes.learning import Environment, Observation, Setting

try:
    import gymnasium
except ImportError:
    raise UserError("flowyard.gym needs Gymnasium: pip install gymnasium") from None

Reward = Callable[[Observation], float]

# Of an observation's numbers: learning libraries scale by them.
HIGHEST = np.array([10, 1, 1, 1000, 1000], np.float32)


class Connection(gymnasium.Env):
    """A connection's window as something to learn.

    An action is one number from -1 to 1: the window is multiplied by 2 to its power. An observation has throughput as
    a share of `rate_bps`, the time in queues as a share of the round trip, the share of marks, losses, and the window
    as a share of `rate_bps` times the round trip; values above 10, 1, 1, 1000 and 1000 are cut to these. The episode is
    over when the run is.

    Args:
        scenario: As `flowyard.run` takes it.
        overrides: As `flowyard.run` takes them.
        rate_bps: The rate of the path, by which observations are scaled.
        interval_us: The length of an interval.
        reward: Of an interval; by default throughput less queueing, both as in observations, less losses.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012, as Gymnasium has it

    def __init__(
        self,
        scenario: str | PathLike[str] | Mapping[str, Any],
        overrides: Mapping[str, object] | None = None,
        *,
        rate_bps: float,
        interval_us: float = 100.0,
        reward: Reward | None = None,
    ) -> None:
        self.environment = Environment(scenario, overrides, interval_us=interval_us)
        self.rate_bps = rate_bps
        self.reward = reward or self._reward
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.observation_space = gymnasium.spaces.Box(np.zeros_like(HIGHEST), HIGHEST, dtype=np.float32)
        self._last: Observation | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begins a run; `seed` is its run.seed, `options` are fields to change."""
        super().reset(seed=seed)
        changed = ({} if seed is None else {"run.seed": seed}) | (options or {})
        step = self.environment.reset(changed)
        self._last = step.observation
        return self._seen(step.observation), {"observation": step.observation, "result": step.result}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Sets the window and goes on to the end of the next interval."""
        if self._last is None:
            raise UserError("the run is over: call reset")
        power = float(np.clip(np.asarray(action).reshape(-1)[0], -1.0, 1.0))
        step = self.environment.step(Setting(cwnd=self._last.cwnd * 2.0**power))
        self._last = step.observation
        reward = 0.0 if step.observation is None else float(self.reward(step.observation))
        told = {"observation": step.observation, "result": step.result}
        return self._seen(step.observation), reward, step.observation is None, False, told

    def close(self) -> None:
        """Ends the run, if one is open."""
        self.environment.close()

    def _seen(self, seen: Observation | None) -> np.ndarray:
        if seen is None:
            return np.zeros(5, np.float32)
        path = self.rate_bps * seen.rtt_ps / 8e12
        values = (
            seen.throughput_bps / self.rate_bps,
            seen.queue_ps / seen.rtt_ps,
            seen.marked,
            seen.losses,
            seen.cwnd / path,
        )
        return np.minimum(np.array(values, np.float32), HIGHEST)

    def _reward(self, seen: Observation) -> float:
        return seen.throughput_bps / self.rate_bps - seen.queue_ps / seen.rtt_ps - seen.losses
