"""Copies what `flowyard paper run ID --scale full -o DIR` made into docs/results, and sums it up in README.md.

python tools/publish_results.py DIR ...      figures that DIR does not have stay as they are
python tools/publish_results.py              only judges what is there and writes the summaries afresh

docs/results/PAPER/claims.json               a verdict for each claim, judged by the tables that are there
docs/results/PAPER/results.json              version and scale; of each figure the engines, and what it took
docs/results/PAPER/FIGURE/*.csv              the data of its picture
docs/results/README.md                       verdicts and data of all figures
docs/results/verdicts.svg                    verdicts by paper, the picture in README.md

The pictures, and the gallery that shows them (index.html), are drawn from the tables by tools/draw_figures.py and are
not in the repository.
"""

import json
import math
import re
import shutil
import sys
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

from flowyard import _native
from flowyard.papers import gallery, overview, page_tables, running, verdicts
from flowyard.papers.catalogue import ALL, Paper, Selection, packaged
from flowyard.papers.figure import Figure, Scale
from flowyard.papers.judge import NOT_REACHED, Judgement, not_reached
from flowyard.papers.outcomes import FigureOutcome
from flowyard.papers.words import FAIL, PASS

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
PICTURE = "verdicts.svg"
KINDS = ("closed form", "model", "packets")
# The papers whose claims are our own; those of the others are of one register, made from five papers.
OURS = ("VAL", "LIT")
# The cheap figures are the cheapest whose recorded processor times add up to this many seconds. `make results-check`
# makes them again: on two processors that others leave alone this takes at most ten minutes.
CHEAP_S = 600.0
BEGIN, END = "<!-- results: written by tools/publish_results.py -->", "<!-- end of results -->"


def main(folders: list[Path]) -> int:
    """Publishes what the folders hold."""
    for folder in folders:
        about = json.loads((folder / running.MARK).read_text(encoding="utf-8"))
        if about["scale"] != "full":
            sys.exit(f"{folder}: made at {about['scale']} scale; only full results are published")
        for paper in packaged():
            publish(paper, folder, about)
    for paper in packaged():
        about_path = RESULTS / paper.id / "results.json"
        if about_path.exists():
            entries = judged(paper, json.loads(about_path.read_text(encoding="utf-8")))
            (RESULTS / paper.id / "claims.json").write_text(as_json(entries), encoding="utf-8")
            print(f"{paper.id}: {verdicts.summary(entries)}")
    (RESULTS / "README.md").write_text(page(_native.__engine__), encoding="utf-8")
    (RESULTS / PICTURE).write_text(bars(), encoding="utf-8")
    readme = ROOT / "README.md"
    summed = with_summary(readme.read_text(encoding="utf-8"), _native.__engine__)
    readme.write_text(summed, encoding="utf-8")
    return 0


def publish(paper: Paper, folder: Path, about: Mapping[str, Any]) -> None:
    """Copies the figures of one paper that a folder holds."""
    to = RESULTS / paper.id
    made = {
        figure.id: about["figures"][figure.id] for figure in paper.figures if figure.id in about["figures"]
    }
    if not made:
        return
    for name in made:
        shutil.rmtree(to / name, ignore_errors=True)
        (to / name).mkdir(parents=True)
        for table in sorted((folder / name).glob("*.csv")):
            shutil.copy(table, to / name)
    path = to / "results.json"
    before = json.loads(path.read_text(encoding="utf-8"))["figures"] if path.exists() else {}
    engines = {"engine": about["engine"], "verified": about["engine"]}
    figures = before | {name: engines | one for name, one in made.items()}
    ordered = {figure.id: figures[figure.id] for figure in paper.figures if figure.id in figures}
    path.write_text(
        as_json({"flowyard": about["flowyard"], "scale": about["scale"], "figures": ordered}),
        encoding="utf-8",
    )


def judged(paper: Paper, about: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A verdict for each claim of a paper, by its published tables."""
    found: dict[str, Judgement] = {}
    for figure in paper.figures:
        if figure.id in about["figures"]:
            tables = running.read_tables(figure, RESULTS / paper.id / figure.id)
            judgements = verdicts.judge(figure, tables)
            found |= {claim: _unless_older(one) for claim, one in judgements.items()}
        else:
            found |= dict.fromkeys(
                figure.claims, not_reached("its figure has not been run at full scale yet")
            )
    return verdicts.entries(paper.register.claims.values(), found, [paper.register])


def _unless_older(judgement: Judgement) -> Judgement:
    """A judgement; says so where the tables are of before a change of their figure, and lack what its judge reads."""
    if judgement.verdict == NOT_REACHED and judgement.reason.startswith(verdicts.BROKE):
        return not_reached(verdicts.OLDER)
    return judgement


def published() -> list[tuple[Paper, list[dict[str, Any]], dict[str, Any]]]:
    """The papers that have results, with their verdicts and what results.json says."""
    found = []
    for paper in packaged():
        folder = RESULTS / paper.id
        if (folder / "claims.json").exists():
            texts = (folder / name for name in ("claims.json", "results.json"))
            found.append((paper, *(json.loads(path.read_text(encoding="utf-8")) for path in texts)))
    return found


def with_summary(text: str, engine: str) -> str:
    """README.md with the summary as it is now, written under an engine."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    lines = [f"![Verdicts by paper](docs/results/{PICTURE})", "", sentence(), "", verified_sentence(engine)]
    return "\n".join([f"{before}{BEGIN}", *lines, f"{END}{after}"])


def total() -> verdicts.Summary:
    """Verdicts of all papers together."""
    return verdicts.summary([entry for _, those, _ in published() for entry in those])


def sentence() -> str:
    """The line over all papers."""
    one = total()
    return (
        f"**{one.claims} claims: {one.passed} pass, and {one.arithmetic} more hold by construction. {one.predicted} "
        f"fail because the paper contradicts itself; {one.not_reproducible} fail because a calculation shows that the "
        f"paper's number cannot be reproduced; {one.open} fail for other reasons. {one.not_reached} have no verdict "
        f"yet.{_expectations(one)}**"
    )


def _expectations(one: verdicts.Summary) -> str:
    """The sentence on what is ours and not a paper's; empty without any."""
    many, passed, failed = one.expectations, one.expectations_passed, one.expectations_failed
    if not many:
        return ""
    same = {passed: "passed", failed: "failed"}.get(many)
    verdicts_ = f"all {many} {same}" if same else f"{passed} passed and {failed} failed"
    return f" {many} more are our own expectations: {verdicts_}."


def bars() -> str:
    """The picture of verdicts by paper, an SVG."""
    return overview.picture([(paper.id, verdicts.summary(entries)) for paper, entries, _ in published()])


def browsed(engine: str, without: Container[str] = ()) -> str:
    """The gallery for browsers: it refers to the tables that are published, and to pictures beside them.

    Args:
        engine: Under which the page is written.
        without: Ids of figures that have no picture.
    """
    papers = published()
    figures = tuple((paper, figure) for paper, _, _ in papers for figure in paper.figures)
    claims = tuple(claim for paper, _, _ in papers for claim in paper.register.claims.values())
    abouts = {figure: one for _, _, about in papers for figure, one in about["figures"].items()}
    made = {
        figure.id: FigureOutcome(
            runs=abouts[figure.id]["runs"],
            endings=abouts[figure.id]["endings"],
            tables=_tables(paper, figure),
        )
        for paper, figure in figures
        if figure.id in abouts
    }

    def files(paper: Paper, figure: Figure) -> gallery.Files:
        note = _made(abouts[figure.id]) if figure.id in abouts else ""
        picture = "" if figure.id in without else f"{paper.id}/{figure.id}.svg"
        return gallery.Files(picture, f"{paper.id}/{figure.id}", note=note)

    return gallery.page(
        Selection(ALL, tuple(paper for paper, _, _ in papers), figures, claims),
        Scale.FULL,
        made,
        [entry for _, those, _ in papers for entry in those],
        total(),
        files=files,
        top=PICTURE,
        current=currency(engine).replace("`", ""),
        footer=f"Flowyard {_native.__version__}. Each figure names the engine that made it.",
    )


def _tables(paper: Paper, figure: Figure) -> list[str]:
    return [path.stem for path in sorted((RESULTS / paper.id / figure.id).glob("*.csv"))]


def table() -> str:
    """A row for each paper, and their sum; links lead to headings of the page."""
    rows = [
        "| paper | claims | pass | pass, arithmetic | fail, predicted | fail, not reproducible | fail, open "
        "| not reached | ours: pass, fail |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for paper, entries, _ in published():
        rows.append(f"| [{paper.id}](#{paper.id.lower()}) | {_counts(verdicts.summary(entries))} |")
    rows.append(f"| all | {_counts(total())} |")
    return "\n".join([*rows, "", *_of_the_register()])


def _counts(one: verdicts.Summary) -> str:
    numbers = (
        one.claims,
        one.passed,
        one.arithmetic,
        one.predicted,
        one.not_reproducible,
        one.open,
        one.not_reached,
    )
    held, missed = one.expectations_passed, one.expectations_failed
    ours = f"{held}, {missed}" if held or missed else "–"  # noqa: RUF001
    return " | ".join([*map(str, numbers), ours])


def _of_the_register() -> list[str]:
    """How many claims are from the five papers, how those that pass were checked, and what the columns mean."""
    register = [
        entry
        for paper, entries, _ in published()
        if paper.id not in OURS
        for entry in entries
        if not entry.get("expectation")
    ]
    verdict = [entry["verdict"] for entry in register]
    found = verdict.count(PASS) + verdict.count(FAIL)
    formulas, models, packets = _passed_by_kind()
    judged_of = "all" if found == len(register) else f"{found}"
    return [
        f"{len(register)} claims are from the five papers (ALL are claims across them); {judged_of} of these have a "
        "verdict.",
        f"{' and '.join(OURS)} are our own. Of the claims that pass, {formulas} were checked by a closed form, "
        f"{models} by a model and {packets} by packets.",
        "",
        "- *Pass, arithmetic*: true by construction, whatever the simulator does; counted separately.",
        "- *Fail, predicted*: the paper contradicts itself, so that the claim cannot hold as stated.",
        "- *Fail, not reproducible*: a calculation shows that the paper's number cannot be obtained under the reading "
        "that counts; other readings have verdicts of their own.",
        "- *Fail, open*: neither; the cause below is the best explanation so far.",
        "- *Ours*: expectations that no paper states; not among the claims.",
    ]


def _passed_by_kind() -> list[int]:
    """The numbers of claims that pass, not by arithmetic, by each kind of check."""
    kinds = [
        claim.kind
        for paper, entries, _ in published()
        for entry in entries
        if entry["verdict"] == PASS
        for claim in [paper.register.claims[entry["id"]]]
        if not claim.arithmetic and not claim.ours
    ]
    return [kinds.count(kind) for kind in KINDS]


def cheapest(costs: Mapping[str, float | None], seconds: float = CHEAP_S) -> list[str]:
    """The figures, cheapest first, whose processor times add up to no more than this; not those of unknown cost.

    Args:
        costs: Recorded seconds by figure.
        seconds: Of all together.
    """
    chosen, total = list[str](), 0.0
    for name, cost in sorted(costs.items(), key=lambda one: math.inf if one[1] is None else one[1]):
        total += math.inf if cost is None else cost
        if total <= seconds:
            chosen.append(name)
    return chosen


def verified(engine: str) -> tuple[set[str], set[str], set[str]]:
    """The published figures, the cheap ones among them, and those that were verified with an engine."""
    figures = {name: one for _, _, about in published() for name, one in about["figures"].items()}
    cheap = cheapest({name: one["cpu_s"] for name, one in figures.items()})
    return set(figures), set(cheap), {name for name, one in figures.items() if one["verified"] == engine}


def verified_sentence(engine: str) -> str:
    """How many figures were verified with an engine."""
    figures, _, current = verified(engine)
    return (
        f"{len(current)} of {len(figures)} figures were verified with engine {engine}, that of the sources."
    )


def currency(engine: str) -> str:
    """How many figures were verified with an engine, by the time they take, and the meaning of another engine."""
    figures, cheap, current = verified(engine)
    minutes = f"{CHEAP_S / 60:.0f} minutes"
    quick = "all" if cheap <= current else f"{len(cheap & current)} of the"
    return (
        f"{verified_sentence(engine)} These are\n"
        f"{quick} {len(cheap)} figures that take little time, together at most {minutes} of processor time, and "
        f"{len(current - cheap)} of the\n"
        f"{len(figures) - len(cheap)} figures that take longer; the others name the last engine that made the same "
        "tables.\n"
        "`make results-check` prints the engine of your checkout and makes the figures that take little time again.\n"
        "If that is another one, no figure here is known to be the same with it before that check."
    )


def engine_of(text: str) -> str:
    """The engine under which a page says that it was written."""
    found = re.search(r"figures were verified with engine (\S+), that of the sources", text)
    return found[1] if found else ""


def page(engine: str) -> str:
    """docs/results/README.md: verdicts and data of each figure, written under an engine."""
    lines = [
        "# Figures and verdicts",
        "",
        "Figures of papers made with Flowyard, and a verdict on each claim of these papers. Each figure has its data",
        "as CSV, from which its verdicts follow ([method](../papers.md), [metrics](../metrics.md),",
        "[slotted link](../slotted.md)).",
        "`make docs` draws the pictures, `flowyard paper show NDP-F6 -o out/pictures` those of one figure.",
        "",
        *(f"- {paper.id}: {paper.register.title}" for paper, _, _ in published()),
        "",
        table(),
        "",
        "## Claims that fail",
        "",
        "A FAIL is a result: no parameter is tuned to make a claim pass. The sections below have the evidence.",
        "",
        *page_tables.failures(_headed()),
        "",
        "## Engines",
        "",
        currency(engine),
        "This page is written by tools/publish_results.py from `flowyard paper run PAPER --scale full`, not by hand.",
        "*Assumptions* of a figure fill gaps of its paper; contradictions within a paper are at the end of its",
        "section.",
    ]
    for paper, entries, about in published():
        lines += ["", f"## {paper.id}", "", f"{paper.register.title}. {paper.register.source}.", ""]
        lines += [f"{verdicts.summary(entries)}.", ""]
        by_id = {entry["id"]: entry for entry in entries}
        for figure in paper.figures:
            if figure.id not in about["figures"]:
                continue
            lines += [f"### {page_tables.figure_heading(figure)}", ""]
            tables = sorted((RESULTS / paper.id / figure.id).glob("*.csv"))
            data = ", ".join(f"[{t.stem}]({paper.id}/{figure.id}/{t.name})" for t in tables)
            lines += [f"Data: {data}. {_made(about['figures'][figure.id])}", ""]
            if figure.assumed:
                lines += ["Assumptions:", "", *(f"- {one}" for one in figure.assumed), ""]
            lines += page_tables.claims(paper.register, [by_id[claim] for claim in figure.claims])
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
        lines += _contradictions(paper, entries)
    return "\n".join(lines) + "\n"


def _headed() -> list[tuple[dict[str, Any], str]]:
    """The verdicts of all papers, each with the heading of its figure, or of its paper without one."""
    return [
        (entry, page_tables.figure_heading(figure) if figure else paper.id)
        for paper, entries, _ in published()
        for entry in entries
        for figure in [paper.figure_of(entry["id"])]
    ]


def _made(one: Mapping[str, Any]) -> str:
    """Which engines a figure is of, and what it takes."""
    engine, verified, cost = one["engine"], one["verified"], one["cpu_s"]
    again = "" if verified == engine else f", the same with engine {verified}"
    took = "not recorded" if cost is None else f"{cost:,.1f} s"
    return f"Made by engine {engine}{again}. Processor time: {took}."


def _contradictions(paper: Paper, entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Those that verdicts or tolerances refer to."""
    says = paper.register.contradictions
    claims = paper.register.claims.values()
    texts = [
        *(str(entry) for entry in entries),
        *(f"{claim.tolerance} {claim.contradicted_by}" for claim in claims),
    ]
    named = [name for name in says if any(re.search(rf"\b{name}\b", text) for text in texts)]
    if not named:
        return []
    return ["", "Contradictions:", "", *(f"- **{name}**: {says[name]}" for name in named)]


def as_json(value: Any) -> str:
    """As the files here are written."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(main([Path(argument) for argument in sys.argv[1:]]))
