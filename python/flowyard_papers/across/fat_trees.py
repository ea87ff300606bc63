"""One network in three papers: the k-ary fat-tree of NDP and of PEQ, and the FT(k,3) of MP.

Each paper counts in its own way. The numbers that follow from its own formulas, or from the wiring that its words give,
stand beside those of the generated network, whose paths are counted by breadth-first search over all pairs.
"""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Tables
from flowyard.topology import network
from flowyard.topology.paths import path_counts

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SIZES = (4, 6, 8, 10, 12)

Counts = dict[str, int]


def ndp(k: int) -> Counts:
    """Table 1, and the links of section 2: a server's one, k/2 from each aggregation switch down and k/2 to cores."""
    total, cores = k * (k // 2), (k // 2) * (k // 2)
    servers = k * (k // 2) * (k // 2)
    return {
        "servers": servers,
        "switches": total + total + cores,
        "cables": servers + total * (k // 2) + total * (k // 2),
        "paths between pods": cores,
    }


def peq(k: int) -> Counts:
    """Section 1.1.2: pods of k^2/4 servers, k/2 servers and k/2 aggregation switches an edge switch, (k/2)^2 cores.

    It has no formula for paths. From its words: half of an edge switch's k ports choose an aggregation switch, half of
    the latter's ports a core, and that has one port to each pod.
    """
    servers, cores = k * (k**2 // 4), (k // 2) ** 2
    edges = servers // (k // 2)
    return {
        "servers": servers,
        "switches": edges + k * (k // 2) + cores,
        "cables": servers + edges * (k // 2) + cores * k,
        "paths between pods": (k - k // 2) * (k - k // 2),
    }


def mp(m: int, n: int = 3) -> Counts:
    """Definition 1.1, property 2; each end of a cable is in one of a switch's m ports, or at a node."""
    nodes, switches = 2 * (m // 2) ** n, (2 * n - 1) * (m // 2) ** (n - 1)
    return {
        "servers": nodes,
        "switches": switches,
        "cables": (m * switches + nodes) // 2,
        "paths between pods": (m // 2) ** (n - 1),
    }


def generated(k: int) -> dict[str, tuple[int, int]]:
    """The fewest and the most, which could differ for paths; servers of different pods are those farthest apart."""
    built = network({"topology": {"fat-tree": {"k": k, "levels": 3}}})
    distance, count = path_counts(built)
    paths = count[distance == distance.max()]
    return {
        "servers": (built.hosts, built.hosts),
        "switches": (switches := len(built.nodes) - built.hosts, switches),
        "cables": (len(built.cables), len(built.cables)),
        "paths between pods": (int(paths.min()), int(paths.max())),
    }


def tables() -> Tables:
    """The same at both scales."""
    rows = []
    for k in SIZES:
        formulas = {"ndp": ndp(k), "peq": peq(k), "mp": mp(k)}
        for quantity, (fewest, most) in generated(k).items():
            said = {paper: counts[quantity] for paper, counts in formulas.items()}
            counted = {"generated_fewest": fewest, "generated_most": most}
            rows.append({"k": k, "quantity": quantity, **said, **counted})
    return {"counts": pl.DataFrame(rows)}


def _identical(tables: Tables) -> Judgement:
    rows = []
    for k in SIZES:
        for quantity in ("servers", "switches", "cables", "paths between pods"):
            found = tables["counts"].filter(k=k, quantity=quantity)
            row = found.row(0, named=True) if len(found) == 1 else {}
            counted = row.get("generated_most", "known")
            rows += [
                (f"{quantity} at k = {k} ({column})", row.get(column), counted)
                for column in ("ndp", "peq", "mp", "generated_fewest")
            ]
    return judge.all_exactly(rows, "numbers")


def draw(tables: Tables) -> "Picture":
    """Each number against k: a line for the generated network, and a mark a paper."""
    figure, axes = style.panels(1, 4, size=(3.2, 2.8))
    quantities = tables["counts"].group_by("quantity", maintain_order=True)
    papers = (("ndp", "NDP, k-ary fat-tree"), ("peq", "PEQ, fat-tree"), ("mp", "MP, FT(k,3)"))
    for panel, ((quantity,), rows) in zip(axes, quantities, strict=True):
        panel.plot(rows["k"], rows["generated_most"], color="black", linewidth=1, label="generated, counted")
        for place, (column, label) in enumerate(papers):
            size = 12 - 3.5 * place
            panel.plot(rows["k"], rows[column], "osD"[place], markersize=size, fillstyle="none", label=label)
        panel.set(title=quantity, xlabel="k", xticks=SIZES)
    axes[0].legend()
    return figure


FIGURE = Figure(
    id="ALL-1",
    title="One fat-tree in three papers",
    tables=tables,
    claims={"ALL-1": _identical},
    draw=draw,
    assumed=(
        "MP takes m to be a power of 2; its formulas are evaluated for k = 6, 10 and 12 as well.",
        "PEQ gives no number of paths, and none of the three a number of cables: both follow from the wiring.",
    ),
)
