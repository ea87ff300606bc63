"""Compares pHost and pFabric with NetSys/simulator: the same flows, case by case, mean times side by side.

Builds the simulator from a checkout, of which nothing is in this repository. Prints for each case the mean time to the
last acknowledgement at the sender by length of flow. pHost's column "repaired" is of the simulator with one line
changed: it sends lost data again as packets of 40 B, so that its incasts with losses end too early.

    .venv/bin/python benches/peers/netsys/mean_times.py CHECKOUT --case incast
    .venv/bin/python benches/peers/netsys/mean_times.py CHECKOUT --transport pfabric
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

import flowyard as fy

BUILD = Path("out/bench/netsys")
PAYLOAD = 1460
HOSTS = 144
RATE_BPS = 10e9
START_S = 0.001
# Packets: short flows are those that pHost sends with free tokens.
SHORT, MEDIUM = 8, 300

# The simulator's settings for each transport, in its own names: those of its script, but hosts' links of 10 Gbps and
# whole packets forwarded, as the papers describe them.
COMMON = """\
queue_size: 36864
propagation_delay: 0.0000002
bandwidth: 10000000000.0
queue_type: 2
cut_through: 0
mean_flow_size: 0
load_balancing: 0
preemptive_queue: 0
big_switch: 0
traffic_imbalance: 0
load: 0.6
reauth_limit: 3
magic_trans_slack: 1.1
magic_delay_scheduling: 1
use_flow_trace: 1
smooth_cdf: 1
burst_at_beginning: 0
capability_timeout: 1.5
capability_resend_timeout: 9
capability_initial: 8
capability_window: 8
capability_window_timeout: 25
ddc: 0
ddc_cpu_ratio: 0.33
ddc_mem_ratio: 0.33
ddc_disk_ratio: 0.34
ddc_normalize: 2
ddc_type: 0
deadline: 0
schedule_by_deadline: 0
avg_deadline: 0.0001
capability_third_level: 1
capability_fourth_level: 0
magic_inflate: 1
interarrival_cdf: none
num_host_types: 13
permutation_tm: 1
"""
THEIRS = {
    "phost": "init_cwnd: 2\nmax_cwnd: 6\nretx_timeout: 9.50003e-06\nflow_type: 112\nhost_type: 12\n",
    "pfabric": "init_cwnd: 12\nmax_cwnd: 15\nretx_timeout: 45e-06\nflow_type: 2\nhost_type: 1\n",
}
OURS = {
    "phost": {"phost": {}},
    # The simulator has no probes, and a host's window waits in a pFabric port.
    "pfabric": {"pfabric": {"probe_after": 1_000_000_000, "host_order": "port"}},
}
NETWORK = {
    "leaf-spine": {
        "leaves": 9,
        "spines": 4,
        "hosts": 16,
        "rate": "10Gbps",
        "delay": "200ns",
        "spine": {"rate": "40Gbps"},
    }
}
# In pHost's sender: the size of a packet beyond the end of what has been sent once.
LOST = "pkt_size = hdr_size + (this->size - seq);"
REPAIRED = "pkt_size = hdr_size + (this->size > seq ? this->size - seq : mss);"


@dataclass(frozen=True)
class Flow:
    """A flow: its start, its hosts and its full packets."""

    start_s: float
    source: int
    destination: int
    packets: int


def main() -> int:
    """Builds, runs, prints; 1 if a side did not complete its flows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path, help="a checkout of NetSys/simulator")
    parser.add_argument("--transport", choices=sorted(THEIRS), help="that one; default both")
    parser.add_argument("--case", action="append", help="only cases that have this in their name")
    given = parser.parse_args()
    programs = {
        name: built(given.checkout, name, change) for name, change in (("theirs", False), ("repaired", True))
    }
    cases = {
        name: flows
        for name, flows in CASES.items()
        if not given.case or any(part in name for part in given.case)
    }
    heads = f"{'theirs us':>10} {'repaired':>10} {'ours':>10} {'ratio':>6}"
    print(f"{'transport':<9} {'case':<22} {'packets':<8} {'flows':>6} {heads}")
    complete = True
    for transport in [given.transport] if given.transport else sorted(THEIRS):
        for name, flows in cases.items():
            complete &= compare(programs, transport, name, flows(random.Random(1)))
    return 0 if complete else 1


def built(checkout: Path, name: str, repaired: bool) -> Path:
    """The simulator's program; its sources are copied, and one line is changed if it is to be repaired."""
    folder = BUILD / name
    program = folder / "simulator"
    if program.exists():
        return program.absolute()
    if not (checkout / "coresim" / "main.cpp").exists():
        sys.exit(f"error: {checkout} has no coresim/main.cpp: a checkout of NetSys/simulator is wanted")
    for part in ("coresim", "ext", "run"):
        shutil.copytree(checkout / part, folder / part, dirs_exist_ok=True)
    if repaired:
        path = folder / "ext" / "capabilityflow.cpp"
        text = path.read_text(encoding="utf-8")
        assert text.count(LOST) == 1, f"{path} is not the file that this script knows"
        path.write_text(text.replace(LOST, REPAIRED), encoding="utf-8")
    sources = sorted(
        str(path) for part in ("coresim", "ext", "run") for path in (folder / part).glob("*.cpp")
    )
    subprocess.run(["g++", "-std=c++11", "-O3", "-w", "-o", str(program), *sources], check=True)
    return program.absolute()


def compare(programs: dict[str, Path], transport: str, name: str, flows: Sequence[Flow]) -> bool:
    """Prints the rows of a case; whether all flows were completed on all sides."""
    with tempfile.TemporaryDirectory(prefix="flowyard-") as folder:
        sides = {side: theirs(program, transport, flows, Path(folder)) for side, program in programs.items()}
        sides["ours"] = ours(transport, flows, Path(folder))
    complete = all(len(times) == len(flows) for times in sides.values())
    for words, low, high in (
        (f"to {SHORT}", 0, SHORT),
        (f"to {MEDIUM}", SHORT, MEDIUM),
        ("more", MEDIUM, 1 << 40),
    ):
        chosen = [place for place, flow in enumerate(flows) if low < flow.packets <= high]
        if not chosen:
            continue
        means = {
            side: sum(times.get(place, float("nan")) for place in chosen) / len(chosen)
            for side, times in sides.items()
        }
        reference = means["repaired"] if transport == "phost" else means["theirs"]
        cells = " ".join(f"{means[side]:>10.2f}" for side in ("theirs", "repaired", "ours"))
        ratio = means["ours"] / reference
        print(f"{transport:<9} {name:<22} {words:<8} {len(chosen):>6} {cells} {ratio:>6.3f}", flush=True)
    return complete


def theirs(program: Path, transport: str, flows: Sequence[Flow], folder: Path) -> dict[int, float]:
    """Microseconds from the start of each flow to its last acknowledgement, by the simulator."""
    trace, settings = folder / "flows.trace", folder / "settings.conf"
    rows = (
        f"{place} {flow.start_s:.12f} 0 0 {flow.packets} 0 0 {flow.source} {flow.destination}\n"
        for place, flow in enumerate(flows)
    )
    trace.write_text("".join(rows), encoding="utf-8")
    text = f"{THEIRS[transport]}{COMMON}num_flow: {len(flows)}\nflow_trace: {trace}\n\n"
    settings.write_text(text, encoding="utf-8")
    ended = subprocess.run([str(program), "1", str(settings)], stdout=subprocess.PIPE, text=True, check=True)
    found = {}
    for line in ended.stdout.splitlines():
        cells = line.split()
        # id, bytes, source, destination, start, end, time, and more: in us.
        if len(cells) > 8 and cells[0].isdigit():
            found[int(cells[0])] = float(cells[6])
    return found


def ours(transport: str, flows: Sequence[Flow], folder: Path) -> dict[int, float]:
    """The same by Flowyard."""
    table = folder / "flows.csv"
    rows = [
        f"{flow.source},{flow.destination},{PAYLOAD * flow.packets},{round(flow.start_s * 1e12)}ps\n"
        for flow in flows
    ]
    table.write_text("src,dst,size,start\n" + "".join(rows), encoding="utf-8")
    network = folder / "network.json"
    network.write_text(json.dumps({"topology": NETWORK}), encoding="utf-8")
    scenario = folder / "scenario.toml"
    command = [
        sys.executable,
        "-m",
        "flowyard",
        "import",
        str(table),
        "--topology",
        str(network),
        "-o",
        str(scenario),
    ]
    subprocess.run([*command, "--transport", transport], check=True, stdout=subprocess.DEVNULL)
    run = fy.run(scenario, set={"transport": OURS[transport]})
    times = pl.DataFrame(run.flows)["fct_acked_ps"].to_list()
    return {place: time / 1e6 for place, time in enumerate(times) if time is not None}


def to_one(senders: int, packets: int) -> Callable[[random.Random], list[Flow]]:
    """Flows of several hosts to one, which begin 0.23 us apart: exact ties have no order that both sides share."""
    return lambda _: [Flow(START_S + 2.3e-7 * place, place + 1, 0, packets) for place in range(senders)]


def from_one(lengths: Sequence[int]) -> Callable[[random.Random], list[Flow]]:
    """Flows of one host to several, likewise."""
    return lambda _: [
        Flow(START_S + 2.3e-7 * place, 0, place + 1, packets) for place, packets in enumerate(lengths)
    ]


def at_load(load: float, lengths: Sequence[int], flows: int) -> Callable[[random.Random], list[Flow]]:
    """Poisson arrivals between all hosts, of lengths that are equally likely."""

    def drawn(stream: random.Random) -> list[Flow]:
        mean_bits = sum(lengths) / len(lengths) * 1500 * 8
        start, found = START_S, []
        for _ in range(flows):
            start += stream.expovariate(load * HOSTS * RATE_BPS / mean_bits)
            source, destination = stream.sample(range(HOSTS), 2)
            found.append(Flow(start, source, destination, stream.choice(lengths)))
        return found

    return drawn


# Half of the flows are short, as in a web search.
MIX = (1, 2, 4, 6, 8, 20, 40, 80, 400, 2000)
CASES = {
    "alone": from_one([100]),
    "incast of 4 x 8": to_one(4, 8),
    "incast of 16 x 4": to_one(16, 4),
    "incast of 16 x 20": to_one(16, 20),
    "incast of 64 x 100": to_one(64, 100),
    "one to three": from_one([20, 20, 20]),
    "one to ten": from_one([1, 3, 7, 9, 30, 200, 3, 9, 30, 7]),
    "load 0.4": at_load(0.4, MIX, 3000),
    "load 0.6": at_load(0.6, MIX, 3000),
    "load 0.8": at_load(0.8, MIX, 3000),
}


if __name__ == "__main__":
    sys.exit(main())
