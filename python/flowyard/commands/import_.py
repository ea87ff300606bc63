"""`flowyard import`: a scenario of other simulators' files."""

import argparse
import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

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
        help="a topology, a file of flows, or both, and settings beside them; or a CDF alone",
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
        help="the network for flows without a topology: that of a scenario, with its transport, or one for their "
        "number of hosts: %(names)s",
    )
    options.naming(option, _networks_by_hosts)
    option = parser.add_argument(
        "--transport",
        metavar="NAME",
        help="transport of the hosts, or a congestion control such as hpcc; default %(names)s",
    )
    options.naming(option, _default_transport)
    for name, settings, text in _OPTIONS:
        option = parser.add_argument(f"--{name}", help=f"{text}; for %(names)s", **settings)
        # The formats it applies to are those that do not refuse it.
        options.naming(option, functools.partial(_having, name.replace("-", "_")))
    option = parser.add_argument("--dialect", metavar="NAME", help="a CDF's dialect: %(names)s")
    options.naming(option, _dialects)


_OPTIONS: tuple[tuple[str, dict[str, Any], str], ...] = (
    (
        "columns",
        {"action": "append", "metavar": "NAMES"},
        "columns of a table whose first line does not name them, such as src,dst,size,start_us or a,b,rate,delay_ns",
    ),
    ("start-unit", {"choices": ("ps", "ns", "us", "ms", "s")}, "unit of starts without one; of a .cm file ps or us"),
    ("routes", {"type": Path, "metavar": "FILE"}, "the paths of the flows"),
    ("ecmp", {"choices": ("hpcc", "conweave")}, "the paths by the ECMP of that code"),
    ("rate", {"metavar": "10Gbps"}, "rate of cables without one"),
    ("delay", {"metavar": "1us"}, "delay of cables without one"),
    ("rate-unit", {"metavar": "Gbps"}, "unit of rates without one"),
    ("delay-unit", {"metavar": "us"}, "unit of delays without one"),
    (
        "hosts",
        {"action": "append", "metavar": "NODE"},
        "nodes that are hosts, with commas or repeated; or leaves, all with one cable",
    ),
    (
        "hosts-in-order",
        {"action": "store_true", "default": None},
        "names of hosts are hosts 0, 1, ... in the order of their first appearance",
    ),
    ("packet-bytes", {"type": int, "metavar": "N"}, "payload of a packet, where packets are counted"),
    ("interpolation", {"choices": ("linear", "step")}, "between the points of a distribution"),
    ("mtu", {"type": options.positive, "metavar": "BYTES"}, "payload of a packet, -mtu; default 9000"),
    ("cwnd", {"type": options.positive, "metavar": "PACKETS"}, "first window, -cwnd; default 15"),
    ("queue", {"type": options.positive, "metavar": "PACKETS"}, "buffer of a port, -q; default 15"),
)  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Reads the files and writes the scenario."""
    from flowyard.interchange import command

    return command.import_files(arguments)


def _formats() -> Iterable[str]:
    from flowyard.interchange import formats

    return formats.READ


def _having(option: str) -> Iterable[str]:
    from flowyard.interchange import formats

    return formats.having(option)


def _default_transport() -> Iterable[str]:
    from flowyard.interchange import transports

    return (
        "that of a scenario which --topology names",
        f"{transports.DEFAULT_OF_HPCC} with files of HPCC's family",
        f"{transports.DEFAULT} with others",
    )


def _networks_by_hosts() -> Iterable[str]:
    from flowyard.interchange import taken

    return taken.BY_HOSTS


def _dialects() -> Iterable[str]:
    from flowyard import results
    from flowyard.member_names import members

    return members(results.schema()["$defs"]["Dialect"])
