"""The verbs of the command line, one file each; `flowyard.cli` makes a parser of them and runs the one asked for.

A verb is a module with what `Verb` below names. Its file is imported for every command, so that `--help` can name it:
what only its `run` needs is imported there.
"""

import argparse
from typing import Protocol

from flowyard.commands import (
    bench,
    check,
    cite,
    compare,
    completion,
    demo,
    explain,
    export,
    import_,
    paper,
    report,
    run,
    schema,
    show,
    slotted,
    sweep,
    topology,
    watch,
    why,
)


class Verb(Protocol):
    """Interface of the module of a verb.

    Attributes:
        NAME: The word that is typed.
        HELP: What it does, in a line of `flowyard --help`; with a capital and a full stop the head of its own help.
    """

    NAME: str
    HELP: str

    def arguments(self, parser: argparse.ArgumentParser, /) -> None:
        """Adds the verb's options to its parser."""

    def run(self, arguments: argparse.Namespace, /) -> int:
        """Does it, and returns the exit code.

        Args:
            arguments: Its options; `command` is the whole command as it was typed, `all_verbs` makes the parser of all.
        """


# In the order of the help.
VERBS: tuple[Verb, ...] = (
    run,
    check,
    sweep,
    show,
    report,
    why,
    watch,
    compare,
    paper,
    slotted,
    topology,
    import_,
    export,
    schema,
    explain,
    bench,
    demo,
    completion,
    cite,
)
