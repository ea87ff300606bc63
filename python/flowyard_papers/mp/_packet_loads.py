"""Loads of a fat-tree's links and switches in runs, beside those of `flowyard.theory` for the same paths.

A load is in units of what one node sends. Each node sends to one other, which a permutation says. Where paths are
settled, runs must agree with the theory packet for packet; where they are drawn, the largest loads of many runs are
set against those of many draws of the theory.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import polars as pl

from flowyard.sweeps import Axis, Plan, Sweep
from flowyard.theory import loads, matrices, routings
from flowyard.theory.fat_tree import Channel, FatTree, Switch, channels_on, turn
from flowyard.theory.loads import Resource
from flowyard.theory.routings import Routing

# Packets of a flow, a multiple of the numbers of paths, 4 and 16; and their payload, with 40 B of headers.
PACKETS, PAYLOAD, HEADER = 64, 1460, 40
TREES = {"FT(4,3)": FatTree(4, 3), "FT(8,3)": FatTree(8, 3)}
# Each of one path for a pair, but MDNVR, whose packets take all in turn.
SETTLED: Mapping[str, tuple[Any, Callable[[FatTree], Routing]]] = {
    "NR": ("single", routings.normal),
    "d-mod-k": ({"mod-k": {"by": "destination"}}, routings.d_mod_k),
    "s-mod-k": ({"mod-k": {"by": "source"}}, routings.s_mod_k),
    "MDNVR": ("permuted", routings.all_paths),
}
DUAL = "Dual"
DRAWN: Mapping[str, Any] = {"DNVR": {"nix": {}}, "ECMP by flow": "per-flow", "Valiant": "valiant"}
# As many runs of the schemes that draw as chapter 5 has; draws of the theory cost less.
REPLICAS, THEORY_DRAWS = 20, 200


def targets(tree: FatTree) -> dict[str, list[int]]:
    """The node that each node sends to, by pattern: two strides and three permutations without a fixed point."""
    found = {f"Stride({by})": [(n + by) % tree.nodes for n in range(tree.nodes)] for by in (tree.half**2, 2)}
    for number in range(1, 4):
        source, drawn = random.Random(f"permutation {number} of {tree}"), list(range(tree.nodes))
        while any(place == target for place, target in enumerate(drawn)):
            source.shuffle(drawn)
        found[f"permutation {number}"] = drawn
    return found


def _scenario(tree: FatTree, pattern: str, transport: Any) -> dict[str, Any]:
    pairs = [[source, target] for source, target in enumerate(targets(tree)[pattern])]
    return {
        "topology": {"fat-tree": {"k": tree.m, "levels": tree.n}},
        "transport": transport,
        "queue": "infinite",
        "traffic": [
            {
                "name": "all",
                "matrix": {"pairs": pairs},
                "arrivals": "at-once",
                "sizes": {"fixed": f"{PACKETS * PAYLOAD}B"},
            }
        ],
    }


def plans() -> dict[str, Plan]:
    """Every scheme and pattern on both trees, datagrams; Dual with two connections of parallel TCP."""
    datagrams = {"datagram": {"lengths": {"fixed": f"{PAYLOAD + HEADER}B"}, "header_bytes": f"{HEADER}B"}}
    found = {}
    for name, tree in TREES.items():
        for kind, transport, schemes, replicas in (
            ("settled", datagrams, {scheme: balancer for scheme, (balancer, _) in SETTLED.items()}, 1),
            ("dual", {"parallel-tcp": {"paths": {"count": 2}}}, {DUAL: {"dual": {}}}, 1),
            ("drawn", datagrams, DRAWN, REPLICAS),
        ):
            patterns = Axis(
                "pattern",
                scenarios=[_scenario(tree, pattern, transport) for pattern in targets(tree)],
                labels=list(targets(tree)),
            )
            balancers = Axis("scheme", {"routing.balancer": list(schemes.values())}, labels=list(schemes))
            found[f"{kind}-{name}"] = Plan(None, [patterns, balancers], replicas, name=f"{kind} {name}")
    return found


def links(sweeps: Mapping[str, Sweep]) -> pl.DataFrame:
    """Loads of links and switches in the runs of the settled schemes and of Dual, beside those of the theory.

    A row for each load of a level with the number of links, or switches, that have it. Of Dual, whose
    connections need not have halves, the theory has the paths and the runs say how much each connection sent.
    """
    rows: list[dict[str, Any]] = []
    for name, tree in TREES.items():
        schemes = {scheme: of(tree) for scheme, (_, of) in SETTLED.items()}
        patterns = targets(tree)
        for (pattern, scheme, _), found in _measured(sweeps[f"settled-{name}"], tree).items():
            whole = dict.fromkeys(enumerate(patterns[pattern]), Fraction(1))
            keys = {"tree": name, "pattern": pattern, "scheme": scheme}
            rows += _beside(keys, tree, found, [(schemes[scheme], whole)])
        sent = _connections(sweeps[f"dual-{name}"])
        families = [routings.family(tree, number) for number in (0, 1)]
        for (pattern, scheme, _), found in _measured(sweeps[f"dual-{name}"], tree).items():
            pairs = list(enumerate(patterns[pattern]))
            parts = [
                (
                    routing,
                    {pair: Fraction(sent.get((pattern, pair[0], number), 0), PACKETS) for pair in pairs},
                )
                for number, routing in enumerate(families)
            ]
            rows += _beside({"tree": name, "pattern": pattern, "scheme": scheme}, tree, found, parts)
    columns = ["tree", "pattern", "scheme", "of", "level", "measured", "theory"]
    return pl.DataFrame(rows).group_by(columns).agg(number=pl.len().cast(pl.Int64)).sort(columns)


def draws(sweeps: Mapping[str, Sweep]) -> pl.DataFrame:
    """The largest loads of links and cores in each run of the schemes that draw; and in each draw of the theory."""
    rows: list[dict[str, Any]] = []
    for name, tree in TREES.items():
        for (pattern, scheme, replica), found in _measured(sweeps[f"drawn-{name}"], tree).items():
            rows.append(
                {"tree": name, "pattern": pattern, "scheme": scheme, "draw": replica} | _largest(tree, found)
            )
        for pattern, of in targets(tree).items():
            source = random.Random(f"draws of {name} {pattern}")
            rows += [
                {"tree": name, "pattern": pattern, "scheme": "theory", "draw": draw}
                | _largest(tree, _drawn(tree, of, source))
                for draw in range(THEORY_DRAWS)
            ]
    return pl.DataFrame(rows)


def _drawn(tree: FatTree, of: list[int], source: random.Random) -> dict[Channel, Fraction]:
    """Loads where each pair has one of its shortest paths, all as likely."""
    used = Counter[Channel]()
    for start, end in enumerate(of):
        climbs = tree.n - 1 - turn(tree, start, end)
        up = tuple(source.randrange(tree.half) for _ in range(climbs))
        used.update(channels_on(tree, start, end, up))
    return {channel: Fraction(number) for channel, number in used.items()}


def _largest(tree: FatTree, carried: Mapping[Channel, Fraction]) -> dict[str, float]:
    """The largest load of a link above the edge, and of a core switch."""
    cores: dict[int, Fraction] = {}
    for channel, load in carried.items():
        if channel.level == 0 and channel.up:
            cores[channel.upper] = cores.get(channel.upper, Fraction(0)) + load
    above = [load for channel, load in carried.items() if channel.level < tree.n - 1]
    return {"link": float(max(above)), "core": float(max(cores.values()))}


def _measured(sweep: Sweep, tree: FatTree) -> dict[tuple[str, str, int], dict[Channel, Fraction]]:
    """The data that each channel carries in each run: of its packets those that are no acknowledgements."""
    data = (pl.col("bytes").cast(pl.Int64) - HEADER * pl.col("packets").cast(pl.Int64)) / PAYLOAD
    rows = (
        sweep.links.filter(pl.col("bytes") > HEADER * pl.col("packets"))
        .select("pattern", "scheme", "replica", pl.col("from", "to").cast(pl.String), data=data)
        .collect()
    )
    found: dict[tuple[str, str, int], dict[Channel, Fraction]] = {}
    for pattern, scheme, replica, start, end, packets in rows.iter_rows():
        assert packets == int(packets), "packets that are not full"
        of = found.setdefault((pattern, scheme, replica), {})
        of[_channel(tree.half, start, end)] = Fraction(int(packets), PACKETS)
    return found


def _channel(half: int, start: str, end: str) -> Channel:
    """Of the link between two nodes, by their names: "host 3", "pod 0 edge 1", "pod 0 aggregation 0", "core 2"."""
    below, above = sorted((start, end), key=_height)
    level = 3 - _height(above)
    return Channel(level, _place(half, below), _place(half, above), start == below)


def _height(name: str) -> int:
    return ("host", "edge", "aggregation", "core").index(name.split()[-2])


def _place(half: int, name: str) -> int:
    """The number within its level; switches of a pod are numbered anew in each."""
    words = name.split()
    return int(words[-1]) + (half * int(words[1]) if words[0] == "pod" else 0)


def _connections(sweep: Sweep) -> dict[tuple[str, int, int], int]:
    """Data packets by pattern, source and subflow."""
    keys = ["pattern", "scheme", "replica"]
    flows = sweep.flows.select(*keys, "src", flow="id")
    sent = sweep.scan("connections").select(*keys, "flow", "subflow", "packets_sent")
    rows = sent.join(flows, on=[*keys, "flow"]).select("pattern", "src", "subflow", "packets_sent").collect()
    return {(pattern, source, number): packets for pattern, source, number, packets in rows.iter_rows()}


def _beside(
    keys: Mapping[str, str],
    tree: FatTree,
    measured: Mapping[Channel, Fraction],
    parts: Sequence[tuple[Routing, Mapping[tuple[int, int], Fraction]]],
) -> Iterable[dict[str, Any]]:
    """A row for each link and switch that carries something here or there.

    Args:
        keys: Their first columns.
        tree: Where.
        measured: What channels carry in a run.
        parts: Routings, each with the traffic that takes it.
    """
    links: dict[Channel, Fraction] = defaultdict(Fraction)
    switches: dict[Switch, Fraction] = defaultdict(Fraction)
    for routing, traffic in parts:
        some = {pair: routing[pair] for pair in traffic}
        matrix = matrices.empty(tree.nodes)
        for (source, target), amount in traffic.items():
            matrix[source][target] = amount
        for channel, load in loads.loads(loads.channel_shares(tree, some), matrix).items():
            links[channel] += load
        for switch, load in loads.loads(loads.switch_shares(tree, some), matrix).items():
            switches[switch] += load
    entered: dict[Switch, Fraction] = defaultdict(Fraction)
    for channel, load in measured.items():
        # What arrives at a switch by the channel; a node is none.
        if channel.up:
            entered[Switch(channel.level, channel.upper)] += load
        elif channel.level < tree.n - 1:
            entered[Switch(channel.level + 1, channel.lower)] += load
    yield from _rows({**keys, "of": "link"}, measured, links)
    yield from _rows({**keys, "of": "switch"}, entered, switches)


def _rows(
    keys: Mapping[str, str], measured: Mapping[Resource, Fraction], theory: Mapping[Resource, Fraction]
) -> Iterable[dict[str, Any]]:
    for each in measured.keys() | theory.keys():
        found, expected = (float(of.get(each, Fraction(0))) for of in (measured, theory))
        if found or expected:
            yield {**keys, "level": each.level, "measured": found, "theory": expected}
