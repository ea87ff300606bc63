"""Verdicts of figures: what tables must have, what is arithmetic, what quick scale leaves out, readings."""

import dataclasses
import json
import re
from pathlib import Path

import polars as pl
import pytest

from flowyard.papers import (
    catalogue,
    judge,
    omissions,
    published,
    register,
    verdict_table,
    verdicts,
    words,
)
from flowyard.papers.catalogue import packaged
from flowyard.papers.figure import Figure, Needs, Scale
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard.papers.running import read_tables
from flowyard.sweeps.plan import Axis, ModelPlan, Plan

RESULTS = Path(__file__).parents[2] / "docs" / "results"
RUNS = pl.DataFrame({"x": [1, 1, 2, 2], "replica": [0, 1, 0, 1], "flows": [9, 10, 11, 12]})


def figure(function=lambda tables: judge.at_least(tables["runs"].height, 0), **more):
    """A figure with one claim, T-1.a."""
    return Figure(id="T-1", title="One", tables=lambda *_: {}, claims={"T-1.a": function}, **more)


def judged(one, scale=Scale.FULL, **tables):
    return verdicts.judge(one, tables, scale)["T-1.a"]


class TestNeeds:
    @pytest.mark.parametrize(
        ("needs", "said"),
        [
            (Needs(2, by=("x",)), ""),
            (Needs(3, by=("x",)), "2 of 3 replicas at x = 1, and too few at 1 more of 2 points"),
            (Needs(3), "2 of 3 replicas"),
            (
                Needs(4, by=("x",), column="flows"),
                "2 of 4 replicas at x = 1, and too few at 1 more of 2 points",
            ),
            (Needs(least={"flows": 9}), ""),
            (Needs(least={"flows": 10}), "flows 9, not 10"),
            (Needs(rows=5), "4 of 5 rows"),
        ],
    )
    def test_what_is_lacking(self, needs, said):
        assert needs.lacking(RUNS) == said

    def test_a_table_of_means_counts_its_replicas(self):
        means = pl.DataFrame({"x": [1, 2], "replicas": [5, 2]})
        assert Needs(2, by=("x",)).lacking(means) == ""
        assert Needs(5, by=("x",)).lacking(means) == "2 of 5 replicas at x = 2"

    def test_at_full_scale_a_claim_needs_them(self):
        one = figure(needs={"runs": Needs(3, by=("x",))})
        found = judged(one, runs=RUNS)
        assert found.verdict == NOT_REACHED
        assert found.reason.startswith("table runs has 2 of 3 replicas at x = 1")
        assert judged(one, Scale.QUICK, runs=RUNS).verdict == PASS

    def test_of_some_rows_only(self):
        assert Needs(2, by=("x",), where={"flows": 9}).lacking(RUNS) == "1 of 2 replicas at x = 1"
        assert Needs(1, where={"x": 3}).lacking(RUNS) == "no rows where {'x': 3}"

    def test_a_reading_may_need_more_than_the_others(self):
        good = judge.at_least(2, 1)

        def readings(tables):
            return judge.by_reading(dict.fromkeys(("A", "B") if len(tables["runs"]) else (), good))

        one = figure(readings, needs={"runs": (Needs(2, by=("x",)), Needs(3, by=("x",), reading="B"))})
        found = judged(one, runs=RUNS)
        assert (found.verdict, [one.verdict for _, one in found.readings]) == (PASS, [PASS, NOT_REACHED])
        own = figure(readings, needs={"runs": Needs(3, by=("x",), reading="A")})
        found = judged(own, runs=RUNS)
        assert (found.verdict, [one.verdict for _, one in found.readings]) == (
            NOT_REACHED,
            [NOT_REACHED, PASS],
        )

    def test_a_figure_that_asks_for_an_unknown_column_breaks(self):
        assert "ColumnNotFound" in judged(figure(needs={"runs": Needs(2, by=("y",))}), runs=RUNS).reason

    def test_of_the_tables_that_its_judge_reads(self):
        one = figure(lambda tables: judge.at_least(tables["other"].height, 0), needs={"runs": Needs(3)})
        assert judged(one, runs=RUNS, other=RUNS).verdict == PASS


def test_a_table_without_rows_gives_no_verdict():
    for holds in (0, 1):
        one = figure(lambda tables, holds=holds: judge.at_least(tables["runs"].height, holds))
        assert judged(one, Scale.QUICK, runs=RUNS.clear()).reason == "table runs has no rows"
    kept = figure(lambda tables: judge.not_reached(f"{len(tables['runs'])} runs"))
    assert judged(kept, runs=RUNS.clear()).reason == "0 runs"


def published_figures():
    """Each figure that has published tables, with these."""
    for paper in packaged():
        for one in paper.figures:
            if list((RESULTS / paper.id / one.id).glob("*.csv")):
                yield pytest.param(one, read_tables(one, RESULTS / paper.id / one.id), id=one.id)


PUBLISHED = list(published_figures())
# Claims whose tables lack what their judges read by now.
OLDER = {
    entry["id"]
    for path in RESULTS.glob("*/claims.json")
    for entry in json.loads(path.read_text(encoding="utf-8"))
    if entry["reason"] == f"{verdicts.OLDER}."
}


@pytest.mark.parametrize(("one", "tables"), PUBLISHED)
def test_no_published_figure_says_anything_of_nothing(one, tables):
    found = verdicts.judge(one, {name: table.clear() for name, table in tables.items()})
    assert {claim: judgement.verdict for claim, judgement in found.items()} == dict.fromkeys(
        one.claims, NOT_REACHED
    )


def few_replicas(table):
    """What is left of a table if only the first replica was run."""
    if "replica" in table.columns:
        table = table.filter(pl.col("replica") < 1)
    return table.with_columns(pl.lit(1).alias("replicas")) if "replicas" in table.columns else table


@pytest.mark.parametrize(("one", "tables"), PUBLISHED)
def test_a_published_claim_with_one_replica_of_several_says_nothing(one, tables):
    """But for closed forms, which hold in every replica or not at all."""
    kinds = {claim.id: claim.kind for paper in packaged() for claim in paper.register.claims.values()}
    replicated = {name for name, table in tables.items() if {"replica", "replicas"} & set(table.columns)}
    found = verdicts.judge(one, {name: few_replicas(table) for name, table in tables.items()})
    for claim, function in one.claims.items():
        if claim in OLDER:
            continue
        read = verdicts.Read(tables)
        function(read)
        if kinds[claim] != "closed form" and read.names & replicated:
            assert found[claim].verdict == NOT_REACHED, claim


CLAIM = register.Claim("T-1.a", "model", "number", "says", "tolerance")
BOOK = register.Register("T", "title", "source", {"T-1.a": CLAIM}, {"T-X1": "It cannot be."})


def entry(judgement, claim=CLAIM, scale=Scale.FULL, less=None):
    return verdicts.entries([claim], {claim.id: judgement}, [BOOK], scale, less)[0]


class TestEntries:
    def test_a_note_is_told_of_a_pass_and_behind_the_reason_of_a_fail(self):
        assert entry(judge.at_least(2, 1).noted("a tie"))["reason"] == "a tie."
        predicted = dataclasses.replace(CLAIM, contradicted_by=("T-X1",))
        said = entry(judge.at_least(0, 1).because("low").noted("a tie"), predicted)["reason"]
        assert said == "predicted by T-X1: It cannot be. low. a tie."

    def test_readings_are_in_it_and_the_first_is_its_own(self):
        found = entry(judge.by_reading({"A": judge.at_least(0, 1), "B": judge.at_least(2, 1).noted("a tie")}))
        assert (found["verdict"], found["measured"]) == (FAIL, 0)
        assert found["readings"] == [
            {
                "reading": "A",
                "verdict": FAIL,
                "measured": 0,
                "expected": ">= 1",
                "reason": None,
                "fail": "open",
            },
            {"reading": "B", "verdict": PASS, "measured": 2, "expected": ">= 1", "reason": "a tie."},
        ]
        assert verdicts.summary([found]).open == 1

    def test_a_fail_has_the_cause_of_the_register_and_a_pass_has_none(self):
        failures = {"T-1.a": register.Failure("unstated", "The paper states no size.")}
        book = dataclasses.replace(BOOK, failures=failures)
        low, high = (verdicts.entries([CLAIM], {CLAIM.id: judge.at_least(x, 1)}, [book])[0] for x in (0, 2))
        assert (low["cause"], low["why"], low["reason"]) == ("unstated", "The paper states no size.", None)
        assert "cause" not in high

    def test_numbers_of_full_scale_say_so_beside_those_of_another_scale(self):
        failures = {"T-1.a": register.Failure("unstated", "46 senders are supported.")}
        book = dataclasses.replace(BOOK, failures=failures)
        found = {CLAIM.id: judge.at_least(0, 1)}
        (quick,) = verdicts.entries([CLAIM], found, [book], Scale.QUICK, {CLAIM.id: "2 of 10 replicas"})
        assert quick["why"] == "At full scale: 46 senders are supported."
        # Nothing was left out: the numbers are the same at any scale.
        (same,) = verdicts.entries([CLAIM], found, [book], Scale.QUICK, {})
        assert same["why"] == "46 senders are supported."

    def test_what_a_fail_is(self):
        low = judge.at_least(0, 1)
        predicted = dataclasses.replace(CLAIM, contradicted_by=("T-X1",))
        ours = dataclasses.replace(CLAIM, grade="expectation")
        shown = low.not_reproducible("by hand: 0")
        assert entry(low)["fail"] == "open"
        assert "fail" not in entry(judge.at_least(2, 1))
        assert entry(shown)["fail"] == "not reproducible"
        assert entry(shown, predicted)["fail"] == "predicted"
        assert entry(low.beyond_prediction(), predicted)["fail"] == "open"
        assert entry(shown, ours)["fail"] == "expectation"
        assert words.marked(entry(judge.at_least(2, 1), ours)) == "PASS, expectation"

    def test_a_reading_that_a_search_found_says_so(self):
        found = entry(judge.by_reading({"A": judge.at_least(0, 1), "B": judge.at_least(2, 1).reachable()}))
        assert [one.get("reachable", False) for one in found["readings"]] == [False, True]
        assert [words.named(one) for one in words.readings(found)] == ["A", "B (reachable)"]

    def test_arithmetic_is_counted_apart(self):
        cannot_fail = dataclasses.replace(CLAIM, arithmetic=True)
        found = entry(judge.at_least(2, 1), cannot_fail)
        assert found["arithmetic"] is True
        counted = verdicts.summary([found])
        assert (counted.passed, counted.arithmetic) == (0, 1)
        assert "pass 0 and arithmetic 1, fail" in str(counted)
        assert words.marked(found) == "PASS, arithmetic"

    def test_quick_is_said_with_what_it_leaves_out(self):
        found = entry(judge.at_least(2, 1), scale=Scale.QUICK, less={"T-1.a": "2 of 5 replicas"})
        assert (found["scale"], found["left_out"]) == ("quick", "2 of 5 replicas")
        assert str(verdicts.summary([found])).startswith("at quick scale: ")
        assert words.marked(found, quick=True) == "PASS, quick"
        assert words.marked({"verdict": NOT_REACHED}, quick=True) == NOT_REACHED
        assert entry(judge.at_least(2, 1))["scale"] == "full"


def call(x, slots, replica):
    """A model that is never called."""


class TestLeftOut:
    def said(self, plans, **more):
        return omissions.omissions_of(figure(plans=plans, **more))

    def test_of_models(self):
        def plans(scale):
            axes = {"x": scale.pick((1, 9), (1, 5, 9)), "slots": [scale.pick(1000, 20_000)]}
            return {"m": ModelPlan(call, axes, scale.pick(2, 5))}

        assert self.said(plans) == "2 of 5 replicas; x at 2 of 3 values; slots 1,000 for 20,000"

    def test_of_scenarios(self):
        def plans(scale):
            base = {"transport": "ndp", "topology": {"single-switch": {"hosts": scale.pick(4, 16)}}}
            entry = {"name": "few", "arrivals": "at-once", "matrix": "permutation", "sizes": {"fixed": "1KB"}}
            entry["flows"] = scale.pick(4, 2000)
            sizes = Axis("size", {"traffic.few.sizes.fixed": scale.pick(["2KB"], ["1KB", "2KB"])})
            return {"p": Plan(base | {"traffic": [entry]}, [sizes])}

        assert self.said(plans) == (
            "size at 1 of 2 values; topology.single-switch.hosts 4 for 16; traffic.few.flows 4 for 2,000"
        )

    def test_what_places_of_an_axis_stand_for(self):
        def plans(scale):
            base = {"transport": "ndp", "topology": {"single-switch": {"hosts": 4}}}
            entry = {"name": "few", "arrivals": "at-once", "matrix": "permutation", "flows": 4}
            sizes = {"traffic.few.sizes.fixed": ["1KB", scale.pick("2KB", "5KB")]}
            return {
                "p": Plan(
                    base | {"traffic": [entry | {"sizes": {"fixed": "1KB"}}]},
                    [Axis("size", sizes, ["small", "large"])],
                )
            }

        said = "traffic.few.sizes.fixed differs at 1 of 2 values of size, such as 2KB for 5KB"
        assert self.said(plans) == said

    @pytest.mark.parametrize(
        ("most", "expected"),
        [
            # One change for all is that of every run; the scenario that an axis names is read for what it is.
            ([40, 40], "traffic.few.flows 4 for 40"),
            ([40, 80], "traffic.few.flows differs at all 2 values of scheme, such as 4 for 40"),
            ([4, 80], "traffic.few.flows differs at 1 of 2 values of scheme, such as 4 for 80"),
        ],
    )
    def test_scenarios_of_an_axis(self, most, expected):
        def plans(scale):
            def one(name, flows):
                entry = {"name": "few", "arrivals": "at-once", "matrix": "permutation", "flows": flows}
                entry["sizes"] = {"fixed": "1KB"}
                network = {"single-switch": {"hosts": 4}}
                return {"name": name, "transport": "ndp", "topology": network, "traffic": [entry]}

            made = [one(name, scale.pick(4, flows)) for name, flows in zip("ab", most, strict=True)]
            return {"p": Plan(axes=[Axis("scheme", scenarios=made)])}

        assert self.said(plans) == expected

    def test_many_fields_of_a_block_are_counted(self):
        def plans(scale):
            def entry(number):
                return {
                    "name": f"t{number}",
                    "arrivals": "at-once",
                    "matrix": "permutation",
                    "sizes": {"fixed": "1KB"},
                    "flows": scale.pick(4, 40),
                }

            base = {"transport": "ndp", "topology": {"single-switch": {"hosts": 4}}}
            mix = Axis("mix", {"traffic": [[entry(i) for i in range(5)]]}, ["five"])
            return {"p": Plan(base | {"traffic": [entry(0)]}, [mix])}

        assert self.said(plans) == "traffic differs in 5 fields over the values of mix"

    def test_plans_that_differ_are_named(self):
        def plans(scale):
            return {
                name: ModelPlan(call, {}, scale.pick(1, most))
                for name, most in (("a", 2), ("b", 2), ("c", 3))
            }

        assert self.said(plans) == "a, b: 1 of 2 replicas; c: 1 of 3 replicas"

    def test_what_plans_do_not_tell_is_written(self):
        assert self.said(None, quick="2 of 4 sizes") == "2 of 4 sizes"
        assert self.said(None) == "nothing"


def test_a_run_at_full_scale_needs_the_replicas_and_a_quick_one_does_not(tmp_path, inside):
    folder = tmp_path / "s"
    folder.mkdir()
    claim = '[claims."T-1.a"]\nkind = "model"\ngrade = "number"\nsays = "x"\ntolerance = "exact"\n'
    (folder / "claims.toml").write_text(f'id = "T"\ntitle = "A study"\nsource = "ours"\n{claim}')
    (folder / "one.py").write_text(
        '''"""A figure."""
import polars as pl
from flowyard.papers import judge
from flowyard.papers.figure import Figure, Needs
FIGURE = Figure(id="T-1", title="One", tables=lambda scale, sweeps: {"runs": pl.DataFrame({"replica": [0, 1]})},
    claims={"T-1.a": lambda tables: judge.at_least(len(tables["runs"]), 2)}, needs={"runs": Needs(3)})
'''
    )
    found = {}
    for scale in ("quick", "full"):
        done = inside("paper", "run", folder, "--scale", scale, "-o", tmp_path / scale)
        assert done.returncode == 0, done.stderr
        (found[scale],) = json.loads((tmp_path / scale / "claims.json").read_text())
    assert found["quick"]["verdict"] == PASS
    assert (found["full"]["verdict"], found["full"]["reason"]) == (
        NOT_REACHED,
        "table runs has 2 of 3 replicas.",
    )


def test_readings_quick_and_arithmetic_are_shown(tmp_path, inside):
    folder = tmp_path / "s"
    folder.mkdir()
    claim = '[claims."T-1.{}"]\nkind = "model"\ngrade = "number"\nsays = "x"\ntolerance = "exact"\n{}\n'
    text = (
        'id = "T"\ntitle = "A study"\nsource = "ours"\n'
        + claim.format("a", "")
        + claim.format("b", "arithmetic = true")
        + claim.format("c", "").replace("number", "expectation")
        + claim.format("d", "")
    )
    (folder / "claims.toml").write_text(text)
    (folder / "one.py").write_text(
        '''"""A figure."""
import polars as pl
from flowyard.papers import judge
from flowyard.papers.figure import Figure
def readings(tables):
    return judge.by_reading({"mode A": judge.at_least(2, 1), "mode B": judge.at_least(0, 1),
        "mode C": judge.at_least(2, 1).reachable()})
FIGURE = Figure(id="T-1", title="One", tables=lambda scale, sweeps: {}, quick="2 of 4 sizes",
    claims={"T-1.a": readings, "T-1.b": lambda tables: judge.at_least(2, 1),
        "T-1.c": lambda tables: judge.at_least(0, 1),
        "T-1.d": lambda tables: judge.at_least(0, 1).not_reproducible("by hand: 0")})
'''
    )
    done = inside("paper", "run", folder, "-o", tmp_path / "o")
    assert done.returncode == 0, done.stderr
    assert (
        "at quick scale: claims 3, pass 1 and arithmetic 1, fail (open) 0, fail (not reproducible) 1,"
        in done.stdout
    )
    assert "; expectations of ours 1: pass 0, fail 1\n" in done.stdout
    assert "mode B" in done.stdout
    assert re.search(r"mode C \(reachable\) +PASS", done.stdout)
    assert re.search(r"T-1\.c +FAIL, expectation ", done.stdout)
    assert "Not reproducible: by hand: 0." in done.stdout
    page = (tmp_path / "o/index.html").read_text()
    for shown in (
        "mode B",
        "PASS, quick",
        "FAIL, open, quick",
        "PASS, arithmetic, quick",
        "Quick scale, against the full one: 2 of 4 sizes.",
        "mode C (reachable)",
        "FAIL, expectation, quick",
        "FAIL, not reproducible, quick",
        "an expectation of ours that no paper states",
        "expectations of ours: <b>0</b> pass, <b>1</b> fail",
    ):
        assert shown in page
    # Once for the figure, not for each claim.
    assert page.count("2 of 4 sizes") == 1
    entries = json.loads((tmp_path / "o/claims.json").read_text())
    assert [one["reading"] for one in entries[0]["readings"]] == ["mode A", "mode B", "mode C"]
    assert json.loads((tmp_path / "o/papers.json").read_text())["summary"].startswith("at quick scale: ")


class TestTold:
    def entries(self, *ids, verdict=FAIL):
        one = {
            "verdict": verdict,
            "scale": "quick",
            "measured": 0.5,
            "expected": "1 +- 0.1",
            "reason": "low.",
        }
        return [{"id": name, **one} for name in ids]

    def test_claims_are_in_the_order_of_their_names_with_units(self, capsys):
        found = self.entries("T-5.45.e", "T-5.5.b", "T-5.5.a", verdict=PASS)
        found[0]["unit"] = "s"
        verdict_table.print_verdicts(found, "all", Scale.QUICK, Path("out"), {})
        said = capsys.readouterr().out
        assert re.findall(r"^ +(T-\S+)", said, re.M) == ["T-5.5.a", "T-5.5.b", "T-5.45.e"]
        assert re.search(r"T-5.45.e +PASS +0.5 s +1 \+- 0.1 s", said)
        assert "FAIL" not in said

    def test_a_failure_says_what_is_published(self, monkeypatch, capsys):
        monkeypatch.setattr(published, "verdicts", lambda: {"T-1.a": PASS})
        verdict_table.print_verdicts(
            self.entries("T-1.b", "T-1.a"), "all", Scale.QUICK, Path("out"), {"T-1.a": "x is 1."}
        )
        lines = capsys.readouterr().out.splitlines()
        assert "T-1.a: x is 1. FAIL: low. Published at full scale: PASS." in lines
        assert "T-1.b: FAIL: low." in lines

    def test_a_failure_shows_its_cause_and_the_plain_reason(self, capsys):
        (found,) = self.entries("T-1.a")
        found |= {"cause": "unstated", "why": "The paper states no size."}
        verdict_table.print_verdicts([found], "all", Scale.QUICK, Path("out"), {})
        assert (
            "T-1.a: FAIL (cause: unstated): The paper states no size." in capsys.readouterr().out.splitlines()
        )

    def test_quick_scale_is_said_to_have_less_only_where_it_has(self, capsys):
        found = self.entries("T-1.a", "T-1.b", verdict=PASS)
        for entry in found:
            entry["left_out"] = omissions.NOTHING
        verdict_table.print_verdicts(found, "all", Scale.QUICK, Path("out"), {})
        assert "fewer points" not in capsys.readouterr().out
        found[0]["left_out"] = "2 of 5 replicas"
        verdict_table.print_verdicts(found, "all", Scale.QUICK, Path("out"), {})
        assert "than the paper for 1 of 2 claims" in " ".join(capsys.readouterr().out.split())

    def test_long_values_are_shown_whole(self, capsys):
        (found,) = self.entries("T-1.a")
        numbers = [f"{n},{n}00" for n in range(10, 60)]
        found["measured"] = " ".join(numbers)
        verdict_table.print_verdicts([found], "all", Scale.QUICK, Path("out"), {})
        said = capsys.readouterr().out.split()
        assert [number for number in said if number in numbers] == numbers

    def test_the_published_verdicts_are_those_of_the_checkout(self, monkeypatch, tmp_path):
        assert published.verdicts()["NDP-T1.a"] == PASS
        # As in a wheel.
        assert published.verdicts(tmp_path) == {}
        (tmp_path / "X").mkdir()
        (tmp_path / "X/claims.json").write_text("{}")
        assert published.verdicts(tmp_path) == {}
        monkeypatch.setattr(catalogue, "home", lambda: None)
        assert published.verdicts() == {}

    def test_values_have_their_units(self):
        time, lost = (
            judge.within(0.5, 1, absolute=0.1).measured_in("s"),
            judge.at_most(3, 2).measured_in("lost"),
        )
        found = entry(time)
        assert (found["measured"], found["unit"]) == (0.5, "s")
        assert found["reason"] is None
        assert (words.shown(found, "measured"), words.shown(found, "expected")) == ("0.5 s", "1 +- 0.1 s")
        both = judge.together([time, lost])
        assert (both.measured, both.expected) == ("0.5 s; 3 lost", "1 +- 0.1 s; <= 2 lost")
        assert "unit" not in entry(judge.within(None, 1).measured_in("s"))
