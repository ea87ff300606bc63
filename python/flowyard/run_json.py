"""Facts that the run.json of a run states, for readers that need no table."""

import re
from collections.abc import Mapping
from typing import Any

# Names that say no more than numbers.
_NUMBERED = re.compile(r"(host )?[0-9]+")


def window_of(summary: Mapping[str, Any]) -> tuple[int, int]:
    """Start and end of the measuring window, in ps."""
    if window := summary.get("measured"):
        return int(window["from_ps"]), int(window["until_ps"])
    # Before there was a window, a warm-up was all that was left out.
    from flowyard.analysis import picoseconds

    return picoseconds(summary["scenario"]["run"].get("warm_up", "0s")), int(summary["end_ps"])


def has_window(summary: Mapping[str, Any]) -> bool:
    """Whether results are of less than the whole run."""
    return window_of(summary) != (0, int(summary["end_ps"]))


def can_pause(summary: Mapping[str, Any]) -> bool:
    """Whether the queue of the run pauses the port before it: it has a threshold for that, or a port was paused."""
    queue = summary["scenario"].get("queue")
    fields = next(iter(queue.values()), None) if isinstance(queue, Mapping) else None
    return bool(summary["counters"].get("pauses")) or (isinstance(fields, Mapping) and "xoff" in fields)


def host_names(scenario: Mapping[str, Any]) -> list[str] | None:
    """The names that a scenario gives its hosts, by their numbers; None where they go by their numbers alone."""
    topology = scenario.get("topology")
    fields = topology.get("explicit") if isinstance(topology, Mapping) else None
    names = fields.get("hosts") if isinstance(fields, Mapping) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    return None if all(_NUMBERED.fullmatch(name) for name in names) else names


def not_whole(status: str) -> str:
    """The title of what is said of a run that did not come to its own end: "Interrupted: not the whole story"."""
    return f"{status.capitalize()}: not the whole story"


def unstable_of(summary: Mapping[str, Any]) -> list[str]:
    """Why the run was not in a steady state; empty if it was, or if nothing is known."""
    return list((summary.get("measured") or {}).get("unstable", ()))
