"""The simulation in a few sentences, for readers who know none of its fields: network, traffic, transport, time, seed.

Several runs share a sentence where it says the same of each; where it does not, it lists what it is in them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from flowyard import text
from flowyard.forks import pl
from flowyard.member_names import member_name
from flowyard.run_data import Run

# Traffic entries that are described; of more than these only the number.
MOST_ENTRIES = 3
# Descriptions that are listed where runs differ.
MOST_LISTED = 6


def of_runs(runs: Sequence[Run]) -> str:
    """The sentences."""
    sentences = [_one(runs, network), _one(runs, traffic), _one(runs, carried_by), _time(runs)]
    return " ".join(f"{words[:1].upper()}{words[1:]}." for words in sentences if words)


def _one(runs: Sequence[Run], said: Callable[[Run], str]) -> str:
    found = list(dict.fromkeys(said(run) for run in runs))
    if len(found) > 1 and (merged := _merged(found)):
        return merged
    more = f"; and {len(found) - MOST_LISTED} more" if len(found) > MOST_LISTED else ""
    return "; or ".join(found[:MOST_LISTED]) + more


def _merged(found: Sequence[str]) -> str:
    """Descriptions that differ in one value, in one: "a load of 0.2, 0.4 or 0.6, matrix uniform"; else empty."""
    listed = [re.findall(r"[^\s,;]+|[\s,;]", words) for words in found]
    pairs = [zip(listed[0], other, strict=False) for other in listed[1:]]
    start = min(sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], each)) for each in pairs)
    pairs = [zip(listed[0][: start - 1 : -1], other[: start - 1 : -1], strict=False) for other in listed[1:]]
    end = min(sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], each)) for each in pairs)
    values = [words[start : len(words) - end] for words in listed]
    if not start or not all(len(value) == 1 for value in values) or len(values) > MOST_LISTED:
        return ""
    said = [value[0] for value in values]
    return "".join(
        [*listed[0][:start], ", ".join(said[:-1]), " or ", said[-1], *listed[0][len(listed[0]) - end :]]
    )


def network(run: Run) -> str:
    """Hosts, switches, the kind of the topology, and the rates of links."""
    at_hosts = pl.col("tier").str.starts_with("host-") | pl.col("tier").str.ends_with("-host")
    hosts = run.links.filter(pl.col("tier").str.starts_with("host-"))["from"].unique()
    nodes = pl.concat([run.links["from"], run.links["to"]]).unique()
    switches = nodes.len() - hosts.len()
    rates = [_rates(run.links.filter(part)) for part in (at_hosts, ~at_hosts)]
    links = f"links of {rates[0]}" + (
        f" to hosts and {rates[1]} between switches" if rates[1] not in ("", rates[0]) else ""
    )
    kind = member_name(run.scenario["topology"])
    return f"{_number(hosts.len(), 'host')} and {_number(switches, 'switch')} ({kind}) with {links}"


def _rates(links: pl.DataFrame) -> str:
    found = sorted(links["rate_bps"].unique())
    if len(found) > 2:
        return f"{text.rate(found[0])} to {text.rate(found[-1])}"
    return " and ".join(map(text.rate, found))


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun if count == 1 else noun + ('es' if noun.endswith('ch') else 's')}"


def traffic(run: Run) -> str:
    """Flows of each entry: their number, sizes, arrivals and pairs."""
    entries = list(zip(run.scenario["traffic"], run.summary["traffic"], strict=True))
    if not entries:
        return "no traffic"
    more = f"; and {len(entries) - MOST_ENTRIES} more entries" if len(entries) > MOST_ENTRIES else ""
    return f"traffic {'; '.join(_entry(run, *entry) for entry in entries[:MOST_ENTRIES])}{more}"


def _entry(run: Run, entry: Mapping[str, Any], drawn: Mapping[str, Any]) -> str:
    mean = drawn["mean_size_bytes"]
    sizes = member_name(entry["sizes"]) or "given"
    average = f" of {text.size(mean)}" if mean is not None else ""
    average += " on average" if average and sizes != "fixed" else ""
    listed = sizes in ("fixed", "list", "endless")
    size = f"{average if listed else f'{average} (sizes {sizes})'}"
    if drawn.get("background"):
        flows = f"{_number(drawn['flows'], 'flow')} in the background"
    else:
        flows = _number(run.measured.filter(tag=drawn["name"]).height, "measured flow")
    return f'"{drawn["name"]}": {flows}{size}, {_arrivals(entry)}, matrix {_pairs(entry)}'


def _arrivals(entry: Mapping[str, Any]) -> str:
    arrivals = entry["arrivals"]
    if isinstance(arrivals, dict) and isinstance(poisson := arrivals.get("poisson"), dict):
        at = poisson.get("load")
        return "Poisson arrivals" + (f" at a load of {at:g}" if isinstance(at, int | float) else "")
    return f"arrivals {member_name(arrivals)}"


def _pairs(entry: Mapping[str, Any]) -> str:
    return str(member_name(entry["matrix"]) or "given")


def carried_by(run: Run) -> str:
    """Transports, queue and balancers."""
    scenario = run.scenario
    entries = scenario["traffic"] or [scenario]
    transports = dict.fromkeys(
        str(member_name(entry.get("transport") or scenario["transport"])) for entry in entries
    )
    balancers = dict.fromkeys(
        str(member_name((entry.get("routing") or scenario["routing"]).get("balancer") or "per-flow"))
        for entry in entries
    )
    queue = member_name(scenario.get("queue")) or "its own"
    faults = len(run.faults)
    return (
        f"transport {' and '.join(transports)}, queue {queue}, load balancing {' and '.join(balancers)}"
        + (f", {_number(faults, 'fault')}" if faults else "")
    )


def _time(runs: Sequence[Run]) -> str:
    """Simulated time, the measuring window, the seed and the replica."""
    ends = sorted(run.end_ps for run in runs)
    span = text.duration(ends[0])
    if text.duration(ends[-1]) != span:
        span = f"{span} to {text.duration(ends[-1])}"
    windows = {run.window_ps for run in runs if run.has_window}
    if not windows:
        measured = "measured: the whole run"
    elif len(windows) == 1:
        (window,) = windows
        start, end = text.durations(*window)
        measured = f"measured: flows that start from {start} to {end}"
        if window[0] >= window[1]:
            measured = "measured: no flow, since the run ended within its warm-up"
    else:
        measured = "measured: flows that start in the window of each run"
    seeds = _listed([run.summary["seed"] for run in runs])
    replicas = _listed([run.summary["replica"] for run in runs])
    return f"{span} simulated; {measured}; seed {seeds}, replica {replicas}"


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(map(str, dict.fromkeys(values)))
