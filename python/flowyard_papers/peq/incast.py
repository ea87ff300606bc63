"""PEQ figure 1.14, section 1.3: TCP Incast, the collapse of throughput when many servers answer at once.

The thesis repeats what the literature on Incast found (Phanishayee et al., FAST 2008; Chen et al., WREN 2009) and names
a retransmission timeout of about 200 ms; the rest of the set-up is the usual one of that literature. A client asks all
servers for 256 KB each, and asks again when it has the answers of all.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, at_most, not_less, not_reached
from flowyard.sweeps import Axis, Plan, Sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

LINK_MBPS = 1000
MOST = 48
# Claims are judged on TCP as it is. The other series tells what its first slow start does: it ends where two windows
# still fit into the port and the cables.
AS_IS, SHORT = "TCP", "slow start up to 30 KB"
STARTS: Mapping[str, dict[str, str]] = {AS_IS: {}, SHORT: {"transport.tcp.initial_ssthresh": "30KB"}}


def plans(scale: Scale) -> dict[str, Plan]:
    """The packaged scenario of blocks, with the thesis's network and numbers of servers."""
    servers = scale.pick((1, 2, 4, 8, 16, 32, 48), (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48))
    axis = Axis(
        "servers",
        {
            "topology.single-switch.hosts": [n + 1 for n in servers],
            "traffic.reads.matrix.incast.senders": list(servers),
        },
        labels=servers,
    )
    fixed = {
        "topology.single-switch.rate": f"{LINK_MBPS}Mbps",
        # Four cables, there and back, are the 100 us.
        "topology.single-switch.delay": "25us",
        "queue.drop-tail.limit.bytes": "64KB",
        "traffic.reads.sizes.fixed": "256KB",
        "traffic.reads.connection": "kept",
        "traffic.reads.arrivals.blocks.blocks": scale.pick(5, 20),
        "transport.tcp.rto_min": "200ms",
    }
    return {
        _folder(name): Plan("incast-blocks", [axis], scale.pick(3, 5), set=fixed | start, name=name)
        for name, start in STARTS.items()
    }


def _folder(name: str) -> str:
    return name.replace(" ", "-")


def tables(sweeps: Sweeps) -> Tables:
    """One row per run, and the means."""
    runs = pl.concat([_runs(name, sweeps[_folder(name)]) for name in STARTS])
    columns = ["goodput_mbps", "loss_pct", "timeouts"]
    return {"runs": runs, "points": replica_means(runs, ["start", "servers"], columns)}


def _runs(name: str, sweep: Sweep) -> pl.DataFrame:
    flows = sweep.flows.group_by("servers", "replica").agg(
        completed=pl.col("completed").all(),
        bytes=pl.col("delivered_bytes").sum(),
        seconds=(pl.col("start_ps") + pl.col("fct_ps")).max() / 1e12,
        timeouts=pl.col("timeouts").sum(),
    )
    port = sweep.links.filter(pl.col("to") == "host 0").select("servers", "replica", "packets", "drops")
    loss = 100 * pl.col("drops") / (pl.col("packets") + pl.col("drops"))
    table = flows.join(port, on=["servers", "replica"]).select(
        pl.lit(name).alias("start"),
        "servers",
        "replica",
        "completed",
        "timeouts",
        "packets",
        "drops",
        goodput_mbps=8e-6 * pl.col("bytes") / pl.col("seconds"),
        loss_pct=loss,
    )
    return table.sort("servers", "replica").collect()


def _collapses(tables: Tables) -> Judgement:
    runs = tables["runs"].filter(start=AS_IS)
    if not runs["completed"].all():
        return not_reached("some run ended before all blocks were there")
    if runs["servers"].max() != MOST:
        return not_reached(f"not run up to {MOST} servers")
    means = runs.group_by("servers").agg(pl.col("goodput_mbps").mean())["goodput_mbps"].to_list()
    return at_most(min(means) / max(means), 0.2).because(
        f"goodput is between {min(means):.4g} and {max(means):.4g} Mbps"
    )


def _loss_rises(tables: Tables) -> Judgement:
    """At each number of servers against the next smaller one."""
    runs = tables["runs"].filter(start=AS_IS)
    servers = runs["servers"].unique().sort()
    before = pl.DataFrame({"servers": servers[1:], "fewer": servers[:-1]})
    pairs = runs.join(before, on="servers").join(
        runs.select("replica", fewer="servers", loss_pct_with_fewer="loss_pct"), on=["fewer", "replica"]
    )
    found = not_less(pairs, "loss_pct", "loss_pct_with_fewer", x="servers", points=True)
    means = runs.group_by("servers").agg(pl.col("drops", "loss_pct").mean()).sort("servers")
    few = means.filter(pl.col("drops") > 0).head(1)
    if few.is_empty():
        return found
    (servers,), (loss,) = few["servers"], few["loss_pct"]
    control = tables["runs"].filter(start=SHORT, servers=servers)
    short = control.select(pl.col("loss_pct").mean()).item()
    lost = ", ".join(f"{drops:.0f} ({n})" for n, drops in means.select("servers", "drops").iter_rows())
    return found.because(
        f"{found.reason}; {servers} servers already lose {loss:.3g} %, and {short:.3g} % with {SHORT}: the first slow "
        f"start of a few large windows overshoots most; packets lost in a run, by servers: {lost}"
    )


def draw(tables: Tables) -> "Picture":
    """Goodput, loss and timeouts over the number of servers."""
    picture, panels = style.panels(1, 3)
    shown = (
        ("goodput_mbps", "goodput of the client (Mbps)"),
        ("loss_pct", "packets lost at the client's port (%)"),
        ("timeouts", "timeouts in a run"),
    )
    for axes, (name, label) in zip(panels, shown, strict=True):
        for place, start in enumerate(STARTS):
            rows = tables["points"].filter(start=start).sort("servers")
            style.curve(axes, rows, "servers", name, place, start)
        axes.set(xlabel="servers that answer at once", ylabel=label)
        axes.set_ylim(bottom=0)
    panels[0].axhline(LINK_MBPS, color="#000000", linewidth=0.9, linestyle="--")
    panels[0].text(MOST, LINK_MBPS, "link", ha="right", va="bottom", fontsize=8)
    panels[0].set_ylim(0, 1.1 * LINK_MBPS)
    panels[0].legend(loc="center right")
    return picture


FIGURE = Figure(
    id="PEQ-F1.14",
    title="TCP Incast: goodput collapses with the number of servers",
    plans=plans,
    tables=tables,
    claims={"PEQ-F1.14.a": _collapses, "PEQ-F1.14.b": _loss_rises},
    draw=draw,
    needs={"runs": Needs(5, by=("start", "servers"))},
    assumed=(
        "The thesis names only a timeout of about 200 ms. The rest is the usual set-up of the literature: 1 Gbps, "
        "100 us round trip, 64 KB of drop-tail buffer at the client's port, 256 KB from each server a block, the next "
        "block when all of the last one is there. TCP (New Reno) has the simulator's defaults, minimum timeout 200 ms.",
        "Loss is the share of packets for the client that its port dropped. Client and servers keep their connections "
        "from block to block, and with them windows, as clients of storage do in that literature; only the first block "
        "begins in slow start. A second series, not judged, lets that end at 30 KB.",
    ),
)
