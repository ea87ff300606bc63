"""A flow's packets as pcapng: blocks by hand, and as another program reads them."""

import io
import shutil
import struct
import subprocess

import dpkt
import pytest
from test_why import incast

import flowyard as fy
from flowyard.errors import UserError
from flowyard.why import again, capture


def blocks(content):
    """Type and body of each block; lengths at both ends agree."""
    while content:
        kind, length = struct.unpack_from("<II", content)
        assert length % 4 == 0
        assert struct.unpack_from("<I", content, length - 4) == (length,)
        yield kind, content[8 : length - 4]
        content = content[length:]


def options(body):
    """Options of a block by their code."""
    found = {}
    while body:
        code, length = struct.unpack_from("<HH", body)
        found[code] = body[4 : 4 + length]
        body = body[4 + length + -length % 4 :]
    return found


@pytest.fixture(scope="module")
def trimmed():
    """A flow under NDP with trims, its capture, and its events."""
    run = fy.run(incast(6, "20KB", "ndp"))
    made = again.of_flows(run, [3])
    assert made.events is not None
    return run, capture(run, 3), made.events.to_polars()


def packets(content):
    """Interface, time in ns, captured bytes, length and comment of each packet."""
    for kind, body in blocks(content):
        if kind == 6:
            interface, high, low, captured, length = struct.unpack_from("<IIIII", body)
            rest = body[20 + captured + -captured % 4 :]
            yield interface, high << 32 | low, body[20 : 20 + captured], length, options(rest)[1].decode()


def test_subflows_have_ports_of_their_own():
    """The receiver's ports begin at 49,152, as those of observe.capture do; the sender's is of the flow."""
    mptcp = incast(1, "20KB", {"mptcp": {"subflows": 2}})
    udp = [dpkt.ip.IP(content).data for _, _, content, _, comment in packets(capture(fy.run(mptcp), 0))]
    found = {(each.sport, each.dport) for each in udp}
    assert found == {pair for port in (49_152, 49_153) for pair in ((32_768, port), (port, 32_768))}


def test_a_lone_packet_by_hand():
    """1062 B arrive at the switch after 1849.6 ns and at the host after 3699.2 ns."""
    content = capture(fy.run(incast(1)), 0)
    kinds = [kind for kind, _ in blocks(content)]
    assert kinds[0] == 0x0A0D0D0A
    interfaces = [options(body[8:]) for kind, body in blocks(content) if kind == 1]
    names = ["host 0 -> switch", "host 1 -> switch", "switch -> host 0", "switch -> host 1"]
    assert sorted(each[2].decode() for each in interfaces) == names
    assert all(struct.unpack("<Q", each[8]) == (10**10,) and each[9] == b"\x09" for each in interfaces)
    data = [each for each in packets(content) if "data" in each[4]]
    assert [(time, length) for _, time, _, length, _ in data] == [(1_849, 1062), (3_699, 1062)]
    assert [each[4] for each in data] == [
        "flow 0, data packet 0: arrived at 1849600 ps",
        "flow 0, data packet 0: arrived at 3699200 ps",
    ]
    ip = dpkt.ip.IP(data[0][2])
    assert (ip.src, ip.dst) == (bytes([10, 0, 0, 2]), bytes([10, 0, 0, 1]))
    assert (ip.data.sport, ip.data.dport) == (32_768, 49_152)
    assert dpkt.in_cksum(data[0][2][:20]) == 0


def test_trims_are_comments_at_their_port(trimmed):
    _, content, events = trimmed
    found = [each for each in packets(content) if ": trimmed at " in each[4]]
    expected = events.filter(kind="trimmed")
    assert [time for _, time, *_ in found] == [time // 1000 for time in expected["time_ps"]]
    assert found
    # The first of the own bytes says so, too, and the length is that of a header.
    assert all(each[2][28] & 2 for each in found)
    assert [length for *_, length, _ in found] == expected["wire_bytes"].to_list()


def test_every_step_of_the_table_is_there(trimmed):
    _, content, events = trimmed
    kinds = events.filter(events["kind"].cast(str).is_in(["arrived", "dropped", "trimmed", "marked"]))
    assert [time for _, time, *_ in packets(content)] == [time // 1000 for time in kinds["time_ps"]]


def test_a_drop_has_its_reason():
    lost = [{"traffic": "reads", "flow": 0, "numbers": [1]}]
    scenario = incast(1, transport={"roce": {"payload": "1000B", "timeout": "5ms"}}, faults={"packets": lost})
    comments = [comment for *_, comment in packets(capture(fy.run(scenario), 0))]
    assert sum("dropped (fault)" in comment for comment in comments) == 1


def test_another_reader_opens_it(trimmed):
    _, content, events = trimmed
    read = list(dpkt.pcapng.Reader(io.BytesIO(content)))
    assert len(read) == sum(1 for _ in packets(content)) > 0
    assert events.height > len(read)


@pytest.mark.skipif(shutil.which("tshark") is None, reason="no tshark on this machine")
def test_tshark_shows_the_comments(trimmed, tmp_path):
    path = tmp_path / "flow.pcapng"
    path.write_bytes(trimmed[1])
    words = [
        "tshark",
        "-r",
        str(path),
        "-Y",
        'frame.comment contains "trimmed"',
        "-T",
        "fields",
        "-e",
        "frame.number",
    ]
    shown = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    assert len(shown) == trimmed[2].filter(kind="trimmed").height


@pytest.mark.skipif(shutil.which("tshark") is None, reason="no tshark on this machine")
def test_tshark_reads_times_of_any_length(tmp_path):
    """Picoseconds of more than 18.4 ms do not fit the 64 bits in which tshark 4.0 multiplies them."""
    late = incast(1)
    late["traffic"][0]["arrivals"] = {"times": {"at": ["1234567us"], "jitter": "0s"}}
    path = tmp_path / "flow.pcapng"
    path.write_bytes(capture(fy.run(late), 0))
    words = ["tshark", "-r", str(path), "-T", "fields", "-e", "frame.time_epoch"]
    shown = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    assert shown[:2] == ["1.234568849", "1.234570699"]


def test_refusals(trimmed):
    with pytest.raises(UserError, match="flow 6: the run has 6 flows"):
        capture(trimmed[0], 6)
