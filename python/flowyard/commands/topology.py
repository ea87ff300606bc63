"""`flowyard topology`: a scenario's network without running anything: counts, paths, bisection and a picture."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from flowyard.commands import options

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
    from flowyard.terminal.exits import COMPLETE
    from flowyard.topology.picture import png, svg
    from flowyard.topology.tables import tables

    path = scenarios.find(arguments.scenario)
    if arguments.output:
        folders.refuse_existing(arguments.output)
        folders.require_suffix(arguments.output, "the picture is an SVG or a PNG", ".svg", ".png")
    fabric = topology.fabric(path, dict(arguments.set))
    network, found = topology.Network.of(fabric), json.loads(fabric.survey())
    drawn = svg(network, path.stem)
    as_png = arguments.output is not None and arguments.output.suffix.lower() == ".png"
    picture = folders.write_new(
        png(drawn) if as_png else drawn, arguments.output, numbered=f"{path.stem}-topology", suffix=".svg"
    )
    if arguments.json:
        print(json.dumps(_answer(network) | found | {"picture": str(picture)}, indent=2))
        return COMPLETE
    for table in tables(network, found):
        show(table)
    print(f"picture in {picture}")
    return COMPLETE


def _answer(network: "Network") -> dict[str, object]:
    """The kind of network, its nodes by tier and its cables by kind."""
    ports = {
        tier: {"nodes": n, "ports_min": low, "ports_max": high}
        for tier, (n, low, high) in network.ports().items()
    }
    names = ("from", "to", "rate_bps", "rate_back_bps", "delay_ps")
    cables = [dict(zip(names, kind, strict=True), cables=n) for kind, n in network.cable_kinds().items()]
    return {"topology": network.kind, "tiers": ports, "cables": cables}
