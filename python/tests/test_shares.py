"""Shares in the terminal and in reports: only all is 100 %, only nothing is 0 %, by one function."""

import subprocess
from pathlib import Path

import pytest

import flowyard as fy
from flowyard import cli, text
from flowyard.report.run.summary import cells

SOURCES = Path(fy.__file__).parent
SCENARIO = """
topology.single-switch.hosts = 4
transport = "ndp"
run.until = "20us"
[[traffic]]
name = "t"
arrivals = "at-once"
matrix.pairs = [[0, 1], [2, 3]]
sizes.fixed = "1MB"
"""


@pytest.mark.parametrize(
    ("share", "places", "expected"),
    [
        (16_236 / 16_240, None, "99.98%"),
        (0.99999, None, "> 99.99%"),
        (0.00001, None, "< 0.01%"),
        (1.0, None, "100%"),
        (0.99999, 1, "> 99.9%"),
        (0.9994, 1, "99.9%"),
        (0.0004, 1, "< 0.1%"),
        (0.0006, 1, "0.1%"),
        (0.0, 1, "0.0%"),
        (1.0, 1, "100.0%"),
        (0.996, 0, "> 99%"),
        (0.004, 0, "< 1%"),
    ],
)
def test_only_all_is_everything(share, places, expected):
    assert text.percent(share, places) == expected


def test_the_terminal_s_table_of_completion_has_the_same_shares():
    row = dict.fromkeys(
        f"{kind}_{name}{unit}"
        for kind, unit in (("fct", "_ps"), ("slowdown", ""))
        for name in ("p50", "p95", "p99")
    )
    assert cells({**row, "flows": 16_240, "completed": 16_236})[:2] == ["16,240", "99.98%"]


def test_no_source_formats_a_share_by_itself():
    found = subprocess.run(
        ["grep", "-rnE", r":\.[0-9]%\}", SOURCES, "--include=*.py"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.splitlines()
    own = ("/text.py:", "/bench/", "CONFIDENCE")
    assert [line for line in found if not any(part in line for part in own)] == []


def test_the_terminal_says_that_an_ended_run_is_not_the_whole_story(tmp_path, capsys):
    (tmp_path / "cut.toml").write_text(SCENARIO)
    assert cli.main(["run", str(tmp_path / "cut.toml"), "-o", str(tmp_path / "run")]) != 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Limit before any flow was complete" in out
