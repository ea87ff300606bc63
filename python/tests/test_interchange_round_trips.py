"""What is imported, exported and imported again is the same, for each format; and in each shape that files have.

Shapes are those of files that people have: ends of lines of Windows, tabs, blanks and empty lines, a byte order mark,
no end of the last line, remarks, prose below what a count announces.
"""

import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from interchange_examples import EXAMPLES, entries, networks

from flowyard import interchange
from flowyard.errors import UserError
from flowyard.interchange import htsim_cm, netsys_trace
from flowyard.interchange.flows import Traffic

BUDGET = settings(
    derandomize=True,
    max_examples=12,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
# What a file of each format leaves open.
OPTIONS: dict[str, dict[str, Any]] = {
    "htsim-cm": {"start_unit": "ps", "topology": "single-switch"},
    "hpcc-flow": {"topology": "single-switch"},
    "netsys-trace": {"topology": "single-switch"},
    "flow-table": {"topology": "single-switch"},
    "graphml": {"rate_unit": "Gbps"},
    "cable-table": {"hosts": "leaves"},
    "containerlab": {"hosts": "leaves", "rate": "10Gbps", "delay": "1us"},
}
# The format in which what is read of another one is written.
WRITTEN = {
    "flow-table": "hpcc-flow",
    "gml": "graphml",
    "cable-table": "hpcc-topology",
    "containerlab": "graphml",
    "cdf": "cdf-percent",
}


def imported(path, text, form=None):
    path.write_text(text, encoding="utf-8", newline="")
    # A few rows of numbers may be in several formats.
    formats = ["netsys-trace"] if form == "netsys-trace" else []
    return interchange.read([path], formats=formats, **OPTIONS.get(form, {})).scenario


def meaning(scenario):
    """What is in a scenario, without the names of nodes and the order of cables and of flows that start together."""
    found: dict[str, object] = {}
    if explicit := scenario.get("topology", {}).get("explicit"):
        place = {
            name: i for i, name in enumerate([*explicit["hosts"], *(s["name"] for s in explicit["switches"])])
        }
        cables = [
            (
                *sorted(place[end] for end in cable["ends"]),
                cable.get("rate", explicit["rate"]),
                cable.get("delay", explicit["delay"]),
            )
            for cable in explicit["cables"]
            for _ in range(cable.get("count", 1))
        ]
        found["network"] = (len(explicit["hosts"]), sorted(cables))
    if "traffic" in scenario:
        found["flows"] = sorted(
            (src, dst, json.dumps(size), json.dumps(start, sort_keys=True))
            for entry in scenario["traffic"]
            for (src, dst), size, start in zip(
                entry["matrix"]["pairs"], sizes(entry), starts(entry["arrivals"]), strict=True
            )
        )
    if "sizes" in scenario:
        found["points"] = [
            (size, pytest.approx(percent, abs=1e-6)) for size, percent in scenario["sizes"]["cdf"]["points"]
        ]
    return found


def sizes(entry):
    if entry["sizes"] == "endless":
        return ["endless"] * len(entry["matrix"]["pairs"])
    return entry["sizes"]["list"]


def starts(arrivals):
    return arrivals["triggers"]["starts"] if "triggers" in arrivals else arrivals["times"]["at"]


def again(path, scenario, form):
    """The scenario after export and import in a format."""
    to = WRITTEN.get(form, form)
    if "sizes" in scenario:
        entry = {"name": "a", "arrivals": "at-once", "matrix": "permutation", **scenario}
        scenario = {"topology": "single-switch", "transport": "ndp", "traffic": [entry]}
    return imported(path, interchange.export(scenario, to).text, to)


@pytest.mark.parametrize("form", [form for form in EXAMPLES if form != "hpcc-config"])
def test_the_examples_come_back(form, tmp_path):
    first = imported(tmp_path / "file", EXAMPLES[form], form)
    second = again(tmp_path / "file", first, form)
    assert meaning(second) == meaning(first)
    assert meaning(again(tmp_path / "file", second, form)) == meaning(second)


@given(network=networks())
@BUDGET
@pytest.mark.parametrize("form", ["hpcc-topology", "graphml"])
def test_networks_come_back(form, network, tmp_path):
    exported = interchange.export({"topology": network.topology(), "transport": "ndp"}, form)
    first = imported(tmp_path / "file", exported.text, form)
    assert meaning(again(tmp_path / "file", first, form)) == meaning(first)


@given(entry=entries())
@BUDGET
@pytest.mark.parametrize("form", ["htsim-cm", "hpcc-flow", "netsys-trace"])
def test_flows_come_back(form, entry, tmp_path):
    if form == "netsys-trace":
        text = netsys_trace.write(Traffic([entry]))[0]
    else:
        text = htsim_cm.write(Traffic([entry]), 16)[0]
    first = imported(tmp_path / "file", text, "netsys-trace" if form == "netsys-trace" else "htsim-cm")
    assert meaning(again(tmp_path / "file", first, form)) == meaning(first)


@given(
    points=st.lists(
        st.tuples(st.integers(1, 10**9), st.integers(1, 9_999)),
        min_size=1,
        max_size=12,
        unique_by=lambda p: p[0],
    )
)
@BUDGET
@pytest.mark.parametrize("form", ["cdf-percent", "cdf-fraction"])
def test_distributions_come_back(form, points, tmp_path):
    total, share, lines = sum(weight for _, weight in points), 0, ["0 0"]
    for size, weight in sorted(points):
        share += weight
        lines.append(f"{size} {100 * share / total:.6f}")
    first = imported(tmp_path / "file", "\n".join(lines) + "\n")
    assert meaning(again(tmp_path / "file", first, form)) == meaning(first)


SHAPES = {
    "lines of Windows": lambda text: text.replace("\n", "\r\n"),
    "a byte order mark": lambda text: "\ufeff" + text,
    "no last end of line": str.rstrip,
    "blanks at the ends of lines": lambda text: text.replace("\n", "  \n"),
    "empty lines": lambda text: text.replace("\n", "\n\n"),
}
# And of formats whose words blanks part.
WORDS = ("htsim-cm", "htsim-topo", "hpcc-flow", "hpcc-topology", "netsys-trace", "cdf", "gml", "hpcc-config")
OF_WORDS = {
    "tabs": lambda text: text.replace(" ", "\t"),
    "several blanks": lambda text: re.sub(" ", "   ", text),
    "remarks": lambda text: "# of last week\n" + text.replace("\n", "  # so\n"),
}


@pytest.mark.parametrize(
    ("form", "shape"),
    [
        *((form, shape) for form in EXAMPLES if form != "hpcc-config" for shape in SHAPES),
        *((form, shape) for form in WORDS if form not in ("hpcc-config", "gml") for shape in OF_WORDS),
    ],
)
def test_a_file_means_the_same_in_each_shape(form, shape, tmp_path):
    change = (SHAPES | OF_WORDS)[shape]
    plain, shaped = (
        imported(tmp_path / "file", text, form) for text in (EXAMPLES[form], change(EXAMPLES[form]))
    )
    assert shaped == plain


@pytest.mark.parametrize("form", ["hpcc-flow", "hpcc-topology"])
@pytest.mark.parametrize(
    "below", ["\n\nFirst line: number of flows\nsrc dst pg\n", "\nsrc0 dst0 rate delay error_rate\n..."]
)
def test_prose_below_what_is_announced_is_not_read(form, below, tmp_path):
    plain, more = (imported(tmp_path / "file", EXAMPLES[form] + text, form) for text in ("", below))
    assert more == plain


@pytest.mark.parametrize(
    ("form", "many"),
    [
        ("hpcc-flow", ("2\n", "3\n")),
        ("hpcc-topology", ("4 1 3\n", "4 1 4\n")),
        ("htsim-cm", ("Connections 3", "Connections 4")),
        ("htsim-cm", ("Connections 3", "Connections 2")),
    ],
)
def test_a_count_that_is_wrong_is_refused(form, many, tmp_path):
    with pytest.raises(UserError, match="says"):
        imported(tmp_path / "file", EXAMPLES[form].replace(many[0], many[1], 1), form)


def test_a_count_that_is_too_small_takes_the_first_flows(tmp_path):
    fewer = imported(tmp_path / "file", EXAMPLES["hpcc-flow"].replace("2\n", "1\n", 1), "hpcc-flow")
    whole = imported(tmp_path / "file", EXAMPLES["hpcc-flow"], "hpcc-flow")
    assert meaning(fewer)["flows"] == meaning(whole)["flows"][:1]
