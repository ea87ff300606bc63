"""Numbers of docs/measuring.md that a short run repeats."""

import re
import tomllib
from pathlib import Path

import pytest

import flowyard as fy

PAGE = (Path(__file__).parents[2] / "docs" / "measuring.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("**A load is payload.**")[2].partition("**Slowdown**")[0]


@pytest.mark.parametrize("load", [0.2, 0.6])
def test_the_load_on_the_wire_is_that_of_the_page(load):
    scenario = tomllib.loads(re.findall(r"```toml\n(.*?)```", SECTION, re.DOTALL)[0])
    rows = {
        float(row[0]): row
        for row in re.findall(r"\| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", SECTION)
    }
    changes = {"traffic.web.arrivals.poisson.load": load, "traffic.web.flows": 4000}
    measured = fy.run(scenario, changes).summary["measured"]
    ratio = measured["hosts_wire"] / measured["hosts_payload"]
    assert ratio == pytest.approx(float(rows[load][3]), abs=0.004)
