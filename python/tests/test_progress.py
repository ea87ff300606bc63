"""Progress: what is said, and how often."""

import io
import threading

import pytest

from flowyard.terminal.progress import Display, Overall, describe, fraction


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until its only item is changed."""
    now = [0.0]
    monkeypatch.setattr("flowyard.terminal.progress.time.monotonic", lambda: now[0])
    return now


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


def test_where_flows_end_together_foreseen_packet_hops_count():
    early = state(flows_done=0)
    assert fraction(early, 8_000_000) == 0.5
    assert "2 s left" in describe(early, seconds=2, packet_hops=8_000_000)
    assert fraction(state(flows_done=60), 8_000_000) == 0.6
    # A forecast that was too low does not end the run.
    assert fraction(early, 3_000_000) == 0.95
    # What time is left is not known then, unless flows or the end of the run tell it.
    assert "time left unknown" in describe(early, seconds=2, packet_hops=3_000_000)
    assert "6 s left" in describe(state(), seconds=2, packet_hops=3_000_000)


def test_a_line_says_time_flows_speed_and_time_left():
    text = "6 s left, 5.000 ms simulated, 25 of 100 flows, 2.00 M packet-hops/s"
    assert describe(state(), seconds=2) == text
    assert "time left unknown" in describe(state(flows_done=0), seconds=2)


def test_without_a_terminal_there_is_a_plain_line_now_and_then(clock):
    stream = io.StringIO()
    with Display(stream) as display:
        show = display.row("ndp")
        for second in range(12):
            clock[0] = float(second)
            show(state())
    lines = stream.getvalue().splitlines()
    assert [line.split(",")[0] for line in lines] == ["ndp: 15 s left", "ndp: 30 s left"]
    assert all(", 5.000 ms simulated, " in line for line in lines)


def test_in_a_terminal_there_is_a_live_row():
    stream = Terminal()
    with Display(stream) as display:
        display.row("ndp")(state())
    assert "25 of 100 flows" in stream.getvalue()


def test_a_line_for_work_of_any_kind(clock):
    stream = io.StringIO()
    with Display(stream) as display:
        show = display.line("papers")
        show(0.1, "too early")
        clock[0] = 5.0
        show(0.5, "half")
        clock[0] = 9.9
        show(0.9, "too early again")
    assert stream.getvalue() == "papers: half\n"
    terminal = Terminal()
    with Display(terminal) as display:
        display.line("papers")(0.5, "half")
    assert "half" in terminal.getvalue()


def finish(overall, n):
    for _ in range(n):
        with overall.run():
            pass


def test_many_runs_are_one_line_with_the_time_left(clock):
    stream = io.StringIO()
    with Overall("load", 10, stream) as overall:
        finish(overall, 1)
        assert stream.getvalue() == ""
        clock[0] = 5.0
        finish(overall, 1)
        # Three at a time of which one is half done: 2.5 of 10 in 10 s.
        with overall.run() as first, overall.run() as second:
            first(state(flows_done=50))
            clock[0] = 10.0
            second(state(flows_done=0))
        clock[0] = 15.0
        finish(overall, 6)
    assert stream.getvalue().splitlines() == [
        "load: 2 of 10 runs, 20 s left",
        "load: 2 of 10 runs, 30 s left",
        "load: 5 of 10 runs, 15 s left",
    ]


def test_nothing_done_is_no_time_left(clock):
    stream = io.StringIO()
    with Overall("load", 10, stream) as overall, overall.run() as advance:
        clock[0] = 5.0
        advance(state(flows_done=0))
    assert stream.getvalue() == "load: 0 of 10 runs, time left unknown\n"


def test_a_run_that_fails_is_over(clock):
    def fail(overall):
        with overall.run() as advance:
            advance(state(flows_done=50))
            raise ZeroDivisionError

    stream = io.StringIO()
    with Overall("load", 2, stream) as overall:
        with pytest.raises(ZeroDivisionError):
            fail(overall)
        clock[0] = 5.0
        with overall.run() as advance:
            advance(state(flows_done=0))
    assert stream.getvalue() == "load: 1 of 2 runs, 5 s left\n"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.4, "less than a second"), (1.4, "1 s"), (99.4, "99 s"), (100, "2 min"), (3569, "59 min"), (7169, "119 min"),
        (7200, "2 h 0 min"), (90_000, "25 h 0 min"),
    ],
)  # fmt: skip
def test_times_that_people_wait(clock, seconds, said):
    stream = io.StringIO()
    with Overall("load", 2, stream) as overall:
        # The first of two takes as long as the other will.
        clock[0] = max(seconds, 5.0)
        overall._started = clock[0] - seconds
        finish(overall, 1)
    assert stream.getvalue() == f"load: 1 of 2 runs, {said} left\n"


def test_many_threads_count_right(clock):
    stream = io.StringIO()
    with Overall("load", 801, stream) as overall:
        threads = [threading.Thread(target=finish, args=(overall, 100)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        clock[0] = 801.0
        finish(overall, 1)
    # Nothing is left, and so no time.
    assert stream.getvalue() == "load: 801 of 801 runs\n"


def test_in_a_terminal_all_runs_are_one_live_row(clock):
    stream = Terminal()
    with Overall("load", 4, stream) as overall:
        clock[0] = 1.0
        finish(overall, 1)
    assert "1 of 4 runs, 3 s left" in stream.getvalue()
