"""The comparison with the simulator of ConWeave's authors: its parts, and recorded times of cases without random marks.

The times are those of commit 236a801, which the comparison builds: ns to the last acknowledgement at the sender, in the
order of starts.
"""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from peer_modules import module

import flowyard as fy
from flowyard import cli

module("hpcc", "ns3_build")
module("hpcc", "hpcc_cases")
CONWEAVE = module("conweave", "conweave_build").CONWEAVE
cases = module("conweave", "conweave_cases")
CASES = {case.name: case for case in cases.CASES}

# 21 packets are lost, of three flows.
WITH_LOSSES = [
    268363, 269819, 270860, 278956, 278835, 274979, 275688, 275733, 275529, 275740, 275536, 259645, 271393, 273928,
    261772, 274267,
]  # fmt: skip
# Rates are doubles here and whole bits per second there.
RECORDED = [
    ("lone flow", "none", 2, [4174, 4217, 8241, 12391, 419091]),
    ("lone flow", "timely", 2, [4176, 4220, 8292, 12492, 424092]),
    ("lone flow", "hp", 2, [4188, 4235, 8451, 13039, 462886]),
    ("lone flow", "dctcp_irn", 2, [4174, 4217, 8241, 12391, 419091]),
    ("lone flow", "dcqcn", 2, [4174, 4217, 8241, 12391, 419091]),
    ("lone flow", "dcqcn_irn", 2, [4174, 4217, 8241, 12391, 419091]),
    ("2 to 1", "none_irn", 2, [334348, 334391]),
    ("2 to 1", "dctcp", 2, [334348, 334391]),
    ("2 to 1", "timely_irn", 2, [338328, 338392]),
    ("8 to 1", "none_irn", 2, [298077, 303349, 308621, 313893, 318999, 322445, 324148, 324191]),
    ("8 to 1", "dctcp", 2, [309282, 320862, 326134, 328916, 332509, 275467, 276672, 277047]),
    ("8 to 1", "timely_irn", 250, [488469, 580497, 502961, 582132, 603445, 521213, 529399, 540221]),
    ("1 to 4", "none", 2, [162621, 165984, 166027, 164991]),
    ("1 to 4", "timely", 2, [164616, 168040, 168104, 166992]),
    ("1 to 4", "dctcp_irn", 2, [162621, 165984, 166027, 164991]),
    ("fewer losses, 16 to 1", "dctcp_irn", 2, WITH_LOSSES),
]


def scenario(case: Any, control: str, folder: Path) -> Path:
    """What import makes of the files of a case."""
    texts = cases.files(case, control)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    path = folder / "case.toml"
    files = [str(folder / name) for name in texts]
    assert cli.main(["import", *files, *cases.OPTIONS, "-o", str(path)]) == 0
    return path


@pytest.mark.parametrize(
    ("name", "control", "within_ns", "theirs"), RECORDED, ids=[" ".join(row[:2]) for row in RECORDED]
)
def test_flows_take_as_long_as_in_conweaves_simulator(
    name: str, control: str, within_ns: int, theirs: list[int], tmp_path: Path
) -> None:
    flows = fy.run(scenario(CASES[name], control, tmp_path)).flows.to_polars().sort("start_ps")
    ours = [time / 1000 for time in flows["fct_acked_ps"]]
    assert ours == pytest.approx(theirs, abs=within_ns)


def test_the_round_trip_is_the_one_that_the_code_knows_by_the_files_name(tmp_path: Path) -> None:
    """104,000 B at 100 Gbps, without which it stops."""
    path = scenario(CASES["2 to 1"], "dcqcn_vwin_irn", tmp_path)
    roce = tomllib.loads(path.read_text(encoding="utf-8"))["transport"]["roce"]
    assert roce["recovery"]["irn"]["bdp_cap"] == "104000B"
    assert roce["congestion"]["dcqcn-hpcc"]["base_rtt"] == "8320ns"


def test_flows_have_no_destination_ports() -> None:
    first, flow, *_ = cases.flow_text(CASES["2 to 1"].flows).splitlines()
    assert (first, flow) == ("2", "1 0 3 2000000 2.000000000000001")


def test_another_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"has no scratch/network-load-balance\.cc: a checkout of conweave"):
        CONWEAVE.sources(tmp_path)
