"""SYN and ASY beside transports without a controller on the same flows: NDP, DCTCP and TCP.

Mean and 99th percentile of the FCT, and how long packets are in the network, over load. Central control keeps packets
at the servers, the others in ports; its controller has no delay here and costs nothing (SYN-COST has what it takes).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.papers.loads import unsteady
from flowyard.sweeps import Axis, Plan
from flowyard_papers.syn import _ours as ours
from flowyard_papers.syn import _rack as rack
from flowyard_papers.syn import _window as windows

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

_CENTRAL = {"central": {"link_bytes": "0B"}}
_TCP = {"preset": "datacentre"}
SYN, ASY, NDP, DCTCP, TCP = "SYN, MMF", "ASY", "NDP", "DCTCP", "TCP"
SYSTEMS: Mapping[str, dict[str, Any]] = {
    SYN: {"transport": _CENTRAL, "controller": {"syn": {"policy": "mmf"}}},
    ASY: {"transport": _CENTRAL, "controller": {"asy": {}}},
    NDP: {"transport": {"ndp": {"mtu": "1500B"}}, "queue": {"ndp": {}}},
    DCTCP: {"transport": {"tcp": {"congestion": "dctcp", **_TCP}}, "queue": {"ecn": {}}},
    TCP: {"transport": {"tcp": _TCP}, "queue": {"drop-tail": {}}},
}


def plans(scale: Scale) -> dict[str, Plan]:
    """The same flows under all of them."""
    loads = scale.pick((0.2, 0.8), (0.1, 0.3, 0.5, 0.7, 0.8, 0.9))
    window = ours.window(scale)
    until = window.until_ms(loads[0], rack.FIXED)
    run = {"measure": window.measure, "until": f"{until}ms"}
    flows = [[rack.bursts(load, rack.FIXED, until)] for load in loads]
    network = rack.scenario({})["topology"]
    bases = [
        {"topology": network, "traffic": flows[0], "run": run, "observe": windows.HISTOGRAMS, **parts}
        for parts in SYSTEMS.values()
    ]
    axes = [
        Axis("system", scenarios=bases, labels=list(SYSTEMS)),
        Axis("load", {"traffic": flows}, labels=loads),
    ]
    return {"systems": Plan(axes=axes, replicas=scale.pick(1, ours.REPLICAS), name="systems")}


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """One row per run, and the means."""
    keys = ["system", "load"]
    runs = ours.runs(sweeps["systems"], scale)
    beyond = unsteady(sweeps["systems"], keys)
    points = replica_means(runs, keys, ours.VALUES).join(beyond, on=keys, maintain_order="left")
    return {"runs": runs, "points": points}


def draw(tables: Tables) -> "Picture":
    """FCT and time in the network over load; points that were not in a steady state are hollow."""
    picture, panels = style.panels(1, 3)
    columns = {
        "fct_ms": "mean FCT (ms)",
        "fct_p99_ms": "99th percentile of the FCT (ms)",
        "network_us": "mean time in the network (us)",
    }
    for axes, (column, label) in zip(panels, columns.items(), strict=True):
        for place, system in enumerate(SYSTEMS):
            own = tables["points"].filter(system=system).sort("load")
            style.curve(axes, own, "load", column, place, system)
            style.hollow(axes, own, "load", column, place)
        axes.set(xlabel="load", ylabel=label, yscale="log")
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return picture


FIGURE = Figure(
    id="SYN-TRANSPORTS",
    title="NDP, DCTCP and TCP beside SYN and ASY (ours)",
    plans=plans,
    tables=tables,
    claims={},
    draw=draw,
    assumed=(
        *ours.ASSUMED,
        "Hollow points were not in a steady state: the load carried is less than that offered, or the times of flows "
        "still grow.",
        "SYN's data centre, 0.5 us per link, flows of 46 kB on average between all servers. Packets of 1500 B without "
        "framing; SYN and ASY send whole ones, which is 1.6 % more. Headers are 40 B of a packet under TCP and DCTCP, "
        "64 B under NDP, so that loads in bytes of flows are 3 to 4 % more on the wire.",
        "TCP (New Reno) and DCTCP have the timeouts of the preset datacentre, ports of 100 packets, marks from 65; all "
        "other settings are the simulator's defaults. Flows open connections of their own; NDP has no handshake.",
    ),
)
