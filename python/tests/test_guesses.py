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
    "topology=fattree": 'did you mean "fat-tree"?',
    "topology=clos": 'did you mean "leaf-spine"?',
    "topology=star": 'did you mean "single-switch"?',
    "queue=red-ecn": 'did you mean "ecn"?',
    "queue=fifo": 'did you mean "drop-tail"?',
    "queue=pfc": 'did you mean "lossless"?',
    "queue=priority": 'did you mean "strict-priority"?',
    # Units, and values for one of the members.
    "topology.fat-tree.rate=25G": 'did you mean "25Gbps"?',
    "topology.fat-tree.rate=10Gb": 'did you mean "10Gbps"?',
    "topology.fat-tree.rate=10GbE": 'did you mean "10Gbps"?',
    "topology.fat-tree.rate=10Gbit/s": 'did you mean "10Gbps"?',
    "topology.fat-tree.rate=10": 'as in "10Gbps"',
    "topology.fat-tree.delay=1µs": 'did you mean "1us"?',
    "topology.fat-tree.delay=1usec": 'did you mean "1us"?',
    "topology.fat-tree=8": "write { k = 8 }",
    "queue.ecn.threshold=20": "write { packets = 20 }",
    "traffic.queries.sizes=1MB": 'write { fixed = "1MB" }',
    "traffic.queries.arrivals.poisson=0.7": "write { load = 0.7 }",
    "traffic.queries.arrivals.poisson.load=70%": "write 0.7",
    "traffic.queries.matrix.incast=8": "write { senders = 8 }",
}

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
        "--flows": "traffic.NAME.flows",
    }.items():
        with pytest.raises(SystemExit):
            cli.main(["run", "web-search-ndp", option, "10"])
        assert instead in capsys.readouterr().err.splitlines()[-1]
