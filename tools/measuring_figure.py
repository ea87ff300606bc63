"""The figure of docs/measuring.md: p99 of slowdown over the number of flows, of whole runs and of measuring windows.

docs/images/measuring-p99.json has the numbers; `--run` measures them again, which takes half an hour.

    .venv/bin/python tools/measuring_figure.py [--run]
"""

import io
import json
import re
import sys
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl

import flowyard as fy
from flowyard import analysis
from flowyard.papers import style

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
NUMBERS, PICTURE = IMAGES / "measuring-p99.json", IMAGES / "measuring-p99.svg"
# Pictures do not get better by further digits, only larger.
DIGITS = re.compile(r"(\d\.\d\d)\d+")
LOADS = (0.6, 0.8)
FLOWS = (300, 1_000, 3_000, 6_000)
TRANSPORTS: dict[str, dict[str, Any]] = {
    "NDP": {"transport": "ndp"},
    "DCTCP": {"transport": {"tcp": {"preset": "datacentre", "congestion": "dctcp"}}, "queue": "ecn"},
}
RULES = {"all": 'run.measure = "all"', "auto": "the default"}


def scenario(load: float, transport: str, rule: str, flows: int) -> dict[str, Any]:
    """Web search on 32 hosts."""
    fabric = {"leaves": 4, "spines": 2, "hosts": 8, "host": {"rate": "25Gbps"}, "spine": {"rate": "100Gbps"}}
    entry = {
        "name": "w",
        "arrivals": {"poisson": {"load": load}},
        "matrix": "uniform",
        "sizes": "web-search",
        "flows": flows,
    }
    rest = {"topology": {"leaf-spine": fabric}, "traffic": [entry], "run": {"measure": rule}}
    return TRANSPORTS[transport] | rest


def measure(load: float, transport: str, rule: str, flows: int) -> dict[str, Any]:
    """One point."""
    result = fy.run(scenario(load, transport, rule, flows))
    p99 = analysis.overall(analysis.measured(result.flows)).item(0, "slowdown_p99")
    measured = result.summary["measured"]
    return {
        "load": load,
        "transport": transport,
        "measure": rule,
        "flows": flows,
        "slowdown_p99": round(p99, 3),
        "carried_load": round(measured["carried_load"], 4),
        "from_ms": round(measured["from_ps"] / 1e9, 1),
        "packet_hops": result.summary["counters"]["packet_hops"],
    }


def run() -> None:
    """Measures all points."""
    points = product(LOADS, TRANSPORTS, RULES, FLOWS)
    lines = ",\n".join(f"  {json.dumps(measure(*point))}" for point in points)
    NUMBERS.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def draw() -> None:
    """Draws them: a row of panels for each load, a column for each rule."""
    rows = pl.read_json(NUMBERS)
    most = float(rows["slowdown_p99"].max())  # type: ignore[arg-type]
    figure, panels = style.panels(len(LOADS), len(RULES), size=(3.2, 2.3))
    with style.rules():
        for panel, (load, rule) in zip(panels, product(LOADS, RULES), strict=True):
            for transport in TRANSPORTS:
                points = rows.filter(load=load, measure=rule, transport=transport).sort("flows")
                x, y = points["flows"].to_numpy(), points["slowdown_p99"].to_numpy()
                panel.plot(x, y, marker="o", markersize=3, label=transport)
            panel.set(xscale="log", title=f"load {load}, {RULES[rule]}")
            panel.set(xlabel="measured flows", ylabel="p99 of slowdown")
            panel.set_xticks(FLOWS, [f"{flows:,}" for flows in FLOWS])
            panel.minorticks_off()
            panel.set(ylim=(0, 1.05 * most))
        panels[0].legend()
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": "flowyard"})
    PICTURE.write_text(DIGITS.sub(r"\1", file.getvalue()), encoding="utf-8")


if __name__ == "__main__":
    if "--run" in sys.argv[1:]:
        run()
    draw()
