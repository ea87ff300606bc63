"""SYN, section II (claim P15): what SYN carries with queues by destination, and what it would with one queue a server.

Queues by destination are there "to avoid the throughput degradation due to the well-known head-of-line problem". With
one queue only its first packet can be matched, and it blocks those behind it. For packets to servers at random
that leaves 2 - sqrt(2) = 0.586 of the slots (Karol, Hluchyj and Morgan, IEEE Transactions on Communications, 1987), a
little more of 120 servers. The model here has slots and nothing else. With queues by destination the simulator is
measured, offered more than slots hold.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.syn import _rack as rack
from flowyard_papers.syn import limits
from flowyard_papers.syn._leaf_spine import SERVERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

ONE_QUEUE, QUEUES = "one queue a server", "a queue for each destination"
PACKETS, FLOWS = "packets to random servers", "flows of 46 kB"
# Packets of a flow on average, whole ones.
FLOW_PACKETS = rack.offered_bytes(rack.FIXED) / rack.MTU_BYTES
SHARES = (0.4, 0.5, 0.55, 0.6, 0.7, 0.8, 0.95, limits.ABOVE)


def carried(offered: float, flow_packets: float, slots: int, random: np.random.Generator) -> float:
    """Packets a server and slot that slots carry where each server has one queue, after as many slots of warm-up.

    Args:
        offered: Packets that come to a server in a slot; 1 or more: its queue is never empty.
        flow_packets: The mean number of packets in a row to one server, geometric.
        slots: How many count.
        random: For arrivals, destinations and ties.
    """
    servers = np.arange(SERVERS)
    queued = np.zeros(SERVERS)
    target = _others(servers, random)
    sent = 0
    for slot in range(2 * slots):
        # A flow comes at once, so that a queue gets many packets or none.
        comes = random.random(SERVERS) < offered / flow_packets
        queued[comes] += random.geometric(1 / flow_packets, int(comes.sum()))
        waiting = random.permutation(servers if offered >= 1 else servers[queued > 0])
        # Of those that want one server the last in a random order is served.
        winner = np.full(SERVERS, -1)
        winner[target[waiting]] = waiting
        served = winner[winner >= 0]
        queued[served] -= 1
        new = served[random.random(len(served)) < 1 / flow_packets]
        target[new] = _others(new, random)
        sent += len(served) * (slot >= slots)
    return sent / (slots * SERVERS)


def _others(servers: "np.ndarray[Any, Any]", random: np.random.Generator) -> "np.ndarray[Any, Any]":
    """For each of these servers another one, at random."""
    return (servers + random.integers(1, SERVERS, len(servers))) % SERVERS


def _window(scale: Scale) -> rack.Window:
    return scale.pick(rack.Window(5, 10, 0, 0), rack.Window(10, 50, 0, 0))


def plans(scale: Scale) -> dict[str, Plan]:
    """SYN with MMF, all queues with packets when a run begins, offered more than slots hold."""
    load = limits.ABOVE * rack.limit(rack.MMF, rack.FIXED)
    base = limits.saturated(rack.MMF, rack.FIXED, load, _window(scale))
    axes = [Axis("of_limit", scenarios=[base], labels=[limits.ABOVE])]
    return {"queues": Plan(axes=axes, replicas=scale.pick(1, 10), name="a queue for each destination")}


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """A row for each share and replica: what is carried, in packets a server and slot."""
    sweep, window, full = sweeps["queues"], _window(scale), rack.limit(rack.MMF, rack.FIXED)
    rows: list[dict[str, Any]] = []
    for run in sweep.runs.filter("done").iter_rows(named=True):
        found = limits.measured(sweep.path(run["run"]), window, rack.FRAME_BYTES)
        rows.append(
            {"queues": QUEUES, "traffic": FLOWS, "of_limit": run["of_limit"], "replica": run["replica"]}
            | {"carried": rack.scaled(found["carried"], rack.FIXED) / full}
        )
    for traffic, packets in ((PACKETS, 1.0), (FLOWS, FLOW_PACKETS)):
        for share in SHARES:
            for replica in range(scale.pick(1, 10)):
                random = np.random.default_rng([15, round(100 * share), round(packets), replica])
                got = carried(share, packets, scale.pick(4_000, 40_000), random)
                about = {"queues": ONE_QUEUE, "traffic": traffic, "of_limit": share, "replica": replica}
                rows.append(about | {"carried": got})
    keys = ["queues", "traffic", "of_limit"]
    runs = pl.DataFrame(rows).sort(*keys, "replica")
    return {"runs": runs, "points": replica_means(runs, keys, ["carried"])}


def _blocked(tables: Tables) -> Judgement:
    """Carried load above capacity, by the load of the one queue."""
    points = tables["points"].filter(pl.col("of_limit") > 1)
    found = {(row["queues"], row["traffic"]): row["carried"] for row in points.iter_rows(named=True)}
    own = judge.at_least(found.get((QUEUES, FLOWS)), 0.95).called("a queue for each destination")
    why = {
        PACKETS: "with one queue slots carry another share than the known result",
        FLOWS: "flows to one server keep their queues blocked for longer than packets do",
    }
    return judge.by_reading(
        {
            traffic: judge.together(
                [
                    judge.between(found.get((ONE_QUEUE, traffic)), 0.55, 0.62)
                    .because(said)
                    .called("one queue"),
                    own,
                ]
            )
            for traffic, said in why.items()
        }
    )


def draw(tables: Tables) -> "Picture":
    """Carried over offered load."""
    picture, (axes,) = style.panels()
    cases = ((QUEUES, FLOWS), (ONE_QUEUE, PACKETS), (ONE_QUEUE, FLOWS))
    for place, (queues, traffic) in enumerate(cases):
        own = tables["points"].filter(queues=queues, traffic=traffic).sort("of_limit")
        # With queues by destination there is one point: more than slots hold is offered.
        style.curve(axes, own, "of_limit", "carried", place, f"{queues}, {traffic}")
    axes.plot([0, 1, 1.25], [0, 1, 1], "k--", linewidth=0.7)
    axes.axhline(2 - 2**0.5, color="#000000", linewidth=0.7, linestyle=":")
    axes.set(xlabel="offered / what slots hold", ylabel="carried / what slots hold", xlim=(0.3, 1.25))
    axes.set_ylim(0.3, 1.05)
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(0, 0.93))
    return picture


FIGURE = Figure(
    id="SYN-P15",
    title="Queues by destination against one queue a server, under SYN",
    plans=plans,
    tables=tables,
    claims={"SYN-P15": _blocked},
    draw=draw,
    needs={"points": Needs(10, by=("queues", "traffic", "of_limit"))},
    assumed=(
        *rack.ASSUMED[:2],
        "One queue a server: a model of slots with 120 servers, each packet fills one, the next of those that want a "
        "server is drawn. Packets go to servers at random, as in the known result, or in flows of 31.2 on average to "
        "one server, geometric. Offered 1.2 of the slots, its queues are never empty.",
        "A queue for each destination: the simulator under MMF; as in SYN-F6-LIMITS flows wait in all queues when a "
        "run begins, and what is offered and does not add to what waits is carried.",
    ),
)
