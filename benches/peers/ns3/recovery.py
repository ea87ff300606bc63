"""A lone TCP flow of 691 segments that loses one, two or three packets, or its last: FCT.

Packets are lost by number on the first link: by faults.packets here, by a ReceiveListErrorModel there.
"""

import tomllib
from pathlib import Path
from typing import Any

import polars as pl
from row import Row, ns3

from flowyard import results

# All is deterministic and the windows are integers in both: 2 % leave room for a segment more or less in flight when a
# loss is noticed, which shows for as long as the window grows linearly.
WITHIN = 0.02
LAST = 691
# From the packets that both sent.
QUEUED = (
    "when the loss is noticed, ns-3's device holds packets 151 to 161 and sends them before the repeat of 100; here "
    "what has not been sent obeys the new window: 152 leaves with the repeat, 153 a round trip later"
)
LOSSES = {
    "no loss": [],
    "one loss, packet 100": [100],
    "two losses, 100 and 110": [100, 110],
    "three losses, 100, 105 and 110": [100, 105, 110],
    "the last packet": [LAST],
}


def rows(program: Path, folder: Path) -> list[Row]:  # noqa: ARG001
    """FCTs, by what is lost and how often the receiver acknowledges."""
    scenario = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    found = []
    for delayed_ack in (1, 2):
        for name, lost in LOSSES.items():
            ours = flowyard(scenario, lost, {"transport.tcp.delayed_ack": delayed_ack})
            theirs = ns3(program, window=1_000_000, delayedAck=delayed_ack, **numbers(lost))
            every = "each segment" if delayed_ack == 1 else "every second"
            case = f"NewReno, {name}; {every} acknowledged"
            pair = (theirs["fct_ps"][0] / 1e9, ours / 1e9)
            explained = delayed_ack == 2 and len(lost) == 3
            limits = (None, QUEUED) if explained else (WITHIN, "")
            found.append(Row(case, "FCT", "ms", *pair, *limits))
    return found


def numbers(lost: list[int]) -> dict[str, object]:
    """The option of the ns-3 program; it takes no empty one."""
    return {"lost": ",".join(map(str, lost))} if lost else {}


def flowyard(scenario: dict[str, Any], lost: list[int], overrides: dict[str, object]) -> int:
    """The flow's completion time in ps."""
    faults = {"packets": [{"traffic": "bulk", "numbers": lost}]} if lost else {}
    run = results.run(scenario | {"faults": faults}, overrides)
    return int(pl.DataFrame(run.flows)["fct_ps"][0])
