"""Predicted run time: the work that the engine predicts, over the speed of the first moment of the run here.

Nothing is looked up in a table of speeds: these differ by the machine, by what else it does, and by the scenario. A run
is begun, given up after a moment, and what it did until then is its speed.
"""

import time
from typing import Any, NamedTuple

from flowyard import memory
from flowyard.results import Checked, Result
from flowyard.terminal.interrupt import Deferred
from flowyard.text import counted, digits, duration, durations, room, span

# Seconds after which a trial is given up, at the next news of it.
TRIAL_S = 0.3
# Runs of fewer packet-hops take a second at most on a machine that does nothing else: no run is begun to say so.
SHORT_HOPS = 1_000_000
# A trial takes the memory of the run.
MOST_BYTES = 2**30


class Speed(NamedTuple):
    """How fast runs are.

    Attributes:
        hops: Packet-hops that were watched.
        seconds: What they took.
        source: What was watched, in words.
    """

    hops: int
    seconds: float
    source: str

    @property
    def hops_per_s(self) -> float:
        """Packet-hops per second."""
        return self.hops / self.seconds


def trial(checked: Checked) -> Result:
    """The first moment of a run, or the whole of a short one.

    Its counters `packet_hops` and `wall_s` are of the time from its first news on: the set-up before it, which takes
    longer than a trial for a large network or for many flows, and the tables after it say nothing about its speed.

    Raises:
        KeyboardInterrupt: After a signal; a run takes it for its own end, as it does what gives the trial up.
    """
    # Draws the flows.
    checked.outlook()
    begun = time.monotonic()
    first: tuple[float, int] | None = None
    watched: tuple[float, int] | None = None

    def give_up(progress: Any) -> None:
        nonlocal first, watched
        if deferred.raised:
            raise KeyboardInterrupt
        now, hops = time.monotonic(), progress["packet_hops"]
        first = first or (now, hops)
        if now - first[0] >= TRIAL_S:
            watched = now - first[0], hops - first[1]
            raise KeyboardInterrupt

    with Deferred() as deferred:
        result = checked.run(progress=give_up)
    if deferred.raised:
        raise KeyboardInterrupt
    counters = result.summary["counters"]
    # Of a run that ended by itself all is known.
    counters["wall_s"], counters["packet_hops"] = watched or (
        time.monotonic() - begun,
        counters["packet_hops"],
    )
    return result


def speed_of(result: Result) -> Speed | None:
    """How fast a trial was; None if it did nothing in its time."""
    hops, seconds = result.summary["counters"]["packet_hops"], result.summary["counters"]["wall_s"]
    threads = ((result.summary.get("partition") or {}).get("parts") or {}).get("threads", 1)
    here = f"here on {threads} thread{'s' * (threads != 1)}"
    source = f"its first {seconds:.1f} s {here}" if seconds >= 0.05 else f"a short trial {here}"
    # A trial that was given up saw no more than the beginning.
    source += ", from an empty network on; long queues slow a run down" * (result.status == "interrupted")
    return Speed(hops, seconds, source) if hops and seconds > 0 else None


def speed(checked: Checked, needs: dict[str, int], *, is_least: bool = False) -> Speed | None:
    """How fast a run begins; None if it is short for sure, or too large to be begun for that."""
    if (needs["packet_hops"] < SHORT_HOPS and not is_least) or not may_begin(needs):
        return None
    return speed_of(trial(checked))


def may_begin(needs: dict[str, int]) -> bool:
    """Whether there is memory for a trial."""
    there = memory.left()
    return needs["memory_bytes"] <= min(MOST_BYTES, there.size if there else MOST_BYTES)


def said(needs: dict[str, int], found: Speed | None, *, is_least: bool = False) -> str:
    """How long a run will take, and how that is known."""
    if found is None:
        if needs["packet_hops"] < SHORT_HOPS and not is_least:
            return "a second at most, since it is small; not measured"
        if not may_begin(needs):
            return f"time unknown: not begun for an estimate, since it needs {room(needs['memory_bytes'])} of memory"
        return "time unknown: no packet was sent in its first moments here"
    seconds = needs["packet_hops"] / found.hops_per_s
    about = "at least" if is_least else "about"
    rate = f"{digits(found.hops_per_s / 1e6)} M packet-hops/s, as in {found.source}"
    return f"{about} {span(max(1.0, seconds))} at {rate}"


def as_json(needs: dict[str, int], found: Speed | None) -> dict[str, Any]:
    """The same for programs: seconds and packet_hops_per_s are null where nothing was measured."""
    rate = found.hops_per_s if found else None
    return {**needs, "packet_hops_per_s": rate, "seconds": needs["packet_hops"] / rate if rate else None}


def measuring(window: dict[str, Any], end_ps: int) -> str:
    """The flows and the span of time that results will be of; `end_ps` is the end of the run, as far as it is known."""
    flows = counted(window["flows"], "flow")
    if window["rule"] == "all":
        why = f", because {window['why_all']}" if window["why_all"] else ""
        return f"the whole run, {flows}{why}"
    if window["until_ps"] is None:
        return f"{flows}, from {duration(window['from_ps'])} to the end of the run"
    start, end = durations(window["from_ps"], window["until_ps"])
    if end_ps < window["until_ps"]:
        return (
            f"the run ends at {duration(end_ps)} (run.until), before its window of {flows} from {start} to {end} does: "
            "fewer flows are measured"
        )
    how = 'by run.measure = "auto"' if window["rule"] == "chosen" else "by run.measure"
    return (
        f"{flows}, from {start} to {end} ({how}); arrivals continue until the last of them "
        f"has ended, for at most {duration(window['drain_ps'])}"
    )


def to_observe(needs: dict[str, int]) -> str:
    """Disk space and memory that observation will take."""
    rows = needs["sample_rows"]
    # Two digits: a forecast has no more.
    samples = f"about {float(f'{rows:.2g}'):,.0f} rows of samples, " if rows else ""
    return f"observing: {samples}about {room(needs['memory_bytes'])} of memory in all"
