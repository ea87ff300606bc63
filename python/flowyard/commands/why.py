"""`flowyard why`: the completion time of flows, divided by cause, and pictures of a flow or a port."""

import argparse
from pathlib import Path

from flowyard.commands import options
from flowyard.errors import UserError

NAME = "why"
HELP = "divide the completion time of a flow by cause; draw a flow or a port"
# Flows of one call: each is a run.
MOST = 20


def arguments(parser: argparse.ArgumentParser) -> None:
    """The folder of a run, flows or a port, and the picture."""
    options.as_json(parser)
    parser.add_argument("folder", type=Path, metavar="RUN", help="the folder of a run")
    parser.add_argument(
        "flows",
        type=_flow,
        nargs="*",
        default=[],
        metavar="FLOW",
        help="numbers in flows.parquet; default the complete flow with the largest slowdown",
    )
    parser.add_argument(
        "--whose",
        action="store_true",
        help="say for whose packets it waited, although a large run is run once more for that",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="a page (.html) or a picture (.svg, .png) of one flow: packets over time, window, rate, RTT and queues; "
        "or its packets for Wireshark (.pcapng)",
    )
    options.prototype(parser)
    parser.add_argument("--ladder", action="store_true", help="as a picture the ladder of its first packets")
    parser.add_argument(
        "--port",
        metavar="LINK",
        help='instead of a flow the port that feeds a link, such as "switch -> host 0", or the id of the link in '
        "links.parquet: its queue by flow; needs -o",
    )
    parser.add_argument("--from", dest="since", metavar="TIME", help="with --port: from then on; default 0s")
    parser.add_argument("--until", metavar="TIME", help="with --port: until then; default the end of the run")


def run(arguments: argparse.Namespace) -> int:
    """Runs the scenario of the folder again for each flow, and prints its parts, or draws it."""
    from flowyard import results
    from flowyard.terminal.exits import COMPLETE
    from flowyard.why import show, slowest, why

    if arguments.output or arguments.port:
        from flowyard.report.explained import command

        return command.draw(arguments)
    result = results.open_run(arguments.folder, options.prototypes(arguments))
    flows = arguments.flows or [slowest(result)]
    if len(flows) > MOST:
        raise UserError(f"{len(flows)} flows; at most {MOST} in one call, as each of them is a run")
    answers = [why(result, flow, whose=arguments.whose) for flow in flows]
    if arguments.json:
        import json

        print(json.dumps([show.as_json(answer) for answer in answers], indent=2))
        return COMPLETE
    for answer in answers:
        show.tell(answer, asked=arguments.whose)
    return COMPLETE


def _flow(text: str) -> int:
    """The number of a flow."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no number of a flow; use the column id of flows.parquet; a port: --port "
            '"switch -> host 0" -o FILE.html'
        ) from None
