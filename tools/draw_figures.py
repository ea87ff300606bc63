"""Draws the pictures that the documentation shows and the repository does not have; `make docs` runs it.

docs/results/PAPER/FIGURE.svg  each published figure, from its tables (two minutes)
docs/results/index.html        the gallery for browsers, which shows them
docs/images/members/NAME.svg   the figures of transports, queues, balancers and controllers, from the examples on their
                               pages (fifteen seconds)
docs/images/watch, why-*.svg   pages that play a run, and the pictures of docs/how-to/why-slow.md
docs/images/measuring-p99.svg  that of docs/measuring.md, from the numbers beside it

Git ignores all of them. A picture that is newer than its tables and than the Python files is kept.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import measuring_figure
import member_figures
import publish_results
import watch_pages
from flowyard import _native
from flowyard.papers import drawing
from flowyard.papers.catalogue import Paper, packaged
from flowyard.papers.figure import Figure
from member_list import FIGURES

ROOT = publish_results.ROOT


def main() -> int:
    """Draws what is older than its sources. A figure that cannot be drawn is named, and its page goes without it."""
    code = newest([*(ROOT / "python").rglob("*.py"), *(ROOT / "tools").glob("*.py")])
    figures = [(paper, figure) for paper in packaged() for figure in paper.figures]
    for line in draw_results(figures, code):
        print(f"not drawn: {line}", file=sys.stderr)
    without = [figure.id for paper, figure in figures if not path_of(paper, figure).exists()]
    gallery = publish_results.browsed(_native.__engine__, without)
    (publish_results.RESULTS / "index.html").write_text(gallery, encoding="utf-8")
    for figure in FIGURES:
        path = member_figures.path(figure)
        if is_stale(path, max(code, newest([member_figures.DOCS / figure.page, Path(_native.__file__)]))):
            say(path.relative_to(ROOT).as_posix())
            member_figures.draw(figure, member_figures.run(figure))
    measuring_figure.draw()
    watch_pages.draw()
    return 0


def draw_results(figures: Sequence[tuple[Paper, Figure]], code: float) -> list[str]:
    """Draws the published ones of these figures; returns why some could not be drawn.

    Args:
        figures: Those of all papers.
        code: The time of the newest Python file.
    """
    paths = {figure.id: path_of(paper, figure) for paper, figure in figures}
    stale = [
        (figure, tables)
        for figure, tables in drawing.published(figures, publish_results.RESULTS)
        if is_stale(paths[figure.id], max(code, newest(tables.glob("*.csv"))))
    ]
    for figure, _ in stale:
        # One that cannot be drawn from the tables that are there now must not stay.
        paths[figure.id].unlink(missing_ok=True)
    return drawing.draw_all(stale, lambda figure: paths[figure.id], say)


def path_of(paper: Paper, figure: Figure) -> Path:
    """The picture of a published figure."""
    return publish_results.RESULTS / paper.id / f"{figure.id}.svg"


def newest(paths: Iterable[Path]) -> float:
    """The time of the latest change of any of these files."""
    return max(path.stat().st_mtime for path in paths)


def is_stale(path: Path, since: float) -> bool:
    """Whether a picture is missing, or older than that."""
    return not path.exists() or path.stat().st_mtime < since


def say(text: str) -> None:
    """A line of progress."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
