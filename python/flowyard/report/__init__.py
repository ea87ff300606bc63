"""The report: one or more runs side by side on one HTML page that needs no network.

    folders of runs -> runs.Run -> facts, notices, tables (rows of text), charts (Vega-Lite data) -> page

sweep.py writes the report on a sweep, in the same frame. Everything that is shown is computed here or in
flowyard.analysis; the page's script only draws the charts.
"""

from collections.abc import Sequence
from pathlib import Path

from flowyard import folders

__all__ = ["write"]


def write(dirs: Sequence[Path], output: Path) -> Path:
    """Writes the report on the runs in the folders `dirs`, each with run.json, flows.parquet and links.parquet.

    The file appears under its name only when it is whole.

    Returns:
        The path of the file.
    """
    if not dirs:
        raise ValueError("a report needs the folder of at least one run")
    # Late, because charts take longer to import than a small run takes, and the command line says reasons only.
    from flowyard.report.page import render
    from flowyard.report.runs import read

    html = render(read(dirs))
    folders.replace(output, html)
    return output
