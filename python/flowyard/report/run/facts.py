"""Facts of runs: the scenarios side by side, with their differences."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from flowyard import text
from flowyard.member_names import member_name
from flowyard.report import loads

if TYPE_CHECKING:
    # Runs are called by what differs, which differences.py finds with what is below.
    from flowyard.run_data import Run

# Of a longer list only so many members are shown.
LIST_SHOWN = 6
# The flows of a run are told apart from their distribution if their mean is off by more than that share.
MEAN_CLOSE = 0.02


@dataclass(frozen=True)
class Cell:
    """A fact of one run: the main thing, and what comes after it in smaller type."""

    main: str
    detail: str = ""


@dataclass(frozen=True)
class Fact:
    """A row of the comparison: a name, its explanation, a cell for each run."""

    name: str
    title: str
    cells: list[Cell]
    # Whether a difference between runs is worth a mark; run times always differ.
    compared: bool = True

    @property
    def differs(self) -> bool:
        """Whether not all runs agree."""
        return self.compared and len(set(self.cells)) > 1


def faults(run: "Run") -> list[Cell]:
    """Faults of the network: time, kind and place."""
    return [fault(run, event) for event in run.faults]


def fault(run: "Run", event: dict[str, Any]) -> Cell:
    """A line of it, as run.json has it."""
    until = f" to {text.duration(event['undone_ps'])}" if event["undone_ps"] is not None else ""
    parts = [*event["nodes"], *_cables(run, event["links"])]
    more = f" and {len(parts) - LIST_SHOWN} more" if len(parts) > LIST_SHOWN else ""
    return Cell(
        f"{text.duration(event['at_ps'])}{until}: {event['change']}",
        (", ".join(parts[:LIST_SHOWN]) or "nothing: the share comes to none") + more,
    )


def _cables(run: "Run", links: Sequence[int]) -> list[str]:
    ends = run.links.sort("id").select("from", "to")
    names = []
    for link in links:
        a, b = ends.row(link)
        if link ^ 1 not in links:
            names.append(f"{a} → {b}")
        elif link % 2 == 0:
            names.append(f"{a} – {b}")  # noqa: RUF001
    return names


# Parts of a scenario that most have not: their fields, with what they are called and what they do.
RARE = {
    "agent": ("Agent", "The computation at each port for passing packets."),
    "controller": ("Controller", "Decides for all hosts when, or how fast, they send."),
}


def facts(runs: Sequence["Run"]) -> list[Fact]:
    """Settings of each run."""

    def row(name: str, title: str, cell: Callable[["Run"], Cell]) -> Fact:
        return Fact(name, title, [cell(run) for run in runs])

    rows = [
        row("Topology", "The network.", lambda run: variant(run.scenario["topology"])),
        row("Size", "Hosts and directed links; a cable is two of them.", _size),
        row("Transport", "Transport protocol of the hosts.", lambda run: variant(run.scenario["transport"])),
        row("Queue", "Queue discipline of the ports.", lambda run: variant(run.scenario.get("queue"))),
        row(
            "Load balancing",
            "The choice among a packet's equal-cost next hops.",
            lambda run: variant(run.scenario["routing"].get("balancer")),
        ),
        *(
            row(name, title, partial(_part, part))
            for part, (name, title) in RARE.items()
            if any(run.scenario.get(part) for run in runs)
        ),
    ]
    entries = max(len(run.scenario["traffic"]) for run in runs)
    for i in range(entries):
        name = "Traffic" if entries == 1 else f"Traffic {i + 1}"
        rows.append(row(name, "Flows: their senders, receivers, sizes and start times.", partial(_entry, i)))
        title = "Payload per second over the capacity of the loaded hosts: configured, drawn, and delivered."
        rows.append(row("Load", title, partial(_load, i)))
    if any(run.scenario.get("faults") for run in runs):
        rows.append(row("Faults", "Faults of the network and their times.", _faults))
    if any(run.scenario.get("observe") for run in runs):
        rows.append(
            row(
                "Observation",
                "Records besides flows and links; they change no result.",
                lambda run: variant(run.scenario.get("observe")),
            )
        )
    rows += [
        row(
            "Seed, replica",
            "Seed of every random stream in the run.",
            lambda run: Cell(f"{run.summary['seed']}, {run.summary['replica']}"),
        ),
        row("Limits", "Limits of the run, and flows left out of summaries.", _limits),
        row(
            "Traffic digest",
            "Digest of sources, destinations, sizes and starts: runs with the same one carried the "
            "same traffic.",
            lambda run: Cell(str(run.summary.get("traffic_digest", text.NONE))[:12]),
        ),
    ]
    return rows


def costs(runs: Sequence["Run"]) -> list[Fact]:
    """Ending and cost of each run."""

    def row(name: str, title: str, cell: Callable[["Run"], str]) -> Fact:
        return Fact(name, title, [Cell(cell(run)) for run in runs], compared=False)

    def speed(run: "Run") -> str:
        hops, cpu = run.counters["packet_hops"], run.counters.get("cpu_s")
        return f"{text.digits(hops / cpu / 1e6)} M/s" if cpu else text.NONE

    def seconds(run: "Run", name: str) -> str:
        value = run.counters.get(name)
        return text.duration(value * 1e12) if value is not None else text.NONE

    return [
        row(
            "Simulated time",
            "From the start of the run to its last event.",
            lambda run: text.duration(run.end_ps),
        ),
        row(
            "Packets",
            "Packets of any kind put on a wire by the host that made them.",
            lambda run: text.count(run.counters["packets"]),
        ),
        row(
            "Packet-hops",
            "Links crossed by packets of any kind.",
            lambda run: text.count(run.counters["packet_hops"]),
        ),
        row(
            "Run time",
            "Time on the clock, and of the processor.",
            lambda run: f"{seconds(run, 'wall_s')}, {seconds(run, 'cpu_s')} CPU",
        ),
        row("Speed", "Packet-hops per second of processor time.", speed),
        row(
            "Peak memory",
            "Most memory of the whole process.",
            lambda run: text.size(run.counters.get("peak_memory_bytes")),
        ),
        row(
            "Started",
            "By the clock of the machine that ran it.",
            lambda run: str(run.summary.get("started") or text.NONE),
        ),
        row(
            "Command",
            "As a shell takes it; none of a run of Python or of a sweep.",
            lambda run: str(run.summary.get("command") or text.NONE),
        ),
        row("Version", "Of Flowyard.", lambda run: str(run.summary["flowyard"])),
        row(
            "Digest",
            "SHA-256 over all results: the same scenario, seed and version give the same one on any machine.",
            lambda run: str(run.summary["digest"]),
        ),
    ]


def settings(runs: Sequence["Run"]) -> list[Fact]:
    """Every field of the scenarios by its path, in the order of first appearance."""
    flat = [dict(flatten(without_repeats(run.scenario))) for run in runs]
    paths = list(dict.fromkeys(path for fields in flat for path in fields))
    return [Fact(path, "", [Cell(fields.get(path, text.NONE)) for fields in flat]) for path in paths]


def headline(run: "Run") -> str:
    """The run in a line: transport, load balancing, topology."""
    scenario = run.scenario
    parts = (scenario["transport"], scenario["routing"].get("balancer"), scenario["topology"])
    return " · ".join(variant(part).main for part in parts if part)


def without_repeats(scenario: dict[str, Any]) -> dict[str, Any]:
    """The scenario without what its traffic entries have from it anyway."""
    traffic = [
        {
            key: value
            for key, value in entry.items()
            if key not in ("transport", "routing") or value != scenario[key]
        }
        for entry in scenario["traffic"]
    ]
    return {**scenario, "traffic": traffic}


def flatten(value: Any, path: str = "") -> list[tuple[str, str]]:
    """Each field of a scenario with its path; members of lists go by their name, or by their number."""
    if isinstance(value, dict) and value:
        return [
            pair
            for key, member in value.items()
            for pair in flatten(member, f"{path}.{key}" if path else str(key))
        ]
    if isinstance(value, list) and value and all(isinstance(member, dict) for member in value):
        return [
            pair
            for i, member in enumerate(value)
            for pair in flatten(member, f"{path}.{member.get('name', i)}")
        ]
    return [(path, inline(value) or "defaults")]


def inline(value: Any) -> str:
    """A value in one line: `newreno (impatient true)`; long lists are cut."""
    if isinstance(value, dict):
        parts = [_member(key, member) for key, member in value.items() if member not in (None, {})]
        if len(value) == 1 and isinstance(next(iter(value.values())), dict):
            ((name, fields),) = value.items()
            inner = inline(fields)
            return f"{name} ({inner})" if inner else str(name)
        return ", ".join(parts)
    if isinstance(value, list):
        shown = [inline(member) for member in value[:LIST_SHOWN]]
        more = [f"… {len(value):,} in all"] if len(value) > LIST_SHOWN else []
        return f"[{', '.join(shown + more)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _member(key: str, value: Any) -> str:
    return f"{key.replace('_', ' ')} {inline(value)}"


def variant(value: Any) -> Cell:
    """A variant: the name that it goes by, then its fields."""
    if isinstance(value, dict) and len(value) == 1:
        ((tag, fields),) = value.items()
        name = member_name(value)
        return Cell(str(tag), inline(fields)) if name == tag else Cell(str(name), inline(value))
    return Cell(inline(value) or text.NONE)


def _part(name: str, run: "Run") -> Cell:
    return variant(run.scenario.get(name))


def _faults(run: "Run") -> Cell:
    settings = run.scenario.get("faults") or {}
    events = settings.get("events") or []
    others = {key: value for key, value in settings.items() if key != "events"}
    kinds = Counter(inline(event.get("change")) for event in events)
    return Cell(
        ", ".join(f"{text.count(number)} x {kind}" for kind, number in kinds.items()) or text.NONE,
        "; ".join(filter(None, (inline(others), *map(inline, events[:LIST_SHOWN])))),
    )


def _size(run: "Run") -> Cell:
    hosts = run.links.filter(run.links["tier"].str.starts_with("host-"))["from"].n_unique()
    return Cell(f"{text.counted(hosts, 'host')}, {text.counted(run.links.height, 'link')}")


def _entry(i: int, run: "Run") -> Cell:
    """A traffic entry in one line; its transport and routing only where they are its own."""
    if i >= len(run.scenario["traffic"]):
        return Cell(text.NONE)
    entry, drawn = run.scenario["traffic"][i], run.summary["traffic"][i]
    parts = [f"arrivals {inline(entry['arrivals'])}", f"matrix {inline(entry['matrix'])}"]
    mean = drawn["mean_size_bytes"]
    parts.append(
        f"sizes {inline(entry['sizes'])}" + (f", mean {text.size(mean)}" if mean is not None else "")
    )
    own = run.flows.filter(run.flows["tag"] == entry["name"])["size_bytes"].mean()
    if mean and isinstance(own, float) and abs(own - mean) > MEAN_CLOSE * mean:
        parts.append(f"mean of the flows of this run {text.size(own)}")
    if drawn.get("background"):
        parts.append("in the background")
    if entry.get("deadline"):
        parts.append(f"deadline {inline(entry['deadline'])}")
    parts += [
        f"{part} {inline(entry[part])}"
        for part in ("transport", "routing")
        if entry.get(part) and entry[part] != run.scenario[part]
    ]
    return Cell(f"{drawn['name']}: {text.counted(drawn['flows'], 'flow')}", "; ".join(parts))


def _load(i: int, run: "Run") -> Cell:
    if i >= len(run.summary["traffic"]):
        return Cell(text.NONE)
    return Cell(loads.said(run.summary["traffic"][i]))


def _limits(run: "Run") -> Cell:
    settings = run.scenario["run"]
    until = f"until {settings['until']}" if settings.get("until") else "no time limit"
    start, end = text.durations(*run.window_ps)
    window = f"measured from {start} to {end}" if run.has_window else "measured as a whole"
    return Cell(f"{until}, {window}")
