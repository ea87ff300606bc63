"""The preset "linux" beside medians measured on a Linux kernel, for the cases that take milliseconds."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "benches" / "peers" / "kernel"


def module(name: str) -> ModuleType:
    """A module of the comparison with a kernel; its neighbours find each other by name."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


cases = module("cases")
side = module("flowyard_side")
# Of a lone flow with SACK: without it the kernel's recovery has rules that no RFC has.
LONE = [case for case in cases.CASES if case.measure == "FCT" and case.flavour != "reno-"]


@pytest.mark.parametrize("case", LONE, ids=lambda case: f"{case.name}, {case.flavour}")
def test_a_lone_flow_takes_as_long_as_in_a_kernel(case: Any) -> None:
    found = case.figure(case.wire, side.run(case.wire, case.flavour, 1))
    assert found == pytest.approx(case.kernel, rel=case.within)


def test_cases_are_enough() -> None:
    assert len(LONE) >= 7
