"""Section 6.1: the schemes on larger fat-trees, VL2 and BCube; source routes in place of Nix-vectors; loads on packets.

Three checks. Loads of links and switches in runs on FT(4,3) and FT(8,3) are those of the theory (_packet_loads.py).
Nix-vectors take the paths that source routes take which name them. And the schemes run on all these networks as they
are: every flow arrives, over as many paths as there are or as it may have, all of fewest hops.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from flowyard.papers import judge
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard.topology import Network, network
from flowyard.topology.paths import directed_links, distances, path_counts
from flowyard_papers.mp import _connections, _network_pictures, _packet_loads
from flowyard_papers.mp._packet_loads import HEADER, PACKETS, PAYLOAD

# And two hosts that are as far from one another as any.
NETWORKS: Mapping[str, tuple[dict[str, Any], tuple[int, int]]] = {
    "FT(8,3)": ({"fat-tree": {"k": 8}}, (0, 127)),
    "FT(16,3)": ({"fat-tree": {"k": 16}}, (0, 1023)),
    "VL2": ({"vl2": {"aggregation_ports": 8, "intermediate_ports": 4, "hosts": 4}}, (0, 31)),
    "BCube(4,2)": ({"bcube": {"n": 4, "k": 2}}, (0, 63)),
}
# Of as many hosts as matter for routes: 1024 give the same pictures as 128.
ROUTED = ("FT(8,3)", "VL2", "BCube(4,2)")
ALL = 255


def _parallel(paths: Any, balancer: str) -> tuple[Any, str]:
    return {"parallel-tcp": {"paths": paths}}, balancer


# Transport, balancer, and how many connections a flow may have.
SCHEMES: Mapping[str, tuple[tuple[Any, str], int]] = {
    "NR": (("tcp", "single"), 1),
    "DNVR": (("tcp", "nix"), 1),
    "MDNVR, 2 paths": (_parallel({"count": 2}, "nix"), 2),
    "MDNVR, 4 paths": (_parallel({"count": 4}, "nix"), 4),
    "MDNVR, all paths": (_parallel("all", "nix"), ALL),
    "Dual": (_parallel({"count": 2}, "dual"), 2),
}


def _applies(scheme: str, name: str) -> bool:
    """Dual is defined by the levels of a fat-tree."""
    return scheme != "Dual" or name.startswith("FT")


def _first_routes(built: Network, source: int, target: int) -> list[list[str]]:
    """All paths of fewest hops, those by lower ports first."""
    away, ends = distances(built)[target], directed_links(built)
    paths = [[source]]
    while paths[0][-1] != target:
        paths = [
            [*path, int(end)]
            for path in paths
            for end in ends[ends[:, 0] == path[-1], 1]
            if away[end] == away[path[-1]] - 1
        ]
    return [[built.nodes[node].name for node in path] for path in paths]


def plans(scale: Scale) -> dict[str, Plan]:
    """Loads; Nix-vectors and source routes between the two hosts; each scheme under a random permutation."""
    number = scale.pick(100, 300)
    routes, labels = [], []
    for name in ROUTED:
        topology, pair = NETWORKS[name]
        base = _connections.scenario(topology, [pair] * number)
        paths = [{"path": path} for path in _first_routes(network({"topology": topology}), *pair)]
        for search, listed in (("first", paths[:1]), ("uniform", paths)):
            for kind, balancer in (
                ("Nix-vector", {"nix": {"search": search}}),
                ("source route", {"explicit": {"routes": listed}}),
            ):
                routes.append(base | {"routing": {"balancer": balancer}})
                labels.append(f"{name}/{search}/{kind}")
    runs = {
        f"{name}/{scheme}": {
            "topology": topology,
            "transport": transport,
            "queue": "infinite",
            "routing": {"balancer": balancer},
            "traffic": [
                {
                    "name": "all",
                    "matrix": "permutation",
                    "arrivals": "at-once",
                    "sizes": {"fixed": f"{PACKETS * PAYLOAD}B"},
                }
            ],
        }
        for name, (topology, _) in NETWORKS.items()
        for scheme, ((transport, balancer), _) in SCHEMES.items()
        if _applies(scheme, name)
    }
    return _packet_loads.plans() | {
        "routes": Plan(None, [Axis("case", scenarios=routes, labels=labels)], 1, name="routes"),
        "runs": Plan(
            None,
            [Axis("case", scenarios=list(runs.values()), labels=list(runs))],
            scale.pick(1, 5),
            name="runs",
        ),
    }


def tables(sweeps: Sweeps) -> Tables:
    """Loads beside theory; connections by path of vectors and of routes; one row per run of the schemes."""
    case = pl.col("case").str.split("/")
    found = _connections.paths(sweeps["routes"])
    routes = (
        found.group_by(
            network=case.list.get(0), search=case.list.get(1), by=case.list.get(2), path="nodes", hops="hops"
        )
        .agg(connections=pl.len().cast(pl.Int64))
        .sort("network", "search", "by", "path")
    )
    expected = [
        {"network": name, "fewest_hops": int(away[pair]), "paths": int(count[pair])}
        for name, (topology, pair) in ((name, NETWORKS[name]) for name in ROUTED)
        for away, count in [path_counts(network({"topology": topology}))]
    ]
    return {
        "loads": _packet_loads.links(sweeps),
        "draws": _packet_loads.draws(sweeps),
        "routes": routes,
        "farthest": pl.DataFrame(expected),
        "runs": _runs(sweeps["runs"]),
    }


def _runs(sweep: Sweep) -> pl.DataFrame:
    """Of each run the flows, how many of them arrived, their connections and hops, and what these should be."""
    keys = ["case", "replica"]
    hosts = {name: path_counts(network({"topology": topology})) for name, (topology, _) in NETWORKS.items()}
    data = (pl.col("bytes").cast(pl.Int64) - HEADER * pl.col("packets").cast(pl.Int64)) // PAYLOAD
    hops = sweep.links.group_by(keys).agg(data_hops=data.sum()).collect()
    flows = sweep.flows.select(*keys, "id", "src", "dst", "completed", "packets_sent", "fct_ps").collect()
    rows = []
    for (case, replica), some in flows.group_by(keys, maintain_order=True):
        name, scheme = str(case).split("/")
        away, count = hosts[name]
        source, target = some["src"].to_numpy(), some["dst"].to_numpy()
        path = sweep.path(sweep.runs.filter(case=case, replica=replica)["run"].item()) / "connections.parquet"
        rows.append(
            {
                "network": name,
                "scheme": scheme,
                "replica": replica,
                "flows": len(some),
                "arrived": int(some["completed"].sum()),
                "connections": len(pl.read_parquet(path)) if path.exists() else len(some),
                "paths_to_have": int(count[source, target].clip(max=SCHEMES[scheme][1]).sum()),
                "data_hops": hops.filter(case=case, replica=replica)["data_hops"].item(),
                "fewest_data_hops": int((some["packets_sent"].to_numpy() * away[source, target]).sum()),
                "mean_fct_us": some["fct_ps"].cast(pl.Float64).mean() / 1e6,  # type: ignore[operator]
            }
        )
    return pl.DataFrame(rows)


def _as_in_theory(tables: Tables) -> Judgement:
    """Every link and switch of every settled scheme; and the mean largest loads of those that draw, within 10 %."""
    rows = tables["loads"]
    schemes = {*_packet_loads.SETTLED, _packet_loads.DUAL}
    if missing := schemes - set(rows["scheme"]):
        return judge.not_reached(f"no loads of {', '.join(sorted(missing))}")
    equal = (pl.col("measured") - pl.col("theory")).abs() < 1e-9
    same, every = (int(some["number"].sum()) for some in (rows.filter(equal), rows))
    means = tables["draws"].group_by("tree", "pattern", "scheme").agg(pl.col("link", "core").mean())
    theory = means.filter(scheme="theory").drop("scheme")
    drawn = means.filter(pl.col("scheme") != "theory").join(theory, on=["tree", "pattern"], suffix="_theory")
    off = [
        abs(row[of] / row[f"{of}_theory"] - 1)
        for row in drawn.group_by("tree", "scheme")
        .agg(pl.col("link", "core", "link_theory", "core_theory").mean())
        .iter_rows(named=True)
        for of in ("link", "core")
    ]
    return judge.together(
        [
            judge.exactly(same, every).called("loads as in theory"),
            judge.at_most(max(off), 0.1).called("drawn loads, largest share off the theory"),
        ]
    )


def _same_routes(tables: Tables) -> Judgement:
    """Plain search and the first route are one path; drawn vectors and routes are all shortest paths, and no others."""
    compared: list[tuple[str, Any, Any]] = []
    for name, fewest, paths in tables["farthest"].iter_rows():
        for search, number in (("first", 1), ("uniform", paths)):
            some = tables["routes"].filter(network=name, search=search)
            vectors, routes = (set(some.filter(by=by)["path"]) for by in ("Nix-vector", "source route"))
            said = f"{name}, {search}"
            compared.append((f"{said}: paths of vectors", len(vectors), number))
            compared.append((f"{said}: of these those of routes", len(vectors & routes), number))
            compared.append((f"{said}: paths of routes", len(routes), number))
            compared.append((f"{said}: hops", set(some["hops"]) == {fewest}, True))
    return judge.all_exactly(compared, "numbers of paths and hops")


def _run(tables: Tables) -> Judgement:
    rows = tables["runs"]
    wanted = {(name, scheme) for name in NETWORKS for scheme in SCHEMES if _applies(scheme, name)}
    if missing := wanted - set(rows.select("network", "scheme").iter_rows()):
        return judge.not_reached(f"no run of {' under '.join(reversed(min(missing)))}")
    return judge.all_exactly(
        [
            (f"{row['scheme']} on {row['network']}: {what}", row[what], row[expected])
            for row in rows.iter_rows(named=True)
            for what, expected in (
                ("arrived", "flows"),
                ("connections", "paths_to_have"),
                ("data_hops", "fewest_data_hops"),
            )
        ],
        "numbers of runs",
    )


def _unchanged(tables: Tables) -> Judgement:
    return judge.together([_as_in_theory(tables), _same_routes(tables), _run(tables)])


FIGURE = Figure(
    id="MP-P8",
    title="Section 6.1: the schemes on other networks, source routes, and loads on packets beside the theory's",
    plans=plans,
    tables=tables,
    claims={"MP-P8": _unchanged},
    draw=_network_pictures.draw,
    needs={
        "runs": Needs(5, by=("network", "scheme")),
        "draws": Needs(_packet_loads.REPLICAS, by=("tree", "pattern", "scheme"), column="draw"),
    },
    assumed=(
        "Loads: each node sends 64 full packets to one other, without loss. Single paths and MDNVR, whose packets take "
        "all paths in turn, agree link by link and switch by switch; of Dual what each connection sent is measured and "
        "its path computed. Where paths are drawn (DNVR, ECMP by flow, Valiant) the largest loads of a link above the "
        "edge and of a core, averaged over the patterns, are within 10 % of the mean of 200 draws by theory.",
        "Source routes are listed in the scenario, between two hosts as far apart as any. Dual is defined on fat-trees "
        "alone: section 6.1 extends it to those of 8 and 16 ports.",
        "Front-Back over N paths: parallel TCP with 2, 4 and all shortest paths of a pair.",
    ),
)
