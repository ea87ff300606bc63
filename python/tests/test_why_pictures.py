"""Pictures of flows and ports: their data by hand, drawn in a browser on one axis of time, and as files."""

import dataclasses
import json
import re

import pytest
from browser import PROGRAM, Browser
from test_why import incast

import flowyard as fy
from flowyard.errors import UserError
from flowyard.report.charts import drawn, panels, port
from flowyard.report.charts.flow import flow_chart, queue, queue_rows
from flowyard.report.charts.ladder import ladder_chart
from flowyard.report.explained.page import _of_port, flow_page, port_page
from flowyard.why import link_of, port_of, why
from flowyard.why.ports import Change, Port, Sent, ports
from flowyard.why.show import losing, waits

browsing = pytest.mark.skipif(PROGRAM is None, reason="no chromium on this machine")
WIRE_PS = 849_600


@pytest.fixture(scope="module")
def four():
    """Four packets that come to one port at once."""
    return fy.run(incast(4))


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A flow with losses that a timeout and duplicates notice."""
    run = fy.run(incast(8, "60KB", "tcp") | {"queue": {"drop-tail": {"limit": {"packets": 20}}}})
    flows = run.flows.to_polars().sort("retransmissions", "id")
    answer = why(run, flows["id"][-1])
    path = tmp_path_factory.mktemp("pictures") / "flow.html"
    path.write_text(flow_page(answer, "incast", "answers"), encoding="utf-8")
    return answer, path


def test_the_queue_of_a_port_by_hand(four):
    """Four packets of 1062 B come at 1849.6 ns: three wait, and one fewer after each transmission."""
    found = port_of(four, "switch -> host 0", 0, four.summary["end_ps"])
    assert [sent.from_ps for sent in found.sent] == [1_849_600 + place * WIRE_PS for place in range(4)]
    assert queue(found)[-1] == (1_849_600 + 3 * WIRE_PS, 0)
    held = dict(queue(found))
    assert [held[1_849_600 + place * WIRE_PS] for place in range(4)] == [3 * 1062, 2 * 1062, 1062, 0]
    rows = port.port_chart(found, 0, four.summary["end_ps"])["datasets"]["queue"]
    times = sorted({row["t"] for row in rows})
    at_peak = {row["flow"]: row["v"] for row in rows if row["t"] == times[0]}
    assert sum(at_peak.values()) == 3 * 1062


def test_areas_of_a_port_are_its_queue_at_every_instant(page):
    """One row for each flow and instant, although packets join and leave at the same one; their sum is the queue."""
    answer, _ = page
    link = max(answer.ports, key=lambda link: len(answer.ports[link].changes))
    found, end = answer.ports[link], answer.start_ps + answer.fct_ps
    rows = port.port_chart(found, 0, end)["datasets"]["queue"]
    assert len({(row["t"], row["flow"]) for row in rows}) == len(rows)
    sums: dict[float, int] = {}
    for row in rows:
        sums[row["t"]] = sums.get(row["t"], 0) + row["v"]
    expected = {round(time / 1e6, 6): value for time, value in queue(found) if time <= end}
    assert len(found.changes) <= panels.POINTS
    assert sums == expected


def test_pieces_of_a_wait_are_packets_pauses_and_idle_time():
    one = Port(0, sent=[Sent(1, 0, 10), Sent(2, 10, 20), Sent(1, 40, 50)], pauses=[(25, 35)])
    assert list(one.between(5, 45)) == [
        (5, 10, "sent", 1),
        (10, 20, "sent", 2),
        (20, 25, "idle", None),
        (25, 35, "paused", None),
        (35, 40, "idle", None),
        (40, 45, "sent", 1),
    ]
    assert list(one.between(12, 12)) == []


def test_packets_that_were_queued_before_the_first_event_count_from_the_start():
    row = {"subflow": 0, "forward": True, "data": True, "seq": 0, "link": 3, "detail": "", "value": None}
    began = row | {"kind": "started", "time_ps": 50, "flow": 7, "made_ps": 1, "wire_bytes": 100}
    found = ports([began], {3: 10**9})[3]
    assert found.changes == [Change(0, 7, 100), Change(50, 7, -100)]
    assert found.sent == [Sent(7, 50, 50 + 800_000)]


def test_the_wait_of_the_last_is_for_the_packets_of_the_others(four):
    flows = four.flows.to_polars().sort("fct_ps")
    answer = why(four, flows["id"][3])
    waited = [(part.of, part.until_ps - part.from_ps) for part in answer.parts if part.name == "queue"]
    assert waited == [(flow, WIRE_PS) for flow in flows["id"][:3]]


def test_the_port_that_lost_packets_is_drawn_where_the_flow_waited_elsewhere(page):
    answer, _ = page
    assert answer.losses
    assert {loss.link for loss in answer.losses} <= answer.ports.keys()
    other = answer.links.index("switch -> host 1")
    assert other not in {link for link, _ in waits(answer)}
    told = Port(other, changes=[Change(answer.start_ps + 10, 5, 1062)])
    elsewhere = dataclasses.replace(
        answer,
        losses=[dataclasses.replace(loss, link=other) for loss in answer.losses],
        ports={**answer.ports, other: told},
    )
    assert losing(elsewhere) == [other]
    assert "switch -> host 1" in {row["link"] for row in queue_rows(elsewhere)}
    assert "Queue at switch -&gt; host 1" in flow_page(elsewhere, "incast", "answers")
    assert "Queue at switch -&gt; host 1" not in flow_page(answer, "incast", "answers")


def test_packets_are_counted_in_whole_numbers():
    run = fy.run(incast(1, "2KB"))
    spec = flow_chart(why(run, 0))
    (sequence,) = (part for part in spec["vconcat"] if part["layer"][0]["data"]["name"] == "ways")
    x = sequence["layer"][0]["encoding"]["x"]["axis"]
    for layer in sequence["layer"]:
        layer["encoding"]["x"]["axis"] = None
    assert x
    # Without the axis of time the words of the picture are those of packets: each number once.
    labels = re.findall(r">(\d+)</text>", drawn.svg(spec | {"vconcat": [sequence]}))
    assert labels
    assert len(labels) == len(set(labels))


def test_pauses_stand_apart():
    """A receiver's switch port that pauses: of a lossless queue, waits while the port stands still are pauses."""
    scenario = incast(8, "100KB", {"roce": {"payload": "1000B"}})
    scenario["topology"] = {
        "leaf-spine": {"leaves": 2, "spines": 1, "hosts": 9, "rate": "10Gbps", "delay": "1us"}
    }
    scenario["traffic"][0]["matrix"] = {"incast": {"senders": 8, "receiver": 17}}
    run = fy.run(scenario | {"queue": {"lossless": {}}})
    assert run.summary["counters"]["pauses"] > 0
    flows = run.flows.to_polars().sort("slowdown")
    answers = [why(run, flow, whose=True) for flow in flows["id"][-3:]]
    assert all(sum(answer.totals.values()) == answer.fct_ps for answer in answers)
    assert any(answer.totals.get("pauses", 0) > 0 for answer in answers)


def test_losses_say_how_they_were_noticed():
    lost = [{"traffic": "reads", "flow": 0, "numbers": [1]}]
    scenario = incast(1, transport={"roce": {"payload": "1000B", "timeout": "5ms"}}, faults={"packets": lost})
    (loss,) = why(fy.run(scenario), 0).losses
    assert (loss.reason, loss.noticed, loss.took_ps) == ("fault", "timeout", 5 * 10**9)
    trims = why(fy.run(incast(6, "20KB", "ndp")), 3).losses
    assert {loss.reason for loss in trims} == {"trimmed"}
    assert {loss.noticed for loss in trims} == {"NACK"}
    assert all(loss.took_ps > 0 for loss in trims)


def test_points_of_the_picture_are_the_packets(page):
    answer, _ = page
    rows = flow_chart(answer)["datasets"]["packets"]
    data = [packet for packet in answer.packets if packet.data and packet.forward]
    assert sum(row["what"] in ("sent", "retransmitted") for row in rows) == len(data)
    assert sum(row["what"] == "retransmitted" for row in rows) == sum(packet.repeats for packet in data) > 0
    assert (
        sum(row["what"] == "lost" for row in rows) == sum(packet.dropped is not None for packet in data) > 0
    )
    ladder = ladder_chart(answer)
    crossed = sum(len(packet.hops) for packet in answer.packets[:160])
    assert len(ladder["datasets"]["hops"]) <= crossed


@browsing
@pytest.mark.parametrize("width", [1400, 800, 420])
def test_the_page_of_a_flow_is_drawn(page, width, tmp_path):
    answer, path = page
    with Browser(tmp_path / "profile", width, dark=width == 420) as browser:
        browser.open(path)
        assert browser.ask("document.documentElement.scrollWidth") == width
        assert browser.logged == []
        lost = len([loss for loss in answer.losses if loss.packet.data])
        marks = "document.querySelectorAll('#chart-flow path[aria-label*=lost]').length"
        assert browser.ask(marks) == lost
        wider = (
            "[...document.querySelectorAll('.chart')]"
            ".filter(each => each.scrollWidth > each.clientWidth + 1).length"
        )
        assert browser.ask(wider) == 0


@browsing
def test_zooming_one_panel_moves_all(page, tmp_path):
    _, path = page
    with Browser(tmp_path / "profile", 1400) as browser:
        browser.open(path)
        labels = "[...document.querySelectorAll('#chart-flow .role-axis-label text')]"
        words = f"{labels}.map(text => text.textContent).join()"
        before = browser.ask(words)
        browser.wheel("#chart-flow", -300)
        browser.wait(f"({words}) !== {json.dumps(before)}")


def test_pictures_for_a_paper(page):
    answer, _ = page
    text = drawn.svg(flow_chart(answer))
    assert text.startswith("<svg")
    assert "var(--" not in text
    assert drawn.png(text).startswith(b"\x89PNG")
    assert "<svg" in answer._repr_html_()


def test_columns_of_a_legend_have_room_for_their_longest_name_in_a_wide_font():
    """Of DejaVu Sans at 11 px the letters of these names are 6.5 px wide on average."""
    names = [
        "queue of its own packets",
        "waiting at the receiver",
        "port of the sender",
        "queue",
        "pauses",
        "way",
    ]
    found = panels.legend(names)
    longest = 6.5 * max(map(len, names))
    assert found["columns"] == 4
    assert found["columns"] * (longest + panels.SWATCH) <= panels.WIDTH
    # Placed by a font of 5.3 px a letter, no name reaches into the next column.
    assert longest - 5.3 * max(map(len, names)) < found["columnPadding"] - panels.SPACE
    assert panels.legend(["a", "b"])["columns"] == 6


def test_the_axis_of_round_trips_has_room_for_the_largest(page):
    answer, _ = page
    chart = flow_chart(answer)
    most = max(row["rtt"] for row in chart["datasets"]["rtt"])
    axis = next(p["layer"][0] for p in chart["vconcat"] if p["layer"][0]["name"] == "rtt")["encoding"]["y"]
    assert axis["scale"]["domain"][0] == 0
    assert axis["scale"]["domain"][1] >= 1.05 * most


def test_flows_at_a_port_that_sent_as_much_stand_by_number():
    sent = [Sent(number, place, place + 5) for place, number in enumerate((10, 9, 2))]
    grid = _of_port(Port(0, sent))
    assert [row[0] for row in grid.rows] == ["flow 2", "flow 9", "flow 10"]


def test_a_port_without_packets_is_a_page(four):
    end = four.summary["end_ps"]
    assert "0 packets sent" in port_page(
        port_of(four, "host 0 -> switch", 0, 10), "host 0 -> switch", "x", 0, end
    )
    with pytest.raises(UserError, match="no such link; the nearest name is 'switch -> host 0'"):
        port_of(four, "switch -> hst 0", 0, end)
    # A number is the id of links.parquet; blanks make no difference.
    names = [f"{a} -> {b}" for a, b in four.links.to_polars().select("from", "to").iter_rows()]
    assert link_of(four, "3") == (3, names[3])
    assert link_of(four, "switch->host0") == (names.index("switch -> host 0"), "switch -> host 0")
    for none in (str(len(names)), "-1", "9" * 5000, "switch->host"):
        with pytest.raises(UserError, match="no such link; the nearest name is"):
            link_of(four, none)


def test_the_command_draws_and_refuses(inside, tmp_path):
    scenario = tmp_path / "incast.json"
    scenario.write_text(json.dumps(incast(4)))
    run = tmp_path / "run"
    assert inside("run", scenario, "-o", run).returncode == 0
    for name, more in (
        ("f.html", ["1"]),
        ("f.svg", ["1", "--ladder"]),
        ("p.png", ["--port", "switch -> host 0"]),
    ):
        done = inside("why", run, *more, "-o", tmp_path / name)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / name).stat().st_size > 1000
    for words, more in (
        ("is already there", ["1", "-o", tmp_path / "f.html"]),
        ("name a file with -o", ["--port", "switch -> host 0"]),
        ("name one", ["1", "2", "-o", tmp_path / "g.html"]),
        ("name a file that ends in .html or .svg or .png", ["-o", tmp_path / "g.pdf"]),
        ("is empty", ["--port", "switch -> host 0", "--from", "9s", "-o", tmp_path / "g.svg"]),
    ):
        done = inside("why", run, *more)
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr
