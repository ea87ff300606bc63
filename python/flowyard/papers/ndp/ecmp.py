"""Figure 2, equal-cost paths in a fat-tree: why per-flow ECMP must hash the router's name together with the flow.

Section 3: a router takes a hash of the flow's five-tuple and its own name, modulo its number of next hops. Here flows
walk up and down generated trees with and without the name, and the different paths that they take are counted.
"""

from hashlib import blake2b
from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Scale, Sweeps, Tables
from flowyard.topology import Network, network
from flowyard.topology.paths import Paths

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SIZES = (4, 6, 8)
# Of each pair. That of k^2/4 = 16 equally likely paths one is not met has a probability below 1e-9.
FLOWS = 500
WITH, WITHOUT = "flow and router", "flow alone"


def tables(scale: Scale, sweeps: Sweeps) -> Tables:  # noqa: ARG001
    """The same at both scales: from the first server to all in other pods."""
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
    return {"paths_used": pl.DataFrame(rows)}


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


def draw(tables: Tables) -> "Picture":
    """Paths that the flows of a pair use, of those that there are."""
    figure, (panel,) = style.panels()
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
    return figure


FIGURE = Figure(
    id="NDP-F2",
    title="Figure 2: paths that per-flow ECMP can use",
    tables=tables,
    claims={"NDP-F2.c": _confined_without_names},
    draw=draw,
    assumed=(
        "The hash is 64 bits of BLAKE2b, as the paper names none, and routers list their next hops in the order of "
        "the switches' numbers.",
    ),
)
