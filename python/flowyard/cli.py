"""The command line: `flowyard VERB ...`.

Modules are imported inside the verbs that use them, so that `flowyard --help` is instant.
"""

import argparse
import json
import os
import re
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from flowyard import interrupt, scenarios, streams
from flowyard.errors import UserError, bounded
from flowyard.exits import BAD_INPUT, BROKEN_PIPE, COMPLETE, FAILED, INTERRUPTED, OF_STATUS


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
    """Runs a command; a mistake that the user can mend is said."""
    arguments = None
    try:
        if not_text := next((word for word in argv if not _is_text(word)), None):
            why = "has a NUL, or bytes that are not UTF-8; rename the file, or write another value"
            raise UserError(f"{not_text!r}: {why}")
        if argv[:1] == ["bench"]:
            # It has options of its own.
            from importlib import import_module

            return int(import_module("flowyard.bench").main(argv[1:]))
        arguments = parser().parse_args(argv)
        arguments.command = shlex.join(["flowyard", *argv])
        code: int = arguments.verb(arguments)
        return code
    except Exception as error:
        message = _mistake(error, arguments)
        if message is None:
            raise
        if "--json" in argv:
            # A mistake in the scenario also gives each problem with its path, value and hint.
            problems = getattr(error, "problems", None)
            print(json.dumps({"error": message} | ({"problems": problems} if problems else {}), indent=2))
        else:
            message = f"error: {message}"
            # Programs that search it want whole lines.
            print(on_one_screen(message) if sys.stderr.isatty() else message, file=sys.stderr)
        return BAD_INPUT


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
    folded: list[str] = []
    for line in message.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        folded += (
            textwrap.wrap(
                line,
                COLUMNS,
                subsequent_indent=indent + "    ",
                break_on_hyphens=False,
                drop_whitespace=True,
            )
            if len(line) > COLUMNS
            else [line]
        )
    if len(folded) > LINES:
        more = len(folded) - LINES + 1
        folded[LINES - 1 :] = [f"and {more} more lines; --json has all of them"]
    return "\n".join(folded)


def _mistake(error: Exception, arguments: argparse.Namespace | None) -> str | None:
    """What to tell the user, if it is the user who can mend it."""
    from flowyard._native import ScenarioError

    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, ScenarioError) and arguments:
        if any(line.startswith("axes: unknown key") for line in str(error).splitlines()):
            return f"{arguments.scenario} is a sweep, not a scenario: flowyard sweep {arguments.scenario}"
        return f"{arguments.scenario} cannot be run:\n{textwrap.indent(str(error), '  ')}"
    if isinstance(error, OSError) and error.strerror:
        return bounded(f"{error.filename}: {error.strerror}") if error.filename else error.strerror
    return None


def parser() -> argparse.ArgumentParser:
    """All verbs and their options."""
    parser = argparse.ArgumentParser(
        prog="flowyard",
        description="Simulates data-centre networks, packet by packet.",
        epilog="Exit codes: 0 complete, 1 failed, 2 bad input, 3 stalled, 4 limit, 130 interrupted.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and stop")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)

    def verb(name: str, run: Any, help: str, among: Any = verbs) -> argparse.ArgumentParser:  # noqa: A002
        added: argparse.ArgumentParser = among.add_parser(
            name, help=help, description=help[0].upper() + help[1:] + "."
        )
        added.add_argument("--json", action="store_true", help="print the answer as JSON")
        added.set_defaults(verb=run)
        return added

    def scenario(added: argparse.ArgumentParser, *, slotted: bool = False, audit: bool = True) -> None:
        packaged = "" if slotted else f", or the name of a packaged scenario: {', '.join(scenarios.names())}"
        added.add_argument("scenario", metavar="SCENARIO", help=f"a TOML or JSON file{packaged}")
        example = "link.bandwidth=100" if slotted else "run.until=10ms"
        added.add_argument(
            "--set",
            action="append",
            default=[],
            type=_override,
            metavar="KEY=VALUE",
            help=f"change a field, such as --set {example}; may be repeated. VALUE is JSON, or else a text: "
            "--set 'run={\"seed\": 2}'",
        )
        if audit:
            added.add_argument("--seed", type=int, metavar="N", help="short for --set run.seed=N")
            added.add_argument("--audit", action="store_true", help="short for --set run.audit=true")
            added.add_argument(
                "--threads",
                type=int,
                metavar="N",
                help="short for --set run.threads=N: parts of the network side by side, with the same results",
            )

    def many_runs(added: argparse.ArgumentParser, default: str) -> None:
        added.add_argument(
            "-o",
            "--output",
            type=Path,
            metavar="DIR",
            help=f"a new folder, or one to go on with; default {default}",
        )
        where = added.add_mutually_exclusive_group()
        where.add_argument(
            "--workers", type=_positive, metavar="N", help="runs at a time; default one a processor"
        )
        where.add_argument("--dask", metavar="ADDRESS", help="of a Dask scheduler, as tcp://10.0.0.1:8786")

    added = verb("run", _run, "run a scenario and keep its results in a folder")
    scenario(added)
    added.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="a new folder; default out/<scenario>-<n>"
    )

    added = verb(
        "check",
        _check,
        "say all that is wrong with a scenario or a sweep, and what it needs",
    )
    scenario(added)

    added = verb("sweep", _sweep, "run a scenario over the values of some fields, several times each")
    added.add_argument("plan", metavar="SWEEP.toml", type=Path, help="base scenario, axes, replicas")
    many_runs(added, "out/<name>")
    added.add_argument(
        "--shard",
        type=_shard,
        default=(1, 1),
        metavar="I/N",
        help="only the I-th of N parts, 0 being the N-th: for job arrays on a shared folder, counted from 0 or from 1",
    )
    added.add_argument(
        "--dry-run",
        action="store_true",
        help="run nothing, and say what is to be run, how long that takes and how much it leaves",
    )
    added.add_argument(
        "--update",
        action="store_true",
        help="let a folder of another plan follow this one; its runs stay on disk",
    )

    added = verb("show", _show, "print a run's summary again, or list the runs of a folder or a sweep")
    added.add_argument(
        "folder", type=Path, metavar="DIR", help="the folder of a run, one with runs in it, or one of a sweep"
    )

    added = verb("report", _report, "show one or more runs, or a sweep, on one HTML page")
    added.add_argument(
        "runs", nargs="+", type=Path, metavar="DIR", help="the folder of a run, or one of a sweep"
    )
    added.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="default DIR/report.html, with several runs report.html",
    )

    papers = verbs.add_parser(
        "paper",
        help="redraw the figures of papers and judge their claims",
        description="Redraws the figures of papers and judges their claims.",
    ).add_subparsers(title="verbs", metavar="VERB", required=True)
    verb("list", _paper("list_papers"), "list papers, figures, and how many claims each checks", papers)
    added = verb("show", _paper("show_one"), "say what a paper, a figure's claims or one claim say", papers)
    added.add_argument(
        "id",
        metavar="ID",
        help="of a paper, a figure or a claim; or a study's folder, of which claims.toml is read and no Python run",
    )
    added = verb("run", _paper("run"), "make figures and judge their claims", papers)
    added.add_argument(
        "id",
        metavar="ID",
        help="of a figure, a claim or a paper; all; or the folder of a study of your own, whose Python files are run",
    )
    added.add_argument(
        "--scale",
        choices=("quick", "full"),
        default="quick",
        help="fewer points, seeds and flows, or the paper's own; default quick, and verdicts say so",
    )
    many_runs(added, "out/papers/<ID>-<scale>")

    added = verb(
        "slotted", _slotted, "schedule flows with deadlines on one slotted link, and show who is served when"
    )
    scenario(added, slotted=True, audit=False)
    option = added.add_argument(
        "--discipline",
        action="append",
        metavar="NAME",
        help="in place of the file's; may be repeated, to compare: %(names)s",
    )
    _naming(option, _disciplines)
    added.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="a new folder; default out/<file>-<n>"
    )

    added = verb("topology", _topology, "show a scenario's network: counts, paths, bisection and a picture")
    scenario(added, audit=False)
    added.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="an SVG or a PNG, by its name; default out/<scenario>-topology-<n>.svg",
    )
    added = verb("import", _import, "make a scenario of other simulators' files")
    added.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="a topology, a file of flows, or both; or a CDF alone",
    )
    added.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="a new TOML or JSON file; default FIRST-FILE.toml"
    )
    option = added.add_argument(
        "--format",
        action="append",
        default=[],
        metavar="FORMAT",
        help="instead of recognising it: %(names)s; one for each file, in their order",
    )
    _naming(option, _formats_read)
    option = added.add_argument(
        "--topology",
        metavar="SCENARIO",
        help="the network of flows without one: that of a scenario, or one made for their number of hosts: "
        "%(names)s",
    )
    _naming(option, _networks_by_hosts)
    added.add_argument(
        "--transport", default="ndp", metavar="NAME", help="what hosts do; default %(default)s"
    )
    added.add_argument("--start-unit", choices=("ps", "us"), help="unit of starts in a .cm file")
    added.add_argument(
        "--routes", type=Path, metavar="FILE", help="with a .cm file: the paths that its flows take"
    )
    for name, example in (("rate", "10Gbps"), ("delay", "1us")):
        added.add_argument(f"--{name}", metavar=example, help=f"{name} of cables that have none")
    for name, example in (("rate", "Gbps"), ("delay", "us")):
        added.add_argument(
            f"--{name}-unit", metavar=example, help=f"unit of {name}s that are bare numbers in a graph"
        )
    added.add_argument(
        "--hosts",
        action="append",
        metavar="NODE",
        help="a graph's node that is a host; or leaves, all with one cable",
    )
    option = added.add_argument("--dialect", metavar="NAME", help="a CDF's dialect: %(names)s")
    _naming(option, _dialects)
    added.add_argument(
        "--packet-bytes", type=int, metavar="N", help="payload of a packet, in a CDF of packets"
    )
    added.add_argument("--interpolation", choices=("linear", "step"), help="between the points of a CDF")
    for name, unit, default, what in (
        ("mtu", "BYTES", 9000, "payload of a packet, -mtu"),
        ("cwnd", "PACKETS", 15, "first window, -cwnd"),
        ("queue", "PACKETS", 15, "room of a port, -q"),
    ):
        added.add_argument(
            f"--{name}", type=_positive, metavar=unit, help=f"with htsim's files: {what}; default {default}"
        )

    added = verb("export", _export, "write a scenario's network or flows for another simulator")
    scenario(added)
    option = added.add_argument(
        "--to",
        required=True,
        metavar="FORMAT",
        help="%(names)s",
    )
    _naming(option, _formats_written)
    added.add_argument("-o", "--output", required=True, type=Path, metavar="FILE", help="a new file")
    added.add_argument("--entry", metavar="NAME", help="the traffic entry whose sizes a CDF has")

    verb("schema", _schema, "print the JSON Schema of scenario files")

    added = verb("explain", _explain, "say what the columns of the results mean")
    added.add_argument("column", nargs="?", metavar="COLUMN", help="default: all of them")

    verb("bench", None, "measure the engine's speed on this machine")
    return parser


class _Names:
    """Names in a help text, which are looked up if the text is shown: most commands need none of them."""

    def __init__(self, find: Callable[[], Iterable[str]]) -> None:
        self.find = find

    def __str__(self) -> str:
        return ", ".join(self.find())


def _naming(option: Any, find: Callable[[], Iterable[str]]) -> None:
    """Lets the help of an option have names, as %(names)s."""
    option.names = _Names(find)


def _disciplines() -> Iterable[str]:
    from flowyard import slotted

    return _members(slotted.schema()["$defs"]["DisciplineConfig"])


def _dialects() -> Iterable[str]:
    from flowyard import results

    return _members(results.schema()["$defs"]["Dialect"])


def _members(choice: dict[str, Any]) -> Iterable[str]:
    """The names that a choice in a schema has."""
    words = [word for member in choice["oneOf"] for word in member.get("enum", [])]
    consts = [member["const"] for member in choice["oneOf"] if "const" in member]
    tables = [tag for member in choice["oneOf"] for tag in member.get("properties", ())]
    return dict.fromkeys(consts + tables + words)


def _formats_read() -> Iterable[str]:
    from flowyard.interchange import formats

    return formats.READ


def _formats_written() -> Iterable[str]:
    from flowyard.interchange import exporting

    return exporting.FORMATS


def _networks_by_hosts() -> Iterable[str]:
    from flowyard.interchange import importing

    return importing.BY_HOSTS


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return int(text)


def _shard(text: str) -> tuple[int, int]:
    i, _, n = text.partition("/")
    if not ((i + n).isascii() and i.isdigit() and n.isdigit() and int(n) >= 1 and int(i) <= int(n)):
        raise argparse.ArgumentTypeError(f"{text!r} is not I/N with I from 1 to N, such as 1/4")
    # Arrays of jobs count from 0 as often as from 1: either way each of N tasks has a part of its own.
    return int(i) or int(n), int(n)


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from flowyard import _native

        print(f"flowyard {_native.__version__}")
        parser.exit()


def _override(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE, such as run.seed=2")
    if value.strip().startswith(("{", "[")):
        from flowyard import reading

        try:
            reading.parse_json(value, reading.shown(text))
        except UserError as error:
            raise argparse.ArgumentTypeError(
                f"{error}; tables and lists are written in JSON here, as in "
                """--set 'run={"seed": 2}'"""
            ) from None
    return key.strip(), value.strip()


def _overrides(arguments: argparse.Namespace) -> dict[str, object]:
    overrides: dict[str, object] = dict(arguments.set)
    if arguments.seed is not None:
        overrides["run.seed"] = arguments.seed
    if arguments.threads is not None:
        overrides["run.threads"] = arguments.threads
    if arguments.audit:
        overrides["run.audit"] = True
    return overrides


def _run(arguments: argparse.Namespace) -> int:
    from flowyard import folders, results, scenarios
    from flowyard.interrupt import Deferred
    from flowyard.progress import Display

    overrides = _overrides(arguments)
    path = scenarios.find(arguments.scenario)
    # A mistake in the scenario shows before anything is written, and so does the size of what is to be observed.
    checked = results.Checked(path, overrides)
    if checked.resolved().get("observe"):
        print(_to_observe(checked.outlook().needs), file=sys.stderr)
    # Ctrl-C ends the run, not the program: what there is by then is kept.
    with Deferred() as deferred, folders.Staging(arguments.output, numbered=path.stem) as staging:
        with Display() as display:
            watched = deferred.watch(display.row(path.stem))
            result = checked.run(progress=watched, command=arguments.command)
        result.write(staging.path)
        folder = staging.publish()

    if arguments.json:
        print(json.dumps({"folder": str(folder), **result.summary}, indent=2))
    else:
        from flowyard.showing import tell

        tell(result, folder)
    for violation in result.violations:
        print(f"audit: {violation}", file=sys.stderr)
    return FAILED if result.violations else OF_STATUS[result.status]


def _to_observe(needs: dict[str, int]) -> str:
    rows = needs["sample_rows"]
    samples = f"about {rows:,} rows of samples, " if rows else ""
    return f"observing: {samples}about {_megabytes(needs)} of memory in all"


def _megabytes(needs: dict[str, int]) -> str:
    return f"{max(1, round(needs['memory_bytes'] / 2**20)):,} MiB"


def _check(arguments: argparse.Namespace) -> int:
    from flowyard import _native, forecast, results, scenarios

    path = scenarios.find(arguments.scenario)
    overrides = _overrides(arguments)
    try:
        checked = results.Checked(path, overrides)
    except _native.ScenarioError:
        from flowyard.sweeps import command

        if command.is_plan(path):
            return command.check(arguments, path, overrides)
        raise
    resolved = checked.resolved(whole=True)
    needs, derived, advice = checked.outlook()
    speed = forecast.speed(checked, needs)
    if arguments.json:
        said = {"derived": derived, "advice": advice, "needs": forecast.as_json(needs, speed)}
        print(json.dumps({**resolved, **said}, indent=2))
        return COMPLETE
    print(f"{path}: nothing wrong")
    for part in ("topology", "routing", "transport", "queue"):
        if resolved.get(part):
            _part(part, _inline(resolved[part]))
    if name := results.controlled(resolved):
        (settings,) = resolved["controller"].values()
        _part(name, _inline(settings))
    shared = {part: resolved[part] for part in ("transport", "routing")}
    for entry in resolved["traffic"]:
        own = {key: value for key, value in entry.items() if shared.get(key) != value}
        _part("traffic", _inline(own))
    for field, value in derived.items():
        _part("derived", f"{field} = {_inline(value)}")
    hops, ends = needs["packet_hops"], needs["end_ps"] / 1e9
    _part("needs", f"about {_megabytes(needs)}; {hops:,} packet-hops for {ends:,.3g} ms simulated")
    _part("", forecast.said(needs, speed))
    if resolved.get("observe"):
        _part("observe", _inline(resolved["observe"]))
        _part("", _to_observe(needs))
    for piece in advice:
        print(results.advised(piece))
    return COMPLETE


def _part(name: str, said: str) -> None:
    """Prints a part of a scenario, in lines of a screen's width."""
    lead = f"  {name:<10} "
    folded = textwrap.wrap(said, COLUMNS - len(lead), break_long_words=False, break_on_hyphens=False)
    print(lead + f"\n{' ' * len(lead)}".join(folded))


def _inline(value: Any) -> str:
    """A value in one line, near to how TOML would have it."""
    if isinstance(value, dict):
        items = ", ".join(f"{key} = {_inline(item)}" for key, item in value.items() if item is not None)
        return f"{{ {items} }}" if items else "{}"
    if isinstance(value, list) and len(value) > 8:
        return f"[{', '.join(map(_inline, value[:8]))}, ... {len(value):,} in all]"
    return json.dumps(value)


def _sweep(arguments: argparse.Namespace) -> int:
    from flowyard.sweeps import command

    return command.run(arguments)


def _paper(name: str) -> Any:
    def run(arguments: argparse.Namespace) -> int:
        from importlib import import_module

        return int(getattr(import_module("flowyard.papers.command"), name)(arguments))

    return run


def _report(arguments: argparse.Namespace) -> int:
    from importlib import import_module

    from flowyard import folders, results
    from flowyard.sweeps.results import is_sweep

    if arguments.output and not arguments.output.is_dir():
        folders.require_suffix(arguments.output, "a report is a page of HTML", ".html", ".htm")
    if any(map(is_sweep, arguments.runs)):
        from flowyard.sweeps import command

        return command.report(arguments)
    for directory in arguments.runs:
        results.open_run(directory)  # says which folder is not a run's
    default = arguments.runs[0] if len(arguments.runs) == 1 else Path()
    output = arguments.output or default / "report.html"
    import_module("flowyard.report").write(arguments.runs, output)
    print(json.dumps({"report": str(output)}) if arguments.json else f"report in {output}")
    return COMPLETE


def _show(arguments: argparse.Namespace) -> int:
    from flowyard import showing

    return showing.command(arguments)


def _slotted(arguments: argparse.Namespace) -> int:
    from flowyard.slotted import command

    return command.run(arguments)


def _topology(arguments: argparse.Namespace) -> int:
    from flowyard import folders, scenarios, topology
    from flowyard.console import show
    from flowyard.topology.picture import png, svg
    from flowyard.topology.tables import tables

    path = scenarios.find(arguments.scenario)
    overrides = dict(arguments.set)
    if arguments.output:
        folders.refuse_existing(arguments.output)
        folders.require_suffix(arguments.output, "the picture is an SVG or a PNG", ".svg", ".png")
    fabric = topology.fabric(path, overrides)
    network, found = topology.Network.of(fabric), json.loads(fabric.survey())
    drawn = svg(network, path.stem)
    as_png = arguments.output is not None and arguments.output.suffix.lower() == ".png"
    picture = folders.write_new(
        png(drawn) if as_png else drawn, arguments.output, numbered=f"{path.stem}-topology", suffix=".svg"
    )
    if arguments.json:
        ports = {
            tier: {"nodes": n, "ports_min": low, "ports_max": high}
            for tier, (n, low, high) in network.ports().items()
        }
        names = ("from", "to", "rate_bps", "rate_back_bps", "delay_ps")
        cables = [dict(zip(names, kind, strict=True), cables=n) for kind, n in network.cable_kinds().items()]
        print(
            json.dumps(
                {
                    "topology": network.kind,
                    "tiers": ports,
                    "cables": cables,
                    **found,
                    "picture": str(picture),
                },
                indent=2,
            )
        )
        return COMPLETE
    for table in tables(network, found):
        show(table)
    print(f"picture in {picture}")
    return COMPLETE


def _import(arguments: argparse.Namespace) -> int:
    from flowyard.interchange import command

    return command.import_files(arguments)


def _export(arguments: argparse.Namespace) -> int:
    from flowyard.interchange import command

    return command.export_file(arguments, _overrides(arguments))


def _schema(_: argparse.Namespace) -> int:
    from flowyard import _native

    print(_native.schema(), end="")
    return COMPLETE


def _explain(arguments: argparse.Namespace) -> int:
    from flowyard import _native, results
    from flowyard.sweeps import columns as of_sweeps

    slotted = {f"slotted/{table}": columns for table, columns in _native.explain_slotted().items()}
    tables = results.explain() | slotted | of_sweeps.explain()
    if arguments.column:
        found = {
            table: [
                column
                for column in columns
                if column["name"] == arguments.column or arguments.column in _values_of(column)
            ]
            for table, columns in tables.items()
        }
        tables = {table: columns for table, columns in found.items() if columns} or _no_column(
            arguments.column, tables
        )
    if arguments.json:
        print(json.dumps(tables, indent=2))
        return COMPLETE
    from flowyard.console import show_columns

    for table, columns in tables.items():
        show_columns(table, columns)
    return COMPLETE


def _values_of(column: dict[str, str]) -> set[str]:
    """What is sampled or counted, by its name in a column of names, whose meaning has them all."""
    if column["name"] not in ("series", "metric"):
        return set()
    return {
        word for word in re.findall(r"[a-z_]+", column["meaning"]) if "_" in word or word == "utilisation"
    }


def _no_column(name: str, tables: dict[str, list[dict[str, str]]]) -> dict[str, list[dict[str, str]]]:
    import difflib

    every = [column for columns in tables.values() for column in columns]
    names = sorted({column["name"] for column in every}.union(*map(_values_of, every)))
    near = difflib.get_close_matches(name, names, n=3)
    raise UserError(
        f"no column {name}; {'did you mean ' + ' or '.join(near) if near else 'there are ' + ', '.join(names)}"
    )
