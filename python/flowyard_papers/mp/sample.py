"""Tables 5.4 and 5.5, what their numbers imply: link delay, headers, and how much the busiest link has to carry.

No packets: TCP Reno with a window of 65,535 B sends one window a round trip and loses nothing. Sections 5.3.1, 5.3.2.
"""

from math import ceil
from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Tables
from flowyard.theory import loads, matrices, routings
from flowyard.theory.tables import TREE

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SENT_BYTES, SEGMENT_BYTES, WINDOW_BYTES, HEADER_BYTES = 5_000_000, 1452, 65_535, 40
BYTES_PER_S, LINKS = 125_000_000, 6
KB = 1024
# Received by a transfer, KB: table 5.4, flows 1 and 3; table 5.5, both flows of each transfer together.
PRINTED_KB = {"table 5.4": 5017, "table 5.5": 2527 + 2490}
PER_LINK, PER_ROUND_TRIP = "500 us a link", "500 us a round trip"
# Round trips with a full window, and beyond these of slow start and handshake.
FULL_WINDOWS, FEWEST, MOST = 77, 83, 88


def tables() -> Tables:
    """Round trips by reading of the delay; bytes received; inter-pod flows of the busiest link under normal routing."""
    wire_s = (SEGMENT_BYTES + HEADER_BYTES) / BYTES_PER_S
    delays = []
    for reading, link_s in ((PER_LINK, 500e-6), (PER_ROUND_TRIP, 500e-6 / 2 / LINKS)):
        # A segment is sent anew at each link; so little an acknowledgement is that only its delay counts.
        rtt_s = 2 * LINKS * link_s + LINKS * wire_s
        rate = min(WINDOW_BYTES / rtt_s, BYTES_PER_S * SEGMENT_BYTES / (SEGMENT_BYTES + HEADER_BYTES))
        delays.append(
            {
                "delay": reading,
                "rtt_ms": 1000 * rtt_s,
                "bytes_per_s": rate,
                "full_windows": ceil(SENT_BYTES / WINDOW_BYTES),
                "fewest_s": FEWEST * rtt_s,
                "most_s": MOST * rtt_s,
                "serialisation_s": SENT_BYTES / BYTES_PER_S * (1 + HEADER_BYTES / SEGMENT_BYTES),
            }
        )
    received = SENT_BYTES + ceil(SENT_BYTES / SEGMENT_BYTES) * HEADER_BYTES
    samples = [
        {"table": table, "printed_kb": printed, "follows_kb": received / KB}
        for table, printed in PRINTED_KB.items()
    ]
    wanted = pl.DataFrame(delays)["bytes_per_s"].to_list()[0]
    shares = loads.channel_shares(TREE, routings.normal(TREE))
    patterns = {"Stride(4)": matrices.stride(16, 4)} | {
        f"{n} Senders": matrices.senders(n) for n in (3, 5, 7)
    }
    busiest = []
    for name, matrix in patterns.items():
        between_pods = loads.loads(shares, matrices.by_level(TREE, matrix)[0])
        flows = int(max(load for channel, load in between_pods.items() if channel.level < 2))
        busiest.append({"pattern": name, "flows": flows, "wanted_bytes_per_s": flows * wanted})
    return {
        "delays": pl.DataFrame(delays),
        "samples": pl.DataFrame(samples),
        "busiest": pl.DataFrame(busiest),
    }


def _delay(tables: Tables) -> Judgement:
    link = tables["delays"].row(by_predicate=pl.col("delay") == PER_LINK, named=True)
    other = tables["delays"].row(by_predicate=pl.col("delay") == PER_ROUND_TRIP, named=True)
    return judge.together(
        [
            judge.within(link["rtt_ms"], 6.07, absolute=0.005).measured_in("ms").called("RTT"),
            judge.within(link["bytes_per_s"], 10.8e6, absolute=0.05e6)
            .measured_in("B/s")
            .called("a window each RTT"),
            judge.exactly(link["full_windows"], FULL_WINDOWS).called("full windows"),
            judge.within(link["fewest_s"], 0.504, absolute=0.001).measured_in("s").called(f"{FEWEST} RTTs"),
            judge.within(link["most_s"], 0.534, absolute=0.001).measured_in("s").called(f"{MOST} RTTs"),
            judge.within(other["serialisation_s"], 0.041, absolute=0.0005)
            .measured_in("s")
            .called("serialisation of 5 MB"),
        ]
    )


def _headers(tables: Tables) -> Judgement:
    rows = tables["samples"].select("table", "follows_kb", "printed_kb").rows()
    return judge.together(
        judge.within(follows, printed, relative=0.001).measured_in("KB").called(table)
        for table, follows, printed in rows
    )


def _busiest(tables: Tables) -> Judgement:
    wanted = {name: (flows, rate) for name, flows, rate in tables["busiest"].rows()}
    stride, three = wanted["Stride(4)"], wanted["3 Senders"]
    return judge.together(
        [
            judge.exactly(stride[0], 4).called("flows on the busiest link under Stride(4)"),
            judge.within(stride[1], 43e6, absolute=0.5e6).measured_in("B/s").called("they want"),
            judge.exactly(three[0], 12).called("flows under 3 Senders"),
            judge.within(three[1], 130e6, absolute=1e6).measured_in("B/s").called("they want"),
            *(
                judge.at_least(rate, BYTES_PER_S).measured_in("B/s").called(f"wanted under {name}")
                for name, (_, rate) in wanted.items()
                if "Senders" in name
            ),
        ]
    )


def draw(tables: Tables) -> "Picture":
    """Load of the busiest link under normal routing."""
    figure, (panel,) = style.panels()
    rows = tables["busiest"]
    panel.bar(rows["pattern"].to_list(), (rows["wanted_bytes_per_s"] / 1e6).to_list(), color=style.COLOURS[0])
    panel.axhline(BYTES_PER_S / 1e6, color=style.COLOURS[1], label="a link's rate")
    panel.set(title="normal routing, windows of 65,535 B", ylabel="wanted of the busiest link (MB/s)")
    panel.legend()
    return figure


FIGURE = Figure(
    id="MP-T5.45",
    title="Tables 5.4 and 5.5: what the sample outputs imply",
    tables=tables,
    claims={"MP-T5.45.c": _delay, "MP-T5.45.d": _headers, "MP-K3": _busiest},
    draw=draw,
    assumed=(
        "Segments of 1452 B with headers of 40 B at 1 Gbps over 6 links; acknowledgements take no time on the wire.",
        "Only flows between pods are counted on the busiest link above the edge.",
    ),
)
