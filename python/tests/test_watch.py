"""The page that plays a run: counts are those of the table, it seeks, steps and plays; too large runs are refused."""

import json

import pytest
from browser import PROGRAM, Browser
from test_why import incast

import flowyard as fy
from flowyard.errors import UserError
from flowyard.report.explained import watch
from flowyard.report.explained.watch import watch_page, world
from flowyard.why import again
from flowyard.why.span import span

browsing = pytest.mark.skipif(PROGRAM is None, reason="no chromium on this machine")
KINDS = ("made", "started", "arrived", "dropped", "trimmed")


def events_of(run):
    """All events of a run."""
    made = again.of_all(run, 0, run.summary["end_ps"])
    assert made.events is not None
    return made.events


@pytest.fixture(scope="module")
def trimmed():
    """An incast under NDP whose headers are trimmed, and its events."""
    run = fy.run(incast(6, "20KB", "ndp"))
    return run, events_of(run).to_polars()


@pytest.fixture(scope="module")
def page(trimmed, tmp_path_factory):
    run, _ = trimmed
    path = tmp_path_factory.mktemp("watch") / "watch.html"
    path.write_text(watch_page(run, "incast", 0, run.summary["end_ps"]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def wide(page, tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("wide"), 1400) as browser:
        browser.open(page)
        yield browser


def test_the_world_of_one_packet_by_hand():
    """1062 B at 10 Gbps over two cables of 1 us: on the first wire until 1849.6 ns, then on the second."""
    run = fy.run(incast(1))
    rows = again.rows_of(events_of(run).to_polars())
    found = world(rows, run.links.to_polars(), 0, run.summary["end_ps"])
    data = [packet for packet in found["packets"] if packet[1] == 0]
    hops = [[wire, *times] for _, wire, *times in data[0][7]]
    assert hops == [[1062, 0, 0, 1_849_600], [1062, 1_849_600, 1_849_600, 3_699_200]]
    assert [node["row"] for node in found["nodes"]] == [0, 0, 1]
    assert [node["name"] for node in found["nodes"] if not node["host"]] == ["switch"]


@browsing
def test_counts_on_the_screen_are_those_of_the_table(trimmed, wide):
    run, events = trimmed
    end = run.summary["end_ps"]
    assert events.filter(kind="trimmed").height > 0
    for time in (0, end // 7, end // 3, end // 2, end):
        wide.ask(f"watch.seek({time})")
        until = events.filter(events["time_ps"] <= time)
        for kind in KINDS:
            shown = wide.ask(f"document.querySelector('[data-count=\"{kind}\"]').textContent")
            assert int(shown.replace(",", "")) == until.filter(kind=kind).height, (time, kind)


@browsing
def test_packets_on_wires_and_in_queues_are_those_between_their_events(trimmed, wide):
    """Joined and not begun is waiting, begun and not arrived is on a wire; no packet is lost in this run."""
    run, events = trimmed
    end = run.summary["end_ps"]
    assert events.filter(kind="dropped").height == 0
    for time in (end // 9, end // 5, end // 2):
        until = events.filter(events["time_ps"] <= time)
        joined, started, arrived = (
            until.filter(kind=kind).height for kind in ("enqueued", "started", "arrived")
        )
        counts = wide.ask(f"watch.counts({time})")
        assert counts["waiting"] == joined - started
        assert counts["on wires"] == started - arrived


@pytest.fixture(scope="module")
def dropping():
    """An incast under TCP whose queue stands and drops, and all its events."""
    run = fy.run(incast(6, "60KB", "tcp"))
    return run, events_of(run).to_polars()


def in_queues(found):
    """The hops of packets that wait at the start of a world."""
    return [
        (packet[0], packet[2], hop[0])
        for packet in found["packets"]
        for hop in packet[7]
        if hop[2] < 0 and (hop[3] is None or hop[3] > 0)
    ]


def world_of(run, page):
    """The world of a page."""
    return json.loads(page.partition('id="world">')[2].partition("</script>")[0])


def test_queues_at_the_start_of_a_span_are_those_of_the_whole_run(dropping):
    """Joined and not begun before T is in a queue at T, by the events of the whole run; counts begin with the span."""
    run, events = dropping
    end = run.summary["end_ps"]
    drops = events.filter(kind="dropped")["time_ps"]
    for start in (drops[0] // 2, drops[0], drops[len(drops) // 2]):
        until = min(start + 20_000_000, end)
        found = world_of(run, watch_page(run, "incast", start, until))
        past = events.filter(events["time_ps"] < start)
        joined, left = (
            past.filter(past["kind"].is_in(kinds)).height for kinds in (["enqueued"], ["started", "dropped"])
        )
        # A packet that is dropped on joining has no row enqueued.
        dropped = past.filter(kind="dropped").height
        assert len(in_queues(found)) == joined - (left - dropped), start
        within = events.filter((events["time_ps"] >= start) & (events["time_ps"] < until))
        for kind, times in found["times"].items():
            assert min(times) >= 0
            assert len([time for time in times if time < until - start]) == within.filter(kind=kind).height, (
                kind
            )
    assert in_queues(world_of(run, watch_page(run, "incast", drops[0], drops[0] + 1_000_000)))


def test_a_page_says_that_it_does_not_draw_packets_of_before(dropping, monkeypatch):
    run, events = dropping
    start = events.filter(kind="dropped")["time_ps"][0]
    words = f"Packets that were made before {start / 1e6:,.3f} µs are not drawn"
    assert words not in watch_page(run, "incast", start, start + 1_000_000)
    monkeypatch.setattr(watch, "ROWS_BEFORE", 10)
    page = watch_page(run, "incast", start, start + 1_000_000)
    assert words in page
    assert not in_queues(world_of(run, page))


@browsing
def test_it_steps_to_the_next_event_and_back(trimmed, wide):
    _, events = trimmed
    times = sorted(set(events["time_ps"]))
    wide.ask("watch.seek(0)")
    for expected in times[1:4]:
        wide.click("#next")
        assert wide.ask("watch.state.time") == expected
    wide.click("#back")
    assert wide.ask("watch.state.time") == times[2]


@browsing
def test_it_plays_to_the_end_and_stops(trimmed, wide):
    wide.ask("watch.seek(0); document.getElementById('speed').value = 100")
    wide.click("#play")
    assert wide.ask("document.getElementById('play').textContent") == "Pause"
    wide.wait("watch.state.time > 0")
    wide.wait("!watch.state.playing")
    assert wide.ask("watch.state.time") == trimmed[0].summary["end_ps"]


@browsing
def test_a_port_that_is_pressed_tells_its_queue(wide):
    wide.ask("watch.seek(8e6)")
    found = wide.ask("watch.spots().filter(({port}) => port !== undefined)[0]")
    box = wide.ask("document.getElementById('stage').getBoundingClientRect().toJSON()")
    wide.ask(
        "document.getElementById('stage').dispatchEvent(new MouseEvent('click', "
        f"{{clientX: {box['x'] + found['x']}, clientY: {box['y'] + found['y']}, bubbles: true}}))"
    )
    told = wide.ask("document.getElementById('told').textContent")
    assert "packets wait" in told


@browsing
@pytest.mark.parametrize("width", [1400, 420])
def test_queues_stay_on_the_stage(page, width, tmp_path):
    """Their far ends, at each of 21 instants."""
    with Browser(tmp_path / "profile", width) as browser:
        browser.open(page)
        right, bottom = browser.ask("[stage.clientWidth, stage.clientHeight]")
        seen = 0
        for twentieth in range(21):
            browser.ask(f"watch.seek({twentieth} / 20 * watch.world.span)")
            for x, y in browser.ask("watch.spots().filter(({end}) => end).map(({end}) => end)"):
                seen += 1
                assert 0 <= x <= right
                assert 0 <= y <= bottom
        assert seen > 10


@browsing
def test_keys_move_through_time(trimmed, wide):
    end = trimmed[0].summary["end_ps"]
    for key, expected in (("End", end), ("PageUp", round(end - end / 20)), ("Home", 0)):
        event = f"new KeyboardEvent('keydown', {{key: '{key}', bubbles: true}})"
        wide.ask(f"document.getElementById('stage').dispatchEvent({event})")
        assert wide.ask("watch.state.time") == expected


@browsing
@pytest.mark.parametrize("width", [1400, 800, 420])
def test_it_fits_and_nothing_is_loaded_or_complained_of(page, width, tmp_path):
    with Browser(tmp_path / "profile", width, dark=width == 800) as browser:
        browser.open(page)
        assert browser.ask("document.documentElement.scrollWidth") == width
        assert browser.requested == [page.as_uri()]
        assert browser.logged == []


@browsing
def test_nothing_moves_where_the_reader_asked_for_reduced_motion(page, tmp_path):
    with Browser(tmp_path / "profile", 800) as browser:
        browser.reduce_motion()
        browser.open(page)
        assert browser.ask("document.getElementById('play').hidden")
        assert not browser.ask("document.getElementById('still').hidden")
        key = "document.getElementById('stage').dispatchEvent(new KeyboardEvent('keydown', {key: ' ', bubbles: true}))"
        browser.ask(key)
        assert not browser.ask("watch.state.playing")


def test_too_many_events_are_refused_before_they_are_made(trimmed, monkeypatch):
    run, _ = trimmed
    monkeypatch.setattr(watch, "EVENTS_MAX", 100)
    monkeypatch.setattr(again, "of_all", lambda *_: pytest.fail("it was run"))
    with pytest.raises(UserError, match="at most 100 can be watched; choose a span of about"):
        watch_page(run, "incast", 0, run.summary["end_ps"])


def test_too_many_nodes_are_refused(trimmed, monkeypatch):
    run, _ = trimmed
    monkeypatch.setattr(watch, "NODES_MAX", 7)
    with pytest.raises(UserError, match="the network has 8 nodes, and at most 7 can be watched"):
        watch_page(run, "incast", 0, run.summary["end_ps"])


def test_the_command_writes_a_page(inside, tmp_path):
    scenario = tmp_path / "incast.json"
    scenario.write_text(json.dumps(incast(4)))
    assert inside("run", scenario, "-o", tmp_path / "run").returncode == 0
    done = inside("watch", tmp_path / "run", "--until", "5us", "-o", tmp_path / "w.html")
    assert done.returncode == 0, done.stderr
    assert "Watch incast" in (tmp_path / "w.html").read_text()
    wrong = inside("watch", tmp_path / "run", "--from", "soon", "-o", tmp_path / "v.html")
    assert wrong.returncode == 2
    assert "--from: 'soon' is no time" in wrong.stderr
    assert span("0.1ms", "1.5ms", 10**10) == (10**8, 15 * 10**8)
    for text in ("0.0001ns", "1.2.3us", "1.ab5us", "0.5"):
        with pytest.raises(UserError, match="is no time"):
            span(text, None, 10**10)
