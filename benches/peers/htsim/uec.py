"""Compares Flowyard's Ultra Ethernet transport with htsim_uec: the same flows, case by case, results side by side.

Builds htsim_uec from a checkout of ultraethernet/uet-htsim, of which nothing is in this repository, with its own
files for cmake. Each case is a connection matrix of the checkout with options of htsim_uec; Flowyard gets the same
flows, network and options. Prints the last completion time of both, and their counts of new, retransmitted,
trimmed and control packets. The two draw other random numbers: a lone flow has the same digits, others are near.

    .venv/bin/python benches/peers/htsim/uec.py CHECKOUT --case incast
    .venv/bin/python benches/peers/htsim/uec.py CHECKOUT --plan validate_uec_sender.txt
    .venv/bin/python benches/peers/htsim/uec.py CHECKOUT --matrix mine.cm --hosts 16 -- -receiver_cc_only -paths 128
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flowyard import results
from flowyard.bench import tell

BUILD = Path("out/bench/uec")
FOLDER = Path("htsim/sim/datacenter")
MATRICES = FOLDER / "connection_matrices"
MTU = 4150
CONNECTION = re.compile(r"(\d+)->(\d+)\b.*?\bstart (\d+)\b.*?\bsize (\d+)")
FINISHED = re.compile(r"^Flow (\S+) .*?finished at ([\d.e+]+)", re.MULTILINE)
TOTALS = re.compile(
    r"^New: (\d+) Rtx: (\d+) RTS: (\d+) .*?ACKs: (\d+) NACKs: (\d+) Pulls: (\d+)", re.MULTILINE
)
CONTROLS = {
    ("-sender_cc_only",): "nscc",
    ("-receiver_cc_only",): "rccc",
    ("-sender_cc", "-receiver_cc"): "both",
}


@dataclass(frozen=True)
class Case:
    """A matrix of the checkout, its fat-tree, and options of htsim_uec."""

    name: str
    matrix: str
    k: int
    options: tuple[str, ...] = ()
    controls: tuple[tuple[str, ...], ...] = tuple(CONTROLS)
    end_us: int = 30_000
    overrides: dict[str, Any] = field(default_factory=dict)


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
class Side:
    """Results of one side."""

    tail_us: float
    flows: int
    new: int
    again: int
    trimmed: int
    control: int


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
        k = round((4 * given.hosts) ** (1 / 3))
        own = tuple(
            option for option in given.options if not option.endswith("_cc") and "_cc_only" not in option
        )
        named = tuple(option for option in given.options if option not in own)
        cases = [
            Case(
                given.matrix.name,
                str(given.matrix.absolute()),
                k,
                own,
                (named,) if named else tuple(CONTROLS),
            )
        ]
    print(
        f"{'case':<22} {'control':<7} {'side':<9} {'tail us':>12} {'new':>8} {'again':>8} {'trimmed':>8} {'control':>8}"
    )
    complete = True
    for case in cases:
        for control in case.controls:
            complete &= compare(given.checkout, program, case, control, given.seed)
    return 0 if complete else 1


def planned(folder: Path, name: str) -> list[Case]:
    """The experiments of a plan: a matrix a line, and lines that begin with ! for its options."""
    cases: list[Case] = []
    for part in re.split(r"^(?=[^!#\s])", (folder / name).read_text(encoding="utf-8"), flags=re.MULTILINE):
        matrix, *lines = part.strip().splitlines() or [""]
        if not matrix or matrix.startswith(("!", "#")):
            continue
        title = next((line.split(" ", 1)[1] for line in lines if line.startswith("!Experiment ")), matrix)
        options = [word for line in lines if line.startswith("!Param ") for word in line.split()[1:]]
        end = int(options[options.index("-end") + 1]) if "-end" in options else 1000
        own = tuple(word for word in without(options, "-end") if "_cc" not in word)
        control = tuple(word for word in options if "_cc" in word) or ("-sender_cc_only",)
        nodes = re.search(
            r"^Nodes (\d+)", (folder / matrix.strip()).read_text(encoding="utf-8"), re.MULTILINE
        )
        hosts = int(nodes[1]) if nodes else 16
        cases.append(
            Case(
                title.strip()[:40],
                Path(matrix.strip()).name,
                round((4 * hosts) ** (1 / 3)),
                own,
                (control,),
                end,
            )
        )
    return cases


def without(options: Sequence[str], name: str) -> list[str]:
    """The options but one that has a value."""
    if name not in options:
        return list(options)
    at = list(options).index(name)
    return [*options[:at], *options[at + 2 :]]


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
    sides = {
        "htsim_uec": theirs(program, matrix, case, control, seed),
        "Flowyard": ours(matrix, case, control, seed),
    }
    for name, side in sides.items():
        print(
            f"{case.name:<22} {CONTROLS[control]:<7} {name:<9} {side.tail_us:12.6g} {side.new:8d} {side.again:8d} "
            f"{side.trimmed:8d} {side.control:8d}"
            + ("" if side.flows == count else f"  {side.flows} of {count} flows")
        )
    ratio = sides["Flowyard"].tail_us / sides["htsim_uec"].tail_us
    print(f"{'':<30} difference {100 * (ratio - 1):+.2f} %", flush=True)
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
        text = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace").stdout
    times = [float(time) for _, time in FINISHED.findall(text)]
    found = TOTALS.search(text)
    new, again, requests, acks, nacks, pulls = (
        (int(number) for number in found.groups()) if found else (0,) * 6
    )
    return Side(max(times, default=0.0), len(times), new, again, nacks, requests + acks + nacks + pulls)


def ours(matrix: Path, case: Case, control: tuple[str, ...], seed: int) -> Side:
    """The same flows in Flowyard."""
    run = results.run(scenario(matrix, case, control, seed))
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
    )


def scenario(matrix: Path, case: Case, control: tuple[str, ...], seed: int) -> dict[str, Any]:
    """The scenario of a case: starts of these files are in whole microseconds."""
    groups: dict[tuple[int, int], list[list[int]]] = {}
    for line in matrix.read_text(encoding="utf-8").splitlines():
        if found := CONNECTION.match(line):
            src, dst, start, size = (int(number) for number in found.groups())
            groups.setdefault((start, size), []).append([src, dst])
    traffic = [
        {
            "name": f"flows-{number}",
            "arrivals": {"at-once": {"at": f"{start}us", "jitter": "0s"}},
            "matrix": {"pairs": pairs},
            "sizes": {"fixed": f"{size}B"},
        }
        for number, ((start, size), pairs) in enumerate(groups.items())
    ]
    transport, queue, faults = fields(case.options)
    # As htsim_uec: from the cores down to the first aggregation switch, a quarter of rate and queue.
    events = [
        {
            "at": "0s",
            "target": {"link": [f"core {core * case.k // 2}", "pod 0 aggregation 0"]},
            "change": {"capacity": 0.25},
        }
        for core in range(faults)
    ]
    return {
        "topology": {"fat-tree": {"k": case.k, "rate": "100Gbps", "delay": "1us"}},
        "transport": {"uet": {"control": CONTROLS[control], **transport}},
        **({"queue": {"trimming": queue}} if queue else {}),
        "faults": {"events": events},
        "traffic": traffic,
        "run": {"seed": seed, "measure": "all", "until": f"{case.end_us}us"},
    }


def fields(options: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any], int]:
    """Fields of transport and queue, and the number of degraded core links, for options of htsim_uec."""
    transport: dict[str, Any] = {}
    queue: dict[str, Any] = {}
    faults = 0
    rest = list(options)
    while rest:
        match rest.pop(0):
            case "-cwnd":
                transport["initial_window"] = f"{int(rest.pop(0)) * MTU}B"
            case "-paths":
                transport["entropy_values"] = int(rest.pop(0))
            case "-load_balancing_algo":
                transport["entropy"] = rest.pop(0).replace("_", "-")
            case "-sack_threshold":
                transport["ack_bytes"] = f"{int(rest.pop(0))}B"
            case "-sleek":
                transport["sleek"] = {}
            case "-disable_trim":
                transport["trimming"] = False
                queue["trim"] = "none"
            case "-q":
                queue["limit"] = {"full-packets": int(rest.pop(0))}
            case "-ecn":
                queue["ecn_low"] = {"full-packets": int(rest.pop(0))}
                queue["ecn_high"] = {"full-packets": int(rest.pop(0))}
            case "-failed":
                faults = int(rest.pop(0))
            case other:
                sys.exit(f"error: {other} is no option that this comparison knows")
    return transport, queue, faults


if __name__ == "__main__":
    sys.exit(main())
