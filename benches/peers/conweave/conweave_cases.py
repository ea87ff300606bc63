"""The cases of the comparison with ConWeave's simulator: its own files, as its run.py writes them for 100 Gbps.

Controls that run.py no longer writes, HPCC's, TIMELY and DCTCP, have the settings of HPCC's comparison.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "hpcc"))

import hpcc_cases as hpcc
from hpcc_cases import IRN, NO_WINDOW, Case, Flow, Network

# By this word in the file's name the code knows the bandwidth-delay product of the network, 104,000 B.
TOPOLOGY = "leaf_spine_128_100G_OS2.txt"
_RATE = hpcc.RATE_BPS
# What run.py writes whatever the control, with ports of 100 Gbps alone and files in one folder.
COMMON = {
    "TOPOLOGY_FILE": TOPOLOGY,
    "FLOW_FILE": "flow.txt",
    "FLOW_INPUT_FILE": "in.txt",
    "CNP_OUTPUT_FILE": "cnp.txt",
    "FCT_OUTPUT_FILE": "fct.txt",
    "PFC_OUTPUT_FILE": "pfc.txt",
    "QLEN_MON_FILE": "qlen.txt",
    "VOQ_MON_FILE": "voq.txt",
    "VOQ_MON_DETAIL_FILE": "voq_per_dst.txt",
    "UPLINK_MON_FILE": "uplink.txt",
    "CONN_MON_FILE": "conn.txt",
    "EST_ERROR_MON_FILE": "est_error.txt",
    "QLEN_MON_START": "2",
    "QLEN_MON_END": "2",
    "SW_MONITORING_INTERVAL": "10000",
    "FLOWGEN_START_TIME": "2.0",
    "FLOWGEN_STOP_TIME": "2.1",
    "BUFFER_SIZE": "9",
    "LB_MODE": "0",
    "ENABLE_PFC": "1",
    "ENABLE_IRN": "0",
    "ALPHA_RESUME_INTERVAL": "1",
    "RATE_DECREASE_INTERVAL": "4",
    "CLAMP_TARGET_RATE": "0",
    "RP_TIMER": "300",
    "FAST_RECOVERY_TIMES": "1",
    "EWMA_GAIN": "0.00390625",
    "RATE_AI": "40.0Mb/s",
    "RATE_HAI": "100.0Mb/s",
    "MIN_RATE": "100Mb/s",
    "DCTCP_RATE_AI": "1000Mb/s",
    "ERROR_RATE_PER_LINK": "0.0000",
    "L2_CHUNK_SIZE": "4000",
    "L2_ACK_INTERVAL": "1",
    "L2_BACK_TO_ZERO": "0",
    "RATE_BOUND": "1",
    "HAS_WIN": "1",
    "VAR_WIN": "1",
    "FAST_REACT": "0",
    "MI_THRESH": "0",
    "INT_MULTI": "1",
    "GLOBAL_T": "1",
    "U_TARGET": "0.95",
    "MULTI_RATE": "0",
    "SAMPLE_FEEDBACK": "0",
    "ENABLE_QCN": "1",
    "USE_DYNAMIC_PFC_THRESHOLD": "1",
    "PACKET_PAYLOAD_SIZE": "1000",
    "LINK_DOWN": "0 0 0",
    "KMAX_MAP": f"1 {_RATE} 400",
    "KMIN_MAP": f"1 {_RATE} 100",
    "PMAX_MAP": f"1 {_RATE} 0.2",
    "LOAD": "50",
    "RANDOM_SEED": "1",
}
_IRN = {"ENABLE_PFC": "0", "ENABLE_IRN": "1"}
_DCQCN = {"CC_MODE": "1"}
_DCTCP_MARKS = {"KMAX_MAP": f"1 {_RATE} 300", "KMIN_MAP": f"1 {_RATE} 300", "PMAX_MAP": f"1 {_RATE} 1.0"}
_WITH_PFC: dict[str, dict[str, str]] = {
    "none": _DCQCN | NO_WINDOW | {"ENABLE_QCN": "0"},
    "dcqcn": _DCQCN | NO_WINDOW,
    "dcqcn_vwin": _DCQCN,
    "hp": {"CC_MODE": "3", "FAST_REACT": "1", "INT_MULTI": "4"},
    "timely": {"CC_MODE": "7", "RATE_AI": "100Mb/s", "RATE_HAI": "500Mb/s"} | NO_WINDOW,
    "dctcp": {"CC_MODE": "8", "EWMA_GAIN": "0.0625", "DCTCP_RATE_AI": "615Mb/s"} | _DCTCP_MARKS,
}
CONTROLS = _WITH_PFC | {control + IRN: settings | _IRN for control, settings in _WITH_PFC.items()}
ALL = tuple(CONTROLS)


def star(hosts: int) -> Network:
    """Hosts at a switch, and one without flows two switches further on: the round trip is that of a leaf-spine."""
    near, spine, leaf = hosts + 1, hosts + 2, hosts + 3
    own = tuple((host, near, 100) for host in range(hosts))
    return Network(hosts + 1, 3, (*own, (hosts, leaf, 100), (near, spine, 100), (leaf, spine, 100)))


def flow_text(flows: Sequence[Flow]) -> str:
    """flow.txt, which has no destination ports here."""
    lines = [line.split(" ") for line in hpcc.flow_text(flows).splitlines()]
    return "".join(" ".join(words[:3] + words[4:]) + "\n" for words in lines)


# The formats of `files` in their order: the five columns of flow.txt, without names, could be others.
FORMATS = ("hpcc-topology", "conweave-flow", "hpcc-config")
# Those of import.
OPTIONS = ("--ecmp", "conweave", *(word for name in FORMATS for word in ("--format", name)))


def files(case: Case, control: str) -> dict[str, str]:
    """The texts of the files of a case by their names."""
    return {
        TOPOLOGY: hpcc.topology_text(case.network),
        "flow.txt": flow_text(case.flows),
        "config.txt": hpcc.settings_text({**COMMON, **CONTROLS[control], **case.settings}),
    }


# Of TIMELY and DCTCP no rate falls by the report of a missing packet.
LOSING = ("none_irn", "dcqcn_irn", "timely_irn", "dctcp_irn")
CASES = (
    Case("lone flow", "lone", star(2), hpcc.lone([1000, 1500, 50_000, 100_000, 5_000_000]), ALL),
    Case("2 to 1", "together", star(3), hpcc.to_one(2, 2_000_000, 1700), ALL),
    Case("8 to 1", "together", star(9), hpcc.to_one(8, 500_000, 1700), ALL),
    Case("16 to 1", "together", star(17), hpcc.to_one(16, 200_000, 370), ALL),
    Case("1 to 4", "together", star(5), hpcc.from_one(4, 500_000, 1700), ALL),
    # No more than half of the memory is for one queue: 16 flows of 104 KB in flight lose packets.
    *(
        Case(name, "together", star(17), hpcc.to_one(16, 200_000, 370), LOSING, {"BUFFER_SIZE": size})
        for name, size in (("losses, 16 to 1", "1"), ("fewer losses, 16 to 1", "3"))
    ),
)
