"""Results: tables for any Arrow consumer, a summary, and a folder that gives both back."""

import copy
import json
import os
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import polars as pl
import pytest

import flowyard as fy
from flowyard import results
from flowyard.analysis import by_size, flow_goodput, jain, measured
from flowyard.errors import UserError
from flowyard.report.run.summary import summary_table
from flowyard.run_data import Run
from flowyard.table import read_frame


def scenario(**fields):
    entry = fy.Entry(name="few", arrivals="at-once", matrix="permutation", sizes=fy.Fixed("10KB"))
    return fy.Scenario(topology=fy.SingleSwitch(hosts=4), transport=fy.Ndp(), traffic=[entry], **fields)


def test_objects_files_and_plain_data_are_the_same_scenario(small, result):
    digests = {
        fy.run(source).summary["digest"] for source in (small, str(small), scenario(), scenario().to_dict())
    }
    assert digests == {result.summary["digest"]}


def test_overrides_reach_the_scenario(small):
    changed = fy.run(small, {"run.seed": 7, "transport.ndp.initial_window": 3, "run.audit": True})
    assert changed.summary["seed"] == 7
    assert changed.summary["scenario"]["transport"]["ndp"]["initial_window"] == 3
    assert changed.violations == []


def test_the_summary_says_what_was_run_and_what_it_cost(result):
    assert result.status == "complete"
    assert result.summary["flowyard"] == fy.__version__
    counters = result.summary["counters"]
    assert counters["unfinished_flows"] == 0
    assert counters["wall_s"] > 0
    assert counters["cpu_s"] >= 0
    assert counters["peak_memory_bytes"] > 1_000_000
    assert result.summary["definitions"]["flows"]["fct_ps"].startswith("Flow completion time")


def test_a_run_goes_by_its_name_or_that_of_its_file(result, small):
    assert result.summary["scenario"]["name"] == "small"
    assert fy.run(small, {"name": "mine"}).summary["scenario"]["name"] == "mine"
    assert "name" not in fy.run(scenario()).summary["scenario"]


def test_the_summary_keeps_when_and_how_it_was_asked_for(small, monkeypatch):
    changes = {"run.seed": 2, "transport.ndp.initial_window": "8"}
    monkeypatch.setattr(time, "gmtime", lambda: time.struct_time((2026, 2, 3, 4, 5, 6, 1, 34, 0)))
    first = fy.run(small, changes)
    head = ["started", "command", "overrides"]
    assert list(first.summary)[:3] == head
    assert [first.summary[name] for name in head] == [
        "2026-02-03T04:05:06Z",
        None,
        {"run.seed": "2", "transport.ndp.initial_window": "8"},
    ]
    monkeypatch.undo()
    second = fy.run(fy.check(small, changes))
    assert second.summary["started"] > first.summary["started"]
    assert second.summary["overrides"] == {}
    # When and how is no part of the results.
    assert second.summary["digest"] == first.summary["digest"]


def test_every_problem_is_in_the_exception(small):
    with pytest.raises(fy.ScenarioError) as caught:
        fy.check(small, {"transport.ndp.mtu": "10 parsecs", "run.sead": 3})
    paths = {problem["path"] for problem in caught.value.problems}
    assert paths == {"transport.ndp.mtu", "run.sead"}
    assert all(path in str(caught.value) for path in paths)


def test_polars_reads_the_tables(result):
    flows = pl.DataFrame(result.flows)
    assert flows.columns == result.flows.columns
    assert flows["size_bytes"].to_list() == [10_000] * 4
    assert flows["completed"].all()
    assert flows["tag"].cast(pl.String).unique().to_list() == ["few"]
    assert flows["deadline_ps"].null_count() == 4
    assert len(pl.DataFrame(result.links)) == len(result.links) == 8


def test_pyarrow_reads_the_tables_with_units_and_meanings(result):
    pa = pytest.importorskip("pyarrow")
    flows = pa.table(result.flows)
    assert flows.schema.field("fct_ps").metadata[b"unit"] == b"ps"
    assert flows.schema.metadata[b"flowyard.digest"].decode() == result.summary["digest"]
    flows.validate(full=True)


def test_pandas_reads_the_tables(result):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    flows = pd.DataFrame.from_arrow(result.flows)
    assert flows["size_bytes"].sum() == 40_000


def test_pandas_reads_two_entries_of_one_transport():
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    two = scenario().to_dict()
    (entry,) = two["traffic"]
    flows = fy.run(two | {"traffic": [entry, entry | {"name": "more"}]}).flows.to_pandas()
    assert flows["transport"].unique().tolist() == ["ndp"]
    assert flows["tag"].value_counts().to_dict() == {"few": 4, "more": 4}


def test_duckdb_reads_the_tables(result):
    duckdb = pytest.importorskip("duckdb")
    flows = result.flows  # noqa: F841 (duckdb finds it by its name)
    assert duckdb.sql("select sum(size_bytes), max(slowdown) >= 1 from flows").fetchall() == [(40_000, True)]


def test_a_table_outlives_its_result(small):
    flows = fy.run(small).flows
    assert pl.DataFrame(flows).equals(pl.DataFrame(flows))


def test_a_folder_gives_everything_back(result, tmp_path):
    folder = result.save(tmp_path / "run")
    assert sorted(path.name for path in folder.iterdir()) == ["flows.parquet", "links.parquet", "run.json"]
    again = fy.open_run(folder)
    assert again.summary == result.summary
    for name in results.TABLES:
        assert pl.DataFrame(getattr(again, name)).equals(pl.DataFrame(getattr(result, name)))
    # Others read the files without us.
    assert pl.read_parquet(folder / "flows.parquet").equals(pl.DataFrame(result.flows))


def test_parquet_files_say_where_they_come_from(result, tmp_path):
    folder = result.save(tmp_path / "run")
    metadata = pl.read_parquet_metadata(folder / "flows.parquet")
    assert metadata["flowyard.digest"] == result.summary["digest"]
    assert metadata["flowyard.version"] == fy.__version__
    assert metadata["flowyard.seed"] == "1"


CASES = {
    "one burst": {"traffic.all.arrivals": "at-once"},
    "none complete": {"run.until": "1us"},
    "three size groups": {
        "traffic.all.arrivals": {"poisson": {"load": 0.3}},
        "traffic.all.matrix": "uniform",
        "traffic.all.sizes": "web-search",
        "traffic.all.flows": 300,
    },
    "with deadlines": {"traffic.all.deadline": "100us"},
}


@pytest.mark.parametrize("changes", CASES.values(), ids=CASES)
def test_the_completion_of_run_json_is_that_of_the_tables(changes):
    scenario = {
        "topology": {"single-switch": {"hosts": 8}},
        "transport": "ndp",
        "traffic": [
            {"name": "all", "arrivals": "at-once", "matrix": "permutation", "sizes": {"fixed": "9KB"}}
        ],
    }
    result = fy.run(scenario, changes)
    flows = measured(result.flows)
    expected = by_size(flows, intervals=True)
    found = result.summary["completion"]
    due = flows["deadline_ps"].count()
    assert [row["group"] for row in found] == expected["group"].to_list()
    assert found[-1]["due"] == due
    for row, given in zip(
        found, expected.drop("group", "completed_fraction").iter_rows(named=True), strict=True
    ):
        for name, value in given.items():
            assert row[name] == (value if value is None else pytest.approx(value, rel=1e-9)), name
    assert result.summary["measured"]["goodput_bps"] == pytest.approx(Run.of(result).goodput_bps, rel=1e-9)


def test_the_run_json_of_a_run_takes_another_transport(tmp_path):
    """Its traffic entries have the transport of the scenario written out: a change of that is one of theirs."""
    flows = {"arrivals": "at-once", "matrix": "permutation", "sizes": {"fixed": "20KB"}}
    entries = [{**flows, "name": "own"}, {**flows, "name": "other", "transport": "datagram"}]
    network = {"leaf-spine": {"leaves": 2, "spines": 2, "hosts": 2}}
    whole = {"topology": network, "transport": "tcp", "queue": "drop-tail", "traffic": entries}
    folder = fy.run(whole).save(tmp_path / "run")
    again = fy.run(folder / "run.json")
    assert again.summary["digest"] == fy.open_run(folder).summary["digest"]
    other = fy.run(folder / "run.json", {"transport": {"tcp": {"congestion": "cubic"}}})
    assert [list(entry["transport"]) for entry in other.summary["scenario"]["traffic"]] == [
        ["tcp"],
        ["datagram"],
    ]
    assert "cubic" in other.summary["scenario"]["traffic"][0]["transport"]["tcp"]["congestion"]
    paths = fy.run(folder / "run.json", {"routing.balancer": "per-packet"}).summary["scenario"]
    assert all(entry["routing"]["balancer"] == {"per-packet": {}} for entry in paths["traffic"])


def test_run_json_is_the_summary(result, tmp_path):
    assert json.loads((result.save(tmp_path / "run") / "run.json").read_text()) == result.summary


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda folder: (folder / "links.parquet").unlink(), "links.parquet is missing"),
        (lambda folder: (folder / "run.json").write_text("{"), "run.json: not JSON"),
        (lambda folder: (folder / "flows.parquet").write_text("PAR?"), "run"),
    ],
)
def test_a_broken_folder_is_named(result, tmp_path, break_it, message):
    folder = result.save(tmp_path / "run")
    break_it(folder)
    with pytest.raises(UserError, match=message):
        fy.open_run(folder)


def test_progress_may_end_a_run_with_what_there_is(long):
    seen = []

    def stop(progress):
        seen.append(progress)
        raise KeyboardInterrupt

    result = fy.run(long, progress=stop)
    assert result.status == "interrupted"
    assert len(seen) == 1
    assert seen[0]["packet_hops"] > 0
    flows = pl.DataFrame(result.flows)
    assert len(flows) == seen[0]["flows"]
    assert not flows["completed"].all()
    assert flows.filter(~pl.col("completed"))["fct_ps"].null_count() == (~flows["completed"]).sum()


def test_another_exception_of_progress_is_passed_on(long):
    def fail(_):
        raise ZeroDivisionError("in the callback")

    with pytest.raises(ZeroDivisionError, match="in the callback"):
        fy.run(long, progress=fail)


def test_python_runs_on_during_a_run(long):
    ticks = 0

    def stop(_):
        # This thread counts while the simulator works: it needs the lock that the run has released.
        if ticks > 100:
            raise KeyboardInterrupt

    thread = threading.Thread(target=lambda: fy.run(long, progress=stop))
    thread.start()
    while thread.is_alive() and ticks < 10_000_000:
        ticks += 1
    thread.join()
    assert ticks > 100


def test_threads_that_read_tables_leave_stderr_where_it_was(result, tmp_path, capfd):
    file = result.save(tmp_path / "out") / "flows.parquet"
    before = os.fstat(2)
    for _ in range(5):
        with ThreadPoolExecutor(8) as threads:
            assert len({table.height for table in threads.map(read_frame, [file] * 40)}) == 1
        assert os.path.samestat(os.fstat(2), before)
    os.write(2, b"still here")
    assert capfd.readouterr().err == "still here"


def mistake(call, *words):
    """The message on a mistake, which is none of Python's own."""
    with pytest.raises((UserError, AttributeError, TypeError)) as refused:
        call()
    assert all(word in str(refused.value) for word in words), str(refused.value)


def test_fields_are_set_under_the_name_that_comparisons_have(small):
    run = fy.run(small, {"run.seed": 3}, set={"traffic.few.flows": 2})
    assert (run.summary["seed"], len(run.flows)) == (3, 2)
    assert fy.check(small, set={"run.seed": 5})["run"]["seed"] == 5


def test_what_is_no_argument_is_named_with_the_one_that_is(small, result, tmp_path):
    wrong: Any = fy
    mistake(
        lambda: wrong.run(small, "outdir"), "overrides: 'outdir'; use values by the path", "result.save(DIR)"
    )
    mistake(lambda: wrong.check(small, set=["a"]), "overrides: ['a']")
    mistake(lambda: fy.run(small.read_text()), "a text of several lines, and no file", "tomllib.loads(text)")
    mistake(lambda: fy.run("-"), "standard input is not read")
    mistake(lambda: result.write(tmp_path / "x"), "x: no such folder", "save makes one")
    mistake(lambda: wrong.Axis("load", [0.2, 0.4]), "axis load: [0.2, 0.4]; use lists of values by the path")
    mistake(lambda: wrong.Plan(small, {"load": [0.2]}), "axes: {'load': [0.2]}; use a list, as in [fy.Axis(")
    mistake(lambda: wrong.Plan(small, ["load"]), "axes: ['load']; use a list")
    mistake(
        lambda: fy.compare(small, "ndp", tmp_path / "c"), "compare transport: 'ndp' is one value; use a list"
    )
    mistake(lambda: jain(result.flows), "takes a column of polars, and not a Table", "flow_goodput(measured(")
    assert jain(flow_goodput(measured(result.flows))) == pytest.approx(1.0, abs=0.2)
    assert list(tmp_path.iterdir()) == [tmp_path / "small.toml"]


def test_a_table_names_the_way_to_a_table_of_a_library(result):
    mistake(lambda: result.flows.head(), "a Table has no head; take it", ".to_polars().head")
    mistake(lambda: result.flows["fct_ps"], "a Table has no items", ".to_polars()['fct_ps']")
    mistake(lambda: result.flows.fct_ps, "did you mean the column .to_polars()['fct_ps']?")
    mistake(lambda: result.flows.fct, "did you mean the column .to_polars()['fct_ps']?")
    mistake(lambda: result.flows.to_csv, ".to_pandas().to_csv")
    mistake(lambda: result.flows.nonsense, "by to_polars() or to_pandas(); columns are id, ")
    loose: Any = result
    mistake(lambda: loose.fct_ps, "did you mean result.flows.to_polars()['fct_ps']?")
    mistake(lambda: loose.p99, """result.summary["completion"][-1]["fct_p99_ps"]""")
    mistake(lambda: loose.goodput, """result.summary["measured"]["goodput_bps"]""")
    mistake(lambda: loose.report, "flowyard report DIR")
    mistake(lambda: loose.nonsense, "its tables are flows and links")
    with pytest.raises(KeyError) as missing:
        result.summary["fct_p99"]
    assert """did you mean summary["completion"][-1]["fct_p99_ps"]""" in str(missing.value)
    with pytest.raises(KeyError, match="keys are started, "):
        result.summary["nonsense"]
    # What libraries ask for is only not there.
    assert not hasattr(result.flows, "__dataframe__")
    assert copy.copy(result.flows).columns == result.flows.columns


def test_every_hint_on_a_table_and_a_summary_is_true(result):
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    assert len(result.flows.to_polars()["fct_ps"]) == len(result.flows)
    assert "fct_ps" in result.flows.to_pandas().to_csv()
    assert result.summary["completion"][-1]["fct_p99_ps"] > 0
    assert result.summary["measured"]["goodput_bps"] > 0


def test_pandas_takes_a_table_as_it_is(result):
    pandas = pytest.importorskip("pandas")
    frame, own = pandas.DataFrame(result.flows), result.flows.to_polars()
    assert list(frame.columns) == own.columns
    assert frame["fct_ps"].to_list() == own["fct_ps"].to_list()
    assert frame["tag"].to_list() == own["tag"].cast(pl.String).to_list()
    assert frame["completed"].to_list() == own["completed"].to_list()
    # Nor has the way of others changed.
    assert pl.DataFrame(result.flows).equals(own)


def test_whole_numbers_are_signed_in_pandas(result):
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame, own = result.flows.to_pandas(), result.flows.to_polars()
    # No packet is retransmitted, and some are sent: an unsigned difference would be near 2^32 or 2^64.
    assert (frame.retransmissions - frame.packets_sent).max() < 0
    assert not [name for name, kind in frame.dtypes.items() if str(kind).lower().startswith("uint")]
    assert frame.fct_ps.to_list() == own["fct_ps"].to_list()


def test_options_of_the_command_line_name_the_field(small):
    wrong: Any = fy
    mistake(lambda: wrong.run(small, seed=3), "run has no argument seed", '{"run.seed": 3}')
    mistake(lambda: wrong.run(small, threads=2), '{"run.threads": 2}')
    assert fy.run(small, {"run.seed": 3}).summary["seed"] == 3


def test_a_scenario_in_place_of_a_sweep_names_the_plan(small, tmp_path):
    mistake(
        lambda: fy.sweep(small, tmp_path / "s"), "is a scenario, not a sweep: fy.sweep(fy.Plan(", "fy.Axis("
    )
    axes = [fy.Axis("seed", {"run.seed": [1, 2, 3]})]
    assert fy.sweep(fy.Plan(small, axes=axes), tmp_path / "s").complete


def test_modules_for_results_are_there_at_once(tmp_path, result):
    assert callable(fy.why.why)
    assert callable(fy.report.write)
    assert callable(fy.interchange.from_networkx)
    folder = result.save(tmp_path / "run")
    assert fy.why.why(folder, 0).fct_ps == fy.why.why(fy.open(folder), 0).fct_ps


def test_counts_of_the_whole_run_stand_apart_from_results_of_a_window(result):
    rows = [name for name, _ in summary_table(result, "run").rows]
    assert "counts of the whole run" not in rows
    arrivals = {"traffic.few.arrivals": {"poisson": {"load": 0.3}}, "traffic.few.flows": 200}
    rows = [name for name, _ in summary_table(fy.run(scenario(), arrivals), "run").rows]
    apart = rows.index("counts of the whole run")
    assert rows.index("goodput") < apart < rows.index("drops, trims, marks")


def test_a_summary_is_a_dict_that_is_copied_and_written_as_one(result):
    assert json.loads(json.dumps(result.summary)) == dict(result.summary)
    assert copy.deepcopy(result.summary) == pickle.loads(pickle.dumps(result.summary)) == result.summary


def test_a_column_is_explained_by_its_name():
    assert fy.explain("slowdown") == {
        "flows": [column for column in fy.explain()["flows"] if column["name"] == "slowdown"]
    }
    assert set(fy.explain("time_ps")) >= {"samples", "events"}
    mistake(lambda: fy.explain("slowdwn"), "no column slowdwn; did you mean slowdown")
