"""The report: one or more runs side by side on one HTML page that needs no network.

    folders of runs -> run_data.Run -> facts, notices, tables (rows of text), charts (Vega-Lite data) -> page

run/ has the page of runs and their summaries, sweep/ those of sweeps, charts/ what both draw; docs/architecture.md has
the order of imports. Values are computed here or in flowyard.analysis; the page's script only draws the charts.
"""

from collections.abc import Sequence
from pathlib import Path

from flowyard import folders
from flowyard.report.mark import MARK

__all__ = ["MARK", "write"]


def write(dirs: Sequence[Path], output: Path, *, why: bool = False) -> Path:
    """Writes the report on the runs in the folders `dirs`, each with run.json, flows.parquet and links.parquet.

    With `why`, each run is made again, and the page says why its slow flows are slow.

    The file appears under its name only when it is whole. An earlier report is replaced, anything else is not.

    Returns:
        The path of the file.

    Raises:
        UserError: A run cannot be read, or made again, or something other than a report is there.
    """
    if not dirs:
        raise ValueError("a report needs the folder of at least one run")
    folders.refuse_foreign(output, MARK)
    # Late, because charts take longer to import than a small run takes, and the command line says reasons only.
    from flowyard.report.run.labelled import read
    from flowyard.report.run.page import render
    from flowyard.report.run.slow import explained

    runs = read(dirs)
    slow = explained(dirs, [run.label for run in runs]) if why else ()
    html = render(runs, slow=slow)
    folders.replace(output, html, mark=MARK)
    return output
