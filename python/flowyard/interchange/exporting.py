"""A scenario's network or flows -> a peer's file, so that the same can run there.

The engine builds the network and draws the flows: what is written is what `flowyard run` would run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from flowyard import _native, results, topology
from flowyard.errors import UserError
from flowyard.folders import reading
from flowyard.folders.reading import shown
from flowyard.interchange import (
    cdf,
    graphs,
    hpcc_fct,
    hpcc_flow,
    hpcc_pfc,
    hpcc_qlen,
    hpcc_topology,
    htsim_cm,
    htsim_topo,
    netsys_trace,
)
from flowyard.interchange.flows import Entry, Progress, Traffic, Triggers, silent
from flowyard.interchange.network import Network
from flowyard.model import Model

# With the suffix of a file that is not named.
FORMATS = {
    "htsim-cm": ".cm",
    "htsim-topo": ".topo",
    "hpcc-flow": ".flow.txt",
    "hpcc-topology": ".topology.txt",
    "netsys-trace": ".trace.txt",
    "cdf-percent": ".cdf.txt",
    "cdf-fraction": ".cdf.txt",
    "graphml": ".graphml",
}

# Of the folder of a run rather than a scenario.
OF_RUNS = {"hpcc-fct": ".fct.txt", "hpcc-pfc": ".pfc.txt", "hpcc-qlen": ".qlen.txt"}

# Formats of tables, which another verb writes.
TABLES = ("csv", "tsv", "xlsx", "excel", "parquet", "json")

# Stands in for the traffic of a network alone.
STAND_IN = {"name": "none", "arrivals": "at-once", "matrix": "permutation", "sizes": {"fixed": "1KB"}}

Scenario = str | PathLike[str] | Model | Mapping[str, Any]


@dataclass
class Exported:
    """A file's text, and what was written.

    Attributes:
        text: The file.
        facts: What is in it: hosts, cables, flows and the like.
        notes: Remarks on it.
    """

    text: str
    facts: dict[str, int | str]
    notes: list[str] = field(default_factory=list)


def export(
    scenario: Scenario,
    to: str,
    overrides: Mapping[str, object] | None = None,
    *,
    entry: str | None = None,
    progress: Progress = silent,
) -> Exported:
    """A scenario's network or flows in a peer's format.

    Args:
        scenario: As for `flowyard.run`.
        to: The format, one of FORMATS.
        overrides: Fields to change, by their path.
        entry: For a CDF, the traffic entry whose sizes are meant; may be left out if there is one only.
        progress: Called with the number of flows written.
    """
    require_format(to)
    if entry is not None and not to.startswith("cdf-"):
        raise UserError(f"--entry chooses the sizes of a CDF; {to} has none")
    if to in ("htsim-topo", "hpcc-topology", "graphml"):
        checked = results.Checked(with_traffic(scenario), overrides)
        return _topology(_built(checked.fabric()), checked.resolved(), to)
    checked = results.Checked(scenario, overrides)
    if to.startswith("cdf-"):
        return _sizes(checked, entry, percent=to == "cdf-percent")
    resolved = checked.resolved()
    traffic, notes = _traffic(resolved, drawn(checked))
    notes += _without_faults(resolved, _events(resolved))
    if to == "htsim-cm":
        hosts = len(_built(checked.fabric()).hosts)
        text, more = htsim_cm.write(traffic, hosts, progress=progress)
    else:
        notes += _without_kept(traffic)
        text, more = (hpcc_flow if to == "hpcc-flow" else netsys_trace).write(traffic, progress=progress)
    notes += _more_than_run(checked, traffic.flows) + more
    return Exported(text, {"flows": traffic.flows, "total_bytes": traffic.total_bytes}, notes)


def require_format(to: str) -> None:
    """Raises a UserError unless there is such a format."""
    if to in TABLES:
        tables = "flowyard show DIR --csv flows -o flows.csv, or -o all.xlsx for all of them"
        raise UserError(f"{shown(to)} is not a format of other simulators; for the tables of a run: {tables}")
    if to not in (*FORMATS, *OF_RUNS):
        raise UserError(f"{shown(to)} is not a format; formats are {', '.join([*FORMATS, *OF_RUNS])}")


def of_run(folder: str, to: str) -> Exported:
    """Completion times, pauses or queue lengths of a run, as HPCC's code lists them.

    Args:
        folder: The folder of the run.
        to: The format, one of OF_RUNS.
    """
    run = results.open_run(folder)
    if to == "hpcc-fct":
        text = hpcc_fct.write(run)
        return Exported(text, {"flows": text.count("\n")})
    if to == "hpcc-pfc":
        text = hpcc_pfc.write(run)
        return Exported(text, {"frames": text.count("\n")})
    text = hpcc_qlen.write(run)
    return Exported(text, {"ports": text.count("\n") - 1}, ["queues have the packet on the wire, too"])


def fabric(scenario: Scenario, overrides: Mapping[str, object] | None = None) -> Network:
    """The network that the engine builds for a scenario, of which nothing but the topology need be there."""
    return _built(topology.fabric(scenario, overrides))


def _built(fabric: _native.Fabric) -> Network:
    return Network.of_fabric(json.loads(fabric.graph()))


def with_traffic(scenario: Scenario) -> Scenario:
    """The scenario; one that is a network alone gets a flow, so that it can be checked."""
    text, kind = results.source(scenario)[:2]
    try:
        data = (reading.parse_json if kind == "json" else reading.parse_toml)(text, "")
    except UserError:
        return scenario  # What is wrong with it, the check says.
    return {"traffic": [STAND_IN]} | data if isinstance(data, dict) and "traffic" not in data else scenario


def drawn(checked: results.Checked) -> dict[str, list[Any]]:
    """The columns of the flows that the engine draws, in the order of their ids."""
    from flowyard.forks import pl

    columns = ("tag", "src", "dst", "size_bytes", "start_ps", "deadline_ps")
    return (
        pl.DataFrame(checked.flows())
        .select(columns)
        .with_columns(pl.col("tag").cast(pl.String))
        .to_dict(as_series=False)
    )


def _events(resolved: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The faults that a scenario has at given times."""
    events: list[dict[str, Any]] = (resolved.get("faults") or {}).get("events") or []
    return events


def _without_faults(resolved: Mapping[str, Any], events: Sequence[dict[str, Any]]) -> list[str]:
    """Remarks on omitted events, and on packets that are lost by number."""
    count = len(events) + len((resolved.get("faults") or {}).get("packets") or [])
    return [f"faults not written: {count}"] if count else []


def _without_kept(traffic: Traffic) -> list[str]:
    """Remarks on omitted connections that stay open."""
    kept = ", ".join(entry.name for entry in traffic.entries if entry.kept)
    return [f"kept connections ({kept}) are not written: flows open their own there"] if kept else []


def _more_than_run(checked: results.Checked, flows: int) -> list[str]:
    """Remarks on drawn flows that a run does not start, because its measured flows have ended before."""
    window = checked.outlook().window
    if window["until_ps"] is None or window["flows"] >= flows:
        return []
    return [
        f"a run starts flows only until its {window['flows']:,} measured ones have ended, fewer than these: "
        "flowyard show DIR --csv flows -o flows.csv writes those of a run, and flowyard import reads that file"
    ]


def _topology(network: Network, resolved: Mapping[str, Any], to: str) -> Exported:
    events = _events(resolved)
    notes = []
    if to == "hpcc-topology":
        number = {name: i for i, name in enumerate(network.names)}
        kept = [event for event in events if _is_loss(event)]
        for event in kept:
            a, b = (number[name] for name in event["target"]["cable"])
            network.loss[min(a, b), max(a, b)] = event["change"]["loss"]
        events = [event for event in events if event not in kept]
        notes.append(f"hosts are the nodes 0 to {len(network.hosts) - 1}, switches those behind them")
    notes += _without_faults(resolved, events)
    facts: dict[str, int | str] = {
        "nodes": len(network.names),
        "hosts": len(network.hosts),
        "cables": len(network.cables),
    }
    writers: dict[str, Callable[[Network], str]] = {
        "htsim-topo": htsim_topo.write,
        "hpcc-topology": hpcc_topology.write,
        "graphml": graphs.write,
    }
    return Exported(writers[to](network), facts, notes)


def _is_loss(event: Mapping[str, Any]) -> bool:
    """Whether it is what an error rate is: a cable that loses packets from the start on, for ever."""
    loses = isinstance(event["change"], dict) and "loss" in event["change"]
    return loses and event["at"] in ("0s", "0ps") and "cable" in event["target"] and not event.get("lasts")


def _traffic(resolved: Mapping[str, Any], columns: Mapping[str, list[Any]]) -> tuple[Traffic, list[str]]:
    """The drawn flows by entry; refused where what starts them has no counterpart."""
    entries = {
        entry["name"]: Entry(
            entry["name"],
            endless=results.variant(entry["sizes"]) == "endless",
            kept=entry.get("connection") == "kept",
        )
        for entry in resolved["traffic"]
    }
    waiting: dict[str, list[int]] = {name: [] for name in entries}
    for tag, src, dst, size, start in zip(
        *(columns[name] for name in ("tag", "src", "dst", "size_bytes", "start_ps")), strict=True
    ):
        entry = entries[tag]
        if start is None:
            waiting[tag].append(len(entry))
        entry.src.append(src)
        entry.dst.append(dst)
        entry.size_bytes.append(size)
        entry.start_ps.append(start or 0)
    for described in resolved["traffic"]:
        entry, kind = entries[described["name"]], results.variant(described["arrivals"])
        if kind == "triggers":
            entry.triggers = _triggers(described["arrivals"]["triggers"], entry, waiting[entry.name])
        elif waiting[entry.name] or kind == "on-off":
            what = f"arrivals.{kind} makes flows start during the run, after others"
            raise UserError(f"traffic entry {entry.name}: {what}, which no peer's format can say")
    deadlines = sum(deadline is not None for deadline in columns["deadline_ps"])
    notes = [f"{deadlines} deadlines are not written: the format has none"] if deadlines else []
    return Traffic([entry for entry in entries.values() if entry]), notes


def _triggers(described: Mapping[str, Any], entry: Entry, waiting: list[int]) -> Triggers:
    """The entry's triggers, with flows by their place among the drawn ones."""
    starts = described["starts"]
    waits = [i for i, start in enumerate(starts) if isinstance(start, dict) and "trigger" in start]
    among = set(waits)
    known = [i for i in range(len(starts)) if i not in among]
    # Flows are drawn by start and, of those, as listed; those that wait come as listed.
    is_waiting = set(waiting)
    times = [place for place in range(len(entry)) if place not in is_waiting]
    listed = sorted(known, key=lambda i: _ps(starts[i]))
    place = dict(zip(listed, times, strict=True)) | dict(zip(waits, waiting, strict=True))
    return Triggers(
        {item["id"]: item["kind"] for item in described["list"]},
        {place[i]: starts[i]["trigger"] for i in waits},
        sorted((place[fire["flow"]], fire["event"], fire["trigger"]) for fire in described["fires"]),
    )


def _ps(start: Any) -> int:
    from flowyard.interchange.text import TIME_UNITS, quantity

    return quantity(start, TIME_UNITS)


def _sizes(checked: results.Checked, asked: str | None, *, percent: bool) -> Exported:
    entries = {entry["name"]: entry for entry in checked.resolved()["traffic"]}
    if asked is None and len(entries) > 1:
        raise UserError(
            f"the scenario has several traffic entries; choose one with --entry: {', '.join(entries)}"
        )
    name = next(iter(entries)) if asked is None else asked
    if name not in entries:
        raise UserError(f"--entry is {shown(name)}; traffic entries are {', '.join(entries)}")
    sizes = entries[name]["sizes"]
    if results.variant(sizes) == "cdf":
        points = [(size, share) for size, share in sizes["cdf"]["points"]]
        notes = [f"the points of {name}"]
    elif results.variant(sizes) == "endless":
        raise UserError(f"traffic entry {name} has flows without end; they have no sizes")
    else:
        columns = drawn(checked)
        own = [size for tag, size in zip(columns["tag"], columns["size_bytes"], strict=True) if tag == name]
        if not own:
            raise UserError(
                f"traffic entry {name}: draws its flows during the run, so that there is none to take a size from"
            )
        points = cdf.measured(own)
        notes = [
            f"measured from the {len(own)} flows drawn for {name}: its sizes are {results.variant(sizes)}, not a cdf"
        ]
    text = cdf.write(points, percent=percent)
    return Exported(text, {"points": text.count("\n"), "entry": name}, notes)
