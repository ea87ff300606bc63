"""The comparison with the simulator of HPCC's authors: its parts, and recorded times of cases without random marks.

The times are those of commit 9f4be2a, which the comparison builds: ns to the last acknowledgement at the sender, in the
order of starts.
"""

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from peer_modules import module

import flowyard as fy
from flowyard import cli

module("hpcc", "ns3_build")
HPCC = module("hpcc", "hpcc_build").HPCC
cases = module("hpcc", "hpcc_cases")
flow_by_flow = module("hpcc", "flow_by_flow")
CASES = {case.name: case for case in cases.CASES}

# Rates are doubles here and whole bits per second there.
RECORDED = [
    ("lone flow", "none", 2, [4174, 4217, 8241, 12391, 419091]),
    ("lone flow", "timely", 2, [4176, 4220, 8292, 12492, 424092]),
    ("lone flow", "dctcp_nowin", 2, [4174, 4217, 8241, 12391, 419091]),
    ("lone flow", "dcqcn", 2, [4174, 4217, 8241, 12391, 419091]),
    ("lone flow", "hp", 2, [4188, 4235, 8451, 13048, 462610]),
    ("2 to 1", "none", 2, [334348, 334391]),
    ("2 to 1", "timely_vwin", 20, [338328, 338392]),
    ("2 to 1", "dctcp", 2, [334348, 334391]),
    ("2 to 1", "dctcp_nowin", 20, [350507, 355945]),
    ("8 to 1", "dctcp", 20, [307041, 322937, 327794, 328999, 327797, 327591, 234674, 236460]),
    ("1 to 4", "none", 2, [162621, 165984, 166027, 164991]),
    ("1 to 4", "timely_vwin", 20, [164616, 168040, 168104, 166992]),
    ("1 to 4", "dctcp", 2, [162621, 165984, 166027, 164991]),
    ("1 to 4", "hp", 20, [170619, 173965, 174092, 173001]),
    ("ring of 4", "none", 2, [47464, 47575, 47571, 47567]),
    ("ring of 4", "hp", 250, [53103, 52899, 53016, 53199]),
]


def scenario(case: Any, control: str, folder: Path) -> Path:
    """What import makes of the files of a case."""
    texts = {
        "config.txt": cases.config_text(case, control),
        "flow.txt": cases.flow_text(case.flows),
        "topology.txt": cases.topology_text(case.network),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    path = folder / "case.toml"
    files = [str(folder / name) for name in texts]
    assert cli.main(["import", *files, "--ecmp", "hpcc", "-o", str(path)]) == 0
    return path


@pytest.mark.parametrize(
    ("name", "control", "within_ns", "theirs"), RECORDED, ids=[" ".join(row[:2]) for row in RECORDED]
)
def test_flows_take_as_long_as_in_hpccs_simulator(
    name: str, control: str, within_ns: int, theirs: list[int], tmp_path: Path
) -> None:
    flows = fy.run(scenario(CASES[name], control, tmp_path)).flows.to_polars().sort("start_ps")
    ours = [time / 1000 for time in flows["fct_acked_ps"]]
    assert ours == pytest.approx(theirs, abs=within_ns)


def test_packets_without_headroom_are_lost_as_there(tmp_path: Path) -> None:
    run = fy.run(scenario(CASES["losses, 16 to 1"], "none", tmp_path))
    assert run.summary["counters"]["drops"] == 9
    times = run.flows.to_polars().sort("start_ps")["fct_acked_ps"].to_list()
    assert [times[place] for place in (0, 5, 12, 15)] == [36_015_000, 65_456_000, 70_253_000, 85_245_000]


def test_sources_are_those_of_a_modules_wscript() -> None:
    text = """
    core.source = [
        'model/time.cc',
        #'model/old.cc',
        'model/int64x64-cairo.cc',
\t\t'utils/custom-header.cc',
        ]
    core_test.source = ['test/time-test-suite.cc']
    headers.source = [
        'helper/rdma-client-helper.h',
        'model/nstime.h',
        ]
    headers.source.append('model/nstime.h')
    """
    assert HPCC.files(text, "core") == [
        "model/time.cc",
        "utils/custom-header.cc",
        "helper/rdma-client-helper.h",
        "model/nstime.h",
    ]
    assert HPCC.files(text, "applications") == ["helper/rdma-client-helper.h"]


def test_another_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"has no simulation/scratch/third\.cc"):
        HPCC.sources(tmp_path)


def test_web_search_has_the_load_that_it_names() -> None:
    case = CASES["web search"]
    starts = [flow.start_ns for flow in case.flows]
    assert starts == sorted(starts)
    assert all(flow.source != flow.destination for flow in case.flows)
    many = cases.web_search(32, 0.5, 1_000_000_000, random.Random(2))
    load = sum(flow.size for flow in many) * 8e9 / (1_000_000_000 * 32 * cases.RATE_BPS)
    assert load == pytest.approx(0.5, rel=0.03)
    assert [cases.drawn(share) for share in (0, 0.15, 0.65, 0.999999)] == [1, 10_000, 600_000, 29_999_333]


def test_rows_have_the_differences_of_single_flows_and_of_percentiles() -> None:
    flows = pl.DataFrame({"peer_fct_ps": [1e6, 2e6, 4e6], "fct_ps": [2e6, 1e6, 4.04e6]})
    low, high = flow_by_flow.by_flow(flows, (0.01, 0.05))
    assert (low.theirs, low.ours, low.difference) == (2, 2, 0.5)
    assert (high.theirs, high.difference, high.holds) == (4, 1, False)
    low, high = flow_by_flow.by_quantile(flows, "fct_ps", "us, ", 1e6, (0.01, 0.05))
    assert (low.measure, low.difference, low.holds) == ("us, p50", 0, True)
    assert high.difference == pytest.approx(0.01)
