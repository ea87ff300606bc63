"""Compares Flowyard's speed with csg-htsim's: the same flows on the same fat-tree, the two taking turns.

Builds htsim from a checkout, of which nothing is in this repository, runs each case so many rounds, prints one table.
The table goes to results.md beside this file, its numbers to out/bench/htsim.json. README.md says what is the same in
both and what is not.
"""

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from flowyard import results
from flowyard.bench import child, machine, tell

HERE = Path(__file__).parent
OUTPUT = Path("out/bench")
BUILD = OUTPUT / "htsim"
ROUNDS = 3
# Flows of this size are enough to count packets over links: valgrind runs a program some 50 times slower.
COUNTED_BYTES = 100_000


@dataclass(frozen=True)
class Case:
    """One pair: a scenario here, a program with its options there."""

    name: str
    file: str
    k: int
    overrides: dict[str, object]
    # Options of htsim_ndp; for TCP, what tcp.cc simulates.
    ndp: str = ""
    tcp: str = ""

    @property
    def hosts(self) -> int:
        """Hosts of the fat-tree."""
        return self.k**3 // 4

    @property
    def scenario(self) -> Path:
        """The scenario's file."""
        return HERE / self.file

    def settings(self, size: int | None = None) -> dict[str, object]:
        """The overrides of its scenario."""
        sizes = {} if size is None else {"traffic.permutation.sizes.fixed": f"{size}B"}
        return {"topology.fat-tree.k": self.k} | self.overrides | sizes


def ndp(k: int, mtu: int, window: int) -> Case:
    """NDP with queues of eight packets, headers of as many bytes again twice over, and so large an initial window."""
    overrides: dict[str, object] = {
        "transport.ndp.mtu": f"{mtu}B",
        "transport.ndp.initial_window": window,
        "queue.ndp.data_limit.bytes": f"{8 * mtu}B",
        "queue.ndp.header_limit.bytes": f"{16 * mtu}B",
    }
    options = f"-cwnd {window} -mtu {mtu} -q 8 -strat perm"
    return Case(f"NDP, k = {k}, {mtu} B", "ndp.toml", k, overrides, ndp=options)


CASES = [
    ndp(8, 4000, 50),
    ndp(8, 1500, 120),
    ndp(16, 4000, 50),
    ndp(16, 1500, 120),
    Case("DCTCP, k = 8", "tcp.toml", 8, {"transport.tcp.congestion": "dctcp"}, tcp="dctcp"),
    Case("TCP, k = 8", "tcp.toml", 8, {}, tcp="tcp"),
    Case("DCTCP, k = 16", "tcp.toml", 16, {"transport.tcp.congestion": "dctcp"}, tcp="dctcp"),
]


def main() -> int:
    """Builds, runs, prints, writes; 1 if a side did not complete its flows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path, help="a checkout of csg-htsim")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"runs of each side; default {ROUNDS}")
    parser.add_argument("--case", action="append", help="only cases that have this in their name")
    parser.add_argument("--hops", action="store_true", help="also count htsim's packet-hops, with valgrind")
    given = parser.parse_args()
    tell("htsim is built")
    if subprocess.run([HERE / "build.sh", given.checkout, BUILD]).returncode:
        print(f"error: htsim was not built; see {BUILD / 'build.log'}", file=sys.stderr)
        return 1
    cases = [case for case in CASES if not given.case or any(part in case.name for part in given.case)]
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        try:
            rows = [measure(case, given.rounds, given.hops, Path(folder)) for case in cases]
        except RuntimeError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    tell("")
    figures = {
        "machine": machine.describe(),
        "load_before": load,
        "htsim": commit(given.checkout),
        "cases": rows,
    }
    page = render(figures)
    print(page)
    OUTPUT.mkdir(parents=True, exist_ok=True)
    (OUTPUT / "htsim.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    if cases == CASES:
        (HERE / "results.md").write_text(page, encoding="utf-8")
    return 0


def measure(case: Case, rounds: int, counts_hops: bool, folder: Path) -> dict[str, Any]:
    """Runs both sides in turn; CPU seconds of whole processes, and Flowyard's without its start-up."""
    flows = exported(case, None, folder)
    first = reference(case)
    pairs: list[dict[str, float]] = []
    for turn in range(rounds):
        tell(f"{case.name}, round {turn + 1} of {rounds}")
        theirs = cpu_seconds(command(case, flows, first.end_us), first.flows)
        run = ["run", str(case.scenario.absolute()), *arguments(case)]
        whole = cpu_seconds([sys.executable, "-m", "flowyard", *run])
        ours = child.run(case.scenario, case.settings())
        pairs.append({"htsim_s": theirs, "flowyard_s": ours["cpu_s"], "command_s": whole})
    ratios = [pair["htsim_s"] / pair["flowyard_s"] for pair in pairs]
    return {
        "name": case.name,
        "packet_hops": first.packet_hops,
        "ns_per_packet_hop": min(pair["flowyard_s"] for pair in pairs) * 1e9 / first.packet_hops,
        "ratio": statistics.median(ratios),
        "ratio_range": [min(ratios), max(ratios)],
        "command_ratio": statistics.median(pair["htsim_s"] / pair["command_s"] for pair in pairs),
        "hops_ratio": hops_ratio(case, folder) if counts_hops else None,
        "rounds": pairs,
    }


@dataclass(frozen=True)
class Reference:
    """A run of Flowyard that is not timed."""

    flows: int
    packet_hops: int
    end_us: float


def reference(case: Case, size: int | None = None) -> Reference:
    """Runs the case once.

    Raises:
        RuntimeError: not all flows completed.
    """
    result = results.run(case.scenario, case.settings(size))
    if result.status != "complete":
        raise RuntimeError(f"{case.name}: Flowyard's run ended with status {result.status}")
    flows = pl.DataFrame(result.flows)
    end = flows.select((pl.col("start_ps") + pl.col("fct_ps")).max()).item()
    return Reference(len(flows), result.summary["counters"]["packet_hops"], end / 1e6)


def exported(case: Case, size: int | None, folder: Path) -> Path:
    """The flows of Flowyard's run as htsim's connection matrix, and beside it as plain lines for tcp.cc."""
    matrix = folder / f"{re.sub('[^a-z0-9]+', '-', case.name.lower())}-{size}.cm"
    matrix.unlink(missing_ok=True)
    export = ["export", str(case.scenario), *arguments(case, size), "--to", "htsim-cm", "-o", str(matrix)]
    subprocess.run([sys.executable, "-m", "flowyard", *export], check=True, stdout=subprocess.DEVNULL)
    found = re.findall(r"^(\d+)->(\d+) .*\bsize (\d+)", matrix.read_text(encoding="utf-8"), re.MULTILINE)
    lines = "".join(f"{source} {destination} {bytes_}\n" for source, destination, bytes_ in found)
    matrix.with_suffix(".flows").write_text(lines, encoding="utf-8")
    return matrix


def arguments(case: Case, size: int | None = None) -> list[str]:
    """Its overrides as arguments of the command line."""
    return [part for key, value in case.settings(size).items() for part in ("--set", f"{key}={value}")]


def command(case: Case, flows: Path, end_us: float) -> list[str]:
    """The side of htsim: htsim_ndp simulates until a given time: as long as Flowyard's run took, and a fifth."""
    if case.tcp:
        options = [case.tcp, str(case.hosts), "100000", "1", "150000", str(flows.with_suffix(".flows"))]
        return [str((BUILD / "tcp").absolute()), *options]
    program = (BUILD / "sim" / "datacenter" / "htsim_ndp").absolute()
    options = ["-nodes", str(case.hosts), "-tm", str(flows), "-end", str(round(1.2 * end_us))]
    return [str(program), *options, *case.ndp.split()]


def cpu_seconds(arguments: list[str], flows: int | None = None) -> float:
    """User and system time of a command.

    Raises:
        RuntimeError: it failed, or it is htsim's and has not completed its flows.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, cwd=BUILD)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} failed:\n{done.stderr[-2000:]}")
    if flows is not None and (ended := completed(done.stdout)) != flows:
        raise RuntimeError(f"{' '.join(arguments)} completed {ended} of {flows} flows")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def completed(printed: str) -> int:
    """Completed flows: a line each of htsim_ndp, a number of tcp.cc."""
    if found := re.search(r'"completed": (\d+)', printed):
        return int(found[1])
    return len(re.findall(r"^Flow .* finished at", printed, re.MULTILINE))


def hops_ratio(case: Case, folder: Path) -> float:
    """Packets that came over a link in htsim, over those in Flowyard, with smaller flows.

    Raises:
        RuntimeError: valgrind is missing, or does not show the function that takes a packet over a link.
    """
    if shutil.which("valgrind") is None:
        raise RuntimeError("--hops needs valgrind")
    tell(f"{case.name}: packet-hops are counted")
    ours = reference(case, COUNTED_BYTES)
    counts = folder / "callgrind.out"
    valgrind = ["valgrind", "--tool=callgrind", "--compress-strings=no", f"--callgrind-out-file={counts}"]
    cpu_seconds([*valgrind, *command(case, exported(case, COUNTED_BYTES, folder), ours.end_us)])
    calls = 0
    called = ""
    for line in counts.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("cfn="):
            called = line
        elif line.startswith("calls=") and "Pipe::receivePacket" in called:
            calls += int(line.removeprefix("calls=").split()[0])
    if calls == 0:
        raise RuntimeError("valgrind shows no call of Pipe::receivePacket: is htsim built without symbols?")
    return calls / ours.packet_hops


def commit(checkout: Path) -> str:
    """The checkout's commit, or "unknown" where it is no repository."""
    asked = ["git", "-C", str(checkout), "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def render(figures: dict[str, Any]) -> str:
    """results.md."""
    built = figures["machine"]
    head = f"""# Flowyard against csg-htsim {figures["htsim"]}

`make bench-peers PEER_HTSIM=folder` writes this page. [What each case compares](README.md).

{built["processor"]}, {built["caches"]}; load average {figures["load_before"]:.1f} before the runs. Ratios are of CPU
time, htsim's over Flowyard's for the same flows: the median of the rounds, and the least and the largest. The command
is `flowyard run`, from its start to its end.

| case | Flowyard, ns per packet-hop | htsim / Flowyard | range | htsim / command | packet-hops, htsim / Flowyard |
|---|--:|--:|--:|--:|--:|
"""
    return head + "".join(line(row) for row in figures["cases"])


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    least, largest = row["ratio_range"]
    hops = "" if row["hops_ratio"] is None else f"{row['hops_ratio']:.3f}"
    cells = (
        row["name"],
        f"{row['ns_per_packet_hop']:.1f}",
        f"{row['ratio']:.1f}",
        f"{least:.1f} to {largest:.1f}",
        f"{row['command_ratio']:.1f}",
        hops,
    )
    return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    os.chdir(HERE.parents[2])
    sys.exit(main())
