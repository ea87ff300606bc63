"""The summary of a run, run.json, as a dict whose errors name the key that was probably meant, and its place."""

from collections.abc import Iterator, Mapping
from typing import Any

# Parts of fields and definitions, which are no results.
_OTHERS = ("scenario", "definitions", "features", "overrides")
# Places that a message names.
_SHOWN = 3


class _MissingKeyError(KeyError):
    """A KeyError whose text is printed as it is."""

    def __str__(self) -> str:
        return str(self.args[0])


class Summary(dict[str, Any]):
    """The contents of run.json, which docs/results.md describes."""

    def __missing__(self, key: object) -> Any:
        places = [f"summary{place}" for place in near(self, str(key))]
        hint = f"did you mean {' or '.join(places)}?" if places else f"keys are {', '.join(self)}"
        raise _MissingKeyError(f"a summary has no {key!r}; {hint} docs/results.md describes run.json")

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy is plain data.
        return Summary, (dict(self),)


def near(summary: Mapping[str, Any], name: str) -> list[str]:
    """The places of keys that are nearly a name, as written behind the summary: ["completion"][-1]["fct_p99_ps"]."""
    from difflib import get_close_matches

    places = dict(_places(summary))
    found = [key for key in places if key == name or key.startswith(f"{name}_")]
    found = found or [key for key in places if name in key.split("_")]
    found = found or get_close_matches(name, places, n=_SHOWN, cutoff=0.75)
    # Ends of intervals are beside their values.
    ends = ("_low", "_high", "_low_ps", "_high_ps")
    return [places[key] for key in found if not key.endswith(ends)][:_SHOWN]


def _places(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Keys of the summary and of its tables, each with its place; of completion times the row of all flows."""
    for key, value in summary.items():
        yield key, f'["{key}"]'
        if key in _OTHERS:
            continue
        if key == "completion" and isinstance(value, list) and value:
            yield from ((inner, f'["{key}"][-1]["{inner}"]') for inner in value[-1])
        elif isinstance(value, Mapping):
            yield from ((inner, f'["{key}"]["{inner}"]') for inner in value)
