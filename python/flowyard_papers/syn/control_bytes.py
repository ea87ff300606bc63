"""SYN, section II-B (claim P16): what control sends, over load, and while nothing changes.

"During the time intervals in which R(t) does not change, ASY incurs in a much lower overhead than SYN": its hosts
report when a queue fills or empties, and get new rates then; under SYN each packet is reported and granted. Nothing
changes while flows do not end: of two such runs that differ by their length alone, the difference is what is sent then.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard_papers.syn import _rack as rack
from flowyard_papers.syn._leaf_spine import SERVERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SYSTEMS = (rack.MMF, rack.ASY)
# An entry of a message: which queue, and how much; messages of one host and instant can share the rest.
ENTRY_BYTES = 8
STILL_MS = (5, 10)
# Each server sends to so many others.
TARGETS = 5


def plans(scale: Scale) -> dict[str, Plan]:
    """Bursts over load; and flows that do not end, for two lengths of time."""
    loads = scale.pick((0.1, 0.4, 0.8), (0.05, *(n / 10 for n in range(1, 10)), 0.95))
    window = rack.Window(0, scale.pick(40, 150), 0, 0)
    replicas = scale.pick(2, 10)
    endless = {
        "name": rack.FLOWS,
        # Replicas differ by when flows start.
        "arrivals": {"at-once": {"jitter": "1ms"}},
        "matrix": {
            "pairs": [
                [one, (one + 1 + 17 * number) % SERVERS]
                for one in range(SERVERS)
                for number in range(TARGETS)
            ]
        },
        "sizes": {"fixed": "1GB"},
    }
    run = {"measure": "all", "until": f"{STILL_MS[0]}ms"}
    bases = [rack.scenario(rack.CONTROLLERS[one], run=run, traffic=[endless]) for one in SYSTEMS]
    axes = [
        Axis("system", scenarios=bases, labels=SYSTEMS),
        Axis("until_ms", {"run.until": [f"{ms}ms" for ms in STILL_MS]}, labels=STILL_MS),
    ]
    return {
        "bursts": rack.plan("flows of 46 kB", SYSTEMS, loads, window, replicas=replicas),
        "still": Plan(axes=axes, replicas=replicas, name="flows that do not end"),
    }


def tables(sweeps: Sweeps) -> Tables:
    """Bytes per second over load, one row per run; entries of messages while nothing changes."""
    bursts = pl.DataFrame(_entries(sweeps["bursts"], "load")).with_columns(
        report_bytes_per_s=ENTRY_BYTES * pl.col("reports") / pl.col("s"),
        order_bytes_per_s=ENTRY_BYTES * pl.col("orders") / pl.col("s"),
    )
    keys, values = ["system", "load"], ["report_bytes_per_s", "order_bytes_per_s"]
    still = pl.DataFrame(_entries(sweeps["still"], "until_ms"))
    own = ["system", "replica"]
    later = still.filter(until_ms=STILL_MS[1]).join(
        still.filter(until_ms=STILL_MS[0]), on=own, suffix="_before"
    )
    return {
        "runs": bursts.sort(*keys, "replica"),
        "points": replica_means(bursts, keys, values),
        "still": later.select(
            *own,
            before=pl.col("reports_before") + pl.col("orders_before"),
            while_still=pl.col("reports")
            + pl.col("orders")
            - pl.col("reports_before")
            - pl.col("orders_before"),
        ).sort(own),
    }


def _entries(sweep: Sweep, axis: str) -> list[dict[str, Any]]:
    """Reports and orders of each run's hosts."""
    summaries = sweep.summaries()
    rows = []
    for run in sweep.runs.filter("done").iter_rows(named=True):
        summary = summaries[run["run"]]
        control = summary["counters"]["control"]
        about = {name: run[name] for name in ("system", axis, "replica")}
        counts = {name: control[name] for name in ("reports", "orders")}
        rows.append(about | counts | {"s": summary["end_ps"] / 1e12})
    return rows


def _silent(tables: Tables) -> Judgement:
    """ASY sends nothing while R stays, and something before; SYN sends on."""
    still, points = tables["still"], tables["points"]
    if set(still["system"]) != set(SYSTEMS):
        return judge.not_reached("a system is missing")
    rows = {system: still.filter(system=system).select("before", "while_still").rows() for system in SYSTEMS}
    syn = min(later for _, later in rows[rack.MMF])
    started = min(before for before, _ in rows[rack.ASY])
    asy = max(later for _, later in rows[rack.ASY])
    verdict = judge.judged(
        asy == 0 and started > 0 and syn > 0,
        f"while R stays: ASY {asy:,} entries, SYN {syn:,} or more in {STILL_MS[1] - STILL_MS[0]} ms",
        "ASY none, SYN some",
    )
    both = points.with_columns(total=pl.col("report_bytes_per_s") + pl.col("order_bytes_per_s")).sort("load")
    said = (
        f"{system} {own['total'][0] / 1e6:.3g} MB/s at load {own['load'][0]:g}, {own['total'][-1] / 1e6:.3g} at "
        f"{own['load'][-1]:g}"
        for system in SYSTEMS
        if len(own := both.filter(system=system))
    )
    return verdict.noted("; ".join(said))


def draw(tables: Tables) -> "Picture":
    """Bytes per second over load."""
    picture, (reports, orders) = style.panels(1, 2)
    for axes, column, title in (
        (reports, "report_bytes_per_s", "from servers to the controller"),
        (orders, "order_bytes_per_s", "from the controller to servers"),
    ):
        for place, system in enumerate(SYSTEMS):
            own = tables["points"].filter(system=system).sort("load")
            own = own.with_columns(pl.col(column, f"{column}_ci95") / 1e6)
            style.curve(axes, own, "load", column, place, system)
        axes.set(xlabel="load", ylabel="control (MB/s)", title=title, xlim=(0, 1), yscale="log")
    reports.legend()
    return picture


FIGURE = Figure(
    id="SYN-P16",
    title="Bytes of control messages",
    plans=plans,
    tables=tables,
    claims={"SYN-P16": _silent},
    draw=draw,
    needs={"still": Needs(10, by=("system",)), "points": Needs(10, by=("system", "load"))},
    assumed=(
        *rack.ASSUMED,
        f"An entry of {ENTRY_BYTES} B for each report (a burst; a queue that is empty; under SYN each packet sent) and "
        "for each order (a grant; a new rate of a queue), of the whole data centre. Frames and headers, which entries "
        "of one server and instant share, are not counted.",
        f"While nothing changes: each server sends to {TARGETS} others without end, all from the first millisecond on; "
        f"counted from {STILL_MS[0]} to {STILL_MS[1]} ms.",
    ),
)
