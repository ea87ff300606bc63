"""A window that is learned: tries windows, keeps count of what each was worth, and mostly uses the best one.

An epsilon-greedy bandit (Sutton and Barto, "Reinforcement learning", 2nd ed., section 2.4). A window is worth the
throughput that it brought, as a share of the path's rate, less the time that packets spent in queues, as a share of the
round trip: what just fills the path is worth most.
"""

from random import Random

from flowyard.prototypes.learning import Environment, Setting

WINDOWS = [1, 2, 4, 8, 16, 32, 64]  # segments


def learn(scenario, rate_bps, interval_us=1000, runs=3, epsilon=0.2, seed=1):
    """The mean worth of each window, after so many runs."""
    chance = Random(seed)
    worth = dict.fromkeys(WINDOWS, 0.0)
    tries = dict.fromkeys(WINDOWS, 0)
    environment = Environment(scenario, interval_us=interval_us)
    for run in range(runs):
        step = environment.reset({"run.seed": run + 1})
        while step.observation is not None:
            untried = [window for window in WINDOWS if not tries[window]]
            explore = untried or (WINDOWS if chance.random() < epsilon else None)
            window = chance.choice(explore) if explore else max(WINDOWS, key=worth.__getitem__)
            # The first interval still has what the window before it has sent: only the second one counts.
            step = environment.step(Setting(cwnd=window * step.observation.mss))
            if step.observation is None:
                break
            step = environment.step(Setting(cwnd=window * step.observation.mss))
            if step.observation is None:
                break
            seen = step.observation
            value = seen.throughput_bps / rate_bps - seen.queue_ps / seen.rtt_ps
            tries[window] += 1
            worth[window] += (value - worth[window]) / tries[window]
    return worth
