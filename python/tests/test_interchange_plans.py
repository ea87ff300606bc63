"""Experiment plans and the command line of htsim_uec: fields by hand, refusals, and the page's table."""

import re
import tomllib
from pathlib import Path

import pytest

import flowyard as fy
from flowyard import cli
from flowyard.errors import UserError
from flowyard.interchange import htsim_plan, htsim_uec

DOCS = Path(__file__).parents[2] / "docs"

# Titles of the kinds that shipped plans have: one twice, one with brackets.
PLAN = """\
# comment
one.cm
!Experiment Single Connection
!Binary ./htsim_uec
!Param -end 1000
!Param -sender_cc_only
!tailFCT 190
one.cm
!Experiment Single Connection
!Binary ../htsim_uec
!Param -receiver_cc_only -paths 128
!FCT Uec_0_13 200
!tailFCT 190

one.cm
!Experiment of another program
!Binary ./htsim_eqds
!tailFCT 5
"""
ONE = "Nodes 16\nConnections 1\n0->13 start 0 size 2000000\n"


@pytest.fixture
def plan(tmp_path):
    (tmp_path / "plan.txt").write_text(PLAN)
    (tmp_path / "one.cm").write_text(ONE)
    return tmp_path / "plan.txt"


def settings_of(text):
    return htsim_uec.read(text.split(), "here")


def test_a_plan_becomes_a_sweep_that_runs(plan, tmp_path, capsys):
    assert cli.main(["import", str(plan), "-o", str(tmp_path / "mine.toml")]) == 0
    said = capsys.readouterr().out
    assert "experiments" in said
    assert "note: 1 experiments of htsim_eqds are left out" in said
    written = tomllib.loads((tmp_path / "mine.toml").read_text())
    (axis,) = written["axes"]
    assert axis["scenario"] == ["mine/single-connection.toml", "mine/single-connection-2.toml"]
    # Titles that are the same do not tell two points apart.
    assert axis["labels"] == ["single-connection", "single-connection-2"]
    assert cli.main(["sweep", str(tmp_path / "mine.toml"), "-o", str(tmp_path / "out")]) == 0
    ends = dict(fy.Sweep(tmp_path / "out").metrics.select("experiment", "end_ps").iter_rows())
    # A lone flow of 2 MB under NSCC, to the picosecond, by the closed form of the reference simulator.
    assert ends["single-connection"] == 176_199_520


def test_the_scenario_of_an_experiment(plan):
    found = htsim_plan.read(plan).scenarios["single-connection-2"]
    assert found["topology"] == {"fat-tree": {"k": 4, "rate": "100Gbps", "delay": "1us"}}
    assert found["transport"] == {"uet": {"control": "rccc", "entropy_values": 128}}
    # Without -end htsim_uec ends after a millisecond; its seed is 13.
    assert found["run"] == {"seed": 13, "measure": "all", "until": "1ms"}
    (entry,) = found["traffic"]
    assert entry["matrix"] == {"pairs": [[0, 13]]}
    assert "connection" not in entry
    assert not {"queue", "faults"} & set(found)


def test_experiments_share_a_matrix_but_not_its_connections(plan):
    """With -conn_reuse the messages of a matrix share connections; without it each is a flow, whichever comes first."""
    message = "0->13 id 1 msg start 0 size 4000\n"
    (plan.parent / "one.cm").write_text(f"Nodes 16\nConnections 2\n{2 * message}")
    one = "one.cm\n!Experiment {}\n!Binary ./htsim_uec\n"
    plan.write_text(
        one.format("flows") + one.format("messages") + "!Param -conn_reuse\n" + one.format("again")
    )
    found = htsim_plan.read(plan).scenarios
    connections = {name: scenario["traffic"][0].get("connection") for name, scenario in found.items()}
    assert connections == {"flows": None, "messages": "kept", "again": None}


@pytest.mark.parametrize(
    ("words", "control"),
    [
        ("", "nscc"),
        ("-sender_cc", "nscc"),
        ("-receiver_cc", "both"),
        ("-sender_cc -receiver_cc", "both"),
        ("-receiver_cc -sender_cc", "both"),
        ("-receiver_cc_only", "rccc"),
        ("-sender_cc_algo dctcp", "dctcp"),
        ("-qa_gate 2 -target_q_delay 2.5", {"nscc": {"quick_adapt_gate": 2, "target_delay": "2500ns"}}),
        ("-receiver_cc_only -Ai 0.02", {"rccc": {"increase": 0.02}}),
        ("-receiver_cc -Md 0.25 -qa_gate 4", {"both": {"nscc": {"quick_adapt_gate": 4}, "rccc": {"decrease": 0.25}}}),
    ],
)  # fmt: skip
def test_controls(words, control):
    assert settings_of(words).control() == control


def test_units_of_options():
    parts = settings_of("-cwnd 50 -mtu 4096 -sack_threshold 4000 -q 190 -ecn 10 25 -end 12.5 -seed 7").parts()
    assert parts["transport"]["uet"]["initial_window"] == "204800B"
    assert parts["transport"]["uet"]["ack_bytes"] == "4000B"
    assert parts["queue"]["trimming"] == {
        "limit": {"full-packets": 190},
        "ecn_low": {"full-packets": 10},
        "ecn_high": {"full-packets": 25},
    }
    assert parts["run"] == {"seed": 7, "measure": "all", "until": "12500ns"}
    assert settings_of("-linkspeed 400000").rate_bps == 400 * 10**9
    without = settings_of("-disable_trim -sleek").parts()
    assert without["transport"]["uet"] == {"control": "nscc", "trimming": False, "sleek": {}}
    assert without["queue"]["trimming"] == {"trim": "none"}
    pair = settings_of("-enable_accurate_base_rtt").parts()
    assert pair["transport"]["uet"] == {"control": "nscc", "base_rtt": "pair"}


def test_degraded_links_are_those_of_the_first_aggregation_switches():
    tree = {"fat-tree": {"k": 4}}
    found = [event["target"]["link"] for event in htsim_uec.faults(settings_of("-failed 5"), tree, "here")]
    # With k = 4 the aggregation switch at place p of its pod has the cores p and p + 2.
    assert found == [
        ["core 0", "pod 0 aggregation 0"],
        ["core 2", "pod 0 aggregation 0"],
        ["core 1", "pod 0 aggregation 1"],
        ["core 3", "pod 0 aggregation 1"],
        ["core 0", "pod 1 aggregation 0"],
    ]
    with pytest.raises(UserError, match="16 links from cores"):
        htsim_uec.faults(settings_of("-failed 17"), tree, "here")


def test_every_field_of_an_option_exists(plan):
    """The engine takes the fields of all options together."""
    found = htsim_plan.read(plan).scenarios["single-connection"]
    words = (
        "-receiver_cc -target_q_delay 6 -qa_gate 3 -force_disable_oversubscribed_cc -Ai 0.01 -Md 0.5 -alpha 0.5 "
        "-cwnd 9 -mtu 4150 -paths 16 -load_balancing_algo reps_legacy -sack_threshold 1 "
        "-enable_accurate_base_rtt -disable_base_rtt_update_on_nack -q 50 -ecn 5 20 -trimsize 64 -failed 2"
    )
    settings = settings_of(words)
    found |= settings.parts()
    found["faults"] = {"events": htsim_uec.faults(settings, found["topology"], "here")}
    fy.check(found)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("-recv_oversub_cc", r'here: "-recv_oversub_cc" is no option of htsim_uec that is read; these are -tm, -topo'),
        ("-paths", r"here: -paths takes 1 value$"),
        ("-ecn 5", r"here: -ecn takes 2 values$"),
        ("-paths many", r"here: -paths many: must be a whole number, 1 or more"),
        ("-end -3", r"here: -end -3: must be a number, 0 or more"),
        ("-load_balancing_algo best", r"must be one of mixed, oblivious, bitmap, reps, reps_legacy"),
        ("-strat ecmp_ar", r"-strat ecmp_ar: has no counterpart; read: ecmp_host$"),
        ("-disable_fd", r"has no counterpart"),
        ("-receiver_cc -sender_cc_algo dctcp", r"-sender_cc_algo dctcp with credit of the receiver has no counterpart"),
    ],
)  # fmt: skip
def test_refused_options(words, said):
    with pytest.raises(UserError, match=said):
        settings_of(words)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("!Param -end 5\n", r"plan.txt, line 1: stands before the first matrix"),
        (PLAN.replace("!tailFCT 5", "!tailFTC 5"), r"line 18: !tailFTC is no key of a plan; keys are !Experiment"),
        (PLAN.replace("!tailFCT 190", "!tailFCT soon", 1), r"line 7: !tailFCT is \"?soon"),
        (PLAN.replace("one.cm", "two.cm", 1), r"line 2: two.cm is not there; paths are relative to"),
        ("one.cm\n!Experiment x\n!Binary ./htsim_ndp\n", r"has no experiment of htsim_uec; 1 experiments of htsim_ndp"),
        (PLAN.replace("-sender_cc_only", "-topo none.topo"), r"line 2: none.topo is not there"),
    ],
)  # fmt: skip
def test_refused_plans(plan, text, said, capsys):
    plan.write_text(text)
    assert cli.main(["import", str(plan), "-o", str(plan.parent / "mine.toml")]) == 2
    error = capsys.readouterr().err
    assert re.search(said, error), error
    assert sorted(path.name for path in plan.parent.iterdir()) == ["one.cm", "plan.txt"]


def test_a_plan_stands_alone(plan, tmp_path, capsys):
    assert cli.main(["import", str(plan), str(tmp_path / "one.cm")]) == 2
    assert "a plan names its files itself; import it alone" in capsys.readouterr().err
    assert cli.main(["import", str(plan), "--rate", "10Gbps", "-o", str(tmp_path / "mine.toml")]) == 2
    assert "--rate 10Gbps does not apply to" in capsys.readouterr().err
    (tmp_path / "mine").mkdir()
    assert cli.main(["import", str(plan), "-o", str(tmp_path / "mine.toml")]) == 2
    assert "mine: is already there" in capsys.readouterr().err
    assert not (tmp_path / "mine.toml").exists()


def test_a_topology_goes_with_its_matrix(plan, tmp_path):
    (tmp_path / "tree.topo").write_text(
        "Nodes 8\nTiers 2\nPodsize 8\n\nTier 0\nDownlink_speed_Gbps 100\nRadix_Up 4\nRadix_Down 4\n"
        "Downlink_Latency_ns 1000\n\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nDownlink_Latency_ns 1000\n"
    )
    plan.write_text("one.cm\n!Binary ./htsim_uec\n!Param -topo tree.topo\n")
    with pytest.raises(UserError, match=r"the matrix has 16 hosts, tree.topo has 8"):
        htsim_plan.read(plan)
    (tmp_path / "one.cm").write_text("Nodes 8\nConnections 1\n0->7 start 0 size 2000\n")
    (scenario,) = htsim_plan.read(plan).scenarios.values()
    assert "explicit" in scenario["topology"]
    plan.write_text("one.cm\n!Binary ./htsim_uec\n!Param -topo tree.topo -failed 1\n")
    with pytest.raises(UserError, match=r"-failed goes with a fat-tree without a .topo file"):
        htsim_plan.read(plan)


def test_the_page_has_the_table_of_options():
    text = (DOCS / "how-to" / "from-ns3-or-htsim.md").read_text(encoding="utf-8")
    assert "\n".join(htsim_uec.page()) in text
