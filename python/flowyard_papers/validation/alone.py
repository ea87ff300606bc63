"""A flow alone in the network: exact arithmetic, the ideal completion time, and transports that cannot beat it.

With n packets of which n - 1 are full and the last one may be shorter, in order over one path, store-and-forward: let
t_h and s_h be the times of a full packet and of the last one on hop h. The last packet follows the full ones up to some
hop m, where it waits for them for the last time, and goes on alone from there. The full packet before it is done with
hop m after t_1 + ... + t_m and n - 2 times the slowest of these; the latest of all m counts:

    sum of delays + max over m of (t_1 + ... + t_m + (n - 2) max(t_1 ... t_m) + s_m + ... + s_H)

All in whole picoseconds; a time that is not whole is rounded up for each packet.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import pinned_fields, style
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, all_exactly, judged, not_reached
from flowyard.sweeps import Axis, Plan
from flowyard.topology import Network, network

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# Each with the host to which host 0 sends. Its shortest paths are all alike.
NETWORKS: Mapping[str, tuple[dict[str, Any], int]] = {
    "one cable": ({"line": {"switches": 0, "rate": "3Gbps"}}, 1),
    "equal links": ({"line": {"switches": 3, "rate": "1Gbps", "delay": "17ns"}}, 1),
    "slow link first": ({"line": {"switches": 2, "rates": ["1Gbps", "7Gbps", "10Gbps"]}}, 1),
    "slow link inside": ({"line": {"switches": 2, "rates": ["10Gbps", "1Gbps", "7Gbps"]}}, 1),
    "slow link last": ({"line": {"switches": 2, "rates": ["40Gbps", "10Gbps", "1Gbps"]}}, 1),
    "fast and slow": ({"line": {"switches": 3, "rates": ["4Gbps", "10Gbps", "3Gbps", "9Gbps"]}}, 1),
    "dumbbell": ({"dumbbell": {"hosts": 2, "bottleneck": {"rate": "2Gbps", "delay": "5us"}}}, 3),
    "relaying host": ({"relay": {"rate": "40Gbps"}}, 2),
    "leaf-spine": (
        {"leaf-spine": {"leaves": 2, "spines": 2, "hosts": 2, "spine": {"rate": "40Gbps"}}},
        3,
    ),
    "fat-tree": ({"fat-tree": {"k": 4, "host": {"rate": "7Gbps"}}}, 15),
}
# Payload and header of a full packet.
FRAMES = {"datagram": (1472, 28), "ndp": (1436, 64), "tcp": (1460, 40)}
TRANSPORTS: Mapping[str, dict[str, Any]] = {
    "datagram": {"datagram": {"lengths": {"fixed": "1500B"}, "header_bytes": "28B"}},
    "ndp": {"ndp": {"mtu": "1500B", "header_bytes": "64B", **pinned_fields.NDP}},
    "tcp": {"tcp": {"mss": "1460B", "header_bytes": "40B"}},
}
# One byte, around one packet and two, whole packets, and many.
SIZES = (1, 1436, 1472, 1473, 2000, 14_720, 100_000, 1_000_000)

Hop = tuple[int, int]
"""Rate in bit/s and delay in ps."""


def plans(scale: Scale) -> dict[str, Plan]:
    """Every network, size and transport."""
    sizes = (*SIZES, *scale.pick((), (10_000_000,)))
    scenarios = [
        {
            "topology": topology,
            "traffic": [
                {
                    "name": "flow",
                    "arrivals": {"at-once": {"jitter": "0s"}},
                    "matrix": {"pairs": [[0, to]]},
                    "sizes": {"fixed": "1B"},
                }
            ],
        }
        for topology, to in NETWORKS.values()
    ]
    axes = [
        Axis("network", scenarios=scenarios, labels=list(NETWORKS)),
        Axis("size", {"traffic.flow.sizes.fixed": [f"{size}B" for size in sizes]}, labels=sizes),
        Axis("carrier", {"transport": list(TRANSPORTS.values())}, labels=list(TRANSPORTS)),
    ]
    return {"alone": Plan(axes=axes, name="alone")}


def tables(sweeps: Sweeps) -> Tables:
    """Each flow's time, ideal and our own arithmetic."""
    paths = {
        name: shortest_path(network({"topology": topology}), to) for name, (topology, to) in NETWORKS.items()
    }
    flows = sweeps["alone"].flows.select("network", "size", "carrier", "fct_ps", "ideal_fct_ps").collect()
    keys = flows.select("network", "size", "carrier").iter_rows()
    packets = [(paths[where], cut(size, *FRAMES[carrier])) for where, size, carrier in keys]
    arithmetic = [store_and_forward(path, sizes) for path, sizes in packets]
    bound = [least(path, sizes) for path, sizes in packets]
    return {
        "flows": flows.with_columns(
            pl.Series("packets", [len(sizes) for _, sizes in packets]),
            pl.Series("hops", [len(path) for path, _ in packets]),
            pl.Series("arithmetic_ps", arithmetic),
            pl.Series("least_ps", bound),
        ).with_columns(pl.col("fct_ps", "ideal_fct_ps").cast(pl.Int64))
    }


def shortest_path(net: Network, to: int) -> list[Hop]:
    """The hops from host 0 to another host."""
    near: dict[int, list[tuple[int, Hop]]] = {}
    for a, b, rate, rate_back, delay in net.cables:
        near.setdefault(a, []).append((b, (rate, delay)))
        near.setdefault(b, []).append((a, (rate_back, delay)))
    hosts = [place for place, node in enumerate(net.nodes) if node.host]
    ways: dict[int, list[Hop]] = {hosts[0]: []}
    waiting = deque([hosts[0]])
    while waiting:
        here = waiting.popleft()
        for other, hop in near[here]:
            if other not in ways:
                ways[other] = [*ways[here], hop]
                waiting.append(other)
    return ways[hosts[to]]


def cut(size: int, payload: int, header: int) -> list[int]:
    """A flow's packets, bytes on the wire."""
    full, rest = divmod(size, payload)
    return [payload + header] * full + ([rest + header] if rest else [])


def wire_ps(size: int, rate: int) -> int:
    """How long that many bytes take, rounded up."""
    return -(-8 * size * 10**12 // rate)


def store_and_forward(path: Sequence[Hop], packets: Sequence[int]) -> int:
    """When the last of the packets, all of one size but perhaps the last, has arrived: the formula above."""
    full = [wire_ps(packets[0], rate) for rate, _ in path]
    last = [wire_ps(packets[-1], rate) for rate, _ in path]
    delays = sum(delay for _, delay in path)
    if len(packets) == 1:
        return delays + sum(last)
    meets = range(1, len(path) + 1)
    return delays + max(
        sum(full[:m]) + (len(packets) - 2) * max(full[:m]) + sum(last[m - 1 :]) for m in meets
    )


def least(path: Sequence[Hop], packets: Sequence[int]) -> int:
    """Lower bound for every order and every choice of paths between the hosts' links.

    All packets cross the first link, one after the other, and the last link; before and behind it the smallest one
    needs its time.
    """
    small = [wire_ps(min(packets), rate) for rate, _ in path]
    delays = sum(delay for _, delay in path)
    ends = {0, len(path) - 1}
    return delays + max(
        sum(small) - small[m] + sum(wire_ps(size, path[m][0]) for size in packets) for m in ends
    )


def _rows(tables: Tables, carriers: Sequence[str]) -> pl.DataFrame:
    return tables["flows"].filter(pl.col("carrier").is_in(carriers))


def _whole(rows: pl.DataFrame, carriers: Sequence[str]) -> bool:
    """Whether all networks and sizes are there."""
    there = set(rows.select("network", "size", "carrier").iter_rows())
    return not {(n, size, c) for n in NETWORKS for size in SIZES for c in carriers} - there


def _equal(tables: Tables, column: str, carriers: Sequence[str]) -> Judgement:
    rows = _rows(tables, carriers)
    if not _whole(rows, carriers):
        return not_reached("there are not all networks and sizes")
    columns = rows.select("network", "size", column, "arithmetic_ps").iter_rows()
    return all_exactly(
        ((f"{size} B over {where}, ps", got, due) for where, size, got, due in columns), "times"
    )


def _never_faster(tables: Tables) -> Judgement:
    carriers = ("ndp", "tcp")
    rows = _rows(tables, carriers)
    if not _whole(rows, carriers) or rows["fct_ps"].null_count():
        return not_reached("there are not all networks and sizes, or a flow did not end")
    slowdown = pl.col("fct_ps") / pl.col("ideal_fct_ps")
    early = rows.filter((pl.col("fct_ps") < pl.col("ideal_fct_ps")) | (pl.col("fct_ps") < pl.col("least_ps")))
    smallest = rows.select(slowdown.min()).item()
    measured = f"{len(rows) - len(early)} of {len(rows)} flows; smallest slowdown {smallest:.6f}"
    found = judged(early.is_empty(), measured, "every flow, slowdown >= 1")
    said = [
        f"{r['size']} B by {r['carrier']} over {r['network']}" for r in early.head(3).iter_rows(named=True)
    ]
    return found.because("too early: " + "; ".join(said))


def draw(tables: Tables) -> "Picture":
    """Completion times against arithmetic, and slowdowns."""
    picture, (left, right) = style.panels(1, 2)
    flows = tables["flows"]
    diagonal = (flows["arithmetic_ps"].sort() / 1e6).to_numpy()
    left.plot(diagonal, diagonal, color="#000000", linewidth=0.9)
    for place, carrier in enumerate(("tcp", "ndp", "datagram")):
        rows = flows.filter(carrier=carrier).sort("size")
        look: dict[str, Any] = {
            "color": style.COLOURS[place],
            "marker": style.MARKERS[place],
            "linestyle": "none",
            "markersize": 4,
            "label": {"tcp": "TCP", "ndp": "NDP", "datagram": "datagrams"}[carrier],
        }
        left.plot((rows["arithmetic_ps"] / 1e6).to_numpy(), (rows["fct_ps"] / 1e6).to_numpy(), **look)
        # Beside each other rather than upon each other.
        size = rows["size"].to_numpy() * 1.15 ** (place - 1)
        right.plot(size, (rows["fct_ps"] / rows["ideal_fct_ps"]).to_numpy(), **look)
    left.set(xscale="log", yscale="log", xlabel="arithmetic (us)", ylabel="completion time (us)")
    left.set_title("datagrams lie on the line")
    left.legend(loc="upper left")
    right.axhline(1, color="#000000", linewidth=0.9)
    right.set(xscale="log", xlabel="size of the flow (B)", ylabel="slowdown")
    right.set_title("none is below 1")
    return picture


FIGURE = Figure(
    id="VAL-A",
    title="A flow alone: exact times, and transports that do not beat them",
    plans=plans,
    tables=tables,
    claims={
        "VAL-A.a": lambda tables: _equal(tables, "fct_ps", ["datagram"]),
        "VAL-A.b": lambda tables: _equal(tables, "ideal_fct_ps", ["datagram", "tcp"]),
        "VAL-A.c": _never_faster,
    },
    draw=draw,
    assumed=(
        "Packets have at most 1500 B on the wire; their headers are those of UDP, TCP and NDP, 28, 40 and 64 B.",
        "The ideal time is compared for datagrams and TCP, which keep to one path. NDP sprays packets, so that a short "
        "last one may overtake and its ideal be lower.",
        "TCP and NDP have the simulator's defaults; TCP shakes hands first.",
    ),
)
