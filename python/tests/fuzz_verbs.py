"""Every verb on files that somebody or something changed: whatever they hold, it runs or says in a few lines why not.

    python python/tests/fuzz_verbs.py --cases 1000 [--seed N] [--first I]

A case is one of the recipes below, one of its files changed (mutations.py), and its commands, run in a child process in
a folder of their own. It fails on an exception, a panic, an exit code that docs/reference/exit-codes.md has not or
that says of bad input that it is a failure, a message that is empty or longer than it should be, files written although
the input was bad, more memory or processor time than the limits. What failed is kept in out/fuzz, and
`--seed N --first I --cases 1` does it again. A few cases run with the tests (test_fuzz_verbs.py), many by `make fuzz`.
"""

import argparse
import contextlib
import io
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from interchange_examples import EXAMPLES, fct_txt
from mutations import NUMBERS, VALUES, changed

from flowyard.interchange.formats import READ

ROOT = Path(__file__).parents[2]
# Of one case. The engine asks for what it needs by counts, so that a loop without an end and a table that is too large
# are all that can come near.
CPU_SECONDS, MEMORY_BYTES = 120, 6 << 30
# A case that stops a run early is as good: what a run may do at most here.
LIMITS = {"run.work_limit": 200_000, "run.memory_limit": "256MiB"}
MOST_RUNS, MOST_SLOTS = 12, 20_000
# Complete, failed, bad input, stalled, limit.
CODES = {0, 1, 2, 3, 4}
MESSAGE_MAX = 20_000

SMALL = """\
[topology.single-switch]
hosts = 4

[transport.ndp]

[[traffic]]
name = "few"
arrivals = "at-once"
matrix = "permutation"
sizes.fixed = "10KB"
flows = 4
"""
OBSERVED = """
[observe]
samples = { every = "5us", links = ["*"] }
histograms.every = "1us"

[[faults.events]]
at = "10us"
target.node = "switch"
change = "down"
lasts = "5us"
"""
DISTRIBUTION = SMALL.replace(
    'sizes.fixed = "10KB"', 'sizes.cdf = { file = "sizes.txt", dialect = "percent" }'
)
CDF = "# size percent\n1000 0\n2000 50\n10000 100\n"
SWEEP = """\
name = "both"
scenario = "small.toml"
replicas = 2
set."run.seed" = 7

[[axes]]
name = "size"
labels = ["small", "large"]
set."traffic.few.sizes.fixed" = ["1KB", "9KB"]

[[axes]]
name = "switch"
set.transport = ["ndp", "tcp"]
"""
LINK = """\
discipline = "peq"
[[generation.list]]
size = 10
deadline = 23
[[generation.list]]
size = 4
deadline = 26
arrival = 3
"""
SERVERS = """\
discipline = "edf"
run.slots = 500
[generation.servers]
count = 4
load = 0.5
[[classes]]
sizes.uniform = { min = 1, max = 9 }
deadlines.uniform = { min = 10, max = 40 }
"""
CLAIMS = """\
id = "OWN"
title = "A study"
source = "one's own"

[claims."OWN-1.a"]
kind = "closed form"
grade = "number"
says = "It is fast."
tolerance = "at least 0.9"
contradicted_by = ["OWN-C1"]

[contradictions."OWN-C1"]
says = "It is slow."
"""
FIGURE = """\
import polars as pl
from flowyard.papers.figure import Figure
from flowyard.papers.judge import at_least
FIGURE = Figure(
    id="OWN-1",
    title="One number",
    tables=lambda scale, sweeps: {"one": pl.DataFrame({"share": [0.95]})},
    claims={"OWN-1.a": lambda tables: at_least("share", tables["one"]["share"][0], 0.9)},
)
"""
EXPORTS = (
    "htsim-cm",
    "htsim-topo",
    "hpcc-flow",
    "hpcc-topology",
    "netsys-trace",
    "cdf-percent",
    "cdf-fraction",
    "graphml",
)


@dataclass
class Recipe:
    """Files, of which one is changed; and what may be done with them, of which a case does one.

    Attributes:
        files: What is in them, by path.
        commands: One after the other where there is "&&"; any word for WORD, a peer's for FORMAT.
        victims: The files that are changed; all by default.
        share: How often it is chosen, next to others.
    """

    files: dict[str, bytes]
    commands: list[str]
    victims: list[str] = field(default_factory=list)
    share: float = 3


def recipes(kept: Path) -> dict[str, Recipe]:
    """All recipes by name; `kept` is a folder in which runs and sweeps are made that later ones read."""
    small = SMALL.encode()
    on_scenario = [
        "check s.toml",
        "run s.toml -o out",
        "run s.toml -o out --audit",
        "topology s.toml -o out.svg",
    ]
    on_scenario += ["run s.toml -o out --json", "export s.toml --to FORMAT -o exported"]
    found = {"small": Recipe({"s.toml": small}, on_scenario)}
    for folder in ("crates/sim/tests/golden", "python/flowyard/scenarios"):
        for path in sorted((ROOT / folder).glob("*.toml")):
            found[path.stem] = Recipe({"s.toml": path.read_bytes()}, on_scenario, share=0.5)
    found["json"] = Recipe(
        {"s.json": _as_json(SMALL + OBSERVED)}, ["check s.json", "run s.json -o out --json"]
    )
    set_ = ["check s.toml --set WORD=WORD", "run s.toml -o out --set WORD=WORD --seed 3"]
    found["set"] = Recipe({"s.toml": small}, set_, ["none"])
    files = {"s.toml": DISTRIBUTION.encode(), "sizes.txt": CDF.encode()}
    found["cdf"] = Recipe(files, ["check s.toml", "run s.toml -o out", "import sizes.txt -o new"])
    sweep = "sweep plan.toml -o out --workers 1"
    found["sweep"] = Recipe(
        {"plan.toml": SWEEP.encode(), "small.toml": small},
        [f"{sweep} && report out -o report.html", f"{sweep} --shard 2/3 && {sweep}", f"{sweep} --json"],
    )
    found["slotted"] = Recipe(
        {"l.toml": LINK.encode()}, ["slotted l.toml -o out", "slotted l.toml --discipline WORD"]
    )
    found["servers"] = Recipe(
        {"l.toml": SERVERS.encode()}, ["slotted l.toml -o out", "slotted l.toml --discipline d3"]
    )
    found["study"] = Recipe(
        {"study/claims.toml": CLAIMS.encode(), "study/one.py": FIGURE.encode()},
        ["paper show ./study", "paper run ./study -o out", "paper list"],
        ["study/claims.toml"],
    )
    for name, text in EXAMPLES.items():
        options = "-o new.toml --topology network.toml --start-unit ps"
        commands = [f"import flows {options} && check new.toml", f"import flows {options} --format WORD"]
        found[f"import {name}"] = Recipe(
            {"flows": text.encode(), "network.toml": small}, commands, ["flows"], share=2
        )
    run, swept = _tree(kept / "run", "run"), _tree(kept / "swept", "swept")
    found["kept run"] = Recipe(
        run,
        [
            "report run -o r.html",
            "report run run -o r.html",
            "report run --json",
            "report run --why -o r.html",
            "show run",
            "why run",
            "why run -o f.html",
            "watch run --until WORD -o w.html",
        ],
    )
    found["kept run.json"] = Recipe(run, ["report run -o r.html", "show run", "show ."], ["run/run.json"])
    found["kept run and a peer"] = Recipe(
        run | _tree(kept / "peer", "peer"),
        [f"compare run peer/fct.txt {options}" for options in ("-o c.html", "--json", "--shift WORD")],
    )
    again = "sweep plan.toml -o swept --workers 1"
    found["kept sweep"] = Recipe(
        swept | {"small.toml": small, "plan.toml": SWEEP.encode()},
        ["report swept -o r.html", "show swept", "show . --json", again, f"{again} --update"],
        [*swept, "plan.toml", "swept/sweep.json", "swept/sweep.json"],
    )
    return found


def _as_json(text: str) -> bytes:
    import json
    import tomllib

    return json.dumps(tomllib.loads(text), indent=1).encode()


def _tree(folder: Path, name: str) -> dict[str, bytes]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {f"{name}/{path.relative_to(folder)}": path.read_bytes() for path in files}


def make_kept(folder: Path) -> None:
    """The run and the sweep that recipes read."""
    import polars as pl

    import flowyard as fy
    from flowyard import sweeps

    (folder / "small.toml").write_text(SMALL + OBSERVED)
    fy.run(folder / "small.toml").save(folder / "run")
    (folder / "peer").mkdir()
    (folder / "peer" / "fct.txt").write_text(fct_txt(pl.read_parquet(folder / "run" / "flows.parquet")))
    (folder / "small.toml").write_text(SMALL)
    (folder / "plan.toml").write_text(SWEEP)
    sweeps.sweep(folder / "plan.toml", folder / "swept", workers=1)


def restrain() -> None:
    """Makes runs of this process small: what a changed file asks for may be right, and take days."""
    from flowyard import results, slotted
    from flowyard.sweeps import plan

    read, link = results.Checked.__init__, slotted.Checked.run

    def small(checked, scenario, overrides=None, prototypes=()):
        read(checked, scenario, {**(overrides or {}), **LIMITS}, prototypes)

    def small_link(checked, **options):
        def stop(slots: int) -> None:
            if slots > MOST_SLOTS:
                raise KeyboardInterrupt

        return link(checked, **options | {"progress": stop})

    setattr(results.Checked, "__init__", small)  # noqa: B010 - a plain assignment to a method is a type error
    setattr(slotted.Checked, "run", small_link)  # noqa: B010 - as above
    plan.MOST_RUNS = MOST_RUNS


WORDS = [
    *NUMBERS,
    *VALUES,
    "run.seed",
    "transport",
    "traffic.few.flows",
    "topology.single-switch.hosts",
    "peq",
    *READ,
]


def case(all_recipes: dict[str, Recipe], seed: int, number: int, folder: Path) -> tuple[str, list[list[str]]]:
    """Writes the files of a case into a folder; returns its recipe's name and its commands."""
    chance = random.Random(f"{seed} {number}")
    (name,) = chance.choices(list(all_recipes), [recipe.share for recipe in all_recipes.values()])
    recipe = all_recipes[name]
    victim = chance.choice(recipe.victims or list(recipe.files))
    for path, content in recipe.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(changed(content, chance) if path == victim else content)

    def spelt(word: str) -> str:
        word = re.sub("FORMAT", lambda _: chance.choice(EXPORTS), word)
        return re.sub("WORD", lambda _: chance.choice(WORDS), word)

    lines = chance.choice(recipe.commands).split("&&")
    commands = [[spelt(word) for word in shlex.split(line)] for line in lines]
    if chance.random() < 0.05:
        command = chance.choice(commands)
        command[chance.randrange(1, len(command))] = chance.choice(WORDS)
    return name, commands


def wrong(command: list[str]) -> str | None:
    """Runs a command in the folder that this process is in; what is wrong with what it does, if anything is."""
    from flowyard import cli

    before, as_json = set(_files()), "--json" in command
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli.main(command)
    except SystemExit as usage:
        # The parser of arguments knows no JSON.
        code, as_json = usage.code, False  # type: ignore[assignment]
    except BaseException:
        return traceback.format_exc()
    said = err.getvalue()
    if code not in CODES or (code == 1 and command[0] not in ("sweep", "paper")):
        return f"exit code {code}\n{said}"
    for word in ("Traceback", "panicked", "contradicted itself", "RuntimeWarning"):
        if word in said:
            return f"{word} on stderr\n{said}"
    if code == 2:
        # With --json the message is the answer.
        told, silent = (out.getvalue(), said) if as_json else (said, out.getvalue())
        # A document has the paths, and the values that were found, whole.
        if not told.strip() or silent or len(said) > MESSAGE_MAX:
            return f"a message of {len(told)} characters, {len(silent)} where there should be none\n{said[:3000]}"
        if new := set(_files()) - before:
            return f"bad input, and files were written: {', '.join(sorted(new)[:5])}\n{said}"
    return None


def _files() -> Iterator[str]:
    return (str(path) for path in Path().rglob("*") if "__pycache__" not in path.parts)


def run_cases(seed: int, numbers: range, kept: Path, say=print) -> None:
    """Runs cases one after the other in this process; says OK or FAILED of each, and why."""
    os.environ.setdefault("COLUMNS", "100")
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    restrain()
    all_recipes = recipes(kept)
    home = Path.cwd()
    for number in numbers:
        folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
        used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
        resource.setrlimit(resource.RLIMIT_CPU, (int(used) + CPU_SECONDS, resource.RLIM_INFINITY))
        name, commands = case(all_recipes, seed, number, folder)
        say(f"CASE {number} {folder} {name}")
        os.chdir(folder)
        try:
            for command in commands:
                if (why := wrong(command)) is not None:
                    said = f"FAILED flowyard {shlex.join(command)}"[:2000].replace("\n", "\\n")
                    say("\n".join([said, *(f"| {line}" for line in why.splitlines()[-60:])]))
                    break
            else:
                os.chdir(home)
                shutil.rmtree(folder)
        finally:
            os.chdir(home)
    say("END")


def verbs() -> list[str]:
    """The names of all verbs."""
    from flowyard import cli

    actions = (action for action in cli.parser()._actions if isinstance(action, argparse._SubParsersAction))
    return [name for action in actions for name in action.choices]


class Driver:
    """Gives cases to one child process at a time, which may die of one, and keeps what failed."""

    def __init__(self, seed: int, keep: Path) -> None:
        self.seed, self.keep = seed, keep
        self.failed = self.done = 0

    def run(self, first: int, cases: int, kept: Path) -> None:
        """Runs so many cases, in as many processes as it takes."""
        number, last = first, first + cases
        while number < last:
            # A new process now and then, so that none gets full of what the ones before left.
            number = self._batch(number, min(last, number + 500), kept)
            print(f"{number - first:,} of {cases:,} cases, {self.failed:,} failed", flush=True)

    def _batch(self, first: int, last: int, kept: Path) -> int:
        words = [sys.executable, __file__, "--child", str(kept), "--seed", str(self.seed)]
        words += ["--first", str(first), "--cases", str(last - first)]
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        ) as child:
            number, folder, name = first - 1, "", ""
            lines: list[str] = []
            for line in child.stdout or ():
                if line.startswith("CASE "):
                    self._report(number, folder, name, lines)
                    _, told, folder, name = line.rstrip("\n").split(" ", 3)
                    number, lines = int(told), []
                elif line.strip() != "END":
                    lines.append(line)
        self.done += number + 1 - first
        if child.returncode:
            lines.append(f"FAILED the process ended with {_cause(child.returncode)}\n")
        self._report(number, folder, name, lines)
        return number + 1

    def _report(self, number: int, folder: str, name: str, lines: list[str]) -> None:
        if not any(line.startswith("FAILED") for line in lines):
            return
        self.failed += 1
        kept = self.keep / f"{self.seed}-{number}"
        if Path(folder).is_dir():
            self.keep.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(kept, ignore_errors=True)
            shutil.move(folder, kept)
        print(f"case {number} ({name}), --seed {self.seed} --first {number} --cases 1, files in {kept}:")
        print("".join(lines), flush=True)


def _cause(code: int) -> str:
    if code == -signal.SIGXCPU:
        return f"more than {CPU_SECONDS} s of processor time"
    return f"signal {-code}: {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    parser.add_argument("--first", type=int, default=0, metavar="I")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    numbers = range(arguments.first, arguments.first + arguments.cases)
    if arguments.child:
        # Not RLIMIT_AS: the engine that draws charts reserves address space that it never uses.
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
        run_cases(arguments.seed, numbers, arguments.child, lambda text: print(text, flush=True))
        return 0
    print(f"{arguments.cases:,} changed inputs over all verbs, --seed {arguments.seed}", flush=True)
    driver = Driver(arguments.seed, ROOT / "out/fuzz")
    with tempfile.TemporaryDirectory() as kept:
        make_kept(Path(kept))
        driver.run(arguments.first, arguments.cases, Path(kept))
    return 1 if driver.failed else 0


if __name__ == "__main__":
    sys.exit(main())
