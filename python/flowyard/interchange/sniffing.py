"""Which format a text is in, by its content; and what it is, where it is known but not read."""

import json
import re
import shlex
import tomllib
from collections.abc import Collection
from pathlib import Path

from flowyard.errors import UserError
from flowyard.folders.reading import shown, text
from flowyard.interchange import cable_table, columns, hpcc_config, hpcc_fct, htsim_log, orders, tables
from flowyard.interchange.formats import CDF, FORMATS, READ
from flowyard.interchange.text import Source

_LOOKED_AT = 50
_CONTAINERLAB = re.compile(r"(?m)^[ \t-]*\"?endpoints\"?:")
# Names of the last column of a distribution.
_SHARES = ("cdf", "share", "percent", "percentile", "probability", "prob", "fraction", "cumulative", "p")
# A line of networkx.write_edgelist.
_EDGE = re.compile(r"\A\S+ \S+ \{.*\}\s*$", re.MULTILINE)
# A size and a share with units.
_SIZED = re.compile(r"\A\s*\d[\d.]*\s*[kKMGT]?i?[bB]?[\s,;]+\d[\d.]*\s*%?\s*$", re.MULTILINE)
# A key with a value, or the head of a table, which no other format here has at the start of a line.
_TOML = re.compile(r"""(?m)^[ \t]*(?:[\w."'-]+[ \t]*=|\[\[?[\w."' -]+\]\]?[ \t]*(?:#|\r?$))""")
# Files that other simulators and tools have beside theirs: how they are told, what they are, and the way to go.
_KNOWN = (
    (
        re.compile(r"\A\s*(strict\s+)?(di)?graph\s+\S*\s*\{", re.IGNORECASE),
        "a DOT graph; read it with networkx.nx_pydot.read_dot and give it to flowyard.interchange.from_networkx",
    ),
    (
        re.compile(
            r"\A\s*\{(?:[^}]*\"(?:nodes|links|edges)\"|.*\"(?:nodes|links|edges)\"\s*:\s*\[\s*\{)", re.DOTALL
        ),
        "a graph in JSON; read it with networkx.node_link_graph(json.load(file), edges=\"edges\"), or \"links\" as the "
        "file has it, and give it to flowyard.interchange.from_networkx",
    ),
    (
        re.compile(r"(?m)^num_ranks[ \t]+\d+"),
        "a GOAL schedule; flows that start when others have ended are arrivals.triggers of a traffic entry, or a .cm "
        "file with triggers; times of calculations have no counterpart",
    ),
    (
        re.compile(r"\A\s*\S+[ \t]+.*\b(model_parallel_NPU_group|all_gpus):"),
        "a workload of SimAI, with layers and collectives; write their messages as a table of flows, such as "
        "src,dst,size,start_us, or as flows with arrivals.triggers",
    ),
    (
        re.compile(r"(?m)^[ \t]*npus_count:"),
        "a network of ASTRA-sim, by dimensions; write its links as a table with the columns a,b,rate,delay (CSV)",
    ),
    (
        re.compile(r"\A\s*\{[^}]*[\"'](logical-dims|scheduling-policy|all-reduce-implementation)[\"']", re.DOTALL),
        "a file of ASTRA-sim with settings of collectives, which have no counterpart; flows that start when others "
        "have ended are arrivals.triggers",
    ),
    (
        re.compile(r"\A\s*<algo\b"),
        "an algorithm of MSCCL; write its sends as a .cm file with triggers, or as flows with arrivals.triggers",
    ),
    (
        re.compile(r"(?m)^[ \t]*(topology|nodes|links|devices):"),
        "YAML, but no containerlab file with endpoints, which is read; write its links as a table with the columns "
        "a,b,rate,delay (CSV), or build a networkx graph for flowyard.interchange.from_networkx",
    ),
    (
        re.compile(r"\A\s*\[(General|Config [^\]]*)\]"),
        "an omnetpp.ini of INET, which has settings; write the network as a table of cables or GraphML",
    ),
    (
        re.compile(r"(?m)^[ \t]*(simple|module|network)\s+\w+(\s+extends\s+\S+)?\s*\{"),
        "a NED file of OMNeT++; write the network as a table of cables or GraphML",
    ),
)  # fmt: skip


def no_scenario(path: Path) -> str | None:
    """A sentence on a file that is no TOML but in a format that import reads; None if a mistake in TOML is likelier."""
    source = Source(str(path), text(path))
    try:
        tomllib.loads(source.text)
    except ValueError:
        # Also of a number of thousands of digits.
        pass
    else:
        return None
    if _TOML.search(source.text) and not source.text.lstrip().startswith("<"):
        return None
    try:
        name = sniff(source)
    except UserError:
        return None
    read = shlex.join(["flowyard", "import", str(path)])
    return f"{path} is no scenario, but has {FORMATS[name].kind} as another tool writes them ({name}): {read}"


def with_columns(source: Source, kinds: Collection[str]) -> str:
    """The format of a text, if tables of these kinds have columns that the user names."""
    flows = columns.FLOWS in kinds
    try:
        found = sniff(source)
    except UserError:
        if not kinds:
            raise
        return "flow-table" if flows else "cable-table"
    if flows and found in ("hpcc-flow", "conweave-flow", "netsys-trace", "cdf", "cable-table"):
        return "flow-table"
    return found


def sniff(source: Source) -> str:
    """The format of a text; refused if it could be none of them.

    Columns without names are identified by `orders.settle`, which also knows the network.
    """
    start = source.text[:4096].lstrip("\ufeff \t\r\n")
    if start.startswith("<"):
        if "<graphml" in start:
            return "graphml"
        _refuse_known(source, start)
        raise _unknown(source, start)
    if re.match(r"((#|Creator\b|Version\b|comment\b).*\n\s*)*graph\s*\[", start):
        return "gml"
    # Enough lines to tell, without splitting a million of them.
    rows = [
        words for _, words in zip(range(_LOOKED_AT), (words for _, words in source.lines()), strict=False)
    ]
    if not rows:
        raise source.wrong(0, "is empty")
    first = [row[0].lower() for row in rows]
    if "tiers" in first or "podsize" in first or "tier" in first:
        return "htsim-topo"
    if hpcc_fct.is_it(source) or htsim_log.is_it(source):
        raise source.wrong(0, "has results, completion times of flows: flowyard compare RUN FILE reads it")
    if "connections" in first or any("->" in word for word in first) or rows[0][0] == "Nodes":
        return "htsim-cm"
    found = _of_numbers(source, rows) or _of_columns(source, rows)
    if found:
        return found
    if hpcc_config.is_it(start):
        return "hpcc-config"
    if _CONTAINERLAB.search(source.text):
        return "containerlab"
    _refuse_known(source, start)
    raise _unknown(source, " ".join(rows[0]))


def _of_numbers(source: Source, rows: list[list[str]]) -> str | None:
    """A file of HPCC's family, a trace or a CDF: rows of numbers, perhaps below their count."""
    widths = [len(row) for row in rows]
    numbers = [all(_number(word) for word in row) for row in rows]
    counted = widths[0] == 1 and numbers[0]
    if counted and widths[1:2] in ([5], [6]):
        return "conweave-flow" if widths[1] == 5 else "hpcc-flow"
    if counted and _lists_nodes(source, rows):
        what = "a list of the nodes that HPCC's ns-3 code traces (trace.txt)"
        raise source.wrong(0, f"is {what}; observe.samples and observe.capture choose what is recorded here")
    if counted and widths[1:2] in ([2], [3]):
        return CDF
    if (
        widths[0] in (3, 4, 6)
        and rows[0][0].isdecimal()
        and any(
            width == 5 and not (number and widths[0] == 6)
            for width, number in zip(widths[1:], numbers[1:], strict=True)
        )
    ):
        return "hpcc-topology"
    if all(numbers) and set(widths) == {5} and tables.head(source) is None:
        return "netsys-trace"
    return None


def _of_columns(source: Source, rows: list[list[str]]) -> str | None:
    """A table, by the names of its columns or the units in its cells; or a CDF."""
    head = tables.head(source)
    if head:
        return "flow-table" if head.kind == columns.FLOWS else "cable-table"
    cells = [[word for cell in row for word in cell.split(",") if word] for row in rows]
    if len(cells) > 1 and "," in rows[0][0] and cells[0][-1].lower() in _SHARES:
        # Names of columns of a CSV, which the reader of distributions leaves out, too.
        cells = cells[1:]
    numbers = all(_number(word) for row in cells for word in row)
    if all(len(row) in (2, 3) for row in cells) and numbers and _ascends(cells):
        return CDF
    return "cable-table" if cable_table.by_units(source) else None


def _ascends(rows: list[list[str]]) -> bool:
    """Whether the last column does, as a distribution's; unless the text is longer than what was looked at."""
    shares = [float(row[-1]) for row in rows]
    return len(rows[0]) == 2 or (shares == sorted(shares) and max(shares) <= 100)


def _lists_nodes(source: Source, rows: list[list[str]]) -> bool:
    """Whether numbers are a count and so many different nodes, and no distribution that ends with 1 or 100."""
    words = [word for row in rows[1:] for word in row]
    if len(rows) == _LOOKED_AT:
        words = [word for _, row in source.lines() for word in row][1:]
    if any(not word.isdecimal() for word in words) or len(set(words)) < len(words):
        return False
    pairs = len(rows) > 2 and all(len(row) == 2 for row in rows[1:]) and rows[-1][-1] in ("1", "100")
    return float(rows[0][0]) == len(words) and not pairs


def _refuse_known(source: Source, start: str) -> None:
    for found, what in _KNOWN:
        if found.search(start):
            raise source.wrong(0, f"is {what}")


def _unknown(source: Source, start: str) -> UserError:
    line = start.splitlines()[0] if start else ""
    what = f"begins {shown(line)}, which is none of the known formats"
    refuse_scenario(source)
    advice = orders.hint(source) if _is_table(source) else f"say --format {', '.join(READ)}"
    if start[:1] in ("{", "["):
        advice = (
            "of JSON no format is read; write cables as a table with the columns a,b,rate,delay (CSV), flows with "
            "src,dst,size,start_us"
        )
    elif _EDGE.search(source.text):
        advice = (
            "it may be an edge list of networkx: give networkx.read_edgelist(FILE) to "
            "flowyard.interchange.from_networkx, or write it as GraphML"
        )
    elif _SIZED.search(source.text):
        advice = (
            "if these are sizes and their cumulative shares, write bytes and shares as numbers, as in 1000 10"
        )
    elif _is_edge_list(source):
        advice = (
            "pairs of names may be cables: --columns a,b with --rate 10Gbps --delay 1us, and --hosts NODE for each "
            "host, or --hosts leaves"
        )
    raise source.wrong(0, f"{what}; {advice}")


def refuse_scenario(source: Source) -> None:
    """Raises a UserError if a text is a scenario of Flowyard, which is run and not converted."""
    if _is_scenario(source):
        raise source.wrong(0, f"is a scenario already: {shlex.join(['flowyard', 'run', source.name])}")


def _is_scenario(source: Source) -> bool:
    """Whether a text has the first fields of a scenario, sound or not."""
    if not re.search(r"\btraffic\b", source.text):
        return False
    try:
        document = (tomllib if not source.text.lstrip().startswith("{") else json).loads(source.text)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and {"topology", "traffic"} <= document.keys()


def _is_table(source: Source) -> bool:
    """Whether a text has columns: rows of one width, with a sign between their cells, or with numbers at their ends."""
    cells = [words for _, (_, words) in zip(range(_LOOKED_AT), tables.rows(source), strict=False)]
    if not cells or len({len(row) for row in cells}) > 1 or len(cells[0]) < 2:
        return False
    below = cells[1:] or cells
    return tables.is_separated(source) or all(_number(row[-1]) for row in below)


def _is_edge_list(source: Source) -> bool:
    """Whether a text is pairs of names of which one is in several pairs, as the switches of a network are."""
    pairs = [words for _, (_, words) in zip(range(_LOOKED_AT), tables.rows(source), strict=False)]
    if len(pairs) < 2 or any(len(pair) != 2 or any(map(_number, pair)) for pair in pairs):
        return False
    ends = [end for pair in pairs for end in pair]
    return len(set(ends)) < len(ends)


def _number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
