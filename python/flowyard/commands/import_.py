"""`flowyard import`: a scenario of other simulators' files."""

import argparse
from collections.abc import Iterable
from pathlib import Path

from flowyard.commands import options

NAME = "import"
HELP = "convert other simulators' files into a scenario"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The files, and options for information that they lack."""
    options.as_json(parser)
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="a topology, a file of flows, or both; or a CDF alone",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="a new TOML or JSON file; default FIRST-FILE.toml"
    )
    option = parser.add_argument(
        "--format",
        action="append",
        default=[],
        metavar="FORMAT",
        help="format of each file, in their order, instead of recognition: %(names)s",
    )
    options.naming(option, _formats)
    option = parser.add_argument(
        "--topology",
        metavar="SCENARIO",
        help="the network for flows without a topology: that of a scenario, or one for their number of hosts: "
        "%(names)s",
    )
    options.naming(option, _networks_by_hosts)
    parser.add_argument(
        "--transport", default="ndp", metavar="NAME", help="transport of the hosts; default %(default)s"
    )
    parser.add_argument("--start-unit", choices=("ps", "us"), help="unit of starts in a .cm file")
    parser.add_argument("--routes", type=Path, metavar="FILE", help="with a .cm file: the paths of its flows")
    for name, example in (("rate", "10Gbps"), ("delay", "1us")):
        parser.add_argument(f"--{name}", metavar=example, help=f"{name} of cables without one")
    for name, example in (("rate", "Gbps"), ("delay", "us")):
        parser.add_argument(f"--{name}-unit", metavar=example, help=f"unit of {name}s without one in a graph")
    parser.add_argument(
        "--hosts",
        action="append",
        metavar="NODE",
        help="a graph's node that is a host; or leaves, all with one cable",
    )
    option = parser.add_argument("--dialect", metavar="NAME", help="a CDF's dialect: %(names)s")
    options.naming(option, _dialects)
    parser.add_argument(
        "--packet-bytes", type=int, metavar="N", help="payload of a packet, in a CDF of packets"
    )
    parser.add_argument("--interpolation", choices=("linear", "step"), help="between the points of a CDF")
    for name, unit, default, what in (
        ("mtu", "BYTES", 9000, "payload of a packet, -mtu"),
        ("cwnd", "PACKETS", 15, "first window, -cwnd"),
        ("queue", "PACKETS", 15, "buffer of a port, -q"),
    ):
        parser.add_argument(
            f"--{name}",
            type=options.positive,
            metavar=unit,
            help=f"with htsim's files: {what}; default {default}",
        )


def run(arguments: argparse.Namespace) -> int:
    """Reads the files and writes the scenario."""
    from flowyard.interchange import command

    return command.import_files(arguments)


def _formats() -> Iterable[str]:
    from flowyard.interchange import formats

    return formats.READ


def _networks_by_hosts() -> Iterable[str]:
    from flowyard.interchange import importing

    return importing.BY_HOSTS


def _dialects() -> Iterable[str]:
    from flowyard import results

    return options.members(results.schema()["$defs"]["Dialect"])
