"""The slotted link in Python and on the command line; the model itself is tested in crates/sim/tests/slotted."""

import json
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from conftest import PATIENCE_S
from matplotlib.patches import Rectangle
from polars.testing import assert_frame_equal

from flowyard import slotted
from flowyard._native import ScenarioError
from flowyard.errors import UserError
from flowyard.slotted import gantt
from flowyard.slotted.measures import MEASURES, measure

DOC = Path(__file__).parents[2] / "docs" / "slotted.md"
# Figure 1.15 of the thesis: size, deadline.
FOUR = [(10, 23), (13, 15), (4, 26), (3, 25)]
LIST = {"list": [{"size": size, "deadline": deadline} for size, deadline in FOUR]}
CLASS = {
    "sizes": {"uniform": {"min": 2, "max": 30}},
    "deadlines": {"exponential": {"mean": 60, "infeasible": "shift"}},
}
REDRAW = {"infeasible": "redraw"}
SETS = {
    "generation": {"sets": {"flows": 12, "sets": 30}},
    "classes": [CLASS],
    "discipline": "fcfs",
    "run": {"schedule": True},
}
# The program, stopped by Ctrl-C when slots have passed.
STOPPED = """\
import os, signal, sys
from flowyard import cli, slotted
run = slotted.Checked.run
def stopped(checked, schedule, progress):
    def tell(slots):
        if slots:
            os.kill(os.getpid(), signal.SIGINT)
        progress(slots)
    return run(checked, schedule=schedule, progress=tell)
slotted.Checked.run = stopped
sys.exit(cli.main())
"""
RANDOM = {
    "generation": {"random": {"servers": 8, "probability": 0.02}},
    "classes": [CLASS],
    "discipline": "fcfs",
    "run": {"slots": 3000, "schedule": True},
}


def flows_of(config, discipline="fcfs"):
    return pl.DataFrame(slotted.run(config, {"discipline": discipline}).flows)


class TestDocs:
    """What docs/slotted.md says."""

    text = DOC.read_text(encoding="utf-8")

    @pytest.mark.parametrize("table", ["flows", "schedule"])
    def test_columns(self, table):
        part = self.text.partition(f"`{table}.parquet` has a row")[2].partition("\n`")[0]
        rows = [line for line in part.splitlines() if line.startswith("| `")]
        assert rows == [
            f"| `{column['name']}` | {column['unit']} | {column['meaning']} |"
            for column in slotted.explain()[table]
        ]

    def test_disciplines_metrics_and_fields_of_run(self):
        schema = slotted.schema()["$defs"]
        names = {name for one in schema["DisciplineConfig"]["oneOf"] for name in one.get("properties", ())}
        assert len(names) == 10
        part = (
            self.text.partition("## Disciplines")[2]
            .partition("|---|")[2]
            .partition("The earlier flow wins")[0]
        )
        assert set(re.findall(r"^\| `([a-z0-9-]+)` \|", part, re.MULTILINE)) == names
        for field in schema["Run"]["properties"]:
            assert f"`{field}`" in self.text
        rows = self.text.partition("| option | values |")[2].partition("\n\n")[0].splitlines()
        options = [row.split("|")[1] for row in rows[1:]]
        assert len(options) > 8
        for one in schema["DisciplineConfig"]["oneOf"]:
            for name, config in one.get("properties", {}).items():
                for field in schema[config["$ref"].rpartition("/")[2]].get("properties", ()):
                    alone, shared = f"`{name}.{field}`", (f"`{field}`", f"`{name}`")
                    assert any(alone in own or all(part in own for part in shared) for own in options)
        for metric in MEASURES:
            assert f"`{metric}`" in self.text

    def test_the_example_prints_what_is_shown(self, inside, tmp_path):
        example = re.search(r"```toml slotted\n(.*?)```", self.text, re.DOTALL)
        assert example
        (tmp_path / "four.toml").write_text(example[1], encoding="utf-8")
        shown = self.text.partition("flowyard slotted four.toml")[2].partition("`--discipline`")[0]
        command, *lines = shown.splitlines()
        done = inside("slotted", "four.toml", *command.split())
        assert done.returncode == 0, done.stderr
        printed = [" ".join(line.split()).strip("─") for line in done.stdout.splitlines()]
        wanted = [" ".join(line.split()).strip("─") for line in lines if line.strip(" ─")]
        assert len(wanted) > 10
        assert [line for line in printed if line in wanted] == wanted


def test_figure_1_15():
    """The thesis: PDQ is done with two flows, at 13 and 23; PEQ with three, at 3, 7 and 17."""
    ends = {}
    for name in ("peq", "pdq"):
        done = flows_of({"generation": LIST, "discipline": "fcfs"}, name).filter("done")
        ends[name] = dict(done.select("flow", "end_slot").iter_rows())
    assert ends == {"peq": {3: 3, 2: 7, 0: 17}, "pdq": {1: 13, 0: 23}}


@pytest.mark.parametrize("name", ["peq", "d3"])
def test_schedule_and_measures_agree_with_the_flows(name):
    result = slotted.run(SETS, {"discipline": name})
    flows, schedule = pl.DataFrame(result.flows), pl.DataFrame(result.schedule)
    slots = pl.col("end_slot") - pl.col("start_slot")
    served = schedule.group_by("set", "flow").agg(served=(slots * pl.col("share")).sum())
    both = flows.join(served, on=["set", "flow"], how="left").with_columns(pl.col("served").fill_null(0))
    # In its last slot a flow may need less than its share; only whole packets are used up.
    unused = (both["served"] - both["sent"]).to_numpy()
    assert unused.min() > -1e-6
    assert unused.max() < (1e-6 if name == "peq" else 1)
    assert slot_by_slot(result).group_by("set", "slot").agg(pl.col("share").sum())["share"].max() < 1 + 1e-9
    assert result.summary["sent"] == pytest.approx(flows["sent"].sum())
    assert (
        flows.filter("done")
        .filter(pl.col("end_slot") - pl.col("arrival_slot") > pl.col("deadline"))
        .is_empty()
    )
    by_set = measure(flows, ("set",))
    assert by_set["flows"].to_list() == [12] * 30
    assert by_set["done"].sum() == measure(flows)["done"].item() == flows["done"].sum()


def test_measures_by_hand():
    flows = pl.DataFrame(
        {
            "arrival_slot": [0, 5, 0, 7],
            "end_slot": [10, 9, 20, None],
            "done": [True, True, False, False],
        }
    )
    row = measure(flows).row(0, named=True)
    assert row == {
        "flows": 3,
        "done": 2,
        "application_throughput": pytest.approx(2 / 3),
        "fct_mean_slots": 7.0,
        "makespan_slots": 10,
    }
    assert measure(flows.clear())["application_throughput"].item() is None


def test_disciplines_see_the_same_flows():
    drawn = ["set", "flow", "server", "arrival_slot", "size", "deadline"]
    tables = [flows_of(SETS, name).select(drawn).sort("flow") for name in ("fcfs", "peq", "d3", "optimal")]
    for table in tables[1:]:
        assert_frame_equal(table, tables[0])


def test_files_overrides_and_saved_results(tmp_path):
    path = tmp_path / "four.json"
    path.write_text(json.dumps({"generation": LIST, "discipline": "pdq"}))
    assert slotted.check(path)["discipline"] == {"pdq": {"early_termination": "strict", "order": "search"}}
    changed = {"discipline.pdq.early_termination": "expired", "run.schedule": True, "run.seed": 9}
    result = slotted.run(path, changed)
    assert result.summary["config"] == slotted.check(path, changed)
    assert result.summary["config"]["run"]["seed"] == 9
    result.write(tmp_path)
    again = slotted.open(tmp_path)
    assert_frame_equal(pl.DataFrame(again.flows), pl.DataFrame(result.flows))
    assert_frame_equal(pl.DataFrame(again.schedule), pl.DataFrame(result.schedule))
    assert (again.summary, again.status) == (result.summary, "complete")
    (tmp_path / "schedule.parquet").unlink()
    with pytest.raises(UserError, match=r"schedule\.parquet is missing"):
        slotted.open(tmp_path)
    with pytest.raises(UserError, match="no such file"):
        slotted.run(tmp_path / "nothing.toml")


def test_without_deadlines():
    config = {**SETS, "classes": [{"sizes": {"fixed": 3}, "deadlines": {"none": {}}}]}
    flows = flows_of(config)
    assert flows["deadline"].is_null().all()
    assert flows["done"].all()
    assert measure(flows)["makespan_slots"].item() == 36
    seen = []

    def first(slot, present):
        seen.append(present[0][3])
        return present[0][0]

    slotted.run(config, discipline=first)
    assert set(seen) == {None}


# Disciplines in Python that are written from what the documentation says of those in Rust.
def edf(_slot, flows):
    return min(flows, key=lambda flow: (flow[3], flow[0]))[0]


def edf_by_size(_slot, flows):
    return min(flows, key=lambda flow: (flow[3], flow[2], flow[0]))[0]


def sjf(_slot, flows):
    return min(flows, key=lambda flow: (flow[2], flow[0]))[0]


def processor_sharing(_slot, flows):
    return {flow[0]: 1 / len(flows) for flow in flows}


def racs(_slot, flows):
    total = sum(1 / left for _, _, left, _ in flows)
    return {number: 1 / left / total for number, _, left, _ in flows}


@pytest.mark.parametrize("config", [SETS, RANDOM], ids=["sets", "random"])
@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("edf", edf),
        ({"edf": {"ties": "size"}}, edf_by_size),
        ({"pdq": {"early_termination": "expired", "order": "list"}}, edf_by_size),
        ("sjf", sjf),
        ("processor-sharing", processor_sharing),
        ("racs", racs),
    ],
)
def test_a_discipline_in_python_does_what_its_twin_in_rust_does(config, name, own):
    rust, python = slotted.run(config, {"discipline": name}), slotted.run(config, discipline=own)
    assert_frame_equal(pl.DataFrame(python.flows), pl.DataFrame(rust.flows))
    assert_frame_equal(slot_by_slot(python), slot_by_slot(rust))


def slot_by_slot(result):
    """Who was served in each slot: Rust may skip slots, so that its rows are longer."""
    rows = pl.DataFrame(result.schedule)
    slots = rows.with_columns(slot=pl.int_ranges("start_slot", "end_slot")).explode("slot")
    return slots.select("set", "slot", "flow", "share").sort("set", "slot", "flow")


def test_operations_are_the_same_each_time_and_null_where_none_are_counted():
    config = {**SETS, "run": {"step": "slot"}}
    asked = {name: slotted.run(config, {"discipline": name}).summary for name in ("peq", "pdq", "d3")}
    asked["list"] = slotted.run(config, {"discipline": "pdq", "discipline.pdq.order": "list"}).summary
    # A search goes through all flows that are present.
    assert asked["pdq"]["operations"] == round(asked["pdq"]["present_mean"] * asked["pdq"]["slots"])
    assert 0 < asked["list"]["operations"] < asked["pdq"]["operations"] < asked["peq"]["operations"]
    assert asked["d3"]["operations"] is None
    assert slotted.run(config, discipline=lambda *_: None).summary["operations"] is None
    assert slotted.run(config, {"discipline": "peq"}).summary == asked["peq"]


def test_a_discipline_in_python_may_serve_nobody():
    result = slotted.run({"generation": LIST, "discipline": "fcfs"}, discipline=lambda *_: None)
    assert pl.DataFrame(result.flows)["sent"].sum() == 0
    assert result.summary["slots"] == max(deadline for _, deadline in FOUR)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (99, "serves flow 99, which is not there"),
        ({7: 0.5}, "serves flow 7, which is not there"),
        ({0: 0.7, 1: 0.7}, "above 1"),
        ({0: -0.1}, "from 0 to 1"),
        ({0: float("nan")}, "from 0 to 1"),
        ("first", "str"),
        (0.5, "float"),
        ([0], "list"),
        (-1, "out of range"),
    ],
    ids=str,
)
def test_answers_that_make_no_sense(answer, message):
    with pytest.raises((ValueError, TypeError, OverflowError), match=message):
        slotted.run({"generation": LIST, "discipline": "fcfs"}, discipline=lambda *_: answer)


def test_a_discipline_that_breaks_says_how():
    def broken(slot, flows):
        raise LookupError("no idea")

    with pytest.raises(LookupError, match="no idea"):
        slotted.run({"generation": LIST, "discipline": "fcfs"}, discipline=broken)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"discipline": "pdqq"}, r'discipline: "pdqq" is not one of .*"racs".* did you mean "pdq"\?'),
        ({"generation": RANDOM["generation"]}, "run.slots: is missing"),
        (
            {"generation": RANDOM["generation"], "discipline": "optimal", "run": {"slots": 10}},
            "discipline: optimal needs all flows to arrive together",
        ),
        (
            {"discipline": "optimal", "classes": [{"sizes": {"fixed": 3}, "deadlines": {"none": {}}}]},
            "optimal needs deadlines",
        ),
        (
            {"classes": [{"sizes": {"uniform": {"min": 5, "max": 3}}, "deadlines": {"fixed": 9}}]},
            "classes.0.sizes.uniform.min: 5 is above max, which is 3",
        ),
        (
            {"classes": [{"sizes": {"fixed": 5}, "deadlines": {"uniform": {"min": 8, "max": 7}}}]},
            "classes.0.deadlines.uniform.min: 8 is above max, which is 7",
        ),
        ({"classes": []}, "classes: is missing"),
        ({"generation": LIST}, "classes: a list of flows has its own sizes"),
        ({"generation": {"sets": {"flows": 0}}}, "generation.sets.flows: 0"),
        ({"run": {"slot": 5}}, 'did you mean "(slots|step)"'),
        (
            {"classes": [{"sizes": {"fixed": 198}, "deadlines": {"exponential": {"mean": 20, **REDRAW}}}]},
            "classes.0.deadlines.exponential.mean: 20 leaves fewer than .* with these sizes at least 29 is allowed",
        ),
    ],
)
def test_mistakes_name_field_and_value(config, message):
    with pytest.raises(ScenarioError, match=message):
        slotted.run({**SETS, "run": {}, **config})


def test_progress_and_the_end_by_interrupt():
    config = {**RANDOM, "run": {"slots": 1_000_000_000}}
    told = []

    def stop(slots):
        told.append(slots)
        raise KeyboardInterrupt

    result = slotted.run(config, progress=stop)
    assert result.status == "interrupted"
    assert told == [result.summary["slots"]]
    assert 0 < told[0] < 1_000_000_000
    assert pl.DataFrame(result.flows)["done"].any()

    def fail(slots):
        raise LookupError(slots)

    with pytest.raises(LookupError):
        slotted.run(config, progress=fail)


def test_pictures_have_a_panel_for_each_and_a_limit():
    runs = {
        name: slotted.run({"generation": LIST, "discipline": name}, {"run.schedule": True})
        for name in ("peq", "pdq")
    }
    picture = gantt.picture(runs, {0: "f1", 1: "f2"})
    titles = [axes.get_title(loc="left") for axes in picture.axes]
    assert titles == ["peq: 3 of 4 in time", "pdq: 2 of 4 in time"]
    labels = [label.get_text() for label in picture.axes[0].get_yticklabels()]
    assert labels == ["f1", "f2", "f2", "f3"]
    # A bar for each row of the schedule: three flows one after the other.
    bars = [(bar.get_x(), bar.get_width()) for bar in picture.axes[0].patches if isinstance(bar, Rectangle)]
    assert sorted(bars) == [(0, 3), (3, 4), (7, 10)]
    with pytest.raises(ValueError, match="360 flows; a picture shows at most 100"):
        gantt.picture({"many": slotted.run(SETS)})


class TestVerb:
    """`flowyard slotted`."""

    @pytest.fixture
    def four(self, tmp_path):
        path = tmp_path / "four.json"
        path.write_text(json.dumps({"generation": LIST, "discipline": "peq"}))
        return path

    def test_json_tables_and_picture(self, inside, four, tmp_path):
        done = inside("slotted", four, "--discipline", "peq", "--discipline", "edf", "--json", "-o", "there")
        assert (done.returncode, done.stderr) == (0, "")
        answer = json.loads(done.stdout)
        assert answer["folder"] == "there"
        shares = {name: one["application_throughput"] for name, one in answer["disciplines"].items()}
        assert shares == {"peq": 0.75, "edf": 0.5}
        assert "</svg>" in (tmp_path / "there/schedule.svg").read_text()
        for name in shares:
            saved = slotted.open(tmp_path / "there" / name)
            assert measure(pl.DataFrame(saved.flows))["application_throughput"].item() == shares[name]

    def test_the_files_own_discipline_and_overrides(self, inside, four, tmp_path):
        done = inside("slotted", four, "--set", "discipline.peq.walk=text", "--set", "run.seed=3")
        assert done.returncode == 0
        assert "results in out/four-1, the picture is schedule.svg" in done.stdout
        config = slotted.open(tmp_path / "out/four-1/peq").summary["config"]
        assert (config["discipline"]["peq"]["walk"], config["run"]["seed"]) == ("text", 3)

    def test_many_flows_have_no_picture(self, inside, tmp_path):
        (tmp_path / "sets.json").write_text(json.dumps(SETS))
        done = inside("slotted", "sets.json")
        assert done.returncode == 0
        assert "picture" not in done.stdout
        assert "left; in brackets" not in done.stdout
        assert not (tmp_path / "out/sets-1/schedule.svg").exists()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--discipline", "pdqq"], 'did you mean "pdq"?'),
            (["--set", "run.slots=0"], "run.slots: 0"),
            (["--discipline", "peq", "--discipline", "nope"], '"nope" is not one of'),
        ],
    )
    def test_mistakes_leave_nothing(self, inside, four, tmp_path, arguments, message):
        done = inside("slotted", four, *arguments)
        assert done.returncode == 2
        assert message in done.stderr
        assert "Traceback" not in done.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["four.json"]

    def test_ctrl_c_leaves_what_was_done(self, tmp_path):
        (tmp_path / "long.json").write_text(json.dumps({**RANDOM, "run": {"slots": 1_000_000_000}}))
        words = [sys.executable, "-c", STOPPED, "slotted", "long.json", "--discipline", "pdq"]
        done = subprocess.run(
            [*words, "--discipline", "peq", "-o", "stopped"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 130
        assert "Traceback" not in done.stderr
        assert sorted(path.name for path in (tmp_path / "stopped").iterdir()) == ["pdq"]
        result = slotted.open(tmp_path / "stopped/pdq")
        assert result.status == "interrupted"
        assert 0 < result.summary["slots"] < 1_000_000_000
