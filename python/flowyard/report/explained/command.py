"""`flowyard why -o`: pages and pictures of a flow or a port."""

import argparse
import json
from pathlib import Path

from flowyard import folders, results
from flowyard.commands import options
from flowyard.errors import UserError
from flowyard.results import Result
from flowyard.terminal.exits import COMPLETE
from flowyard.why import capture, link_of, port_of, row_of, slowest, why
from flowyard.why.span import span


def draw(arguments: argparse.Namespace) -> int:
    """Writes the page or the picture that was asked for, and says where it is."""
    output: Path | None = arguments.output
    if output is None:
        raise UserError("--port: a port is drawn, not printed; name a file with -o, such as -o port.html")
    folders.require_suffix(output, "it is a page, a picture or a capture", ".html", ".svg", ".png", ".pcapng")
    folders.refuse_existing(output)
    if len(arguments.flows) > 1 or (arguments.flows and arguments.port):
        raise UserError("-o draws one flow, or one port; name one")
    run = results.open_run(arguments.folder, options.prototypes(arguments))
    content = _port(run, arguments) if arguments.port else _flow(run, arguments)
    folders.write_new(content, output, numbered="", suffix="")
    print(json.dumps({"picture": str(output)}) if arguments.json else f"in {output}")
    return COMPLETE


def name_of(run: Result, folder: Path) -> str:
    """The name of a run: its scenario's, else its folder's."""
    return str(run.summary["scenario"].get("name") or folder.name)


def _flow(run: Result, arguments: argparse.Namespace) -> str | bytes:
    if arguments.output.suffix == ".pcapng":
        return capture(run, arguments.flows[0] if arguments.flows else slowest(run))
    # Late, because charts take longer to import than a message.
    from flowyard.report.charts.flow import flow_chart
    from flowyard.report.charts.ladder import ladder_chart
    from flowyard.report.explained.page import flow_page

    flow = arguments.flows[0] if arguments.flows else slowest(run)
    answer = why(run, flow, whose=True)
    if arguments.output.suffix == ".html":
        return flow_page(answer, name_of(run, arguments.folder), row_of(run, flow)["tag"])
    return _picture(ladder_chart(answer) if arguments.ladder else flow_chart(answer), arguments.output)


def _port(run: Result, arguments: argparse.Namespace) -> str | bytes:
    from flowyard.report.charts.port import port_chart
    from flowyard.report.explained.page import port_page

    if arguments.output.suffix == ".pcapng":
        raise UserError("--port: a capture is of a flow; observe.capture records the packets of links")
    from_ps, until_ps = span(arguments.since, arguments.until, run.summary["end_ps"])
    _, link = link_of(run, arguments.port)
    port = port_of(run, link, from_ps, until_ps)
    if arguments.output.suffix == ".html":
        return port_page(port, link, name_of(run, arguments.folder), from_ps, until_ps)
    return _picture(port_chart(port, from_ps, until_ps), arguments.output)


def _picture(spec: dict[str, object], output: Path) -> str | bytes:
    from flowyard.report.charts.drawn import png, svg

    drawn = svg(spec)
    return png(drawn) if output.suffix == ".png" else drawn
