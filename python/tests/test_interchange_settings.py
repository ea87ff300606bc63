"""Settings beside peers' files (HPCC's config.txt) and labs (containerlab): what becomes a field, what is told."""

import sys

import pytest
from interchange_examples import FLOW, TOPOLOGY, source

import flowyard as fy
from flowyard import interchange, results
from flowyard.errors import UserError
from flowyard.interchange import hpcc_config, sniffing
from flowyard.interchange.hpcc_rtt import base_rtt_ns
from flowyard.interchange.network import Cable, Network

# simulation/mix/config.txt of alibaba-edu/High-Precision-Congestion-Control, in part, with CC_MODE 1 in place of 3.
CONFIG = """\
ENABLE_QCN 1
USE_DYNAMIC_PFC_THRESHOLD 1

PACKET_PAYLOAD_SIZE 1000
TOPOLOGY_FILE mix/topology.txt
FLOW_FILE mix/flow.txt
FCT_OUTPUT_FILE mix/fct.txt
SIMULATOR_STOP_TIME 4.00

CC_MODE 1
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
RP_TIMER 900 {for DCQCN: the interval of rate increase}
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
RATE_AI 50Mb/s
RATE_HAI 100Mb/s
MIN_RATE 1000Mb/s
L2_ACK_INTERVAL 1
PINT_PROB

LINK_DOWN 0 0 0
KMAX_MAP 3 25000000000 400 50000000000 800 100000000000 1600
KMIN_MAP 3 25000000000 100 50000000000 200 100000000000 400
PMAX_MAP 3 25000000000 0.2 50000000000 0.2 100000000000 0.3
BUFFER_SIZE 32
"""

# Of HPCC's code on that network: two links of 1 us there and back, each with 1000 B at 100 Gbps.
BASE_RTT = "4160ns"


def imported(tmp_path, config=CONFIG, files=("topology", "flow"), **options):
    texts = {"config": config, "topology": TOPOLOGY, "flow": FLOW.replace("200000000", "20000")}
    paths = [tmp_path / f"{name}.txt" for name in ("config", *files)]
    for path in paths:
        path.write_text(texts[path.stem])
    return interchange.read(paths, **options)


@pytest.mark.parametrize("name", ["hpcc", "timely", "powertcp"])
def test_a_control_that_the_user_names_takes_the_place_of_that_of_the_file(tmp_path, name):
    found = imported(tmp_path, transport=name)
    assert list(found.scenario["transport"]["roce"]["congestion"]) == [name]
    maps = "ENABLE_QCN, KMAX_MAP, KMIN_MAP, PMAX_MAP"
    assert f"without effect under {name}, which reads no marks: {maps}" in found.notes
    assert not [told for told in results.outlook(found.scenario).advice if told["path"].startswith("queue")]


def test_the_settings_of_hpccs_code_become_fields(tmp_path):
    found = imported(tmp_path)
    assert found.scenario["transport"] == {
        "roce": {
            "payload": "1000B",
            "ack_every": 1,
            "header_bytes": "48B",
            "ack_bytes": "60B",
            "control_class": 1,
            "recovery": {"go-back-n": {"nak_interval": "500us"}},
            "congestion": {
                "dcqcn-hpcc": {
                    "alpha_timer": "1us",
                    "decrease_interval": "4us",
                    "rate_timer": "900us",
                    "g": 0.00390625,
                    "fast_recovery": 1,
                    "rate_ai": "50Mbps",
                    "rate_hai": "100Mbps",
                    "min_rate": "1Gbps",
                    "window": "fixed",
                    "base_rtt": BASE_RTT,
                }
            },
        }
    }
    assert found.scenario["buffer"] == {"hpcc": {"size": "32MiB", "frame_bytes": "43B"}}
    # Hosts have 100 Gbps.
    ports = {"mark": "dequeue", "kmin": "400KB", "kmax": "1600KB", "pmax": 0.3}
    assert found.scenario["queue"] == {"lossless": ports}
    measure = {"from": "2s", "until": "end"}
    run = {"until": "4s", "time_unit": "1ns", "ties": "arrival", "measure": measure}
    assert found.scenario["run"] == run
    assert "faults" not in found.scenario
    assert "without a counterpart here: USE_DYNAMIC_PFC_THRESHOLD" in found.notes
    assert "for HPCC-PINT alone: PINT_PROB" in found.notes
    result = fy.run(found.scenario, {"run.audit": True})
    assert (result.status, result.violations) == ("complete", [])


def test_the_congestion_control_is_that_of_the_file_or_the_users(tmp_path):
    dctcp = imported(tmp_path, CONFIG.replace("CC_MODE 1", "CC_MODE 8"), transport="tcp").scenario
    assert dctcp["transport"] == {"tcp": {"mss": "1000B", "congestion": {"dctcp": {"g": 0.00390625}}}}
    fy.check(dctcp)
    for mode, name in ((10, "HPCC-PINT"), (99, "not known")):
        text = CONFIG.replace("CC_MODE 1", f"CC_MODE {mode}")
        with pytest.raises(
            UserError, match=f"line 10: CC_MODE {mode} is {name}.*--transport dcqcn is the nearest"
        ):
            imported(tmp_path, text)
        assert "dcqcn" in imported(tmp_path, text, transport="dcqcn").scenario["transport"]
    with pytest.raises(UserError, match="has no CC_MODE; say --transport"):
        imported(tmp_path, CONFIG.replace("CC_MODE 1", ""))
    assert imported(tmp_path, transport="ndp").scenario["transport"] == {"ndp": {}}


# The controls of RDMA, and their fields by the keys of the file; a key that is missing has the value of HPCC's code.
RDMA = [
    (
        3,
        "hpcc",
        {"eta": 0.95, "max_stage": 0, "ai": "50Mbps", "min_rate": "1Gbps", "multi_rate": False},
        "90B",
    ),
    (7, "timely", {"ai": "50Mbps", "hai": "100Mbps", "min_rate": "1Gbps", "window": "variable"}, "56B"),
    (8, "dctcp", {"g": 0.00390625, "ai": "1Gbps", "min_rate": "1Gbps"}, "48B"),
]
KEYS = (
    "U_TARGET 0.95\nMI_THRESH 0\nMULTI_RATE 0\nFAST_REACT 1\nHAS_WIN 1\nVAR_WIN 1\nDCTCP_RATE_AI 1000Mb/s\n"
)


@pytest.mark.parametrize(("mode", "control", "fields", "header"), RDMA, ids=[row[1] for row in RDMA])
def test_controls_of_rdma_are_those_of_roce(tmp_path, mode, control, fields, header):
    text = "\n".join(
        line for line in CONFIG.splitlines() if line.split()[:1] and line.split()[0] not in KEYS.split()
    )
    found = imported(tmp_path, f"{KEYS}{text}\n".replace("CC_MODE 1", f"CC_MODE {mode}")).scenario
    roce = found["transport"]["roce"]
    assert (roce["payload"], roce["header_bytes"]) == ("1000B", header)
    assert fields.items() <= roce["congestion"][control].items()
    run = fy.run(found, {"run.audit": True})
    assert (run.status, run.violations) == ("complete", [])


def test_missing_keys_have_the_values_of_hpccs_code(tmp_path):
    text = "PACKET_PAYLOAD_SIZE 1000\nCC_MODE 3\nL2_ACK_INTERVAL 0\n"
    found = imported(tmp_path, text)
    assert found.scenario["transport"]["roce"] == {
        "payload": "1000B",
        "ack_every": 1,
        "header_bytes": "90B",
        "ack_bytes": "88B",
        "control_class": 1,
        "recovery": {"go-back-n": {"nak_interval": "500us"}},
        "congestion": {
            "hpcc": {
                "max_stage": 5,
                "multi_rate": True,
                "int_multi": 1,
                "min_rate": "100Mbps",
                "window": "fixed",
                "base_rtt": BASE_RTT,
            }
        },
    }
    assert any("L2_ACK_INTERVAL 0" in note for note in found.notes)
    none = imported(tmp_path, text + "HAS_WIN 0\n").scenario["transport"]["roce"]
    assert none["congestion"]["hpcc"]["window"] == "none"


def test_going_back_is_that_of_the_file(tmp_path):
    zero = imported(tmp_path, CONFIG + "L2_BACK_TO_ZERO 1\nL2_CHUNK_SIZE 4000\n").scenario
    assert zero["transport"]["roce"]["recovery"] == {"go-back-0": {"chunk": "4000B", "nak_interval": "500us"}}
    fy.check(zero)
    neither = imported(tmp_path, CONFIG + "L2_BACK_TO_ZERO 1\nL2_CHUNK_SIZE 0\n").scenario
    assert "go-back-n" in neither["transport"]["roce"]["recovery"]


def test_the_base_round_trip_is_that_of_hpccs_code():
    # Two switches, hosts at 100 Gbps and 1 us: three links of 80 ns and 2 us. The third host is nearer.
    cables = [
        Cable(0, 3, 100 * 10**9, 10**6),
        Cable(1, 3, 100 * 10**9, 10**6),
        Cable(3, 4, 100 * 10**9, 10**6),
    ]
    network = Network(
        ["a", "b", "c"], [("s", "switch"), ("t", "switch")], [*cables, Cable(2, 4, 100 * 10**9, 10**6)]
    )
    assert base_rtt_ns(network, 1000) == 3 * 2080
    # A link of 400 Gbps between the switches takes 20 ns.
    network.cables[2] = Cable(3, 4, 400 * 10**9, 10**6)
    assert base_rtt_ns(network, 1000) == 2 * 2080 + 2020
    # The 320 hosts of HPCC's simulations: 12,240 ns over six links, of which the inner four have 400 Gbps.
    assert 6 * 2000 + 2 * 80 + 4 * 20 == 12_240


def test_settings_alone_name_the_files_that_are_missing(tmp_path):
    with pytest.raises(
        UserError, match=r'name its TOPOLOGY_FILE, "mix/topology.txt" and its FLOW_FILE, "mix/flow.txt"'
    ):
        imported(tmp_path, files=())
    (tmp_path / "sizes.txt").write_text("0 0\n100 100\n")
    (tmp_path / "config.txt").write_text(CONFIG)
    with pytest.raises(
        UserError, match=r"config.txt: has settings of HPCC's ns-3 code; .*sizes.txt \(cdf\) is not of it"
    ):
        interchange.read([tmp_path / "config.txt", tmp_path / "sizes.txt"])


def test_thresholds_are_those_of_the_rate_of_hosts(tmp_path):
    alone = imported(tmp_path, files=("flow",), topology="single-switch", rate="25Gbps", delay="1us")
    assert alone.scenario["queue"]["lossless"]["kmin"] == "100KB"
    # Without a rate only what is the same for all of them.
    unknown = imported(
        tmp_path, CONFIG.replace("000 0.3", "000 0.2"), files=("flow",), topology="single-switch"
    )
    assert unknown.scenario["queue"]["lossless"] == {"mark": "dequeue", "pmax": 0.2}
    assert sum("by rate: not taken" in note for note in unknown.notes) == 2
    with pytest.raises(UserError, match=r"KMIN_MAP has no threshold for 100Gbps, .*; it has 25Gbps, 50Gbps"):
        imported(tmp_path, CONFIG.replace("KMIN_MAP 3", "KMIN_MAP 2"))
    without = imported(tmp_path, CONFIG.replace("ENABLE_QCN 1", "ENABLE_QCN 0")).scenario
    assert without["queue"] == {"lossless": {"kmin": "1GB", "kmax": "1GB"}}
    fy.check(without)


def test_ports_have_the_thresholds_of_their_rate(tmp_path):
    (tmp_path / "topology.txt").write_text(TOPOLOGY.replace("0 3 100Gbps", "0 3 25Gbps"))
    (tmp_path / "config.txt").write_text(CONFIG.replace("TOPOLOGY_FILE", "NO_FILE"))
    (tmp_path / "flow.txt").write_text(FLOW.replace("200000000", "20000"))
    read = interchange.read([tmp_path / f"{name}.txt" for name in ("config", "topology", "flow")])
    # The fastest host's rate is that of most ports.
    ports = read.scenario["queue"]["lossless"]
    assert ports["kmin"] == "400KB"
    assert ports["by_rate"] == [{"rate": "25Gbps", "kmin": "100KB", "kmax": "400KB", "pmax": 0.2}]
    (tmp_path / "topology.txt").write_text(TOPOLOGY.replace("0 3 100Gbps", "0 3 40Gbps"))
    read = interchange.read([tmp_path / f"{name}.txt" for name in ("config", "topology", "flow")])
    assert "by_rate" not in read.scenario["queue"]["lossless"]
    assert any("no thresholds for links of 40Gbps" in note for note in read.notes)


def test_a_link_goes_down(tmp_path):
    found = imported(tmp_path, CONFIG.replace("LINK_DOWN 0 0 0", "LINK_DOWN 7 0 3"))
    (event,) = found.scenario["faults"]["events"]
    assert event == {"at": "2000007us", "target": {"cable": ["switch 0", "host 3"]}, "change": "down"}
    fy.check(found.scenario)
    with pytest.raises(UserError, match="takes the link 0-9 down, which the network does not have"):
        imported(tmp_path, CONFIG.replace("LINK_DOWN 0 0 0", "LINK_DOWN 7 0 9"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("RP_TIMER 900", "RP_TIMER -1", 'line 13: RP_TIMER is "-1"; must be a number'),
        ("EWMA_GAIN 0.00390625", "EWMA_GAIN 1.5", 'line 14: EWMA_GAIN is "1.5"; must be between 0 and 1'),
        ("RATE_AI 50Mb/s", "RATE_AI 50", 'line 16: RATE_AI is "50"; has no unit'),
        ("KMAX_MAP 3", "KMAX_MAP 4", "line 23: KMAX_MAP announces 4 rates, each with a value; it has 6 words"),
        ("KMAX_MAP 3", "KMAX_MAP", 'line 23: the number of rates of KMAX_MAP is "25000000000"'),
        ("PINT_PROB", "CC_MODE 3", "line 20: CC_MODE is given a second time, after line 10"),
        ("PINT_PROB", "pint 3", 'line 20: "pint" is no key'),
        ("PACKET_PAYLOAD_SIZE 1000", "PACKET_PAYLOAD_SIZE 0", 'PACKET_PAYLOAD_SIZE is "0"; must be a whole'),
        ("CC_MODE 1", "CC_MODE x", 'line 10: CC_MODE is "x"'),
    ],
)  # fmt: skip
def test_wrong_settings_are_refused(tmp_path, old, new, said):
    with pytest.raises(UserError) as raised:
        imported(tmp_path, CONFIG.replace(old, new))
    assert said in str(raised.value)


def test_settings_are_told_by_their_content():
    assert sniffing.sniff(source(CONFIG)) == "hpcc-config"
    assert sniffing.sniff(source(CONFIG.replace("\n", "\r\n"))) == "hpcc-config"
    assert hpcc_config.read(source(CONFIG.replace(" ", "\t"))).transport() == "roce"


LAB = """\
name: tiny
topology:
  nodes:
    leaf1: { kind: linux }
    h1: { kind: linux }
    h2:
  links:
    - endpoints: ["leaf1:e1", "h1:eth1"]
    - type: veth
      endpoints:
        - node: leaf1
          interface: e2
        - { node: h2, interface: eth1 }
    - endpoints: ["h2:eth2", "host:h2-eth2"]
"""


def lab(tmp_path, text=LAB, **options):
    pytest.importorskip("yaml")
    (tmp_path / "lab.yml").write_text(text)
    return interchange.read(
        [tmp_path / "lab.yml"], **{"rate": "10Gbps", "delay": "1us", "hosts": "leaves"} | options
    )


def test_the_links_of_a_lab_are_cables(tmp_path):
    found = lab(tmp_path)
    explicit = found.scenario["topology"]["explicit"]
    assert (explicit["hosts"], explicit["switches"]) == (["h1", "h2"], [{"name": "leaf1"}])
    assert [cable["ends"] for cable in explicit["cables"]] == [["leaf1", "h1"], ["leaf1", "h2"]]
    assert any("links to the machine of the lab are not read: 1" in note for note in found.notes)
    with pytest.raises(UserError, match="--hosts"):
        lab(tmp_path, hosts=None)
    with pytest.raises(UserError, match="--rate"):
        lab(tmp_path, rate=None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LAB.replace('"h1:eth1"', '"h3:eth1"'), 'topology.links.0 has the node "h3", which is not in topology.nodes'),
        (LAB.replace('"leaf1:e1", ', ""), 'must be such as {endpoints: ["leaf1:e1", "h1:eth1"]}'),
        (LAB.replace("nodes:", "nodes: 3\n  more:"), 'topology.nodes is "3"; must be a table of nodes by name'),
        (LAB.replace("topology:", "topo:"), "has no topology with nodes and links"),
        (LAB.replace("{ kind: linux }", "{ kind: [linux }", 1), "line 4: is not YAML"),
        ("a: &a [1]\nb: " + "[" * 3000 + "\n- endpoints: x\n", "is not YAML"),
    ],
)  # fmt: skip
def test_other_labs_are_refused(tmp_path, text, said):
    with pytest.raises(UserError) as raised:
        lab(tmp_path, text)
    assert said in str(raised.value)
    assert len(str(raised.value)) < 1000


def test_a_lab_needs_a_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(UserError, match="pip install pyyaml"):
        lab(tmp_path)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("// a ring\nnum_ranks 4\n\nrank 0 {\ns0: send 1472b to 1 tag 10\n}\n", "a GOAL schedule"),
        ("HYBRID_TRANSFORMER model_parallel_NPU_group: 4 all_gpus: 16\n6\n", "a workload of SimAI"),
        ("# two\ntopology: [ Switch, Ring ]\nnpus_count: [ 4, 8 ]\n", "a network of ASTRA-sim"),
        ("{'logical-dims': ['4', '8']}\n", "a file of ASTRA-sim"),
        ("<algo name='ring_2' proto='Simple'>\n</algo>\n", "an algorithm of MSCCL"),
        ("name: x\ndevices:\n- name: server\n", "YAML, but no containerlab file"),
    ],
)
def test_files_of_other_tools_are_named_with_the_way_to_go(text, what):
    with pytest.raises(UserError, match=what):
        sniffing.sniff(source(text))
