"""The page on why a p99 is larger works: it is followed to the letter, and its pictures and pages are drawn."""

import importlib.util
from pathlib import Path
from typing import Any

import pages
import polars as pl

import flowyard as fy


def tool() -> Any:
    """tools/watch_pages.py as a module."""
    specification = importlib.util.spec_from_file_location("watch_pages", pages.ROOT / "tools/watch_pages.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


watch_pages = tool()


def test_the_page(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    pages.follow(watch_pages.HOW_TO, work, pages.environment(tmp_path / "bin"))
    for name in ("flow.svg", "port.svg", "both.html"):
        assert (work / name).stat().st_size > 10_000
    # Its sentences on the medians, the p99 and the remedy.
    fct = {}
    for run in ("ndp", "dctcp", "two"):
        flows = pl.read_parquet(work / run / "flows.parquet").filter("measured")["fct_ps"]
        fct[run] = flows.quantile(0.99, "linear") or 0.0
    assert round(fct["dctcp"] / fct["ndp"], 1) == 7.6
    assert fct["two"] < 1e9
    lost = pl.read_parquet(work / "two" / "flows.parquet")
    assert lost.filter(tag="answers")["timeouts"].sum() == 0


def test_it_is_long_enough() -> None:
    kinds = [kind for block in pages.blocks(watch_pages.HOW_TO) for kind in block.words]
    assert (kinds.count("run"), kinds.count("output"), kinds.count("file")) == (6, 4, 1)


def test_the_pictures_of_the_page() -> None:
    assert watch_pages.block(watch_pages.HOW_TO, "rack.toml").startswith('name = "rack"')
    made = watch_pages.pictures()
    assert set(made) == {"why-slow-flow", "why-slow-port"}
    assert all(picture.startswith("<svg") for picture in made.values())


def test_the_pages_to_watch_show_their_subject() -> None:
    counters = {name: fy.run(scenario()).summary["counters"] for name, scenario in watch_pages.PAGES.items()}
    assert counters["incast-tcp"]["drops"] > 0
    assert counters["incast-ndp"]["trims"] > 0
    assert counters["pauses"]["pauses"] > 0
    assert counters["pauses"]["drops"] == 0
    flows = fy.run(watch_pages.front_back()).flows.to_polars()
    assert flows["completed"].all()
