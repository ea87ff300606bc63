"""SYN, section II (claim P1): how long packets take on the wire at 10 Gbps, about 50 ns for 64 B and 1.2 us for 1500 B.

Measured, not divided: a packet alone on a cable of no length, from the first bit sent to the last received.
"""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Figure, Sweeps, Tables
from flowyard.papers.judge import Judgement, all_exactly, not_reached
from flowyard.sweeps import Axis, Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

BYTES = (64, 128, 256, 576, 1500, 4096, 9000)
RATES_GBPS = (1, 10)
BASE = {
    "topology": {"explicit": {"delay": "0s", "hosts": ["a", "b"], "cables": [{"ends": ["a", "b"]}]}},
    "transport": {"datagram": {"header_bytes": "0B"}},
    "traffic": [
        {
            "name": "packet",
            "arrivals": {"at-once": {"jitter": "0s"}},
            "matrix": {"pairs": [[0, 1]]},
            "sizes": {"fixed": "64B"},
        }
    ],
}


def plans() -> dict[str, Plan]:
    """A packet of each length at each rate."""
    lengths = [f"{count}B" for count in BYTES]
    rates = [f"{rate}Gbps" for rate in RATES_GBPS]
    both = {"transport.datagram.lengths.fixed": lengths, "traffic.packet.sizes.fixed": lengths}
    axes = [
        Axis("rate_gbps", {"topology.explicit.rate": rates}, labels=RATES_GBPS),
        Axis("packet_bytes", both, labels=BYTES),
    ]
    return {"alone": Plan(BASE, axes, name="a packet alone")}


def tables(sweeps: Sweeps) -> Tables:
    """The time of each packet, in whole picoseconds."""
    flows = sweeps["alone"].flows.select("rate_gbps", "packet_bytes", "packets_sent", time_ps="fct_ps")
    return {"packets": flows.sort("rate_gbps", "packet_bytes").collect()}


def _times(tables: Tables) -> Judgement:
    expected_ps = {64: 51_200, 1500: 1_200_000}
    found = tables["packets"].filter(pl.col("packets_sent") == 1, rate_gbps=10)
    times = dict(found.select("packet_bytes", "time_ps").iter_rows())
    if missing := expected_ps.keys() - times.keys():
        return not_reached(f"no packet of {min(missing)} B")
    return all_exactly(((f"ps for {size} B", times[size], ps) for size, ps in expected_ps.items()), "times")


def draw(tables: Tables) -> "Picture":
    """Time over length, for both rates."""
    picture, (axes,) = style.panels()
    for rate, colour, marker in zip(RATES_GBPS, style.COLOURS, style.MARKERS, strict=False):
        rows = tables["packets"].filter(rate_gbps=rate).sort("packet_bytes")
        axes.loglog(
            rows["packet_bytes"].to_numpy(),
            rows["time_ps"].to_numpy() / 1e6,
            color=colour,
            marker=marker,
            label=f"{rate} Gbps",
        )
        for size, time_ps in (
            rows.filter(pl.col("packet_bytes").is_in([64, 1500]))
            .select("packet_bytes", "time_ps")
            .iter_rows()
        ):
            said = f"{time_ps / 1e3:g} ns" if time_ps < 1e6 else f"{time_ps / 1e6:g} us"
            axes.annotate(said, (size, time_ps / 1e6), (6, -10), textcoords="offset points", fontsize=8)
    axes.set(
        ylim=(0.02, 150),
        xlabel="packet (bytes)",
        ylabel="transmission time (us)",
        title="A packet alone on the wire",
    )
    axes.set_xticks(BYTES, [str(count) for count in BYTES])
    axes.minorticks_off()
    axes.legend()
    return picture


FIGURE = Figure(
    id="SYN-P1",
    title="Transmission times",
    plans=plans,
    tables=tables,
    claims={"SYN-P1": _times},
    draw=draw,
    assumed=(
        "The lengths are those on the wire, without preamble and gap: so the paper's numbers come out.",
    ),
)
