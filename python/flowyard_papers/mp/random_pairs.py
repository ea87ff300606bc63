"""Figure 5.12: every node of FT(4,3) sends 2 MB to one other, drawn for each run; several may have the same.

"Every node i sends the same traffic to any other node in the network with uniform probability" (5.3.1.3): a draw, as
figure 5.8 has matrices of the strides and none of this pattern. A reading shares a node's bytes among all others.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers.figure import Figure, Judgement, Scale, Sweeps, Tables
from flowyard.papers.judge import by_reading
from flowyard.sweeps import Plan, Sweep
from flowyard_papers.mp import _chapter5 as chapter
from flowyard_papers.mp import _chapter5_judges as judges
from flowyard_papers.mp import _chapter5_pictures as pictures
from flowyard_papers.mp import _chapter5_runs as measured
from flowyard_papers.mp._chapter5 import DNVR, DUAL, ECMP, FCT, MDNVR, NR, RANDOM

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

EVERYBODY, DISTINCT = "to every other node, a share each", "control: no two to the same node"
# Traffic of the other set-ups by the name of their sweep.
OTHERS: Mapping[str, tuple[str, str, int]] = {
    "everybody": (EVERYBODY, "all-to-all", chapter.TRANSFER_BYTES // (chapter.HOSTS - 1)),
    "distinct": (DISTINCT, "permutation", chapter.TRANSFER_BYTES),
}
SETUPS = {f"ties-{ties}": (RANDOM, setup) for setup, ties in chapter.BESIDE.items()} | {
    name: (RANDOM, setup) for name, (setup, _, _) in OTHERS.items()
}
LAST, OTHER = "ports to hosts", "other ports"


def plans(scale: Scale) -> dict[str, Plan]:
    """All schemes; the same destinations under all of them in a replica; the other order of ties; other traffic."""
    base, replicas = (
        chapter.scenario(chapter.transfers(chapter.MATRICES[RANDOM])),
        scale.pick(2, chapter.REPLICAS),
    )
    buffers = chapter.buffers(chapter.SMALL)
    made = {"random": Plan(base, [chapter.schemes(), buffers], replicas, name="random")}
    for ties in chapter.BESIDE.values():
        name, axes = f"ties-{ties}", [chapter.schemes((MDNVR, DUAL)), buffers]
        made[name] = Plan(chapter.with_ties(base, ties), axes, replicas, name=name)
    for name, (_, matrix, size_bytes) in OTHERS.items():
        other = chapter.scenario(chapter.transfers(matrix, size_bytes))
        made[name] = Plan(other, [chapter.schemes((MDNVR, DUAL)), buffers], replicas, name=name)
    return made


def tables(sweeps: Sweeps) -> Tables:
    """One row per run; means; and where packets are dropped."""
    runs = measured.of_patterns(sweeps, {"random": RANDOM})
    return {
        "runs": runs,
        "setups": measured.of_setups(sweeps, SETUPS),
        "points": measured.points(runs),
        "ports": _ports(sweeps["random"]),
    }


def _ports(sweep: Sweep) -> pl.DataFrame:
    """Packets dropped in a run, by the kind of port, the mean over the replicas."""
    last = pl.col("to").cast(pl.String).str.starts_with("host ")
    keys = ["scheme", "buffer"]
    kinds = pl.when(last).then(pl.lit(LAST)).otherwise(pl.lit(OTHER)).alias("port")
    drops = pl.col("drops").sum() / pl.col("replica").n_unique()
    return sweep.scan("links").group_by(*keys, kinds).agg(drops.alias("drops")).sort(*keys, "port").collect()


def _multipath(tables: Tables) -> Judgement:
    return by_reading({scheme: _before_others(tables["runs"], scheme) for scheme in (MDNVR, DUAL)})


def _before_others(runs: pl.DataFrame, scheme: str) -> Judgement:
    return judges.all_hold(
        {f"{scheme} before {other}": judges.better(runs, scheme, other) for other in (NR, ECMP)}
    )


def _dual(tables: Tables) -> Judgement:
    setups = {"ties by arrival": tables["runs"]} | {
        setup: tables["setups"].filter(setup=setup) for _, setup in SETUPS.values()
    }
    readings = {}
    for setup, runs in setups.items():
        found = judges.better(runs, DUAL, MDNVR)
        said = judges.said(judges.gains(runs, FCT, DUAL, MDNVR))
        readings[setup] = found.because(f"{found.reason}; FCT: {said}; {_lost(tables['ports'])}")
    # No word of the text has it: it shows that the receivers that several have drawn decide.
    readings[DISTINCT] = readings[DISTINCT].reachable()
    return by_reading(readings)


def _lost(ports: pl.DataFrame) -> str:
    """Where each scheme loses packets, all buffers together; and why the order of both depends on shared receivers."""
    means = ports.group_by("scheme", "port").agg(pl.col("drops").mean())
    drops = {(scheme, port): mean for scheme, port, mean in means.iter_rows()}
    each = []
    for scheme in (DUAL, MDNVR):
        last, other = (drops.get((scheme, port), 0.0) for port in (LAST, OTHER))
        each.append(f"{scheme} loses {last:.1f} packets at {LAST} and {other:.1f} at {OTHER}")
    return (
        f"{', '.join(each)} (means of runs and buffers): fixed paths that never meet lose less within the network, and "
        "bring what several send at once to the last port, which no routing relieves (MP-X17); "
        f"{100 * shared_receivers():.0f} % of the transfers have a receiver that another node has drawn, too "
        "(shared_receivers)"
    )


def shared_receivers(hosts: int = chapter.HOSTS) -> float:
    """The share of transfers whose receiver another node has drawn, too: each of the 14 others does by one in 15."""
    return 1 - (1 - 1 / (hosts - 1)) ** (hosts - 2)


def _dnvr(tables: Tables) -> Judgement:
    return judges.better(tables["runs"], DNVR, NR)


def draw(tables: Tables) -> "Picture":
    """Completion time, throughput and loss over the buffer."""
    return pictures.rows(tables["points"], [RANDOM])


FIGURE = Figure(
    id="MP-F5.12",
    title="Random: completion time, throughput and loss by buffer",
    plans=plans,
    tables=tables,
    claims={"MP-F5.12.a": _multipath, "MP-F5.12.b": _dual, "MP-F5.12.c": _dnvr},
    draw=draw,
    needs={"runs": chapter.NEEDS, "setups": chapter.NEEDS_SETUPS},
    assumed=(
        *chapter.ASSUMED,
        "Each node draws one of the 15 others, in each run anew. All start at the same instant. A reading of "
        '"sends the same traffic to any other node in the network with uniform probability" has 133,333 B from each '
        "node to every other.",
    ),
)
