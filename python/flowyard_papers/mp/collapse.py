"""Section 6.2: how many connections at a time a routing scheme bears before goodput collapses, on four networks.

Every host reads blocks from more and more others. Beside it the control for chapter 5 (MP-X17): one client alone, whose
own link is the bottleneck, which no choice of paths relieves.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import not_less, not_reached, together
from flowyard.sweeps import Axis, Plan
from flowyard_papers.mp import _chapter5 as chapter
from flowyard_papers.mp._chapter5 import DNVR, DUAL, MDNVR, NR
from flowyard_papers.mp._chapter5_pictures import PLACES

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SCHEMES = (NR, DNVR, MDNVR)
NUMBERS = (1, 2, 3, 4, 5, 6, 7, 9, 11, 13, 15)
BUFFER, BLOCKS, REPLICAS = 20, 5, 5
_LINKS = {"rate": "1Gbps", "delay": chapter.DELAY}
# Networks that can carry all that their hosts send; with their hosts.
NETWORKS: Mapping[str, tuple[Mapping[str, Any], int]] = {
    "FT(4,3)": ({"fat-tree": {"k": 4, **_LINKS}}, 16),
    "FT(8,3)": ({"fat-tree": {"k": 8, **_LINKS}}, 128),
    "VL2": ({"vl2": {"aggregation_ports": 8, "intermediate_ports": 4, "hosts": 2, **_LINKS}}, 16),
    "BCube": ({"bcube": {"n": 4, "k": 1, **_LINKS}}, 16),
}
GOODPUT = "goodput_mbps"


def plans(scale: Scale) -> dict[str, Plan]:
    """Four networks on which every host reads; and one on which host 0 alone does."""
    buffer = chapter.buffers((BUFFER,))
    replicas = scale.pick(2, REPLICAS)
    made = {}
    for place, (network, hosts) in enumerate(NETWORKS.values()):
        numbers = scale.pick(NUMBERS[::3] if hosts > chapter.HOSTS else NUMBERS, NUMBERS)
        pairs = [_pairs(hosts, number) for number in numbers]
        senders = Axis("senders", {f"traffic.{chapter.ENTRY}.matrix.pairs": pairs}, labels=numbers)
        base = chapter.scenario(_reads()) | {"topology": network}
        base["traffic"][0]["arrivals"]["blocks"]["blocks"] = BLOCKS
        name = f"network-{place}"
        made[name] = Plan(base, [chapter.schemes(SCHEMES), buffer, senders], replicas, name=name)
    base = chapter.scenario(_reads())
    base["traffic"][0]["matrix"] = {"incast": {"senders": 1, "receiver": 0}}
    senders = Axis(
        "senders", {f"traffic.{chapter.ENTRY}.matrix.incast.senders": list(NUMBERS)}, labels=NUMBERS
    )
    alone = [chapter.schemes((*SCHEMES, DUAL)), buffer, senders]
    made["alone"] = Plan(base, alone, scale.pick(4, chapter.REPLICAS), name="alone")
    return made


def _reads() -> list[dict[str, Any]]:
    """Simultaneous connections: they are kept, and each client goes on by itself."""
    return chapter.senders(1, connection="kept", barrier="receiver")


def _pairs(hosts: int, number: int) -> list[list[int]]:
    """Each host reads from the hosts a quarter further on, two and three quarters, then odd eighths, and so on."""
    distances = list(range(hosts // 4, hosts, hosts // 4))
    step = hosts // 8
    while len(distances) < number:
        distances += range(step, hosts, 2 * step)
        step //= 2
    return [[(receiver + away) % hosts, receiver] for receiver in range(hosts) for away in distances[:number]]


def tables(sweeps: Sweeps) -> Tables:
    """Goodput of a run, the mean over its clients; how many senders there are before collapse; and means."""
    runs = pl.concat(
        [
            _goodput(sweeps[f"network-{place}"]).select(pl.lit(network).alias("network"), pl.all())
            for place, network in enumerate(NETWORKS)
        ]
    )
    alone = _goodput(sweeps["alone"])
    return {
        "runs": runs,
        "collapse": before_collapse(runs),
        "points": replica_means(runs, ["network", "scheme", "senders"], [GOODPUT]),
        "alone": alone,
        "alone_points": replica_means(alone, ["scheme", "senders"], [GOODPUT]),
    }


def _goodput(sweep: Any) -> pl.DataFrame:
    """Of each client its bytes over the time in which it got them, then the mean; null if a flow is not complete."""
    keys = ["scheme", "senders", "replica"]
    end = (pl.col("start_ps") + pl.col("fct_ps")).max()
    clients = sweep.flows.group_by(*keys, "dst").agg(
        pl.col("completed").all(),
        rate=8e6 * pl.col("size_bytes").sum() / end,
        timeouts=pl.col("timeouts").sum(),
        drops=pl.col("drops").sum(),
    )
    # In the order of clients, as sums of fractions depend on it.
    of_run = (
        clients.sort(*keys, "dst")
        .group_by(keys)
        .agg(
            pl.when(pl.col("completed").all()).then(pl.col("rate").mean()).alias(GOODPUT),
            pl.col("drops", "timeouts").sum().cast(pl.Int64),
        )
    )
    table: pl.DataFrame = of_run.sort(keys).collect()
    return table


def before_collapse(runs: pl.DataFrame) -> pl.DataFrame:
    """The most senders before goodput falls below half of its maximum, by network, scheme and replica.

    Where it never does, that is the largest number that was run, and `collapsed` is false.
    """
    rows = []
    for key, series in runs.sort("senders").group_by("network", "scheme", "replica", maintain_order=True):
        goodput, numbers = series[GOODPUT].to_list(), series["senders"].to_list()
        if None in goodput:
            continue
        peak = goodput.index(max(goodput))
        low = [at for at in range(peak, len(goodput)) if goodput[at] < max(goodput) / 2]
        most = numbers[low[0] - 1] if low else numbers[-1]
        rows.append((*key, most, bool(low)))
    columns = ["network", "scheme", "replica", "senders", "collapsed"]
    return pl.DataFrame(rows, schema=columns, orient="row").sort("network", "scheme", "replica")


def _ranking(tables: Tables) -> Judgement:
    found = tables["collapse"].pivot(on="scheme", index=["network", "replica"], values="senders")
    if set(found["network"]) != set(NETWORKS) or found.null_count().sum_horizontal().item():
        return not_reached("some run did not complete")
    judgement = together([not_less(found, a, b, x="network") for a, b in ((MDNVR, DNVR), (DNVR, NR))])
    means = (
        tables["collapse"]
        .group_by("network", "scheme", maintain_order=True)
        .agg(pl.col("senders").mean(), pl.col("collapsed").mean())
    )
    each = [
        f"{network} "
        + ", ".join(
            f"{scheme} {senders:.3g}" + ("" if collapsed == 1 else " or more")
            for _, scheme, senders, collapsed in means.filter(network=network).iter_rows()
        )
        for network in NETWORKS
    ]
    said = judgement.noted(f"senders before collapse: {'; '.join(each)}")
    return said.noted(_maxima(tables["points"])).noted(_alone(tables["alone_points"]))


def _maxima(points: pl.DataFrame) -> str:
    """Measure of each scheme's collapse."""
    top = points.filter(pl.col(GOODPUT) == pl.col(GOODPUT).max().over("network", "scheme"))
    each = [
        f"{network} {scheme} {goodput:.0f} Mbps with {senders}"
        for network, scheme, senders, goodput in top.select(
            "network", "scheme", "senders", GOODPUT
        ).iter_rows()
    ]
    return f"maxima: {', '.join(each)}"


def _alone(points: pl.DataFrame) -> str:
    """How goodput of the one client under MDNVR compares with that under Normal Routing, from 3 senders on."""
    goodput = points.pivot(on="scheme", index="senders", values=GOODPUT).filter(pl.col("senders") >= 3)
    gains = (100 * (goodput[MDNVR] / goodput[NR] - 1)).to_list()
    if not gains or None in gains:
        return "one client alone: not known"
    return (
        f"one client alone, from 3 senders on: MDNVR gains {min(gains):.0f} to {max(gains):.0f} % over NR in goodput, "
        f"{sum(gains) / len(gains):.0f} % on average (MP-X17)"
    )


def draw(tables: Tables) -> "Picture":
    """Goodput over the number of senders on each network, and of one client; senders before collapse."""
    picture, panels = style.panels(2, 3, size=(3.8, 2.9))
    for axes, network in zip(panels, NETWORKS, strict=False):
        _lines(axes, tables["points"].filter(network=network), SCHEMES)
        axes.set_title(f"{network}, every host reads")
    _lines(panels[5], tables["alone_points"], (*SCHEMES, DUAL))
    panels[5].set_title("FT(4,3), one client alone")
    bars = panels[4]
    means = replica_means(tables["collapse"], ["network", "scheme"], ["senders"])
    for place, scheme in enumerate(SCHEMES):
        rows = [means.filter(network=network, scheme=scheme).row(0, named=True) for network in NETWORKS]
        bars.bar(
            [at + 0.27 * (place - 1) for at in range(len(NETWORKS))],
            [row["senders"] for row in rows],
            0.25,
            yerr=[row["senders_ci95"] or 0 for row in rows],
            color=style.COLOURS[PLACES[scheme]],
        )
    bars.axhline(max(NUMBERS), color="#000000", linewidth=0.9, linestyle="--")
    bars.set_ylim(0, max(NUMBERS) + 1)
    bars.set(ylabel="senders before collapse", title=f"before goodput halves (of {max(NUMBERS)} run)")
    bars.set_xticks(range(len(NETWORKS)), list(NETWORKS))
    picture.legend(*panels[5].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return picture


def _lines(axes: Any, points: pl.DataFrame, schemes: tuple[str, ...]) -> None:
    for scheme in schemes:
        rows = points.filter(scheme=scheme).sort("senders")
        style.curve(axes, rows, "senders", GOODPUT, PLACES[scheme], scheme)
    axes.set(xlabel="senders of a client", ylabel="goodput of a client (Mbps)")
    axes.set_ylim(bottom=0)


FIGURE = Figure(
    id="MP-P10",
    title="Senders before collapse, by routing scheme and network; one client alone",
    plans=plans,
    tables=tables,
    claims={"MP-P10": _ranking},
    draw=draw,
    needs={
        "collapse": Needs(REPLICAS, by=("network", "scheme")),
        "alone": Needs(chapter.REPLICAS, by=("scheme", "senders")),
    },
    assumed=(
        *chapter.ASSUMED,
        f"Ports of {BUFFER} packets, the smallest of figures 5.14 to 5.16; {BLOCKS} blocks "
        f"with 262,144 B from each sender, of one client alone {chapter.BLOCKS}; connections are kept. Up to "
        f"{max(NUMBERS)} senders.",
        "VL2 has 8 racks of 2 hosts, aggregation switches of 8 ports and intermediate ones of 4, BCube_1 "
        "switches of 4 ports; all links are of 1 Gbps and 500 us.",
        "A scheme has collapsed where goodput is below half of its own maximum over fewer senders.",
    ),
)
