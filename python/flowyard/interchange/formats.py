"""The peers' formats: what each holds and which options apply to it. One table.

From it follow which options are refused, their help texts, and the table in docs/interchange.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flowyard.errors import UserError
from flowyard.folders.reading import shown


@dataclass(frozen=True)
class Format:
    """A format.

    Attributes:
        kind: Whether it holds a network, flows, settings, experiments or sizes.
        contents: What is in it.
        options: The options of import that say what it leaves open.
        exported: What export writes of it.
    """

    kind: str
    contents: str
    options: tuple[str, ...]
    exported: str = "no"


_HTSIM = ("mtu", "cwnd", "queue")
# The network of flows without one, and its cables.
_FOR_FLOWS = ("topology", "rate", "delay", "transport")
_UNITS = ("rate_unit", "delay_unit")
_GRAPH = ("hosts", "rate", "delay", *_UNITS, "transport")

FORMATS = {
    "htsim-topo": Format("network", "trees of two or three tiers", ("transport", *_HTSIM), "such trees only"),
    "hpcc-topology": Format("network", "any network, error rates", (*_UNITS, "transport"), "yes"),
    "graphml": Format("network", "any network", _GRAPH, "yes"),
    "gml": Format("network", "any network", _GRAPH),
    "cable-table": Format("network", "any network, one cable per line", ("columns", *_GRAPH)),
    "containerlab": Format("network", "nodes and links of a lab, in YAML", _GRAPH),
    "htsim-cm": Format(
        "flows", "flows, triggers, failures", ("start_unit", "routes", *_FOR_FLOWS, *_HTSIM), "yes, without failures"
    ),
    "htsim-plan": Format("experiments", "command lines of `htsim_uec` and the files they name; becomes a sweep", ()),
    "hpcc-flow": Format("flows", "`src dst pg dport bytes start_seconds`", ("ecmp", *_FOR_FLOWS), "yes"),
    "hpcc-config": Format("settings", "settings beside the two, `config.txt`", ("transport",)),
    "rdma-flow": Format("flows", "`src dst pg packets start_seconds end_seconds`", ("packet_bytes", *_FOR_FLOWS)),
    "conweave-flow": Format("flows", "`src dst pg bytes start_seconds`", ("ecmp", *_FOR_FLOWS)),
    "netsys-trace": Format("flows", "`id size_bytes src dst start_us`", _FOR_FLOWS, "yes"),
    "flow-table": Format(
        "flows", "flows by names of columns", ("columns", "start_unit", "packet_bytes", "hosts_in_order", *_FOR_FLOWS)
    ),
    "cdf": Format(
        "sizes", "sizes", ("dialect", "packet_bytes", "interpolation"), "as `cdf-percent`, `cdf-fraction`"
    ),
}  # fmt: skip
TOPOLOGY = tuple(name for name, form in FORMATS.items() if form.kind == "network")
TRAFFIC = tuple(name for name, form in FORMATS.items() if form.kind == "flows")
SETTINGS = tuple(name for name, form in FORMATS.items() if form.kind == "settings")
CDF = "cdf"
READ = tuple(FORMATS)

# What a refused option is for, where that is more than the formats it goes with.
_PURPOSE = {
    **dict.fromkeys(_HTSIM, "is of htsim's NDP: it goes with a .cm or a .topo file and --transport ndp"),
    "routes": "has the paths of a .cm file's flows; name that file, too",
}


def having(option: str) -> Iterator[str]:
    """The formats that an option applies to."""
    return (name for name, form in FORMATS.items() if option in form.options)


def refuse_options(given: Mapping[str, Any], files: Sequence[tuple[str, str]]) -> None:
    """Refuses options that none of the files leaves open: one that is dropped would be believed.

    Args:
        given: The options that the user names.
        files: Name and format of each file.
    """
    has_network = any(name in TOPOLOGY for _, name in files)
    applying = {
        option
        for _, name in files
        for option in FORMATS[name].options
        # What is said of the network of flows without one: these have one.
        if not (has_network and name in TRAFFIC and option in ("rate", "delay"))
    }
    for option, value in given.items():
        if option in applying:
            continue
        flag = f"--{option.replace('_', '-')}"
        if option == "topology" and has_network:
            continue  # Told with the file that has the network.
        if option in _PURPOSE:
            said = f"{flag} {value}: " if option == "routes" else f"{flag} "
            raise UserError(said + _PURPOSE[option])
        held = ", ".join(f"{file} ({name})" for file, name in files)
        kinds = [name for name in having(option) if option not in ("rate", "delay") or name in TOPOLOGY]
        if len(kinds) < len(list(having(option))):
            kinds.append("flows without a network")
        said = flag if value is True else f"{flag} {_said(value)}"
        raise UserError(f"{said} does not apply to {held}; it goes with {', '.join(kinds)}")


def known(name: str) -> None:
    """Refuses what is no format."""
    if name not in FORMATS:
        raise UserError(f"{shown(name)} is not a format; formats are {', '.join(READ)}")


def page() -> list[str]:
    """The table of formats as a page of the documentation has it."""
    rows = [("format", "contents", "export", "options of import"), ("---", "---", "---", "---")]
    for name, form in FORMATS.items():
        options = ", ".join(f"`--{option.replace('_', '-')}`" for option in form.options)
        rows.append((f"`{name}`", form.contents, form.exported, options))
    return [f"| {' | '.join(row)} |" for row in rows]


def _said(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
