"""Settings of ConWeave's simulator, a descendant of HPCC's, as fields of a scenario."""

import pytest
from peer_modules import module

import flowyard as fy
from flowyard import interchange

module("hpcc", "ns3_build")
module("hpcc", "hpcc_cases")
cases = module("conweave", "conweave_cases")
(CASE,) = (case for case in cases.CASES if case.name == "2 to 1")


def imported(tmp_path, control, **settings):
    texts = cases.files(CASE, control)
    for key, value in settings.items():
        old = next(line for line in texts["config.txt"].splitlines() if line.split()[0] == key)
        texts["config.txt"] = texts["config.txt"].replace(f"{old}\n", f"{key} {value}\n")
    paths = [tmp_path / name for name in texts]
    for path in paths:
        path.write_text(texts[path.name])
    found = interchange.read(paths, formats=cases.FORMATS, ecmp="conweave")
    fy.check(found.scenario)
    return found


def test_acknowledgements_are_of_a_class_of_their_own(tmp_path):
    roce = imported(tmp_path, "dcqcn").scenario["transport"]["roce"]
    assert (roce["control_class"], roce["ack_bytes"], roce["timeout"]) == (0, "60B", "4ms")
    assert roce["recovery"] == {"go-back-n": {"nak_interval": "4us"}}
    assert imported(tmp_path, "hp").scenario["transport"]["roce"]["ack_bytes"] == "94B"


def test_go_back_0_reports_again_as_soon(tmp_path):
    recovery = imported(tmp_path, "dcqcn", L2_BACK_TO_ZERO="1").scenario["transport"]["roce"]["recovery"]
    assert recovery == {"go-back-0": {"chunk": "4000B", "nak_interval": "4us"}}


def test_ports_pause_others_by_shares_of_the_memory(tmp_path):
    scenario = imported(tmp_path, "dcqcn").scenario
    assert scenario["queue"]["lossless"] == {
        "kmin": "101049B",
        "kmax": "401049B",
        "pmax": 0.2,
        "mark": "dequeue",
    }
    memory = scenario["buffer"]["hpcc"]
    assert (memory["size"], memory["alpha"], memory["first_class"]) == ("9MiB", 1 / 16, 1)
    # Twice the bytes of 1 us at 100 Gbps, two full packets, and one for each class but for those of the reserve.
    assert (memory["reserve"], memory["headroom"]) == ("2096B", "33384B")


def test_irn_has_the_product_of_the_largest_round_trip_in_flight(tmp_path):
    recovery = imported(tmp_path, "dcqcn_irn").scenario["transport"]["roce"]["recovery"]
    assert recovery == {
        "irn": {
            "bdp_cap": "104000B",
            "resend": "all",
            "cnp_on_nak": True,
            "restart_always": True,
            "rto_few": 4,
        },
    }


@pytest.mark.parametrize(
    ("control", "ports"),
    [
        ("timely_irn", {"mark": "none"}),
        ("dctcp_irn", {"mark": "class", "mark_on": "dequeue", "threshold": {"bytes": "301049B"}}),
        ("none_irn", {"mark": "class", "mark_on": "dequeue", "threshold": {"bytes": "1GB"}}),
    ],
)
def test_ports_without_pauses_drop_by_the_free_memory(tmp_path, control, ports):
    scenario = imported(tmp_path, control).scenario
    assert scenario["queue"]["strict-priority"] == {
        "limit": {"bytes": "1GB"},
        "limit_counts_wire": False,
        **ports,
    }
    assert scenario["buffer"]["dynamic"] == {"size": "9MiB", "alpha": 1.0, "reserve": "1049B"}


def test_ports_that_mark_between_two_thresholds_do_not_drop(tmp_path):
    found = imported(tmp_path, "dcqcn_irn")
    assert found.scenario["queue"]["lossless"]["xoff"] == "1GB"
    assert "buffer" not in found.scenario
    assert any("none here has both marks between two thresholds" in note for note in found.notes)


def test_other_balancers_than_ecmp_are_named(tmp_path):
    assert "LB_MODE" not in imported(tmp_path, "dcqcn").notes[-1]
    assert any(
        note.startswith("without a counterpart here: ") and "LB_MODE" in note
        for note in imported(tmp_path, "dcqcn", LB_MODE="9").notes
    )
