"""Base of the generated classes of flowyard.scenario: conversion to plain data."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields
from typing import Any, ClassVar

from flowyard.display import Displayed


class Model(Displayed):
    """A part of a scenario.

    In a scenario file, `[transport.ndp]` chooses the variant "ndp" of the transport: its fields stand
    under its name. A class that is such a variant says its name in `_tag`.
    """

    _tag: ClassVar[str | None] = None
    _view = "of_scenario"

    def to_dict(self) -> Any:
        """As plain data, the way a scenario file has it; fields at their default are left out."""
        return _plain(self)

    def to_json(self) -> str:
        """As JSON, which `flowyard run` and `flowyard.run` read like a TOML file."""
        return json.dumps(self.to_dict(), indent=2)


class Wrapped(Model):
    """A variant or value that is a single value instead of a table of fields."""

    value: Any


def _plain(value: object) -> Any:
    if isinstance(value, Model):
        data = _plain(value.value) if isinstance(value, Wrapped) else _fields(value)
        return data if value._tag is None else {value._tag: data}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value


def _fields(model: Model) -> dict[str, Any]:
    present = ((field, getattr(model, field.name)) for field in fields(model))  # type: ignore[arg-type]
    return {_key(field): _plain(value) for field, value in present if not _is_default(field, value)}


def _key(field: Field[Any]) -> str:
    # A field named like a Python keyword carries an underscore in Python.
    return field.name.removesuffix("_")


def _is_default(field: Field[Any], value: object) -> bool:
    return field.default is not MISSING and value == field.default and type(value) is type(field.default)
