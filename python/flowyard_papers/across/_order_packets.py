"""Flows that share one link, in packets: SYN's SRJF, which serves one in each slot, and RACS, which gives all a rate.

A packet of a flow is a packet of 1500 B; a slot is that packet with its frame, as long as SYN's slot. Each flow comes
from a server of its own to one receiver, whose link they share.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import polars as pl

import flowyard as fy
from flowyard.papers import pcap

PACKET_BYTES, SLOT_NS, DELAY_NS = 1500, 12_304, 500
Flows = Sequence[Mapping[str, int]]


def _scenario(flows: Flows, **scheme: Any) -> dict[str, Any]:
    starts = [f"{SLOT_NS * flow['arrival']}ns" for flow in flows]
    return {
        "topology": {"single-switch": {"hosts": len(flows) + 1, "rate": "1Gbps", "delay": f"{DELAY_NS}ns"}},
        "traffic": [
            {
                "name": "flows",
                "arrivals": {"times": {"at": starts, "jitter": "0s"}},
                "matrix": {"pairs": [[server, 0] for server in range(1, len(flows) + 1)]},
                "sizes": {"list": [PACKET_BYTES * flow["size"] for flow in flows]},
            }
        ],
        **scheme,
    }


def srjf(flows: Flows) -> list[int]:
    """The flow that SYN's SRJF serves in each slot, from captures of the servers' links; -1 where there is none."""
    result = fy.run(
        _scenario(
            flows,
            transport={"central": {"link_bytes": "38B"}},
            controller={"syn": {"policy": "srjf"}},
            observe={"capture": {"links": ["host *"]}},
            run={"audit": True},
        )
    )
    at: dict[int, int] = {}
    for _, content in result.captures:
        packets, cut = pcap.parsed(content)
        assert not cut
        began_ns = pcap.time_ns(packets) - SLOT_NS - DELAY_NS
        for flow, slot in zip(pcap.hosts(packets["from"]) - 1, began_ns // SLOT_NS, strict=True):
            assert int(slot) not in at, "two packets of a slot"
            at[int(slot)] = int(flow)
    return [at.get(slot, -1) for slot in range(max(at) + 1)]


def srjf_against(
    flows: Flows, sizes: Mapping[int, int], expected: Sequence[int], ends: Sequence[int]
) -> tuple[int, int, int, int, bool, bool]:
    """SRJF beside SRPT, in the columns of the figure's table.

    Of two flows with as many packets left either may go first: slots are compared by what the flow that they serve has
    left, and ends by their slots alone.

    Args:
        flows: The instance.
        sizes: Of SRPT's flows, by its numbers.
        expected: The flow that SRPT serves in each slot, up to its last end in time.
        ends: When its flows that are in time end, in order.
    """
    slots = srjf(flows)
    own_sizes = {flow: one["size"] for flow, one in enumerate(flows)}
    pairs = zip(left(sizes, expected), left(own_sizes, slots), strict=False)
    last = {flow: slot + 1 for slot, flow in enumerate(slots) if flow >= 0}
    due = flows[0]["arrival"] + flows[0]["deadline"]
    own = sorted(end for end in last.values() if end <= due)
    equal = own == list(ends)
    return len(expected), sum(a == b for a, b in pairs), len(ends), len(own), equal, equal


def left(sizes: Mapping[int, int], slots: Sequence[int]) -> list[int]:
    """Remaining size of the flow that each slot serves, before the slot; -1 in idle slots."""
    rest = dict(sizes)
    found = []
    for flow in slots:
        found.append(rest[flow] if flow >= 0 else -1)
        if flow >= 0:
            rest[flow] -= 1
    return found


def racs_in_order(flows: Flows) -> tuple[int, int]:
    """Of all pairs of flows with different sizes: how many there are, and of how many the shorter one ends first."""
    result = fy.run(_scenario(flows, transport={"racs": {}}))
    ends = pl.DataFrame(result.flows).sort("id")["fct_ps"].to_list()
    sizes = [flow["size"] for flow in flows]
    pairs = [(a, b) for a, b in combinations(range(len(flows)), 2) if sizes[a] != sizes[b]]
    return len(pairs), sum((sizes[a] < sizes[b]) == (ends[a] < ends[b]) for a, b in pairs)
