"""PEQ figures 1.2 to 1.8, sections 1.1.1 to 1.1.6: six data centre networks, what they consist of, and their bisection.

The thesis draws an example of each and gives its numbers of servers and switches. Here they are counted in the
networks that the simulator generates: cables and names alone, none of the generators' formulas.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Figure, Tables
from flowyard.papers.judge import PASS, Judgement, all_exactly, judged, not_reached, together
from flowyard.topology import network
from flowyard_papers.peq import _bisection, _drawings
from flowyard_papers.peq._counts import CAMCUBE, COUNTED, THREE_TIER, VL2

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

DRAWN: dict[str, dict[str, Any]] = {
    "Three-tier (figure 1.2)": {"three-tier": THREE_TIER[0] | {"hosts": 3}},
    "Fat-tree, k = 4 (1.3)": {"fat-tree": {"k": 4}},
    "VL2, D_a = D_i = 4 (1.4)": {"vl2": VL2[0]},
    "CamCube, 3 x 3 x 3 (1.5)": {"camcube": CAMCUBE[0]},
    "DCell_1, n = 4 (1.6)": {"dcell": {"n": 4, "k": 1}},
    "BCube_1, n = 4 (1.7)": {"bcube": {"n": 4, "k": 1}},
    "BCube_2, n = 2 (1.8)": {"bcube": {"n": 2, "k": 2}},
}
# DCell_1 and BCube_1 both have two ports a server. Between BCube_1 of n and of n + 1 lies the DCell_1 of n.
DCELL_PORTS = range(2, 9)
HALVED = [
    *(("fat-tree", {"k": k}) for k in (4, 6, 8, 10, 12)),
    *(("dcell", {"n": n, "k": 1}) for n in DCELL_PORTS),
    *(("bcube", {"n": n, "k": 1}) for n in (*DCELL_PORTS, DCELL_PORTS[-1] + 1)),
]


def tables() -> Tables:
    """A table of counts for each kind of network, the bisections, and the cables of those that are drawn."""
    counts = {
        kind: pl.DataFrame([parameters | dict(count(**parameters)) for parameters in instances])
        for kind, (count, instances) in COUNTED.items()
    }
    return {**counts, "bisection": _bisections(), "drawn": _drawn()}


def _bisections() -> pl.DataFrame:
    rows = []
    for kind, parameters in HALVED:
        built = network({"topology": {kind: parameters}})
        found = _bisection.bounds(built)
        rows.append(
            {
                "network": kind,
                "ports": parameters.get("k") if kind == "fat-tree" else parameters["n"],
                "servers": built.hosts,
                "at_least_cables": found.least,
                "at_most_cables": found.most,
                "found_by": found.how,
            }
        )
    return pl.DataFrame(rows)


def _drawn() -> pl.DataFrame:
    rows = []
    for title, topology in DRAWN.items():
        built = network({"topology": topology})
        for cable in built.cables:
            a, b = built.nodes[cable.a], built.nodes[cable.b]
            rows.append(
                {"network": title, "from": a.name, "to": b.name, "from_tier": a.tier, "to_tier": b.tier}
            )
    return pl.DataFrame(rows)


def _counts(kind: str, expected: Any, tables: Tables) -> Judgement:
    """The columns of a kind's table are what the thesis says of its parameters.

    Args:
        kind: Of network.
        expected: Takes a row, returns the expected values by column; a name without _least and _most means both.
        tables: Of the figure.
    """
    instances = COUNTED[kind][1]
    if missing := [one for one in instances if tables[kind].filter(**one).is_empty()]:
        return not_reached(f"there is no {kind} of {missing[0]}")
    rows = []
    for row in tables[kind].iter_rows(named=True):
        for name, value in expected(row).items():
            columns = [name] if name in row else [f"{name}_least", f"{name}_most"]
            at = ", ".join(f"{key} = {row[key]}" for key in instances[0])
            rows += [(f"{column} at {at}", row[column], value) for column in columns]
    return all_exactly(rows, "counts")


def _expected_fat_tree(row: dict[str, int]) -> dict[str, int]:
    k = row["k"]
    return {
        "pods": k,
        "servers_per_pod": k**2 // 4,
        "servers_per_edge_switch": k // 2,
        "core_switches": (k // 2) ** 2,
        "servers": k**3 // 4,
    }


def _expected_vl2(row: dict[str, int]) -> dict[str, int]:
    a, i = row["aggregation_ports"], row["intermediate_ports"]
    return {
        "intermediate_switches": a // 2,
        "aggregation_switches": i,
        "top_of_rack_switches": a * i // 4,
        "servers": 20 * a * i // 4,
        "ports_of_aggregation": a,
        "ports_of_intermediate": i,
    }


def _expected_camcube(row: dict[str, int]) -> dict[str, int]:
    servers = row["x"] * row["y"] * row["z"]
    # All cables are the torus's, and it has no others: three to a server.
    cables = {"cables": 3 * servers, "cables_of_the_torus": 3 * servers}
    return {"servers": servers, "switches": 0, "neighbours": 6} | cables


def _expected_dcell(row: dict[str, int]) -> dict[str, int]:
    if row["n"] != 4:
        return {}
    return {"cells": 5, "servers": 20, "servers_per_cell": 4, "cables_between_two_cells": 1}


def _expected_bcube_1(row: dict[str, int]) -> dict[str, int]:
    if (row["n"], row["k"]) != (4, 1):
        return {}
    return {"cells_below": 4, "servers": 16, "switches": 8, "ports_of_server": 2}


def _expected_bcube(row: dict[str, int]) -> dict[str, int]:
    n, k = row["n"], row["k"]
    return {"servers": n ** (k + 1), "switches": (k + 1) * n**k, "ports_of_server": k + 1}


def _halves(tables: Tables) -> Judgement:
    return together([_full(tables["bisection"]), _bcube_not_below_dcell(tables["bisection"])])


def _full(rows: pl.DataFrame) -> Judgement:
    """A fat-tree's halves are joined by as many cables as one of them has servers."""
    trees = rows.filter(network="fat-tree").iter_rows(named=True)
    pairs = [
        (f"fat-tree k = {row['ports']}: {column}", row[column], row["servers"] // 2)
        for row in trees
        for column in ("at_least_cables", "at_most_cables")
    ]
    return all_exactly(pairs, "fat-tree bisections")


def _bcube_not_below_dcell(rows: pl.DataFrame) -> Judgement:
    """By server, BCube's lower bound is at or above DCell's upper bound, at the sizes on either side of each DCell."""
    bcubes = {row["ports"]: row for row in rows.filter(network="bcube").iter_rows(named=True)}
    low: list[str] = []
    open_: list[str] = []
    gaps: list[float] = []
    for dcell in rows.filter(network="dcell").iter_rows(named=True):
        for n in (dcell["ports"], dcell["ports"] + 1):
            if n not in bcubes:
                return not_reached(f"there is no BCube of {n}-port switches to compare with")
            bcube = bcubes[n]
            said = f"BCube of {bcube['servers']} against DCell of {dcell['servers']} servers"
            gaps.append(_per_server(bcube, "at_least") / _per_server(dcell, "at_most"))
            if bcube["at_least_cables"] * dcell["servers"] >= dcell["at_most_cables"] * bcube["servers"]:
                continue
            refuted = bcube["at_most_cables"] * dcell["servers"] < dcell["at_least_cables"] * bcube["servers"]
            (low if refuted else open_).append(said)
    if not gaps:
        return not_reached("there is no DCell to compare with")
    measured = f"BCube per server at least {min(gaps):.4g} x DCell in {len(gaps)} comparisons"
    found = judged(not low, measured, "at least 1 x in each")
    if found.verdict == PASS and open_:
        return not_reached("the bounds do not decide: " + "; ".join(open_))
    return found.because("less in " + "; ".join(low))


def _per_server(row: dict[str, Any], bound: str) -> float:
    return float(row[f"{bound}_cables"]) / float(row["servers"])


def draw(tables: Tables) -> "Picture":
    """The seven example networks, and the bisections by server."""
    picture, panels = style.panels(2, 4, size=(3.6, 2.9))
    drawn = tables["drawn"]
    for axes, title in zip(panels, DRAWN, strict=False):
        _drawings.draw(axes, title, drawn.filter(network=title))
    axes = panels[-1]
    labels = {"fat-tree": "fat-tree", "bcube": "BCube_1", "dcell": "DCell_1"}
    for (kind, label), colour, marker in zip(labels.items(), style.COLOURS, style.MARKERS, strict=False):
        rows = tables["bisection"].filter(network=kind).sort("servers")
        servers = rows["servers"].to_numpy()
        least, most = (rows[f"{bound}_cables"].to_numpy() / servers for bound in ("at_least", "at_most"))
        axes.fill_between(servers, least, most, color=colour, alpha=0.25, linewidth=0)
        axes.plot(servers, most, color=colour, marker=marker, label=label)
    axes.set(title="Bisection (bands: bounds)", xlabel="servers", xscale="log", ylim=(0, 0.56))
    axes.set_ylabel("cables per server")
    axes.legend(loc="lower left", fontsize=7)
    return picture


FIGURE = Figure(
    id="PEQ-F1.2",
    title="Data centre networks (figures 1.2 to 1.8): what they consist of, and their bisection",
    tables=tables,
    claims={
        "PEQ-F1.2.a": partial(
            _counts, "three-tier", lambda _: {"uplinks_of_access": 2, "uplinks_of_aggregation": 2}
        ),
        "PEQ-F1.3.a": partial(_counts, "fat-tree", _expected_fat_tree),
        "PEQ-F1.4.a": partial(_counts, "vl2", _expected_vl2),
        "PEQ-F1.5.a": partial(_counts, "camcube", _expected_camcube),
        "PEQ-F1.6.a": partial(_counts, "dcell", _expected_dcell),
        "PEQ-F1.7.a": partial(_counts, "bcube", _expected_bcube_1),
        "PEQ-F1.8.a": partial(_counts, "bcube", _expected_bcube),
        "PEQ-F1.7.b": _halves,
    },
    draw=draw,
    assumed=(
        "All cables have one rate, so bisection bandwidth is counted in cables; servers are split into equal "
        "halves (of an odd number one half has one more), switches stand where the cut is least.",
        "No BCube has as many servers as a DCell, beyond a single switch: a DCell's number of servers is a product of "
        "two consecutive whole numbers, which is never a power as BCube's. So BCube_1 is compared with DCell_1, which "
        "has as many ports a server, per server, at the next smaller and the next larger number of servers.",
        "Up to 20 servers every split is tried. Larger fat-trees have a closed form; for larger BCubes and DCells a "
        "lower bound (uniform traffic over all shortest paths) and an upper bound (the best cut that a search finds) "
        "must decide: BCube's lower bound against DCell's upper one.",
        "VL2 has 20 servers in a rack, as the thesis's formula implies.",
    ),
)
