"""The table of systems: every field that it names is there, every page too, and what has neither says why."""

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

import flowyard as fy
from flowyard import slotted

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "systems.md"
# The list of systems that the table goes back to, where it is at hand.
ORIGIN = ROOT.parent / "shared" / "papers" / "systems.md"
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([^|]*) \| ([^|]+) \|$", re.MULTILINE)
ROWS = [row for row in ROW.findall(PAGE.read_text(encoding="utf-8")) if row[0] not in ("system", "---")]
NAMES = sorted({name for row in ROWS for name in re.findall(r"`([a-z][\w.-]+)`", row[2] + row[3])})
TABLES = {
    name: {column["name"] for column in fy.explain()[name]} for name in ("flows", "links", "connections")
}


def leads(schema: dict[str, Any], part: Any, steps: list[str]) -> bool:
    """Whether a path of names leads on from a part of a schema."""
    if not steps:
        return True
    if not isinstance(part, dict):
        return False
    if "$ref" in part and leads(schema, schema["$defs"][part["$ref"].rpartition("/")[2]], steps):
        return True
    others = [*(part.get(key, []) for key in ("oneOf", "anyOf", "allOf"))]
    if any(leads(schema, one, steps) for several in others for one in several):
        return True
    if leads(schema, part.get("items"), steps):
        return True
    first, *rest = steps
    if not rest and first in (*part.get("enum", []), part.get("const")):
        return True
    return first in part.get("properties", {}) and leads(schema, part["properties"][first], rest)


def is_there(name: str) -> bool:
    """Whether a name is a field of a scenario or of the slotted link, a column, or a module."""
    steps = name.split(".")
    if steps[0] == "flowyard":
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            return False
        return True
    if len(steps) == 2 and steps[0] in TABLES:
        return steps[1] in TABLES[steps[0]]
    return any(leads(one, one, steps) for one in (fy.schema(), slotted.schema()))


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_there(name):
    assert is_there(name)


def test_a_name_that_is_not_there_would_show():
    wrong = ("topology.leaf-spin", "transport.tcp.rto", "queue.homa", "flows.fct", "flowyard.theory.x")
    assert not any(map(is_there, (*wrong, "discipline.hedera", "traffic.sizes.uniform.mean")))


# The reasons for which a system has no field; "not modelled" is one that could have.
REASONS = (
    "not modelled: ",
    "not determinable: ",
    "hardware: ",
    "wireless: ",
    "a taxonomy: ",
    "a principle: ",
)


def test_every_row_has_a_field_or_says_why_not():
    assert len(ROWS) > 200
    for system, paper, field, where in ROWS:
        assert re.fullmatch(r"(SYN|DAQ|NDP|PEQ|MP)\b.*", paper), system
        assert field.strip() or where.startswith(REASONS), system
        assert not field.strip() or "](" in where, system


def test_every_page_is_there():
    for link in re.findall(r"\]\(([^)#]+)", PAGE.read_text(encoding="utf-8")):
        assert (PAGE.parent / link).exists(), link


@pytest.mark.skipif(not ORIGIN.exists(), reason="the list of systems is not at hand")
def test_every_system_of_the_list_has_its_row():
    text = ORIGIN.read_text(encoding="utf-8").partition("\n## 11.")[0]
    listed = re.findall(r"^\| ([^|]+) \| ([^|]+) \|", text, re.MULTILINE)
    expected = [one for one in listed if one[0] not in ("Name", "---")]
    assert [(system, paper) for system, paper, _, _ in ROWS] == expected
