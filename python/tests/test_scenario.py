"""The generated classes: up to date, and plain data that the engine accepts."""

import subprocess
import sys

import jsonschema
import pytest
from conftest import ROOT

import flowyard as fy
from flowyard import _native, scenarios
from flowyard.model import Model


def test_the_committed_schema_is_the_engines():
    committed = (ROOT / "schema" / "scenario.schema.json").read_text()
    assert committed == _native.schema(), "stale: run `make generate`"


def test_the_classes_are_those_of_the_schema():
    done = subprocess.run(
        [sys.executable, "tools/generate_python.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def classes() -> list[type[Model]]:
    return [
        value for name in dir(fy) if isinstance(value := getattr(fy, name), type) and issubclass(value, Model)
    ]


@pytest.mark.parametrize("kind", classes(), ids=lambda kind: kind.__name__)
def test_every_class_explains_itself(kind):
    assert kind.__doc__
    assert not kind.__doc__.startswith(f"{kind.__name__}(")


def test_variants_stand_under_their_name():
    assert fy.SingleSwitch(hosts=16).to_dict() == {"single-switch": {"hosts": 16}}
    assert fy.Ndp().to_dict() == {"ndp": {}}


def test_fields_at_their_default_are_left_out():
    assert fy.Ndp(initial_window=fy.Ndp().initial_window, mtu="9000B").to_dict() == {"ndp": {"mtu": "9000B"}}


def test_fields_are_keyword_only_and_frozen():
    with pytest.raises(TypeError):
        fy.SingleSwitch(16)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        fy.SingleSwitch().hosts = 3  # type: ignore[misc]


@pytest.mark.parametrize("name", scenarios.names())
def test_packaged_scenarios_are_valid(name):
    resolved = fy.check(name)
    jsonschema.validate(resolved, fy.schema())
