"""Progress: what is said, and how often."""

import io

from flowyard.progress import Display, describe, fraction


def state(**changes):
    at = {
        "now_ps": 5 * 10**9,
        "until_ps": None,
        "flows_done": 25,
        "flows": 100,
        "packet_hops": 4_000_000,
        "events": 1,
    }
    return at | changes


def test_the_nearer_end_counts():
    assert fraction(state()) == 0.25
    assert fraction(state(until_ps=10**10)) == 0.5
    assert fraction(state(flows=0)) == 0.0
    assert fraction(state(until_ps=10**9)) == 1.0


def test_a_line_says_time_flows_speed_and_time_left():
    text = "5.000 ms simulated, 25 of 100 flows, 2.00 M packet-hops/s, 6 s left"
    assert describe(state(), seconds=2) == text
    assert "time left unknown" in describe(state(flows_done=0), seconds=2)


def test_without_a_terminal_there_is_a_plain_line_now_and_then(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("flowyard.progress.time.monotonic", lambda: clock[0])
    stream = io.StringIO()
    with Display(stream) as display:
        show = display.row("ndp")
        for second in range(12):
            clock[0] = float(second)
            show(state())
    lines = stream.getvalue().splitlines()
    assert [line.rsplit(", ")[-1] for line in lines] == ["15 s left", "30 s left"]
    assert all(line.startswith("ndp: 5.000 ms") for line in lines)


def test_in_a_terminal_there_is_a_live_row():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    with Display(stream) as display:
        display.row("ndp")(state())
    assert "25 of 100 flows" in stream.getvalue()
