"""SYN, figure 2 and section II-B (claims F2.a, P7): how often the controllers act.

SYN acts in each slot in which something waits; ASY when its matrix R changes, which is when a queue fills or empties.
Changes are counted from captures of what servers send, apart from the controller, and compared with how often it
acted.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard_papers.syn import _rack as rack
from flowyard_papers.syn import _sent as sent
from flowyard_papers.syn._leaf_spine import SERVERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SYSTEMS = (rack.MMF, rack.ASY)
SLOTS_PER_S = 1e9 / sent.SLOT_NS
BURSTS, SINGLE = "46 kB", "one packet"
WHOLE, SERVER = "of the data centre", "of a server"


def plans(scale: Scale) -> dict[str, Plan]:
    """Both systems over load; flows of a single packet; and short runs with captures."""
    loads = scale.pick((0.05, 0.1, 0.2, 0.4, 0.8), (0.05, *(n / 10 for n in range(1, 10)), 0.95))
    window = rack.Window(scale.pick(10, 50), scale.pick(40, 150), 0, 0)
    replicas = scale.pick(2, 10)
    return {
        "bursts": rack.plan("flows of 46 kB", SYSTEMS, loads, window, replicas=replicas),
        "single": _short("flows of one packet", (0.4,), 5, replicas, {"sizes": {"fixed": "1500B"}}, {}),
        "captured": _short("captured", (0.05, 0.4), 20, replicas, {}, {"observe": sent.CAPTURE}),
    }


def _short(
    name: str,
    loads: tuple[float, ...],
    until_ms: int,
    replicas: int,
    flows: dict[str, Any],
    more: dict[str, Any],
) -> Plan:
    """Runs to the end of their last flow. A load of flows of one packet is what they offer."""
    traffic = []
    for load in loads:
        entry = rack.bursts(load, rack.FIXED, until_ms) | flows
        if flows:
            entry["arrivals"] = {"poisson": {"load": load, "until": f"{until_ms}ms"}}
        traffic.append([entry])
    run = {"audit": True, "measure": "all"}
    bases = [rack.scenario(rack.CONTROLLERS[one], run=run, traffic=traffic[0], **more) for one in SYSTEMS]
    axes = [
        Axis("system", scenarios=bases, labels=SYSTEMS),
        Axis("load", {"traffic": traffic}, labels=loads),
    ]
    return Plan(axes=axes, replicas=replicas, name=name)


def tables(sweeps: Sweeps) -> Tables:
    """One row per run."""
    rates = [
        keys | {"flows": flows, "acts_per_s": acts / (summary["end_ps"] / 1e12)}
        for name, flows in (("bursts", BURSTS), ("single", SINGLE))
        for _, keys, acts, summary in _runs(sweeps[name])
    ]
    rows = []
    for run, keys, acts, _ in _runs(sweeps["captured"]):
        sweep = sweeps["captured"]
        packets = sent.packets(sweep.path(run))
        flows = (
            sweep.flows.filter(pl.col("run") == run).select("src", "dst", "size_bytes", "start_ps").collect()
        )
        slots = packets.select((pl.col("began_ns") // sent.SLOT_NS).n_unique()).item()
        rows.append(keys | {"acts": acts, "changes": len(sent.changes(flows, packets)), "slots": slots})
    table = pl.DataFrame(rates)
    return {
        "runs": table.sort("flows", "system", "load", "replica"),
        "points": replica_means(table, ["flows", "system", "load"], ["acts_per_s"]),
        "counted": pl.DataFrame(rows).sort("system", "load", "replica"),
    }


def _runs(sweep: Sweep) -> list[tuple[str, dict[str, Any], int, dict[str, Any]]]:
    """Of each run its name, keys, how often the controller acted, summary."""
    summaries = sweep.summaries()
    found = []
    for run in sweep.runs.filter("done").iter_rows(named=True):
        summary = summaries[run["run"]]
        keys = {name: run[name] for name in ("system", "load", "replica")}
        found.append((run["run"], keys, summary["counters"]["control"]["acts"], summary))
    return found


def _acts_on_changes(tables: Tables) -> Judgement:
    """ASY as often as R changes; SYN at least once in each slot that has packets."""
    runs = tables["counted"]
    slotted = runs.filter(system=rack.MMF)
    if slotted.is_empty() or not runs.filter(system=rack.ASY)["changes"].sum():
        return judge.not_reached("R never changed, or there are no slots")
    rows = [
        (f"ASY's acts at load {row['load']} in replica {row['replica']}", row["acts"], row["changes"])
        for row in runs.filter(system=rack.ASY).iter_rows(named=True)
    ]
    idle = slotted.filter(pl.col("acts") < pl.col("slots"))
    each = judge.judged(idle.is_empty(), f"{len(idle)} runs of SYN with slots it did not decide", "none")
    return judge.together([judge.all_exactly(rows, "counts"), each])


def _fewer_updates(tables: Tables) -> Judgement:
    """ASY's updates against the slots there are, busy or not."""
    own = tables["runs"].filter(system=rack.ASY, flows=BURSTS)
    if own.is_empty():
        return judge.not_reached("no runs of ASY")
    found = {}
    for reading, servers in ((WHOLE, 1), (SERVER, SERVERS)):
        pairs = own.select("load", "replica", ASY=pl.col("acts_per_s") / servers, SYN=pl.lit(SLOTS_PER_S))
        ordered = judge.not_less(pairs, "SYN", "ASY", x="load")
        above = pairs.group_by("load").agg(pl.col("ASY").mean()).filter(pl.col("ASY") > SLOTS_PER_S)
        first = above.select(pl.col("load").min()).item()
        why = f"a flow changes R twice; more than {SLOTS_PER_S:.0f} slots a second from load {first} on"
        found[reading] = ordered.because(why)
    return judge.by_reading(found)


def draw(tables: Tables) -> "Picture":
    """Updates a second over load, and of a server."""
    picture, panels = style.panels(1, 2)
    points = tables["points"].with_columns(pl.col("acts_per_s_ci95").fill_null(0))
    for axes, reading, servers in ((panels[0], WHOLE, 1), (panels[1], SERVER, SERVERS)):
        own = points.filter(system=rack.ASY, flows=BURSTS).sort("load")
        x, y = own["load"].to_numpy(), own["acts_per_s"].to_numpy() / servers
        axes.plot(x, y, **rack.look(rack.ASY))
        single = points.filter(system=rack.ASY, flows=SINGLE)
        y = single["acts_per_s"].to_numpy() / servers
        axes.plot(single["load"].to_numpy(), y, "x", color="#000000", label="ASY, flows of one packet")
        axes.axhline(SLOTS_PER_S, color=rack.look(rack.MMF)["color"], label="SYN: slots")
        # Each of 2 N rho C / E[S] flows changes R when its queue fills, and when it empties.
        most = 2 * rack.flows_per_s(1, rack.FIXED) / servers
        axes.plot(x, most * x, "k--", linewidth=0.9, label="two for each flow")
        axes.set(yscale="log", xlabel="load", ylabel="decisions a second", title=reading, ylim=(100, 3e7))
        axes.legend(fontsize=7)
    return picture


FIGURE = Figure(
    id="SYN-P7",
    title="Rates of the controllers' decisions",
    plans=plans,
    tables=tables,
    claims={"SYN-F2.a": _acts_on_changes, "SYN-P7": _fewer_updates},
    draw=draw,
    needs={
        "runs": Needs(10, by=("flows", "system", "load")),
        "counted": Needs(10, by=("system", "load")),
    },
    assumed=(
        *rack.ASSUMED,
        "R changes when a queue fills and when it empties, anywhere. From an empty network; SYN has 81,274 slots a "
        "second, whether something waits or not. Flows of one packet, the paper's worst case, at load 0.4 for 5 ms.",
    ),
)
