"""Every member has a page with a figure, and the numbers below the figure are those of the page's own example."""

import functools
import importlib
import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import flowyard as fy

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# Larger ones would show more than can be seen.
LARGEST = 40_000


def tool(name: str = "member_figures") -> Any:
    """A file of tools, which imports its neighbours."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


made = tool()
FIGURES = {figure.name: figure for figure in made.FIGURES}


@functools.cache
def results(name: str) -> Any:
    """The runs of a figure: its sentence and its picture are both made of them."""
    return made.run(FIGURES[name])


def members(definition: str) -> set[str]:
    """The names in a list of members."""
    schema: dict[str, Any] = fy.schema()["$defs"][definition]
    return {name for choice in schema["oneOf"] for name in choice.get("properties", {})}


# A page by itself; those of TCP's that have none are on its page, as is DCQCN of the HPCC simulator on DCQCN's;
# prototypes have a how-to, and RoCE has a page without a figure, of its controls' common fields.
CONTROLS = members("Congestion") | members("RateControl")
TRANSPORTS = (members("Transport") | CONTROLS | {"pias", "ictcp"}) - {
    *("newreno", "reno", "python", "roce", "dcqcn-hpcc", "line-rate")
}


@pytest.mark.parametrize("name", sorted(TRANSPORTS))
def test_each_transport_has_a_page_with_a_figure(name):
    page = DOCS / "transports" / f"{name}.md"
    assert made.title(FIGURES[name]) in page.read_text(encoding="utf-8")
    assert DOCS / FIGURES[name].page == page


def test_each_page_of_a_transport_is_of_one():
    assert {page.stem for page in (DOCS / "transports").glob("*.md")} - {
        "README",
        "roce",
        "which-tcp",
    } == TRANSPORTS


@pytest.mark.parametrize("name", sorted(members("Queue") - {"python"}))
def test_each_queue_has_a_page_with_a_figure(name):
    page = DOCS / "queues" / f"{name}.md"
    assert made.title(FIGURES[f"queue-{name}"]) in page.read_text(encoding="utf-8")
    assert DOCS / FIGURES[f"queue-{name}"].page == page
    assert f"| [`{name}`](queues/{name}.md) |" in (DOCS / "queues.md").read_text(encoding="utf-8")


# Paths in the scenario, paths from a controller, and prototypes have no place here. CONGA, ConWeave and Hermes have two
# tiers.
@pytest.mark.parametrize("name", sorted(members("Balancer") - {"python", "granted"}))
def test_each_balancer_is_described_and_compared(name):
    assert f"| `{name}` |" in (DOCS / "routing.md").read_text(encoding="utf-8")
    assert (name in FIGURES["balancers"].variants) == (
        name not in {"explicit", "conga", "conweave", "hermes"}
    )


@pytest.mark.parametrize("name", sorted(members("Controller")))
def test_each_controller_has_a_section_and_is_in_a_figure(name):
    text = (DOCS / "control.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {name}$", text, re.MULTILINE | re.IGNORECASE)
    figures = [figure for figure in made.FIGURES if figure.page == "control.md"]
    drawn = [
        made.changed(made.example(figure), change)
        for figure in figures
        for change in figure.variants.values()
    ]
    assert any(name in scenario.get("controller", {}) for scenario in drawn)


def test_figures_are_those_of_the_list():
    pages = [page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md")]
    named = [
        name for page in pages for name in re.findall(r"^\*\*Figure ([a-z0-9-]+)\*\* \(drawn", page, re.M)
    ]
    assert sorted(named) == sorted([*FIGURES, "measuring-p99", "why-slow-flow", "why-slow-port"])
    assert len(FIGURES) == len(made.FIGURES)


@pytest.mark.parametrize("figure", made.FIGURES, ids=list(FIGURES))
def test_the_sentence_has_the_numbers_of_the_example(figure):
    text = (DOCS / figure.page).read_text(encoding="utf-8")
    assert made.placed(figure, text, made.sentence(figure, results(figure.name))) == text, (
        "make member-figures"
    )


@pytest.mark.parametrize("figure", made.FIGURES, ids=list(FIGURES))
def test_a_picture_is_small_and_has_lines(figure):
    drawn = made.picture(figure, results(figure.name))
    assert len(drawn) < LARGEST
    # Lines, not only a frame.
    assert len(ElementTree.fromstring(drawn).findall(".//{http://www.w3.org/2000/svg}path")) > 5


def test_the_picture_of_measuring_is_drawn_from_its_numbers(monkeypatch, tmp_path):
    measuring = tool("measuring_figure")
    monkeypatch.setattr(measuring, "PICTURE", tmp_path / "picture.svg")
    measuring.draw()
    paths = ElementTree.parse(tmp_path / "picture.svg").findall(".//{http://www.w3.org/2000/svg}path")
    assert len(paths) > 20
