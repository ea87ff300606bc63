"""Several runs side by side in the terminal."""

from typing import TYPE_CHECKING

from flowyard import text
from flowyard.analysis import by_size, throughput
from flowyard.report.run import summary
from flowyard.run_data import Run
from flowyard.terminal.console import TextTable

if TYPE_CHECKING:
    from flowyard.results import Result


def comparison_table(results: dict[str, "Result"], title: str) -> TextTable:
    """Several runs side by side: a row for each run and size group, and one for its intervals."""
    header = ["run", "flow size", *summary.COMPLETION]
    flows = {name: Run.of(result).measured for name, result in results.items()}
    due = any(table["deadline_ps"].count() for table in flows.values())
    header += ["deadlines met"] if due else []
    rows = []
    for name, table in flows.items():
        for row in by_size(table, throughput(), intervals=True).iter_rows(named=True):
            cells, below = [name, row["group"], *summary.cells(row)], ["", "", *summary.intervals(row)]
            if due:
                met = row["application_throughput"]
                cells.append("-" if met is None else text.percent(met))
                below.append("")
            rows += [cells, below] if any(below) else [cells]
            name = ""
    return TextTable(title, header, rows)
