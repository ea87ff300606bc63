"""What tests make of a figure's plans at quick scale, where all that they look at is in fewer and shorter runs.

By the figure's id and the plan's name: the replicas; the values of a model's axis, by its name; or a field that is set
in every run, by its path. A claim's verdict is by the same judge, on tables with all rows that it needs.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from flowyard.sweeps import ModelPlan, Plan
from flowyard.sweeps.task import Planned

Changes = Mapping[str, Any]


def _each(*plans: str, **changes: Any) -> dict[str, Changes]:
    return dict.fromkeys(plans, changes)


SMALLER: Mapping[str, Mapping[str, Changes]] = {
    "ALL-4": _each(
        *("ndp-permutation", "ndp-incast", "long", "mp-chapter-5", "mp-large-windows"),
        *("mp-stride-2", "mp-stride-4", "mp-random"),
        replicas=1,
    ),
    "DAQ-F1": _each("random", "backlog", "stress", replicas=1),
    "LIT-MPTCP": {"fat-tree": {"topology.fat-tree.k": 6}, "path": {"run.until": "2s"}},
    "LIT-OUTCAST": {"set-ups": {"run.until": "500ms"}},
    # Warm-ups take the longest: they go by the number of hosts, here 4 of 8.
    "LIT-PIAS": {"racks": {"topology.leaf-spine.hosts": 2, "traffic.web-search.flows": 100}},
    # Without warm-ups: all flows are looked at, and no steady state is.
    "LIT-WEB-SEARCH": {"web-search": {"traffic.web-search.flows": 40, "run.measure": "all"}},
    "MP-E3.1-PACKETS": _each("noise", "silence", replicas=1),
    "MP-P3": _each("chapter-5", "large-windows", **{"traffic.data.sizes.fixed": "8MB"}),
    "MP-P8": {"drawn-FT(8,3)": {"replicas": 10}},
    "NDP-F8": _each("size", "rate", replicas=1),
    # Nothing is judged by it.
    "NDP-F9": {"own-servers": {"traffic.short.flows": 30}},
    "NDP-P1-3": _each("permutation", "incast", replicas=2),
    "NDP-P5": {"orders": {"replicas": 1}},
    "NDP-P9": {"rack": {"offered": [50]}},
    # Two, for the intervals of the picture.
    "PEQ-F1.7": _each("switches", "servers", replicas=2, **{"run.until": "10ms"}),
}


def smaller(plan: Planned, changes: Changes) -> Planned:
    """A plan with such changes."""
    if not changes:
        return plan
    assert isinstance(plan, Plan | ModelPlan)
    own = dict(changes)
    plan = replace(plan, replicas=own.pop("replicas", plan.replicas))
    if isinstance(plan, ModelPlan):
        assert own.keys() <= plan.axes.keys()
        return replace(plan, axes={**plan.axes, **own})
    return replace(plan, set={**plan.set, **own})
