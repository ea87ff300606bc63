"""The figure of docs/measuring.md: p99 of slowdown over the number of flows, of whole runs and of measuring windows.

docs/images/measuring-p99.json has the numbers; `--run` measures them again, which takes a quarter of an hour.

    .venv/bin/python tools/measuring_figure.py [--run]
"""

import io
import json
import re
import sys
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
FLOWS = (300, 1_000, 3_000, 6_000)
TRANSPORTS: dict[str, dict[str, Any]] = {
    "NDP": {"transport": "ndp"},
    "DCTCP": {"transport": {"tcp": {"preset": "datacentre", "congestion": "dctcp"}}, "queue": "ecn"},
}
RULES = {"all": 'run.measure = "all"', "auto": "the default"}


def scenario(transport: str, rule: str, flows: int) -> dict[str, Any]:
    """Web search at load 0.8 on 32 hosts."""
    fabric = {"leaves": 4, "spines": 2, "hosts": 8, "host": {"rate": "25Gbps"}, "spine": {"rate": "100Gbps"}}
    entry = {
        "name": "queries",
        "arrivals": {"poisson": {"load": 0.8}},
        "matrix": "uniform",
        "sizes": "web-search",
        "flows": flows,
    }
    rest = {"topology": {"leaf-spine": fabric}, "traffic": [entry], "run": {"measure": rule}}
    return TRANSPORTS[transport] | rest


def measure(transport: str, rule: str, flows: int) -> dict[str, Any]:
    """One point."""
    result = fy.run(scenario(transport, rule, flows))
    p99 = analysis.measured(result.flows)["slowdown"].quantile(0.99, "linear")
    measured = result.summary["measured"]
    return {
        "transport": transport,
        "measure": rule,
        "flows": flows,
        "slowdown_p99": p99,
        "carried_load": measured["carried_load"],
        "from_ms": measured["from_ps"] / 1e9,
        "packet_hops": result.summary["counters"]["packet_hops"],
    }


def run() -> None:
    """Measures all points; those that are done are kept if it is interrupted."""
    rows = []
    for rule in RULES:
        for transport in TRANSPORTS:
            for flows in FLOWS:
                rows.append(measure(transport, rule, flows))
                print(rows[-1], flush=True)
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    NUMBERS.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def draw() -> None:
    """Draws them: a panel for each rule."""
    rows = pl.read_json(NUMBERS)
    figure, panels = style.panels(1, len(RULES), size=(3.2, 2.5))
    with style.rules():
        for panel, (rule, title) in zip(panels, RULES.items(), strict=True):
            for transport in TRANSPORTS:
                points = rows.filter(measure=rule, transport=transport).sort("flows")
                x, y = points["flows"].to_numpy(), points["slowdown_p99"].to_numpy()
                panel.plot(x, y, marker="o", markersize=3, label=transport)
            panel.set(xscale="log", title=title, xlabel="measured flows", ylabel="p99 of slowdown")
            panel.set(ylim=(0, 1.05 * rows["slowdown_p99"].max()))
        panels[0].legend()
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": "flowyard"})
    PICTURE.write_text(DIGITS.sub(r"\1", file.getvalue()), encoding="utf-8")


if __name__ == "__main__":
    if "--run" in sys.argv[1:]:
        run()
    draw()
