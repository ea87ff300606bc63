"""Incast under five schemes: blocks that a client reads from N servers through one switch port.

Each server holds a fragment of a block, and the client asks for the next block when it has all of one. The picture
shows the client's goodput as a share of its link over the number of servers. Fragments of 256 KiB are judged; those of
10 KB, for which a round trip weighs more than the data of a few servers, stand beside them with the most that any
scheme could reach.

The network and the fragments are those of the Incast papers that MP's section 5.2.1 names: 1 Gbps, 100 us there and
back, 10 to 256 KB a server, ports of 128 KB. Each scheme has the ports that its own paper gives it.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard_papers.mp._chapter5 import TCP
from flowyard_papers.syn._rack import FRAME_BYTES

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

LINK_BPS, RTT_S = 1_000_000_000, 100e-6
RENO, NDP, DAQ, SYN, ASY = "TCP Reno", "NDP", "DAQ", "SYN", "ASY"
_CENTRAL = {"central": {"link_bytes": f"{FRAME_BYTES}B"}}
SCHEMES: Mapping[str, dict[str, Any]] = {
    RENO: {"transport": {"tcp": dict(TCP)}, "queue": {"drop-tail": {"limit": {"bytes": "128KB"}}}},
    NDP: {"transport": {"ndp": {"mtu": "1500B"}}, "queue": {"ndp": {}}},
    DAQ: {"transport": {"daq": {}}, "queue": {"daq": {}}},
    SYN: {"transport": _CENTRAL, "controller": {"syn": {"policy": "mmf"}}},
    ASY: {"transport": _CENTRAL, "controller": {"asy": {}}},
}
SERVERS = (1, 2, 4, 8, 16, 32, 64, 100)
JUDGED, SMALL = 262_144, 10_000
KEEPS = 0.9
COLLAPSED = 0.5
# What it takes to keep one's goodput: the claim's share of the link, or not to collapse as Reno does.
LINK, HALF = "0.9 of the link", "half of its own most"
# Why a scheme misses the link's share where nobody collides with it.
START = {
    DAQ: " servers: nothing is lost; a window begins at a quarter of the bandwidth-delay product, one packet more each "
    "round trip, and each fragment is a new flow"
}


def _scenario(scheme: str, size_bytes: int, blocks: int) -> dict[str, Any]:
    """A block after the other; under TCP by connections that stay open, as file systems have them."""
    reads = {
        "name": "reads",
        "arrivals": {"blocks": {"blocks": blocks}},
        "matrix": {"incast": {"senders": 1, "receiver": 0}},
        "sizes": {"fixed": f"{size_bytes}B"},
        **({"connection": "kept"} if scheme == RENO else {}),
    }
    network = {"single-switch": {"hosts": 2, "rate": f"{LINK_BPS}bps", "delay": "25us"}}
    return {"topology": network, **SCHEMES[scheme], "traffic": [reads], "run": {"until": "600s"}}


def plans(scale: Scale) -> dict[str, Plan]:
    """All schemes, both fragments."""
    servers = scale.pick((1, 8, 32, 100), SERVERS)
    numbers = Axis(
        "servers",
        {
            "topology.single-switch.hosts": [n + 1 for n in servers],
            "traffic.reads.matrix.incast.senders": list(servers),
        },
        labels=servers,
    )
    made = {}
    for size in (JUDGED, SMALL):
        bases = [_scenario(name, size, scale.pick(2, 20)) for name in SCHEMES]
        schemes = Axis("scheme", scenarios=bases, labels=list(SCHEMES))
        made[str(size)] = Plan(None, [schemes, numbers], scale.pick(1, 5), name=f"fragments of {size} B")
    return made


def tables(sweeps: Sweeps) -> Tables:
    """One row per run, and the means."""
    runs = pl.concat([_runs(sweeps[str(size)], size) for size in (JUDGED, SMALL)])
    return {"runs": runs, "points": replica_means(runs, ["size_bytes", "scheme", "servers"], ["goodput"])}


def _runs(sweep: Sweep, size: int) -> pl.DataFrame:
    keys = ["scheme", "servers", "replica"]
    end_s = (pl.col("start_ps") + pl.col("fct_ps")).max() / 1e12
    done = pl.col("completed").all()
    return (
        sweep.flows.group_by(keys)
        .agg(
            size_bytes=pl.lit(size).first(),
            goodput=pl.when(done).then(8 * pl.col("size_bytes").sum() / end_s / LINK_BPS),
            drops=pl.col("drops").sum().cast(pl.Int64),
            timeouts=pl.col("timeouts").sum().cast(pl.Int64),
        )
        .sort(keys)
        .collect()
    )


def _collapses_alone(tables: Tables) -> Judgement:
    """Reno falls below half of its most somewhere, the others nowhere below 0.9 of the link, or not below half."""
    runs = tables["runs"].filter(size_bytes=JUDGED)
    means: dict[str, dict[int, float]] = {scheme: {} for scheme in SCHEMES}
    for scheme, servers, goodput in (
        runs.group_by("scheme", "servers").agg(pl.col("goodput").mean()).sort("servers").iter_rows()
    ):
        means[scheme][servers] = goodput
    if runs["goodput"].has_nulls() or any(SERVERS[-1] not in points for points in means.values()):
        return judge.not_reached(
            f"a scheme does not have {SERVERS[-1]} servers, or some fragments never came"
        )
    lowest = {scheme: min(points, key=lambda n, of=points: of[n]) for scheme, points in means.items()}  # type: ignore[misc]
    said = {scheme: f"{scheme} {means[scheme][at]:.3g} with {at}" for scheme, at in lowest.items()}
    half = {scheme: COLLAPSED * max(points.values()) for scheme, points in means.items()}
    reno = means[RENO][lowest[RENO]] < half[RENO]
    found: dict[str, list[Judgement]] = {LINK: [], HALF: []}
    for reading, judged in found.items():
        judged.append(judge.judged(reno, f"{said[RENO]}, {2 * half[RENO]:.3g} at most", "below half"))
        for scheme in SCHEMES:
            if scheme == RENO:
                continue
            bound = KEEPS if reading == LINK else half[scheme]
            low = [f"{n} ({goodput:.3g})" for n, goodput in means[scheme].items() if goodput < bound]
            holds = judge.judged(not low, said[scheme], f">= {bound:.3g}")
            judged.append(holds.because(f"{scheme} with {', '.join(low)}{START.get(scheme, '')}"))
    return judge.by_reading({reading: judge.together(judged) for reading, judged in found.items()})


def draw(tables: Tables) -> "Picture":
    """Goodput over servers; the line is the data and one round trip a block, without headers."""
    picture, panels = style.panels(1, 2)
    for axes, size in zip(panels, (JUDGED, SMALL), strict=True):
        for place, scheme in enumerate(SCHEMES):
            own = tables["points"].filter(size_bytes=size, scheme=scheme).sort("servers")
            style.curve(axes, own, "servers", "goodput", place, scheme)
        x = [1.0 * 100 ** (n / 40) for n in range(41)]
        data_s = [8 * size * n / LINK_BPS for n in x]
        axes.plot(x, [s / (s + RTT_S) for s in data_s], "k--", linewidth=0.9, label="data and a round trip")
        axes.set(xscale="log", xlabel="servers", title=f"{size:,} B a server", ylim=(0, 1.05))
        axes.set_xticks([1, 4, 16, 64, 100], ["1", "4", "16", "64", "100"])
        axes.minorticks_off()
    panels[0].axhline(KEEPS, color="#7f7f7f", linewidth=0.7)
    panels[0].set_ylabel("goodput / rate of the client's link")
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    return picture


FIGURE = Figure(
    id="ALL-3",
    title="Incast under TCP Reno, NDP, DAQ, SYN and ASY",
    plans=plans,
    tables=tables,
    claims={"ALL-3": _collapses_alone},
    draw=draw,
    needs={"runs": Needs(5, by=("size_bytes", "scheme", "servers"))},
    assumed=(
        "One switch, 1 Gbps, 100 us there and back. A server has 262,144 B of each block, as in MP's chapter 5; the "
        "client asks for the next block as soon as it has all of one; 20 blocks, at quick scale 2.",
        "TCP Reno as in MP's chapter 5 (windows of 65,535 B, a minimum timeout of 200 ms) over connections that stay "
        "open; the client's port holds 128 KB. NDP: its defaults, ports of 8 packets that trim. DAQ: its credits and "
        "2 MB for flows without deadlines. SYN (MMF) and ASY: 1500 B and 38 B of frame, ports without a limit, a "
        "controller without delay.",
        "Goodput is payload over the time until the last byte; 0.9 of the link is asked at each number of servers. "
        "Reno has collapsed if its goodput with some number of servers is below half of its own most.",
    ),
)
