"""TCP's outcast over a grid of cables and buffers: whether it is there, or an accident of the phase.

Over drop-tail ports the delay of a cable decides which of several flows in step finds room, again and again (Floyd and
Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", 1992). One set-up says nothing, therefore: claims are
judged over 20. Hosts of a testbed are never quite in step; here that is 1 % of the receiver's link, packets of random
lengths at random times from all senders. Without them it is the same a second time. A third time the shortest timeout
is 2 ms, as in public reproductions of the paper: who is locked out waits for it, so that the size follows from it.

Which side is locked out can be worked out from the cables (`near_gives_way`): a full port has one free place when a
packet has left, and who comes first takes it.
"""

from typing import Any

import polars as pl

from flowyard.papers import judge
from flowyard.papers.figure import Judgement, Scale
from flowyard.sweeps import Axis, Plan, Sweep

HOSTS = 16
DELAYS = ("1us", "2us", "5us", "9.5us", "10us")
BUFFERS = (30, 50, 64, 100)
NOISE, SILENCE, SOON = "1 % of random packets", "nothing else sends", "and timeouts from 2 ms on"
# A full packet and an acknowledgement at 1 Gbps; links that a packet takes from a sender in the receiver's rack, and
# from one in another pod.
PACKET_US, ACK_US, NEAR_LINKS, FAR_LINKS = 12.0, 0.32, 2, 6
# Set-ups in which the near sender has to get less, and how many times less in the median one.
LEAST, FACTOR = 18, (1.25, 10.0)
TO_ONE = [[n, 0] for n in range(1, HOSTS)]
# Sources in the receiver's rack, and in other pods.
NEAR, FAR = 1, 4


def plan(scale: Scale) -> Plan:
    """15 senders to one under TCP in every set-up, with and without random packets."""
    flows: dict[str, Any] = {
        "name": "flows",
        "arrivals": {"at-once": {"jitter": "1ms"}},
        "matrix": {"pairs": TO_ONE},
        "sizes": "endless",
        "background": True,
    }
    lengths = {"uniform": {"min": "64B", "max": "1500B"}}
    # 15 of them send 1 % of 1 Gbps.
    random = {"datagram": {"lengths": lengths, "pace": {"poisson": "666667bps"}}}
    noise = flows | {"name": "noise", "transport": random}
    soon = flows | {"transport": {"tcp": {"rto_min": "2ms", "rto_initial": "10ms"}}}
    axes = [
        Axis("also", {"traffic": [[flows, noise], [flows], [soon, noise]]}, labels=(NOISE, SILENCE, SOON)),
        Axis("delay", {"topology.fat-tree.delay": list(DELAYS)}),
        Axis("buffer", {"queue.drop-tail.limit.packets": list(BUFFERS)}),
    ]
    scenario = {
        "topology": {"fat-tree": {"k": 4, "rate": "1Gbps", "delay": DELAYS[0]}},
        "transport": "tcp",
        "queue": {"drop-tail": {"limit": {"packets": BUFFERS[0]}}},
        "routing": {"balancer": "per-flow"},
        "traffic": [flows],
        "run": {"until": scale.pick("1s", "10s")},
    }
    return Plan(scenario, axes, scale.pick(1, 5), name="set-ups")


def runs(sweep: Sweep) -> pl.DataFrame:
    """One row per run: the goodput of the sender in the receiver's rack, and the mean of those in other pods."""
    end_ps = {run: summary["end_ps"] for run, summary in sweep.summaries().items()}
    seconds = pl.col("run").replace_strict(end_ps, return_dtype=pl.Int64) / 1e12
    mbps = 8e-6 * pl.col("delivered_bytes") / seconds
    keys = ["also", "delay", "buffer", "replica"]
    return (
        sweep.flows.filter(pl.col("tag") == "flows")
        .group_by(keys)
        .agg(
            near_mbps=mbps.filter(pl.col("src") == NEAR).mean(),
            far_mbps=mbps.filter(pl.col("src") >= FAR).mean(),
        )
        .sort(keys)
        .collect()
    )


def means(runs: pl.DataFrame) -> pl.DataFrame:
    """Means of each set-up over its replicas, and how many times as much the far senders get as the near one."""
    keys = ["also", "delay", "buffer"]
    found = runs.group_by(keys, maintain_order=True).agg(pl.col("near_mbps", "far_mbps").mean())
    return found.with_columns(factor=pl.col("far_mbps") / pl.col("near_mbps"))


def outcast(runs: pl.DataFrame) -> Judgement:
    """The near sender gets less nearly everywhere, by a factor that is neither noise nor a lock-out."""
    return judge.by_reading({also: _over_the_grid(runs.filter(also=also)) for also in (NOISE, SILENCE, SOON)})


def comes_after_us(links: int, delay_us: float) -> float:
    """When the packet of a sender is at the port that the acknowledgement of a departed one has let out.

    From the end of a departure, less whole packets, one of which leaves after the other.

    Args:
        links: Between the sender and the receiver, one of which is the port's own.
        delay_us: Of each cable.
    """
    way = delay_us + links * (ACK_US + delay_us) + (links - 1) * (PACKET_US + delay_us)
    return way % PACKET_US


def near_gives_way(delay_us: float) -> bool:
    """Whether packets from other pods are at the port before those from the receiver's rack, after each departure."""
    return comes_after_us(FAR_LINKS, delay_us) < comes_after_us(NEAR_LINKS, delay_us)


def share_of_cables(steps: int = 12_000) -> float:
    """At how many of all cables up to a packet's length that is so: three times as fast round the same circle."""
    return sum(near_gives_way(PACKET_US * (step + 0.5) / steps) for step in range(steps)) / steps


def _over_the_grid(runs: pl.DataFrame) -> Judgement:
    found = means(runs)
    there = set(found.select("delay", "buffer").iter_rows())
    if there != {(delay, packets) for delay in DELAYS for packets in BUFFERS}:
        return judge.not_reached("not every set-up was run")
    if found.select(pl.any_horizontal(pl.all().is_null()).any()).item():
        return judge.not_reached("some set-up has no goodput")
    factors = sorted(found["factor"].to_list())
    less = sum(factor > 1 for factor in factors)
    middle = sum(factors[len(factors) // 2 - 1 : len(factors) // 2 + 1]) / 2
    low, high = FACTOR
    verdict = judge.judged(
        less >= LEAST and low <= middle <= high,
        f"less in {less} of {len(factors)} set-ups; factors {factors[0]:.3g} to {factors[-1]:.3g}, median {middle:.3g}",
        f"less in at least {LEAST} of {len(factors)}; median {low:g} to {high:g}",
    )
    ahead = [
        f"{delay} and {packets} packets {near:.3g} Mbps, from afar {far:.3g}"
        for delay, packets, near, far, factor in found.drop("also").iter_rows()
        if factor <= 1
    ]
    more = f", and {len(ahead) - judge.SHOWN} more" if len(ahead) > judge.SHOWN else ""
    verdict = verdict.because(
        f"the near sender gets more with {'; '.join(ahead[: judge.SHOWN])}{more}"
        if ahead
        else "the sign is that of the source, the size is not"
    )
    by_phase = len(BUFFERS) * sum(near_gives_way(float(delay.removesuffix("us"))) for delay in DELAYS)
    if less >= LEAST or by_phase >= LEAST:
        return verdict
    return verdict.not_reproducible(
        "whose packet is first at the port after each departure takes the place, and by the cables alone that is a far "
        f"one in {by_phase} of these set-ups, and at {share_of_cables():.0%} of all cables (near_gives_way)"
    )
