"""Why something is empty or zero: a function for each thing that a reader may look for in vain.

Each takes a run and returns a sentence or two, or None if the thing is there. They are also what the command line
says of a run in which no flow is complete.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flowyard import text
from flowyard.analysis import background
from flowyard.forks import pl
from flowyard.run_data import Run

# For runs of versions that left no `features` in run.json.
UNKNOWN = "Its run.json does not have the features of the queue and the transports, which would say why."


def no_fct(run: Run) -> str | None:
    """Why there is no completion time; None if there is one."""
    if run.measured["completed"].any():
        return None
    every = run.flows.height
    if every == 0:
        return "The scenario has no flow."
    own = run.flows.filter(~pl.col("tag").is_in(background(run.summary)))
    if own.is_empty():
        are = "The only flow is" if every == 1 else f"All {every:,} flows are"
        return f"{are} background traffic (background = true in their [[traffic]]): summaries leave that out."
    if run.measured.is_empty():
        window = " to ".join(text.durations(*run.window_ps))
        none = "The only flow does not start" if own.height == 1 else f"None of {own.height:,} flows starts"
        return f"{none} in the measuring window, from {window}: change run.measure."
    return not_completed(run) or given_up(run) or f"{_too_short(run)} {_remedy(run)}".strip()


def not_completed(run: Run) -> str | None:
    """In a run that is complete: why not all flows that were not given up are; None if they are, or the run is not."""
    missing = run.measured.filter(~pl.col("completed") & ~pl.col("abandoned"))
    if run.status != "complete" or missing.is_empty():
        return None
    own = run.measured.height
    features = run.summary.get("features", {}).get("traffic", {})
    entries = [features[tag] for tag in missing["tag"].unique() if tag in features]
    names = ", ".join(sorted({f"transport.{entry['transport']}" for entry in entries}))
    lost = int(missing["drops"].sum()) + int(missing["lost"].sum())
    said = f"{missing.height:,} of {own:,} flows were not completed: {lost:,} of their packets were lost"
    if not entries:
        return f"{said}."
    never = not any(entry["retransmits"] for entry in entries)
    return f"{said}, and {names} {'retransmits none' if never else 'did not retransmit them'}."


def given_up(run: Run) -> str | None:
    """How many flows senders gave up, of a run in which none was left open otherwise; None if none was."""
    if run.status != "complete" or not run.abandoned:
        return None
    return f"{run.abandoned:,} of {run.measured.height:,} flows were abandoned: their senders gave them up."


def waits(run: Run) -> list[str]:
    """Of a run that stalled, for each traffic entry what its flows wait for."""
    return [
        f"traffic.{entry['name']}: {'; '.join(_waits(entry['waits']))}"
        for entry in run.summary.get("traffic", ())
        if entry.get("waits")
    ]


def _waits(waits: Mapping[str, Any]) -> list[str]:
    parts = []
    if waits["open"]:
        due = waits["next_timer_ps"]
        timer = "no timer of their senders is set" if due is None else f"next timer at {text.duration(due)}"
        parts.append(f"{_flows(waits['open'])} open, {timer}")
    if waits["not_started"]:
        start = waits["next_start_ps"]
        when = (
            "waiting for flows that have not ended"
            if start is None
            else f"next start at {text.duration(start)}"
        )
        parts.append(f"{_flows(waits['not_started'])} not started, {when}")
    return parts


def _flows(count: int) -> str:
    return f"{count:,} flow{'' if count == 1 else 's'}"


def no_slowdown(run: Run) -> str | None:
    """Why there is no slowdown; None if there is one."""
    reason = no_fct(run)
    if reason or run.measured["slowdown"].count():
        return reason
    return "Its transport cuts flows into packets of random lengths, so that no ideal completion time is defined."


def one_size(run: Run) -> str | None:
    """Why nothing is shown over sizes; None if there are several."""
    if not run.one_size:
        return None
    return f"All flows are of one size, {text.size(run.measured['size_bytes'][0])}: the table of completion is of it."


def no_drop(run: Run) -> str | None:
    """Why no queue dropped a packet."""
    if run.counters["drops"]:
        return None
    if not (queue := _queue(run)):
        return UNKNOWN
    if "unlimited" in queue.offers:
        return f"{queue} has no limit: it never drops."
    if "trimming" in queue.offers:
        return f"{queue} trims data packets that do not fit."
    if "lossless" in queue.offers:
        return f"{queue} pauses upstream ports instead of dropping packets."
    if "credits" in queue.offers:
        return f"{queue} grants upstream ports credit for its free buffer: it never drops."
    limit = queue.settings.get("limit")
    if not limit:
        return f"{queue} dropped none: {_fullest(run, limit)}."
    return f"No switch port was full: {_fullest(run, limit)}{_against('limit', limit)}."


def no_trim(run: Run) -> str | None:
    """Why no packet was trimmed."""
    if run.counters["trims"]:
        return None
    if not (queue := _queue(run)):
        return UNKNOWN
    field, limit = queue.beginning("headers") if "headers" in queue.offers else ("", None)
    if limit:
        return f"No request arrived at a full switch port: {_fullest(run, limit)}{_against(field, limit)}."
    if "trimming" not in queue.offers:
        return f"Only queues that offer trimming trim; {queue} of this run does not offer it."
    field, limit = queue.beginning("trimming")
    if not limit:
        return f"{queue} trimmed none: {_fullest(run, limit)}."
    return f"No switch port's data queue was full: {_fullest(run, limit)}{_against(field, limit)}."


def no_mark(run: Run) -> str | None:
    """Why no packet was marked with congestion experienced."""
    if run.counters["marks"]:
        return None
    if not (queue := _queue(run)):
        return UNKNOWN
    if "ecn" not in queue.offers:
        if queue.settings.get("mark") == "none":
            return f'{queue}.mark = "none": no packet is marked.'
        return f"Only queues that offer ECN marking mark; {queue} of this run does not offer it."
    entries = _entries(run)
    if entries and not any(entry["ecn_capable"] for entry in entries):
        names = ", ".join(sorted({entry["transport"] for entry in entries}))
        return (
            f"No transport of the run is ECN-capable with its settings ({names}), and {queue} marks only ECN-capable "
            "packets. The reference of transports has the settings that change this."
        )
    field, threshold = queue.beginning("ecn")
    limit = queue.settings.get("limit")
    if (most := _same_unit(threshold, limit)) and most[0] >= most[1]:
        return (
            f"{queue}.{field} = {_amount(threshold)} is not below {queue}.limit = {_amount(limit)}: the queue drops "
            "before it would mark."
        )
    if not threshold:
        return f"{queue} marked none: {_fullest(run, threshold)}."
    return (
        f"No switch port held more than its {field}: {_fullest(run, threshold)}{_against(field, threshold)}."
    )


def no_retransmission(run: Run) -> str | None:
    """Why nothing was sent again."""
    if run.counters["retransmissions"]:
        return None
    if once := _sent_once(run):
        return f"{once} sends each packet once and retransmits none."
    return (
        _nothing_lost(run)
        or "What was lost were no data packets, or the run ended before they were sent again."
    )


def no_timeout(run: Run) -> str | None:
    """Why no retransmission timer expired."""
    if run.counters["timeouts"]:
        return None
    if once := _sent_once(run):
        return f"{once} has no retransmission timer."
    if reason := _nothing_lost(run):
        return reason
    if run.counters["unfinished_flows"]:
        return "No timer had expired when the run ended; unfinished flows may have had one pending."
    return "Every lost packet was retransmitted before a timer expired."


def no_reordering(run: Run) -> str | None:
    """Why no packet overtook another."""
    if int(run.flows["reordered"].sum()):
        return None
    entries = _entries(run)
    if entries and all(entry["one_path"] for entry in entries):
        return "All packets of a flow took the same path, and no queue let one overtake another."
    return "The queues on the paths of a flow never differed by enough for one packet to overtake another."


def no_deadline(run: Run) -> str | None:
    """Why no flow has a deadline."""
    if run.flows["deadline_ps"].count():
        return None
    return 'No traffic entry sets one; deadline = "2ms" in a [[traffic]] does.'


def none_against_deadline(run: Run) -> str | None:
    """Why no completion time can be set against a deadline."""
    if not run.has_deadlines:
        return no_deadline(run) or "No flow that counts has a deadline."
    if run.measured.filter(pl.col("deadline_ps").is_not_null())["completed"].any():
        return None
    return no_fct(run) or "No flow with a deadline is complete."


def no_fault(run: Run) -> str | None:
    """Why the network was whole."""
    if run.faults:
        return None
    return "The scenario has no [[faults.events]]."


def no_link_used(run: Run) -> str | None:
    """Why no link has a number."""
    if run.links["packets"].sum():
        return None
    return "No link carried a packet." + (" The scenario has no flow." if run.flows.is_empty() else "")


def no_queue(run: Run) -> str | None:
    """Why no port has a queue."""
    if run.links["queue_max_bytes"].sum():
        return None
    return "No port ever held a packet."


def no_samples(run: Run) -> str | None:
    """Why there is nothing over time, with the lines that ask for it."""
    if run.samples is not None:
        if run.has_samples:
            return None
        return "The run ended before its first sample: shorten observe.samples.every."
    tier = next(iter(run.links["tier"]), "edge-host")
    entry = next((entry.get("name") for entry in run.summary["traffic"]), "*")
    return (
        "The scenario takes no samples. These lines add them:\n"
        f'[observe.samples]\nevery = "10us"\nlinks = ["{tier}"]\nflows = ["{entry}"]'
    )


def no_window(run: Run) -> str | None:
    """Why there are samples, but no congestion window among them."""
    if run.samples is None or not run.has_samples:
        return None
    names = run.samples.filter(pl.col("series").is_in(["cwnd_bytes", "rate_bps"])).select(
        pl.col("series").unique()
    )
    series = set(names.collect(engine="streaming")["series"].to_list())
    if "cwnd_bytes" in series:
        return None
    return "No transport of the sampled flows has a window." if series else "No flow was active at a sample."


def no_histograms(run: Run) -> str | None:
    """Why there are no histograms, with the lines that ask for them."""
    if run.histograms is not None:
        if run.histograms.height:
            return None
        return "The run ended before anything could be counted."
    return 'The scenario records no histograms. These lines add them:\n[observe.histograms]\nevery = "1us"'


def no_values(run: Run, metric: str) -> str | None:
    """Why a metric of the histograms has nothing to draw on a logarithmic axis."""
    if (
        run.histograms is None
        or run.histograms.filter((pl.col("metric") == metric) & (pl.col("low") > 0)).height
    ):
        return None
    if metric == "server_ps":
        return "Every packet went on the wire at the instant at which it was made."
    return "No port held a packet at a sample." if metric == "queue_bytes" else "No packet arrived."


# What may be zero, in the order of the report's table of losses.
ZERO: Mapping[str, Callable[[Run], str | None]] = {
    "retransmissions": no_retransmission,
    "drops": no_drop,
    "trims": no_trim,
    "marks": no_mark,
    "reordered": no_reordering,
    "timeouts": no_timeout,
}


def _too_short(run: Run) -> str:
    first, end = run.measured["start_ps"].min(), text.duration(run.end_ps)
    if first is None:
        if run.measured.height == 1:
            return "The only flow did not start: it waits for others that did not end."
        return f"None of the {run.measured.height:,} flows started: all wait for others that did not end."
    assert isinstance(first, int)
    if first >= run.end_ps and (earlier := int((run.flows["start_ps"] < run.end_ps).sum())):
        lead = (
            f"The run ended at {end}, within its warm-up: {_flows(earlier)} had started by then, and the first "
            f"measured flow would start at {text.duration(first)}."
        )
    elif first >= run.end_ps:
        lead = f"The run ended at {end}, before its first flow would start at {text.duration(first)}."
    else:
        begun = int((run.measured["start_ps"] < run.end_ps).sum())
        moved = int((run.measured["delivered_bytes"] > 0).sum())
        lead = (
            f"The run ended at {end}, before any flow was complete: {begun:,} of {run.measured.height:,} had started, "
            f"the first at {text.duration(first)}, and {moved:,} had delivered some payload."
        )
    if run.status == "stalled":
        return lead
    least, paced = missing_time_ps(run)
    bounds = []
    if least is not None:
        bounds.append(f"at least {text.duration(least)} more, at the full rate of its host's link")
    if paced is not None:
        bounds.append(f"about {text.duration(paced)} at the pace so far")
    return f"{lead} The first to end would have needed {', '.join(bounds)}." if bounds else lead


def missing_time_ps(run: Run) -> tuple[int | None, int | None]:
    """Time that the first flow to end still needed when the run ended, in ps.

    Returns:
        A lower bound: its missing payload at the rate of the fastest host's link. And an estimate: at its own mean
        rate so far. None where there is no link, or where no flow has delivered anything.
    """
    open_ = run.measured.filter(~pl.col("completed") & pl.col("start_ps").is_not_null())
    rates = run.links.filter(pl.col("tier").str.starts_with("host-"))["rate_bps"]
    missing = pl.col("size_bytes").cast(pl.Float64) - pl.col("delivered_bytes")
    late = (pl.col("start_ps").cast(pl.Float64) - run.end_ps).clip(0)
    elapsed = run.end_ps - pl.col("start_ps").cast(pl.Float64)
    least = paced = None
    if rate := rates.max():
        assert isinstance(rate, int)
        least = open_.select((late + missing * 8e12 / rate).min()).item()
    moved = open_.filter(pl.col("delivered_bytes") > 0)
    if moved.height:
        paced = moved.select((missing * elapsed / pl.col("delivered_bytes")).min()).item()
    return (None if least is None else round(least)), (None if paced is None else round(paced))


def _remedy(run: Run) -> str:
    if run.status == "limit":
        return {
            "memory": "Raise run.memory_limit, or reduce the traffic.",
            "work": "Raise run.work_limit, or reduce the traffic.",
            "flows": "Draw fewer flows.",
        }.get(run.limit, "Raise run.until.")
    return "Let it run longer." if run.status == "interrupted" else ""


def _nothing_lost(run: Run) -> str | None:
    counters = run.counters
    if counters["drops"] or counters["trims"] or counters.get("lost") or counters.get("unroutable"):
        return None
    return "No packet was dropped, trimmed or lost, so that there was nothing to repair."


def _fullest(run: Run, limit: Any) -> str:
    """The largest queue of a switch port in the unit of a limit; a host's port has no limit."""
    ports = run.links.filter(~pl.col("tier").str.starts_with("host-"))
    if ports.is_empty():
        return "there is none"
    if isinstance(limit, str) or (isinstance(limit, Mapping) and "bytes" in limit):
        return f"the largest queue was {text.size(_most(ports['queue_max_bytes']))}"
    packets = _most(ports["queue_max_packets"])
    return f"the largest queue was {packets:,} packet{'' if packets == 1 else 's'}"


def _most(column: pl.Series) -> int:
    most = column.max()
    assert isinstance(most, int)
    return most


def _against(name: str, limit: Any) -> str:
    return f", the {name.replace('_', ' ')} is {_amount(limit)}" if limit else ""


def _amount(limit: Any) -> str:
    """A limit as in words: {"packets": 100} is 100 packets; a text is a size."""
    if not isinstance(limit, Mapping):
        return str(limit)
    ((unit, number),) = limit.items()
    return str(number) if unit == "bytes" else f"{number} {unit.replace('-', ' ')}"


def _same_unit(a: Any, b: Any) -> tuple[int, int] | None:
    """Two limits as numbers, if they count the same."""
    if not (isinstance(a, Mapping) and isinstance(b, Mapping) and a.keys() == b.keys()):
        return None
    ((one,), (other,)) = a.values(), b.values()
    return (one, other) if isinstance(one, int) and isinstance(other, int) else None


@dataclass(frozen=True)
class _Queue:
    """The run's queue: its name, what it offers (with the field that says from when on), and its settings."""

    name: str
    offers: Mapping[str, str | None]
    settings: Mapping[str, Any]

    def __str__(self) -> str:
        return f"queue.{self.name}"

    def beginning(self, feature: str) -> tuple[str, Any]:
        """The field that says from which queue length on it does so, and its value; empty if none does."""
        field = self.offers[feature] or ""
        return field, self.settings.get(field)


def _queue(run: Run) -> _Queue | None:
    """None for runs of versions that did not write features."""
    if "features" not in run.summary:
        return None
    return _Queue(**run.summary["features"]["queue"], settings=_variant(run.scenario.get("queue"))[1])


def _entries(run: Run) -> Sequence[Mapping[str, Any]]:
    """The features of each traffic entry; none for runs of versions that did not write them."""
    return list(run.summary.get("features", {}).get("traffic", {}).values())


def _sent_once(run: Run) -> str:
    """The transports, if none of them retransmits."""
    entries = _entries(run)
    once = not any(entry["retransmits"] for entry in entries)
    return ", ".join(sorted({f"transport.{entry['transport']}" for entry in entries})) if once else ""


def _variant(value: Any) -> tuple[str, Mapping[str, Any]]:
    """A variant's tag and its fields; ("", {}) if it is absent."""
    if isinstance(value, Mapping) and len(value) == 1:
        ((tag, fields),) = value.items()
        return str(tag), fields if isinstance(fields, Mapping) else {}
    return (value, {}) if isinstance(value, str) else ("", {})
