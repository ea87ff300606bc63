"""Peers' files of one experiment -> one scenario."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowyard.errors import UserError
from flowyard.folders import reading
from flowyard.folders.reading import shown
from flowyard.interchange import (
    cable_table,
    cdf,
    columns,
    containerlab,
    flow_table,
    formats,
    graphs,
    hpcc_config,
    hpcc_ecmp,
    hpcc_flow,
    hpcc_topology,
    htsim_cm,
    htsim_habits,
    htsim_topo,
    netsys_trace,
    orders,
    routes,
    sniffing,
    tables,
    taken,
    transports,
)
from flowyard.interchange.flows import Progress, Traffic, silent
from flowyard.interchange.hosts import Hosts
from flowyard.interchange.options import Imported, Options
from flowyard.interchange.taken import BY_HOSTS, FAT_TREE, SINGLE_SWITCH
from flowyard.interchange.text import RATE_UNITS, TIME_UNITS, Source, quantity, rate_text, time_text
from flowyard.run_json import host_names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike

    from flowyard.interchange.network import Network

# When htsim ends.
UNTIL = "1ms"
# Idle time, in ps, below which it is a part of the traffic.
IDLE = 10**9


def read(
    paths: Sequence[str | PathLike[str]],
    *,
    formats: Sequence[str] = (),
    progress: Callable[[str], Progress] = lambda _name: silent,
    **options: Any,
) -> Imported:
    """The scenario of one or more files that belong together.

    Args:
        paths: A topology, a file of flows, or both, and settings beside them; or a CDF alone.
        formats: The format of each file; by default they are recognised by their content.
        progress: Returns for a file's name a callback for the number of its flows read.
        options: What files do not say; see Options.
    """
    return _Import([load(Path(path)) for path in paths], formats, Options(**options), progress).imported()


def load(path: Path) -> Source:
    """A file's text."""
    if path.is_dir():
        raise UserError(f"{reading.as_text(path)}: is a folder; name the files in it")
    _refuse_binary(path)
    return Source(reading.as_text(path), reading.text(path, encoding="utf-8-sig"))


# Files of tables that are no text: their first bytes, what they are, and the way to go.
_BINARY = {
    b"PK\x03\x04": "a workbook or an archive; save the sheet as CSV",
    b"PAR1": "a Parquet file; write it as CSV: flowyard show DIR --csv flows -o flows.csv of a run",
}


def _refuse_binary(path: Path) -> None:
    """Raises a UserError for a file of a table that is no text."""
    # Opening a pipe would wait for its other end.
    if not path.is_file():
        return
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError:
        # The reader of texts says why.
        return
    if start in _BINARY:
        raise UserError(f"{reading.as_text(path)}: is {_BINARY[start]}")


class _Import:
    def __init__(
        self,
        sources: list[Source],
        chosen: Sequence[str],
        options: Options,
        progress: Callable[[str], Progress],
    ) -> None:
        if chosen and len(chosen) not in (1, len(sources)):
            raise UserError(
                f"{len(chosen)} formats for {len(sources)} files; give one for each, or one for all"
            )
        for name in chosen:
            formats.known(name)
        texts = [options.columns] if isinstance(options.columns, str) else list(options.columns)
        self.columns = dict(columns.asked(text) for text in texts)
        self.sniffed = not chosen
        found = list(chosen) or [sniffing.with_columns(source, self.columns) for source in sources]
        if len(found) < len(sources):
            found *= len(sources)
        self.files = list(zip(sources, found, strict=True))
        given = options.given()
        if self.sniffed and "hpcc-flow" in found:
            # It may turn out to count packets.
            given.pop("packet_bytes", None)
        formats.refuse_options(given, [(source.name, name) for source, name in self.files])
        self.options = options
        self.settings = self.config()
        if self.settings and options.transport is None:
            # Refused before the other files are read.
            self.settings.transport()
        self.named = None if options.transport is None else transports.named(options.transport)
        if self.settings and self.named:
            self.settings.control = self.named[1]
        self.progress = progress
        self.notes: list[str] = []
        self.facts: dict[str, int | float | str] = {}

    @functools.cached_property
    def named_scenario(self) -> taken.Named | None:
        """The scenario that --topology names; None for a network that follows from the flows."""
        asked = self.options.topology
        return None if asked is None or asked in BY_HOSTS else taken.named(asked)

    @property
    def transport(self) -> str:
        """The hosts' transport: by the option, the settings, or the formats.

        Some of these are known only once flows have been read.
        """
        if self.named:
            return self.named[0]
        if self.settings:
            return self.settings.transport()
        return transports.default([name for _, name in self.files])

    def imported(self) -> Imported:
        found = {source.name: name for source, name in self.files}
        if formats.CDF in found.values():
            if len(self.files) > 1:
                raise UserError(
                    "a CDF holds sizes only; import it alone, and put what it gives into a traffic entry"
                )
            return Imported(self.sizes(self.files[0][0]), found, self.facts, self.notes)
        topology, traffic = (self.only(kinds) for kinds in (formats.TOPOLOGY, formats.TRAFFIC))
        self.unused_columns()
        network = self.network(*topology) if topology else None
        flows = self.flows(traffic[0], traffic[1], network) if traffic else None
        scenario: dict[str, Any] = {}
        if network:
            if self.options.topology:
                raise UserError(
                    f"--topology {self.options.topology}: the network is already in {topology[0].name}"
                )
            scenario["topology"] = network.topology()
            self.facts |= {
                "nodes": len(network.names),
                "hosts": len(network.hosts),
                "cables": len(network.cables),
            }
        elif flows:
            scenario["topology"] = self.topology(flows, traffic[0].name)
        scenario |= self.stack(network)
        if self.options.routes is not None:
            scenario["routing"] = self.routing(Path(self.options.routes), flows, traffic, network, scenario)
        if self.options.ecmp is not None:
            scenario["routing"] = self.hashed(self.options.ecmp, flows, network, traffic)
        if flows:
            names = host_names(scenario)
            if names and max(max(*entry.src, *entry.dst) for entry in flows.entries) >= len(names):
                # The check of the scenario says which host there is not.
                names = None
            scenario["traffic"] = [entry.traffic(names) for entry in flows.entries]
            if all(entry.endless for entry in flows.entries):
                scenario["run"] = {"until": UNTIL}
                self.notes.append(f"no flow has an end, so the run has one: {UNTIL}, as htsim by default")
            self.measure(flows, scenario)
            self.facts |= {"flows": flows.flows, "total_bytes": flows.total_bytes}
            self.facts |= {"entries": ", ".join(f"{entry.name} {len(entry)}" for entry in flows.entries)}
        events = self.faults(network, flows, traffic)
        if events:
            scenario["faults"] = {"events": events}
            self.facts["faults"] = len(events)
        if self.settings:
            self.notes += self.settings.all_notes()
        self.notes += [*(network.notes if network else []), *(flows.notes if flows else [])]
        return Imported(scenario, {source.name: name for source, name in self.files}, self.facts, self.notes)

    def measure(self, flows: Traffic, scenario: dict[str, Any]) -> None:
        """Leaves out of results the time before the first flow, if it is long, and longer than that of all starts.

        HPCC's flows start at 2 s.
        """
        starts = [start for entry in flows.entries for start in entry.start_ps]
        first, waits = min(starts, default=0), any(entry.triggers.starts for entry in flows.entries)
        run = scenario.get("run", {})
        stops = "until" in run and quantity(run["until"], TIME_UNITS) <= first
        if waits or stops or first < IDLE or first <= max(starts, default=0) - first:
            return
        scenario["run"] = {**run, "measure": {"from": time_text(first), "until": "end"}}
        self.notes.append(
            f"the first flow starts at {time_text(first)}: results are of the time from then on"
        )

    def unused_columns(self) -> None:
        """Refuses names of columns for a kind of table that is not there."""
        held = [name for _, name in self.files]
        for kind, name in ((columns.FLOWS, "flow-table"), (columns.CABLES, "cable-table")):
            if kind in self.columns and name not in held:
                said = ",".join(column.name for column in self.columns[kind])
                files = ", ".join(f"{source.name} ({form})" for source, form in self.files)
                raise UserError(f"--columns {said}: names the columns of {kind}, which {files} does not have")

    def config(self) -> hpcc_config.Config | None:
        """The settings, if a file has them."""
        found = self.only(formats.SETTINGS)
        if found is None:
            return None
        for source, name in self.files:
            if name.startswith("htsim") or name == formats.CDF:
                raise UserError(
                    f"{found[0].name}: has settings of HPCC's ns-3 code; {source.name} ({name}) is not of it"
                )
        settings = hpcc_config.read(found[0])
        if len(self.files) == 1:
            raise settings.source.wrong(0, f"has settings only; name {settings.files()}, too")
        return settings

    def stack(self, network: Network | None) -> dict[str, Any]:
        """Transport, queues and end of a run: by the settings; for htsim's files as its NDP, else by --topology."""
        if self.settings:
            rate = self.options.rate
            return self.settings.parts(
                self.transport, network, quantity(rate, RATE_UNITS) if rate and not network else None
            )
        options, names = self.options, ("mtu", "cwnd", "queue")
        scenario = None if network else self.named_scenario
        given = {name: value for name in names if (value := getattr(options, name)) is not None}
        htsim = any(name.startswith("htsim") for _, name in self.files)
        if htsim and self.transport == "ndp":
            line = htsim_habits.CommandLine(**given)
            self.notes += htsim_habits.notes(line, set(given))
            if options.routes is None:
                self.notes.append(htsim_habits.BALANCER)
            if options.transport is None and scenario and scenario.transport:
                self.notes.append(scenario.not_taken())
            return htsim_habits.fields(line)
        for name in given:
            raise UserError(
                f"--{name} is of htsim's NDP: it goes with a .cm or a .topo file and --transport ndp"
            )
        if htsim:
            self.notes.append(
                f"htsim's -mtu, -cwnd and -q are not in the file: {self.transport} and its ports have their defaults"
            )
        elif options.transport is None and scenario and scenario.transport:
            self.notes.append(scenario.taken())
            return scenario.stack
        elif options.transport is None:
            self.notes.append(transports.by_default([name for _, name in self.files]))
        control = self.named[1] if self.named else None
        return {"transport": {self.transport: {"congestion": control} if control else {}}}

    def routing(
        self,
        path: Path,
        flows: Traffic | None,
        traffic: Any,
        network: Network | None,
        scenario: dict[str, Any],
    ) -> dict[str, Any]:
        """The paths that a list beside the .cm file says."""
        if not isinstance(flows, htsim_cm.Matrix):
            raise UserError(f"--routes {path}: has the paths of a .cm file's flows; name that file, too")
        if network is None:
            from flowyard.interchange import exporting

            network = exporting.fabric(exporting.with_traffic({"topology": scenario["topology"]}))
        found = routes.read(load(path), flows, traffic[0].name, network)
        own = {(route["taken_by"]["traffic"], flow) for route in found for flow in route["taken_by"]["flows"]}
        self.facts["routes"] = len(found)
        left = flows.flows - len(own)
        if left:
            self.notes.append(
                f'flows without a path in {path} go as under "per-flow": {left} of {flows.flows}'
            )
        return {"balancer": {"explicit": {"routes": found}}}

    def hashed(
        self, ecmp: str, flows: Traffic | None, network: Network | None, traffic: Any
    ) -> dict[str, Any]:
        """The paths by the hash of a peer's switches."""
        if ecmp not in hpcc_ecmp.RULES:
            raise UserError(f"--ecmp is {shown(ecmp)}; it is one of {', '.join(hpcc_ecmp.RULES)}")
        if flows is None or network is None or network.host_of is None:
            raise UserError(
                f"--ecmp {ecmp}: the hash is of the numbers of nodes; name the topology.txt of the flows, too"
            )
        found = hpcc_ecmp.routes(ecmp, flows, network, self.progress(traffic[0].name))
        self.facts["routes"] = len(found)
        if any(len(set(ends)) > 1 for ends in network.ports()[: len(network.hosts)]):
            self.notes.append(
                "a host with several switches sends by the first: that code has another hash there"
            )
        return {"balancer": {"explicit": {"routes": found}}}

    def only(self, kinds: tuple[str, ...]) -> Any:
        """The one file of these kinds, if there is one."""
        found = [(source, name) for source, name in self.files if name in kinds]
        if len(found) > 1:
            names = " and ".join(source.name for source, _ in found)
            what = {formats.TOPOLOGY: "topology", formats.TRAFFIC: "file of flows"}.get(
                kinds, "file of settings"
            )
            raise UserError(f"{names}: a scenario has one {what}; import them one by one")
        return found[0] if found else None

    def network(self, source: Source, name: str) -> Network:
        options = self.options
        if name == "htsim-topo":
            return htsim_topo.read(source)
        if name == "hpcc-topology":
            return hpcc_topology.read(source, rate_unit=options.rate_unit, delay_unit=options.delay_unit)
        given = {
            option: getattr(options, option)
            for option in ("hosts", "rate", "delay", "rate_unit", "delay_unit")
        }
        if name == "cable-table":
            return cable_table.read(source, self.columns.get(columns.CABLES), **given)
        if name == "containerlab":
            return containerlab.read(source, **given)
        return graphs.read(source, name, **given)

    def flows(self, source: Source, name: str, network: Network | None) -> Traffic:
        progress = self.progress(source.name)
        hosts = len(network.hosts) if network else None
        if name == "htsim-cm":
            kept = None if self.options.transport is None else self.transport in transports.KEEPING
            matrix = htsim_cm.read(source, start_unit=self.options.start_unit, kept=kept, progress=progress)
            if hosts is not None and matrix.hosts != hosts:
                raise source.wrong(0, f"says Nodes {matrix.hosts}, but the topology has {hosts} hosts")
            return matrix
        host_of = _numbered(network) if network else self.numbers()
        if self.sniffed and name in ("hpcc-flow", "conweave-flow", "netsys-trace"):
            known = host_of.keys() if host_of else None
            name = orders.settle(source, known, packets=self.options.packet_bytes is not None)
            self.files = [(held, name if held is source else other) for held, other in self.files]
            # The format is known only now, and with it what --packet-bytes is for.
            formats.refuse_options(self.options.given(), [(held.name, other) for held, other in self.files])
        if name == "hpcc-flow":
            return hpcc_flow.read(source, host_of=host_of, progress=progress)
        if name == "netsys-trace":
            return netsys_trace.read(source, host_of=host_of, progress=progress)
        return self.table_of_flows(source, name, network, host_of, progress)

    def table_of_flows(
        self,
        source: Source,
        name: str,
        network: Network | None,
        host_of: dict[int, int] | None,
        progress: Progress,
    ) -> Traffic:
        """The flows of a table: with names of its own, those of --columns, or a format's."""
        head = tables.head(source)
        asked, skip = self.columns.get(columns.FLOWS), head.line if head else 0
        if name != "flow-table":
            asked = columns.named(orders.of_format(name).split(","), columns.FLOWS)
            self.notes.append(f"columns read as {' '.join(column.name for column in asked)}")
        elif asked is None and head:
            columns.require_units(source, head.words, head.line)
            asked = columns.unique(columns.named(head.words, columns.FLOWS), source.name)
        elif asked is None:
            raise source.wrong(0, f"has no line that names its columns; {orders.hint(source)}")
        elif not head:
            first = next(tables.rows(source), (0, ["0"]))
            # Names that are not known: the user gives others.
            skip = 0 if any(word[:1].isdecimal() for word in first[1]) else first[0]
        if name == "rdma-flow":
            self.notes.append("end is not kept: flows go on until all of their packets have arrived")
        reading = flow_table.Reading(
            list(asked),
            start_unit=self.options.start_unit,
            packet_bytes=self.options.packet_bytes,
            hosts=Hosts(
                network.hosts if network else self.named_hosts(), host_of, self.options.hosts_in_order
            ),
            skip=skip,
            count=tables.counted(source),
        )
        return flow_table.read(source, reading, progress=progress)

    def named_hosts(self) -> Sequence[str]:
        """The hosts of the scenario that --topology names; none of a network that follows from the flows."""
        return self.named_scenario.hosts() if self.named_scenario else ()

    def numbers(self) -> dict[int, int] | None:
        """The hosts of the scenario that --topology names, by their numbers; None where there is none."""
        count = len(self.named_hosts())
        return {host: host for host in range(count)} if count else None

    def topology(self, flows: Traffic, name: str) -> dict[str, Any]:
        """The network that --topology names for flows without one."""
        asked = self.options.topology
        if asked is None:
            said = f" for {flows.hosts} hosts" if flows.hosts else ""
            raise UserError(
                f"{name} has flows, but no network{said}: name its topology file too, or say --topology SCENARIO"
                f" (the network of that scenario), --topology {SINGLE_SWITCH} or --topology {FAT_TREE}"
            )
        highest = max(max(*entry.src, *entry.dst) for entry in flows.entries)
        hosts = flows.hosts or highest + 1
        if self.named_scenario:
            for key in ("rate", "delay"):
                if given := getattr(self.options, key):
                    raise UserError(
                        f"--{key} {given}: the network is that of {asked}, with its own cables; "
                        f"--{key} goes with --topology {' or '.join(BY_HOSTS)}"
                    )
            self.notes.append(f"the network is that of {self.named_scenario.path}")
            return self.named_scenario.topology
        if not flows.hosts:
            self.notes.append(f"{hosts} hosts, because the highest number of a node is {highest}")
        fields: dict[str, Any] = {"hosts": hosts} if asked == SINGLE_SWITCH else {"k": _arity(hosts)}
        for key, given, units in (
            ("rate", self.options.rate, RATE_UNITS),
            ("delay", self.options.delay, TIME_UNITS),
        ):
            if given is None:
                self.notes.append(f"the {key} of cables is the default of {asked}: --{key} changes it")
                continue
            try:
                base = quantity(given, units)
            except ValueError as error:
                raise UserError(f"--{key} is {shown(given)}; {error}") from None
            fields[key] = (rate_text if key == "rate" else time_text)(base)
        self.facts["hosts"] = hosts
        return {asked: fields}

    def faults(self, network: Network | None, flows: Traffic | None, traffic: Any) -> list[dict[str, Any]]:
        events = network.faults() if network else []
        if self.settings:
            events += self.settings.faults(network)
        if isinstance(flows, htsim_cm.Matrix) and flows.failures:
            source: Source = traffic[0]
            if network is None:
                line = flows.failures[0].line
                raise source.wrong(line, "fails a link by its place in htsim's tree; name the .topo file too")
            events += htsim_cm.failed(flows, network, source)
        return events

    def sizes(self, source: Source) -> dict[str, Any]:
        options = self.options
        found = cdf.read(source, options.dialect, options.packet_bytes, options.interpolation)
        cdf.compare_mean(source, found, told=bool(options.dialect or options.packet_bytes), notes=self.notes)
        cdf.told_mean(found, self.notes)
        self.facts |= {key: found[key] for key in ("mean_bytes", "dialect", "interpolation")}
        self.facts["points"] = len(found["points"])
        return {"sizes": {"cdf": {"points": [list(point) for point in found["points"]]}}}


def _numbered(network: Network) -> dict[int, int]:
    """The host of each number that a file of flows may have for it."""
    if network.host_of is not None:
        return network.host_of
    if all(name.isascii() and name.isdecimal() for name in network.hosts):
        # A graph whose nodes are numbers: these are what flows have.
        return {int(name): host for host, name in enumerate(network.hosts)}
    return {host: host for host in range(len(network.hosts))}


def _arity(hosts: int) -> int:
    """The k of the fat-tree with so many hosts, k^3/4."""
    k = next(k for k in range(2, 200, 2) if k**3 // 4 >= hosts or k == 198)
    if k**3 // 4 != hosts:
        near = f"{max(k - 2, 2) ** 3 // 4} or {k**3 // 4}"
        raise UserError(
            f"--topology {FAT_TREE}: no fat-tree has {hosts} hosts (k^3/4); the nearest have {near}; "
            "--topology single-switch takes any number"
        )
    return k
