"""Parts of completion times add up in random scenarios of all transports.

FLOWYARD_WHY=10000 python -m pytest python/tests/test_why_property.py tries so many; FLOWYARD_WHY_FIRST=N begins with
number N.
"""

import os
import random
from itertools import pairwise
from typing import Any

import pytest

import flowyard as fy
from flowyard import results
from flowyard.errors import UserError
from flowyard.member_names import members
from flowyard.why import again, divided
from flowyard.why.losses import transport_of
from flowyard.why.path import PARTS

CASES, FIRST = int(os.environ.get("FLOWYARD_WHY", "40")), int(os.environ.get("FLOWYARD_WHY_FIRST", "0"))
DEFS = results.schema()["$defs"]
# Its class would be a file of its own.
NOT_ALONE = {"python"}
# D3's switches count each request once, and Flowtune gives packets paths on the whole network.
WITHOUT_LOSSES = ("d3", "central")
# Fields without which some cannot run.
NEEDED = {"bbr": {"sack": True}}
CONTROLLED: dict[str, Any] = {"controller": {"flowtune": {}}}
TRANSPORTS: list[Any] = [
    *(name for name in members(DEFS["Transport"]) if name not in NOT_ALONE),
    *(
        {"tcp": {"preset": "datacentre", "congestion": name, **NEEDED.get(name, {})}}
        for name in members(DEFS["Congestion"])
        if name not in NOT_ALONE
    ),
    {"tcp": {"preset": "linux"}},
    *({"roce": {"congestion": name}} for name in ("timely", "hpcc", "powertcp")),
    *({"uet": {"control": name}} for name in ("rccc", "both")),
]
# One packet in fifty on each link.
LOSSES = {"events": [{"at": "0s", "target": {"random-cables": {"share": 1.0}}, "change": {"loss": 0.02}}]}
TOPOLOGIES = [
    {"single-switch": {"hosts": 6}},
    {"leaf-spine": {"leaves": 2, "spines": 2, "hosts": 4}},
    {"fat-tree": {"k": 4}},
    {"dumbbell": {"hosts": 4}},
]


def drawn(number: int) -> dict[str, Any]:
    """Scenario of that number: topology, transport, two traffic entries, and perhaps lost packets."""
    stream = random.Random(f"why {number}")
    topology = stream.choice(TOPOLOGIES)
    transport = TRANSPORTS[number % len(TRANSPORTS)]
    (kind, fields), rate = next(iter(topology.items())), stream.choice(["10Gbps", "40Gbps"])
    lasts = {"rate": rate, "delay": stream.choice(["200ns", "1us", "5us"])}
    entries = [
        {
            "name": "all",
            "arrivals": {"at-once": {"jitter": stream.choice(["0s", "20us"])}},
            "matrix": "permutation",
            "sizes": {"fixed": stream.choice(["500B", "9KB", "64KB"])},
        },
        {
            "name": "incast",
            "arrivals": {"at-once": {"jitter": stream.choice(["0s", "3us"])}},
            "matrix": {"incast": {"senders": stream.randint(1, 4), "receiver": 0}},
            "sizes": {"fixed": stream.choice(["1B", "3KB", "30KB"])},
        },
    ]
    return {
        "topology": {kind: fields | lasts},
        "transport": transport,
        "traffic": entries[: stream.randint(1, 2)],
        "run": {"seed": number, "until": "50ms"},
        **({"faults": LOSSES} if number % 3 == 0 and transport not in WITHOUT_LOSSES else {}),
        **(CONTROLLED if transport == "central" else {}),
    }


def wrong(scenario: dict[str, Any]) -> tuple[int, str]:
    """The number of flows whose parts were looked at, and how the first of them is wrong, if one is."""
    run = fy.run(scenario | {"observe": {"events": {"from": "0s", "until": "50ms"}}})
    assert run.events is not None
    links, rows = run.links.to_polars(), again.rows_of(run.events.to_polars())
    checked = 0
    for row in run.flows.to_polars().filter("completed").iter_rows(named=True):
        own = [event for event in rows if event["flow"] == row["id"]]
        name = transport_of(run.summary["scenario"], row["tag"])
        answer = divided(row, own, links, transport=name, beside=rows)
        checked += 1
        spans = [(part.from_ps, part.until_ps) for part in answer.parts]
        if sum(answer.totals.values()) != row["fct_ps"] or not set(answer.totals) <= set(PARTS):
            return checked, f"flow {row['id']}: {answer.totals} is not {row['fct_ps']}"
        if any(one[1] != other[0] for one, other in pairwise(spans)) or spans[0][0] != row["start_ps"]:
            return checked, f"flow {row['id']}: spans leave gaps or overlap: {spans}"
        if "propagation" not in answer.totals:
            return checked, f"flow {row['id']}: its last packet crossed no link: {answer.totals}"
        if any(queued(port) < 0 for port in answer.ports.values()):
            return checked, f"flow {row['id']}: a queue is below zero"
    return checked, ""


def queued(port) -> int:
    """The least bytes in a port's queue."""
    total = least = 0
    for change in sorted(port.changes, key=lambda change: change.time_ps):
        total += change.bytes
        least = min(least, total)
    return least


# Draws that are no scenario: the transport does not suit the topology, or flows share a connection.
UNFIT = ("cannot", "needs", "more than", "several flows share its connection")


@pytest.mark.parametrize("part", range(4))
def test_parts_add_up_in_random_scenarios(part):
    checked, runs, unfit = 0, 0, []
    for number in range(FIRST + part, FIRST + CASES, 4):
        try:
            flows, message = wrong(drawn(number))
        except (fy.ScenarioError, UserError) as error:
            unfit.append(str(error))
            continue
        assert not message, f"FLOWYARD_WHY=1 FLOWYARD_WHY_FIRST={number}: {message}"
        checked, runs = checked + flows, runs + 1
    assert [text for text in unfit if not any(words in text for words in UNFIT)] == []
    assert runs > CASES // 8
    assert checked > runs
