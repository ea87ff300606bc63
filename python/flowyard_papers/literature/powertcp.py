"""PowerTCP: shares of flows that join, and standing queues against closed forms.

Addanki et al., "PowerTCP: Pushing the performance limits of datacenter networks", NSDI 2022. Figures are
those of the authors' simulator, with its constants, with the law of the paper, and with theta-PowerTCP.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, by_reading, judged, not_reached
from flowyard.sweeps import Plan, Sweep
from flowyard_papers.literature._powertcp import (
    FLOWS,
    LAWS,
    PAPER,
    PAYLOAD,
    PIPE,
    SIMULATOR,
    THETA,
    WIRE,
    endless,
    expected_queue,
    laws,
    scenario,
    standing,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

INCAST = 11
# Flows that join one after the other.
JOINING = 4


def plans(scale: Scale) -> dict[str, Plan]:
    """Flows that join at intervals of 100 ms, or 4 ms at quick scale; an incast; standing queues by law."""
    step = scale.pick(4, 100)
    starts = ["1ms", *(f"{n * step}ms" for n in range(1, JOINING))]
    joining = [endless(f"flow-{n}", at, {"pairs": [[n + 1, 0]]}) for n, at in enumerate(starts)]
    shares = scenario(JOINING, joining, f"{JOINING * step}ms")
    shares["observe"] = {"samples": {"every": f"{step // 4 * 40}us", "links": []}}
    burst = [
        endless("long", "0s", {"pairs": [[INCAST, 0]]}),
        endless("others", "1ms", {"incast": {"senders": INCAST - 1, "receiver": 0}}, "1us"),
    ]
    incast = scenario(INCAST, burst, "6ms")
    incast["observe"] = {"samples": {"every": "5us", "links": ["switch -> host 0"], "flows": []}}
    return {
        "shares": Plan(shares, [laws(*LAWS)], scale.pick(1, 5), name="shares"),
        "incast": Plan(incast, [laws(*LAWS)], scale.pick(1, 5), name="incast"),
        **{law: standing(law, scale) for law in LAWS},
    }


def _queues(sweep: Sweep) -> pl.DataFrame:
    """One row per run: bytes that wait at the receiver's port, without the packet on the wire, and the share used."""
    port = sweep.links.filter(pl.col("to") == "host 0")
    waiting = pl.col("queue_mean_bytes") - WIRE * pl.col("utilisation")
    return port.select("law", "senders", "replica", queue_bytes=waiting, used="utilisation").collect()


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """Rates of the joining flows and their shares at the end of each step; the incast's queue; standing queues."""
    keys = ["law", "replica"]
    rates = (
        sweeps["shares"]
        .scan("samples")
        .filter(pl.col("series") == "rate_bps")
        .select(*keys, "time_ps", flow=pl.col("id").cast(pl.Int64), gbps=pl.col("value") / 1e9)
        .collect()
    )
    step_ps = scale.pick(4, 100) * 10**9
    time = pl.col("time_ps").cast(pl.Int64)
    step, into = (time - 1) // step_ps + 1, (time - 1) % step_ps + 1
    ends = rates.with_columns(step=step).filter(into > 0.9 * step_ps).group_by(*keys, "step", "flow")
    shares = ends.agg(pl.col("gbps").mean()).with_columns(
        share=pl.col("gbps") / pl.col("gbps").sum().over(*keys, "step")
    )
    samples = sweeps["incast"].scan("samples").filter(pl.col("time_ps") >= 5 * 10**8)
    incast = samples.select(*keys, "time_ps", "series", "value").collect()
    wide = incast.pivot("series", index=[*keys, "time_ps"], values="value")
    first = pl.col("replica") == 0
    return {
        "rates": rates.filter(first).select("law", "flow", time_ms=time / 1e9, gbps="gbps").sort(pl.all()),
        "shares": shares.sort(*keys, "step", "flow"),
        "incast": wide.filter(first)
        .select("law", time_ms=time / 1e9, queue_bytes="queue_bytes")
        .sort("law", "time_ms"),
        "late": wide.filter(time >= 3 * 10**9)
        .group_by(keys)
        .agg(
            queue_bytes=(pl.col("queue_bytes") - WIRE * (pl.col("queue_packets") > 0)).mean(),
            used=pl.col("utilisation").mean(),
        )
        .sort(keys),
        "standing": pl.concat([_queues(sweeps[law]) for law in LAWS]).sort("law", "senders", "replica"),
    }


def _even(tables: Tables) -> Judgement:
    """Shares at the end of each step, one over the number of flows."""
    return by_reading({law: _even_under(law, tables["shares"]) for law in LAWS})


def _even_under(law: str, shares: pl.DataFrame) -> Judgement:
    means = shares.filter(law=law).group_by("step", "flow").agg(pl.col("share").mean())
    if len(means) != JOINING * (JOINING + 1) // 2:
        return not_reached("there are not all steps")
    off = means.with_columns(off=(pl.col("share") * pl.col("step") - 1).abs()).sort("off", "step", "flow")
    worst = off.row(-1, named=True)
    measured = f"furthest {worst['share']:.3f}, of one of {worst['step']} flows"
    return judged(worst["off"] <= 0.1, measured, "1 / n within 10 % at the end of each step")


def _incast(tables: Tables) -> Judgement:
    rows = tables["late"].filter(law=SIMULATOR)
    if rows.is_empty():
        return not_reached("there is no run with the simulator's constants")
    queue, used = rows.select(pl.col("queue_bytes", "used").mean()).row(0)
    least = expected_queue(SIMULATOR, INCAST)
    holds = least <= queue <= least + 2 * WIRE and used >= 0.99
    return judged(
        holds,
        f"{queue:,.0f} B, {used:.2%} of the link",
        f"{least:,.0f} to {least + 2 * WIRE:,.0f} B, at least 99 %",
    )


def _within(
    tables: Tables,
    law: str,
    numbers: tuple[int, ...],
    bounds: Callable[[int], tuple[float, float]],
    per: float = 1,
) -> Judgement:
    """Whether the mean queue with so many flows, over so much, is within bounds around its closed form."""
    rows = tables["standing"].filter(pl.col("senders").is_in(numbers), law=law)
    means = rows.group_by("senders").agg(pl.col("queue_bytes").mean() / per).sort("senders")
    if means["senders"].to_list() != list(numbers):
        return not_reached("there are not all numbers of flows")
    within = [(*bounds(n), n, queue) for n, queue in means.iter_rows()]
    return judged(
        all(low <= queue <= high for low, high, _, queue in within),
        ", ".join(f"{n} flows {queue:,.0f} B" for _, _, n, queue in within),
        ", ".join(f"{low:,.0f} to {high:,.0f} B" for low, high, _, _ in within),
    )


def _few_and_many(tables: Tables) -> Judgement:
    """The queue under the simulator's constants."""

    def bounds(flows: int) -> tuple[float, float]:
        queue = expected_queue(SIMULATOR, flows)
        return (queue, queue + 1.5 * WIRE) if flows <= INCAST else (0.8 * queue, 1.2 * queue)

    return _within(tables, SIMULATOR, (10, 11, 97), bounds)


def _beta_each(tables: Tables) -> Judgement:
    """The queue under the law of the paper, in bytes of payload, as windows and beta are, and in bytes on the wire."""

    def bounds(flows: int) -> tuple[float, float]:
        queue = expected_queue(PAPER, flows)
        slack = max(0.05 * queue, flows * PAYLOAD)
        return queue - slack, queue + slack

    units = {"bytes of payload, as of windows": WIRE / PAYLOAD, "bytes on the wire": 1.0}
    return by_reading(
        {name: _within(tables, PAPER, FLOWS[PAPER], bounds, per) for name, per in units.items()}
    )


def _round_trip(tables: Tables) -> Judgement:
    rows = tables["standing"].filter(law=THETA, senders=INCAST)
    if rows.is_empty():
        return not_reached(f"there is no run with {INCAST} flows")
    ratio = 1 + float(str(rows["queue_bytes"].mean())) / PIPE
    due = 1 + expected_queue(THETA, INCAST) / PIPE
    return judged(abs(ratio / due - 1) <= 0.03, f"{ratio:.4f}", f"{due:.4f} +- 3 %")


def draw(tables: Tables) -> "Picture":
    """Rates of four flows; the queue of the incast; standing queues; round trips under theta."""
    picture, (rates, incast, waiting, theta) = style.panels(2, 2)
    of_law = tables["rates"].filter(law=SIMULATOR)
    for (flow,), rows in of_law.group_by("flow", maintain_order=True):
        rates.plot(rows["time_ms"], rows["gbps"], label=f"flow {int(str(flow)) + 1}")
    rates.set(xlabel="ms", ylabel="goodput (Gbps)", title=f"flows that join, {SIMULATOR}")
    rates.legend(ncols=2)
    for law in LAWS:
        rows = tables["incast"].filter(law=law)
        incast.plot(rows["time_ms"], rows["queue_bytes"] / 1e3, label=law, linewidth=1)
    incast.set(xlabel="ms", ylabel="queue (KB)", yscale="symlog", title="ten flows join one at 1 ms")
    incast.legend()
    for place, law in enumerate((SIMULATOR, PAPER)):
        _closed_form(waiting, tables["standing"], law, place)
    waiting.set(xlabel="flows", ylabel="standing queue (KB)", xscale="log", yscale="symlog", ylim=(0, 1e5))
    _closed_form(theta, tables["standing"], THETA, 2)
    theta.set(xlabel="flows", ylabel="round trip / least", xscale="log")
    for axes, law in ((waiting, SIMULATOR), (theta, THETA)):
        ticks = [n for n in FLOWS[law] if n != INCAST]
        axes.set_xticks(ticks, [str(n) for n in ticks])
        axes.set_xticks([], minor=True)
        axes.legend(loc="upper left")
    return picture


def _closed_form(axes: "Axes", standing: pl.DataFrame, law: str, place: int) -> None:
    """The runs of a law as marks, its closed form as a line."""
    numbers = list(range(min(FLOWS[law]), max(FLOWS[law]) + 1))
    line = [expected_queue(law, n) for n in numbers]
    rows = standing.filter(law=law)
    marks = rows["queue_bytes"].to_list()
    if law == THETA:
        line, marks = ([1 + bytes_ / PIPE for bytes_ in values] for values in (line, marks))
    else:
        line, marks = ([bytes_ / 1e3 for bytes_ in values] for values in (line, marks))
    look: dict[str, Any] = {"color": style.COLOURS[place]}
    axes.plot(numbers, line, "--", **look, label=f"{law}, closed form")
    axes.plot(rows["senders"].to_list(), marks, style.MARKERS[place], **look, label=law)


FIGURE = Figure(
    id="LIT-POWERTCP",
    title="PowerTCP: shares of flows that join; queues that stand, against closed forms",
    plans=plans,
    tables=tables,
    claims={
        "LIT-POWERTCP.a": _even,
        "LIT-POWERTCP.b": _incast,
        "LIT-POWERTCP.c": _few_and_many,
        "LIT-POWERTCP.d": _beta_each,
        "LIT-POWERTCP.e": _round_trip,
    },
    draw=draw,
    needs={
        "shares": Needs(5, by=("law", "step", "flow")),
        "late": Needs(5, by=("law",)),
        "standing": Needs(5, by=("law", "senders")),
    },
    assumed=(
        "One switch and one receiver, 25 Gbps, a round trip of 28.96 us without queues: that of the longest path in "
        "the authors' simulator, from which both have their windows. Packets of 1090 B, with the room for telemetry.",
        "Flows join at 1, 100, 200 and 300 ms (quick scale: every 4 ms); a step ends with its last tenth. In the "
        "incast ten join 1 ms after the first.",
        "theta: its base round trip is 1.05 times the least one, which is the margin of the authors' simulator.",
        "Queues are what waits behind the packet on the wire, in bytes on the wire; windows and beta count payload, of "
        "which a packet has 1000 B.",
    ),
)
