"""The Python names in docs/metrics.md exist."""

import re
from operator import attrgetter
from pathlib import Path

import pytest

import flowyard as fy
from flowyard import analysis, deadlines, sweeps

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")
# Beginnings of names: modules and classes. Others with a dot are files, or keys of run.json and of scenarios.
HEADS = {"analysis": analysis, "flowyard": fy, "sweeps": sweeps, "Sweep": fy.Sweep, "sweep": fy.Sweep}
OTHERS = {"arrivals", "claims", "histograms", "links", "measured", "observe", "run", "samples"}


def dotted():
    return sorted(set(re.findall(r"`([A-Za-z_]+(?:\.[A-Za-z_]+)+)`", PAGE)))


def computed_by():
    """The names without a dot in the columns `computed by`."""
    found = set()
    for table in re.findall(r"(?:^\|.*\n)+", PAGE, re.MULTILINE):
        head, _, *rows = (line.strip("|\n ").split(" | ") for line in table.splitlines())
        if "computed by" in head:
            cells = (row[head.index("computed by")] for row in rows if len(row) > head.index("computed by"))
            found |= {name for cell in cells for name in re.findall(r"`([a-z_]+)`", cell)}
    return sorted(
        found
        - {
            "measured",
            "offered_load",
            "realised_load",
            "traffic",
            "hosts_payload",
            "hosts_wire",
            "tiers",
            "means",
        }
    )


@pytest.mark.parametrize("name", dotted())
def test_a_name_with_a_dot_exists(name):
    head, _, rest = name.partition(".")
    if head in OTHERS:
        return
    assert head in HEADS, f"{name}: begins with no module and no class that users have"
    assert attrgetter(rest)(HEADS[head]) is not None


@pytest.mark.parametrize("name", computed_by())
def test_a_function_of_analysis_exists(name):
    assert callable(getattr(analysis, name))


def test_there_are_names():
    assert "analysis.goodput_bps" in dotted()
    assert "by_size" in computed_by()
    assert callable(deadlines.most_senders)


def test_the_keys_of_the_summary_exist():
    scenario = {"topology": {"single-switch": {"hosts": 2}}, "transport": "ndp", "traffic": []}
    entry = {"name": "a", "arrivals": "at-once", "matrix": {"pairs": [[0, 1]]}, "sizes": {"fixed": "1KB"}}
    summary = fy.run({**scenario, "traffic": [entry]}).summary
    found = re.findall(r'`summary((?:\["\w+"\])+)`', PAGE)
    assert found
    for keys in found:
        value = summary
        for key in re.findall(r'"(\w+)"', keys):
            value = value[key]
        assert value is not None
