"""Why something is empty: each reason on a run that has it by construction, and none where the thing is there."""

import ast
import re
import tomllib
from pathlib import Path

import polars as pl
import pytest
from test_report import page, visible, write_run

import flowyard as fy
from flowyard import cli
from flowyard.report import reasons
from flowyard.report.run import absent, labelled, story, tables
from flowyard.run_data import Run


@pytest.fixture
def made(tmp_path):
    """Makes a run whose counters are zero unless given, with other parts of its scenario and other flows."""
    number = iter(range(100))

    def make(counters=None, flows=None, links=None, scenario=None, **options):
        def change(summary):
            zero = dict.fromkeys(("drops", "trims", "marks", "retransmissions", "timeouts"), 0)
            summary["counters"] |= zero | (counters or {})
            summary["scenario"] |= scenario or {}
            transport = summary["scenario"]["transport"]
            for entry in summary["scenario"]["traffic"]:
                entry["transport"] = transport
                entry["routing"] = summary["scenario"]["routing"]
            given = options.pop("summary", {})
            summary |= {"features": given.get("features") or features(summary["scenario"])} | given

        known = {"flows", "finished", "status", "until", "end_ps", "window", "ideal", "busy"}
        plain = {name: value for name, value in options.items() if name in known}
        folder = write_run(tmp_path / f"run-{next(number)}", change=change, **plain)
        for name, columns in (("flows", flows), ("links", links)):
            if columns:
                path = folder / f"{name}.parquet"
                table = pl.read_parquet(path)
                height = len(next(iter(columns.values())))
                given = [pl.Series(key, values, dtype=table.schema[key]) for key, values in columns.items()]
                table.head(height).with_columns(given).write_parquet(path)
        return labelled.read([folder])[0]

    return make


def features(scenario):
    """As a run with that queue, transport and balancer writes them."""
    short = {"arrivals": "at-once", "sizes": {"fixed": "1KB"}, "matrix": {"pairs": [[0, 1]]}}
    parts = {part: scenario[part] for part in ("topology", "routing", "transport", "queue")}
    written = fy.run(parts | {"traffic": [short | {"name": "queries"}]}).summary["features"]
    assert set(written["traffic"]) == {"queries"}
    return written


OPEN = {"completed": [False], "fct_ps": [None], "slowdown": [None]}


def test_how_much_too_short_a_run_was(made):
    # 750 KB are missing: 600 us at 10 Gbps; it delivered 250 KB in the last 500 us, so that it needs 1.5 ms.
    flow = OPEN | {"start_ps": [500_000_000], "size_bytes": [10**6], "delivered_bytes": [250_000]}
    run = made(flows=flow, status="limit", until="1ms", end_ps=10**9)
    assert reasons.missing_time_ps(run) == (600_000_000, 1_500_000_000)
    said = str(reasons.no_fct(run)).replace("\N{NO-BREAK SPACE}", " ")
    assert "at least 600 µs more" in said
    assert "about 1.50 ms at the pace so far" in said
    assert said.endswith("Raise run.until.")


def test_a_flow_that_did_not_start_needs_the_wait_too(made):
    flow = OPEN | {"start_ps": [3 * 10**9], "size_bytes": [1250], "delivered_bytes": [0]}
    run = made(flows=flow, status="limit", until="1ms", end_ps=10**9)
    assert reasons.missing_time_ps(run) == (2 * 10**9 + 10**6, None)
    assert "before its first flow would start" in str(reasons.no_fct(run))


def test_a_run_that_ends_within_its_warm_up_says_so(tmp_path):
    scenario = {
        "topology": {"single-switch": {"hosts": 4}},
        "transport": "ndp",
        "traffic": [
            {
                "name": "web",
                "arrivals": {"poisson": {"load": 0.5}},
                "matrix": "uniform",
                "sizes": {"fixed": "10KB"},
                "flows": 20,
            }
        ],
        "run": {"measure": {"from": "1s"}},
    }

    def give_up(_):
        raise KeyboardInterrupt

    found = Run.of(fy.run(scenario, progress=give_up))
    assert 0 < found.end_ps < 10**12
    started = int((found.flows["start_ps"] < found.end_ps).sum())
    said = str(reasons.no_fct(found)).replace("\N{NO-BREAK SPACE}", " ")
    assert re.match(
        rf"The run ended at [\d.]+ ms, within its warm-up: {started:,} flows had started by then, and", said
    )
    assert "the first measured flow would start at 1" in said
    assert "measured: no flow, since the run ended within its warm-up" in story.of_runs([found])


def test_the_bound_is_one(tmp_path):
    """With less than the bound more no flow ends; with the estimate of the first run, one does."""
    scenario = {
        "topology": {"single-switch": {"hosts": 4}},
        "transport": {"ndp": {}},
        "traffic": [
            {
                "name": "a",
                "arrivals": "at-once",
                "matrix": "permutation",
                "sizes": {"fixed": "1MB"},
                "flows": 4,
            }
        ],
        "run": {"until": "300us"},
    }

    def completed(until_ps):
        return pl.DataFrame(fy.run(scenario | {"run": {"until": f"{until_ps}ps"}}).flows)["completed"].sum()

    folder = fy.run(scenario).save(tmp_path / "short")
    least, paced = reasons.missing_time_ps(labelled.read([folder])[0])
    assert completed(300_000_000 + least * 99 // 100) == 0
    assert completed(300_000_000 + paced * 3 // 2) > 0


WHY_NO_FCT = {
    "no flow": ({"flows": {"id": []}}, "no flow"),
    "background": (
        {
            "flows": {"measured": [False] * 300},
            "summary": {
                "traffic": [
                    {
                        "name": "queries",
                        "flows": 300,
                        "background": True,
                        "offered_load": None,
                        "realised_load": None,
                    }
                ]
            },
        },
        "All 300 flows are background",
    ),
    "window": ({"window": (10**9, 2 * 10**9)}, "starts in the measuring window"),
    "waiting": (
        {"flows": OPEN | {"start_ps": [None], "delivered_bytes": [0]}, "status": "stalled"},
        "The only flow did not start",
    ),
    "memory": (
        {"finished": 0.0, "status": "limit", "summary": {"limit": "memory"}},
        "Raise run.memory_limit",
    ),
    "by hand": ({"finished": 0.0, "status": "interrupted"}, "Let it run longer."),
    "one is there": ({}, None),
}


@pytest.mark.parametrize(("options", "reason"), WHY_NO_FCT.values(), ids=WHY_NO_FCT)
def test_why_no_flow_is_complete(made, options, reason):
    if options.get("summary", {}).get("traffic"):
        options = {
            **options,
            "summary": {"traffic": [options["summary"]["traffic"][0] | {"mean_size_bytes": 1.0}]},
        }
    said = reasons.no_fct(made(**options))
    assert said is None if reason is None else reason in said


LOST = {
    "topology": {"dumbbell": {"hosts": 3}},
    "transport": "datagram",
    "queue": {"drop-tail": {"limit": {"packets": 4}}},
    "traffic": [
        {
            "name": "a",
            "arrivals": "at-once",
            "matrix": {"incast": {"senders": 3}},
            "sizes": {"fixed": "100KB"},
        }
    ],
}
CUT = {
    "topology": {"line": {"switches": 1}},
    "transport": "tcp",
    "traffic": [
        {"name": "a", "arrivals": "at-once", "matrix": {"pairs": [[0, 1]]}, "sizes": {"fixed": "1MB"}},
        {"name": "b", "arrivals": {"after": {"entry": "a"}}, "matrix": {"reply": {"to": "a"}}},
    ],
    "faults": {
        "events": [{"at": "100us", "target": {"cable": ["switch 0", "host 1"]}, "change": "down"}],
    },
}
CUT["traffic"][1]["sizes"] = {"fixed": "1KB"}


def test_datagrams_that_were_lost_are_told(tmp_path):
    """68 datagrams of 1,472 bytes a flow: those that four places at the bottleneck do not hold are gone."""
    result = fy.run(LOST)
    assert (result.status, result.summary["counters"]["unfinished_flows"]) == ("complete", 3)
    run = labelled.read([result.save(tmp_path / "run")])[0]
    drops = result.summary["counters"]["drops"]
    count = f"3 of 3 flows were not completed: {drops} of their packets were lost"
    said = f"{count}, and transport.datagram retransmits none."
    assert reasons.no_fct(run) == reasons.not_completed(run) == said
    assert said in visible(page([tmp_path / "run"]))
    # With room for all of them nothing is to be told.
    enough = fy.run(LOST | {"queue": "infinite"}).save(tmp_path / "enough")
    assert reasons.not_completed(labelled.read([enough])[0]) is None


def test_a_stalled_run_says_what_each_entry_waits_for(tmp_path):
    result = fy.run(CUT)
    assert result.status == "stalled"
    run = labelled.read([result.save(tmp_path / "run")])[0]
    first, second = (said.replace("\N{NO-BREAK SPACE}", " ") for said in reasons.waits(run))
    # The last timeout before rto_max, of 60 s, ends by 102 s; the timer has been set for 60 s since.
    assert first.startswith("traffic.a: 1 flow open, next timer at 1")
    assert second == "traffic.b: 1 flow not started, waiting for flows that have not ended"
    assert "traffic.b: 1 flow not started" in visible(page([tmp_path / "run"]))


def queue(name, **fields):
    return {"scenario": {"queue": {name: fields}}}


def transport(name, **fields):
    return {"scenario": {"transport": {name: fields}}}


MARKING = {"limit": {"packets": 200}, "threshold": {"packets": 65}}


def tcp_that_asks(settings):
    return {"scenario": {"queue": {"ecn": MARKING}, "transport": {"tcp": settings}}}


def ecn(**fields):
    capable = {"datagram": {"ecn_capable": True}}
    return {"scenario": {"queue": {"ecn": MARKING | fields}, "transport": capable}}


# The made-up switch ports held up to 8 packets and 8 bytes.
WHY = {
    "drop: no limit": (reasons.no_drop, queue("infinite"), "it never drops"),
    "drop: trims": (reasons.no_drop, queue("ndp"), "queue.ndp trims"),
    "drop: room": (
        reasons.no_drop,
        queue("drop-tail", limit={"packets": 100}),
        "the largest queue was 8 packets, the limit is 100 packets",
    ),
    "drop: room in bytes": (
        reasons.no_drop,
        queue("drop-tail", limit={"bytes": "150KB"}),
        "the largest queue was 8 B, the limit is 150KB",
    ),
    "drop: there is one": (reasons.no_drop, {"counters": {"drops": 1}}, None),
    "drop: lossless": (reasons.no_drop, queue("lossless"), "pauses upstream ports"),
    "drop: credits": (reasons.no_drop, queue("daq"), "grants upstream ports credit"),
    "trim: not that queue": (
        reasons.no_trim,
        queue("drop-tail"),
        "queue.drop-tail of this run does not offer it",
    ),
    "trim: room": (
        reasons.no_trim,
        queue("ndp", data_limit={"full-packets": 9}),
        "data limit is 9 full packets",
    ),
    "trim: there is one": (reasons.no_trim, {"counters": {"trims": 1}}, None),
    "mark: not that queue": (
        reasons.no_mark,
        queue("drop-tail"),
        "Only queues that offer ECN marking mark; queue.drop-tail of this run does not",
    ),
    "mark: switched off at the port": (
        reasons.no_mark,
        queue("strict-priority", mark="none"),
        'queue.strict-priority.mark = "none"',
    ),
    "mark: not asked for": (
        reasons.no_mark,
        queue("strict-priority", mark="port", **MARKING),
        "queue.strict-priority marks only ECN-capable packets",
    ),
    "mark: lossless": (
        reasons.no_mark,
        {"scenario": {"queue": {"lossless": {"kmin": "5KB"}}, "transport": {"dcqcn": {}}}},
        "held more than its kmin: the largest queue was 8 B, the kmin is 5KB",
    ),
    "mark: tcp": (
        reasons.no_mark,
        queue("ecn", **MARKING),
        "No transport of the run is ECN-capable with its settings (tcp)",
    ),
    "mark: tcp, asked": (reasons.no_mark, tcp_that_asks({"ecn": True}), "No switch port held more than"),
    "mark: dctcp": (
        reasons.no_mark,
        tcp_that_asks({"congestion": {"dctcp": {}}}),
        "No switch port held more than",
    ),
    "mark: newreno": (
        reasons.no_mark,
        tcp_that_asks({"congestion": "newreno"}),
        "is ECN-capable with its settings (tcp)",
    ),
    "mark: switched off": (
        reasons.no_mark,
        {"scenario": {"queue": {"ecn": MARKING}, "transport": {"datagram": {"ecn_capable": False}}}},
        "ECN-capable with its settings (datagram)",
    ),
    "mark: above the limit": (
        reasons.no_mark,
        ecn(threshold={"packets": 200}),
        "is not below queue.ecn.limit",
    ),
    "mark: never reached": (
        reasons.no_mark,
        ecn(),
        "the largest queue was 8 packets, the threshold is 65 packets",
    ),
    "mark: there is one": (reasons.no_mark, ecn() | {"counters": {"marks": 1}}, None),
    "repeat: nothing lost": (reasons.no_retransmission, {}, "nothing to repair"),
    "repeat: never": (reasons.no_retransmission, transport("datagram"), "sends each packet once"),
    "repeat: only control lost": (reasons.no_retransmission, {"counters": {"drops": 3}}, "no data packets"),
    "repeat: there is one": (reasons.no_retransmission, {"counters": {"retransmissions": 1}}, None),
    "timeout: repaired": (reasons.no_timeout, {"counters": {"drops": 3}}, "retransmitted before a timer"),
    "timeout: not yet": (
        reasons.no_timeout,
        {"counters": {"drops": 3}, "finished": 0.5, "status": "limit"},
        "may have had one pending",
    ),
    "timeout: no timer": (reasons.no_timeout, transport("datagram"), "no retransmission timer"),
    "timeout: there is one": (reasons.no_timeout, {"counters": {"timeouts": 1}}, None),
    "order: there is one": (reasons.no_reordering, {}, None),
    "order: one path": (reasons.no_reordering, {"flows": {"reordered": [0, 0]}}, "took the same path"),
    "order: equal queues": (
        reasons.no_reordering,
        {"flows": {"reordered": [0]}, "scenario": {"routing": {"balancer": {"per-packet": {}}}}},
        "never differed by enough",
    ),
    "deadline": (reasons.no_deadline, {}, "No traffic entry sets one"),
    "deadline: there is one": (reasons.no_deadline, {"flows": {"deadline_ps": [5]}}, None),
    "link: idle": (reasons.no_link_used, {"busy": False}, "No link carried a packet."),
    "queue: idle": (reasons.no_queue, {"busy": False}, "No port ever held a packet."),
    "queue: there is one": (reasons.no_queue, {}, None),
}


@pytest.mark.parametrize(("why", "options", "reason"), WHY.values(), ids=WHY)
def test_why_it_is_zero(made, why, options, reason):
    said = why(made(**options))
    if reason is None:
        assert said is None
    else:
        assert reason in said.replace("\N{NO-BREAK SPACE}", " ")


def of_ones_own(offers, able):
    """A run with a queue, a transport and a balancer that are in no list, and the features that they declare."""
    parts = {
        "queue": {"red": {"min": {"packets": 10}, "max": {"packets": 15}}},
        "transport": {"quick": {}},
        "routing": {"balancer": {"wise": {}}},
    }
    traffic = dict.fromkeys(("ecn_capable", "retransmits", "one_path"), able)
    features = {
        "queue": {"name": "red", "offers": offers},
        "traffic": {"queries": {"transport": "quick", "needs": [], **traffic}},
    }
    return {"flows": {"reordered": [0]}, "scenario": parts, "summary": {"features": features}}


HELD = "the largest queue was 8 packets"
# What queue.red offers, whether transport.quick is capable of all, the counter that is zero, and the sentence.
OF_ONES_OWN = [
    ({}, True, "drops", f"queue.red dropped none: {HELD}."),
    ({"unlimited": None}, True, "drops", "queue.red has no limit: it never drops."),
    ({"trimming": None}, True, "drops", "queue.red trims data packets that do not fit."),
    ({"lossless": None}, True, "drops", "queue.red pauses upstream ports instead of dropping packets."),
    ({}, True, "trims", "Only queues that offer trimming trim; queue.red of this run does not offer it."),
    ({"trimming": None}, True, "trims", f"queue.red trimmed none: {HELD}."),
    (
        {"trimming": "max"},
        True,
        "trims",
        f"No switch port's data queue was full: {HELD}, the max is 15 packets.",
    ),
    (
        {"headers": "max"},
        True,
        "trims",
        f"No request arrived at a full switch port: {HELD}, the max is 15 packets.",
    ),
    ({}, True, "marks", "Only queues that offer ECN marking mark; queue.red of this run does not offer it."),
    ({"ecn": None}, True, "marks", f"queue.red marked none: {HELD}."),
    ({"ecn": "min"}, True, "marks", f"No switch port held more than its min: {HELD}, the min is 10 packets."),
    (
        {"ecn": "min"},
        False,
        "marks",
        "No transport of the run is ECN-capable with its settings (quick), and queue.red marks only ECN-capable "
        "packets. The reference of transports has the settings that change this.",
    ),
    ({}, False, "retransmissions", "transport.quick sends each packet once and retransmits none."),
    (
        {},
        True,
        "retransmissions",
        "No packet was dropped, trimmed or lost, so that there was nothing to repair.",
    ),
    ({}, False, "timeouts", "transport.quick has no retransmission timer."),
    (
        {},
        True,
        "reordered",
        "All packets of a flow took the same path, and no queue let one overtake another.",
    ),
    (
        {},
        False,
        "reordered",
        "The queues on the paths of a flow never differed by enough for one packet to overtake another.",
    ),
]


@pytest.mark.parametrize(("offers", "able", "term", "sentence"), OF_ONES_OWN)
def test_members_of_ones_own_are_explained_by_their_features(made, offers, able, term, sentence):
    run = made(**of_ones_own(offers, able))
    assert str(reasons.ZERO[term](run)).replace("\N{NO-BREAK SPACE}", " ") == sentence


def test_runs_without_features_are_explained_by_no_guess(made):
    """Versions before this key did not write it."""
    run = made()
    del run.summary["features"]
    for why in (reasons.no_drop, reasons.no_trim, reasons.no_mark):
        assert why(run) == reasons.UNKNOWN


def members(*lists):
    """The names of the lists' members."""
    choices = [choice for name in lists for choice in fy.schema()["$defs"][name]["oneOf"]]
    return {tag for choice in choices for tag in choice.get("properties", {})}


@pytest.mark.parametrize(
    "file",
    [*sorted(Path(reasons.__file__).parent.glob("*.py")), Path(cli.__file__)],
    ids=lambda file: file.name,
)
def test_reports_and_helps_name_no_member_of_a_list(file):
    """The one that a user adds would be missing."""
    names = members("Topology", "Transport", "Queue", "Balancer", "Congestion", "Sizes", "Arrivals", "Matrix")
    # Some are words of English or names of features, too.
    names = {name for name in names if "-" in name} | members("Transport", "Congestion")
    assert {"ndp", "drop-tail", "per-flow", "dctcp", "fat-tree", "web-search"} <= names
    nodes = list(ast.walk(ast.parse(file.read_text("utf-8"))))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    # What is taken if nothing else is named is no list.
    defaults = {id(node.value) for node in nodes if isinstance(node, ast.keyword) and node.arg == "default"}
    # tcp:// is how addresses begin.
    words = {
        (node.lineno, word)
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if id(node) not in docstrings | defaults
        for word in re.findall(r"[a-z0-9-]+(?!://)\b", node.value)
    }
    assert not {(line, word) for line, word in words if word in names}


def test_the_lines_that_ask_for_samples_are_toml_of_this_run(made):
    missing = {part.part: part for part in absent.absent([made()])}
    samples = tomllib.loads(missing["Queues, windows and rates over time"].lines)["observe"]["samples"]
    assert samples == {"every": "10us", "links": ["host-switch"], "flows": ["queries"]}
    assert tomllib.loads(missing["Histograms of queues and latencies"].lines) == {
        "observe": {"histograms": {"every": "1us"}}
    }


def test_the_page_says_why_columns_of_losses_are_zero(made, tmp_path):
    run = made()
    told = dict(tables.zeros(run))
    # The made-up flows were reordered, the rest is zero.
    assert set(told) == {"retransmissions", "drops", "trims", "marks", "timeouts"}
    words = visible(page([tmp_path / "run-0"]))
    for reason in told.values():
        assert reason.split(":")[0].replace("\N{NO-BREAK SPACE}", " ") in words.replace(
            "\N{NO-BREAK SPACE}", " "
        )


def test_the_command_line_says_why_no_flow_is_complete(inside, small):
    short = inside("run", small, "--set", "run.until=2us", "-o", "short")
    assert short.returncode == 4
    (line,) = [line for line in short.stdout.splitlines() if line.startswith("no completion times: ")]
    assert "before any flow was complete: 4 of 4 had started" in line
    assert "Raise run.until." in line
    assert "no completion times" not in inside("run", small, "-o", "whole").stdout
