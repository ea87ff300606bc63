"""Pictures of figures: from the tables of a run, or again from published ones.

The repository has the tables alone: `flowyard paper show ID -o DIR` and `make docs` draw their pictures.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flowyard import folders
from flowyard.errors import UserError
from flowyard.papers import running, style
from flowyard.papers.catalogue import Paper
from flowyard.papers.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Callable

# The published tables, from the root of a checkout.
PUBLISHED = Path("docs/results")


def published(figures: Sequence[tuple[Paper, Figure]], results: Path) -> list[tuple[Figure, Path]]:
    """The figures that have a picture and published tables, with the folders of these.

    Args:
        figures: Any of the packaged papers.
        results: The folder that has the tables of each figure in PAPER/FIGURE.

    Raises:
        UserError: Some have a picture, but none has tables there.
    """
    pictured = [(figure, results / paper.id / figure.id) for paper, figure in figures if figure.draw]
    found = [(figure, tables) for figure, tables in pictured if tables.is_dir()]
    if pictured and not found:
        names = ", ".join(figure.id for figure, _ in pictured)
        raise UserError(
            f"{results}: has no tables of {names}; --results takes the folder docs/results of a checkout"
        )
    return found


def draw_all(
    figures: Sequence[tuple[Figure, Path]], to: "Callable[[Figure], Path]", say: "Callable[[str], object]"
) -> list[str]:
    """Draws figures from their tables, and returns why some could not be drawn.

    Args:
        figures: Each with the folder of its tables.
        to: The SVG file of a figure.
        say: Called with a line before each figure.

    Raises:
        UserError: A file that is there is no picture of ours; nothing is drawn.
    """
    for figure, _ in figures:
        folders.refuse_foreign(to(figure), style.MARK)
    failed = []
    for place, (figure, tables) in enumerate(figures):
        say(f"{figure.id} ({place + 1} of {len(figures)}): {figure.title}")
        try:
            folders.replace(to(figure), svg(figure, tables), mark=style.MARK)
        except UserError as error:
            failed.append(str(error))
    return failed


def svg(figure: Figure, tables: Path) -> bytes:
    """A figure's picture, from a folder with its tables.

    Raises:
        UserError: The tables are missing, or of an earlier version of the figure.
    """
    assert figure.draw is not None
    read = running.read_tables(figure, tables)
    try:
        with style.rules():
            return style.svg(figure.draw(read))
    except Exception as error:
        # Each figure's own function fails in its own way on a column that is missing.
        why = f"{type(error).__name__}: {str(error).partition(';')[0]}"
        raise UserError(
            f"{tables}: no picture of {figure.id}: {why}. The tables may be of an earlier version of the figure; "
            f"flowyard paper run {figure.id} --scale full makes them anew"
        ) from None
