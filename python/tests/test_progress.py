"""Progress: what is said, and how often."""

import io
import threading

import pytest

from flowyard import results
from flowyard.terminal.pace import Pace
from flowyard.terminal.progress import Display, Overall, describe


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


def pace(*noted):
    """The pace of a run after (seconds, progress) several times."""
    found = Pace()
    for seconds, progress in noted:
        found.note(progress, seconds)
    return found


def test_without_a_forecast_flows_count_and_the_end_of_the_run():
    assert pace((2, state())).share == 0.25
    assert pace((2, state())).left == 6
    assert pace((2, state(until_ps=10**10))).share == 0.5
    assert pace((2, state(until_ps=10**10))).left == 2
    assert pace((2, state(flows=0))).share == 0.0
    assert pace((2, state(flows_done=0))).left is None
    assert pace((2, state(until_ps=10**9))).share == 1.0


def test_of_two_forecasts_the_one_that_is_further_behind_counts():
    # Half of the packet-hops and a fifth of the time, in 2 s; flows that end together say nothing.
    found = pace((2, state(flows_done=0, foreseen_packet_hops=8_000_000, foreseen_end_ps=25 * 10**9)))
    assert (found.share, found.left) == (0.2, 8)
    found = pace((2, state(flows_done=0, foreseen_packet_hops=40_000_000, foreseen_end_ps=10 * 10**9)))
    assert (found.share, found.left) == (0.1, 18)
    # Most flows are short and over: the elephants are not.
    assert pace((2, state(flows_done=99, foreseen_packet_hops=8_000_000))).share == 0.5


def test_a_forecast_that_was_too_low_ends_no_run():
    # Retransmissions: the time is left to count.
    found = pace((2, state(foreseen_packet_hops=3_000_000, foreseen_end_ps=25 * 10**9)))
    assert (found.share, found.left, found.is_beyond) == (0.2, 8, False)
    # Nothing but flows is left, and where they stand still nothing is known.
    late = state(foreseen_packet_hops=3_000_000, foreseen_end_ps=10**9)
    found = pace((2, late))
    assert (found.share, found.left, found.is_beyond) == (0.95, 6, True)
    assert pace((2, late), (4, late)).left is None


def tail(done, **changes):
    """A run beyond its forecasts, with so many of 1,000 flows done."""
    return state(flows=1000, flows_done=done, foreseen_packet_hops=3_000_000, foreseen_end_ps=10**9) | changes


def test_the_last_few_flows_are_counted_instead_of_timed():
    """Each second has a note; 990 flows in 10 s would leave 0.1 s for the last ten, which take as long as they do."""
    notes = [(second, tail(99 * second)) for second in range(1, 11)]
    found = pace(*notes)
    assert (found.left, found.awaited) == (None, 10)
    line = describe(tail(990), 10, found.left, found.awaited)
    assert line.startswith("waiting for the last 10 flows, 5.000 ms simulated, 990 of 1,000 flows")
    assert describe(tail(999), 10, None, 1).startswith("waiting for the last 1 flow, ")
    # A run ends at run.until, whatever is left of its flows: half of its time took 10 s.
    found = pace(
        *[(second, tail(990, now_ps=second * 10**9, until_ps=2 * 10**10)) for second in range(1, 11)]
    )
    assert (found.left, found.awaited) == (10, 0)
    # Within the forecast, which a run of few flows has, too, time is left.
    found = pace((2, state(flows=4, flows_done=0, foreseen_packet_hops=8_000_000)))
    assert (found.left, found.awaited) == (2, 0)


def test_beyond_its_forecasts_a_run_lasts_as_long_as_its_last_ends():
    """Of 1,000 flows 800 ended in the first second, and 100 in the next nine: the last 100 take nine, not 6."""
    found = pace((0.9, tail(700)), (1, tail(800)), (4, tail(830)), (10, tail(900)))
    assert found.left == 9
    # Half of the flows or more are left: their number says how long.
    assert pace((2, tail(400))).left == pytest.approx(3)


def test_less_than_a_second_is_left_for_a_second_at_most():
    """Of 10 M packet-hops 9.99 M are done, and 1,000 a second: the estimate of 2 ms is one no longer after a second."""
    at = [(10 + second, state(packet_hops=9_990_000 + 1000 * second)) for second in range(4)]
    at = [(second, progress | {"foreseen_packet_hops": 10_000_000}) for second, progress in at]
    assert pace(at[0]).left == pytest.approx(0.01, abs=0.001)
    assert pace(*at[:2]).left == pytest.approx(0.01, abs=0.001)
    found = pace(*at[:3])
    assert (found.left, found.awaited) == (None, 75)


def test_the_last_flows_of_a_run_do_not_hide_the_end_of_many_runs(clock):
    """Of four runs 1.99 took 10 s, so that 2.01 take 10.1; then 2.99 took 15."""
    stream = io.StringIO()
    with Overall("load", 4, stream) as overall:
        clock[0] = 5.0
        finish(overall, 1)
        for _ in range(2):
            with overall.run() as advance:
                clock[0] += 5.0
                advance(tail(990))
    assert stream.getvalue().splitlines()[1:] == [
        "load: 1 of 4 runs, 10 s left",
        "load: 2 of 4 runs, 5 s left",
    ]


def test_a_run_that_becomes_slower_has_the_speed_of_its_second_half():
    def at(hops):
        return state(packet_hops=hops, foreseen_packet_hops=10_000_000)

    # 4 M in the first 10 s and 1 M in the next: 5 M take 50 s, not 20.
    assert pace(
        *((second, at(400_000 * second)) for second in range(1, 11)), (20, at(5_000_000))
    ).left == pytest.approx(50)
    # Thousands of notes are as good as a few.
    assert pace(*((n / 10, at(1000 * n)) for n in range(1, 5001))).left == pytest.approx(500)
    assert len(pace(*((n / 10, at(1000 * n)) for n in range(1, 5001)))._notes) <= 400


def test_a_run_tells_its_forecast(small):
    noted = []

    def first(progress):
        noted.append(progress)
        raise KeyboardInterrupt

    run = results.Checked(small, {"traffic.few.sizes.fixed": "1GB"})
    assert run.run(progress=first).status == "interrupted"
    needs = run.outlook().needs
    (progress,) = noted
    assert progress["foreseen_packet_hops"] == needs["packet_hops"]
    assert progress["foreseen_end_ps"] == needs["end_ps"]
    # NDP in an idle network keeps to both: what is done of the one is done of the other.
    done = progress["packet_hops"] / needs["packet_hops"]
    assert progress["now_ps"] / needs["end_ps"] == pytest.approx(done, rel=0.25)


def test_a_line_says_time_flows_speed_and_time_left():
    text = "6 s left, 5.000 ms simulated, 25 of 100 flows, 2.00 M packet-hops/s"
    assert describe(state(), 2, 6.0) == text
    assert "time left unknown" in describe(state(), 2, None)


def test_many_runs_take_as_long_as_the_slowest_of_them(clock):
    stream = io.StringIO()
    with Overall("load", 3, stream) as overall:
        finish(overall, 2)
        with overall.run() as advance:
            for second in range(1, 6):
                clock[0] = float(second)
                advance(state(packet_hops=second * 10_000, foreseen_packet_hops=1_000_000))
            clock[0] = 10.0
            advance(state(packet_hops=2_000_000, foreseen_packet_hops=1_000_000, flows_done=0))
    # By the two runs that took no time it were 2 s; and beyond a forecast nothing is known.
    assert stream.getvalue().splitlines()[:2] == [
        "load: 2 of 3 runs, 95 s left",
        "load: 2 of 3 runs, time left unknown",
    ]


def test_without_a_terminal_there_is_a_plain_line_now_and_then(clock):
    stream = io.StringIO()
    with Display(stream) as display:
        show = display.row("ndp")
        for second in range(12):
            clock[0] = float(second)
            show(state(flows_done=5 * second))
    lines = stream.getvalue().splitlines()
    assert [line.split(",")[0] for line in lines] == ["ndp: 15 s left", "ndp: 10 s left"]
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
