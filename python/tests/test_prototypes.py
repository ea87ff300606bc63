"""Members that are written in Python: the same results as their twins in Rust, and one message when they go wrong."""

import hashlib
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pages
import polars as pl
import pytest

import flowyard as fy
from flowyard import cli
from flowyard.prototypes import Balancer, CongestionControl, PrototypeError, Queue, files
from flowyard.prototypes.examples.aimd import Aimd
from flowyard.prototypes.examples.codel import CoDel
from flowyard.prototypes.examples.dctcp import Dctcp
from flowyard.prototypes.examples.drop_tail import DropTail
from flowyard.prototypes.examples.per_flow import PerFlow

GOLDEN = Path(__file__).parents[2] / "crates" / "sim" / "tests" / "golden"
EXAMPLES = Path(fy.__file__).parent / "prototypes" / "examples"

CONTROL = "transport.tcp.congestion"


def test_a_method_with_other_arguments_is_refused_before_the_run():
    class Mine(Balancer):
        def choose(self, switch: Any, packet: Any, ports: Any) -> int:  # type: ignore[override]
            return 0

    class Late(CongestionControl):
        def on_ack(self, window: Any) -> None:  # type: ignore[override]
            pass

    said = r"test_prototypes\.py, line \d+: Mine\.choose\(self, switch, packet, ports\): .* def choose\(self, hop\)"
    with pytest.raises(fy.errors.UserError, match=said):
        fy.check(small(), balancers={"mine": Mine})
    with pytest.raises(fy.errors.UserError, match=r"write def on_ack\(self, window, ack\)"):
        fy.check(small(), controls={"late": Late})

    class Each(Balancer):
        def choose(self, *words: Any, **more: Any) -> int:
            return 0

    class Named(Balancer):
        def choose(self, packet: Any, verbose: bool = False) -> int:
            return 0

    # Arguments of other names, and further ones with defaults, can be called so.
    fy.check(small(), balancers={"any": Each, "named": Named})


def small(**transport: Any) -> dict[str, Any]:
    """Two senders that share a port of 1 Gbit/s."""
    return {
        "topology": {"dumbbell": {"hosts": 2, "bottleneck": {"rate": "1Gbps"}}},
        "transport": {"tcp": {"rto_min": "1ms"} | transport},
        "queue": {"drop-tail": {"limit": {"packets": 30}}},
        "traffic": [
            {
                "name": "a",
                "arrivals": "at-once",
                "matrix": {"pairs": [[0, 2], [1, 3]]},
                "sizes": {"fixed": "300KB"},
            }
        ],
    }


def in_python(name: str, **settings: object) -> dict[str, Any]:
    return {"python": {"name": name, "settings": settings}}


def digest(result: fy.Result) -> str:
    return str(result.summary["digest"])


@pytest.mark.parametrize(
    ("file", "rust", "own"), [("dumbbell-tcp-reno", "reno", Aimd), ("dumbbell-tcp-dctcp", "dctcp", Dctcp)]
)
def test_a_control_has_the_results_of_its_twin(file: str, rust: str, own: type[CongestionControl]):
    scenario = GOLDEN / f"{file}.toml"
    # What a loss halves is for the class to say.
    flight = {"transport.tcp.loss_halves": "flight"}
    twin = fy.run(scenario, flight)
    assert twin.summary["scenario"]["transport"]["tcp"]["congestion"].keys() == {rust}
    runs = [fy.run(scenario, flight | {CONTROL: in_python("own")}, controls={"own": own}) for _ in range(2)]
    assert {digest(run) for run in runs} == {digest(twin)}
    counters = twin.summary["counters"]
    assert counters["retransmissions"] + counters["marks"] > 50, "nothing has reduced a window"
    (cost,) = runs[0].summary["prototypes"]
    assert cost["calls"] > 200
    assert 0 < cost["python_s"] < 10
    assert 0 < cost["share"] <= 1


def with_datagrams() -> dict[str, Any]:
    """TCP that answers to drops, and datagrams at random times that do not, in a port of 1 Gbit/s."""
    scenario = tomllib.loads((GOLDEN / "dumbbell-tcp-codel.toml").read_text())
    scenario["traffic"][1]["transport"]["datagram"]["ecn_capable"] = False
    return scenario


CODEL = {"target": "100us", "interval": "1ms", "limit": {"packets": 200}}


@pytest.mark.parametrize(
    ("rust", "own", "settings"),
    [
        ({"drop-tail": {"limit": {"packets": 25}}}, DropTail, {"packets": 25}),
        ({"codel": CODEL}, CoDel, {"target_us": 100, "interval_us": 1000, "limit": 200}),
    ],
)
def test_a_queue_has_the_results_of_its_twin(
    rust: dict[str, Any], own: type[Queue], settings: dict[str, Any]
):
    twin = fy.run(with_datagrams() | {"queue": rust, "run": {"audit": True}})
    scenario = with_datagrams() | {"queue": in_python("own", **settings), "run": {"audit": True}}
    runs = [fy.run(scenario, queues={"own": own}) for _ in range(2)]
    assert {digest(run) for run in runs} == {digest(twin)}
    assert twin.summary["counters"]["drops"] > 20
    assert not runs[0].violations
    assert runs[0].summary["prototypes"][0]["kind"] == "queue"


def test_a_balancer_has_the_results_of_its_twin():
    scenario = GOLDEN / "fat-tree-tcp-permutation.toml"
    twin = fy.run(scenario, {"routing.balancer": "per-flow"})
    own = {"routing.balancer": in_python("own")}
    assert digest(fy.run(scenario, own, balancers={"own": PerFlow})) == digest(twin)
    assert digest(twin) != digest(fy.run(scenario, {"routing.balancer": "per-packet"})), "there is no choice"


class Loses(Queue):
    def dequeue(self, port):
        port.pop()


class Stops(Queue):
    def dequeue(self, port):
        return None


class Twice(Queue):
    def enqueue(self, port, packet):
        port.drop(packet)
        port.drop(packet)


class Invents(Queue):
    def dequeue(self, port):
        return 7


class Keeps(Queue):
    def enqueue(self, port, packet):
        return packet.size


class Cuts(Queue):
    def enqueue(self, port, packet):
        port.trim(packet)


class CutsAnother(Queue):
    def enqueue(self, port, packet):
        if port.first is not None:
            port.trim(port.first)


class Beyond(Balancer):
    def choose(self, hop):
        return hop.count


class Truth(Balancer):
    def choose(self, hop):
        return True


class Undecided(Balancer):
    pass


ELSEWHERE = "ValueError: the packet is not at this port: it has been sent or dropped"
PORT_MISTAKES = [
    (Loses, "dequeue", "it pops a packet and neither drops nor returns it"),
    (Stops, "dequeue", "it returns None while \\d+ packets? waits?: return one of them"),
    (Twice, "enqueue", ELSEWHERE),
    (Invents, "dequeue", "it returns 7; return a packet that waits, or None"),
    (Keeps, "enqueue", "it returns \\d+; it is to return nothing"),
    (Cuts, "enqueue", "ValueError: the packet is not trimmable: see packet.trimmable"),
    (CutsAnother, "enqueue", "ValueError: trim takes the packet that arrives, and no other"),
    (Beyond, "choose", "it returns 2; use a whole number from 0 to 1"),
    (Truth, "choose", "it returns True; use a whole number from 0 to 1"),
    (Undecided, "__init__", "Undecided has no method choose"),
]


@pytest.mark.parametrize(("own", "verb", "what"), PORT_MISTAKES)
def test_a_mistake_at_a_port_is_told_with_its_line(own: type[Any], verb: str, what: str):
    scenario = small() | {"run": {"audit": True}}
    if issubclass(own, Queue):
        handed: dict[str, Any] = {"queues": {"own": own}}
        scenario["queue"] = in_python("own")
    else:
        handed = {"balancers": {"own": own}}
        scenario["routing"] = {"balancer": in_python("own")}
        scenario["topology"] = {"leaf-spine": {"leaves": 2, "spines": 2, "hosts": 2}}
    with pytest.raises(fy.errors.UserError) as told:
        fy.run(scenario, **handed)
    if own is Undecided:
        assert what in str(told.value)
        return
    assert re.fullmatch(
        rf".*test_prototypes.py, line \d+, in {own.__name__}.{verb}: {what}, [\d.,]+ us into the run",
        str(told.value),
    ), str(told.value)


@pytest.mark.parametrize(
    ("base", "method", "meant"),
    [
        (CongestionControl, "on_acks", "on_ack"),
        (CongestionControl, "on_Loss", "on_loss"),
        (CongestionControl, "on_time_out", "on_timeout"),
        (Queue, "enque", "enqueue"),
        (Balancer, "chose", "choose"),
    ],
)
def test_a_method_that_is_nearly_a_verb_is_refused(base: type[Any], method: str, meant: str):
    argument = {CongestionControl: "controls", Queue: "queues", Balancer: "balancers"}[base]
    handed: dict[str, Any] = {argument: {"own": type("Own", (base,), {method: lambda *_: None})}}
    with pytest.raises(fy.errors.UserError, match=rf"Own\.{method} is no method .* did you mean {meant}\?"):
        fy.run(small(), **handed)


@pytest.mark.parametrize("method", ["on_rtt", "on_ecn", "on_Loss", "on_enqueue"])
def test_a_method_named_as_verbs_are_is_refused_with_the_list_of_verbs(method: str):
    own = {method: lambda *_: None, "on_loss": lambda *_: None}
    said = rf"Own\.{method} is no method .* it has on_ack, on_loss, on_timeout, on_mark, on_duplicate, "
    with pytest.raises(fy.errors.UserError, match=said):
        fy.run(small(), controls={"own": type("Own", (CongestionControl,), own)})


def test_methods_of_ones_own_are_accepted():
    class Helped(CongestionControl):
        def on_ack(self, window: Any, ack: Any) -> None:
            window.cwnd = self.grown(window) + self._on_acks()

        def grown(self, window: Any) -> int:
            return int(window.cwnd)

        def _on_acks(self) -> int:
            return 0

    scenario = small() | {"transport": {"tcp": {"congestion": in_python("own")}}}
    assert fy.run(scenario, controls={"own": Helped}).summary["status"] == "complete"


def test_a_prototype_that_exits_is_a_mistake():
    """It would end the command with the status of a success, and without results."""

    class Exits(CongestionControl):
        def on_ack(self, window: Any, ack: Any) -> None:
            raise SystemExit(0)

    scenario = small() | {"transport": {"tcp": {"congestion": in_python("own")}}}
    with pytest.raises(fy.errors.UserError, match=r"line \d+, in Exits.on_ack: SystemExit: 0, "):
        fy.run(scenario, controls={"own": Exits})


def test_a_file_that_exits_is_a_mistake(tmp_path: Path):
    (tmp_path / "own.py").write_text("import sys\nsys.exit(0)\n")
    with pytest.raises(fy.errors.UserError, match=r"own.py, line 2: SystemExit: 0"):
        files.read([str(tmp_path / "own.py")])


class NamesAsInRust(CongestionControl):
    def on_ack(self, window: Any, ack: Any) -> None:
        window.cwnd += ack.rtt


class Misspelt(CongestionControl):
    def on_ack(self, window: Any, ack: Any) -> None:
        window.cwnd += window.msss


class OwnAttribute(CongestionControl):
    def on_ack(self, window: Any, ack: Any) -> None:
        self.rate_ps = self.rate  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("own", "said"),
    [
        (
            NamesAsInRust,
            "Ack' object has no attribute 'rtt'; did you mean rtt_ps? there are acked, app_limited, ",
        ),
        (Misspelt, "Window' object has no attribute 'msss'; did you mean mss? there are cwnd, "),
        (OwnAttribute, "'OwnAttribute' object has no attribute 'rate'"),
    ],
)
def test_an_attribute_that_the_engine_has_not_is_told_with_those_that_it_has(own: type[Any], said: str):
    with pytest.raises(PrototypeError, match=re.escape(said)) as told:
        fy.run(small(congestion=in_python("own")), controls={"own": own})
    assert ("there are" in str(told.value)) == (own is not OwnAttribute)


def test_a_queue_sees_its_port():
    """Occupancy and time by hand: 1500-byte packets that come by 10 Gbit/s and leave by 1 Gbit/s."""
    seen = []

    class Watches(Queue):
        def enqueue(self, port, packet):
            if not packet.control:
                seen.append(
                    (port.packets, port.waiting, port.bytes, port.wire_bytes, port.rate_bps, packet.payload)
                )
            assert (port.first is None) == (port.waiting == 0)
            assert 0 <= port.random() < 1
            assert not port.mark(packet)

    scenario = small(handshake=False) | {"queue": in_python("own")}
    scenario["traffic"][0] |= {"matrix": {"pairs": [[0, 2]]}, "sizes": {"fixed": "8760B"}}
    fy.run(scenario, queues={"own": Watches})
    first = [row for row in seen if row[4] == 1_000_000_000]
    assert [row[0] for row in first] == [0, 1, 2, 3, 4, 5]
    assert [row[1] for row in first] == [0, 0, 1, 2, 3, 4]
    assert {row[5] for row in first} == {1460}
    assert [row[2] for row in first[:2]] == [0, row_bytes := first[1][3]]
    assert row_bytes > 1460


class Raises(CongestionControl):
    def on_ack(self, window, ack):
        window.cwnd += 1 // (ack.acked - ack.acked)


class Returns(CongestionControl):
    def on_ack(self, window, ack):
        return window.cwnd


class Shrinks(CongestionControl):
    def on_ack(self, window, ack):
        window.cwnd = -5


class Text(CongestionControl):
    def on_ack(self, window, ack):
        window.cwnd = "10"


class Rate(CongestionControl):
    def on_ack(self, window, ack):
        window.pacing_bps = float("nan")


class Stays(CongestionControl):
    def on_recovery_ack(self, window, ack, full, first_partial):
        return "stay"


class Echoes(CongestionControl):
    echo = "exact"

    def on_echo(self, ack):
        return True


class Unborn(CongestionControl):
    def __init__(self):
        raise RuntimeError("not today")


MISTAKES = [
    (Raises, "on_ack", "ZeroDivisionError: integer division or modulo by zero"),
    (Returns, "on_ack", "it returns 14600; it is to return nothing"),
    (Shrinks, "on_ack", "ValueError: window.cwnd = -5: use a number of bytes from 1460 to 2**53"),
    (Text, "on_ack", "TypeError: window.cwnd = '10', of type str: use a number of bytes from 1460 to 2**53"),
    (
        Rate,
        "on_ack",
        "TypeError: window.pacing_bps = nan, of type float: use a rate from 1 to 10**15 bit/s, or None",
    ),
    (Stays, "on_recovery_ack", 'it returns \'stay\'; use "leave", "repair" or "repair-and-restart"'),
    (Echoes, "on_echo", "it returns True; use Answer(grow=..., reduce=...)"),
    (Unborn, "__init__", "RuntimeError: not today"),
]


@pytest.mark.parametrize(("own", "verb", "what"), MISTAKES)
def test_a_mistake_is_told_with_its_line(own: type[CongestionControl], verb: str, what: str):
    queue = {"queue": {"ecn": {"threshold": {"packets": 5}}}} if own is Echoes else {}
    with pytest.raises(PrototypeError) as told:
        fy.run(small(congestion=in_python("own")) | queue, controls={"own": own})
    here = Path(__file__)
    found = re.fullmatch(
        r"(.+), line (\d+), in (\w+)\.(\w+): (.+?)(, [\d.,]+ us into the run)?", str(told.value)
    )
    assert found, str(told.value)
    file, line, cls, method, message, when = found.groups()
    assert Path(file).name == here.name
    assert (cls, method, message) == (own.__name__, verb, what)
    assert (when is None) == (verb == "__init__")
    # The line that did it, or, where an answer is wrong, that of the verb.
    text = here.read_text().splitlines()[int(line) - 1]
    assert ("def " in text) == what.startswith("it returns")
    assert isinstance(told.value.__cause__, Exception)


def refusal(overrides: dict[str, Any], **handed: Any) -> list[dict[str, Any]]:
    with pytest.raises(fy.ScenarioError) as refused:
        fy.check(small(congestion=in_python("aimd")), overrides, **handed)
    return refused.value.problems


def test_a_name_that_was_not_handed_in_is_refused():
    (problem,) = refusal({})
    assert problem["path"] == f"{CONTROL}.python.name"
    assert problem["value"] == "aimd"
    assert problem["message"] == '"aimd": no congestion control in Python was handed in'
    assert "--prototype" in problem["hint"]
    (problem,) = refusal({}, controls={"aimd2": Aimd, "other": Dctcp})
    assert (
        problem["message"]
        == '"aimd" is not one of "aimd2", "other", the congestion controls that were handed in'
    )
    assert problem["hint"] == 'did you mean "aimd2"?'


def test_settings_that_the_class_does_not_take_are_refused():
    (problem,) = refusal({f"{CONTROL}.python.settings": '{"gain": 2}'}, controls={"aimd": Dctcp})
    assert problem["path"] == f"{CONTROL}.python.settings"
    assert problem["value"] == {"gain": 2}
    assert problem["message"] == "got an unexpected keyword argument 'gain'; Dctcp takes g=0.0625, alpha=1.0"


def test_settings_reach_the_object():
    scenario = small(congestion=in_python("own", g=1.0, alpha=0.0)) | {
        "queue": {"ecn": {"threshold": {"packets": 5}}}
    }
    twin = scenario | {
        "transport": {"tcp": {"rto_min": "1ms", "congestion": {"dctcp": {"g": 1.0, "initial_alpha": 0.0}}}}
    }
    assert digest(fy.run(scenario, controls={"own": Dctcp})) == digest(fy.run(twin))


@pytest.mark.parametrize(("given", "says"), [(Aimd(), "is no class"), (int, "int does not derive from")])
def test_what_is_no_congestion_control_is_refused(given: Any, says: str):
    with pytest.raises(fy.errors.UserError, match=says):
        fy.run(small(), controls={"own": given})


def test_the_class_says_how_it_hears_of_marks():
    """What it says is in the scenario of run.json; the scenario's own word goes first."""
    scenario = small(congestion=in_python("own")) | {"queue": {"ecn": {"threshold": {"packets": 5}}}}
    member = fy.check(scenario, controls={"own": Dctcp})["transport"]["tcp"]["congestion"]["python"]
    assert (member["echo"], member["proportional_reduction"]) == ("exact", True)
    changed = fy.check(scenario, {f"{CONTROL}.python.echo": "each-segment"}, controls={"own": Dctcp})
    assert changed["transport"]["tcp"]["congestion"]["python"]["echo"] == "each-segment"


def test_a_class_that_writes_nothing_is_newreno_and_costs_no_call():
    class Nothing(CongestionControl):
        pass

    run = fy.run(small(congestion=in_python("own")), controls={"own": Nothing})
    assert digest(run) == digest(fy.run(small(congestion="newreno")))
    # One call makes the object of each connection.
    assert [cost["calls"] for cost in run.summary["prototypes"]] == [2]


def test_a_paced_control_sends_at_its_rate():
    """All but the first ten segments at 100 Mbit/s, with a round trip or two before; the wire would need 2.4 ms."""

    class Paced(CongestionControl):
        def on_ack(self, window, ack):
            window.pacing_bps = 1e8

    run = fy.run(small(congestion=in_python("own")), controls={"own": Paced})
    times = pl.DataFrame(run.flows)["fct_ps"] / 1e9
    assert len(times) == 2
    paced = (300_000 - 10 * 1460) * 8 / 1e8 * 1e3
    assert times.is_between(paced, paced + 0.2).all(), times


def test_a_run_with_a_prototype_stays_whole():
    run = fy.run(small(congestion=in_python("own")), {"run.threads": 2}, controls={"own": Aimd})
    assert run.summary["partition"] == {
        "whole": "a member of it is written in Python, which does one thing at a time"
    }


def test_the_how_to(tmp_path: Path):
    page = pages.ROOT / "docs" / "how-to" / "python-prototypes.md"
    (tmp_path / "here").mkdir()
    pages.follow(page, tmp_path / "here", pages.environment(tmp_path / "bin"))
    assert not (tmp_path / "here" / "out" / "wrong").exists(), "half a result"
    for file in EXAMPLES.glob("[a-z]*.py"):
        assert file.read_text() in page.read_text(), file.name


def test_examples_are_short():
    for file in EXAMPLES.glob("*.py"):
        assert len(file.read_text().splitlines()) < 80, file.name


def test_run_json_names_the_file(tmp_path: Path):
    run = fy.run(small(congestion=in_python("own")), controls={"own": Aimd})
    folder = run.save(tmp_path / "run")
    (kept,) = json.loads((folder / "run.json").read_text())["prototypes"]
    assert (kept["kind"], kept["name"], kept["class"]) == ("congestion control", "own", "Aimd")
    assert kept["file"].endswith("aimd.py")
    assert kept["sha256"] == hashlib.sha256((EXAMPLES / "aimd.py").read_bytes()).hexdigest()


def command(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    """What a mistake on the command line says."""
    assert cli.main([str(word) for word in words]) == 2
    said = capsys.readouterr().err.strip()
    assert "Traceback" not in said
    return said.removeprefix("error: ")


FILES = [
    ("import nothing_of_that_name\n", "line 1: ModuleNotFoundError: No module named 'nothing_of_that_name'"),
    ("class Mine(\n", "line 1: SyntaxError: '(' was never closed"),
    ("\n\n1 / 0\n", "line 3: ZeroDivisionError: division by zero"),
    ("class Mine:\n    pass\n", "no class in it derives from those of flowyard.prototypes"),
    (
        'from flowyard.prototypes import CongestionControl\n\nclass Mine(CongestionControl):\n    echo = "loud"\n',
        "Mine.echo = 'loud': use None",
    ),
]


@pytest.mark.parametrize(("text", "says"), FILES)
def test_a_file_that_is_no_prototype_is_told(
    text: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "mine.py"
    file.write_text(text)
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps(small()))
    assert says in command(capsys, "run", scenario, "--prototype", file, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_files_that_cannot_be_read_or_have_a_class_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps(small()))
    missing = tmp_path / "missing.py"
    assert "no such file" in command(capsys, "check", scenario, "--prototype", missing)
    copy = tmp_path / "copy.py"
    copy.write_text((EXAMPLES / "aimd.py").read_text())
    said = command(capsys, "check", scenario, "--prototype", EXAMPLES / "aimd.py", "--prototype", copy)
    assert "Aimd is a class of" in said


@pytest.mark.parametrize("each", [False, True])
def test_round_trips_contain_the_delay_of_acknowledgements_unless_the_class_says_so(each: bool):
    """1500 B and 40 B at 1 Gbit/s over two links of 1 us: 2 (12 + 1) + 2 (0.32 + 1) us; a delayed ACK waits.

    It waits 12 us where the next segment follows at once, and longer where the window has none.
    """
    seen: list[int] = []

    class Watch(CongestionControl):
        """The round trips of a window of three segments."""

        acknowledges_each_segment = each

        def on_ack(self, window: Any, ack: Any) -> None:
            seen.append(ack.rtt_ps)

    entry = {
        "name": "a",
        "arrivals": {"at-once": {"jitter": "0s"}},
        "matrix": {"pairs": [["host 0", "host 1"]]},
    }
    scenario = {
        "topology": {"line": {"rates": ["1Gbps", "1Gbps"]}},
        "transport": {
            "tcp": {"preset": "datacentre", "initial_window": 3} | {"congestion": in_python("Watch")}
        },
        "traffic": [entry | {"sizes": {"fixed": "14600B"}}],
    }
    fy.run(scenario, controls={"Watch": Watch})
    alone, delayed = 28_640_000, 40_640_000
    assert set(seen) == {alone} if each else {alone, delayed} < {*seen}
