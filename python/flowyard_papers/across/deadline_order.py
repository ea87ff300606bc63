"""Four deadline schemes on DAQ's incast: D3 is no better than PDQ, PDQ no better than PEQ, and D3 no better than DAQ.

PEQ is a discipline of the slotted link, where D3 and PDQ are, too: the register's reading compares them there, with
deadlines of the size and an exponential slack (mode B of PEQ's thesis). DAQ is made of packets, credits and windows,
and is compared with D3 in DAQ's rack. The second reading has all four in packets, PEQ as PDQ with PEQ's order of flows;
the third one has D3's other constants, as in DAQ's figures.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard import slotted
from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Plan
from flowyard.sweeps.plan import ModelPlan
from flowyard_papers.daq import _judges as judges
from flowyard_papers.daq import _rack as rack
from flowyard_papers.daq._models import FLOORED

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

D3, PDQ, PEQ = "D3", "PDQ", "PEQ"
DISCIPLINES = {D3: "d3", PDQ: "pdq", PEQ: "peq"}
# A slot is a packet of 1500 B at 1 Gbps; deadlines have a mean of 20 ms.
SLOT_S, PAYLOAD_BYTES = 12e-6, 1460
SENDERS, MEANS_KB = (5, 10, 20, 30, 40, 60, 80), (10, 30)
PACKETS = (rack.DAQ, rack.D3, rack.PDQ, rack.PDQ_PEQ, rack.D3_PLAIN)
IN_SLOTS, IN_PACKETS = "D3, PDQ and PEQ in slots, DAQ and D3 in packets", "all in packets"
PLAIN_D3 = f"all in packets, {rack.D3_PLAIN}"


def point(mean_kb: int, senders: int, sets: int, replica: int) -> pl.DataFrame:
    """Shares in time on the slotted link, all schemes on the same flows."""
    most = -(-(2000 * mean_kb - 2000) // PAYLOAD_BYTES)
    config: dict[str, Any] = {
        "generation": {"sets": {"flows": senders, "sets": sets}},
        "classes": [
            {
                "sizes": {"uniform": {"min": 2, "max": most}},
                "deadlines": {"exponential": {"mean": round(20e-3 / SLOT_S), "infeasible": "shift"}},
            }
        ],
        "run": {"replica": replica},
    }
    shares = [
        100 * pl.DataFrame(slotted.run(config | {"discipline": name}).flows)["done"].mean()  # type: ignore[operator]
        for name in DISCIPLINES.values()
    ]
    return pl.DataFrame({"scheme": list(DISCIPLINES), "in_time_pct": shares})


def plans(scale: Scale) -> dict[str, Plan | ModelPlan]:
    """Answers of 10 and 30 KB in slots, and in packets."""
    rounds, replicas = scale.pick(30, 200), scale.pick(3, 10)
    flows = rack.incast(10_000, rounds, "100ms", FLOORED)
    numbers = scale.pick((10, 40, 80), SENDERS)
    axes = [rack.schemes(PACKETS, [flows]), rack.mean_sizes(MEANS_KB), rack.senders(numbers)]
    sets = {"mean_kb": MEANS_KB, "senders": numbers, "sets": [rounds]}
    return {
        "slots": ModelPlan(point, sets, replicas, name="slots"),
        "packets": Plan(axes=axes, replicas=replicas, name="packets"),
    }


def tables(sweeps: Sweeps) -> Tables:
    """One row per run and scheme, and the means."""
    keys = ["scheme", "mean_kb", "senders"]
    columns = [*keys, "replica", "in_time_pct"]
    slots = sweeps["slots"].scan("table").select(columns).sort(*keys, "replica").collect()
    packets = rack.in_time(sweeps["packets"], keys).select(columns)
    return {
        "slots": slots,
        "packets": packets,
        "slot_points": replica_means(slots, keys, ["in_time_pct"]),
        "packet_points": replica_means(packets, keys, ["in_time_pct"]),
    }


def _ordered(runs: pl.DataFrame, pairs: list[tuple[str, str]]) -> list[Judgement]:
    return [
        judges.ordered(runs.filter(mean_kb=mean), pairs, "in_time_pct", "senders", points=True)
        for mean in MEANS_KB
    ]


def _ranked(tables: Tables) -> Judgement:
    slots = _ordered(tables["slots"], [(PDQ, D3), (PEQ, PDQ)])
    found = {}
    for name, d3 in ((IN_SLOTS, rack.D3), (IN_PACKETS, rack.D3), (PLAIN_D3, rack.D3_PLAIN)):
        daq = _ordered(tables["packets"], [(rack.DAQ, d3)])
        others = _ordered(tables["packets"], [(rack.PDQ, d3), (rack.PDQ_PEQ, rack.PDQ)])
        found[name] = judge.together([*(slots if name == IN_SLOTS else others), *daq])
    return judge.by_reading(found)


def draw(tables: Tables) -> "Picture":
    """A panel for each size, in slots and in packets."""
    picture, panels = style.panels(1, 2 * len(MEANS_KB), size=(3.6, 3.0))
    for place, mean in enumerate(MEANS_KB):
        slots, packets = panels[2 * place : 2 * place + 2]
        for at, scheme in enumerate(DISCIPLINES):
            own = tables["slot_points"].filter(scheme=scheme, mean_kb=mean).sort("senders")
            style.curve(slots, own, "senders", "in_time_pct", at, scheme)
        for scheme in PACKETS:
            own = tables["packet_points"].filter(scheme=scheme, mean_kb=mean).sort("senders")
            packets.plot(own["senders"].to_numpy(), own["in_time_pct"].to_numpy(), **rack.look(scheme))
        slots.set(title=f"{mean} KB, slots", xlabel="senders")
        packets.set(title=f"{mean} KB, packets", xlabel="senders")
    panels[0].set_ylabel("flows in time (%)")
    panels[0].legend()
    panels[1].legend()
    return picture


FIGURE = Figure(
    id="ALL-2",
    title="D3, PDQ, PEQ and DAQ on DAQ's incast",
    plans=plans,
    tables=tables,
    claims={"ALL-2": _ranked},
    draw=draw,
    needs={name: Needs(10, by=("scheme", "mean_kb", "senders")) for name in ("slots", "packets")},
    assumed=(
        *rack.ASSUMED,
        "In slots of 12 us a flow has 2 packets and more, with the paper's mean; its deadline is its size and an "
        "exponential slack of mean 20 ms. In packets deadlines are exponential with a floor of 3 ms.",
        "In packets PDQ gives up flows that cannot be in time any more; D3 and DAQ do not.",
    ),
)
