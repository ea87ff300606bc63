"""Figure 2, equal-cost paths in a fat-tree: why per-flow ECMP must hash the router's name together with the flow.

Section 3: a router takes a hash of the flow's five-tuple and its own name, modulo its number of next hops. Here flows
walk up and down generated trees with and without the name, and the different paths that they take are counted.

The behaviour of each kind of ECMP is taken from runs: one NDP flow between two pods, alone, whose path is recorded by
the core that it crosses; and a permutation of TCP flows by flow, in which packets may queue but not overtake.
"""

from hashlib import blake2b
from math import comb
from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard.topology import Network, network
from flowyard.topology.paths import Paths
from flowyard_papers.ndp._scheduler import NDP, PACKET_BYTES, TCP, fat_tree

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SIZES = (4, 6, 8)
# Of each pair. That of k^2/4 = 16 equally likely paths one is not met has a probability below 1e-9.
FLOWS = 500
WITH, WITHOUT = "flow and router", "flow alone"
PACKET, FLOW = "per packet", "per flow"
# The fewest for which the claim says that a flow uses all paths.
SENT = 100


def plans(scale: Scale) -> dict[str, Plan]:
    """A flow that is alone, under both kinds, in each tree; permutations by flow."""
    alone = {
        "name": "alone",
        "arrivals": "at-once",
        "matrix": {"pairs": [[0, 1]]},
        "sizes": {"fixed": f"{PACKET_BYTES * SENT}B"},
    }
    flows = {"name": "flows", "arrivals": "at-once", "matrix": "permutation", "sizes": {"fixed": "150KB"}}
    tree = Axis("k", {"topology.fat-tree.k": list(SIZES)})
    trees = Axis(
        "k",
        {
            "topology.fat-tree.k": list(SIZES),
            "traffic.alone.matrix.pairs": [[[0, k**3 // 4 - 1]] for k in SIZES],
        },
    )
    ecmp = Axis("ecmp", {"routing.balancer": ["per-packet", "per-flow"]}, labels=[PACKET, FLOW])
    base = {"topology": fat_tree(SIZES[0]), "transport": NDP}
    by_flow = {"transport": TCP, "routing": {"balancer": "per-flow"}, "traffic": [flows]}
    return {
        "alone": Plan(base | {"traffic": [alone]}, [trees, ecmp], scale.pick(5, 50), name="a flow alone"),
        "flows": Plan(base | by_flow, [tree], scale.pick(2, 10), name="permutation, ECMP by flow"),
    }


def tables(sweeps: Sweeps) -> Tables:
    """Walks from the first server to all in other pods, the same at both scales; what runs did."""
    rows = []
    for k in SIZES:
        tree = network({"topology": {"fat-tree": {"k": k}}})
        paths = Paths.of(tree)
        targets = [host for host in range(tree.hosts) if paths.distance[0, host] == paths.distance.max()]
        hops = {target: _next_hops(paths, target) for target in targets}
        for hashed in (WITHOUT, WITH):
            used = [
                len({_walk(tree, hops[target], target, port, hashed) for port in range(FLOWS)})
                for target in targets
            ]
            rows.append(
                {
                    "k": k,
                    "hashed": hashed,
                    "pairs": len(targets),
                    "flows_a_pair": FLOWS,
                    "paths": int(paths.count[0, targets[0]]),
                    "paths_used_fewest": min(used),
                    "paths_used_most": max(used),
                }
            )
    return {
        "paths_used": pl.DataFrame(rows),
        "alone": _alone(sweeps["alone"]),
        "flows": sweeps["flows"]
        .flows.group_by("k", "replica")
        .agg(
            flows=pl.len().cast(pl.Int64),
            packets=pl.col("packets_sent").sum().cast(pl.Int64),
            reordered=pl.col("reordered").sum().cast(pl.Int64),
        )
        .sort("k", "replica")
        .collect(),
    }


def _alone(sweep: Sweep) -> pl.DataFrame:
    """For each flow the cores that sent its packets down, which no answer does: answers come from the other pod."""
    keys = ["k", "ecmp", "replica"]
    down = (pl.col("tier") == "core-aggregation") & pl.col("to").cast(pl.String).str.starts_with(
        pl.concat_str(pl.lit("pod "), pl.col("k") - 1, pl.lit(" "))
    )
    paths = sweep.links.filter(down, pl.col("packets") > 0).group_by(keys).agg(paths=pl.len().cast(pl.Int64))
    flows = sweep.flows.select(*keys, "completed", pl.col("packets_sent", "reordered").cast(pl.Int64))
    return flows.join(paths, on=keys).sort(keys).collect()


def _next_hops(paths: Paths, target: int) -> dict[int, list[int]]:
    """For each node those of its neighbours that are nearer to the target."""
    distance = paths.distance[target]
    nearer: dict[int, list[int]] = {}
    for start, end in paths.links[distance[paths.links[:, 1]] < distance[paths.links[:, 0]]].tolist():
        nearer.setdefault(start, []).append(end)
    return nearer


def _walk(tree: Network, hops: dict[int, list[int]], target: int, port: int, hashed: str) -> tuple[int, ...]:
    """The nodes by which a flow from the first server comes to another."""
    way = [0]
    while (here := way[-1]) != target:
        choice = 0
        if len(hops[here]) > 1:
            name = tree.nodes[here].name if hashed == WITH else ""
            digest = blake2b(f"{tree.nodes[target].name}:{port} {name}".encode(), digest_size=8).digest()
            choice = int.from_bytes(digest, "big") % len(hops[here])
        way.append(hops[here][choice])
    return tuple(way)


def _confined_without_names(tables: Tables) -> Judgement:
    rows = []
    for k in SIZES:
        for hashed, expected in ((WITHOUT, k // 2), (WITH, k * k // 4)):
            found = tables["paths_used"].filter(k=k, hashed=hashed)
            for which in ("fewest", "most"):
                column = f"paths_used_{which}"
                value = found[column].item() if len(found) == 1 else None
                rows.append((f"k = {k}, hash of {hashed}, {which} paths", value, expected))
    return judge.all_exactly(rows, "numbers of paths")


def _one_path(tables: Tables) -> Judgement:
    alone, flows = tables["alone"].filter(ecmp=FLOW), tables["flows"]
    if set(alone["k"]) != set(SIZES) or set(flows["k"]) != set(SIZES) or not alone["completed"].all():
        return judge.not_reached("not every tree was run")
    rows: list[tuple[str, judge.Value, judge.Value]] = [
        (f"k = {row['k']}, a flow alone, {name}", row[name], value)
        for row in alone.iter_rows(named=True)
        for name, value in (("paths", 1), ("reordered", 0))
    ]
    rows += [
        (f"k = {row['k']}, {row['packets']} packets, reordered", row["reordered"], 0)
        for row in flows.iter_rows(named=True)
    ]
    return judge.all_exactly(rows, "counts")


def _all_paths(tables: Tables) -> Judgement:
    alone = tables["alone"].filter(ecmp=PACKET)
    if set(alone["k"]) != set(SIZES) or not alone["completed"].all():
        return judge.not_reached("not every tree was run")
    if set(alone["packets_sent"]) != {SENT}:
        return judge.not_reached(f"not every flow has the {SENT} packets of the claim")
    rows = [
        (f"k = {row['k']}, paths", row["paths"], row["k"] ** 2 // 4) for row in alone.iter_rows(named=True)
    ]
    fewer = [
        f"{(own['paths'] < k * k // 4).sum()} of {len(own)} flows with k = {k} (by chance {100 * missing(k):.2g} %)"
        for k in SIZES
        for own in (alone.filter(k=k),)
    ]
    return judge.all_exactly(rows, "numbers of paths").because(f"a path is missed by {', '.join(fewer)}")


def missing(k: int) -> float:
    """The probability that packets, each at random on one of k^2/4 paths, leave out one or more of these."""
    paths = k * k // 4
    return sum(comb(paths, out) * (-1.0) ** (out + 1) * (1 - out / paths) ** SENT for out in range(1, paths))


def draw(tables: Tables) -> "Picture":
    """Paths that the flows of a pair use, of those that there are."""
    figure, (panel, packets) = style.panels(1, 2)
    for place, hashed in enumerate((WITHOUT, WITH)):
        rows = tables["paths_used"].filter(pl.col.hashed == hashed)
        middle = [row + 0.36 * (place - 0.5) for row in range(len(rows))]
        label = f"hash of {hashed}"
        bars = panel.bar(middle, rows["paths_used_most"], 0.32, color=style.COLOURS[place], label=label)
        panel.bar_label(bars)
        panel.set_xticks(
            range(len(rows)), [f"k = {k}\n{of} paths" for k, of in rows["k", "paths"].iter_rows()]
        )
    panel.set(ylabel="paths used by flows of a pair", title="per-flow ECMP between pods")
    panel.grid(axis="x", visible=False)
    panel.legend()
    for place, ecmp in enumerate((FLOW, PACKET)):
        rows = tables["alone"].filter(ecmp=ecmp).group_by("k").agg(pl.col("paths").mean()).sort("k")
        middle = [row + 0.36 * (place - 0.5) for row in range(len(rows))]
        bars = packets.bar(middle, rows["paths"], 0.32, color=style.COLOURS[place], label=ecmp)
        packets.bar_label(bars, fmt="{:g}")
        packets.set_xticks(range(len(rows)), [f"k = {k}\n{k * k // 4} paths" for k in rows["k"]])
    packets.set(ylabel="paths used by a flow", title="a flow alone, between pods")
    packets.grid(axis="x", visible=False)
    packets.legend()
    return figure


FIGURE = Figure(
    id="NDP-F2",
    title="Figure 2: paths used by per-flow and per-packet ECMP",
    plans=plans,
    tables=tables,
    claims={"NDP-F2.a": _one_path, "NDP-F2.b": _all_paths, "NDP-F2.c": _confined_without_names},
    draw=draw,
    needs={"alone": Needs(5, by=("k", "ecmp")), "flows": Needs(5, by=("k",))},
    assumed=(
        "The hash is 64 bits of BLAKE2b, as the paper names none, and routers list their next hops in the order of "
        "the switches' numbers.",
        "A flow that is alone has 100 packets, the fewest of the claim.",
    ),
)
