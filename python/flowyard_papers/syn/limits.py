"""Section III-F beside figure 6: the highest load that each system holds, and how much of its slots SYN fills.

All queues have flows when a run begins: what is offered and does not add to what waits is carried. A load is held if
what waits shrinks. Without these flows queues fill too slowly: at 1.2 of the limit SYN carries 0.91 of it after 60 ms.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Scale, Sweeps, Tables
from flowyard.papers.needs import Needs
from flowyard.sweeps import Axis, Plan
from flowyard.table import read_frame
from flowyard_papers.syn import _rack as rack
from flowyard_papers.syn._judges import Judge
from flowyard_papers.syn._leaf_spine import SERVERS
from flowyard_papers.syn._rack import ASY, BIMODAL, DOWN, FBW, FIXED, IN_TURN, MAX_MIN, MMF, OCF, SRJF

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SYSTEMS = (MMF, OCF, SRJF, ASY, DOWN, MAX_MIN)
# Shares of the limit that are offered: one that is held, one that is not.
BELOW, ABOVE = 0.95, 1.2
# Flows that wait from each server to each other when a run begins.
WAITING, EVERY_MS = 4, 1
FRAMES = (rack.FRAME_BYTES, 0)
KEYS = ["system", "lengths", "frame_bytes", "of_limit"]
VALUES = ["offered", "growth", "carried", "bytes_per_packet"]


def _window(scale: Scale) -> rack.Window:
    return scale.pick(rack.Window(5, 20, 0, 0), rack.Window(10, 50, 0, 0))


def _cases() -> list[tuple[str, str, int]]:
    """System, lengths, frame. Without frames, and with lengths in turn, only what the claims ask for."""
    every = [(system, lengths, FRAMES[0]) for lengths in (FIXED, BIMODAL, FBW) for system in SYSTEMS]
    bare = [(MMF, lengths, FRAMES[1]) for lengths in (FIXED, BIMODAL, FBW)]
    return [*every, *bare, *((MMF, IN_TURN, frame) for frame in FRAMES)]


def _name(system: str, lengths: str, frame: int) -> str:
    return f"{system}; {lengths}; {frame} B"


def plans(scale: Scale) -> dict[str, Plan]:
    """Each case a little below its limit, and beyond."""
    window = _window(scale)

    def case(system: str, lengths: str, frame: int, share: float) -> dict[str, object]:
        return saturated(system, lengths, share * rack.limit(system, lengths, frame), window, frame)

    places = [(*one, share) for one in _cases() for share in (BELOW, ABOVE)]
    labels = [f"{_name(*one)}; {share:g}" for *one, share in places]  # type: ignore[arg-type]
    axes = [Axis("case", scenarios=[case(*place) for place in places], labels=labels)]
    return {"limits": Plan(axes=axes, replicas=scale.pick(1, 10), name="limits")}


def saturated(
    system: str, lengths: str, load: float, window: rack.Window, frame_bytes: int = rack.FRAME_BYTES
) -> dict[str, object]:
    """A run at that load, in which flows wait from each server to each other when it begins.

    Args:
        system: A key of CONTROLLERS.
        lengths: Of packets: a key of LENGTHS.
        load: In bytes of IP.
        window: When it counts.
        frame_bytes: Of each packet.
    """
    # What is counted from the warm-up on is told by samples, one of which is of the beginning of the window.
    run = {"measure": "all", "until": f"{window.until_ms(1, FIXED)}ms"}
    waiting = {
        "name": "waiting",
        "arrivals": {"at-once": {"jitter": "0s"}},
        "matrix": "all-to-all",
        "sizes": {"exponential": {"mean": f"{rack.MEAN_BYTES}B"}},
        "flows": WAITING * SERVERS * (SERVERS - 1),
    }
    sampled = {"samples": {"every": f"{EVERY_MS}ms", "links": ["host-leaf"], "flows": []}}
    traffic = [rack.bursts(load, lengths, window.until_ms(load, lengths)), waiting]
    made = rack.scenario(rack.CONTROLLERS[system], lengths, run=run, traffic=traffic, observe=sampled)
    made["transport"]["central"]["link_bytes"] = f"{frame_bytes}B"
    return made


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """One row per run, and the means; loads in bytes of IP over the servers' links."""
    window, sweep = _window(scale), sweeps["limits"]
    rows = []
    for run in sweep.runs.filter("done").iter_rows(named=True):
        system, lengths, frame, share = run["case"].split("; ")
        frame_bytes = int(frame.removesuffix(" B"))
        found = measured(sweep.path(run["run"]), window, frame_bytes)
        for name in ("offered", "growth", "carried"):
            found[name] = rack.scaled(found[name], lengths)
        about = {
            "system": system,
            "lengths": lengths,
            "frame_bytes": frame_bytes,
            "of_limit": float(share),
            "limit": rack.limit(system, lengths, frame_bytes),
        }
        rows.append(about | {"replica": run["replica"]} | found)
    runs = pl.DataFrame(rows).sort(*KEYS, "replica")
    return {"runs": runs, "points": replica_means(runs, [*KEYS, "limit"], VALUES)}


def measured(folder: Path, window: rack.Window, frame_bytes: int) -> dict[str, float]:
    """Offered load after the warm-up, and growth of the servers' backlog, over the links' rates.

    Args:
        folder: Of the run.
        window: When it counts.
        frame_bytes: Of each packet.

    Returns:
        offered, growth, carried (what is offered less growth), of flows' sizes; and bytes_per_packet, of IP.
    """
    start_ps, end_ps = window.warm_up_ms * 10**9, window.end_ms(1, FIXED) * 10**9
    start, time = (pl.col(name).cast(pl.Int64) for name in ("start_ps", "time_ps"))
    flows = read_frame(folder / "flows.parquet", ("size_bytes", "start_ps"))
    offered = float(flows.filter(start > start_ps, start <= end_ps)["size_bytes"].sum())
    samples = read_frame(folder / "samples.parquet").filter(pl.col("series") == "backlog_bytes")
    before, after = (float(samples.filter(time == at)["value"].sum()) for at in (start_ps, end_ps))
    links = read_frame(folder / "links.parquet", ("tier", "bytes", "packets"))
    sent = links.filter(pl.col("tier") == "host-leaf")
    per_packet = float(sent["bytes"].sum()) / float(sent["packets"].sum()) - frame_bytes
    per_s = 8e12 / (end_ps - start_ps) / (rack.LINK_BPS * SERVERS)
    shares = {"offered": offered * per_s, "growth": (after - before) * per_s}
    return {**shares, "carried": shares["offered"] - shares["growth"], "bytes_per_packet": per_packet}


def _found(tables: Tables, column: str, **where: object) -> float | None:
    own = tables["points"].filter(**where)
    return float(own[column].item()) if len(own) == 1 else None


def _saturation(lengths: str, *, relative: float = 0.0, absolute: float = 0.0) -> Judge:
    """SYN carries what slots hold, with framing and without, when it is offered more."""

    def judging(tables: Tables) -> Judgement:
        found = {}
        for frame in FRAMES:
            carried = _found(
                tables, "carried", system=MMF, lengths=lengths, frame_bytes=frame, of_limit=ABOVE
            )
            bound = rack.limit(MMF, lengths, frame)
            found[f"{frame} B of framing"] = judge.within(
                carried, bound, relative=relative, absolute=absolute
            )
        both = judge.together(one.called(name) for name, one in found.items())
        return judge.by_reading({"both framings": both, **found})

    return judging


def _whole_slots(tables: Tables) -> Judgement:
    """F6.e: packets of 1500 B fill their slots."""
    own = tables["runs"].filter(lengths=FIXED, system=MMF)
    rows = (
        (
            f"bytes a packet with {row['frame_bytes']} B of framing at {row['of_limit']:g} of the limit",
            row["bytes_per_packet"],
            float(rack.MTU_BYTES),
        )
        for row in own.iter_rows(named=True)
    )
    return judge.all_exactly(rows, "runs' bytes a packet")


def draw(tables: Tables) -> "Picture":
    """Carried load beyond the limit, beside the limit."""
    picture, (axes,) = style.panels(size=(7.5, 3.6))
    own = tables["points"].filter(of_limit=ABOVE, frame_bytes=FRAMES[0])
    groups = [lengths for lengths in (FIXED, BIMODAL, FBW, IN_TURN) if lengths in set(own["lengths"])]
    for place, lengths in enumerate(groups):
        for number, row in enumerate(own.filter(lengths=lengths).iter_rows(named=True)):
            look = rack.look(row["system"])
            label = look["label"] if place == 0 else None
            at = place + 0.13 * (number - 2.5)
            axes.bar(at, row["carried"], width=0.12, color=look["color"], label=label)
            axes.plot([at - 0.06, at + 0.06], [row["limit"]] * 2, color="black", linewidth=1.5)
    axes.set_xticks(range(len(groups)), [name.replace(" and ", "\nand ") for name in groups])
    axes.set(ylabel="highest load held", ylim=(0, 1.05), title="Measured (bars), slots or wires full (lines)")
    picture.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=6)
    return picture


FIGURE = Figure(
    id="SYN-F6-LIMITS",
    title="The highest load that each system holds",
    plans=plans,
    tables=tables,
    claims={
        "SYN-F6a.b": _saturation(BIMODAL, relative=0.02),
        "SYN-F6a.d": _saturation(IN_TURN, absolute=0.01),
        "SYN-F6b.a": _saturation(FBW, relative=0.02),
        "SYN-F6.e": _whole_slots,
    },
    draw=draw,
    needs={"runs": Needs(10, by=KEYS), "points": Needs(10, by=KEYS)},
    assumed=(
        *rack.ASSUMED,
        "Uniform traffic at 1.2 and 0.95 of what slots or wires hold, beside 4 flows from each server to each other "
        "that wait when the run begins; over 20 ms (full: 50 ms) after the first 5 ms (full: 10 ms).",
        "Of lengths in turn each flow begins with 1500 B and has whole packets, so that it has a little more of these "
        "than of 40 B: 0.508 of the slots' bytes in place of 0.501.",
    ),
)
