"""The table of docs/measuring.md: accuracy of a 99th percentile of slowdown by load, flow sizes and number of flows.

One run for each row, with as many measured flows as the last column has: 16 hosts on one switch, 10 Gbps, NDP. Shorter
windows are parts of the same run, one after another; their interval is the median of the parts. An end is missing where
most parts have none. Data-mining sizes are run at the lowest load only: their warm-up at 0.6 takes 200 million
packet-hops, at 0.8 a billion. The whole takes two minutes on two processors.

    .venv/bin/python tools/flows_for_p99.py
"""

from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any

import polars as pl

import flowyard as fy
from flowyard import analysis
from flowyard.sweeps.local import processors

HOSTS = 16
NUMBERS = (1_000, 4_000, 16_000)
# Flow sizes, load, and measured flows.
ROWS = [
    *(("facebook-web", load, 16_000) for load in (0.3, 0.6, 0.8)),
    *(("web-search", load, 16_000) for load in (0.3, 0.6, 0.8)),
    ("data-mining", 0.3, 4_000),
]


def scenario(sizes: str, load: float, flows: int) -> dict[str, Any]:
    """A switch on which every host sends to random others."""
    entry = {
        "name": "flows",
        "arrivals": {"poisson": {"load": load}},
        "matrix": "uniform",
        "sizes": sizes,
        "flows": flows,
    }
    switch = {"hosts": HOSTS, "rate": "10Gbps", "delay": "1us"}
    return {"topology": {"single-switch": switch}, "transport": "ndp", "traffic": [entry]}


def interval(flows: pl.DataFrame, number: int) -> str:
    """The interval of p99 that so many flows give: the median of all parts of that length."""
    if number > len(flows):
        return ""
    parts = [flows.slice(start, number) for start in range(0, len(flows) - number + 1, number)]
    found = [analysis.overall(part, intervals=True).row(0, named=True) for part in parts]

    def end(name: str) -> str:
        values = [row[name] for row in found if row[name] is not None]
        return f"{median(values):.3g}" if 2 * len(values) > len(found) else "-"

    return f"[{end('slowdown_p99_low')}, {end('slowdown_p99_high')}]"


def row(case: tuple[str, float, int]) -> str:
    """A row of the table."""
    sizes, load, number = case
    result = fy.run(scenario(*case))
    measured = result.summary["measured"]
    flows = analysis.measured(result.flows).sort("start_ps")
    warm_ups = (measured["until_ps"] - measured["from_ps"]) / measured["wanted_ps"]
    cells = [
        f"`{sizes}`",
        load,
        f"{measured['hosts_wire']:.2f}",
        f"{number / warm_ups:,.0f}",
        *(interval(flows, number) for number in NUMBERS),
        f"{result.summary['counters']['packet_hops'] / 1e6:,.0f} M",
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    """Prints the table."""
    head = [
        *("flow sizes", "load", "on the wire", "flows of a warm-up"),
        *(f"{number:,} flows" for number in NUMBERS),
        "packet-hops",
    ]
    print("| " + " | ".join(head) + " |")
    print("|---" + "|--:" * (len(head) - 1) + "|")
    with ThreadPoolExecutor(processors()) as threads:
        # Runs hold no lock of Python's.
        for line in threads.map(row, ROWS):
            print(line, flush=True)


if __name__ == "__main__":
    main()
