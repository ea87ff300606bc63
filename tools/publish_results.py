"""Copies what `flowyard paper run PAPER|all --scale full -o DIR` made into docs/results, and sums it up in README.md.

python tools/publish_results.py DIR ...      papers that DIR does not have stay as they are
python tools/publish_results.py              only writes the summaries afresh

docs/results/PAPER/claims.json               a verdict for each claim
docs/results/PAPER/results.json              version, engine, scale, what each figure took
docs/results/PAPER/FIGURE.svg, FIGURE/*.csv  pictures and their data
docs/results/README.md                       the gallery
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from flowyard.papers import gallery, verdicts
from flowyard.papers.catalogue import Paper, packaged
from flowyard.papers.judge import FAIL, PASS
from flowyard.papers.running import MARK

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
BEGIN, END = "<!-- results: written by tools/publish_results.py -->", "<!-- end of results -->"


def main(folders: list[Path]) -> int:
    """Publishes what the folders hold."""
    for folder in folders:
        about = json.loads((folder / MARK).read_text(encoding="utf-8"))
        if about["scale"] != "full":
            sys.exit(f"{folder}: made at {about['scale']} scale; only full results are published")
        entries = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
        for paper in packaged():
            mine = [entry for entry in entries if entry["id"] in paper.register.claims]
            if len(mine) == len(paper.register.claims):
                publish(paper, folder, mine, about)
                print(f"{paper.id}: {summary(paper, mine)}")
    (RESULTS / "README.md").write_text(page(), encoding="utf-8")
    readme = ROOT / "README.md"
    readme.write_text(with_summary(readme.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


def publish(paper: Paper, folder: Path, entries: list[dict[str, Any]], about: dict[str, Any]) -> None:
    """Copies one paper's results."""
    to = RESULTS / paper.id
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    made = {
        figure.id: about["figures"][figure.id] for figure in paper.figures if figure.id in about["figures"]
    }
    for name in made:
        (to / name).mkdir()
        for table in sorted((folder / name).glob("*.csv")):
            shutil.copy(table, to / name)
        if (folder / name / "figure.svg").exists():
            shutil.copy(folder / name / "figure.svg", to / f"{name}.svg")
    version = {key: about[key] for key in ("flowyard", "engine", "scale")}
    (to / "results.json").write_text(_json({**version, "figures": made}), encoding="utf-8")
    (to / "claims.json").write_text(_json(entries), encoding="utf-8")


def published() -> list[tuple[Paper, list[dict[str, Any]], dict[str, Any]]]:
    """The papers that have results, with their verdicts and what results.json says."""
    found = []
    for paper in packaged():
        folder = RESULTS / paper.id
        if (folder / "claims.json").exists():
            texts = (folder / name for name in ("claims.json", "results.json"))
            found.append((paper, *(json.loads(path.read_text(encoding="utf-8")) for path in texts)))
    return found


def summary(paper: Paper, entries: list[dict[str, Any]]) -> verdicts.Summary:
    """Counts a paper's verdicts."""
    return verdicts.summary(entries, paper.register.claims)


def with_summary(text: str) -> str:
    """README.md with the summary as it is now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table('docs/results/README.md')}\n{END}{after}"


def table(link: str) -> str:
    """A row for each paper, and their sum."""
    rows = [
        "| paper | claims | pass | fail, predicted by a contradiction | fail, other | not reached |",
        "|---|---|---|---|---|---|",
    ]
    totals = [0] * 5
    for paper, entries, _ in published():
        one = summary(paper, entries)
        numbers = [one.claims, one.passed, one.predicted, one.failed, one.not_reached]
        totals = [a + b for a, b in zip(totals, numbers, strict=True)]
        cells = " | ".join(map(str, numbers))
        rows.append(f"| [{paper.id}]({link}#{paper.id.lower()}): {paper.register.title} | {cells} |")
    rows.append(f"| all | {' | '.join(map(str, totals))} |")
    return "\n".join(rows)


def page() -> str:
    """docs/results/README.md: the gallery for who reads on the web."""
    lines = [
        "# Results",
        "",
        "Written by tools/publish_results.py from `flowyard paper run PAPER --scale full`; not edited by hand.",
        "Each picture has its data beside it as CSV, and each verdict is a function of these tables alone.",
        "[How papers are made and judged](../papers.md).",
        "",
        table(""),
    ]
    for paper, entries, about in published():
        lines += ["", f"## {paper.id}", "", f"{paper.register.title}. {paper.register.source}.", ""]
        lines += [f"{summary(paper, entries)}. Engine {about['engine']}.", ""]
        by_id = {entry["id"]: entry for entry in entries}
        for figure in paper.figures:
            if figure.id not in about["figures"]:
                continue
            lines += [f"### {figure.id}: {figure.title}", ""]
            if (RESULTS / paper.id / f"{figure.id}.svg").exists():
                lines += [f"![{figure.id}]({paper.id}/{figure.id}.svg)", ""]
            tables = sorted((RESULTS / paper.id / figure.id).glob("*.csv"))
            lines += [
                "Data: " + ", ".join(f"[{t.stem}]({paper.id}/{figure.id}/{t.name})" for t in tables),
                "",
            ]
            lines += _claims(paper, [by_id[claim] for claim in figure.claims])
        figures = {entry["id"]: paper.figure_of(entry["id"]) for entry in entries}
        waiting = [claim for claim, figure in figures.items() if figure is None]
        if waiting:
            lines += ["", f"Not reached, since no figure checks them yet: {', '.join(waiting)}."]
        unmade = [claim for claim, figure in figures.items() if figure and figure.id not in about["figures"]]
        if unmade:
            lines += [
                "",
                f"Not reached, since their figures have not been run at full scale: {', '.join(unmade)}.",
            ]
    return "\n".join(lines) + "\n"


def _claims(paper: Paper, entries: list[dict[str, Any]]) -> list[str]:
    if not entries:
        return []
    rows = ["| claim | verdict | what it says | measured | expected |", "|---|---|---|---|---|"]
    for entry in entries:
        claim = paper.register.claims[entry["id"]]
        said = f"{claim.says} *{entry['reason']}*" if entry["verdict"] != PASS else claim.says
        verdict = f"**{FAIL}**" if entry["verdict"] == FAIL else entry["verdict"]
        cells = (claim.id, verdict, said, gallery.said(entry["measured"]), gallery.said(entry["expected"]))
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return [*rows, ""]


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(main([Path(argument) for argument in sys.argv[1:]]))
