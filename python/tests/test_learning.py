"""The learning loop: observations by hand, a bandit that finds the window that fills the path, Gymnasium."""

import importlib
import sys
import threading
from itertools import pairwise
from typing import Any

import pytest

import flowyard as fy
from flowyard.prototypes import PrototypeError
from flowyard.prototypes.examples import learned
from flowyard.prototypes.learning import Environment, Learner, Observation, Setting

RATE = 1e9


def path(**transport: Any) -> dict[str, Any]:
    """One flow over a port of 1 Gbit/s, with a round trip of some 120 us: about 10 segments fill it."""
    return {
        "topology": {"dumbbell": {"hosts": 1, "bottleneck": {"rate": "1Gbps", "delay": "40us"}}},
        "transport": {"tcp": {"preset": "datacentre", "delayed_ack": 1} | transport},
        "queue": {"drop-tail": {"limit": {"packets": 200}}},
        "traffic": [
            {"name": "a", "arrivals": "at-once", "matrix": {"pairs": [[0, 1]]}, "sizes": {"fixed": "4MB"}}
        ],
    }


def held(window: int) -> list[Observation]:
    """What a connection sees whose window is held at so many segments."""
    environment = Environment(path(), interval_us=500)
    step = environment.reset()
    seen = []
    while step.observation is not None:
        seen.append(step.observation)
        step = environment.step(Setting(cwnd=window * step.observation.mss))
    assert step.result is not None
    assert step.result.status == "complete"
    return seen


def test_observations_are_those_of_the_path():
    """Little's law: a window of w segments brings w segments a round trip, or what the port carries."""
    small, large = held(4)[3:], held(40)[3:]
    for seen in small:
        assert seen.queue_ps == pytest.approx(0, abs=15e6)
        assert seen.throughput_bps == pytest.approx(4 * 1460 * 8e12 / seen.rtt_ps, rel=0.15)
    for seen in large:
        assert seen.throughput_bps == pytest.approx(RATE * 1460 / 1518, rel=0.05)
        # What does not fit the path waits.
        waits = 40 * 1460 * 8e12 / seen.throughput_bps
        assert seen.rtt_ps == pytest.approx(waits, rel=0.05)
    assert all(later.now_ps - before.now_ps >= 500e6 for before, later in pairwise(small))


def test_the_same_settings_give_the_same_run():
    def run() -> str:
        environment = Environment(path(), interval_us=300)
        step = environment.reset()
        while step.observation is not None:
            step = environment.step(Setting(pacing_bps=5e8, cwnd=30 * 1460))
        assert step.result is not None
        return str(step.result.summary["digest"])

    assert run() == run()


def test_a_bandit_learns_the_window_that_fills_the_path():
    worth = learned.learn(path(), RATE)
    # The round trip without a queue, in segments at the port's rate.
    fills = RATE * held(1)[-1].rtt_ps / 8e12 / 1518
    best = max(worth, key=worth.__getitem__)
    assert best == min(learned.WINDOWS, key=lambda window: abs(window - fills)), (fills, worth)
    assert worth[64] < worth[best] / 2 > 0


def test_a_learner_is_a_class_of_its_own():
    """Sets the rate; marks are seen where the class asks for them."""

    class Half(Learner):
        interval_us = 200.0
        echo = "each-segment"

        def decide(self, observation: Observation) -> Setting:
            seen.append(observation)
            return Setting(cwnd=40 * observation.mss, pacing_bps=RATE * (2 if len(seen) < 10 else 0.5))

    seen: list[Observation] = []
    marking = {"queue": {"ecn": {"threshold": {"packets": 5}}}}
    run = fy.run(path() | marking, {"transport.tcp.congestion.python.name": "half"}, controls={"half": Half})
    assert run.status == "complete"
    assert max(one.marked for one in seen) > 0.5
    assert seen[-2].marked == 0
    assert seen[-2].throughput_bps == pytest.approx(RATE / 2, rel=0.05)


def test_mistakes_reach_who_learns():
    environment = Environment(path())
    step = environment.reset()
    assert step.observation is not None
    with pytest.raises(PrototypeError, match=r"decide returns 7; use Setting"):
        environment.step(7)  # type: ignore[arg-type]
    with pytest.raises(fy.errors.UserError, match="call reset"):
        environment.step(Setting())
    with pytest.raises(fy.ScenarioError):
        Environment(path(), {"queue": "nonsense"}).reset()


def test_a_run_that_is_given_up_leaves_no_thread():
    before = threading.active_count()
    environment = Environment(path())
    environment.reset()
    environment.close()
    environment.reset()
    environment.close()
    assert threading.active_count() == before


def test_gymnasium():
    from gymnasium.utils.env_checker import check_env

    from flowyard import gym

    environment = gym.Connection(path(), rate_bps=RATE, interval_us=500)
    check_env(environment, skip_render_check=True)
    environment.reset(seed=1)
    ended, rewards = False, []
    while not ended:
        _, reward, ended, _, told = environment.step([0.0])
        rewards.append(reward)
    assert told["result"].status == "complete"
    assert all(-1 <= reward <= 1 for reward in rewards)


def test_an_observation_is_within_its_space():
    from flowyard import gym

    environment = gym.Connection(path(), rate_bps=RATE / 1e4, interval_us=500)
    seen, told = environment.reset(seed=1)
    assert told["observation"].throughput_bps > 10 * environment.rate_bps
    assert environment.observation_space.contains(seen)
    environment.close()


def test_gymnasium_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch):
    """Without the package the import says what to install."""
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "flowyard.gym", raising=False)
    with pytest.raises(fy.errors.UserError, match="pip install gymnasium"):
        importlib.import_module("flowyard.gym")
