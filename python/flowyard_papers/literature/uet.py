"""Ultra Ethernet (UET) against the outputs that its public simulator ships (uet-htsim, commit 40ccb05 of 2025-08-13).

The cases are those of its files `validate_uec_*.txt`: 100 Gbit/s, links of 1 us, packets of 4150 B, flows of 2 MB,
derived queues and thresholds, 64 entropy values unless a case has others. The permutations are drawn here, not
those of its matrices, so that their cases compare over seeds.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import judge
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.literature import _shipped as shipped
from flowyard_papers.literature._uet import CONTROLS, SIZE, at_once, fat_tree, outcome

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

Traffic = list[dict[str, Any]]

# Tail completion times of the simulator in us, by case and control: validate_outputs/.
SHIPPED: Mapping[str, tuple[float, float, float]] = {
    "one": (176.2, 177.368, 177.368),
    "bidirectional": (176.804, 178.18, 178.18),
    "incast 15": (2478.53, 2464.44, 2462.92),
    "incast 127": (21029.3, 20891.4, 20892.4),
    "overlapping": (221.731, 217.08, 217.555),
    "outcast and incast": (1638.08, 1637.76, 1634.11),
    "permutation 16": (194.022, 195.673, 196.774),
    "permutation 1024": (200.507, 203.384, 202.633),
    "oversubscribed 4": (785.774, 749.717, 814.138),
    "oversubscribed 8": (1443.43, 1459.06, 1479.39),
}
# Cases without random choices, and those that are the larger.
EXACT = ("one", "outcast and incast")
LARGE = ("permutation 1024", "oversubscribed 4", "oversubscribed 8")


def _pairs(name: str, pairs: list[list[int]], size: int = SIZE, at: str = "0s") -> dict[str, Any]:
    return {
        "name": name,
        "arrivals": {"at-once": {"at": at, "jitter": "0s"}},
        "matrix": {"pairs": pairs},
        "sizes": {"fixed": f"{size}B"},
    }


def _permutation() -> Traffic:
    return [at_once("permutation", "permutation")]


def _leaf_spine(spines: int) -> dict[str, Any]:
    return {"leaf-spine": {"leaves": 32, "hosts": 32, "spines": spines, "rate": "100Gbps", "delay": "1us"}}


def _case(name: str) -> tuple[dict[str, Any], Traffic, dict[str, Any]]:
    """Network, traffic and fields of the transport."""
    outcast = [[2, host] for host in range(4, 13)] + [[3, host] for host in range(13, 22)]
    cases: dict[str, tuple[dict[str, Any], Traffic, dict[str, Any]]] = {
        "one": (fat_tree(4), [_pairs("flow", [[0, 13]])], {}),
        "bidirectional": (fat_tree(4), [_pairs("flows", [[0, 13], [13, 0]])], {}),
        "incast 15": (fat_tree(4), [_pairs("incast", [[host, 15] for host in range(15)])], {}),
        "incast 127": (
            fat_tree(8),
            [_pairs("incast", [[host, 33] for host in range(128) if host != 33])],
            {},
        ),
        "overlapping": (
            fat_tree(8),
            [_pairs("long", [[127, 0]]), _pairs("short", [[95, 0], [61, 0]], 250_000, "40us")],
            {"initial_window": "207500B"},
        ),
        "outcast and incast": (
            fat_tree(8),
            [_pairs("incast", [[1, 0], [2, 0], [3, 0]]), _pairs("outcast", outcast)],
            {},
        ),
        "permutation 16": (fat_tree(4), _permutation(), {"entropy_values": 128}),
        "permutation 1024": (fat_tree(16), _permutation(), {"entropy_values": 128}),
        "oversubscribed 4": (_leaf_spine(8), _permutation(), {"entropy_values": 128}),
        "oversubscribed 8": (_leaf_spine(4), _permutation(), {"entropy_values": 128}),
    }
    return cases[name]


def plans(scale: Scale) -> dict[str, Plan]:
    """The small cases at quick scale, all at full scale."""
    cases = [name for name in SHIPPED if scale is Scale.FULL or name not in LARGE]
    parts = [_case(name) for name in cases]
    axes = [
        Axis(
            "case",
            {
                "topology": [network for network, _, _ in parts],
                "traffic": [traffic for _, traffic, _ in parts],
                "transport": [{"uet": fields} for _, _, fields in parts],
            },
            labels=cases,
        ),
        Axis("control", {"transport.uet.control": list(CONTROLS)}),
    ]
    base = {
        "topology": fat_tree(4),
        "transport": {"uet": {}},
        "traffic": _permutation(),
        "run": {"measure": "all", "until": "1s"},
    }
    return {"uet": Plan(base, axes, scale.pick(3, 5), name="uet")}


def tables(sweeps: Sweeps) -> Tables:
    """One row per run: the last acknowledgement at a sender, and retransmitted packets."""
    flows = sweeps["uet"].flows
    runs = flows.group_by("case", "control", "replica").agg(*outcome())
    return {"runs": runs.sort("case", "control", "replica").collect()}


def _medians(tables: Tables) -> dict[tuple[str, str], float]:
    """For each case and control that was run, if all flows have ended: the median over seeds."""
    found = {}
    for (case, control), of_case in tables["runs"].group_by("case", "control", maintain_order=True):
        if control in CONTROLS and not of_case["tail_us"].null_count():
            found[str(case), str(control)] = float(str(of_case["tail_us"].median()))
    return found


def _shipped(case: str, control: str) -> float:
    return SHIPPED[case][CONTROLS.index(control)]


def _within(cases: tuple[str, ...], share: float) -> Callable[[Tables], Judgement]:
    def judged(tables: Tables) -> Judgement:
        return shipped.near(
            [
                shipped.Case(f"{case}, {control}", median, (_shipped(case, control),), share)
                for (case, control), median in _medians(tables).items()
                if case in cases
            ]
        )

    return judged


def _lone_flow(tables: Tables) -> Judgement:
    one = tables["runs"].filter(case="one", control="nscc")["tail_us"]
    if not len(one) or one.null_count():
        return judge.not_reached("the flow has not run or not ended")
    return judge.exactly(one.to_list()[0], 176.19952)


def _signs(tables: Tables) -> Judgement:
    again = {
        control: of_control["retransmissions"].median()
        for (control,), of_control in tables["runs"].filter(case="incast 127").group_by("control")
    }
    if set(again) != set(CONTROLS) or not all(again.values()):
        return judge.not_reached("there are not all controls")
    return judge.at_least(float(str(again["nscc"])) / float(str(again["rccc"])), 10)


def _oversubscribed(tables: Tables) -> Judgement:
    own = tables["runs"].filter(case="oversubscribed 4").group_by("control").agg(pl.col("tail_us").median())
    medians = {control: tail for control, tail in own.iter_rows() if tail is not None}
    if set(medians) != set(CONTROLS):
        return judge.not_reached("its 1024 hosts are those of the full scale")
    least = min(medians["nscc"] / medians["rccc"], medians["both"] / medians["nscc"])
    listed = ", ".join(f"{control} {medians[control]:.1f}" for control in ("rccc", "nscc", "both"))
    return judge.judged(least > 1, least, "> 1").because(f"medians in us: {listed}")


def draw(tables: Tables) -> "Picture":
    """Each median over that of the simulator."""
    found = {run: median / _shipped(*run) for run, median in _medians(tables).items()}
    cases = [name for name in SHIPPED if name in set(tables["runs"]["case"])]
    return shipped.ratios(cases, CONTROLS, found, "tail completion time / that of uet-htsim")


FIGURE = Figure(
    id="LIT-UET",
    title="Ultra Ethernet: the cases of its public simulator",
    plans=plans,
    tables=tables,
    claims={
        "LIT-UET.a": _lone_flow,
        "LIT-UET.b": _within(EXACT, 0.002),
        "LIT-UET.c": _within(tuple(name for name in SHIPPED if name not in (*EXACT, "overlapping")), 0.02),
        "LIT-UET.d": _within(("overlapping",), 0.03),
        "LIT-UET.e": _signs,
        "LIT-UET.f": _oversubscribed,
    },
    draw=draw,
    needs={"runs": Needs(5, by=("case", "control"))},
    assumed=(
        "Permutations are drawn for each seed, where the simulator has one matrix each; a time is that of the last "
        "acknowledgement at its sender, from the start of the run, as the simulator prints it.",
    ),
)
