"""Whatever stands in a file, a parser reads it or says what is wrong with it: never anything but a UserError.

`FLOWYARD_FUZZ` is the number of cases of each property, with random seeds (`make fuzz`); without it there are a few,
the same ones every time. The engine's own parsers are fuzzed in crates/sim/tests/fuzz_parsers.rs.
"""

import os
import tomllib
from random import Random

import pytest
from conftest import SMALL
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from interchange_examples import EXAMPLES, READERS, source
from mutations import shaped

import flowyard as fy
from flowyard import cli, slotted
from flowyard.errors import UserError
from flowyard.folders import run_files
from flowyard.interchange import cdf, sniffing
from flowyard.papers import register
from flowyard.sweeps import Plan

ASKED = os.environ.get("FLOWYARD_FUZZ")
BUDGET = settings(
    max_examples=int(ASKED or 40),
    derandomize=not ASKED,
    database=None,
    deadline=None,
    # Each case overwrites the file of the one before.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

PLAN = """\
name = "both"
scenario = "small.toml"
replicas = 2
set."run.seed" = 7

[[axes]]
name = "size"
labels = ["small", "large"]
set."traffic.few.sizes.fixed" = ["1KB", "9KB"]

[[axes]]
name = "switch"
set.transport = ["ndp", "tcp"]
set.queue = ["ndp", { drop-tail = { limit.packets = 100 } }]
"""
CLAIMS = """\
id = "OWN"
title = "A study"
source = "one's own"

[claims."OWN-1.a"]
kind = "packets"
grade = "number"
says = "It is fast."
tolerance = "at least 0.9"
contradicted_by = ["OWN-C1"]

[contradictions."OWN-C1"]
says = "It is slow."
"""
LINK = """\
discipline = "peq"
[[generation.list]]
size = 10
deadline = 23
[[generation.list]]
size = 4
deadline = 26
arrival = 3
"""
CDF = "# size percent\n1000 0\n2000 50\n10000 100\n"

NASTY = st.sampled_from(
    [
        "", "0", "-1", "1.5", "1e400", "nan", "-inf", "true", '""', '"x"', '"\\u0000"', "[]", "[[]]", "{}", "[{}]",
        "{ a = 1 }", "9223372036854775807", "9223372036854775808", "99999999999999999999", "2026-11-21", "07:32:00",
        '"é🦀"', '"small.toml"', '"/"', '"."', '["a", 1, nan]', "[1, 1.0, true]", "[" * 400 + "]" * 400, "# x", "\x00",
    ]
)  # fmt: skip


@st.composite
def edited(draw, text):
    """A text with a few lines lost, doubled, swapped, cut, or with another value."""
    lines = text.split("\n")
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(lines) - 1))
        kind = draw(
            st.sampled_from(["delete", "double", "swap", "truncate", "value", "value", "cut", "insert"])
        )
        if kind == "delete" and len(lines) > 1:
            del lines[at]
        elif kind == "double":
            lines.insert(at, lines[at])
        elif kind == "swap":
            other = draw(st.integers(0, len(lines) - 1))
            lines[at], lines[other] = lines[other], lines[at]
        elif kind == "truncate":
            del lines[at + 1 :]
        elif kind == "value":
            words = lines[at].split(" ")
            words[draw(st.integers(0, len(words) - 1))] = draw(NASTY)
            lines[at] = " ".join(words)
        elif kind == "cut":
            lines[at] = lines[at][: draw(st.integers(0, len(lines[at])))]
        else:
            place = draw(st.integers(0, len(lines[at])))
            lines[at] = lines[at][:place] + draw(st.text(max_size=5)) + lines[at][place:]
    text = "\n".join(lines)
    # As other machines and forks write it.
    seed = draw(st.integers(0, 99))
    return (
        text
        if seed < 50
        else shaped(text.encode("utf-8", "replace"), Random(seed)).decode("utf-8", "replace")
    )


def anything_like(text):
    return st.one_of(edited(text), st.text(max_size=100))


def write(path, text):
    # Half a surrogate pair is no text that a file could hold.
    path.write_bytes(text.encode("utf-8", "replace"))
    return path


def refused_or(read, *arguments):
    """What is read; nothing if it is refused, which takes one screen."""
    try:
        return read(*arguments)
    except (UserError, fy.ScenarioError) as error:
        message = str(error)
    assert message.strip()
    shown = cli.on_one_screen(message).splitlines()
    assert len(shown) <= cli.LINES
    assert max(map(len, shown)) <= cli.COLUMNS
    return None


@pytest.fixture
def small_beside(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    return tmp_path


@BUDGET
@given(text=anything_like(PLAN))
@example(text=PLAN)
def test_sweep_plans(small_beside, text):
    plan = refused_or(Plan.read, write(small_beside / "plan.toml", text))
    # A grid may be as large as a million runs.
    if plan is not None and plan.points * plan.replicas <= 10:
        refused_or(plan.tasks)


@BUDGET
@given(text=anything_like(CLAIMS))
@example(text=CLAIMS)
def test_registers_of_claims(tmp_path, text):
    found = refused_or(register.read, write(tmp_path / "claims.toml", text))
    if found is not None:
        for claim in found.claims.values():
            assert all(
                isinstance(word, str) for word in (claim.says, claim.tolerance, *claim.contradicted_by)
            )
            assert set(claim.contradicted_by) <= found.contradictions.keys()


@BUDGET
@given(text=anything_like(LINK))
@example(text=LINK)
def test_slotted_files(tmp_path, text):
    path = write(tmp_path / "link.toml", text)
    found = refused_or(slotted.check, path)
    if found is not None:
        assert slotted.check(found) == found


@BUDGET
@given(text=anything_like(SMALL), override=st.tuples(st.text(max_size=12), NASTY))
@example(text=SMALL, override=("run.seed", "7"))
def test_scenarios(tmp_path, text, override):
    path = write(tmp_path / "scenario.toml", text)
    found = refused_or(fy.check, path)
    if found is not None:
        assert fy.check(found) == found
    refused_or(fy.check, path, dict([override]))


@pytest.mark.parametrize("name", READERS)
@BUDGET
@given(data=st.data())
def test_files_of_other_simulators(name, data):
    text = data.draw(anything_like(EXAMPLES[name]))
    refused_or(sniffing.sniff, source(text))
    refused_or(READERS[name], source(text))


@BUDGET
@given(
    text=anything_like(CDF),
    dialect=st.sampled_from([None, "percent", "fraction", "ns2", "homa"]),
    packet_bytes=st.sampled_from([None, 0, -1, 1460, 2**64]),
    interpolation=st.sampled_from([None, "linear", "step"]),
)
def test_distributions(text, dialect, packet_bytes, interpolation):
    found = refused_or(cdf.read, source(text), dialect, packet_bytes, interpolation)
    if found is not None:
        assert found["points"]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound")
    (folder / "small.toml").write_text(SMALL)
    fy.run(folder / "small.toml").save(folder / "run")
    return (folder / "run/run.json").read_text()


@BUDGET
@given(data=st.data())
def test_what_runs_left(tmp_path, sound, data):
    write(tmp_path / "run.json", data.draw(anything_like(sound)))
    refused_or(run_files.summary, tmp_path)
    refused_or(run_files.status, tmp_path)


@BUDGET
@given(
    text=anything_like(
        '{\n "flowyard": "0.1",\n "engine": "x",\n "name": "n",\n "axes": [\n {"name": "a", "values": [1]}\n ],\n'
        ' "replicas": 1,\n "runs": [\n {"key": "k", "values": {"a": 1}, "replica": 0}\n ]\n}\n'
    )
)
def test_plans_that_sweeps_left(tmp_path, text):
    write(tmp_path / "sweep.json", text)
    if refused_or(run_files.plan, tmp_path) is not None:
        refused_or(fy.open, tmp_path)


def test_the_good_ones_are_read(small_beside):
    for text in (PLAN, CLAIMS, LINK):
        tomllib.loads(text)
    assert len(Plan.read(write(small_beside / "plan.toml", PLAN)).tasks()) == 8
    assert list(register.read(write(small_beside / "claims.toml", CLAIMS)).claims) == ["OWN-1.a"]
    assert slotted.check(write(small_beside / "link.toml", LINK))
