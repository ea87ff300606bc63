"""How parts of a scenario become plain data."""

import json
from dataclasses import dataclass

from flowyard.model import Model, Wrapped


@dataclass(frozen=True, kw_only=True)
class Part(Model):
    """A part."""

    _tag = "part"
    size: float = 1.0
    from_: str | None = None
    parts: tuple["Part", ...] = ()


@dataclass(frozen=True)
class Bare(Wrapped):
    """A value."""

    _tag = "bare"
    value: object


def test_defaults_are_left_out_and_keywords_lose_their_underscore():
    assert Part(size=1.0, from_="a").to_dict() == {"part": {"from": "a"}}


def test_parts_nest():
    assert Part(parts=(Part(), Part(size=2))).to_dict() == {
        "part": {"parts": [{"part": {}}, {"part": {"size": 2}}]}
    }


def test_a_wrapped_value_stands_under_its_name():
    assert Bare([1, Part()]).to_dict() == {"bare": [1, {"part": {}}]}


def test_json_is_the_same_data():
    assert json.loads(Part(size=3).to_json()) == Part(size=3).to_dict()
