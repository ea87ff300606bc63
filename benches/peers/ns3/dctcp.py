"""Long DCTCP flows at one port: how evenly they share it, and its queue, over numbers of flows, K and cables.

Jain's index is compared with ns-3's, and so is the reduction of windows that is behind it: at once or in proportion,
over cables of one length and over one that is a nanosecond longer. README.md says what came out.
"""

import copy
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
from row import Row, ns3

from flowyard import results
from flowyard.analysis import jain

# Seconds between which goodput and queue count, and microseconds between starts.
FROM, UNTIL, APART = 0.2, 0.5, 37
FULL_PACKET = 1502
# A packet that finds K in ns-3's disc finds K + 2 at the port: one in the device's queue, one on the wire.
BELOW_DISC = 2
# Flows, K of ns-3's disc, microseconds of a cable.
CASES = [(2, 20, 25), (2, 40, 10), (2, 20, 100), (3, 20, 25), (3, 40, 50), (8, 20, 25), (16, 65, 25)]
# The bound of the claim LIT-DCTCP.c, which both sides may use up from above.
INDEX = 0.05
# Headers are the same bytes and the port never idles: rounding to packets.
GOODPUT = 0.01
# Saw-tooths of a few packets whose phases differ.
QUEUE = 0.1
CLASSIC = "ns3::TcpClassicRecovery"
FROZEN = "both let the flow behind starve; ns-3 also lets no window grow for a round trip after a reduction"


def rows(program: Path, folder: Path) -> list[Row]:
    """Each case in proportion; then two flows whose windows shrink at once."""
    del folder
    found = []
    for flows, threshold, delay in CASES:
        theirs = ns3_run(program, flows, threshold, delay)
        ours = flowyard_run(flows, threshold, delay)
        case = f"DCTCP, {flows} flows, K = {threshold}, {delay} us"
        found += [
            Row(case, "Jain's index", "", index(theirs[0]), index(ours[0]), INDEX),
            Row(case, "goodput", "Mbps", sum(theirs[0]), sum(ours[0]), GOODPUT),
            Row(case, "mean queue", "packets", theirs[1], ours[1], QUEUE),
        ]
    for name, skew in (("", 0), (", one cable 1 ns longer", 1)):
        theirs = ns3_run(program, 2, 20, 25, recovery=CLASSIC, skew=f"{skew}ns")
        ours = flowyard_run(2, 20, 25, at_once=True, skew_ns=skew)
        case = f"DCTCP, windows shrink at once{name}"
        within, why = (None, FROZEN) if skew else (INDEX, "")
        found.append(Row(case, "Jain's index", "", index(theirs[0]), index(ours[0]), within, why))
    theirs = ns3_run(program, 2, 20, 25, skew="1ns")
    ours = flowyard_run(2, 20, 25, skew_ns=1)
    case = "DCTCP, in proportion, one cable 1 ns longer"
    found.append(Row(case, "Jain's index", "", index(theirs[0]), index(ours[0]), INDEX))
    return found


def index(goodputs: list[float]) -> float:
    """Jain's index of fairness; 0 if nothing came."""
    return jain(pl.Series(goodputs)) or 0.0


def ns3_run(
    program: Path, flows: int, threshold: int, delay_us: int, **more: object
) -> tuple[list[float], float]:
    """Goodput of each flow in Mbps, and the mean queue in packets."""
    starts = ",".join(str(APART * n) for n in range(flows))
    window = {"from": FROM, "until": UNTIL}
    answer = ns3(program, threshold=threshold, delay=f"{delay_us}us", starts=starts, **window, **more)
    return answer["goodput_mbps"], answer["queue_mean_packets"]


def flowyard_run(
    flows: int, threshold: int, delay_us: int, at_once: bool = False, skew_ns: int = 0
) -> tuple[list[float], float]:
    """The same of Flowyard: the difference of two runs, of which one is the beginning of the other."""
    scenario = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    senders = [f"sender {n}" for n in range(1, flows + 1)]
    scenario["topology"] = {
        "explicit": {
            "hosts": ["receiver", *senders],
            "switches": [{"name": "switch"}],
            "rate": scenario["topology"]["single-switch"]["rate"],
            "delay": f"{delay_us}us",
            "cables": [
                {"ends": ["receiver", "switch"]},
                {"ends": [senders[0], "switch"], "delay": f"{1000 * delay_us + skew_ns}ns"},
                *({"ends": [sender, "switch"]} for sender in senders[1:]),
            ],
        }
    }
    scenario["queue"]["ecn"]["threshold"] = {"packets": threshold + BELOW_DISC}
    scenario["traffic"][0]["arrivals"]["times"]["at"] = [f"{APART * n}us" for n in range(flows)]
    scenario["traffic"][0]["matrix"]["pairs"] = [[n, 0] for n in range(1, flows + 1)]
    if at_once:
        # Growth by each acknowledgement: that by whole segments forgets at a reduction what it has counted, ns-3's does
        # not, and with two flows this alone keeps them in step.
        scenario["transport"]["tcp"] |= {
            "growth": "acks",
            "congestion": {"dctcp": {"proportional_reduction": False}},
        }
    (early, early_queue), (late, late_queue) = (totals(scenario, until) for until in (FROM, UNTIL))
    goodput = [8e-6 * (after - before) / (UNTIL - FROM) for before, after in zip(early, late, strict=True)]
    return goodput, (late_queue - early_queue) / (UNTIL - FROM) / FULL_PACKET


def totals(scenario: dict[str, Any], until: float) -> tuple[list[int], float]:
    """Delivered bytes of each flow, and byte-seconds in the port to the receiver."""
    scenario = copy.deepcopy(scenario)
    scenario["run"]["until"] = f"{until}s"
    run = results.run(scenario)
    delivered = pl.DataFrame(run.flows).sort("src")["delivered_bytes"].to_list()
    port = pl.DataFrame(run.links).filter(pl.col("to") == "receiver")
    return delivered, port["queue_mean_bytes"].item() * until
