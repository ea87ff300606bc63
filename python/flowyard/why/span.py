"""A span of a run, as a reader names it: from "10us" until "1.5ms", or from its start to its end."""

from flowyard.analysis import picoseconds
from flowyard.errors import UserError


def span(since: str | None, until: str | None, end_ps: int) -> tuple[int, int]:
    """Start and end of a span in ps, within a run.

    Args:
        since: Its start, or None for that of the run.
        until: Its end, or None for that of the run.
        end_ps: The end of the run.

    Raises:
        UserError: They are no times, or the span is empty or behind the run's end.
    """
    first = _time(since, "--from") if since else 0
    last = min(_time(until, "--until"), end_ps) if until else end_ps
    if first >= last:
        raise UserError(
            f"the span from {first / 1e6:g} us until {last / 1e6:g} us is empty; the run ends at {end_ps / 1e6:g} us"
        )
    return first, last


def _time(text: str, option: str) -> int:
    try:
        return picoseconds(text)
    except (KeyError, ValueError):
        raise UserError(
            f"{option}: {text[:40]!r} is no time; write a number and ps, ns, us, ms or s, such as 10us"
        ) from None
