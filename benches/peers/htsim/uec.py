"""Compares Flowyard's Ultra Ethernet transport with htsim_uec: the same flows, case by case, results side by side.

Builds htsim_uec from a checkout of ultraethernet/uet-htsim, of which nothing is in this repository, with its own
files for cmake. Each case is a connection matrix of the checkout with options of htsim_uec; Flowyard gets the same
flows, network and options. Prints the last completion time of both, their counts of new, retransmitted, trimmed and
control packets, and processor time and memory of both commands. The two draw other random numbers: a lone flow has the
same digits, others are near.

    .venv/bin/python benches/peers/htsim/uec.py CHECKOUT --case incast
    .venv/bin/python benches/peers/htsim/uec.py CHECKOUT --plan validate_uec_sender.txt
    .venv/bin/python benches/peers/htsim/uec.py CHECKOUT --matrix mine.cm --hosts 16 -- -receiver_cc_only -paths 128
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flowyard import results
from flowyard.bench import tell
from flowyard.interchange import htsim_cm, htsim_plan, htsim_topo, htsim_uec
from flowyard.interchange.text import Source

BUILD = Path("out/bench/uec")
FOLDER = Path("htsim/sim/datacenter")
MATRICES = FOLDER / "connection_matrices"
MTU = 4150
CONNECTION = re.compile(r"(\d+)->(\d+)\b.*?\bstart (\d+)\b.*?\bsize (\d+)")
FINISHED = re.compile(r"^Flow (\S+) .*?finished at ([\d.e+]+)", re.MULTILINE)
TOTALS = re.compile(
    r"^New: (\d+) Rtx: (\d+) RTS: (\d+) .*?ACKs: (\d+) NACKs: (\d+) Pulls: (\d+)", re.MULTILINE
)
CONTROLS: tuple[tuple[str, ...], ...] = (
    ("-sender_cc_only",),
    ("-receiver_cc_only",),
    ("-sender_cc", "-receiver_cc"),
)


@dataclass(frozen=True)
class Case:
    """A matrix of the checkout, its fat-tree, and options of htsim_uec, those of its control apart."""

    name: str
    matrix: str
    k: int
    options: tuple[str, ...] = ()
    controls: tuple[tuple[str, ...], ...] = CONTROLS
    end_us: int = 30_000


PERMUTATION = "perm_1024n_1024c_0u_2000000b.cm"
CASES = [
    Case("lone flow", "one.cm", 4),
    Case("both ways", "bidir.cm", 4),
    Case("incast of 15", "incast.cm", 4),
    Case("incast of 127", "incast_128.cm", 8),
    Case("overlapping", "incast_3-1_overlapped.tm", 8, ("-cwnd", "50")),
    Case("outcast and incast", "outcast_incast.cm", 8),
    Case("permutation of 16", "perm_16n_16c_2MB.cm", 4, ("-paths", "128")),
    Case("permutation of 1024", PERMUTATION, 16, ("-paths", "128")),
    Case("incast of 1023", "incast_1024_100K.cm", 16, ("-cwnd", "50")),
]


@dataclass(frozen=True)
class Spent:
    """Processor time of a command, its memory if that is more than this program's, and its output."""

    cpu_s: float
    mib: float | None
    text: str


@dataclass(frozen=True)
class Side:
    """Results of one side."""

    tail_us: float
    flows: int
    new: int
    again: int
    trimmed: int
    control: int
    spent: Spent


def main() -> int:
    """Builds, runs, prints; 1 if a side did not complete its flows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path, help="a checkout of ultraethernet/uet-htsim")
    parser.add_argument("--case", action="append", help="only cases that have this in their name")
    parser.add_argument("--seed", type=int, default=13, help="of both sides; default 13")
    parser.add_argument("--plan", help="an experiment plan of the checkout, such as validate_uec_rcv.txt")
    parser.add_argument("--matrix", type=Path, help="a connection matrix of your own, in place of the cases")
    parser.add_argument("--hosts", type=int, default=16, help="hosts of its fat-tree: 16, 128, 1024")
    parser.add_argument("options", nargs="*", help="options of htsim_uec for it, after --")
    given = parser.parse_args()
    program = built(given.checkout)
    if program is None:
        print(f"error: htsim_uec was not built; see {BUILD / 'build.log'}", file=sys.stderr)
        return 1
    cases = [case for case in CASES if not given.case or any(part in case.name for part in given.case)]
    if given.plan:
        cases = planned(given.checkout / FOLDER, given.plan)
    if given.matrix:
        k = arity(given.hosts)
        named = any("_cc" in option for option in given.options)
        controls = ((),) if named else CONTROLS
        cases = [Case(given.matrix.name, str(given.matrix.absolute()), k, tuple(given.options), controls)]
    print(
        f"{'case':<22} {'control':<7} {'side':<9} {'tail us':>12} {'new':>8} {'again':>8} {'trimmed':>8} "
        f"{'control':>8} {'CPU s':>8} {'MiB':>6}"
    )
    complete = True
    for case in cases:
        for control in case.controls:
            complete &= compare(given.checkout, program, case, control, given.seed)
    return 0 if complete else 1


def planned(folder: Path, name: str) -> list[Case]:
    """The experiments of a plan."""
    text = (folder / name).read_text(encoding="utf-8")
    cases: list[Case] = []
    for experiment in htsim_plan.experiments(Source(name, text)):
        nodes = re.search(
            r"^Nodes (\d+)", (folder / experiment.matrix).read_text(encoding="utf-8"), re.MULTILINE
        )
        end, own = without(experiment.options, "-end")
        topology, own = without(own, "-topo")
        own += ["-topo", str((folder / topology).absolute())] if topology else []
        k = arity(int(nodes[1]) if nodes else 16)
        cases.append(
            Case(experiment.title[:40], Path(experiment.matrix).name, k, tuple(own), ((),), int(end or 1000))
        )
    return cases


def without(options: Sequence[str], name: str) -> tuple[str | None, list[str]]:
    """The value of an option, if it is there, and the others."""
    if name not in options:
        return None, list(options)
    at = list(options).index(name)
    return options[at + 1], [*options[:at], *options[at + 2 :]]


def arity(hosts: int) -> int:
    """The k of a fat-tree of so many hosts."""
    return next(k for k in range(2, 100, 2) if k**3 // 4 >= hosts)


def built(checkout: Path) -> Path | None:
    """The program, which a second call does not compile again."""
    program = BUILD / "datacenter" / "htsim_uec"
    BUILD.mkdir(parents=True, exist_ok=True)
    if not program.exists():
        tell("htsim_uec is built")
        source = (checkout / "htsim" / "sim").absolute()
        configure = ["cmake", str(source), "-DCMAKE_BUILD_TYPE=Release"]
        make = ["make", f"-j{os.cpu_count()}", "htsim_uec"]
        with (BUILD / "build.log").open("w", encoding="utf-8") as log:
            for command in (configure, make):
                if subprocess.run(command, cwd=BUILD, stdout=log, stderr=subprocess.STDOUT).returncode:
                    return None
    return program.absolute()


def compare(checkout: Path, program: Path, case: Case, control: tuple[str, ...], seed: int) -> bool:
    """Runs a case on both sides and prints their rows; whether both completed all flows."""
    matrix = (checkout / MATRICES / case.matrix).absolute()
    count = sum(1 for line in matrix.read_text(encoding="utf-8").splitlines() if CONNECTION.match(line))
    settings = htsim_uec.read([*control, *case.options], case.name)
    sides = {
        "htsim_uec": theirs(program, matrix, case, control, seed),
        "Flowyard": ours(matrix, case, control, seed),
    }
    for name, side in sides.items():
        print(
            f"{case.name:<22} {label(settings):<7} {name:<9} {side.tail_us:12.6g} {side.new:8d} {side.again:8d} "
            f"{side.trimmed:8d} {side.control:8d} {side.spent.cpu_s:8.2f} {memory(side.spent):>6}"
            + ("" if side.flows == count else f"  {side.flows} of {count} flows")
        )
    ratio = sides["Flowyard"].tail_us / sides["htsim_uec"].tail_us
    cpu = sides["htsim_uec"].spent.cpu_s / sides["Flowyard"].spent.cpu_s
    print(f"{'':<30} difference {100 * (ratio - 1):+.2f} %, {cpu:.1f} times the processor time", flush=True)
    return all(side.flows == count for side in sides.values())


def theirs(program: Path, matrix: Path, case: Case, control: tuple[str, ...], seed: int) -> Side:
    """A run of htsim_uec. It counts no trims: each brings a NACK."""
    command = [
        str(program),
        "-tm",
        str(matrix),
        "-end",
        str(case.end_us),
        "-seed",
        str(seed),
        *control,
        *case.options,
    ]
    with tempfile.TemporaryDirectory() as folder:
        spent = measured(command, Path(folder))
    times = [float(time) for _, time in FINISHED.findall(spent.text)]
    found = TOTALS.search(spent.text)
    new, again, requests, acks, nacks, pulls = (
        (int(number) for number in found.groups()) if found else (0,) * 6
    )
    return Side(
        max(times, default=0.0), len(times), new, again, nacks, requests + acks + nacks + pulls, spent
    )


def ours(matrix: Path, case: Case, control: tuple[str, ...], seed: int) -> Side:
    """The same flows in Flowyard."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "case.json").write_text(json.dumps(scenario(matrix, case, control, seed)), encoding="utf-8")
        spent = measured([sys.executable, "-m", "flowyard", "run", "case.json", "-o", "out"], folder)
        run = results.open_run(folder / "out")
        flows = run.flows.to_polars()
    ends_ps = (flows["start_ps"] + flows["fct_acked_ps"]).drop_nulls().to_list()
    tail = max(ends_ps, default=0) / 1e6
    sent, again = int(flows["packets_sent"].sum()), int(flows["retransmissions"].sum())
    made = int(json.loads(json.dumps(run.summary))["counters"]["packets"])
    return Side(
        tail,
        int(flows["completed"].sum()),
        sent - again,
        again,
        int(flows["trims"].sum()),
        made - sent,
        spent,
    )


def measured(command: Sequence[str], folder: Path) -> Spent:
    """Runs a command in a folder: its output, and what it took as a whole."""
    with (folder / "text").open("w+", encoding="utf-8", errors="replace") as text:
        child = subprocess.Popen(command, cwd=folder, stdout=text, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        text.seek(0)
        # Until it begins, a child has the memory of its parent, and that counts for it.
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        mib = usage.ru_maxrss / 1024 if usage.ru_maxrss > 1.05 * own else None
        return Spent(usage.ru_utime + usage.ru_stime, mib, text.read())


def memory(spent: Spent) -> str:
    """MiB, if they are known."""
    return "-" if spent.mib is None else f"{spent.mib:.0f}"


def label(settings: htsim_uec.Settings) -> str:
    """The congestion control of a case."""
    if settings.sender is None:
        return "rccc"
    return "both" if settings.receiver else settings.sender


def scenario(matrix: Path, case: Case, control: tuple[str, ...], seed: int) -> dict[str, Any]:
    """The scenario of a case."""
    words = [*control, *case.options, "-end", str(case.end_us), "-seed", str(seed)]
    settings = htsim_uec.read(words, case.name)
    flows = htsim_cm.read(
        Source(matrix.name, matrix.read_text(encoding="utf-8")), start_unit="us", kept=settings.reuse
    )
    if settings.topology is None:
        topology = htsim_uec.network(settings, case.k**3 // 4, case.name)
    else:
        text = Path(settings.topology).read_text(encoding="utf-8")
        topology = htsim_topo.read(Source(settings.topology, text)).topology()
    return {
        "topology": topology,
        **settings.parts(),
        "faults": {"events": htsim_uec.faults(settings, topology, case.name)},
        "traffic": [entry.traffic() for entry in flows.entries],
    }


if __name__ == "__main__":
    sys.exit(main())
