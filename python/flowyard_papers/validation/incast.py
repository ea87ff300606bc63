"""Incast: N senders, one receiver, and what its link can carry.

All start at time 0 below one switch, so that the first packets reach the receiver's port together after their
transmission t and the delay d. From then on the port has something to send until all is sent: what comes at least
keeps up with it, since N links feed one. With p packets per flow, the last byte arrives at

    t_first + d + N (t_1 + ... + t_p) + d

exactly if nothing is lost or sent twice, and never earlier; t_first is the time of the packet that is there first.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import pinned_fields, style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, Value, all_exactly, judged, not_reached
from flowyard.sweeps import Axis, Plan
from flowyard_papers.validation.alone import FRAMES, TRANSPORTS, cut, wire_ps

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

RATE_BPS, DELAY_PS = 10_000_000_000, 1_000_000
SENDERS = (2, 4, 8, 16, 32, 64)
SIZES = (1_000, 15_000, 100_000)
DATAGRAMS, NDP, FULL = "datagrams", "NDP", "datagrams, 100 packets of room"
SERIES: Mapping[str, tuple[str, Any]] = {
    DATAGRAMS: ("datagram", "infinite"),
    NDP: ("ndp", {"ndp": pinned_fields.NDP_PORT}),
    FULL: ("datagram", {"drop-tail": {"limit": {"packets": 100}}}),
}
FIELDS: Mapping[str, Mapping[str, Any]] = {"datagram": {}, "ndp": pinned_fields.NDP_REPEATS}


def plans(scale: Scale) -> dict[str, Plan]:
    """Every series, number of senders and size."""
    senders = (*SENDERS, *scale.pick((), (128, 256)))
    base = {
        "topology": {"single-switch": {"hosts": 2, "rate": "10Gbps", "delay": "1us"}},
        "traffic": [
            {
                "name": "burst",
                "arrivals": {"at-once": {"jitter": "0s"}},
                "matrix": {"incast": {"senders": 1, "receiver": 0}},
                "sizes": {"fixed": "1B"},
            }
        ],
    }
    transports = [{name: TRANSPORTS[name][name] | FIELDS[name]} for name, _ in SERIES.values()]
    axes = [
        Axis(
            "series",
            {"transport": transports, "queue": [queue for _, queue in SERIES.values()]},
            labels=list(SERIES),
        ),
        Axis(
            "senders",
            {
                "topology.single-switch.hosts": [n + 1 for n in senders],
                "traffic.burst.matrix.incast.senders": list(senders),
            },
            labels=senders,
        ),
        Axis("size", {"traffic.burst.sizes.fixed": [f"{size}B" for size in SIZES]}, labels=SIZES),
    ]
    return {"incast": Plan(base, axes, scale.pick(2, 5), name="incast")}


def tables(sweeps: Sweeps) -> Tables:
    """One row per run: when the last byte came, when it could, and all counts of packets."""
    sweep = sweeps["incast"]
    flows = sweep.flows.group_by("run").agg(
        last_byte_ps=(pl.col("start_ps") + pl.col("fct_ps")).max(),
        completed=pl.col("completed").sum(),
        sent=pl.col("packets_sent").sum(),
        repeated=pl.col("retransmissions").sum(),
        flows_drops=pl.col("drops").sum(),
        delivered_bytes=pl.col("delivered_bytes").sum(),
    )
    # Data takes the senders' links to the switch and one link from there.
    up = pl.col("to") == "switch"
    up &= pl.col("from") != "host 0"
    down = pl.col("to") == "host 0"
    links = sweep.links.group_by("run").agg(
        entered=pl.col("packets").filter(up).sum(),
        forwarded=pl.col("packets").filter(down).sum(),
        forwarded_bytes=pl.col("bytes").filter(down).sum(),
        port_drops=pl.col("drops").filter(down).sum(),
    )
    keys = ["series", "senders", "size", "replica"]
    counts = sweep.runs.lazy().join(flows, on="run").join(links, on="run").collect()
    whole = counts.select(*keys, pl.exclude(*keys, "run", "done").cast(pl.Int64)).sort(keys)
    rows = [_due(*row) for row in whole.select("series", "senders", "size").iter_rows()]
    return {"runs": whole.hstack(pl.DataFrame(rows))}


def _due(series: str, senders: int, size: int) -> dict[str, int]:
    """Values of a run by arithmetic."""
    payload, header = FRAMES[SERIES[series][0]]
    packets = cut(size, payload, header)
    carried = senders * sum(wire_ps(packet, RATE_BPS) for packet in packets) + 2 * DELAY_PS
    return {
        "needed": senders * len(packets),
        "header_bytes": header,
        "least_ps": wire_ps(min(packets), RATE_BPS) + carried,
        "in_order_ps": wire_ps(packets[0], RATE_BPS) + carried,
    }


def _rows(tables: Tables, *series: str) -> pl.DataFrame | None:
    """The runs of some series; None if not all are there."""
    rows = tables["runs"].filter(pl.col("series").is_in(series))
    there = set(rows.select("series", "senders", "size").iter_rows())
    return None if {(s, n, size) for s in series for n in SENDERS for size in SIZES} - there else rows


def _exact(tables: Tables) -> Judgement:
    rows = _rows(tables, DATAGRAMS)
    if rows is None:
        return not_reached("there are not all numbers of senders and sizes")
    times = (
        (f"{row['senders']} x {row['size']} B, ps", row["last_byte_ps"], row["in_order_ps"])
        for row in rows.iter_rows(named=True)
    )
    return all_exactly(times, "times")


def _not_before(tables: Tables) -> Judgement:
    rows = _rows(tables, NDP)
    if rows is None or rows.filter(pl.col("completed") != pl.col("senders")).height:
        return not_reached("there are not all numbers of senders and sizes, or flows did not end")
    ratio = pl.col("last_byte_ps") / pl.col("least_ps")
    early = rows.filter(pl.col("last_byte_ps") < pl.col("least_ps"))
    fastest = rows.select(ratio.min()).item()
    measured = f"{len(rows) - len(early)} of {len(rows)} runs; the fastest takes {fastest:.6f} of the bound"
    found = judged(early.is_empty(), measured, "every run, >= 1 of the bound")
    said = [f"{row['senders']} x {row['size']} B" for row in early.head(3).iter_rows(named=True)]
    return found.because("too early: " + "; ".join(said))


def _conserved(tables: Tables) -> Judgement:
    rows = _rows(tables, *SERIES)
    if rows is None:
        return not_reached("there are not all series, numbers of senders and sizes")
    if not rows.filter(series=FULL)["port_drops"].sum():
        return not_reached("nothing was dropped, which would test little")
    return all_exactly((check for row in rows.iter_rows(named=True) for check in _balance(row)), "balances")


def _balance(row: dict[str, Any]) -> Iterator[tuple[str, Value, Value]]:
    where = f"{row['series']}, {row['senders']} x {row['size']} B: "
    yield where + "packets on the senders' wires", row["entered"], row["sent"]
    yield where + "packets forwarded and dropped", row["forwarded"] + row["port_drops"], row["entered"]
    yield where + "drops of flows", row["flows_drops"], row["port_drops"]
    headers = row["header_bytes"] * row["forwarded"]
    yield where + "bytes on the receiver's wire", row["forwarded_bytes"], row["delivered_bytes"] + headers
    yield where + "packets sent", row["sent"], row["needed"] + row["repeated"]
    if row["completed"] == row["senders"]:
        yield where + "bytes delivered", row["delivered_bytes"], row["senders"] * row["size"]


def draw(tables: Tables) -> "Picture":
    """The last byte's time on its bound, what is above, and where dropped packets went."""
    picture, (left, middle, right) = style.panels(1, 3)
    runs = tables["runs"]
    keys = ["series", "senders", "size"]
    means = runs.group_by(keys, maintain_order=True).agg(pl.exclude("replica").mean()).sort(keys)
    for size, colour in zip(SIZES, style.COLOURS, strict=False):
        bound = means.filter(series=DATAGRAMS, size=size)
        left.plot(
            bound["senders"].to_numpy(), (bound["in_order_ps"] / 1e6).to_numpy(), color="#000000", lw=0.9
        )
        for series, filled in ((DATAGRAMS, "none"), (NDP, colour)):
            rows = means.filter(series=series, size=size)
            senders = rows["senders"].to_numpy()
            look: dict[str, Any] = {"color": colour, "marker": "o", "markerfacecolor": filled}
            name = f"{series}, {size / 1000:g} KB"
            left.plot(senders, (rows["last_byte_ps"] / 1e6).to_numpy(), linestyle="none", label=name, **look)
        above = 100 * (rows["last_byte_ps"] / rows["least_ps"] - 1)
        middle.plot(senders, above.to_numpy(), **look)
    left.set(xscale="log", yscale="log", xlabel="senders", ylabel="last byte (us)", title="lines: the bound")
    left.legend(loc="upper left", fontsize=6)
    middle.set(
        xscale="log", xlabel="senders", ylabel="above the bound (%)", title="NDP: repeats, pulls, timeouts"
    )
    middle.set_yscale("symlog", linthresh=1)
    middle.set_ylim(bottom=-0.2)
    ticks = means["senders"].unique().sort().to_list()
    for axes in (left, middle):
        axes.set_xticks(ticks, [str(n) for n in ticks])
        axes.set_xticks([], minor=True)
    rows = means.filter(series=FULL, size=SIZES[-1])
    places = range(len(rows))
    forwarded, dropped = (
        100 * (rows[name] / rows["sent"]).to_numpy() for name in ("forwarded", "port_drops")
    )
    right.bar(places, forwarded, color=style.COLOURS[2], label="forwarded")
    right.bar(places, dropped, bottom=forwarded, color=style.COLOURS[1], label="dropped")
    right.axhline(100, color="#000000", linewidth=0.9)
    right.set_xticks(list(places), [str(n) for n in rows["senders"]])
    right.set(xlabel="senders", ylabel="of the packets sent (%)")
    right.set_title(f"100 packets of room, {SIZES[-1] / 1000:g} KB each")
    right.legend(loc="upper right", frameon=True)
    return picture


FIGURE = Figure(
    id="VAL-I",
    title="Incast: a receiver's link is the bound, and packets are conserved",
    plans=plans,
    tables=tables,
    claims={"VAL-I.a": _exact, "VAL-I.b": _not_before, "VAL-I.c": _conserved},
    draw=draw,
    needs={"runs": Needs(5, by=("series", "senders", "size"))},
    assumed=(
        "One switch, 10 Gbps and 1 us a cable; all flows start at 0 without jitter; sizes of one packet, of some with "
        "a short last one, and of many.",
        "NDP has the simulator's defaults, but that headers are lost which find no room: packets that end at a port "
        "are what is counted here. What it takes above the bound is what trimmed headers and pulls cost, and "
        "waiting for a timeout where a header was dropped, too.",
    ),
)
