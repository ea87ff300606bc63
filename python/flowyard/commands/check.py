"""`flowyard check`: errors of a scenario or a sweep, or its values with all defaults and its cost."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flowyard.commands import options

NAME = "check"
HELP = "list all errors of a scenario or a sweep, and estimate its cost"

# Sizes that a scenario states, in which nothing is drawn.
GIVEN = ("fixed", "list", "endless")
# Columns of a line.
WIDTH = 120


def arguments(parser: argparse.ArgumentParser) -> None:
    """The scenario, or a sweep's plan."""
    options.as_json(parser)
    options.scenario(parser)
    parser.add_argument(
        "--defaults",
        action="store_true",
        help="print the fields that the scenario leaves at their defaults, too",
    )
    options.comparison(
        parser,
        "check it at each of these values, as `flowyard run` runs it with this option, and estimate the cost of all",
    )


def run(arguments: argparse.Namespace) -> int:
    """Checks and prints; executes at most a moment of a run."""
    from flowyard import _native, memory, results, run_time, scenarios
    from flowyard.terminal import folding
    from flowyard.terminal.exits import COMPLETE
    from flowyard.text import digits, room

    path = scenarios.find(arguments.scenario)
    overrides = options.overrides(arguments)
    if arguments.compare:
        from flowyard.sweeps import command

        return command.check_comparison(arguments, path, overrides)
    try:
        checked = results.Checked(path, overrides, options.prototypes(arguments))
    except _native.ScenarioError:
        from flowyard.sweeps import command

        if command.is_plan(path):
            return command.check(arguments, path, overrides)
        raise
    resolved = checked.resolved(whole=True)
    outlook = checked.outlook()
    needs, why_least, derived, advice, window = outlook
    is_least = outlook.is_least
    advice = [*advice, *_stuck(resolved["traffic"])]
    flows = _drawn(checked, resolved)
    speed = run_time.speed(checked, needs, is_least=is_least)
    if arguments.json:
        said = {
            "drawn": flows,
            "derived": derived,
            "advice": advice,
            "window": window,
            "needs": {**run_time.as_json(needs, speed), "is_least": is_least, "why_least": why_least},
        }
        print(json.dumps({**resolved, **said}, indent=2))
        return COMPLETE
    print(f"{path}: nothing wrong")
    _parts(path, resolved, overrides, arguments)
    for row in flows:
        from flowyard import traffic_stats

        _part("drawn", traffic_stats.said(row))
    for field, value in derived.items():
        _part("derived", f"{field} = {inline(value)}")
    _part("measured", run_time.measuring(window, needs["end_ps"]))
    hops, ends = needs["packet_hops"], needs["end_ps"] / 1e9
    taken = room(needs["memory_bytes"])
    least = "at least " if is_least else ""
    _part("needs", f"about {taken}; {least}{hops:,} packet-hops for {least}{digits(ends)} ms simulated")
    _part("", run_time.said(needs, speed, is_least=is_least))
    if why_least:
        _part("", why_least)
    there = memory.left()
    if there and needs["memory_bytes"] > there.size:
        _part("", f"too much for this process, which has {room(there.size)} left: {there.why}")
    if resolved.get("observe"):
        _part("observe", inline(resolved["observe"]))
        _part("", run_time.to_observe(needs))
    for piece in advice:
        folding.say(results.advised(piece))
    return COMPLETE


def _parts(
    path: Path, resolved: dict[str, Any], overrides: Mapping[str, object], arguments: argparse.Namespace
) -> None:
    """Prints the parts of a scenario, with the fields that it writes."""
    from flowyard import results
    from flowyard.commands import written

    own = written.fields(path, overrides)
    # A balancer that nothing names is shown by its name, as a queue is.
    balancer = (resolved["routing"] or {}).get("balancer")
    own["routing"] = {"balancer": balancer and results.variant(balancer), **(own.get("routing") or {})}
    for part in ("topology", "routing", "transport", "queue"):
        if resolved.get(part):
            _settings(part, resolved[part], own.get(part), arguments)
    if name := results.controlled(resolved):
        (settings,) = resolved["controller"].values()
        given = written.inside(own.get("controller"))
        _settings(name, settings, given, arguments)
    shared = {part: resolved[part] for part in ("transport", "routing")}
    for number, entry in enumerate(resolved["traffic"]):
        differing = {key: value for key, value in entry.items() if shared.get(key) != value}
        _settings("traffic", differing, written.entry(own, number), arguments)


def _drawn(checked: Any, resolved: dict[str, Any]) -> list[dict[str, Any]]:
    """The flows of entries whose sizes are drawn; without any, nothing slow is imported."""
    from flowyard import results

    asked = [entry["name"] for entry in resolved["traffic"] if results.variant(entry["sizes"]) not in GIVEN]
    if not asked:
        return []
    from flowyard import traffic_stats

    return [row for row in traffic_stats.entries(checked, resolved) if row["name"] in asked]


def _stuck(traffic: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Advice on triggers that cannot fire: a run with them stalls."""
    described = [
        (entry["name"], entry["arrivals"].get("triggers"))
        for entry in traffic
        if isinstance(entry["arrivals"], dict)
    ]
    if not any(triggers for _, triggers in described):
        return []
    from flowyard.interchange.flows import Triggers
    from flowyard.text import counted

    advice = []
    for name, found in described:
        if not found:
            continue
        starts = {
            flow: start["trigger"] for flow, start in enumerate(found["starts"]) if isinstance(start, dict)
        }
        triggers = Triggers(
            {item["id"]: item["kind"] for item in found["list"]},
            starts,
            [(fire["flow"], fire["event"], fire["trigger"]) for fire in found["fires"]],
        )
        stuck, fired = triggers.stuck(len(found["starts"]))
        if stuck:
            path = f"traffic.{name}.arrivals.triggers.starts.{stuck[0]}"
            never = "never starts" if len(stuck) == 1 else "never start"
            message = f"{triggers.why_stuck(stuck[0], fired)}; {counted(len(stuck), 'flow')} {never}"
            advice.append(
                {"path": path, "message": message, "write": "a start, or further fires of the trigger"}
            )
    return advice


def _part(name: str, said: str) -> None:
    """Prints a part of a scenario, in lines of a screen's width."""
    from flowyard.terminal import folding

    print(folding.folded(f"  {name:<10} ", said, min(WIDTH, folding.columns(WIDTH))))


def _settings(name: str, resolved: Any, own: Any, arguments: argparse.Namespace) -> None:
    """Prints a part without the fields that the scenario leaves at their defaults, unless asked for them."""
    from flowyard.commands import written
    from flowyard.text import counted

    if arguments.defaults:
        _part(name, inline(resolved))
        return
    shown, left = written.without_defaults(resolved, own)
    defaults = counted(left, "default")
    _part(name, inline(shown) + (f" and {defaults}" if left else ""))


def inline(value: Any) -> str:
    """A value in one line, near to how TOML would have it."""
    if isinstance(value, dict):
        items = ", ".join(f"{key} = {inline(item)}" for key, item in value.items() if item is not None)
        return f"{{ {items} }}" if items else "{}"
    if isinstance(value, list) and len(value) > 8:
        return f"[{', '.join(map(inline, value[:8]))}, ... {len(value):,} in all]"
    return json.dumps(value)
