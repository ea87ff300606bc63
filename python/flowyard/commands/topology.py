"""`flowyard topology`: a scenario's network without running anything: counts, paths, bisection and a picture."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from flowyard.commands import options
from flowyard.errors import UserError

if TYPE_CHECKING:
    from flowyard.topology import Network

NAME = "topology"
HELP = "show a scenario's network: counts, paths, bisection and a picture"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The scenario, and the picture."""
    options.as_json(parser)
    options.scenario(parser, runs=False)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="an SVG or a PNG, by its name; default out/<scenario>-topology-<n>.svg",
    )


def run(arguments: argparse.Namespace) -> int:
    """Prints the tables and draws the picture."""
    from flowyard import folders, scenarios, topology
    from flowyard.terminal.console import show
    from flowyard.terminal.exits import BAD_INPUT, COMPLETE
    from flowyard.topology.tables import tables

    path = scenarios.find(arguments.scenario)
    if arguments.output:
        folders.refuse_existing(arguments.output)
        folders.require_suffix(arguments.output, "the picture is an SVG or a PNG", ".svg", ".png")
    fabric = topology.fabric(path, dict(arguments.set))
    network, found = topology.Network.of(fabric), json.loads(fabric.survey())
    picture, why = _picture(network, path.stem, arguments.output)
    if arguments.json:
        print(json.dumps(_answer(network) | found | {"picture": picture and str(picture)}, indent=2))
    else:
        for table in tables(network, found):
            show(table)
        if picture:
            print(f"picture in {picture}")
    if why:
        print(why, file=sys.stderr)
    # A picture that was asked for is missing.
    return BAD_INPUT if why and arguments.output else COMPLETE


def _picture(network: "Network", name: str, output: Path | None) -> tuple[Path | None, str]:
    """Draws the picture: its file, or why there is none."""
    from flowyard import folders, memory
    from flowyard.topology.picture import png, svg

    try:
        memory.require_room_to_draw("picture")
    except UserError as error:
        return None, str(error)
    drawn = svg(network, name)
    as_png = output is not None and output.suffix.lower() == ".png"
    content = png(drawn) if as_png else drawn
    return folders.write_new(content, output, numbered=f"{name}-topology", suffix=".svg"), ""


def _answer(network: "Network") -> dict[str, object]:
    """The kind of network, its nodes by tier and its cables by kind."""
    ports = {
        tier: {"nodes": n, "ports_min": low, "ports_max": high}
        for tier, (n, low, high) in network.ports().items()
    }
    names = ("from", "to", "rate_bps", "rate_back_bps", "delay_ps")
    cables = [dict(zip(names, kind, strict=True), cables=n) for kind, n in network.cable_kinds().items()]
    return {"topology": network.kind, "tiers": ports, "cables": cables}
