"""Figure 5.10: the congestion window of a transfer of Stride(4), with ports of 50 packets.

The thesis does not say which transfer. Its figure shows one that loses packets under Normal Routing, and table 5.4, of
the same set-up, has only one that loses more than a packet: the second, from host 1 to host 5. That is the default
reading; the first transfer, from host 0 to host 4, loses nothing there.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import by_reading, judged, not_reached
from flowyard.sweeps import Plan
from flowyard_papers.mp import _chapter5 as chapter
from flowyard_papers.mp import _chapter5_pictures as pictures
from flowyard_papers.mp._chapter5 import DNVR, DUAL, ECMP, FCT, MDNVR, NR

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SCHEMES = (NR, ECMP, DNVR, MDNVR)
STANDARD, PROPOSED = (NR, ECMP), (DNVR, MDNVR)
TRACED, BUFFER = "traced", 50
# From one sample to the next, a sixth of a round trip; what counts as shortly after the start.
EVERY, EARLY_MS = "1ms", 200
# A cut takes more than this share off the window from one sample to the next.
CUT = 0.2
SECOND = "the transfer that loses most in table 5.4"
TOGETHER, JITTER, SMALLER = "all start together", "starts within 1 ms", "ports of 30 packets"
# Set-up, buffer, jitter of starts, order of ties, and the source of the transfer whose window is traced.
PLANS: Mapping[str, tuple[str, int, str, str, int]] = {
    "second": (SECOND, BUFFER, "0s", chapter.TIES, 1),
    "windows": (TOGETHER, BUFFER, "0s", chapter.TIES, 0),
    "jitter": (JITTER, BUFFER, "1ms", chapter.TIES, 0),
    "smaller": (SMALLER, 30, "0s", chapter.TIES, 0),
} | {f"ties-{ties}": (setup, BUFFER, "0s", ties, 0) for setup, ties in chapter.BESIDE.items()}
SETUPS = tuple(setup for setup, *_ in PLANS.values())


def plans(scale: Scale) -> dict[str, Plan]:
    """The traced transfer is an entry of its own, and starts with the others."""
    made = {}
    for name, (_, buffer, jitter, ties, source) in PLANS.items():
        traffic = _in_order(source, jitter)
        observe = {"samples": {"every": EVERY, "links": [], "flows": [TRACED]}}
        base = chapter.with_ties(chapter.scenario(traffic) | {"observe": observe}, ties)
        axes = [chapter.schemes((*SCHEMES, DUAL)), chapter.buffers((buffer,))]
        made[name] = Plan(base, axes, scale.pick(5, chapter.REPLICAS), name=name)
    return made


def _in_order(source: int, jitter: str) -> list[dict[str, Any]]:
    """Transfers in the order of their hosts, as what is sent first goes first where several arrive at one instant."""
    pairs = [[host, (host + 4) % chapter.HOSTS] for host in range(chapter.HOSTS)]
    parts = {"before": pairs[:source], TRACED: [pairs[source]], chapter.ENTRY: pairs[source + 1 :]}
    return [
        entry | {"name": name}
        for name, some in parts.items()
        if some
        for entry in chapter.transfers({"pairs": some}, jitter=jitter)
    ]


def tables(sweeps: Sweeps) -> Tables:
    """The windows of the first run of each scheme; one row per run."""
    traces, runs = [], []
    for name, (setup, *_) in PLANS.items():
        sweep, keys = sweeps[name], ["scheme", "replica"]
        windows = sweep.scan("samples").filter(pl.col("series") == "cwnd_bytes").sort(*keys, "time_ps")
        window, time = pl.col("value"), pl.col("time_ps") / 1e9
        before = window.shift(1).over(keys)
        cut = (window < (1 - CUT) * before) & (time <= EARLY_MS)
        cuts = windows.group_by(keys).agg(cuts=cut.sum().cast(pl.Int64))
        times = sweep.flows.filter(tag=TRACED, completed=True).select(
            *keys, fct_ms=pl.col("fct_acked_ps") / 1e9
        )
        lost = sweep.flows.group_by(keys).agg(drops=pl.col("drops").sum().cast(pl.Int64))
        label = pl.lit(setup).alias("setup")
        joined = lost.join(cuts, on=keys, how="left").join(times, on=keys, how="left")
        runs.append(joined.select(label, *keys, "cuts", FCT, "drops").sort(keys).collect())
        first = windows.filter(replica=0)
        traces.append(first.select(label, "scheme", time_ms=time, cwnd_bytes=window).collect())
    return {"traces": pl.concat(traces), "runs": pl.concat(runs)}


def _cuts(tables: Tables) -> Judgement:
    return by_reading(
        {setup: _cuts_of(tables, setup, SCHEMES) for setup in SETUPS}
        | {f"{TOGETHER}, with {DUAL}": _cuts_of(tables, TOGETHER, (*SCHEMES, DUAL))}
    )


def _cuts_of(tables: Tables, setup: str, schemes: Sequence[str]) -> Judgement:
    runs = tables["runs"].filter(setup=setup)
    if runs["cuts"].null_count() or set(schemes) - set(runs["scheme"]):
        return not_reached("the window was not traced under all schemes")
    shares = dict(runs.group_by("scheme").agg((pl.col("cuts") > 0).mean()).iter_rows())
    holds = all((shares[s] > 0.5) == (s in STANDARD) and shares[s] != 0.5 for s in schemes)
    said = ", ".join(f"{scheme} {100 * shares[scheme]:.0f} %" for scheme in schemes)
    drops = dict(runs.group_by("scheme").agg(pl.col("drops").mean()).iter_rows())
    lost = ", ".join(f"{scheme} {drops[scheme]:.1f}" for scheme in schemes)
    return judged(
        holds, f"runs with cuts: {said}", "most runs of NR and NR+ECMP, few of the proposed schemes"
    ).because(
        f"packets lost in a run, all transfers together: {lost}; tried: {', '.join(SETUPS)}, {DUAL} beside MDNVR"
    )


def _earlier(tables: Tables) -> Judgement:
    return by_reading(
        {setup: _earlier_of(tables, setup, PROPOSED) for setup in SETUPS}
        | {f"{TOGETHER}, with {DUAL}": _earlier_of(tables, TOGETHER, (*PROPOSED, DUAL))}
    )


def _earlier_of(tables: Tables, setup: str, proposed: Sequence[str]) -> Judgement:
    runs, schemes = tables["runs"].filter(setup=setup), (*STANDARD, *proposed)
    if runs[FCT].null_count() or set(schemes) - set(runs["scheme"]):
        return not_reached("some traced transfer is not complete")
    means: dict[str, float] = dict(runs.group_by("scheme").agg(pl.col(FCT).mean()).iter_rows())
    said = ", ".join(f"{scheme} {means[scheme]:.2f} ms" for scheme in schemes)
    holds = max(means[scheme] for scheme in proposed) < min(means[scheme] for scheme in STANDARD)
    return judged(holds, said, f"{', '.join(proposed)} before NR and NR+ECMP")


def draw(tables: Tables) -> "Picture":
    """A panel for each scheme, as the thesis has it: the window over time, of the claims' own reading."""
    picture, panels = style.panels(2, 2)
    for axes, scheme, letter in zip(panels, SCHEMES, "abcd", strict=True):
        rows = tables["traces"].filter(scheme=scheme, setup=SECOND)
        segments = rows["cwnd_bytes"] / chapter.SEGMENT_BYTES
        axes.plot(
            rows["time_ms"].to_numpy(), segments.to_numpy(), color=style.COLOURS[pictures.PLACES[scheme]]
        )
        axes.axvline(EARLY_MS, color="#000000", linewidth=0.9, linestyle="--")
        axes.set(xlabel="time (ms)", ylabel="cwnd (segments)", title=f"({letter}) {scheme}")
        axes.set_ylim(bottom=0)
    most = max(axes.get_xlim()[1] for axes in panels)
    for axes in panels:
        axes.set_xlim(0, most)
    return picture


FIGURE = Figure(
    id="MP-F5.10",
    title="Congestion windows in Stride(4)",
    plans=plans,
    tables=tables,
    claims={"MP-F5.10.a": _cuts, "MP-F5.10.b": _earlier},
    draw=draw,
    needs={"runs": Needs(chapter.REPLICAS, by=("setup", "scheme"))},
    assumed=(
        *chapter.ASSUMED,
        "The window of the traced transfer is looked at every 1 ms, a sixth of a round trip, and "
        "is that of both connections together under MDNVR. A cut takes more than a fifth off it from one look "
        "to the next.",
        "The thesis does not say the buffer: 50 packets; readings with starts within 1 ms, and with 30 "
        "packets, whose windows are in the table traces; the picture has those of the claims' own reading. The dashed "
        'line is at 200 ms: "shortly after data transfer begins" (5.3.3).',
        'No flow is named either, but the figure shows one that loses: "Flow 2" of table 5.4, which loses 26 packets '
        "there, from host 1 to host 5; readings have the first, from host 0 to host 4.",
        f"{DUAL} has no panel in the thesis; a reading has it among the proposed schemes.",
    ),
)
