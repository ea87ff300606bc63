"""Memory: what a run is estimated to need is what it takes, within a factor of two; and the limit holds."""

import json
import subprocess
import sys
from typing import Any

import pytest

import flowyard as fy
from flowyard import results

CHILD = """
import json, sys
from flowyard import results
result = results.run(json.load(sys.stdin))
print(json.dumps({"status": result.status, "limit": result.summary["limit"], **result.summary["counters"]}))
"""


def run(scenario: dict[str, Any]) -> dict[str, Any]:
    """What a process counted that ran nothing else."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD], input=json.dumps(scenario), capture_output=True, text=True, check=True
    )
    counted: dict[str, Any] = json.loads(done.stdout)
    return counted


def traffic(**more: Any) -> list[dict[str, Any]]:
    return [
        {"name": "flows", "arrivals": "at-once", "matrix": "permutation", "sizes": {"fixed": "3KB"}} | more
    ]


FAT_TREE = {"fat-tree": {"k": 8, "rate": "100Gbps"}}
SMALL: dict[str, Any] = {
    "topology": {"single-switch": {"hosts": 2}},
    "transport": "datagram",
    "traffic": traffic(flows=1),
}
CASES: dict[str, dict[str, Any]] = {
    "finished flows": {
        "topology": FAT_TREE,
        "transport": {"ndp": {"rto_min": "100us", "rto_initial": "100us"}},
        "traffic": traffic(flows=400_000, matrix="uniform", arrivals={"poisson": {"load": 0.1}}),
    },
    "live flows": {
        "topology": FAT_TREE,
        "transport": "tcp",
        "traffic": traffic(flows=100_000, matrix="uniform"),
    },
    "packets": {
        "topology": {"line": {"switches": 0, "rate": "100Gbps", "delay": "80ms"}},
        "transport": "datagram",
        "traffic": traffic(matrix={"pairs": [[0, 1]]}, sizes={"fixed": "10GB"}),
        "run": {"until": "100ms"},
    },
    "links": {
        "topology": {"fat-tree": {"k": 32, "rate": "100Gbps"}},
        "transport": "ndp",
        "traffic": traffic(flows=1),
    },
    "links with classes": {
        "topology": {"fat-tree": {"k": 32, "rate": "100Gbps"}},
        "transport": {"tcp": {"congestion": "dctcp", "tagging": {}}},
        "traffic": traffic(flows=1),
    },
    "links that pause": {
        "topology": {"fat-tree": {"k": 32, "rate": "100Gbps"}},
        "transport": "dcqcn",
        "traffic": traffic(flows=1),
    },
    "windows": {
        "topology": {"fat-tree": {"k": 16, "rate": "100Gbps"}},
        "transport": {"ndp": {"initial_window": 256}},
        "traffic": traffic(sizes={"fixed": "600KB"}),
    },
    "samples": {
        "topology": FAT_TREE,
        "transport": "ndp",
        "traffic": traffic(sizes={"fixed": "1MB"}),
        "observe": {"samples": {"every": "20ns"}},
        "run": {"until": "60us"},
    },
}


@pytest.fixture(scope="module")
def base() -> int:
    """What the program itself takes."""
    return int(run(SMALL)["peak_memory_bytes"])


@pytest.mark.parametrize("case", CASES)
def test_memory_is_estimated_within_a_factor_of_two(case: str, base: int) -> None:
    scenario = CASES[case]
    took = run(scenario)["peak_memory_bytes"] - base
    needs = results.outlook(scenario).needs["memory_bytes"]
    assert took > 20e6, "too little to tell"
    assert 0.5 < needs / took < 2, f"{needs / 2**20:.0f} MiB estimated, {took / 2**20:.0f} taken"


def test_a_run_without_bounds_ends_at_its_limit(base: int) -> None:
    flood = {
        "topology": {"single-switch": {"hosts": 3, "rate": "100Gbps"}},
        "transport": "datagram",
        "traffic": traffic(matrix={"pairs": [[0, 2], [1, 2]]}, sizes={"fixed": "10GB"}),
        "run": {"memory_limit": "100MiB"},
    }
    counted = run(flood)
    assert (counted["status"], counted["limit"]) == ("limit", "memory")
    assert 0.5 < (counted["peak_memory_bytes"] - base) / (100 * 2**20) < 2


def test_what_needs_too_much_is_refused() -> None:
    scenario = CASES["finished flows"] | {"run": {"memory_limit": "50MiB"}}
    with pytest.raises(fy.ScenarioError, match=r"run.memory_limit: the run needs about 1\d\d MiB of memory"):
        results.run(scenario)
