"""The preset "linux" beside medians measured on a Linux kernel, for the cases that take milliseconds."""

from typing import Any

import pytest
from peer_modules import module

cases = module("kernel", "cases")
side = module("kernel", "flowyard_side")
# Of a lone flow with SACK: without it the kernel's recovery has rules that no RFC has.
LONE = [case for case in cases.CASES if case.measure == "FCT" and case.flavour != "reno-"]


@pytest.mark.parametrize("case", LONE, ids=lambda case: f"{case.name}, {case.flavour}")
def test_a_lone_flow_takes_as_long_as_in_a_kernel(case: Any) -> None:
    found = case.figure(case.wire, side.run(case.wire, case.flavour, 1))
    assert found == pytest.approx(case.kernel, rel=case.within)


def test_cases_are_enough() -> None:
    assert len(LONE) >= 7
