"""A run made again from its scenario, with the events of flows or of ports; its digest proves it to be the same."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flowyard import results
from flowyard.errors import UserError
from flowyard.results import Result

if TYPE_CHECKING:
    import polars as pl

Event = dict[str, Any]

# Rows that a packet makes at each port: enqueued, started, arrived.
ROWS_A_HOP = 3
# Kinds of events at a port.
OF_PORTS = ("enqueued", "started", "dropped", "trimmed", "marked", "paused")
# Rows of events of all flows that are recorded beside those of one: 56 bytes each, and as many in Python again.
ROWS_BESIDE = 300_000
# Most rows of ports that are read.
ROWS_MAX = 2_000_000


def require_it_can(run: Result) -> None:
    """Refuses a run that cannot be made again from its summary.

    Raises:
        UserError: Its members in Python are not there or of another text, or its summary is without its scenario.
    """
    scenario = run.summary.get("scenario")
    if not isinstance(scenario, Mapping):
        raise UserError("run.json has no scenario, and the run cannot be made again without it")
    described = [json.loads(one.described()) for one in run.prototypes]
    given = {(one["kind"], one["name"]): one["sha256"] for one in described}
    for own in run.summary.get("prototypes", ()):
        key, file = (own["kind"], own["name"]), own["file"] or "FILE"
        if key not in given:
            raise UserError(
                f"the {' '.join(key)} of this run is a class in Python, {own['class']}, which its folder lacks: "
                f"give its file to `flowyard why` or `flowyard watch`, --prototype {file}"
            )
        if given[key] != own["sha256"]:
            raise UserError(
                f"the {' '.join(key)} is not the one of this run: {file} has changed since then; run the scenario anew"
            )


def again(run: Result, events: Mapping[str, Any]) -> Result:
    """The run again, with these events and no other observations.

    Args:
        run: The run.
        events: Fields of observe.events.

    Raises:
        UserError: It cannot be made again, or comes out otherwise.
    """
    require_it_can(run)
    scenario = dict(run.summary["scenario"]) | {"observe": {"events": dict(events)}}
    made = results.Checked(scenario, prototypes=run.prototypes).run()
    if made.summary["digest"] != run.summary["digest"]:
        versions = f"it was made by engine {run.summary.get('engine')}, this is {made.summary['engine']}"
        raise UserError(
            f"the run comes out otherwise today, so that its flows cannot be explained: {versions}; run its scenario "
            "anew, and ask for a flow of that run"
        )
    return made


def of_flows(run: Result, flows: Sequence[int], rows: int | None = None) -> Result:
    """The run again, with all events of these flows.

    Args:
        run: The run.
        flows: Their numbers.
        rows: The most rows; None for the default of observe.events.
    """
    events: dict[str, Any] = {
        "flows": ["*"],
        "numbers": sorted(flows),
        "from": "0s",
        "until": f"{run.summary['end_ps']}ps",
    }
    return again(run, events | ({"rows_limit": rows} if rows else {}))


def of_ports(
    run: Result, links: Iterable[str], from_ps: int, until_ps: int, kinds: Sequence[str] = OF_PORTS
) -> Result:
    """The run again, with the events of all flows at ports, in a span of time.

    Args:
        run: The run.
        links: "from -> to" of the links that the ports feed.
        from_ps: Start of the span.
        until_ps: Its end.
        kinds: Kinds of events.
    """
    return again(
        run,
        {
            "flows": ["*"],
            "links": sorted(links),
            "kinds": list(kinds),
            "from": f"{from_ps}ps",
            "until": f"{until_ps}ps",
            "rows_limit": ROWS_MAX,
        },
    )


def of_all(run: Result, from_ps: int, until_ps: int, rows: int = ROWS_MAX) -> Result:
    """The run again, with all events of a span of time.

    Args:
        run: The run.
        from_ps: Start of the span.
        until_ps: Its end.
        rows: The most rows.
    """
    span = {"from": f"{from_ps}ps", "until": f"{until_ps}ps"}
    return again(run, {"flows": ["*"], **span, "rows_limit": rows})


def rows_between(run: Result, from_ps: int, until_ps: int) -> int:
    """About how many events there are in a span of time, if they are spread evenly over the run."""
    share = (until_ps - from_ps) / max(int(run.summary["end_ps"]), 1)
    return int(run.summary["counters"]["packet_hops"] * ROWS_A_HOP * min(share, 1.0))


def rows_of(table: "pl.DataFrame") -> list[Event]:
    """The rows of a table of events, in their order."""
    return list(table.iter_rows(named=True))
