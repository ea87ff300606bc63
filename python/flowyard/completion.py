"""Scripts by which shells complete the command line, made of its parser by shtab."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import shtab

# Arguments that are files, or names of packaged scenarios.
SCENARIOS = ("scenario", "topology")


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script for a shell: bash, zsh or fish."""
    for action in _actions(parser):
        if action.type is Path or action.dest in SCENARIOS:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        # Names in a help text are looked up here, and a % that stays is shtab's to write as it is.
        if action.help and action.help is not argparse.SUPPRESS:
            action.help = (action.help % vars(action)).replace("%", " percent")
    return shtab.complete(parser, shell)


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """All arguments, those of verbs and of their verbs too."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for verb in dict.fromkeys(action.choices.values()):
                yield from _actions(verb)
