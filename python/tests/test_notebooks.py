"""What Python and notebooks get of results: tables for other libraries, HTML, progress without a callback."""

import copy
import io
import json
import re
import sys
from html.parser import HTMLParser
from types import ModuleType, SimpleNamespace
from typing import Any

import polars as pl
import pytest

import flowyard as fy
from flowyard import table
from flowyard.errors import UserError
from flowyard.terminal import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Reader(HTMLParser):
    """The text of a piece of HTML, and what was opened and not closed."""

    def __init__(self, markup):
        super().__init__()
        self.found: list[str] = []
        self.opened: list[str] = []
        self.feed(markup)

    def handle_data(self, data):
        self.found.append(data)

    def handle_starttag(self, tag, attrs):
        self.opened.append(tag)

    def handle_endtag(self, tag):
        self.opened.remove(tag)


def words(markup):
    """The text of a piece of HTML, in which every element that is opened is closed."""
    read = Reader(markup)
    assert not read.opened
    return " ".join(" ".join(read.found).split())


def module(name, **members):
    made = ModuleType(name)
    vars(made).update(members)
    return made


def test_tables_go_to_other_libraries(result):
    frame = result.flows.to_polars()
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == result.flows.columns
    pd = pytest.importorskip("pandas")
    pa = pytest.importorskip("pyarrow")
    as_pandas, as_arrow = result.flows.to_pandas(), result.flows.to_arrow()
    assert isinstance(as_pandas, pd.DataFrame)
    assert isinstance(as_arrow, pa.Table)
    assert as_pandas["fct_ps"].tolist() == as_arrow["fct_ps"].to_pylist() == frame["fct_ps"].to_list()
    assert as_arrow.schema.field("fct_ps").metadata[b"unit"] == b"ps"


def test_integers_of_pandas_are_signed():
    pytest.importorskip("pandas")
    pa = pytest.importorskip("pyarrow")
    columns = {
        "few": pa.array([1, 2], pa.uint64()),
        "host": pa.array([0, 7], pa.uint32()),
        "most": pa.array([2**63 - 1, 0], pa.uint64()),
        "missing": pa.array([3, None], pa.uint64()),
        "share": pa.array([0.5, 1.0]),
    }
    as_pandas = table.Table(pa.table(columns)).to_pandas()
    kinds = {name: str(kind) for name, kind in as_pandas.dtypes.items()}
    assert kinds == {
        "few": "int64", "host": "int64", "most": "int64", "missing": "float64", "share": "float64",
    }  # fmt: skip
    assert list(as_pandas["few"] - as_pandas["host"]) == [1, -5]
    assert as_pandas["most"][0] == 2**63 - 1
    empty = table.Table(pa.table({"few": pa.array([], pa.uint64())})).to_pandas()
    assert str(empty.dtypes["few"]) == "int64"


@pytest.mark.parametrize(
    ("method", "absent", "wanted"),
    [
        ("to_pandas", "pandas", "pandas pyarrow"),
        ("to_pandas", "pyarrow", "pandas pyarrow"),
        ("to_arrow", "pyarrow", "pyarrow"),
    ],
)
def test_a_library_that_is_not_there_is_named(result, monkeypatch, method, absent, wanted):
    def only_some(name):
        if name == absent:
            raise ModuleNotFoundError(name)
        return module(name, DataFrame=object)

    monkeypatch.setattr(table, "import_module", only_some)
    with pytest.raises(
        ImportError, match=f"{method} needs a package that is not here: pip install {wanted}$"
    ):
        getattr(result.flows, method)()


def test_results_are_written_where_a_text_says(result, tmp_path):
    (tmp_path / "mine").mkdir()
    result.write(str(tmp_path / "mine"))
    opened = fy.open(str(tmp_path / "mine"))
    assert isinstance(opened, fy.Result)
    assert opened.flows.to_polars().equals(result.flows.to_polars())


def test_a_notebook_shows_what_there_is(result, small, tmp_path):
    said = words(result._repr_html_())
    assert "flows completed 4 of 4" in said
    assert "flows (4 rows), links (8 rows)" in said
    assert "fct_ps" in words(result.flows._repr_html_())
    assert "4 rows, " in words(result.flows._repr_html_())
    plan = fy.Plan(small, [fy.Axis("<b>", {"run.seed": [1, 2]})], replicas=2, name="<i>mine")
    sweep = fy.sweep(plan, tmp_path / "swept")
    assert words(sweep._repr_html_()).startswith("<i>mine runs 4 of 4 replicas 2 <b> 1, 2 folder ")
    # The points with their means: two values of the axis, both replicas done.
    assert words(sweep._repr_html_()).count("2 of 2") == 2
    scenario = fy.Scenario(
        topology=fy.SingleSwitch(hosts=4),
        transport=fy.Ndp(initial_window=7),
        traffic=[fy.Entry(name="<u>", arrivals="at-once", matrix="permutation", sizes=fy.Fixed("1KB"))],
    )
    shown = scenario._repr_html_()
    assert "initial_window = 7" in words(shown)
    assert not re.search("<[biu]>", shown + sweep._repr_html_())
    # Any part has one; a plain value has not.
    assert "initial_window = 7" in words(fy.Ndp(initial_window=7)._repr_html_())


def test_a_notebook_shows_the_advice_on_a_checked_scenario(small):
    checked: Any = fy.check(small, {"transport": "tcp"})
    said = words(checked._repr_html_())
    for piece in fy.results.outlook(small, {"transport": "tcp"}).advice:
        assert piece["message"] in said
        assert piece["write"] in said
    assert "rto_initial" in said
    assert "measured: the whole run" in said
    # Elsewhere it is plain data.
    assert checked == json.loads(json.dumps(checked))
    assert type(copy.deepcopy(checked)) is dict


# Progress.


@pytest.fixture
def stderr(monkeypatch):
    """Takes the place of stderr."""

    def put(stream):
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return put


@pytest.fixture
def cell(monkeypatch):
    """What a notebook shows under a cell, one text after the other."""
    shown = []

    def display(data, **options):
        assert options == {"raw": True, "display_id": True}
        shown.append(data["text/plain"])
        return SimpleNamespace(update=lambda data, **_: shown.append(data["text/plain"]))

    ipython = module("IPython", get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", module("IPython.display", display=display))
    return shown


@pytest.fixture
def until_shown(long, monkeypatch):
    """Runs a long scenario until its progress has been shown once, however fast the machine is."""
    row = progress.Display.row

    def row_that_ends(display, name):
        advance = row(display, name)

        def advance_and_end(now):
            advance(now)
            raise KeyboardInterrupt

        return advance_and_end

    def run():
        with monkeypatch.context() as patch:
            patch.setattr(progress.Display, "row", row_that_ends)
            result = fy.run(long)
        assert result.summary["status"] == "interrupted"

    return run


def test_a_run_says_how_far_it_is_to_who_waits_at_a_terminal(small, until_shown, stderr, monkeypatch):
    terminal = stderr(Terminal())
    fy.run(small)
    assert terminal.getvalue() == ""
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    until_shown()
    assert "ms simulated" in terminal.getvalue()
    assert "long" in terminal.getvalue()


def test_nobody_else_is_told(small, stderr, monkeypatch, tmp_path):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "PLAIN_EVERY", 0.0)
    elsewhere = stderr(io.StringIO())
    # Long enough for news, every 200 ms, on most machines.
    fy.run(small, {"traffic.few.sizes.fixed": "1GB"})
    fy.sweep(fy.Plan(small, replicas=5), tmp_path / "out")
    assert elsewhere.getvalue() == ""


def test_a_cell_of_a_notebook_is_told_after_a_second(small, until_shown, stderr, monkeypatch, cell):
    file = stderr(io.StringIO())
    fy.run(small)
    assert cell == []
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    until_shown()
    assert cell[0] == ""
    assert re.match(r"long: (?:< 1|\d+)%, (?:[\d,]+ \w+ )+left, [\d.]+ ms simulated", cell[1])
    # The line goes with the run.
    assert cell[-1] == ""
    assert file.getvalue() == ""


def test_a_sweep_is_told_of_the_same_way(small, stderr, monkeypatch, cell, tmp_path):
    stderr(io.StringIO())
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress.Overall, "LIVE_EVERY", 0.0)
    fy.sweep(fy.Plan(small, replicas=3, name="mine"), tmp_path / "out", workers=1)
    assert "mine: 33%, 1 of 3 runs, " in "".join(cell)
    assert cell[-1] == ""


def test_a_shell_of_ipython_is_no_notebook(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", module("IPython", get_ipython=object))
    assert not progress.in_notebook()


# Sweeps.


def test_a_sweep_in_python_has_parts(small, tmp_path):
    plan = fy.Plan(small, replicas=5)
    parts = [set(fy.sweep(plan, tmp_path / str(i), shard=(i, 2)).statuses) for i in (0, 1, 2)]
    assert parts[0] == parts[2]
    assert (len(parts[1]), len(parts[2]), len(parts[1] | parts[2])) == (3, 2, 5)


@pytest.mark.parametrize("shard", [(3, 2), (-1, 2), (0, 0), (1.0, 2)])
def test_a_part_that_is_none_is_refused(small, tmp_path, shard):
    with pytest.raises(UserError, match="use \\(i, n\\) with i from 1 to n"):
        fy.sweep(fy.Plan(small), tmp_path / "out", shard=shard)
    assert not (tmp_path / "out").exists()


def test_a_cluster_has_its_own_workers(small, tmp_path):
    with pytest.raises(UserError, match="give workers or dask"):
        fy.sweep(fy.Plan(small), tmp_path / "out", workers=2, dask="tcp://127.0.0.1:1")
    pytest.importorskip("distributed")
    with pytest.raises(UserError, match="no scheduler answers"):
        fy.sweep(fy.Plan(small), tmp_path / "out", dask="tcp://127.0.0.1:1")
