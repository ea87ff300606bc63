"""Recognising formats; scenarios and quantities as text."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interchange_examples import CM, EXAMPLES, GRAPHML, source

from flowyard import interchange
from flowyard.errors import UserError
from flowyard.interchange import formats, sniffing
from flowyard.interchange.scenario_text import toml
from flowyard.interchange.text import RATE_UNITS, TIME_UNITS, quantity, rate_text, time_text


@pytest.mark.parametrize("name", EXAMPLES)
def test_formats_are_recognised_by_content(name):
    assert sniffing.sniff(source(EXAMPLES[name])) == name
    assert (
        sniffing.sniff(source("# a comment\n\n" + EXAMPLES[name] if name != "graphml" else "\n" + GRAPHML))
        == name
    )


@pytest.mark.parametrize("text", ["1500\n100 0.1\n1500 1\n", "1 1 0\n10 1 1\n", "0,0\n10,100\n"])
def test_dialects_of_cdfs_are_recognised(text):
    assert sniffing.sniff(source(text)) == "cdf"


@pytest.mark.parametrize("text", ["", "# nothing\n", "hello world\n", "<html></html>", "\x00", "1 2 3 4\n"])
def test_what_is_no_format_is_refused(text):
    with pytest.raises(UserError, match=r"file: (is empty|begins .*none of the known formats)"):
        sniffing.sniff(source(text))


values = st.recursive(
    st.one_of(st.integers(0, 2**63 - 1), st.text(max_size=8), st.booleans(), st.floats(0, 1)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=25), st.dictionaries(st.text(min_size=1, max_size=4), inner, max_size=3)
    ),
    max_leaves=30,
)


@given(
    st.dictionaries(st.sampled_from(["name", "topology", "transport", "faults", "a b"]), values, max_size=4)
)
@settings(derandomize=True, max_examples=200, deadline=None)
def test_toml_is_what_it_was_made_of(scenario):
    assert tomllib.loads(toml(scenario, ["a remark"])) == scenario


def test_toml_of_imported_files(tmp_path):
    (tmp_path / "a.cm").write_text(CM)
    scenario = interchange.read([tmp_path / "a.cm"], start_unit="ps", topology="fat-tree").scenario
    assert tomllib.loads(toml(scenario, [])) == scenario
    assert scenario["topology"] == {"fat-tree": {"k": 4}}


@given(st.integers(0, 2**64 - 1))
@settings(derandomize=True, max_examples=100, deadline=None)
def test_quantities_come_back(number):
    assert quantity(time_text(number), TIME_UNITS) == number
    assert quantity(rate_text(number), RATE_UNITS) == number


@pytest.mark.parametrize("name", [*formats.READ, *interchange.FORMATS])
def test_every_format_is_documented(name):
    text = (Path(__file__).parents[2] / "docs" / "interchange.md").read_text(encoding="utf-8")
    assert f"`{name}`" in text
