"""Reading the files of a run, which may be truncated, edited, or of another program.

The tables below say all that is read of a run.json, anywhere: who has it from here need not ask for types again.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from flowyard.errors import UserError
from flowyard.folders import reading
from flowyard.terminal.exits import OF_STATUS


class _Kind(NamedTuple):
    """A value without parts."""

    words: str
    fits: Callable[[Any], bool]


class _Every(NamedTuple):
    """A list whose items are all alike."""

    item: Any


class _Each(NamedTuple):
    """A table with any keys, whose values are all alike."""

    value: Any


class _Added(NamedTuple):
    """Optional: a version added it, or not every run has it."""

    kind: Any


class _Maybe(NamedTuple):
    """Optional, or null."""

    kind: Any


class _OrNull(NamedTuple):
    """Always there, but may be null."""

    kind: Any


class _Variant(NamedTuple):
    """A name, or a table of one key with the settings; of these, some have a kind."""

    settings: Mapping[str, Any]


_TIME_TEXT = re.compile(r"[0-9]{1,19}(ps|ns|us|ms|s)", re.ASCII)

_TEXT = _Kind("a text", lambda value: isinstance(value, str))
_TRUTH = _Kind("true or false", lambda value: isinstance(value, bool))
# Of 63 bits, as the tables have them.
_COUNT = _Kind("a whole number of 0 to 2^63 - 1", lambda value: type(value) is int and 0 <= value < 2**63)
_SEED = _Kind("a whole number of 0 to 2^64 - 1", lambda value: type(value) is int and 0 <= value < 2**64)
_AMOUNT = _Kind("a number of at least 0", lambda value: type(value) in (int, float) and value >= 0)
_NUMBER = _Kind("a number", lambda value: type(value) in (int, float))
_TIME = _Kind(
    'a time such as "10us"', lambda value: isinstance(value, str) and _TIME_TEXT.fullmatch(value) is not None
)
_STATUS = _Kind(f"one of {', '.join(OF_STATUS)}", lambda value: isinstance(value, str) and value in OF_STATUS)
_TABLE = _Kind("a table", lambda value: isinstance(value, dict))
_LIMIT = _Kind(
    'a table of one key, such as packets, or "derived"',
    lambda value: (isinstance(value, dict) and len(value) == 1) or value == "derived",
)

_MEASURE = _Kind("a word or a table", lambda value: isinstance(value, str | dict))

_PLACE = _Kind("a text, a number, true or false", lambda value: isinstance(value, str | int | float | None))
_KEY = _Kind(
    "the name of a folder, of letters and digits", lambda value: isinstance(value, str) and value.isalnum()
)

# Of DAQ's port a word, for its threshold is a number of round trips.
_THRESHOLD = _Kind(f"{_LIMIT.words}, or a word", lambda value: isinstance(value, str) or _LIMIT.fits(value))

_NAMED = _Variant({})
_TRANSPORT = _Variant({"tcp": _Added(_TABLE)})
_QUEUE = _Variant({**dict.fromkeys(("limit", "data_limit"), _Added(_LIMIT)), "threshold": _Added(_THRESHOLD)})
_ROUTING = {"balancer": _Maybe(_NAMED)}

_SCENARIO = {
    "name": _Maybe(_TEXT),
    "topology": _NAMED,
    "transport": _TRANSPORT,
    "routing": _ROUTING,
    "queue": _Maybe(_QUEUE),
    "controller": _Maybe(_NAMED),
    "traffic": _Every(
        {
            "name": _TEXT,
            "arrivals": _NAMED,
            "matrix": _NAMED,
            "sizes": _NAMED,
            "transport": _Maybe(_TRANSPORT),
            "routing": _Maybe(_ROUTING),
        }
    ),
    "run": {
        "warm_up": _Added(_TIME),
        "measure": _Added(_MEASURE),
        "until": _Maybe(_TIME),
        "stall": _Added(_TIME),
    },
}
_OBSERVED = _Maybe({"cut_off_ps": _Maybe(_COUNT)})
_HALVES = dict.fromkeys(("first", "first_ci95", "second", "second_ci95"), _AMOUNT)
# The measuring window, and what was carried in it.
_MEASURED = {
    "rule": _TEXT,
    "why_all": _OrNull(_TEXT),
    **dict.fromkeys(("from_ps", "until_ps", "drain_ps", "flows", "unfinished", "after_arrivals"), _COUNT),
    "wanted_ps": _OrNull(_COUNT),
    **dict.fromkeys(("offered_load", "realised_load", "carried_load", "carried_ci95"), _OrNull(_AMOUNT)),
    **dict.fromkeys(("hosts_payload", "hosts_wire"), _AMOUNT),
    "goodput_bps": _Added(_AMOUNT),
    "tiers": _Every({"tier": _TEXT, "links": _COUNT, "payload": _OrNull(_AMOUNT), "wire": _AMOUNT}),
    "halves": _OrNull(_HALVES),
    "unstable": _Every(_TEXT),
}
_STATISTICS = ("mean", "p50", "p95", "p99", "p99_9")
# Completion of a size group.
_COMPLETION = {
    "group": _TEXT,
    **dict.fromkeys(("flows", "completed", "due"), _COUNT),
    **{
        f"{column}_{statistic}{end}{unit}": _OrNull(_NUMBER)
        for column, unit in (("fct", "_ps"), ("slowdown", ""))
        for statistic in _STATISTICS
        for end in ("", "_low", "_high")
    },
}
# What every run of any kind has.
_ANY = {
    "status": _STATUS,
    "violations": _Added(_Every(_TEXT)),
    "definitions": _Added(_Each(_Each(_TEXT))),
}
# Keys that only runs of models and of the slotted link have.
_OF_MODELS = {"point", "config"}
# What run.json holds whatever the version that wrote it, and what versions added.
_RUN: Mapping[str, Any] = {
    **_ANY,
    "started": _Added(_TEXT),
    "command": _Maybe(_TEXT),
    "overrides": _Added(_Each(_TEXT)),
    "flowyard": _TEXT,
    "digest": _TEXT,
    "traffic_digest": _Maybe(_TEXT),
    "seed": _SEED,
    "replica": _SEED,
    "end_ps": _COUNT,
    "limit": _Maybe(_TEXT),
    "deadlock": _Added(_Every(_TEXT)),
    "derived": _Added(_TABLE),
    "advice": _Added(_Every(dict.fromkeys(("path", "message", "write"), _TEXT))),
    "features": _Added(
        {
            "queue": {"name": _TEXT, "offers": _Each(_OrNull(_TEXT))},
            "traffic": _Each(
                {"transport": _TEXT, **dict.fromkeys(("ecn_capable", "retransmits", "one_path"), _TRUTH)}
            ),
        }
    ),
    "observed": _Added(dict.fromkeys(("samples", "histograms", "events", "capture"), _OBSERVED)),
    "scenario": _SCENARIO,
    "traffic": _Every(
        {
            "name": _TEXT,
            "flows": _COUNT,
            "background": _Maybe(_TRUTH),
            "mean_size_bytes": _OrNull(_AMOUNT),
            "offered_load": _OrNull(_AMOUNT),
            "realised_load": _OrNull(_AMOUNT),
            **dict.fromkeys(("carried_load", "carried_ci95"), _Added(_OrNull(_AMOUNT))),
        }
    ),
    "measured": _Added(_MEASURED),
    "completion": _Added(_Every(_COMPLETION)),
    "faults": _Added(
        _Every(
            {
                "at_ps": _COUNT,
                "undone_ps": _OrNull(_COUNT),
                "change": _TEXT,
                "links": _Every(_COUNT),
                "nodes": _Every(_TEXT),
            }
        )
    ),
    "counters": {
        **dict.fromkeys(("events", "packet_hops", "packets", "flows", "unfinished_flows"), _COUNT),
        **dict.fromkeys(("drops", "trims", "marks", "retransmissions", "timeouts"), _COUNT),
        **dict.fromkeys(("lost", "unroutable", "pauses", "bounces", "credit_drops"), _Added(_COUNT)),
        **dict.fromkeys(("wall_s", "cpu_s"), _Added(_AMOUNT)),
        "control": _Added(
            {
                **dict.fromkeys(("acts", "reports", "orders"), _COUNT),
                "lost": _Added(_COUNT),
                "wall_s": _Added(_AMOUNT),
            }
        ),
        # Some platforms do not say it.
        "peak_memory_bytes": _Maybe(_COUNT),
    },
}
_PLAN: Mapping[str, Any] = {
    "engine": _TEXT,
    "name": _Added(_TEXT),
    "replicas": _Kind("a whole number of 1 or more", lambda value: type(value) is int and value >= 1),
    "axes": _Every({"name": _TEXT, "values": _Every(_PLACE)}),
    "runs": _Every({"key": _KEY, "values": _Each(_PLACE), "replica": _COUNT}),
}
# What a Parquet file begins and ends with.
_PARQUET = b"PAR1"
# Mistakes that a message shows.
_SHOWN = 8
# Runs of a sweep that a message lists: as many as a page shows side by side.
_MOST_RUNS = 24


def summary(folder: Path) -> dict[str, Any]:
    """The run.json of a simulation.

    Raises:
        UserError: It cannot be read, or lacks what every run.json has.
    """
    found = _read(folder / "run.json", _RUN)
    if len(found["traffic"]) != len(found["scenario"]["traffic"]):
        numbers = f"{len(found['traffic'])} entries, scenario.traffic {len(found['scenario']['traffic'])}"
        raise UserError(f"{folder / 'run.json'}: not as flowyard wrote it: traffic has {numbers}")
    return found


def require_run(folder: Path, tables: Iterable[str]) -> None:
    """Refuses whatever is not the folder of one run.

    Raises:
        UserError: It is no folder, or lacks run.json or one of these tables; the text says where runs are.
    """
    if not folder.is_dir():
        is_file = "is a file; name the folder of its run" if folder.is_file() else "no such folder"
        raise UserError(f"{folder}: {is_file}")
    for name in ("run.json", *(f"{table}.parquet" for table in tables)):
        if (folder / name).exists():
            continue
        problem = f"{folder}: not the folder of a run, {name} is missing"
        if name == "run.json" and (folder / "sweep.json").exists():
            raise UserError(_choice_of(folder))
        if name != "run.json" or not any(folder.glob("*/run.json")):
            raise UserError(problem)
        raise UserError(f"{problem}; flowyard show {folder} lists the runs in it")


def _choice_of(folder: Path) -> str:
    """The runs of a sweep that are there, each with its label, for a message where one of them is needed."""
    planned = plan(folder)
    runs = [run for run in planned["runs"] if (folder / "runs" / run["key"] / "run.json").exists()]
    if not runs:
        return f"{folder}: is the folder of a sweep, of which no run is done"
    lines = []
    for run in runs[:_MOST_RUNS]:
        places = [f"{axis} = {value}" for axis, value in run["values"].items()]
        places += [f"replica {run['replica']}"] if planned["replicas"] > 1 else []
        lines.append(f"  {folder / 'runs' / run['key']}  {', '.join(places)}".rstrip())
    if len(runs) > _MOST_RUNS:
        lines.append(f"  and {len(runs) - _MOST_RUNS:,} more; flowyard show {folder} lists them")
    return "\n".join([f"{folder}: is the folder of a sweep; name one of its runs:", *lines])


def status(folder: Path) -> dict[str, Any]:
    """The run.json of a run of any kind: of a model's run only the status is certain.

    Raises:
        UserError: It cannot be read, or lacks what every run.json of its kind has.
    """
    content = reading.read_json(folder / "run.json")
    is_model = isinstance(content, dict) and not content.keys().isdisjoint(_OF_MODELS)
    return _checked(content, folder / "run.json", _ANY if is_model else _RUN)


def whole(folder: Path) -> dict[str, Any]:
    """The run.json of a run of any kind, as `status`, if its tables are there, too.

    Of a table only both ends are looked at: what was overwritten in its middle shows when it is read.

    Raises:
        UserError: run.json is not as it was written, or a table is missing or was cut short.
    """
    found = status(folder)
    for name in ("flows", "links") if found.keys().isdisjoint(_OF_MODELS) else ("table",):
        path = folder / f"{name}.parquet"
        try:
            require_both_ends(path)
        except OSError as error:
            raise UserError(f"{path}: {error.strerror}") from None
    return found


def require_both_ends(path: Path) -> None:
    """Refuses what is no Parquet file, or one that was cut short.

    Raises:
        UserError: It is.
        OSError: It cannot be opened.
    """
    size = reading.require_regular(path).st_size
    with path.open("rb") as file:
        head = file.read(len(_PARQUET))
        file.seek(max(0, size - len(_PARQUET)))
        if size <= 2 * len(_PARQUET) or not head == file.read() == _PARQUET:
            raise UserError(f"{path}: not a whole Parquet file")


def plan(folder: Path) -> dict[str, Any]:
    """The sweep.json of a sweep.

    Raises:
        UserError: It cannot be read, or lacks what every sweep.json has.
    """
    path = folder / "sweep.json"
    found = _read(path, _PLAN)
    # 1, 1.0 and true are equal, but not of one column.
    axes = {axis["name"]: {(type(value), value) for value in axis["values"]} for axis in found["axes"]}
    for i, run in enumerate(found["runs"]):
        places = run["values"]
        if places.keys() != axes.keys() or any(
            (type(value), value) not in axes[name] for name, value in places.items()
        ):
            said = f"runs.{i}.values is {_shown(places)}, which is no place on the axes ({', '.join(axes) or 'none'})"
            raise UserError(f"{path}: not as flowyard wrote it: {said}")
    return found


def _read(path: Path, needed: Mapping[str, Any]) -> dict[str, Any]:
    return _checked(reading.read_json(path), path, needed)


def _checked(content: Any, path: Path, needed: Mapping[str, Any]) -> dict[str, Any]:
    wrong = _wrong(content, needed, "")
    if wrong:
        more = [f"and {len(wrong) - _SHOWN:,} more"] if len(wrong) > _SHOWN else []
        raise UserError(f"{path}: not as flowyard wrote it: {'; '.join([*wrong[:_SHOWN], *more])}")
    kept: dict[str, Any] = content
    return kept


def _wrong(found: Any, needed: Any, path: str) -> list[str]:
    """In what a value differs from what is needed."""

    def is_not(words: str) -> list[str]:
        return [f"{path or 'it'} is {_shown(found)}, not {words}"]

    match needed:
        case _Added(kind):
            return _wrong(found, kind, path)
        case _Maybe(kind) | _OrNull(kind):
            return [] if found is None else _wrong(found, kind, path)
        case _Kind(words, fits):
            return [] if fits(found) else is_not(words)
        case _Each(value):
            if not isinstance(found, dict):
                return is_not("a table")
            return [line for key, item in found.items() for line in _wrong(item, value, f"{path}.{key}")]
        case _Every(item):
            if not isinstance(found, list):
                return is_not("a list")
            return [line for i, value in enumerate(found) for line in _wrong(value, item, f"{path}.{i}")]
        case _Variant(settings):
            if isinstance(found, str):
                return []
            if not isinstance(found, dict) or len(found) != 1:
                return is_not("a name or a table of one key")
            ((name, given),) = found.items()
            given = given if isinstance(given, dict) else {}
            return _wrong(given, settings, f"{path}.{name}")
    if not isinstance(found, dict):
        return is_not("a table")
    problems = []
    for key, kind in needed.items():
        below = f"{path}.{key}" if path else key
        if key in found:
            problems += _wrong(found[key], kind, below)
        elif not isinstance(kind, _Maybe | _Added):
            problems.append(f"{below} is missing")
    return problems


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
