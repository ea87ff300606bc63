"""The command line: `flowyard VERB ...`; each verb is a file of `flowyard.commands`."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flowyard import commands
from flowyard.commands import instead, options
from flowyard.errors import EngineError, UserError, bounded, contradictions
from flowyard.terminal import interrupt, streams
from flowyard.terminal.exits import BAD_INPUT, BROKEN_PIPE, FAILED, INTERRUPTED


def main(argv: list[str] | None = None) -> int:
    """Runs a command and returns its exit code."""
    # Sums of fractions depend on how polars shares them out among threads: tables are to have the same bytes anywhere.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    streams.prepare()
    with interrupt.stoppable():
        try:
            try:
                return _command(sys.argv[1:] if argv is None else argv)
            finally:
                # A reader that closes its end early (as `head` does) is noticed here rather than at exit.
                sys.stdout.flush()
        except streams.UnreadError:
            return BROKEN_PIPE
        except UserError as error:
            # Of stdout itself; what verbs say has been said.
            print(f"error: {error}", file=sys.stderr)
            return BAD_INPUT
        except KeyboardInterrupt:
            return INTERRUPTED


def _command(argv: list[str]) -> int:
    """Runs a command; a mistake that the user can mend is said, as is a fault of the simulator."""
    import shlex

    arguments = None
    try:
        if not_text := next((word for word in argv if not _is_text(word)), None):
            why = "has a NUL, or bytes that are not UTF-8; rename the file, or write another value"
            raise UserError(f"{not_text!r}: {why}")
        if not argv:
            parser().print_help(sys.stderr)
            return BAD_INPUT
        # Options take a while to make: those of other verbs are left out.
        reads = parser(argv[0])
        if not argv[0].startswith("-") and argv[0] not in _verbs():
            reads.error(_no_verb(argv[0]))
        arguments = reads.parse_args(argv)
        arguments.command = shlex.join(["flowyard", *argv])
        with contradictions():
            code: int = arguments.verb(arguments)
        return code
    except Exception as error:
        message = _mistake(error, arguments)
        if message is None:
            raise
        if "--json" in argv:
            import json

            # A mistake in the scenario also gives each problem with its path, value and hint.
            problems = getattr(error, "problems", None)
            print(json.dumps({"error": message} | ({"problems": problems} if problems else {}), indent=2))
        else:
            message = f"error: {message}"
            # Programs that search it want whole lines.
            print(on_one_screen(message) if sys.stderr.isatty() else message, file=sys.stderr)
        return FAILED if isinstance(error, EngineError) else BAD_INPUT


def _verbs() -> list[str]:
    return [verb.NAME for verb in commands.VERBS]


def _no_verb(word: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, _verbs(), n=1)
    meant = instead.VERBS.get(word) or (f"did you mean {near[0]}?" if near else "")
    joint = " " if meant.endswith("?") else "; "
    return f"no verb {word!r}; {meant}{joint if meant else ''}verbs: {', '.join(_verbs())}"


def _is_text(word: str) -> bool:
    """Whether all can be given to files and libraries: as bytes that are not UTF-8, and NUL, cannot."""
    try:
        return b"\0" not in word.encode()
    except UnicodeEncodeError:
        return False


# A message is at most so many lines of so many characters.
LINES, COLUMNS = 24, 120


def on_one_screen(message: str) -> str:
    """A message with long lines folded, and without what does not fit a screen then."""
    import textwrap

    from flowyard.terminal import folding

    folded: list[str] = []
    columns = min(COLUMNS, folding.columns(COLUMNS, sys.stderr))
    for line in message.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        folded += (
            textwrap.wrap(
                line,
                columns,
                subsequent_indent=indent + "    ",
                break_on_hyphens=False,
                # In a narrower terminal long words are the terminal's to break.
                break_long_words=columns == COLUMNS,
                drop_whitespace=True,
            )
            if len(line) > columns
            else [line]
        )
    if len(folded) > LINES:
        more = len(folded) - LINES + 1
        folded[LINES - 1 :] = [f"and {more} more lines; --json has all of them"]
    return "\n".join(folded)


def _mistake(error: Exception, arguments: argparse.Namespace | None) -> str | None:
    """Text for the user of an error that the user can mend or report."""
    import textwrap

    from flowyard._native import ScenarioError

    if isinstance(error, UserError | EngineError):
        return str(error)
    if isinstance(error, ScenarioError) and arguments:
        # A figure of a study has scenarios of its own: the message names the field alone.
        if not hasattr(arguments, "scenario"):
            return f"a scenario cannot be run:\n{textwrap.indent(str(error), '  ')}"
        if any(line.startswith("axes: unknown key") for line in str(error).splitlines()):
            return f"{arguments.scenario} is a sweep, not a scenario: flowyard sweep {arguments.scenario}"
        if (path := Path(arguments.scenario)).suffix != ".json" and path.is_file():
            from flowyard.interchange.sniffing import no_scenario

            if other := no_scenario(path):
                return other
        return f"{arguments.scenario} cannot be run:\n{textwrap.indent(str(error), '  ')}"
    if isinstance(error, OSError) and error.strerror:
        return bounded(f"{error.filename}: {error.strerror}") if error.filename else error.strerror
    return None


def parser(word: str | None = None) -> argparse.ArgumentParser:
    """All verbs and their options; if `word` is the name of one, only its own."""
    top = argparse.ArgumentParser(
        prog="flowyard",
        description="Simulates data-centre networks, packet by packet.",
        epilog="Exit codes: 0 complete, 1 failed, 2 bad input, 3 stalled, 4 limit, 130 interrupted.",
    )
    top.add_argument("--version", action=_Version, nargs=0, help="print the version and stop")
    verbs = top.add_subparsers(title="verbs", metavar="VERB", required=True, parser_class=_Verb)
    one = word in _verbs()
    for verb in commands.VERBS:
        added = verbs.add_parser(verb.NAME, help=verb.HELP, description=options.as_sentence(verb.HELP))
        if not one or word == verb.NAME:
            verb.arguments(added)
            added.instead = instead.OPTIONS.get(verb.NAME, {})
        added.set_defaults(verb=verb.run, all_verbs=parser)
    return top


# Words for a number of runs that differ in their random numbers.
_REPEATS = ("--seeds", "--runs", "--repetitions", "--repeat", "--repeats")


class _Verb(argparse.ArgumentParser):
    """A verb's own parser.

    Attributes:
        instead: What to do in place of an option that other verbs have and this one has not; by "" in place of words
            that are too many.
    """

    instead: Mapping[str, str] = {}

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuses unknown arguments with this verb's usage: argparse leaves that to the top, which has none of it."""
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            hints = dict.fromkeys(
                found
                for i, word in enumerate(unknown)
                if (found := self._meant(word, unknown[i + 1 :], known))
            )
            if not any(word.startswith("-") for word in unknown) and "" in self.instead:
                hints = {self.instead[""]: None}
            self.error("; ".join([f"unrecognized arguments: {' '.join(unknown)}", *hints]))
        return known, unknown

    def _meant(self, word: str, after: Sequence[str], given: argparse.Namespace) -> str | None:
        """Advice on an option that is unknown here, with the words after it and the options that are known."""
        word, _, value = word.partition("=")
        if word and word in self.instead:
            return instead.advice(self.instead, word, value or next(iter(after), ""), given)
        if not word.startswith("--"):
            return None
        known = self._option_string_actions
        if word in _REPEATS and "--replicas" in known:
            return "did you mean --replicas?"
        from difflib import get_close_matches

        # Without the dashes, which all have.
        names = [option[2:] for option in known if option.startswith("--")]
        near = get_close_matches(word[2:], names, n=1, cutoff=0.7)
        return f"did you mean --{near[0]}?" if near else None


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from flowyard import _native

        print(f"flowyard {_native.__version__}")
        parser.exit()
