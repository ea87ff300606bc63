"""Options that several verbs have, and the types of their values."""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowyard.errors import UserError

if TYPE_CHECKING:
    from flowyard.prototypes.registry import Registered


def as_json(parser: argparse.ArgumentParser) -> None:
    """Adds --json."""
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def scenario(parser: argparse.ArgumentParser, *, slotted: bool = False, runs: bool = True) -> None:
    """Adds a scenario and --set; for verbs that run or check it, also short forms of some fields."""
    packaged = "" if slotted else ", or the name of a packaged scenario: %(names)s"
    file = parser.add_argument("scenario", metavar="SCENARIO", help=f"a TOML or JSON file{packaged}")
    naming(file, _packaged)
    example = "link.bandwidth=100" if slotted else "run.until=10ms"
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=_override,
        metavar="KEY=VALUE",
        help=f"change a field, such as --set {example}; may be repeated. VALUE is JSON, or a table or "
        "list of TOML, otherwise a text: --set 'run={\"seed\": 2}' or --set 'run={seed=2}'; null "
        "takes an item out of its list: --set traffic.NAME=null",
    )
    if runs:
        seed(parser)
        parser.add_argument("--audit", action="store_true", help="short for --set run.audit=true")
        parser.add_argument(
            "--threads",
            type=int,
            metavar="N",
            help="short for --set run.threads=N: parallel parts of the network, with the same results",
        )
        prototype(parser)


def prototype(parser: argparse.ArgumentParser) -> None:
    """Adds --prototype."""
    parser.add_argument(
        "--prototype",
        action="append",
        default=[],
        metavar="FILE",
        help="a Python file with classes that the scenario may name as members, such as "
        'congestion.python = { name = "Aimd" }; may be repeated',
    )


def seed(parser: argparse.ArgumentParser) -> None:
    """Adds --seed."""
    parser.add_argument("--seed", type=int, metavar="N", help="short for --set run.seed=N")


def overrides(arguments: argparse.Namespace) -> dict[str, object]:
    """The changed fields of `scenario` and its short forms, of which a verb has those that concern it."""
    overrides: dict[str, object] = dict(arguments.set)
    for name in ("seed", "threads"):
        if (value := getattr(arguments, name, None)) is not None:
            overrides[f"run.{name}"] = value
    if getattr(arguments, "audit", False):
        overrides["run.audit"] = True
    return overrides


def prototypes(arguments: argparse.Namespace) -> "list[Registered]":
    """The members in Python that `scenario` was given; most runs have none, and import nothing for it."""
    if not arguments.prototype:
        return []
    from flowyard.prototypes import files

    return files.read(arguments.prototype)


def many_runs(parser: argparse.ArgumentParser, default: str) -> None:
    """Adds the folder of many runs, and the machines that execute them."""
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="DIR",
        help=f"a new folder, or one to continue; default {default}",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--workers", type=positive, metavar="N", help="simultaneous runs; default one per processor"
    )
    where.add_argument(
        "--dask", metavar="ADDRESS", help="address of a Dask scheduler, such as tcp://10.0.0.1:8786"
    )


def comparison(parser: argparse.ArgumentParser, said: str) -> None:
    """--compare: a field and values of it, side by side."""
    parser.add_argument("--compare", action="append", default=[], type=compared, metavar="VALUES", help=said)


def compared(text: str) -> tuple[str, list[Any]]:
    """A field and values of it: FIELD=A,B, or A,B alone, which are transports."""
    field, equals, listed = text.partition("=")
    if not equals or set(field) & set("{[,"):
        field, listed = "transport", text
    values = [_value(piece) for piece in _pieces(listed)]
    if len(values) < 2 or "" in values:
        raise argparse.ArgumentTypeError(
            f"{text!r}: use two values or more, as in ndp,dctcp or queue=drop-tail,ecn"
        )
    return field.strip(), values


def _pieces(listed: str) -> list[str]:
    """Values between commas; those within brackets and quotes part nothing."""
    pieces, depth, quoted = [""], 0, False
    for letter in listed:
        quoted ^= letter == '"'
        depth += 0 if quoted else (letter in "{[") - (letter in "]}")
        if letter == "," and not depth and not quoted:
            pieces.append("")
        else:
            pieces[-1] += letter
    return [piece.strip() for piece in pieces]


def _value(piece: str) -> Any:
    """A value as JSON, a table or list as TOML, otherwise a text."""
    import json

    try:
        return json.loads(piece)
    except ValueError:
        if not piece.startswith(("{", "[", '"')):
            return piece
    return _in_toml(piece, f"{piece!r} is neither JSON nor a value of TOML")


def _in_toml(value: str, refusal: str) -> Any:
    """A value as scenario files write it in a line."""
    import tomllib

    # RecursionError: thousands of brackets.
    try:
        (found,) = tomllib.loads(f"value = {value}").values()
    except (ValueError, RecursionError):
        raise argparse.ArgumentTypeError(refusal) from None
    return found


def naming(option: Any, find: Callable[[], Iterable[str]]) -> None:
    """Lets the help of an option have names, as %(names)s."""
    option.names = _Names(find)


class _Names:
    """Names in a help text, which are looked up if the text is shown: most commands need none of them."""

    def __init__(self, find: Callable[[], Iterable[str]]) -> None:
        self.find = find

    def __str__(self) -> str:
        return ", ".join(self.find())


def as_sentence(help_text: str) -> str:
    """The head of a verb's own help, made of its line in the list of verbs."""
    return help_text[0].upper() + help_text[1:] + "."


def positive(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return int(text)


def _packaged() -> Iterable[str]:
    from flowyard import scenarios

    return scenarios.names()


def _override(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE, such as run.seed=2")
    if value.strip().startswith(("{", "[")):
        from flowyard.folders import reading

        try:
            reading.parse_json(value, reading.shown(text))
        except UserError as error:
            instead = """tables and lists are written in JSON or TOML here, as in --set 'run={seed = 2}'"""
            _in_toml(value.strip(), f"{error}; {instead}")
    return key.strip(), value.strip()
