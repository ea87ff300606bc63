"""Every member has a page with a figure, and the numbers below the figure are those of the page's own example."""

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
IMAGES = DOCS / "images" / "members"
# Larger ones would show more than can be seen.
LARGEST = 40_000


def tool() -> Any:
    """tools/member_figures.py, which imports its neighbours."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return importlib.import_module("member_figures")
    finally:
        sys.path.pop(0)


made = tool()
FIGURES = {figure.name: figure for figure in made.FIGURES}


def members(definition: str) -> set[str]:
    """The names in a list of members."""
    schema: dict[str, Any] = fy.schema()["$defs"][definition]
    return {name for choice in schema["oneOf"] for name in choice.get("properties", {})}


# A page by itself; those of TCP's that have none are on its page, prototypes have a how-to, and RoCE has a page
# without a figure, of what its controls share.
CONTROLS = members("Congestion") | members("RateControl")
TRANSPORTS = (members("Transport") | CONTROLS | {"pias"}) - {"newreno", "reno", "python", "roce"}


@pytest.mark.parametrize("name", sorted(TRANSPORTS))
def test_each_transport_has_a_page_with_a_figure(name):
    page = DOCS / "transports" / f"{name}.md"
    assert f"](../images/members/{name}.svg)" in page.read_text(encoding="utf-8")
    assert DOCS / FIGURES[name].page == page


def test_each_page_of_a_transport_is_of_one():
    assert {page.stem for page in (DOCS / "transports").glob("*.md")} - {"README", "roce"} == TRANSPORTS


@pytest.mark.parametrize("name", sorted(members("Queue") - {"python"}))
def test_each_queue_has_a_page_with_a_figure(name):
    page = DOCS / "queues" / f"{name}.md"
    assert f"](../images/members/queue-{name}.svg)" in page.read_text(encoding="utf-8")
    assert DOCS / FIGURES[f"queue-{name}"].page == page
    assert f"| [`{name}`](queues/{name}.md) |" in (DOCS / "queues.md").read_text(encoding="utf-8")


# Paths in the scenario, paths from a controller, and prototypes have no place beside the others.
@pytest.mark.parametrize("name", sorted(members("Balancer") - {"python", "granted"}))
def test_each_balancer_is_described_and_compared(name):
    assert f"| `{name}` |" in (DOCS / "routing.md").read_text(encoding="utf-8")
    assert (name in FIGURES["balancers"].variants) == (name != "explicit")


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
    assert {path.stem for path in IMAGES.iterdir()} == set(FIGURES)
    assert len(FIGURES) == len(made.FIGURES)


@pytest.mark.parametrize("figure", made.FIGURES, ids=list(FIGURES))
def test_the_sentence_has_the_numbers_of_the_example(figure):
    text = (DOCS / figure.page).read_text(encoding="utf-8")
    assert made.placed(figure, text, made.sentence(figure, made.run(figure))) == text, "make member-figures"


@pytest.mark.parametrize("path", sorted(IMAGES.glob("*.svg")), ids=lambda path: path.stem)
def test_a_picture_is_small_and_can_be_drawn(path):
    assert path.stat().st_size < LARGEST
    # Lines, not only a frame.
    assert len(ElementTree.parse(path).findall(".//{http://www.w3.org/2000/svg}path")) > 5
