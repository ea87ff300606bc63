"""Instructions per packet-hop, as valgrind counts them: steady where seconds are not. `make bench-instructions`.

Each scenario of crates/sim/tests/counts runs twice, the second time with twice the work. The difference in
instructions over the difference in packet-hops is what a packet-hop takes, set-up and results left out.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SCENARIOS = ROOT / "crates" / "sim" / "tests" / "counts"

# What doubles the work: a field, its value and twice that.
WORK = {
    "ndp-permutation": ("traffic.permutation.sizes.fixed", "1MB", "2MB"),
    "tcp-permutation": ("traffic.permutation.sizes.fixed", "1MB", "2MB"),
    "ndp-web-search": ("traffic.queries.flows", "25", "50"),
    "tcp-web-search": ("traffic.queries.flows", "25", "50"),
}


def main() -> int:
    """Prints the table; 1 if valgrind is missing."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        print("make bench-instructions needs valgrind: apt-get install valgrind", file=sys.stderr)
        return 1
    build = ["cargo", "build", "--locked", "--quiet", "--release", "-p", "flowyard-sim", "--example", "run"]
    subprocess.run(build, cwd=ROOT, check=True)
    target = subprocess.run(
        ["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    program = Path(json.loads(target.stdout)["target_directory"]) / "release" / "examples" / "run"
    print(f"{'scenario':<20}{'instructions/packet-hop':>25}{'packet-hops':>14}{'events/packet-hop':>20}")
    for name, (field, once, twice) in WORK.items():
        file = SCENARIOS / f"{name}.toml"
        small, large = (count(valgrind, program, file, f"{field}={work}") for work in (once, twice))
        instructions, hops, events = (more - less for less, more in zip(small, large, strict=True))
        print(f"{name:<20}{instructions / hops:>25.1f}{hops:>14,}{events / hops:>20.3f}", flush=True)
    return 0


def count(valgrind: str, program: Path, file: Path, override: str) -> tuple[int, int, int]:
    """Instructions, packet-hops and events of a run."""
    command = [
        valgrind,
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
        str(program),
        str(file),
        override,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or found is None:
        raise RuntimeError(f"valgrind failed:\n{done.stderr}")
    counters = json.loads(done.stdout)
    return int(found[1]), counters["packet_hops"], counters["events"]


if __name__ == "__main__":
    sys.exit(main())
