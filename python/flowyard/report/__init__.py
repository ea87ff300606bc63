"""The report: one or more runs side by side on one HTML page that needs no network.

    folders of runs -> runs.Run -> facts, notices, tables (rows of text), charts (Vega-Lite data) -> page

Everything that is shown is computed here or in flowyard.analysis; the page's script only draws the charts.
"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from flowyard.report.page import render
from flowyard.report.runs import read

__all__ = ["write"]


def write(dirs: Sequence[Path], output: Path) -> Path:
    """Writes the report on the runs in the folders `dirs`, each with run.json, flows.parquet and links.parquet.

    The file appears under its name only when it is whole.

    Returns:
        The path of the file.
    """
    if not dirs:
        raise ValueError("a report needs the folder of at least one run")
    html = render(read(dirs))
    output.parent.mkdir(parents=True, exist_ok=True)
    handle, aside = tempfile.mkstemp(prefix=f".{output.name}.", dir=output.parent)
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(html)
        # mkstemp lets only its owner read; a report is an ordinary file.
        umask = os.umask(0)
        os.umask(umask)
        Path(aside).chmod(0o666 & ~umask)
        Path(aside).replace(output)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise
    return output
