"""Topologies of htsim (.topo), as `FatTreeTopology::load` of Broadcom/csg-htsim reads them.

    Nodes 32
    Tiers 2
    Podsize 32

    Tier 0
    Downlink_speed_Gbps 100
    Radix_Down 8
    Radix_Up 2
    Downlink_Latency_ns 1000
    Switch_Latency_ns 0
    Oversubscribed 4

A tree of two or three tiers: tier 0 are the top-of-rack switches (here "edge"), then "aggregation", then
"core". `set_custom_params` derives the numbers of switches from Nodes, Podsize, speeds and oversubscription,
and `init_network` wires them: host h hangs on edge switch h / Radix_Down; an edge switch has `Bundle` cables to
each aggregation switch of its pod; the aggregation switch at place p of its pod reaches the core switches
p, p + a, p + 2a, ..., where a is the number of aggregation switches a pod.
"""

from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import NoReturn

from flowyard.errors import UserError
from flowyard.folders.reading import shown
from flowyard.interchange.network import CABLES_MAX, NODES_MAX, Cable, Network
from flowyard.interchange.text import Source, rate_text, time_text

HEADER = {"nodes": "Nodes", "tiers": "Tiers", "podsize": "Podsize"}
GBPS, NS = 10**9, 10**3
NAMES = ("edge", "aggregation", "core")


@dataclass(frozen=True)
class Tier:
    """The switches of a tier, by the names of the file; speed and latency are those of its links down."""

    downlink_speed_gbps: int = 0
    radix_down: int = 0
    radix_up: int = 0
    downlink_latency_ns: int = 0
    switch_latency_ns: int = 0
    oversubscribed: int = 1
    bundle: int = 1


KEYS = {
    "downlink_speed_gbps": "Downlink_speed_Gbps",
    "radix_down": "Radix_Down",
    "radix_up": "Radix_Up",
    "downlink_latency_ns": "Downlink_Latency_ns",
    "switch_latency_ns": "Switch_Latency_ns",
    "oversubscribed": "Oversubscribed",
    "bundle": "Bundle",
}
# Names that are so much alike are taken for one another, by hand.
NEAR = 0.75
# Bounds that keep products small; latencies up to a second, speeds up to a petabit a second.
LOWEST = {"switch_latency_ns": 0}
HIGHEST = {"downlink_latency_ns": 10**9, "switch_latency_ns": 10**9}


@dataclass(frozen=True)
class Tree:
    """All that a .topo file says."""

    nodes: int
    podsize: int
    tiers: tuple[Tier, ...]


def read(source: Source) -> Network:
    """The network of a .topo file."""
    tree, skipped = _parse(source)
    network = wire(tree, _counts(source, tree))
    if skipped:
        lines = ", ".join(f"{name} (line {line})" for name, line in skipped.items())
        network.notes.append(f"not read: {lines}; ports and balancers are those of the scenario")
    latencies = [tier.switch_latency_ns for tier in tree.tiers]
    if any(latencies):
        network.notes.append(
            "half of Switch_Latency_ns is added to each cable of the switch: a packet crosses two of them, "
            "so that every path has htsim's delay"
        )
    return network


def _parse(source: Source) -> tuple[Tree, dict[str, int]]:
    """Contents of the file, and the first line of each unknown name.

    Forks of htsim have names of their own, such as Queue_Down. One that is nearly a known one is a mistake.
    """
    header: dict[str, int] = {}
    tiers: dict[int, dict[str, int]] = {}
    current: dict[str, int] | None = None
    skipped: dict[str, int] = {}
    known = {**HEADER, "tier": "Tier", **KEYS}
    for line, words in source.lines():
        key = words[0].lower()
        if len(words) != 2:
            raise source.wrong(
                line, f'must be a name and a number, such as "Nodes 32", not {shown(" ".join(words))}'
            )
        if key == "tier":
            number = source.whole(line, "Tier", words[1], 0, 2)
            if number in tiers:
                raise source.wrong(line, f"tier {number} is given a second time")
            current = tiers[number] = {}
        elif key in HEADER and current is None:
            if key in header:
                raise source.wrong(line, f"{HEADER[key]} is given a second time")
            low, high = {"tiers": (2, 3)}.get(key, (1, NODES_MAX))
            header[key] = source.whole(line, HEADER[key], words[1], low, high)
        elif key in KEYS and current is not None:
            if key in current:
                raise source.wrong(line, f"{KEYS[key]} is given a second time for its tier")
            high = HIGHEST.get(key, NODES_MAX)
            current[key] = source.whole(line, KEYS[key], words[1], LOWEST.get(key, 1), high)
        elif key in known:
            names = KEYS if current is not None else HEADER | {"tier": "Tier"}
            allowed = ", ".join(names.values())
            raise source.wrong(line, f"{shown(words[0])} has no place here; allowed are {allowed}")
        elif near := get_close_matches(key, known, n=1, cutoff=NEAR):
            raise source.wrong(line, f"{shown(words[0])} is unknown; did you mean {known[near[0]]}?")
        else:
            skipped.setdefault(shown(words[0]).strip('"'), line)
    for key, name in HEADER.items():
        if key not in header:
            raise source.wrong(0, f'has no line "{name} ..."')
    for number in tiers:
        if number >= header["tiers"]:
            raise source.wrong(
                0, f'says Tiers {header["tiers"]}, but has a "Tier {number}"; tiers are numbered from 0'
            )
    for number in range(header["tiers"]):
        _complete(source, number, header["tiers"], tiers)
    found = tuple(Tier(**tiers[number]) for number in range(header["tiers"]))
    return Tree(header["nodes"], header["podsize"], found), skipped


def _complete(source: Source, number: int, count: int, tiers: dict[int, dict[str, int]]) -> None:
    if number not in tiers:
        raise source.wrong(0, f'says Tiers {count}, but has no "Tier {number}"')
    needed = ["downlink_speed_gbps", "radix_down", "downlink_latency_ns"]
    if number < count - 1:
        needed.append("radix_up")
    elif "radix_up" in tiers[number]:
        # The shipped two-tier files leave it out; it would lead nowhere.
        raise source.wrong(0, f"tier {number} is the top one: it has no Radix_Up")
    for key in needed:
        if key not in tiers[number]:
            raise source.wrong(0, f"tier {number} has no {KEYS[key]}")


@dataclass(frozen=True)
class Counts:
    """Numbers of switches: edge and aggregation a pod, core in all."""

    pods: int
    edges: int
    aggregations: int
    cores: int


def _counts(source: Source, tree: Tree) -> Counts:
    """As `set_custom_params` counts, and every radix checked against the result."""

    def divide(what: str, total: int, parts: int, by: str) -> int:
        if total % parts or not total:
            raise source.wrong(0, f"{what} is {total}, which is not a multiple of {parts} ({by})")
        return total // parts

    def agree(name: str, said: int, wired: int) -> None:
        if said != wired:
            raise source.wrong(
                0, f"{name} is {said}, but speeds, oversubscription and the other radices make it {wired}"
            )

    edge, aggregation = tree.tiers[:2]
    if edge.bundle != 1:
        raise source.wrong(0, f"Bundle of tier 0 is {edge.bundle}; hosts have one link, so it must be 1")
    pods = divide("Nodes", tree.nodes, tree.podsize, "Podsize")
    if len(tree.tiers) == 2 and pods != 1:
        raise source.wrong(0, f"Podsize is {tree.podsize}; with two tiers it must be Nodes, {tree.nodes}")
    edges = divide("Podsize", tree.podsize, edge.radix_down, "Radix_Down of tier 0")
    below = aggregation.downlink_speed_gbps * edge.oversubscribed
    what = "the hosts' speed in all, in Gbps,"
    uplinks = divide(
        what, tree.nodes * edge.downlink_speed_gbps, below, "speed of tier 1 x Oversubscribed of tier 0"
    )
    aggregations = divide(
        "the links up of all of tier 0", uplinks, pods * aggregation.radix_down, "those of tier 1"
    )
    agree("Radix_Up of tier 0", edge.radix_up, aggregations * aggregation.bundle)
    agree("Radix_Down of tier 1", aggregation.radix_down, edges * aggregation.bundle)
    if len(tree.tiers) == 2:
        return Counts(pods, edges, aggregations, 0)

    core = tree.tiers[2]
    below = core.downlink_speed_gbps * aggregation.oversubscribed
    speed = uplinks * aggregation.downlink_speed_gbps
    what = "the speed of tier 1 in all, in Gbps,"
    uplinks = divide(what, speed, below, "speed of tier 2 x Oversubscribed of tier 1")
    cores = divide("the links up of all of tier 1", uplinks, core.radix_down, "Radix_Down of tier 2")
    each = divide("the number of core switches", cores, aggregations, "the aggregation switches a pod")
    agree("Radix_Up of tier 1", aggregation.radix_up, each * core.bundle)
    agree("Radix_Down of tier 2", core.radix_down, pods * core.bundle)
    return Counts(pods, edges, aggregations, cores)


def wire(tree: Tree, counts: Counts) -> Network:
    """The nodes and cables, in the order of `init_network`."""
    total = tree.nodes + counts.pods * (
        counts.edges * tree.tiers[0].radix_up + counts.aggregations * tree.tiers[1].radix_up
    )
    if total > CABLES_MAX:
        raise UserError(f"the tree has {total} cables; a network has at most {CABLES_MAX}")
    pods, hosts = range(counts.pods), tree.nodes
    switches = [(f"pod {pod} edge {i}", "edge") for pod in pods for i in range(counts.edges)]
    switches += [
        (f"pod {pod} aggregation {i}", "aggregation") for pod in pods for i in range(counts.aggregations)
    ]
    switches += [(f"core {i}", "core") for i in range(counts.cores)]
    edges, aggregations = hosts, hosts + counts.pods * counts.edges
    cores = aggregations + counts.pods * counts.aggregations

    latencies = [0, *(tier.switch_latency_ns for tier in tree.tiers)]

    def cable(lower: int, upper: int, tier: int) -> Cable:
        parameters = tree.tiers[tier]
        shares = (latencies[tier] + latencies[tier + 1]) * NS // 2
        rate, delay = parameters.downlink_speed_gbps * GBPS, parameters.downlink_latency_ns * NS
        return Cable(lower, upper, rate, delay + shares)

    cables = [cable(host, edges + host // tree.tiers[0].radix_down, 0) for host in range(hosts)]
    for edge in range(counts.pods * counts.edges):
        first = aggregations + edge // counts.edges * counts.aggregations
        for i in range(counts.aggregations):
            cables += [cable(edges + edge, first + i, 1)] * tree.tiers[1].bundle
    if counts.cores:
        for aggregation in range(counts.pods * counts.aggregations):
            place = aggregation % counts.aggregations
            for core in range(place, counts.cores, counts.aggregations):
                cables += [cable(aggregations + aggregation, cores + core, 2)] * tree.tiers[2].bundle
    return Network([f"host {i}" for i in range(hosts)], switches, cables)


def write(network: Network) -> str:
    """The .topo file of a network, if it is such a tree; a UserError says why it is not."""
    tree, counts, place = _Shape(network).measure()
    # The proof: the same tree, wired as htsim does, has the same cables.
    wired = wire(tree, counts).cables
    ours = [
        Cable(min(ends), max(ends), cable.rate_bps, cable.delay_ps)
        for cable in network.cables
        for ends in [(place[cable.a], place[cable.b])]
    ]
    if sorted(wired) != sorted(ours):
        refuse("its cables are not those of htsim's tree")
    lines = [f"Nodes {tree.nodes}", f"Tiers {len(tree.tiers)}", f"Podsize {tree.podsize}"]
    for number, tier in enumerate(tree.tiers):
        lines += ["", f"Tier {number}"]
        for key, name in KEYS.items():
            if key != "radix_up" or number < len(tree.tiers) - 1:
                lines.append(f"{name} {getattr(tier, key)}")
    return "\n".join(lines) + "\n"


def refuse(why: str) -> NoReturn:
    """A network that is not such a tree."""
    raise UserError(
        f"htsim .topo cannot hold this network: {why}; it holds trees of two or three tiers with the same switches "
        "throughout a tier, such as fat-tree and leaf-spine (hpcc-topology and graphml hold any network)"
    )


class _Shape:
    """Finds tiers and pods in a network, and where each node stands in htsim's order."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.hosts = len(network.hosts)
        self.ports = network.ports()

    def measure(self) -> tuple[Tree, Counts, list[int]]:
        tiers = self.tiers()
        pods = self.pods(tiers)
        cores = tiers[2] if len(tiers) == 3 else []
        edges, aggregations = len(pods[0][0]), len(pods[0][1])
        if any((len(lower), len(upper)) != (edges, aggregations) for lower, upper in pods):
            refuse("its pods differ")
        counts = Counts(len(pods), edges, aggregations, len(cores))
        upper = self.order(pods, cores)
        order = [*range(self.hosts), *(node for lower, _ in pods for node in lower), *upper]
        place = [0] * len(order)
        for number, node in enumerate(order):
            place[node] = number
        tree = Tree(self.hosts, self.hosts // len(pods), self.parameters(tiers))
        return tree, counts, place

    def tiers(self) -> list[list[int]]:
        """The switches by their distance from hosts; edge switches by their first host."""
        if any(len(ports) != 1 or ports[0] < self.hosts for ports in self.ports[: self.hosts]):
            refuse("a host has several cables, or one to another host")
        tiers: list[list[int]] = [list(dict.fromkeys(self.ports[host][0] for host in range(self.hosts)))]
        seen = set(tiers[0])
        while True:
            above = {other for node in tiers[-1] for other in self.ports[node] if other >= self.hosts} - seen
            if not above:
                break
            tiers.append(sorted(above))
            seen |= above
        if len(tiers) not in (2, 3) or len(seen) != len(self.network.switches):
            refuse(f"it has {len(tiers)} tier{'s' * (len(tiers) != 1)} of switches")
        return tiers

    def pods(self, tiers: list[list[int]]) -> list[tuple[list[int], list[int]]]:
        """Edge switches with the same aggregation switches above them, and these."""
        lower: dict[tuple[int, ...], list[int]] = {}
        tier1 = set(tiers[1])
        for edge in tiers[0]:
            above = tuple(sorted({other for other in self.ports[edge] if other in tier1}))
            lower.setdefault(above, []).append(edge)
        if sum(len(above) for above in lower) != len(tiers[1]):
            refuse("its edge switches are not in pods that share their aggregation switches")
        return [(edges, list(above)) for above, edges in lower.items()]

    def order(self, pods: list[tuple[list[int], list[int]]], cores: list[int]) -> list[int]:
        """Aggregation and core switches: those that share cores have the same place in their pods."""
        if not cores:
            return pods[0][1]
        among = set(cores)

        def above(aggregation: int) -> tuple[int, ...]:
            return tuple(sorted({other for other in self.ports[aggregation] if other in among}))

        groups = [above(aggregation) for aggregation in pods[0][1]]
        aggregations: list[int] = []
        for _, upper in pods:
            by_group = {above(aggregation): aggregation for aggregation in upper}
            if set(by_group) != set(groups) or len(by_group) != len(groups):
                refuse("its core switches do not join the aggregation switches of the same place in each pod")
            aggregations += [by_group[group] for group in groups]
        if (
            sorted(core for group in groups for core in group) != cores
            or len({len(group) for group in groups}) != 1
        ):
            refuse("its core switches do not each join one aggregation switch of a pod")
        return aggregations + [core for row in zip(*groups, strict=True) for core in row]

    def parameters(self, tiers: list[list[int]]) -> tuple[Tier, ...]:
        """Settings of each tier's switches."""
        level = dict.fromkeys(range(self.hosts), -1)
        level |= {node: number for number, nodes in enumerate(tiers) for node in nodes}
        found: list[Tier] = []
        for number, nodes in enumerate(tiers):
            down = {sum(level[other] < number for other in self.ports[node]) for node in nodes}
            up = {sum(level[other] > number for other in self.ports[node]) for node in nodes}
            links = {
                (cable.rate_bps, cable.delay_ps)
                for cable in self.network.cables
                if max(level[cable.a], level[cable.b]) == number
            }
            if len(down) != 1 or len(up) != 1 or len(links) != 1:
                refuse(f"the {NAMES[number]} switches, or the cables below them, differ")
            ((rate, delay),) = links
            if rate % GBPS or delay % NS or not delay:
                what = f"the cables below the {NAMES[number]} switches have {rate_text(rate)} and {time_text(delay)}"
                refuse(f"{what}, not whole Gbps and nanoseconds")
            neighbours = {other for other in self.ports[nodes[0]] if level[other] < number}
            bundle = max(down) // len(neighbours)
            found.append(Tier(rate // GBPS, max(down), max(up), delay // NS, 0, 1, bundle))
        for number in range(len(found) - 1):
            tier, above = found[number], found[number + 1]
            capacity = tier.radix_up * above.downlink_speed_gbps
            ratio, rest = divmod(tier.radix_down * tier.downlink_speed_gbps, capacity)
            if rest or not ratio:
                refuse(f"the oversubscription of the {NAMES[number]} switches is not a whole number")
            found[number] = replace(tier, oversubscribed=ratio)
        return tuple(found)
