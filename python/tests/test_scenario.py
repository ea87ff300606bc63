"""The generated classes: up to date, and plain data that the engine accepts."""

import json
import subprocess
import sys

import jsonschema
import pytest
from conftest import ROOT

import flowyard as fy
from flowyard import _native, parts, scenarios
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


UNIONS = {
    "topologies": "Topology", "transports": "Transport", "queues": "Queue", "buffers": "Buffer",
    "balancers": "Balancer", "agents": "Agent", "controllers": "Controller", "arrivals": "Arrivals",
    "matrices": "Matrix", "sizes": "Sizes",
    "congestion_controls": "Congestion", "partitions": "Partition", "rate_controls": "RateControl",
    "uet_controls": "UetControl", "path_selectors": "PathSelector",
}  # fmt: skip


@pytest.mark.parametrize("part", parts.MODULES)
def test_members_go_by_their_names_in_files(part):
    module = getattr(fy, part)
    choice = json.loads(_native.schema())["$defs"][UNIONS[part]]["oneOf"]
    tags = {tag for variant in choice for tag in variant.get("properties", ())}
    found = {member: getattr(module, member) for member in module.__all__}
    # Every variant with settings has a class, which says its tag; names are the tags but for case and dashes.
    assert {kind._tag for kind in found.values()} == tags
    for name, kind in found.items():
        assert name.lower() == kind._tag.replace("-", "")
        # The names of before go on.
        assert getattr(fy, kind.__name__) is kind
    assert part in dir(fy)
    assert set(UNIONS) == set(parts.MODULES)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Uniform", "; did you mean fy.matrices.Uniform or fy.sizes.Uniform?"),
        ("LeafSpin", "; did you mean fy.LeafSpine?"),
        ("CongestionControl", "; did you mean flowyard.prototypes.CongestionControl?"),
        ("Zebra", ""),
        ("zebra", ""),
    ],
)
def test_a_name_that_is_not_there_has_a_hint(name, hint):
    with pytest.raises(AttributeError) as refused:
        getattr(fy, name)
    assert str(refused.value) == f"module 'flowyard' has no attribute {name!r}{hint}"
    # By these Python finds what is misspelt.
    assert (refused.value.name, refused.value.obj) == (name, fy)


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
