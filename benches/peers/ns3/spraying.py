"""NewReno without a loss whose packets take all shortest paths of a fat-tree at random: mean FCT, and what is repeated.

A spurious fast retransmit halves a window that is still in slow start, and repeats in the next round trips, so that the
mean FCT is decided by how soon packets overtake each other by three, and by the window law of repeated recoveries.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
from row import DoesNotHoldError, Row, ns3

from flowyard import results

RUNS = 10
# Over ten runs of 16 flows the mean FCT has a standard error of 1.5 % in either simulator.
WITHIN = 0.05
# One path leaves nothing to chance.
SINGLE = 0.001
FRAGMENTS = (
    "ns-3 only: with timestamps a packet has 1504 B, above the MTU of 1500 B; IPv4 splits it, and the parts take paths "
    "of their own. With an MTU of 1600 B there ns-3's mean is as without fragments"
)
GUESSES = (
    "ns-3 takes each duplicate for a SACK of the next segment (TcpTxBuffer::AddRenoSack); a guess that an "
    "acknowledgement shows to be wrong moves on, and the head is marked lost and goes again, also outside recovery. "
    "Without these, about half, ns-3 repeats as much"
)
INFLATES = (
    "the same guesses: they stay out of the flight beyond a recovery, so that ns-3 keeps nearly the whole receive "
    "window in flight with a window of two segments, which RFC 6582 does not. `duplicates = sacks` has its rule"
)


def rows(program: Path, folder: Path) -> list[Row]:  # noqa: ARG001
    """Mean FCTs of the flows, and packets sent again."""
    found = []
    for name, overrides, arguments in [
        ("initial window 1", {}, {}),
        (
            "initial window 10",
            {"transport.tcp.initial_window": 10, "transport.tcp.initial_ssthresh": "1GB"},
            {"initialWindow": 10, "initialSsthresh": 0},
        ),
    ]:
        ours, theirs = flowyard(overrides, RUNS), peer(program, arguments, RUNS)
        case = f"NewReno, per-packet ECMP, {name}"
        found.append(Row(case, "mean FCT", "ms", theirs["fct"], ours["fct"], WITHIN))
        found.append(Row(case, "repeats a run", "packets", theirs["repeats"], ours["repeats"], None, GUESSES))
    # A receive window that is full when segments are lost crashes ns-3: the send buffer limits the flight instead.
    each = {"delayedAck": 1, "window": 1_000_000, "sendBuffer": 45 * 1448}
    theirs = peer(program, each, RUNS)
    for duplicates, within, why in [("sacks", WITHIN, ""), ("inflate", None, INFLATES)]:
        overrides = {"transport.tcp.delayed_ack": 1, "transport.tcp.duplicates": duplicates}
        ours = flowyard(overrides, RUNS)
        case = f"NewReno, per-packet ECMP, every segment acknowledged, duplicates = {duplicates}"
        found.append(Row(case, "mean FCT", "ms", theirs["fct"], ours["fct"], within, why))
        found.append(Row(case, "repeats a run", "packets", theirs["repeats"], ours["repeats"], within, why))
    ours = flowyard({"transport.tcp.mss": "1452B"}, RUNS)
    theirs = peer(program, {"mss": 1452}, RUNS)
    case = "NewReno, per-packet ECMP, segments of 1452 B"
    found.append(Row(case, "mean FCT", "ms", theirs["fct"], ours["fct"], None, FRAGMENTS))
    ours, theirs = flowyard({"routing.balancer": "single"}, 1), peer(program, {"spray": "false"}, 1)
    found.append(Row("NewReno, one path a pair", "mean FCT", "ms", theirs["fct"], ours["fct"], SINGLE))
    return found


def flowyard(overrides: Mapping[str, object], runs: int) -> dict[str, float]:
    """Means over runs of Flowyard, each with another seed."""
    scenario = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    done = [results.run(scenario, {**overrides, "run.seed": seed}) for seed in range(1, runs + 1)]
    counters = [run.summary["counters"] for run in done]
    times = [time for run in done for time in pl.DataFrame(run.flows)["fct_ps"].to_list()]
    repeats = [counter["retransmissions"] for counter in counters]
    return means(times, repeats, sum(counter["drops"] for counter in counters))


def peer(program: Path, arguments: Mapping[str, object], runs: int) -> dict[str, float]:
    """Means over runs of ns-3, each with other random numbers."""
    common = {"initialWindow": 1, "initialSsthresh": 65535, "queue": "200p", "limitedTransmit": "false"}
    done = [ns3(program, run=run, **{**common, "mss": 1448, **arguments}) for run in range(1, runs + 1)]
    times = [time for run in done for time in run["fct_ps"]]
    return means(times, [run["repeats"] for run in done], sum(run["drops"] for run in done))


def means(times: list[Any], repeats: list[int], drops: int) -> dict[str, float]:
    """The mean completion time in ms and the mean number of repeats.

    Raises:
        DoesNotHoldError: something was lost, or a flow has not ended.
    """
    if drops or None in times:
        raise DoesNotHoldError(f"{drops} packets were dropped, {times.count(None)} flows are unfinished")
    return {"fct": sum(times) / len(times) / 1e9, "repeats": sum(repeats) / len(repeats)}
