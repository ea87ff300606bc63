"""A figure on the page of each member: what it is for, measured on the page's own example.

`make member-figures` writes docs/images/members/NAME.svg, which Git ignores and `make docs` draws too, and, below the
figure's title on its page, the sentence with its numbers. The page places a figure by a line with its name and title:
the scenario is the TOML block above it. The list of figures is in member_list.py,
what can be drawn in member_charts.py. With names, only these are made; with --check nothing is written, and pages whose
sentences would change are named.
"""

import copy
import io
import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import flowyard as fy
from flowyard.papers import style
from member_charts import Facts, Results, totals
from member_list import FIGURES, Figure

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
IMAGES = DOCS / "images" / "members"
BLOCK = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Pictures do not get better by further digits, only larger.
DIGITS = re.compile(r"(\d\.\d\d)\d+")
WIDTH = 120


def title(figure: Figure) -> str:
    """The beginning of the line that places a figure. The site has the picture in place of the line (docs/conf.py)."""
    return f"**Figure {figure.name}** (drawn by `make docs`): "


def place(figure: Figure) -> re.Pattern[str]:
    """Where its page has the figure: its line, and the sentence below it, if there is one already."""
    return re.compile(rf"^({re.escape(title(figure))}.*\n)(?:\n\*(?:[^*]+)\*\n)?", re.MULTILINE)


def placed(figure: Figure, text: str, said: str) -> str:
    """The page with that sentence below the figure."""
    found = place(figure).search(text)
    if found is None:
        raise SystemExit(f"docs/{figure.page}: no line {title(figure)!r}")
    return f"{text[: found.end(1)]}\n{said}\n{text[found.end() :]}"


def example(figure: Figure) -> dict[str, Any]:
    """The scenario above the figure on its page."""
    before, _, _ = (DOCS / figure.page).read_text(encoding="utf-8").partition(title(figure))
    blocks = [tomllib.loads(block) for block in BLOCK.findall(before)]
    return [block for block in blocks if "traffic" in block][-1]


def changed(scenario: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A scenario with other values at some paths, in which traffic entries go by their names; None takes one away."""
    scenario = copy.deepcopy(scenario)
    for path, new in changes.items():
        *parents, last = path.split(".")
        part: Any = scenario
        for parent in parents:
            if isinstance(part, list):
                part = next(entry for entry in part if entry["name"] == parent)
            else:
                part = part.setdefault(parent, {})
        if new is None:
            part.pop(last, None)
        else:
            part[last] = new
    return scenario


def run(figure: Figure) -> Results:
    """The example with the changes of each variant, which may be none."""
    scenario = example(figure)
    return {
        label: fy.run(changed(scenario, {**figure.always, **changes, **figure.chart.observe()}))
        for label, changes in figure.variants.items()
    }


def facts(figure: Figure, results: Results) -> dict[str, Facts]:
    """The numbers of each variant."""
    return {label: totals(result) | figure.chart.facts(result) for label, result in results.items()}


def sentence(figure: Figure, results: Results) -> str:
    """The figure's sentence with the numbers, as the page has it."""
    numbers = facts(figure, results)
    words = iter(figure.says.format(*numbers.values(), **numbers).split())
    lines, line = [], "*" + next(words)
    for word in words:
        if len(line) + 1 + len(word) >= WIDTH:
            lines.append(line)
            line = word
        else:
            line += " " + word
    return "\n".join([*lines, line]) + "*"


def picture(figure: Figure, results: Results) -> str:
    """The figure as SVG."""
    columns = figure.chart.columns(results)
    width, height = figure.size
    drawn, axes = style.panels(1, columns, size=(width if columns == 1 else 0.75 * width, height))
    with style.rules():
        figure.chart.draw(axes, results)
        if axes[0].get_legend_handles_labels()[1]:
            axes[0].legend(ncols=figure.legend_columns, loc=figure.legend)
        file = io.StringIO()
        drawn.savefig(file, format="svg", metadata={"Date": None, "Creator": "flowyard"})
    return DIGITS.sub(r"\1", file.getvalue())


def path(figure: Figure) -> Path:
    """The picture."""
    return IMAGES / f"{figure.name}.svg"


def draw(figure: Figure, results: Results) -> None:
    """Writes the picture."""
    IMAGES.mkdir(exist_ok=True)
    path(figure).write_text(picture(figure, results), encoding="utf-8")


def main() -> int:
    """Makes the figures and sentences, or compares the sentences."""
    names = [name for name in sys.argv[1:] if name != "--check"]
    check = "--check" in sys.argv[1:]
    stale = []
    for figure in FIGURES:
        if names and figure.name not in names:
            continue
        results = run(figure)
        page = DOCS / figure.page
        text = page.read_text(encoding="utf-8")
        new = placed(figure, text, sentence(figure, results))
        if new != text:
            stale.append(figure.page)
        if not check:
            page.write_text(new, encoding="utf-8")
            draw(figure, results)
    if check and stale:
        print(f"run `make member-figures`: {', '.join(stale)}", file=sys.stderr)
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
