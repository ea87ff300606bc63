"""The demo: one workload under NDP and under TCP, side by side, then a report.

The run under NDP takes twice as long, and goes in two parts: when the other is done, it has both processors. Its
folder, out/demo unless another is named, is its own: each time it starts afresh.
"""

import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

from flowyard import results, scenarios
from flowyard.folders import refuse_taken
from flowyard.report import loads
from flowyard.report.run.comparison import comparison_table
from flowyard.report.run.summary import LEGEND, ONE_END, goodput
from flowyard.sweeps.local import processors
from flowyard.terminal.console import TextTable, show
from flowyard.terminal.interrupt import Deferred
from flowyard.terminal.progress import Display

FOLDER = Path("out/demo")
RUNS = {"NDP": "web-search-ndp", "TCP": "web-search-tcp"}
LONGER = "NDP"


def main(output: Path | None = None) -> int:
    """Runs both scenarios, writes the report, and says how long each part took.

    Args:
        output: A new folder; default FOLDER, of which an earlier call's results go.

    Raises:
        UserError: The new folder has something in it.
    """
    if output is not None:
        refuse_taken(output)
    folder = output or FOLDER
    clock = time.perf_counter
    started = clock()
    with Deferred() as deferred, Display() as display, ThreadPoolExecutor(len(RUNS)) as threads:
        # The simulations hold no lock of Python's: each thread has a processor of its own.
        waiting = {
            title: threads.submit(
                results.run,
                scenarios.find(name),
                {"run.threads": 2} if title == LONGER and processors() > 1 else None,
                progress=deferred.watch(display.row(name)),
            )
            for title, name in RUNS.items()
        }
        done = {title: future.result() for title, future in waiting.items()}
    simulated = clock()
    if deferred.raised:
        print("interrupted", file=sys.stderr)
        return 130

    if output is None:
        shutil.rmtree(FOLDER, ignore_errors=True)
    folders = [result.save(folder / RUNS[title]) for title, result in done.items()]
    saved = clock()
    report = folder / "report.html"
    import_module("flowyard.report").write(folders, report)
    reported = clock()

    show(comparison_table(done, "The published web-search workload under two transports"))
    print(LEGEND + ONE_END)
    header = [
        "run",
        "status",
        "load",
        "goodput",
        "retransmissions",
        "packet-hops",
        "M packet-hops/s",
        "wall s",
        "cpu s",
    ]
    show(TextTable("The runs", header, [costs(title, result) for title, result in done.items()]))
    print(
        f"simulations {simulated - started:.1f} s, saving {saved - simulated:.1f} s, "
        f"report {reported - saved:.1f} s: {report}"
    )
    return 0 if all(result.status == "complete" for result in done.values()) else 3


def costs(title: str, result: results.Result) -> list[str]:
    """A run's row: what it delivered and what it cost."""
    counters = result.summary["counters"]
    return [
        title,
        result.status,
        loads.plain(loads.said(result.summary["measured"])),
        goodput(result),
        f"{counters['retransmissions']:,}",
        f"{counters['packet_hops']:,}",
        f"{counters['packet_hops'] / counters['wall_s'] / 1e6:.1f}",
        f"{counters['wall_s']:.1f}",
        f"{counters['cpu_s']:.1f}",
    ]


if __name__ == "__main__":
    sys.exit(main())
