"""How fast MPTCP's windows grow, against the formula of RFC 6356 where it can be solved by hand.

In congestion avoidance B acknowledged bytes let subflow i grow by min(alpha B MSS / sum of cwnd, B MSS / cwnd_i), with
alpha = sum of cwnd max(cwnd_i / rtt_i^2) / (sum of cwnd_i / rtt_i)^2. If n subflows have equal windows and round trips,
alpha is 1 / n, each acknowledges its window once a round trip and grows by MSS / n^2, and all together by MSS / n.
Nothing is lost here and the path is never full, so that this holds all the time, but for the part of a segment by
which a window is larger than the bytes in flight: less than 1 % of a hundred segments. Beside it the same without
coupling, where each grows by nearly MSS, as TCP does, whose increase by an acknowledgement is rounded down to bytes.
"""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, judged, not_reached
from flowyard.sweeps import Axis, Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

LIA, UNCOUPLED = "lia", "uncoupled"
SUBFLOWS = (1, 2, 4, 8)
MSS, HEADER, RATE_BPS, DELAY_S = 1460, 40, 100_000_000_000, 250e-6
TCP = {"delayed_ack": 1, "initial_ssthresh": f"{100 * MSS}B", "receive_window": "100MB"}


def plans(scale: Scale) -> dict[str, Plan]:
    """One flow alone, from windows of a hundred segments on in congestion avoidance."""
    base = {
        "topology": {"single-switch": {"hosts": 2, "rate": "100Gbps", "delay": "250us"}},
        "transport": {"mptcp": {"join": "at-once", "tcp": TCP}},
        "queue": "infinite",
        "traffic": [
            {
                "name": "flow",
                "background": True,
                "arrivals": {"at-once": {"jitter": "0s"}},
                "matrix": {"pairs": [[0, 1]]},
                "sizes": "endless",
            }
        ],
        "observe": {"samples": {"every": "1ms", "links": []}},
        "run": {"until": scale.pick("300ms", "600ms")},
    }
    axes = [
        Axis("coupling", {"transport.mptcp.coupling": [LIA, UNCOUPLED]}, labels=(LIA, UNCOUPLED)),
        Axis("subflows", {"transport.mptcp.subflows": list(SUBFLOWS)}, labels=SUBFLOWS),
    ]
    return {"growth": Plan(base, axes, 1, name="growth")}


def tables(sweeps: Sweeps) -> Tables:
    """The window, all subflows together, over time; its growth in segments a round trip, and that of the formula."""
    keys = ["coupling", "subflows"]
    samples = sweeps["growth"].scan("samples").filter(pl.col("series") == "cwnd_bytes")
    windows = samples.select(*keys, "time_ps", cwnd_bytes="value").sort(*keys, "time_ps").collect()
    # Slow start and handshakes are over by then.
    late = windows.filter(pl.col("time_ps") >= 50_000_000_000)
    seconds = (pl.col("time_ps").last() - pl.col("time_ps").first()) / 1e12
    grown = pl.col("cwnd_bytes").last() - pl.col("cwnd_bytes").first()
    n = pl.col("subflows")
    growth = (
        late.group_by(keys, maintain_order=True)
        .agg(segments_a_round_trip=grown / MSS * round_trip_s() / seconds)
        .with_columns(formula=pl.when(coupling=LIA).then(1 / n).otherwise(n.cast(pl.Float64)))
    )
    return {"windows": windows, "growth": growth}


def round_trip_s() -> float:
    """Of a segment alone: four cables, it and its acknowledgement on two of them each."""
    return 4 * DELAY_S + 2 * 8 * (MSS + 2 * HEADER) / RATE_BPS


def _as_formula(tables: Tables) -> Judgement:
    rows = tables["growth"].filter(coupling=LIA)
    if set(rows["subflows"]) != set(SUBFLOWS) or rows["segments_a_round_trip"].null_count():
        return not_reached("there are not all numbers of subflows")
    off = rows.with_columns(off=pl.col("segments_a_round_trip") / pl.col("formula") - 1)
    worst = off.sort(pl.col("off").abs()).row(-1, named=True)
    measured = f"{100 * worst['off']:+.2f} % at most, with {worst['subflows']} subflows"
    return judged(abs(worst["off"]) <= 0.02, measured, "within 2 % of the formula")


def draw(tables: Tables) -> "Picture":
    """Windows over time, and their growth beside the formula."""
    picture, (left, right) = style.panels(1, 2)
    for colour, subflows in zip(style.COLOURS, SUBFLOWS, strict=False):
        for coupling, line in ((LIA, "-"), (UNCOUPLED, ":")):
            rows = tables["windows"].filter(coupling=coupling, subflows=subflows)
            time, window = rows["time_ps"].to_numpy() / 1e9, rows["cwnd_bytes"].to_numpy() / MSS
            label = f"{subflows} subflows" if coupling == LIA else None
            left.plot(time, window, line, color=colour, label=label)
    left.set(
        xlabel="time (ms)", ylabel="windows together (segments)", yscale="log", title="dotted: uncoupled"
    )
    left.legend(loc="upper left")
    for coupling, marker in ((LIA, "o"), (UNCOUPLED, "s")):
        rows = tables["growth"].filter(coupling=coupling).sort("subflows")
        right.plot(
            rows["subflows"].to_numpy(), rows["segments_a_round_trip"].to_numpy(), marker, label=coupling
        )
        right.plot(rows["subflows"].to_numpy(), rows["formula"].to_numpy(), "k-", linewidth=0.9)
    right.set(
        xlabel="subflows", ylabel="growth (segments a round trip)", yscale="log", title="lines: the formula"
    )
    right.legend(loc="upper left")
    return picture


FIGURE = Figure(
    id="LIT-LIA",
    title="MPTCP: windows grow as RFC 6356 has it",
    plans=plans,
    tables=tables,
    claims={"LIT-LIA.a": _as_formula},
    draw=draw,
    assumed=(
        "Every segment is acknowledged by itself; windows leave slow start at a hundred segments.",
        "That the formula also holds with unequal windows and round trips, to 1e-12, is a test of the engine.",
    ),
)
