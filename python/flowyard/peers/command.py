"""`flowyard compare`: what it prints."""

import argparse
import json

from flowyard import folders, text
from flowyard.analysis.completion import by_key, names
from flowyard.errors import UserError
from flowyard.folders.reading import shown
from flowyard.forks import pl
from flowyard.interchange.text import TIME_UNITS, quantity
from flowyard.peers import Comparison, compare
from flowyard.report.run import compared
from flowyard.terminal.console import TextTable, show
from flowyard.terminal.exits import COMPLETE

# Flows in the table: those whose times differ most.
SHOWN = 10


def run(arguments: argparse.Namespace) -> int:
    """Compares, writes the page, and says what was found."""
    if arguments.output and not arguments.output.is_dir():
        folders.require_suffix(arguments.output, "a comparison is a page of HTML", ".html", ".htm")
    output = arguments.output or arguments.run / "compare.html"
    found = compare(arguments.run, arguments.file, _shift(arguments.shift))
    compared.write(found, output)
    if arguments.json:
        flows = found.flows.to_dicts()
        said = {"peer": found.peer, "page": str(output), "notes": found.notes(), "flows": flows}
        print(json.dumps(said, indent=2))
        return COMPLETE
    show(_by_size(found))
    show(_most_apart(found))
    print(*found.notes(), f"page in {output}", sep="\n")
    return COMPLETE


def _shift(given: str | None) -> int:
    """A time with its unit and perhaps a sign, in ps."""
    if given is None:
        return 0
    try:
        return (-1 if given.startswith("-") else 1) * quantity(given.lstrip("+-"), TIME_UNITS)
    except ValueError as error:
        raise UserError(f"--shift is {shown(given)}; {error}") from None


def _by_size(found: Comparison) -> TextTable:
    sides = compared.sides(found)
    both = [by_key(side.measured) for side in sides]
    sizes = {(tag, size): size for tag, size in both[0] if tag is None}
    # Flows of one group are all flows.
    sizes = sizes if len(sizes) > 2 else dict(list(sizes.items())[-1:])
    entries = {key: name for key, name in names(both).items() if key[0] is not None}
    rows = []
    for key, group in (sizes | entries).items():
        for name, side, table in zip((group, ""), sides, both, strict=True):
            row = table[key]
            times = [text.duration(row[f"fct_{p}_ps"]) for p in ("p50", "p99")]
            slow = [text.ratio(row[f"slowdown_{p}"]) for p in ("p50", "p99")]
            rows.append([name, side.label, f"{row['flows']:,}", *times, *slow])
    header = ("flow size", "by", "flows", "FCT p50", "FCT p99", "slowdown p50", "slowdown p99")
    return TextTable(
        f"{text.counted(found.flows.height, 'flow')} of {found.run} and {found.file}", header, rows, left=2
    )


def _most_apart(found: Comparison) -> TextTable:
    header = ("flow", "from", "to", "size", "start", "Flowyard", found.peer, "ratio")
    rows = [
        (
            *(str(row[name]) for name in ("id", "src", "dst")),
            text.size(row["size_bytes"]),
            text.duration(row["start_ps"]),
            text.duration(row["fct_ps"]),
            text.duration(row["peer_fct_ps"]),
            f"{row['ratio']:.3f}",
        )
        for row in compared.most_apart(found.flows, SHOWN).iter_rows(named=True)
    ]
    low, middle, high = (
        found.flows.select(pl.col("ratio").quantile(share, "linear")).item() for share in (0.01, 0.5, 0.99)
    )
    title = f"{found.peer} over Flowyard, flow by flow: p1 {low:.3f}, p50 {middle:.3f}, p99 {high:.3f}; furthest apart:"
    return TextTable(title, header, rows, left=0)
