"""`flowyard why`: the completion time of flows, divided by cause."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from flowyard.commands import options
from flowyard.errors import UserError

if TYPE_CHECKING:
    from flowyard.results import Result

NAME = "why"
HELP = "divide the completion time of a flow by cause"
# Flows of one call: each is a run.
MOST = 20


def arguments(parser: argparse.ArgumentParser) -> None:
    """The folder of a run, and flows."""
    options.as_json(parser)
    parser.add_argument("folder", type=Path, metavar="RUN", help="the folder of a run")
    parser.add_argument(
        "flows",
        type=int,
        nargs="*",
        metavar="FLOW",
        help="numbers in flows.parquet; default the complete flow with the largest slowdown",
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs the scenario of the folder again for each flow, and prints its parts."""
    from flowyard import results
    from flowyard.terminal.exits import COMPLETE
    from flowyard.why import show, why

    result = results.open_run(arguments.folder)
    flows = arguments.flows or [_slowest(result)]
    if len(flows) > MOST:
        raise UserError(f"{len(flows)} flows; at most {MOST} in one call, as each of them is a run")
    answers = [why(result, flow) for flow in flows]
    if arguments.json:
        import json

        print(json.dumps([show.as_json(answer) for answer in answers], indent=2))
        return COMPLETE
    for answer in answers:
        show.tell(answer)
    return COMPLETE


def _slowest(result: "Result") -> int:
    """The measured flow with the largest slowdown."""
    flows = result.flows.to_polars()
    flows = flows.filter(flows["measured"] & flows["slowdown"].is_not_null())
    if flows.is_empty():
        raise UserError("no flow is complete, and only a completion time can be divided")
    return int(flows.sort("slowdown", "id", descending=[True, False])["id"][0])
