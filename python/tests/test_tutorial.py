"""The tutorial works: it is followed to the letter, and what it shows is what comes out."""

import os
import shutil
from pathlib import Path

import pages
import pytest

PAGE = pages.ROOT / "docs" / "tutorial.md"
PICTURES = {"fct.png": "tutorial-fct.png", "loads.png": "tutorial-loads.png"}


def test_the_tutorial(tmp_path: Path) -> None:
    # matplotlib's comparison asks for a cache folder when it is imported.
    from matplotlib.testing.compare import compare_images

    work = tmp_path / "work"
    work.mkdir()
    pages.follow(PAGE, work, pages.environment(tmp_path / "bin"))
    for made, shown in PICTURES.items():
        committed = pages.ROOT / "docs" / "images" / shown
        if os.environ.get("FLOWYARD_PICTURES") == "write":
            shutil.copy(work / made, committed)
        # The root mean square of the differences of colours, 0 to 255.
        assert compare_images(str(committed), str(work / made), tol=5) is None


def test_it_is_long_enough() -> None:
    """A pattern that no longer finds anything would make the test above pass."""
    kinds = [kind for block in pages.blocks(PAGE) for kind in block.words]
    assert (kinds.count("run"), kinds.count("output"), kinds.count("file")) == (8, 6, 4)


def test_a_wrong_line_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    environment = pages.environment(tmp_path / "bin")
    text = "```sh run\necho one; echo two\n```\n\n```text output\n{}\n```\n"
    for lines in ("one\ntwo", "o...\ntwo", "two"):
        page.write_text(text.format(lines), encoding="utf-8")
        pages.follow(page, tmp_path, environment)
    for lines in ("two\none", "three", "o"):
        page.write_text(text.format(lines), encoding="utf-8")
        with pytest.raises(AssertionError, match=r"page\.md, line 5: no line"):
            pages.follow(page, tmp_path, environment)
    page.write_text("```sh run\nfalse\ntrue\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match=r"line 1: exit 1"):
        pages.follow(page, tmp_path, environment)
