"""Equation 3.1 and the rule from Stanford for buffers, section 3.2: loss rate by flows and by buffer."""

from fractions import Fraction
from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Tables
from flowyard.theory import loss

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# 1 Gbps in packets of 1500 B, 6 ms there and back.
RATE_PPS, PROPAGATION_S = Fraction(10**9, 12_000), Fraction(6, 1000)
FLOWS = tuple(2**power for power in range(8))
BUFFERS = (0, *(2**power for power in range(3, 15)))
MANY = 10_000


def tables() -> Tables:
    """Loss rates by flows and buffer, with their exponents in either; buffers by number of flows."""
    rows = []
    for flows in FLOWS:
        for buffer in BUFFERS:
            rate = loss.loss_rate(flows, RATE_PPS, PROPAGATION_S, buffer)
            twice = loss.loss_rate(2 * flows, RATE_PPS, PROPAGATION_S, buffer)
            more = loss.loss_rate(flows, RATE_PPS, PROPAGATION_S, buffer * Fraction(1001, 1000))
            rows.append(
                {
                    "flows": flows,
                    "buffer_packets": buffer,
                    "loss_rate": float(rate),
                    "loss_rate_of_twice_the_flows": float(twice),
                    # Of a buffer larger by a thousandth.
                    "relative_change": float(1 - more / rate),
                }
            )
    product = float(RATE_PPS * PROPAGATION_S)
    buffers = [
        {"flows": flows, "buffer_packets": loss.stanford_buffer(float(PROPAGATION_S), float(RATE_PPS), flows)}
        for flows in (1, 100, MANY)
    ]
    return {
        "loss": pl.DataFrame(rows),
        "buffers": pl.DataFrame(buffers).with_columns(product_packets=product),
    }


def _by_flows_and_buffer(tables: Tables) -> Judgement:
    """Four times for twice the flows; (1 + x)^e with 0 < e <= 2 for a buffer larger by x = 1/1000."""
    rows = tables["loss"]
    ratios = (rows["loss_rate_of_twice_the_flows"] / rows["loss_rate"]).to_list()
    changes = rows.filter(pl.col.buffer_packets > 0)["relative_change"].to_list()
    steepest = 1 - (1000 / 1001) ** 2
    return judge.together(
        [
            judge.judged(
                all(abs(ratio - 4) < 1e-9 for ratio in ratios),
                f"{min(ratios):g} to {max(ratios):g} times",
                "4 times",
            ),
            judge.judged(
                all(0 < change <= steepest * (1 + 1e-9) for change in changes),
                f"falls by {min(changes):.2g} to {max(changes):.4g} for 0.1 % more buffer",
                f"by more than 0 and at most {steepest:.4g}",
            ),
        ]
    )


def _stanford(tables: Tables) -> Judgement:
    row = tables["buffers"].filter(flows=MANY)
    saved = 1 - row["buffer_packets"].item() / row["product_packets"].item() if len(row) == 1 else None
    return judge.within(saved, 0.99, absolute=1e-9)


def draw(tables: Tables) -> "Picture":
    """Loss rate over flows and over buffer."""
    rows = tables["loss"]
    figure, (by_flows, by_buffer) = style.panels(1, 2)
    for place, buffer in enumerate((0, 64, 1024)):
        some = rows.filter(buffer_packets=buffer)
        by_flows.plot(some["flows"], some["loss_rate"], marker=style.MARKERS[place], label=f"buffer {buffer}")
    for place, flows in enumerate((2, 8, 32)):
        some = rows.filter(pl.col.flows == flows, pl.col.buffer_packets > 0)
        by_buffer.plot(
            some["buffer_packets"], some["loss_rate"], marker=style.MARKERS[place], label=f"{flows} flows"
        )
    for panel, name in ((by_flows, "flows N"), (by_buffer, "buffer B (packets)")):
        panel.set(xlabel=name, ylabel="loss rate p", xscale="log", yscale="log")
        panel.legend()
    return figure


FIGURE = Figure(
    id="MP-E3.1",
    title="Equation 3.1: loss rate by flows and by buffer",
    tables=tables,
    claims={"MP-E3.1.a": _by_flows_and_buffer, "MP-E3.2.a": _stanford},
    draw=draw,
    assumed=(
        "C T_p and B are in packets, here of 1500 B, at 1 Gbps and 6 ms: the dissertation names no units.",
        "Where p is above about 0.1 the equation says nothing of TCP; its form is judged everywhere.",
    ),
)
