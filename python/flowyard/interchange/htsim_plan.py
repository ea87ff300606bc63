"""Experiment plans of htsim_uec (`validate*.txt` of ultraethernet/uet-htsim): a scenario for each, and a sweep of all.

    connection_matrices/one.cm
    !Experiment Single Connection
    !Binary ./htsim_uec
    !Param -end 1000
    !Param -sender_cc_only
    !tailFCT 190

A line that begins with neither `!` nor `#` names a connection matrix; the lines behind it have its title, program and
options, and the completion times expected of the last flow (`!tailFCT`) and of flows by name (`!FCT`), in us. Paths are
relative to the plan's folder, as for the scripts that run such plans. Programs other than htsim_uec have other
transports: their experiments are left out, with a note.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flowyard.errors import UserError
from flowyard.interchange import formats, htsim_cm, htsim_topo, htsim_uec
from flowyard.interchange.flows import Progress, silent
from flowyard.interchange.importing import load
from flowyard.interchange.network import Network
from flowyard.interchange.text import Source

PROGRAM = "htsim_uec"
_KEYS = ("Experiment", "Binary", "Param", "tailFCT", "FCT")
FORMAT = "htsim-plan"
# Bytes by which a plan is recognised.
LOOKED_AT = 4096
_IS_ONE = re.compile(r"(?m)^!(Experiment|Binary|Param|tailFCT)\b")


@dataclass
class Experiment:
    """An experiment of a plan.

    Attributes:
        line: Line that names its matrix.
        matrix: Path of the matrix, as written.
        title: Its title; by default the matrix.
        program: The program that runs it, without its folder.
        options: Words of its command line.
        tail_us: Completion time expected of the last flow, if any is.
    """

    line: int
    matrix: str
    title: str = ""
    program: str = "htsim_eqds"
    options: list[str] = field(default_factory=list)
    tail_us: int | None = None


@dataclass(frozen=True)
class Plan:
    """The scenarios of a plan.

    Attributes:
        scenarios: Plain data by name; names are those of files, without their suffix.
        titles: The title of each.
        tails_us: The completion time expected of the last flow of each, None without one.
        notes: Experiments left out, and assumptions.
    """

    scenarios: dict[str, dict[str, Any]]
    titles: dict[str, str]
    tails_us: dict[str, int | None]
    notes: list[str]


def asked(files: Sequence[Path], chosen: Sequence[str]) -> bool:
    """Whether the files of an import are a plan: by the formats chosen, or by the first lines of one of them."""
    if chosen:
        return FORMAT in chosen
    return any(path.is_file() and _is_one(path) for path in files)


def alone(files: Sequence[Path], given: Mapping[str, Any]) -> Sequence[Path]:
    """The plan, which names its files and settings itself: other files and options are refused."""
    if len(files) > 1:
        raise UserError(f"{', '.join(map(str, files))}: a plan names its files itself; import it alone")
    for option in given:
        formats.refuse_options({option: given[option]}, [(str(files[0]), FORMAT)])
    return files


def _is_one(path: Path) -> bool:
    with path.open("rb") as file:
        return _IS_ONE.search(file.read(LOOKED_AT).decode("utf-8", "replace")) is not None


def read(path: Path, progress: Progress = silent) -> Plan:
    """The scenarios of a plan, with the files that it names.

    Args:
        path: The plan.
        progress: Called with the number of experiments read and that of all.
    """
    source = load(path)
    plan = Plan({}, {}, {}, [])
    others: dict[str, int] = {}
    files = _Files(path.parent)
    found = list(experiments(source))
    for count, experiment in enumerate(found, 1):
        progress(count, len(found))
        if experiment.program != PROGRAM:
            others[experiment.program] = others.get(experiment.program, 0) + 1
            continue
        name = _free(experiment.title, plan.scenarios)
        plan.scenarios[name] = files.scenario(source, experiment, plan.notes)
        plan.titles[name] = experiment.title
        plan.tails_us[name] = experiment.tail_us
    plan.notes.extend(f"{count} experiments of {program} are left out" for program, count in others.items())
    if not plan.scenarios:
        raise source.wrong(0, f"has no experiment of {PROGRAM}" + "".join(f"; {note}" for note in plan.notes))
    return plan


def experiments(source: Source) -> Iterator[Experiment]:
    """The experiments of a plan, in their order."""
    now: Experiment | None = None
    for number, line in enumerate(source.text.splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if not text.startswith("!"):
            if now:
                yield now
            now = Experiment(number, text, text)
            continue
        if now is None:
            raise source.wrong(number, "stands before the first matrix; a matrix is named before its options")
        _apply(source, number, text[1:], now)
    if now:
        yield now


def _apply(source: Source, number: int, text: str, experiment: Experiment) -> None:
    key, _, value = text.partition(" ")
    value = value.strip()
    if key not in _KEYS:
        raise source.wrong(
            number, f"!{key} is no key of a plan; keys are {', '.join(f'!{name}' for name in _KEYS)}"
        )
    if not value:
        raise source.wrong(number, f"!{key} has no value")
    if key == "Experiment":
        experiment.title = value
    elif key == "Binary":
        experiment.program = Path(value.split()[0]).name
    elif key == "Param":
        experiment.options += value.split()
    elif key == "tailFCT":
        experiment.tail_us = source.whole(number, "!tailFCT", value)


class _Files:
    """Matrices and topologies that several experiments share are read once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.found: dict[tuple[str, bool], Any] = {}

    def scenario(self, plan: Source, experiment: Experiment, notes: list[str]) -> dict[str, Any]:
        """The scenario of an experiment."""
        where = f"{plan.name}, line {experiment.line} ({experiment.title})"
        settings = htsim_uec.read(experiment.options, where)
        matrix = self.matrix(plan, experiment, settings.matrix or experiment.matrix, settings.reuse)
        if settings.topology is None:
            topology = htsim_uec.network(settings, matrix.hosts or 0, where)
        else:
            network = self.network(plan, experiment, settings.topology)
            if len(network.hosts) != matrix.hosts:
                raise UserError(
                    f"{where}: the matrix has {matrix.hosts} hosts, {settings.topology} has {len(network.hosts)}"
                )
            topology = network.topology()
        events = htsim_uec.faults(settings, topology, where)
        notes += [note for note in matrix.notes if note not in notes]
        return {
            "topology": topology,
            **settings.parts(),
            **({"faults": {"events": events}} if events else {}),
            "traffic": [entry.traffic() for entry in matrix.entries],
        }

    def matrix(self, plan: Source, experiment: Experiment, name: str, reuse: bool) -> htsim_cm.Matrix:
        key = (name, reuse)
        if key not in self.found:
            source = self.source(plan, experiment, name)
            self.found[key] = htsim_cm.read(source, start_unit="us", kept=reuse)
        matrix: htsim_cm.Matrix = self.found[key]
        if matrix.failures:
            raise plan.wrong(experiment.line, f"{name} fails links, which goes with its .topo file alone")
        return matrix

    def network(self, plan: Source, experiment: Experiment, name: str) -> Network:
        key = (name, False)
        if key not in self.found:
            self.found[key] = htsim_topo.read(self.source(plan, experiment, name))
        found: Network = self.found[key]
        return found

    def source(self, plan: Source, experiment: Experiment, name: str) -> Source:
        path = self.folder / name
        if not path.is_file():
            raise plan.wrong(experiment.line, f"{name} is not there; paths are relative to {self.folder}")
        return load(path)


def flows(scenario: Mapping[str, Any]) -> int:
    """Number of flows of a scenario of a plan."""
    return sum(len(entry["matrix"]["pairs"]) for entry in scenario["traffic"])


def sweep(plan: Plan, folder: str, remarks: list[str]) -> str:
    """The sweep over a plan's scenarios, files of a folder beside it.

    Args:
        plan: The scenarios.
        folder: Name of the folder.
        remarks: Comments above.
    """
    lines = [*(f"# {remark}" for remark in remarks), f"name = {json.dumps(folder)}"]
    lines += ['metrics = ["end_ps", "fct_p50_ps", "fct_p99_ps", "trims", "retransmissions"]', "", "[[axes]]"]
    lines += ['name = "experiment"', "scenario = ["]
    for name in plan.scenarios:
        tail = plan.tails_us[name]
        expected = "" if tail is None else f"  # {PROGRAM}: the last flow ends by {tail} us"
        lines.append(f"  {json.dumps(f'{folder}/{name}.toml')},{expected}")
    lines += ["]", "labels = ["]
    lines += [f"  {json.dumps(label, ensure_ascii=False)}," for label in _labels(plan)]
    return "\n".join([*lines, "]", ""])


def _labels(plan: Plan) -> list[str]:
    """Titles, of which those that are the same have the names of their files."""
    all_titles = list(plan.titles.values())
    return [title if all_titles.count(title) == 1 else name for name, title in plan.titles.items()]


def _free(title: str, taken: dict[str, Any]) -> str:
    """A name for a file from a title, with a number where it is taken."""
    name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60].strip("-") or "experiment"
    number = 2
    free = name
    while free in taken:
        free = f"{name}-{number}"
        number += 1
    return free
