"""Consequences of the paper's parameters by arithmetic alone (DAQ-F3.f, F3.g, F7.c, F8.c)."""

import math
from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Tables
from flowyard_papers.daq import _models as models

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

MEAN_DEADLINE_S = 20e-3
# Bytes of a packet besides its payload; with framing also preamble, Ethernet header, checksum and gap.
PAYLOAD_BYTES, HEADER_BYTES, FRAMING_BYTES = 1460, 40, 38
# The range of thresholds that the paper calls good, in RTTs, and the peak of figure 3.
GOOD, PEAK = (20, 60), 0.96
WEIGHTS = {"1:100": (1, 100), "100:1": (100, 1)}
BURST_BYTES = 40 * 15_000
RATES = (1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000)


def ceiling(size_bytes: float) -> float:
    """The share of flows of a size that an idle link saves, if deadlines have no floor."""
    return math.exp(-(8 * size_bytes / models.LINK_BPS + models.SETUP_S) / MEAN_DEADLINE_S)


def mean_ceiling(low_bytes: float, high_bytes: float) -> float:
    """The same over sizes between two, all alike: the exponential integrated."""
    scale = MEAN_DEADLINE_S * models.LINK_BPS / 8
    return scale * (ceiling(low_bytes) - ceiling(high_bytes)) / (high_bytes - low_bytes)


def burst_ms(short: int, long: int) -> float:
    """How long the burst of figure 7 takes while long flows wait, with these weights."""
    return 1000 * 8 * BURST_BYTES * (short + long) / short / models.LINK_BPS


def tables() -> Tables:
    """The same at both scales."""
    ceilings = [
        {"mean_kb": mean // 1000, "of_the_mean_size": ceiling(mean), "of_all_sizes": mean_ceiling(*ends)}
        for mean in (10_000, 20_000, 30_000)
        for ends in ((models.SIZE_MIN_BYTES, models.size_max_bytes(mean)),)
    ]
    thresholds = [
        {
            "ratio": ratio,
            "threshold_ms": ratio * models.RTT_S * 1000,
            "mean_deadline_ms": 1000 * MEAN_DEADLINE_S,
        }
        for ratio in GOOD
    ]
    bursts = [
        {
            "weights": name,
            "share_mbps": models.LINK_BPS / 1e6 * short / (short + long),
            "burst_ms": burst_ms(short, long),
            "line_rate_ms": 1000 * 8 * BURST_BYTES / models.LINK_BPS,
            "longer_deadlines": math.exp(-burst_ms(short, long) / 1000 / MEAN_DEADLINE_S),
        }
        for name, (short, long) in WEIGHTS.items()
    ]
    loads = []
    for rate in RATES:
        payload = 8 * rate * 15_000 / models.LINK_BPS
        per_packet = payload / PAYLOAD_BYTES
        headers = per_packet * (PAYLOAD_BYTES + HEADER_BYTES)
        framed = headers + per_packet * FRAMING_BYTES
        loads.append(
            {"flows_per_s": rate, "payload": payload, "with_headers": headers, "with_framing": framed}
        )
    return {
        "ceilings": pl.DataFrame(ceilings),
        "thresholds": pl.DataFrame(thresholds),
        "bursts": pl.DataFrame(bursts),
        "loads": pl.DataFrame(loads),
    }


def _peak_is_the_ceiling(tables: Tables) -> Judgement:
    (row,) = tables["ceilings"].filter(mean_kb=30).iter_rows(named=True)
    most = row["of_the_mean_size"]
    return judge.together(
        [
            judge.within(most, 0.966, absolute=5e-4).called("most that an idle link saves"),
            judge.within(most, PEAK, absolute=0.01).called("the same beside the peak of figure 3"),
        ]
    )


def _below_the_mean(tables: Tables) -> Judgement:
    longest = tables["thresholds"].sort("ratio").row(-1, named=True)
    measured = f"{longest['ratio']} RTT = {longest['threshold_ms']:g} ms"
    holds = longest["threshold_ms"] < longest["mean_deadline_ms"]
    return judge.judged(holds, measured, f"below {longest['mean_deadline_ms']:g} ms")


def _burst(tables: Tables) -> Judgement:
    (row,) = tables["bursts"].filter(weights="1:100").iter_rows(named=True)
    # As the claim has them: 1/101 of the link is 9.9 Mbps, and 101 times 4.8 ms 484.8 ms, in two digits 480.
    return judge.together(
        [
            judge.exactly(round(row["share_mbps"], 1), 9.9).measured_in("Mbps").called("share of the burst"),
            judge.exactly(float(f"{row['burst_ms']:.2g}"), 480).measured_in("ms").called("time of the burst"),
            judge.exactly(round(row["line_rate_ms"], 1), 4.8)
            .measured_in("ms")
            .called("its time at line rate"),
        ]
    )


def _saturation(tables: Tables) -> Judgement:
    loads = {row["flows_per_s"]: row for row in tables["loads"].iter_rows(named=True)}
    return judge.all_exactly(
        [
            ("the load at 7000", round(loads[7000]["payload"], 2), 0.84),
            ("the load at 8000", round(loads[8000]["payload"], 2), 0.96),
            ("with headers", round(loads[8000]["with_headers"], 3), 0.986),
            ("with framing", round(loads[8000]["with_framing"], 3), 1.011),
        ],
        "loads",
    )


def draw(tables: Tables) -> "Picture":
    """The load of figure 8 and the bursts of figure 7."""
    picture, (loads, bursts) = style.panels(1, 2)
    rows = tables["loads"]
    for place, name in enumerate(("payload", "with_headers", "with_framing")):
        look = {"color": style.COLOURS[place], "marker": style.MARKERS[place]}
        loads.plot(rows["flows_per_s"], rows[name], label=name.replace("_", " "), **look)  # type: ignore[arg-type]
    loads.axhline(1, color="#000000", linewidth=0.9, linestyle="--")
    loads.set(xlabel="short flows per second", ylabel="offered load / link", title="figure 8: 15 KB each")
    loads.legend()
    bursts.bar(tables["bursts"]["weights"], tables["bursts"]["burst_ms"], 0.5)
    bursts.set(yscale="log", ylabel="time of a burst (ms)", xlabel="weights, short : long")
    bursts.set_title("figure 7: 40 x 15 KB beside long flows")
    return picture


FIGURE = Figure(
    id="DAQ-CF",
    title="Consequences of the parameters",
    tables=tables,
    claims={
        "DAQ-F3.f": _peak_is_the_ceiling,
        "DAQ-F3.g": _below_the_mean,
        "DAQ-F7.c": _burst,
        "DAQ-F8.c": _saturation,
    },
    draw=draw,
    assumed=(
        "1 Gbps and an RTT of 300 us. Headers are 40 B for each 1460 B of payload, framing 38 B more a packet.",
    ),
)
