"""Settings of an import, and its outcome."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from os import PathLike


@dataclass(frozen=True)
class Options:
    """Settings that files do not have.

    Attributes:
        transport: What hosts do; by default that of the scenario in `topology`, DCQCN with files of HPCC's family, NDP
            with others.
        topology: The network of traffic alone: a scenario to take it and the transport from, "single-switch" or
            "fat-tree".
        start_unit: Unit of starts in a .cm file, "ps" or "us", or in a table.
        columns: The columns of a table without names, such as "src,dst,size,start_us"; one for each kind of table.
        rate: Rate of cables that have none.
        delay: Delay of cables that have none.
        rate_unit: Unit of a network's rates that are numbers.
        delay_unit: Unit of a network's delays that are numbers.
        hosts: The nodes of a graph that are hosts, or "leaves".
        hosts_in_order: Whether the names of hosts in a table of flows are hosts 0, 1, ... in the order of their first
            appearance.
        dialect: How to read a CDF that does not say it.
        packet_bytes: Payload of a packet, where a CDF or a table counts packets.
        interpolation: Between the points of a CDF: "linear" or "step".
        mtu: Bytes of payload of a packet, htsim's -mtu.
        cwnd: Packets of the first window, htsim's -cwnd.
        queue: Packets of a port, htsim's -q.
        routes: A file with the paths of a .cm file's flows.
        ecmp: The code whose ECMP gives the flows their paths: "hpcc" or "conweave".
    """

    transport: str | None = None
    topology: str | None = None
    start_unit: str | None = None
    columns: Sequence[str] | str = ()
    rate: str | None = None
    delay: str | None = None
    rate_unit: str | None = None
    delay_unit: str | None = None
    hosts: Collection[str] | str | None = None
    hosts_in_order: bool = False
    dialect: str | None = None
    packet_bytes: int | None = None
    interpolation: str | None = None
    mtu: int | None = None
    cwnd: int | None = None
    queue: int | None = None
    routes: str | PathLike[str] | None = None
    ecmp: str | None = None

    def given(self) -> dict[str, Any]:
        """The options that were given."""
        return {
            option.name: value
            for option in fields(self)
            if (value := getattr(self, option.name)) is not None and value is not False and value != ()
        }


@dataclass
class Imported:
    """A scenario as plain data, and what was read.

    Attributes:
        scenario: What `flowyard.run` takes; of a CDF only `{"sizes": ...}`, of a topology alone no traffic.
        formats: The format of each file.
        facts: What was read: nodes, hosts, links, flows and the like.
        notes: What was assumed or left out.
    """

    scenario: dict[str, Any]
    formats: dict[str, str]
    facts: dict[str, int | float | str]
    notes: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether the scenario has both network and traffic."""
        return {"topology", "traffic"} <= set(self.scenario)
