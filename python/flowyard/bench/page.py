"""The figures for people: tables in the terminal, and the same in Markdown."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flowyard import folders
from flowyard.bench.checks import Check
from flowyard.errors import UserError
from flowyard.folders import reading
from flowyard.terminal.console import TextTable
from flowyard.terminal.console import show as show_table

# What stands outside these lines of the file is written by hand.
BEGIN, END = "<!-- begin: written by make bench -->", "<!-- end: written by make bench -->"

TARGETS = {
    1: "NDP permutation",
    2: "TCP permutation",
    3: "Web-search at load 0.6",
    5: "Growth",
    6: "Memory",
    7: "Threads",
    8: "Start-up",
    9: "The slotted link",
    10: "Every transport",
    11: "Whole paths",
    12: "Port agents",
    13: "Central control",
    14: "Members in Python",
    15: "Members beside others, CPU per packet-hop",
}


def show(figures: dict[str, Any], checks: Sequence[Check]) -> None:
    """Prints the tables."""
    for table in tables(figures, checks):
        show_table(table)


def tables(figures: dict[str, Any], checks: Sequence[Check]) -> list[TextTable]:
    """Measurements, then a table for each target."""
    found = [cases(figures)] if figures["cases"] else []
    if "memory" in figures:
        rows = [[name, f"{value:,.0f}"] for name, value in figures["memory"]["bytes_per"].items()]
        found.append(TextTable("Memory", ["for each", "bytes"], rows))
    if "threads" in figures:
        names = {"run_scaling": "two runs on two threads", "floor_scaling": "two floor processes"}
        rows = [[text, f"{figures['threads'][name]:.2f}"] for name, text in names.items()]
        found.append(TextTable("Side by side", ["", "x the throughput of one"], rows))
        rows = [
            [
                name,
                f"{run['speed_up']:.2f}",
                f"{run['windows']:,}",
                f"{run['crossing_share']:.1%}",
                f"{run['imbalance']:.2f}",
            ]
            for name, run in figures["threads"]["one_run"].items()
        ]
        header = ["one run on two threads", "x one thread", "windows", "hops between parts", "imbalance"]
        found.append(TextTable("One run in parts", header, rows))
    if "cores" in figures:
        found.append(cores(figures["cores"]))
    for target, title in TARGETS.items():
        rows = [check.cells() for check in checks if check.target == target]
        if rows:
            header = ["what", "target", "stretch", "measured", ""]
            found.append(TextTable(f"Target {target}: {title}", header, rows))
    return found


def cores(figures: dict[str, Any]) -> TextTable:
    """The estimate for more cores than there are."""
    runs = figures["runs"]
    counts = list(next(iter(runs.values())))
    barrier = f"a barrier of two threads takes {figures['barrier_us']:.1f} us"
    title = f"One run on more cores, estimated from times of its parts; {barrier}"

    def row(name: str, run: dict[str, Any], key: str, form: str) -> list[str]:
        return [name, *(format(run[count][key], form) if count in run else "" for count in counts)]

    rows = [row(name, run, "speed_up", ".1f") for name, run in runs.items()]
    rows += [
        row(f"{name}: {text}", run, key, ".0%")
        for name, run in runs.items()
        for key, text in (("alone_share", "one thread alone"), ("barrier_share", "barriers"))
    ]
    return TextTable(title, ["x one core, on so many cores", *counts], rows)


def cases(figures: dict[str, Any]) -> TextTable:
    """The timed cases."""
    floors = ", ".join(f"{k} {ns:.1f} ns" for k, ns in figures["floor_ns"].items())
    title = f"Speed; floors: {floors}; memory latency {figures['memory_latency_ns']:.0f} ns"
    header = [
        "case",
        "ns/packet-hop",
        "x floor",
        "limit",
        "events/hop",
        "ns/full packet",
        "median goodput",
        "peak MiB",
        "best of",
    ]
    rows = []
    for case in figures["cases"]:
        goodput = f"{case['median_goodput']:.2f}"
        if case["goodput_limit"] is not None and case["median_goodput"] < case["goodput_limit"]:
            goodput += " MISSED"
        rows.append(
            [
                case["name"],
                f"{case['ns_per_packet_hop']:.1f}",
                f"{case['floor_ratio']:.2f}",
                f"{case['limit']:g}" + ("" if case["within_limit"] else " MISSED"),
                f"{case['events_per_packet_hop']:.2f}",
                f"{case['ns_per_full_packet']:,.0f}",
                goodput,
                f"{(case['peak_memory_bytes'] or 0) / (1 << 20):,.0f}",
                str(case["rounds"]),
            ]
        )
    return TextTable(title, header, rows)


def require_place(path: Path) -> tuple[str, str]:
    """Text of a file before and behind the tables; of a new file, a default.

    Raises:
        UserError: It is no text with the two lines between which tables are written.
    """
    folders.refuse_dangling(path)
    text = reading.text(path) if path.exists() else f"# Benchmarks\n\n{BEGIN}\n{END}\n"
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise UserError(
            f"{path}: has no lines {BEGIN} and {END} to write between; name another file, or add them"
        )
    return before, after


def write(path: Path, figures: dict[str, Any], checks: Sequence[Check]) -> None:
    """Writes the tables between their two lines of the file, and leaves the rest as it is."""
    before, after = require_place(path)
    written = "\n\n".join([BEGIN, machine(figures["machine"]), *map(markdown, tables(figures, checks)), END])
    folders.replace(path, before + written + after)


def machine(described: dict[str, Any]) -> str:
    """The machine in a sentence."""
    memory = f"{described['memory_bytes'] / (1 << 30):.0f} GiB" if described["memory_bytes"] else "unknown"
    return (
        f"Measured on {described['processor']}, {described['cores']} cores, {described['caches']}, "
        f"memory {memory}, {described['system']}, Python {described['python']}."
    )


def markdown(table: TextTable) -> str:
    """A table in Markdown, every column but the first aligned right."""
    rules = ["---", *["---:"] * (len(table.header) - 1)]
    rows = [table.header, rules, *table.rows]
    return "\n".join([f"### {table.title}", "", *("| " + " | ".join(row) + " |" for row in rows)])
