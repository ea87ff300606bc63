"""SYN, section II (claims P2, P4, P13): what the controllers decide in each slot and at each update, in audited runs.

The simulator's audit checks every matching with the paths of its packets, and the sums of all rates after every
update. Beside it, what servers have sent is read from captures: the slot of each packet, and the queues that were in
use.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard_papers.syn import _rack as rack
from flowyard_papers.syn import _sent as sent
from flowyard_papers.syn._leaf_spine import SERVERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SYSTEMS = (*rack.SLOTTED, rack.ASY)
RANDOM, ALL = "load 0.8", "all to all at once"
UNTIL_MS = 20


def plans(scale: Scale) -> dict[str, Plan]:
    """Random traffic; and each server sends two packets to each other one at once, which fills every queue."""
    everybody = {
        "name": rack.FLOWS,
        # Replicas differ by who comes first.
        "arrivals": {"at-once": {"jitter": "10us"}},
        "matrix": {"pairs": [[a, b] for a in range(SERVERS) for b in range(SERVERS) if a != b]},
        "sizes": {"fixed": "3000B"},
    }
    traffic = [[rack.bursts(0.8, rack.FIXED, UNTIL_MS)], [everybody]]
    run = {"audit": True, "measure": "all", "until": f"{UNTIL_MS}ms"}
    bases = [
        rack.scenario(rack.CONTROLLERS[system], run=run, traffic=traffic[0], observe=sent.CAPTURE)
        for system in SYSTEMS
    ]
    axes = [
        Axis("system", scenarios=bases, labels=SYSTEMS),
        Axis("traffic", {"traffic": traffic}, labels=(RANDOM, ALL)),
    ]
    return {"audited": Plan(axes=axes, replicas=scale.pick(1, 10), name="audited")}


def tables(sweeps: Sweeps) -> Tables:
    """One row per run; how many packets the slots of SYN have."""
    sweep = sweeps["audited"]
    summaries = sweep.summaries()
    rows, slots = [], []
    for run in sweep.runs.filter("done").iter_rows(named=True):
        keys = {name: run[name] for name in ("system", "traffic", "replica")}
        packets = sent.packets(sweep.path(run["run"]))
        rows.append(keys | _run(sweep, run["run"], packets, summaries[run["run"]]))
        if run["system"] in rack.SLOTTED and run["traffic"] == RANDOM:
            slots += _sizes(keys, packets)
    return {
        "runs": pl.DataFrame(rows).sort("system", "traffic", "replica"),
        "slots": pl.DataFrame(slots).sort("system", "replica", "packets"),
    }


def _run(sweep: Sweep, run: str, packets: pl.DataFrame, summary: dict[str, Any]) -> dict[str, Any]:
    flows = sweep.flows.filter(pl.col("run") == run).select("src", "dst", "size_bytes", "start_ps").collect()
    changed = sent.changes(flows, packets)
    # Without an audit there is no such entry.
    violations = summary.get("violations")
    slot = packets.with_columns(slot=pl.col("began_ns") // sent.SLOT_NS)
    most = {end: slot.group_by("slot", end).len()["len"].max() or 0 for end in ("from", "to")}
    return {
        "violations": None if violations is None else len(violations),
        "packets": len(packets),
        "changes": len(changed),
        "slots": slot["slot"].n_unique(),
        "off_slot": packets.filter(pl.col("began_ns") % sent.SLOT_NS != 0).height,
        "most_from_a_server": most["from"],
        "most_to_a_server": most["to"],
        "most_queues": sent.most_in_use(changed),
        "from_empty_queues": changed.filter(pl.col("left") < 0).height,
    }


def _sizes(keys: dict[str, Any], packets: pl.DataFrame) -> list[dict[str, Any]]:
    """How many slots have how many packets."""
    per_slot = packets.group_by(pl.col("began_ns") // sent.SLOT_NS).len("packets")
    counts = per_slot.group_by("packets").len("slots").sort("packets")
    return [keys | row for row in counts.iter_rows(named=True)]


def _audited(runs: pl.DataFrame) -> Judgement:
    """All audits found nothing; at least one run, and all of them audited."""
    if runs.is_empty() or runs["violations"].null_count():
        return judge.not_reached("some runs are not audited")
    found = int(runs["violations"].sum())
    return judge.judged(found == 0, f"{found} violations in {len(runs)} audited runs", "none")


def _matchings(tables: Tables) -> Judgement:
    runs = tables["runs"].filter(pl.col("system").is_in(rack.SLOTTED))
    if set(runs["system"]) != set(rack.SLOTTED):
        return judge.not_reached("some policy is missing")
    most = int(runs.select(pl.max_horizontal("most_from_a_server", "most_to_a_server").max()).item())
    off = int(runs["off_slot"].sum())
    seen = judge.judged(
        most == 1 and off == 0,
        f"at most {most} packets a server and slot, {off} off their slots, in {runs['slots'].sum():,} slots",
        "1 packet, none off",
    )
    return judge.together([_audited(runs), seen])


def _rates(tables: Tables) -> Judgement:
    runs = tables["runs"].filter(system=rack.ASY)
    if runs["changes"].sum() == 0:
        return judge.not_reached("R never changed")
    return _audited(runs).noted(f"R changed {runs['changes'].sum():,} times; sums are audited to 1e-9")


def _queues(tables: Tables) -> Judgement:
    runs = tables["runs"]
    every = runs.filter(traffic=ALL)
    if set(every["system"]) != set(SYSTEMS):
        return judge.not_reached("no runs in which all queues fill")
    empty = int(runs["from_empty_queues"].sum())
    return judge.together(
        [
            judge.exactly(every["most_queues"].max(), SERVERS - 1).called(  # type: ignore[arg-type]
                "queues of a server where all fill"
            ),
            judge.at_most(runs["most_queues"].max(), SERVERS - 1).called(  # type: ignore[arg-type]
                "queues of a server in any run"
            ),
            judge.judged(empty == 0, f"{empty} packets from queues that are empty", "0"),
            # Of the simulator's own lists: of a server's queues those have buckets that hold a packet.
            _audited(runs),
        ]
    )


def draw(tables: Tables) -> "Picture":
    """How many packets slots have; how many queues servers use."""
    picture, (slots, queues) = style.panels(1, 2)
    for system in rack.SLOTTED:
        own = (
            tables["slots"]
            .filter(system=system)
            .group_by("packets")
            .agg(pl.col("slots").sum())
            .sort("packets")
        )
        share = (own["slots"].cum_sum() / own["slots"].sum()).to_numpy()
        slots.step(own["packets"].to_numpy(), share, where="post", **rack.look(system) | {"marker": ""})
    slots.set(xlabel="packets in a slot", ylabel="share of slots", title="Matchings at load 0.8")
    slots.legend()
    most = tables["runs"].group_by("system", "traffic", maintain_order=True).agg(pl.col("most_queues").max())
    for place, traffic in enumerate((RANDOM, ALL)):
        own = most.filter(traffic=traffic)
        queues.bar(
            [at + 0.4 * place for at in range(len(own))], own["most_queues"].to_numpy(), 0.4, label=traffic
        )
        queues.set_xticks([at + 0.2 for at in range(len(own))], own["system"].to_list())
    queues.axhline(SERVERS - 1, color="#000000", linewidth=0.9, linestyle="--")
    queues.set(ylabel="queues", ylim=(0, 160), title="Most queues in use at a server")
    queues.legend(loc="upper left")
    return picture


FIGURE = Figure(
    id="SYN-P2",
    title="Decisions of the controllers, slot by slot and update by update",
    plans=plans,
    tables=tables,
    claims={"SYN-P2": _matchings, "SYN-P4": _rates, "SYN-P13": _queues},
    draw=draw,
    needs={"runs": Needs(10, by=("system", "traffic"))},
    assumed=(
        *rack.ASSUMED,
        f"{UNTIL_MS} ms from an empty network, at load 0.8 and with two packets from each server to each other one "
        "at once. A queue is in use from a burst's arrival until its last packet begins.",
    ),
)
