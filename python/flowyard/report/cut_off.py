"""Observation that reached a limit before the run ended, in sentences for the terminal and for pages."""

from collections.abc import Iterator, Mapping
from typing import Any

from flowyard import text

# Fields of `observe` that limit its parts.
LIMITS = {"samples": "rows_limit", "events": "rows_limit", "capture": "packet_limit"}


def times_ps(summary: Mapping[str, Any]) -> dict[str, int]:
    """For each part of the observation that is cut off, the time from which on it is missing, by run.json."""
    parts = (summary.get("observed") or {}).items()
    return {name: part["cut_off_ps"] for name, part in parts if part and part.get("cut_off_ps") is not None}


def sentences(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The name of each part that is cut off, with the limit, and the time from which on it is missing."""
    for part, at in times_ps(summary).items():
        # Parts of other versions have their own limits.
        limit = f"observe.{part}.{LIMITS[part]}" if part in LIMITS else "its limit"
        yield (
            part,
            f"{limit} was reached: from {text.duration(at)} on there are none. Flows and links are complete.",
        )
