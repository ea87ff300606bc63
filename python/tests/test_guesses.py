"""Natural spellings that are none here, and the guess that the message gives: on one screen, with exit code 2.

`bad_input` has a file for each kind of mistake with all that is said; this is a table of one kind, by what users write.
"""

import pytest

from flowyard import cli

# Of `--set`, on the scenario of the demo. In each message the part that says what was probably meant.
SET = {
    # A key at the top, or in a table where it does not stand.
    "load=0.7": 'did you mean "traffic.queries.arrivals.poisson.load"?',
    "traffic.load=0.7": 'did you mean "traffic.queries.arrivals.poisson.load"?',
    "traffic.poisson.load=0.7": 'did you mean "traffic.queries.arrivals.poisson.load"?',
    "traffic.arrivals.load=0.7": 'did you mean "traffic.queries.arrivals.poisson.load"?',
    "flows=100": 'did you mean "traffic.queries.flows"?',
    "traffic[0].flows=100": 'did you mean "traffic.0.flows"?',
    "sizes=websearch": 'did you mean traffic.queries.sizes = "web-search"?',
    "traffic.sizes=web_search": 'did you mean traffic.queries.sizes = "web-search"?',
    "traffic.sizes=hadoop": 'did you mean traffic.queries.sizes = "facebook-hadoop"?',
    "traffic.size=1MB": 'did you mean "traffic.queries.sizes"?',
    "flow_size=1MB": 'did you mean "traffic.queries.sizes"?',
    "traffic.matrix=random": 'did you mean traffic.queries.matrix = "uniform"?',
    "traffic.arrivals=poisson": 'did you mean traffic.queries.arrivals = "poisson"?',
    "balancer=random": 'did you mean routing.balancer = "per-packet"?',
    "balancer=ecmp": 'did you mean routing.balancer = "per-flow"?',
    "balancer=spray": 'did you mean routing.balancer = "per-packet"?',
    "load_balancing=letflow": 'did you mean routing.balancer = "letflow"?',
    "k=4": 'did you mean "topology.fat-tree.k"?',
    "topology.k=4": 'did you mean "topology.fat-tree.k"?',
    "mtu=9000": 'did you mean "transport.ndp.mtu"?',
    "mss=1460": 'did you mean "transport.ndp.mtu"?',
    "transport.mss=9000": 'did you mean "transport.ndp.mtu"?',
    "rto_min=1ms": 'did you mean "transport.ndp.rto_min"?',
    "seed=3": 'did you mean "run.seed"?',
    "until=10ms": 'did you mean "run.until"?',
    "duration=10ms": 'did you mean "run.until"?',
    "warm_up=10ms": 'did you mean "run.measure"?',
    "pcap=true": 'did you mean "observe.capture"?',
    # Another word for a key.
    "run.duration=10ms": 'did you mean "until"?',
    "run.stop=10ms": 'did you mean "until"?',
    "topology.fat-tree.bandwidth=10Gbps": 'did you mean "rate"?',
    "topology.fat-tree.link_rate=10Gbps": 'did you mean "rate"?',
    "topology.fat-tree.latency=1us": 'did you mean "delay"?',
    "topology.fat-tree.hosts=128": 'did you mean "k"?',
    "transport.ndp.iw=16": 'did you mean "initial_window"?',
    "queue.ecn.k=20": 'did you mean "threshold"?',
    "queue.size=100": 'did you mean "queue.drop-tail.limit" or "queue.ecn.limit"',
    # Another word for a member, or another spelling.
    "routing=ecmp": 'write routing.balancer = "per-flow"',
    "routing.balancer=ECMP": 'did you mean "per-flow"?',
    "routing.balancer=flowlet": 'did you mean "letflow"?',
    "transport=dcqcn-ns3": 'did you mean "dcqcn"?',
    "transport=rdma": 'did you mean "roce"?',
    "transport=TCP": 'did you mean "tcp"?',
    "transport=udp": 'did you mean "datagram"?',
    "transport=uec": 'did you mean "uet"?',
    "transport=dctcp": 'write { tcp = { congestion = "dctcp" } }',
    "transport=rocev2": 'did you mean "roce"?',
    "transport=RoCE_v2": 'did you mean "roce"?',
    "transport=eqds": 'write { uet = { control = "eqds" } }',
    "topology=fattree": 'did you mean "fat-tree"?',
    "topology=clos": 'did you mean "leaf-spine"?',
    "topology=star": 'did you mean "single-switch"?',
    "queue=red-ecn": 'did you mean "ecn"?',
    "queue=fifo": 'did you mean "drop-tail"?',
    "queue=pfifo": 'did you mean "drop-tail"?',
    "queue=DropTail": 'did you mean "drop-tail"?',
    # As ns-3 has them.
    "transport=TcpCubic": 'write { tcp = { congestion = "cubic" } }',
    "transport=ns3::TcpDctcp": 'write { tcp = { congestion = "dctcp" } }',
    "transport=DCTCP": 'write { tcp = { congestion = "dctcp" } }',
    "queue=PfifoFast": 'did you mean "drop-tail"?',
    "queue=RedQueueDisc": 'did you mean "red"?',
    "queue=CoDel": 'did you mean "codel"?',
    "queue=ns3::FqCoDelQueueDisc": 'did you mean "codel"?',
    "queue=pfc": 'did you mean "lossless"?',
    "queue=priority": 'did you mean "strict-priority"?',
    # Units, and values for one of the members.
    "topology.fat-tree.rate=25G": 'did you mean "25Gbps"?',
    "topology.fat-tree.rate=10Gb": 'did you mean "10Gbps"?',
    "topology.fat-tree.rate=10GbE": 'did you mean "10Gbps"?',
    "topology.fat-tree.rate=10Gbit/s": 'did you mean "10Gbps"?',
    "topology.fat-tree.rate=10": 'as in "10Gbps"',
    "topology.fat-tree.delay=1usec": 'did you mean "1us"?',
    "topology.fat-tree=8": "write { k = 8 }",
    "queue.ecn.threshold=20": "write { packets = 20 }",
    "traffic.queries.sizes=1MB": 'write { fixed = "1MB" }',
    "traffic.queries.arrivals.poisson=0.7": "write { load = 0.7 }",
    "traffic.queries.arrivals.poisson.load=70%": "write 0.7",
    "traffic.queries.matrix.incast=8": "write { senders = 8 }",
    "queue.drop-tail.limit.packets=50KB": 'write limit = { bytes = "50KB" }',
    "traffic.queries.flows=1e30": "is a number of more than 64 bits",
    "traffic.queries.flows=1.5e0": "1.5 is a number with a fraction; use a whole number",
}

# Keys that are known in no table near: the keys of the table say more than a field of that name far from it.
FAR = {
    "topology.fat-tree.load=2": "topology.fat-tree.load: unknown key; the keys here are",
    "faults.at=1ms": "faults.at: unknown key; the keys here are detection_delay, events, packets",
    "transport.ndp.poisson=1": "transport.ndp.poisson: unknown key; the keys here are",
    "traffic.queries.arrivals.poisson.stall=1ms": "unknown key; the keys here are",
}
# Other spellings of values that mean one thing.
TAKEN = [
    "run.until=15µs",
    "run.until=15\u03bcs",
    "traffic.queries.flows=1e3",
    "transport.ndp.initial_window=16.0",
]

SOUND = {
    "top": "",
    "transport": 'transport.tcp.congestion = "cubic"',
    "arrivals": "arrivals.poisson.load = 0.4",
    "matrix": 'matrix = "uniform"',
    "sizes": 'sizes = "web-search"',
    "flows": "flows = 100",
    "run": "[run]",
}
FILE = """
{top}
{transport}
topology = "fat-tree"
[[traffic]]
name = "q"
{arrivals}
{matrix}
{sizes}
{flows}
{run}
"""
# Of a file: the part that is otherwise, and what it has.
WRITTEN = {
    'sizes: sizes = "websearch"': 'did you mean "web-search"?',
    'sizes: workload = "web-search"': 'q.workload: unknown key; did you mean "sizes"?',
    "flows: count = 100": 'did you mean "flows"?',
    "arrivals: load = 0.7": 'did you mean "traffic.q.arrivals.poisson.load"?',
    'matrix: pattern = "uniform"': 'did you mean "matrix"?',
    "matrix: matrix.incast = { degree = 8, dst = 0 }": 'incast.degree: unknown key; did you mean "senders"?',
    'transport: protocol = "ndp"': 'did you mean "transport"?',
    "transport: transport.dctcp = {}": 'write transport.tcp.congestion = "dctcp"',
    'transport: transport.tcp.cc = "cubic"': 'did you mean "congestion"?',
    'transport: transport.tcp.min_rto = "5ms"': 'did you mean "rto_min"?',
    'transport: transport.tcp.minrto = "5ms"': 'did you mean "rto_min"?',
    'transport: transport.tcp.MinRto = "5ms"': 'did you mean "rto_min"?',
    "transport: transport.TcpCubic = {}": 'write transport.tcp.congestion = "cubic"',
    'run: [[faults.events]]\nat = "1ms"\nuntil = "2ms"': 'until: unknown key; did you mean "lasts"?',
    "top: simulation.seed = 3": 'did you mean "run"?',
    'run: [run]\nwarmup = "1ms"': 'did you mean "measure"?',
}


def said(capsys, *words):
    """The text of a refusal."""
    assert cli.main(["check", *words]) == 2
    text = capsys.readouterr().err
    assert text.count("\n") + len(text) // 100 < 24, "one screen"
    return text


@pytest.mark.parametrize("override", SET)
def test_an_override_that_users_try_gets_the_obvious_guess(override, capsys):
    assert SET[override] in said(capsys, "web-search-ndp", "--set", override)


@pytest.mark.parametrize("override", FAR)
def test_no_guess_is_better_than_a_far_one(override, capsys):
    text = " ".join(said(capsys, "web-search-ndp", "--set", override).split())
    assert FAR[override] in text
    assert "did you mean" not in text


@pytest.mark.parametrize("override", TAKEN)
def test_other_spellings_of_one_value_are_taken(override, capsys):
    assert cli.main(["check", "web-search-ndp", "--set", override]) == 0
    assert "nothing wrong" in capsys.readouterr().out


CLASS = """
from flowyard.prototypes import CongestionControl

class Gentle(CongestionControl):
    pass
"""


@pytest.mark.parametrize(
    ("override", "instead"),
    [
        ("transport.tcp.congestion=Gentle", 'write { python = { name = "Gentle" } }'),
        ("transport=Gentle", 'write { tcp = { congestion = { python = { name = "Gentle" } } } }'),
    ],
)
def test_a_class_of_the_prototypes_is_written_as_a_member(override, instead, capsys, tmp_path):
    file, scenario = tmp_path / "gentle.py", tmp_path / "mine.toml"
    file.write_text(CLASS)
    scenario.write_text(FILE.format(**SOUND))
    assert instead in said(capsys, str(scenario), "--prototype", str(file), "--set", override)
    # Without the file it may be the name of a class all the same.
    field = override.partition("=")[0]
    assert f'a class of --prototype is {field}.python = {{ name = "Gentle" }}' in said(
        capsys, str(scenario), "--set", override
    )
    # A field whose choice has no classes.
    assert "python = " not in said(
        capsys, str(scenario), "--prototype", str(file), "--set", "topology=Gentle"
    )


@pytest.mark.parametrize(
    ("name", "near"), [("DCTCP", "dctcp"), ("Cubic", "cubic"), ("TcpCubic", "cubic"), ("NDP", "ndp")]
)
def test_a_comparison_knows_other_spellings(name, near, capsys, tmp_path):
    assert cli.main(["run", "web-search-ndp", "-o", str(tmp_path / "x"), "--compare", f"tcp,{name}"]) == 2
    assert f"{name!r} is no transport; did you mean {near}?" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("part", WRITTEN)
def test_a_line_that_users_write_gets_the_obvious_guess(part, capsys, tmp_path):
    name, _, line = part.partition(": ")
    scenario = tmp_path / "mine.toml"
    scenario.write_text(FILE.format(**SOUND | {name: line}))
    assert WRITTEN[part] in said(capsys, str(scenario))


def test_the_file_without_a_mistake_is_sound(capsys, tmp_path):
    scenario = tmp_path / "mine.toml"
    scenario.write_text(FILE.format(**SOUND))
    assert cli.main(["check", str(scenario)]) == 0
    assert "nothing wrong" in capsys.readouterr().out


def test_options_of_other_simulators_name_the_field(capsys):
    for option, instead in {
        "-s": "--set",
        "--duration": "run.until",
        "--flows": "traffic.queries.flows=10",
        "--seeds": "did you mean --replicas?",
        "--treads": "did you mean --threads?",
    }.items():
        with pytest.raises(SystemExit):
            cli.main(["run", "web-search-ndp", option, "10"])
        assert instead in capsys.readouterr().err.splitlines()[-1]


def test_an_option_without_a_near_one_has_no_guess(capsys):
    for verb, option, guess in (
        ("run", "--quiet", None),
        ("check", "--seeds", "--seed"),
        ("run", "--dump", None),
    ):
        with pytest.raises(SystemExit):
            cli.main([verb, "web-search-ndp", option, "3"])
        text = capsys.readouterr().err.splitlines()[-1]
        assert ("did you mean" in text) == (guess is not None)
        assert guess is None or text.endswith(f"did you mean {guess}?")
