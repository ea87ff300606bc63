"""The span of goodput in the summary and on the card of a run: a whole run includes its idle end."""

import json
import re
import subprocess
import sys

import pytest
from test_report import visible

import flowyard as fy
from flowyard import report
from flowyard.report import goodput, loads
from flowyard.report.run.summary import summary_table

# The receiver of a lone segment waits for another one before it acknowledges: 40 ms after the last byte.
IDLE_END = {
    "topology": {
        "dumbbell": {"hosts": 2, "rate": "10Gbps", "delay": "10us", "bottleneck": {"rate": "1Gbps"}}
    },
    "transport": {"tcp": {"preset": "linux"}},
    "traffic": [
        {"name": "t", "arrivals": "at-once", "matrix": {"pairs": [[0, 2], [1, 3]]}, "sizes": {"fixed": "4MB"}}
    ],
}
WINDOW = {
    "topology": {"single-switch": {"hosts": 4}},
    "transport": "ndp",
    "traffic": [
        {
            "name": "t",
            "arrivals": {"poisson": {"load": 0.3}},
            "matrix": "uniform",
            "sizes": {"fixed": "20KB"},
            "flows": 400,
        }
    ],
    "run": {"measure": {"from": "100us", "until": "200us"}},
}


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ([90, 91], ("all flows", 91)),
        ([90, 100], None),
        # One of 200 flows is no percent; the two last ones are.
        ([50] * 198 + [990, 1000], ("99% of flows", 50)),
        ([50] * 190 + [980] * 10, ("all flows", 980)),
        ([50] * 190 + [1000] * 10, None),
        # A flow without an end: the run was not idle after the others.
        ([50, None], None),
        ([50] * 199 + [None], ("99% of flows", 50)),
    ],
)
def test_a_late_end_is_told_where_the_last_flows_take_much_of_the_run(ends, expected):
    end = 1000 if len(ends) > 2 else 100
    assert goodput.late_end([0] * len(ends), ends, end) == expected


def test_goodput_of_a_whole_run_has_its_end_and_when_the_flows_were_complete(tmp_path):
    result = fy.run(IDLE_END)
    rows = summary_table(result, "run").rows
    place = next(i for i, row in enumerate(rows) if row[0] == "goodput")
    assert rows[place][1].endswith(f", to the end at {result.summary['end_ps'] / 1e9:.0f} ms")
    assert rows[place + 1][0] == ""
    assert rows[place + 1][1].startswith("all flows complete at ")
    page = tmp_path / "report.html"
    report.write([result.save(tmp_path / "run")], page)
    words = " ".join(visible(page.read_text()).split())
    assert re.search(r"goodput to the end at [\d.]+ ms; all flows complete at [\d.]+ ms", words)


def test_neither_a_run_nor_show_imports_polars_for_it(tmp_path):
    code = (
        "import sys; from flowyard import cli\n"
        "cli.main(['run', 'run.json', '-o', 'out']); cli.main(['show', 'out'])\n"
        "sys.exit('polars' in sys.modules)"
    )
    (tmp_path / "run.json").write_text(json.dumps(IDLE_END))
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.count("all flows complete at")) == (0, 2), done.stdout + done.stderr


def test_goodput_of_a_window_has_its_ends():
    (row,) = [row for row in summary_table(fy.run(WINDOW), "run").rows if row[0] == "goodput"]
    assert row[1].endswith(", from 100 us to 200 us")


def test_the_ends_of_a_short_window_late_in_a_run_differ():
    late = {"from_ps": 2 * 10**12, "until_ps": 2 * 10**12 + 98 * 10**6, "carried_load": None}
    summary = {"measured": {**late, "hosts_payload": 0.5, "hosts_wire": 0.6}, "end_ps": 2_000_100_000_000}
    assert dict(loads.lines(summary))["measured"] == "from 2.000000 s to 2.000098 s"
    assert goodput.over(summary) == "from 2.000000\u00a0s to 2.000098\u00a0s"


def test_a_run_without_a_complete_flow_has_one_line_for_all_times():
    rows = summary_table(fy.run(IDLE_END, {"run.until": "20us"}), "run").rows
    assert [row for row in rows if "FCT" in row[0] or "slowdown" in row[0]] == [
        ("FCT, slowdown", "none: no flow is complete")
    ]
