"""`flowyard paper list | show | run`: figures of papers, made again, and their claims judged."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flowyard.commands import instead, options

NAME = "paper"
HELP = "redraw the figures of papers and judge their claims"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs below it, each with its own."""
    parser.description = "Redraws the figures of papers and judges their claims."
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)

    added = _verb(verbs, "list", _list, "list papers, figures, and the number of claims that each checks")
    added.add_argument("id", metavar="PAPER", nargs="?", help="only this paper, such as NDP; default all")
    added = _verb(verbs, "show", _show, "show a paper, the claims of a figure, or one claim or contradiction")
    added.add_argument(
        "id",
        metavar="ID",
        help="a paper, a figure, a claim or a contradiction; or a study's folder, whose claims.toml is read without "
        "running Python",
    )
    added.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="DIR",
        help="also draw the figures from their published tables, as DIR/FIGURE.svg",
    )
    added.add_argument(
        "--results",
        type=Path,
        metavar="DIR",
        help="the published tables, PAPER/FIGURE/*.csv; default docs/results, as in a checkout",
    )
    added = _verb(verbs, "run", _run, "produce figures and judge their claims")
    added.add_argument(
        "id",
        metavar="ID",
        nargs="?",
        help="a figure, a claim or a paper; all; or the folder of a study of your own, whose Python files are run",
    )
    added.add_argument("--all", action="store_true", help="all figures of all papers, as the ID all")
    added.add_argument(
        "--scale",
        choices=("quick", "full"),
        default="quick",
        help="quick: fewer points, seeds and flows, with verdicts marked so; full: those of the paper; default quick",
    )
    options.many_runs(added, "out/papers/<ID>-<scale>")


def _verb(among: Any, name: str, run: Callable[[argparse.Namespace], int], does: str) -> Any:
    added = among.add_parser(name, help=does, description=options.as_sentence(does))
    options.as_json(added)
    added.instead = instead.OPTIONS.get(f"paper {name}", {})
    added.set_defaults(run_paper=run)
    return added


def run(arguments: argparse.Namespace) -> int:
    """Runs the verb below it."""
    code: int = arguments.run_paper(arguments)
    return code


def _list(arguments: argparse.Namespace) -> int:
    from flowyard.papers import command

    return command.list_papers(arguments)


def _show(arguments: argparse.Namespace) -> int:
    from flowyard.papers import command

    return command.show_one(arguments)


def _run(arguments: argparse.Namespace) -> int:
    from flowyard.papers import command

    return command.run(arguments)
