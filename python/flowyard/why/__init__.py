"""Why a flow took as long as it did: its run again with the flow's events, and its time divided by cause."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flowyard import results
from flowyard.errors import UserError
from flowyard.results import Result
from flowyard.why.packets import Packet, packets
from flowyard.why.path import Chain, Part, timers, totals

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Answer", "Packet", "Part", "divided", "why"]


@dataclass(frozen=True)
class Answer:
    """The completion time of a flow, divided by cause.

    Attributes:
        flow: Its number in flows.parquet.
        start_ps: When it started.
        fct_ps: Its completion time; the parts add up to it.
        ideal_fct_ps: That of the flow alone in the network.
        parts: The parts in the order of time.
        packets: All packets of the flow, in the order in which they were made.
        links: "from -> to" of the links, by number.
    """

    flow: int
    start_ps: int
    fct_ps: int
    ideal_fct_ps: int
    parts: Sequence[Part]
    packets: Sequence[Packet]
    links: Sequence[str]

    @property
    def totals(self) -> dict[str, int]:
        """The time of each part by name, in ps."""
        return totals(self.parts)

    @property
    def lost(self) -> list[Packet]:
        """The packets that were dropped."""
        return [packet for packet in self.packets if packet.dropped]


def why(run: Result, flow: int) -> Answer:
    """Divides the completion time of a flow by cause.

    The scenario of the run is run again with the events of the flow; the digest proves that it is the same run.

    Args:
        run: A complete run, or one that was opened.
        flow: The flow's number in flows.parquet.

    Raises:
        UserError: There is no such flow, it is not complete, its run was made by another version or by members in
            Python, or several flows share its connection.
    """
    row = _row(run, flow)
    again = _again(run, flow)
    assert again.events is not None
    return divided(row, list(again.events.to_polars().iter_rows(named=True)), again.links.to_polars())


def divided(row: Mapping[str, Any], events: Sequence[Mapping[str, Any]], links: "pl.DataFrame") -> Answer:
    """Divides the completion time of a flow by cause.

    Args:
        row: Its row of flows.parquet.
        events: Its rows of events.parquet, of all kinds and links, from its start to its end.
        links: All rows of links.parquet.
    """
    flow, made = row["id"], packets(events)
    if not made:
        raise UserError(f"flow {flow}: has no events of its own; several flows share its connection")
    rates = dict(zip(links["id"], links["rate_bps"], strict=True))
    chain = Chain(made, timers(events), rates, row["start_ps"])
    return Answer(
        flow=flow,
        start_ps=row["start_ps"],
        fct_ps=row["fct_ps"],
        ideal_fct_ps=row["ideal_fct_ps"],
        parts=chain.parts(row["start_ps"] + row["fct_ps"])[::-1],
        packets=made,
        links=[f"{a} -> {b}" for a, b in links.select("from", "to").iter_rows()],
    )


def _row(run: Result, flow: int) -> dict[str, Any]:
    """The row of a complete flow."""
    flows = run.flows.to_polars()
    found = flows.filter(flows["id"] == flow)
    if found.is_empty():
        raise UserError(f"flow {flow}: the run has {flows.height:,} flows, numbered from 0")
    row = found.row(0, named=True)
    if row["fct_ps"] is None:
        raise UserError(f"flow {flow}: is not complete, and only a completion time can be divided")
    return row


def _again(run: Result, flow: int) -> Result:
    """The run again, with the events of that flow.

    Raises:
        UserError: It comes out otherwise.
    """
    scenario = dict(run.summary["scenario"])
    if "python" in str(scenario.get("transport")):
        raise UserError("runs with members in Python cannot be made again from their folder")
    observe = {
        "events": {"flows": ["*"], "numbers": [flow], "from": "0s", "until": f"{run.summary['end_ps']}ps"}
    }
    again = results.run(scenario | {"observe": observe})
    if again.summary["digest"] != run.summary["digest"]:
        versions = f"it was made by engine {run.summary.get('engine')}, this is {again.summary['engine']}"
        raise UserError(
            f"the run comes out otherwise today, so that its flows cannot be explained: {versions}"
        )
    return again
