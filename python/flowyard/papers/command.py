"""`flowyard paper list | show ID | run ID|PAPER|all`."""

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from flowyard.errors import UserError
from flowyard.papers import catalogue, published, running, verdict_table, verdicts, words
from flowyard.papers.figure import Scale
from flowyard.papers.register import Failure
from flowyard.terminal.console import TextTable, show
from flowyard.terminal.exits import COMPLETE, FAILED, INTERRUPTED


def list_papers(arguments: argparse.Namespace) -> int:
    """`flowyard paper list`: all papers, or one."""
    asked = arguments.id.upper() if arguments.id else None
    papers = [paper for paper in catalogue.packaged() if asked in (None, paper.id)]
    if not papers:
        ids = ", ".join(paper.id for paper in catalogue.packaged())
        raise UserError(f"{arguments.id}: no paper of that name; there are {ids}")
    if arguments.json:
        answer = [
            {
                "id": paper.id,
                "title": paper.register.title,
                "claims": len(paper.register.claims),
                "figures": [
                    {"id": figure.id, "title": figure.title, "claims": list(figure.claims)}
                    for figure in paper.figures
                ],
            }
            for paper in papers
        ]
        print(json.dumps(answer, indent=2, ensure_ascii=False))
        return COMPLETE
    rows = []
    for paper in papers:
        checked = sum(len(figure.claims) for figure in paper.figures)
        rows.append([paper.id, paper.register.title, f"{checked} of {len(paper.register.claims)}"])
        rows += [["", f"  {figure.id}: {figure.title}", str(len(figure.claims))] for figure in paper.figures]
    show(
        TextTable(
            "Papers, their figures, and how many claims these check",
            ("paper", "figure", "claims"),
            rows,
            left=2,
        )
    )
    print(
        "flowyard paper run ID makes a figure, or all figures of a paper; flowyard paper show ID prints its claims."
    )
    return COMPLETE


def show_one(arguments: argparse.Namespace) -> int:
    """`flowyard paper show ID`: the claims of a paper, a figure, one claim or a contradiction; with -o pictures."""
    if _show_contradiction(arguments):
        return COMPLETE
    # What is only shown is not executed.
    selection = catalogue.select(arguments.id, run_code=False)
    packaged = {paper.folder for paper in catalogue.known()}
    own = any(paper.folder not in packaged for paper in selection.papers)
    one = [claim for claim in selection.claims if claim.id.upper() == arguments.id.upper()]
    claims = one or selection.claims
    code = _draw(arguments, selection, own=own)
    if arguments.json:
        print(json.dumps([asdict(claim) for claim in claims], indent=2, ensure_ascii=False))
        return code
    known = {} if own else published.entries()
    for paper in selection.papers:
        print(f"{paper.register.title}\n{paper.register.source}\n")
        for claim in claims:
            if claim.id not in paper.register.claims:
                continue
            print(f"{claim.id} ({claim.kind}, {claim.grade})\n  {claim.says}\n  tolerance: {claim.tolerance}")
            for name in claim.contradicted_by:
                print(f"  predicted to fail by {name}: {paper.register.contradictions[name]}")
            if claim.arithmetic:
                print("  arithmetic: true by construction, it cannot fail")
            if not own:
                figure = paper.figure_of(claim.id)
                print(f"  {f'figure {figure.id}: {figure.title}' if figure else verdicts.NOBODY}")
            if verdict := _verdict(known.get(claim.id), paper.register.failures.get(claim.id)):
                print(verdict)
            print()
        if paper.register.contradictions and len(claims) == len(paper.register.claims):
            print("Contradictions of the paper with itself, or with what can be:\n")
            for name, says in paper.register.contradictions.items():
                print(f"{name}\n  {says}\n")
    if not own and not known:
        print("verdicts at full scale and their reasons: docs/results/README.md of a checkout of the sources")
    if own:
        print(
            f"from {Path(arguments.id) / 'claims.toml'} alone; flowyard paper run also runs the Python files beside it"
        )
    return code


def _verdict(entry: Mapping[str, Any] | None, failure: Failure | None) -> str | None:
    """The verdict on a claim at full scale with its values, and why it fails.

    Args:
        entry: That of the published results; None where these are not at hand.
        failure: That of the register, which has only claims that fail.
    """
    if entry is None:
        return f"  at full scale: {words.FAIL} (cause: {failure.cause}): {failure.says}" if failure else None
    reason = f" (cause: {failure.cause}): {failure.says}" if failure else ""
    told = f"  at full scale: {words.marked(entry)}{reason}"
    if entry["verdict"] == words.NOT_REACHED:
        return told
    return f"{told}\n    measured {words.shown(entry, 'measured')}; expected {words.shown(entry, 'expected')}"


def _show_contradiction(arguments: argparse.Namespace) -> bool:
    """Prints the contradiction of that name and the claims that it makes fail; False if there is none."""
    asked = arguments.id.upper()
    for paper in catalogue.known():
        says = paper.register.contradictions.get(asked)
        if says is None:
            continue
        if arguments.output or arguments.results:
            raise UserError(
                f"{asked}: is a contradiction, which has no pictures; -o goes with a paper or a figure"
            )
        failing = [claim.id for claim in paper.register.claims.values() if asked in claim.contradicted_by]
        if arguments.json:
            print(json.dumps({"id": asked, "says": says, "claims": failing}, indent=2, ensure_ascii=False))
        else:
            print(f"{paper.register.title}\n{paper.register.source}\n\n{asked} (contradiction)\n  {says}")
            print(f"  claims predicted to fail: {', '.join(failing) or 'none'}")
        return True
    return False


def _draw(arguments: argparse.Namespace, selection: catalogue.Selection, *, own: bool) -> int:
    """Draws what `paper show` is asked to draw; returns the exit code."""
    if arguments.output is None:
        if arguments.results:
            raise UserError("--results: only for pictures; -o names their folder")
        return COMPLETE
    if own:
        raise UserError(f"-o: flowyard paper run {arguments.id} draws the figures of a study")
    from flowyard.papers import drawing

    figures = drawing.published(selection.figures, arguments.results or drawing.PUBLISHED)
    failed = drawing.draw_all(
        figures,
        lambda figure: arguments.output / f"{figure.id}.svg",
        lambda text: print(text, file=sys.stderr, flush=True),
    )
    for line in failed:
        print(f"error: {line}", file=sys.stderr)
    print(f"{len(figures) - len(failed)} of {len(figures)} pictures in {arguments.output}", file=sys.stderr)
    return FAILED if failed else COMPLETE


def run(arguments: argparse.Namespace) -> int:
    """`flowyard paper run`."""
    if arguments.all == (arguments.id is not None):
        raise UserError("name a figure, a claim, a paper or a study's folder, or ask for --all of them")
    selection = catalogue.select(catalogue.ALL if arguments.all else arguments.id)
    scale = Scale(arguments.scale)
    folder = arguments.output or Path("out/papers") / f"{selection.name}-{scale}"
    outcome = running.run(
        selection,
        scale,
        folder,
        workers=arguments.workers,
        cluster=arguments.dask,
        say=lambda text: print(text, file=sys.stderr, flush=True),
    )
    if arguments.json:
        answer: dict[str, Any] = {"folder": str(folder), "scale": str(scale), **asdict(outcome.summary)}
        print(json.dumps(answer | {"interrupted": outcome.interrupted, "broke": outcome.broke}, indent=2))
    else:
        says = {claim.id: claim.says for claim in selection.claims}
        verdict_table.print_verdicts(outcome.entries, str(outcome.summary), scale, folder, says)
    for line in outcome.broke:
        print(f"broke: {line}", file=sys.stderr)
    if outcome.interrupted:
        print("interrupted; the same command goes on with what is missing", file=sys.stderr)
        return INTERRUPTED
    return FAILED if outcome.broke else COMPLETE
