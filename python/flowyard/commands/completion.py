"""`flowyard completion`: a script by which a shell completes verbs, options and files."""

import argparse

NAME = "completion"
EXAMPLES = "source <(flowyard completion bash); in fish flowyard completion fish | source"
HELP = "print a script by which bash, zsh or fish completes verbs, options and files"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The shell."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help=EXAMPLES)


def run(arguments: argparse.Namespace) -> int:
    """Prints the script."""
    from flowyard import completion
    from flowyard.terminal.exits import COMPLETE

    print(completion.script(arguments.all_verbs(), arguments.shell))
    return COMPLETE
