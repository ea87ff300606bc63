"""What a run records besides flows and links, as users meet it: tables, pcap files that others open, messages."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import dpkt
import polars as pl
import pytest

import flowyard as fy
from flowyard.folders import flush_all

TCP = {
    "topology": {"line": {"switches": 1, "rate": "1Gbps", "delay": "2us"}},
    "transport": {"tcp": {"delayed_ack": 1}},
    "traffic": [
        {
            "name": "one",
            "arrivals": "at-once",
            "matrix": {"pairs": [[0, 1]]},
            "sizes": {"fixed": "100KB"},
        }
    ],
    "observe": {"capture": {"links": ["*"]}},
}
NDP = TCP | {
    "topology": {"single-switch": {"hosts": 9, "rate": "10Gbps"}},
    "transport": "ndp",
    "traffic": [
        {
            "name": "incast",
            "arrivals": "at-once",
            "matrix": {"incast": {"senders": 8}},
            "sizes": {"fixed": "100KB"},
            "flows": 8,
        }
    ],
}


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of a run under TCP and of one under NDP, with the packets of all links."""
    folder = tmp_path_factory.mktemp("captured")
    return {name: fy.run(scenario).save(folder / name) for name, scenario in (("tcp", TCP), ("ndp", NDP))}


def packets(file: Path) -> list[tuple[float, bytes, int]]:
    """Time in seconds, bytes, and length on the wire, as another program reads them."""
    with file.open("rb") as stream:
        reader = dpkt.pcap.Reader(stream)
        assert reader.datalink() == 101
        found = [(float(time), bytes(data)) for time, data in reader]
    lengths, position, content = [], 24, file.read_bytes()
    for _, data in found:
        lengths.append(int.from_bytes(content[position + 12 : position + 16], "little"))
        position += 16 + len(data)
    return [(time, data, length) for (time, data), length in zip(found, lengths, strict=True)]


def test_the_class_of_a_packet_is_its_dscp(tmp_path: Path) -> None:
    dscps = {None: 0, 0: 56, 3: 32, 7: 0}
    entry = {"arrivals": "at-once", "sizes": {"fixed": "10KB"}}
    traffic = [
        entry
        | {"name": f"to-{host}", "matrix": {"pairs": [[0, host]]}}
        | ({} if of is None else {"class": of})
        for host, of in enumerate(dscps, 1)
    ]
    ports = {"topology": {"single-switch": {"hosts": 5}}, "queue": {"strict-priority": {"classes": 8}}}
    folder = fy.run(TCP | ports | {"transport": {"tcp": {"ecn": True}}, "traffic": traffic}).save(
        tmp_path / "out"
    )
    for host, dscp in enumerate(dscps.values(), 1):
        [file] = (folder / "pcap").glob(f"{2 * host}-*")
        headers = [content[:20] for _, content, _ in packets(file)]
        # Seven segments and their acknowledgements; of ECN only data are capable.
        assert {header[1] >> 2 for header in headers} == {dscp}
        assert {header[1] & 3 for header in headers} == {0, 2}
        assert all(dpkt.in_cksum(header) == 0 for header in headers)


@pytest.mark.parametrize("name", ["tcp", "ndp"])
def test_files_hold_what_links_carried(captured: dict[str, Path], name: str) -> None:
    links = pl.read_parquet(captured[name] / "links.parquet")
    files = sorted((captured[name] / "pcap").iterdir(), key=lambda file: int(file.name.split("-")[0]))
    assert len(files) == links.height // 2
    for cable, file in enumerate(files):
        both = links.filter(pl.col("id") // 2 == cable)
        ends = f"{both['from'][0]}-{both['to'][0]}".replace(" ", "_")
        assert file.name == f"{2 * cable}-{ends}.pcap"
        seen = packets(file)
        assert len(seen) == both["packets"].sum()
        assert sum(length for _, _, length in seen) == both["bytes"].sum()
        assert [time for time, *_ in seen] == sorted(time for time, *_ in seen)


def test_headers_are_those_of_the_run(captured: dict[str, Path]) -> None:
    [file] = (captured["tcp"] / "pcap").glob("0-*")
    data: dict[int, int] = {}
    for _, content, length in packets(file):
        ip = dpkt.ip.IP(content)
        assert ip.len == length
        assert dpkt.in_cksum(content[:20]) == 0
        segment = ip.data
        assert isinstance(segment, dpkt.tcp.TCP)
        forward = segment.dport == 5001
        hosts = (ip.src, ip.dst) if forward else (ip.dst, ip.src)
        assert [tuple(host) for host in hosts] == [(10, 0, 0, 1), (10, 0, 0, 2)]
        if forward and length > 40:
            data[segment.seq] = length - 40
        whole = content + bytes(length - len(content))
        pseudo = ip.src + ip.dst + bytes([0, 6]) + (length - 20).to_bytes(2, "big")
        assert dpkt.in_cksum(pseudo + whole[20:]) == 0
    # Together the segments are the flow, from sequence number 1 on.
    expected = 1
    for seq in sorted(data):
        assert seq == expected
        expected += data[seq]
    assert expected == 100_001


def test_ndp_goes_as_udp(captured: dict[str, Path]) -> None:
    flows = pl.read_parquet(captured["ndp"] / "flows.parquet")
    receiver = flows["dst"][0]
    [file] = (captured["ndp"] / "pcap").glob(f"{2 * receiver}-*")
    kinds: dict[int, int] = {}
    trimmed = 0
    for _, content, length in packets(file):
        datagram = dpkt.ip.IP(content).data
        assert isinstance(datagram, dpkt.udp.UDP)
        assert datagram.ulen == length - 20
        flags, kind = content[28], content[29] & 7
        kinds[kind] = kinds.get(kind, 0) + 1
        trimmed += bool(flags & 2)
        assert length == (64 if flags & 2 or kind > 1 else 1500 if kind == 0 else length)
    assert trimmed == flows["trims"].sum()
    assert trimmed > 0
    assert kinds[0] + kinds[1] == flows["packets_sent"].sum()
    assert kinds[3] == trimmed


@pytest.mark.skipif(shutil.which("tshark") is None, reason="no tshark on this machine: make test-programs")
@pytest.mark.parametrize("name", ["tcp", "ndp"])
def test_tshark_opens_them(captured: dict[str, Path], name: str) -> None:
    [file] = (captured[name] / "pcap").glob("0-*")
    options = ["-o", "ip.check_checksum:TRUE", "-T", "json", "-r", str(file)]
    done = subprocess.run(["tshark", *options], capture_output=True, text=True, check=True)
    frames: list[dict[str, Any]] = [frame["_source"]["layers"] for frame in json.loads(done.stdout)]
    seen = packets(file)
    assert len(frames) == len(seen)
    for frame, (time, _, length) in zip(frames, seen, strict=True):
        assert float(frame["frame"]["frame.time_relative"]) == pytest.approx(time - seen[0][0], abs=1.5e-9)
        assert int(frame["frame"]["frame.len"]) == length
        assert frame["ip"]["ip.checksum.status"] == "1"
        assert ("tcp" if name == "tcp" else "udp") in frame
        assert "_ws.malformed" not in frame
    if name == "tcp":
        # A lone flow in the right order: nothing for its analysis to remark.
        flags = json.dumps([frame["tcp"].get("tcp.analysis", {}) for frame in frames])
        assert "retransmission" not in flags
        assert "lost_segment" not in flags
        assert "duplicate_ack" not in flags


def test_tables_come_and_stay(tmp_path: Path) -> None:
    observe = {"samples": {"every": "10us"}, "histograms": {}}
    result = fy.run(NDP | {"observe": observe})
    opened = fy.open_run(result.save(tmp_path / "run"))
    for table in ("samples", "histograms"):
        one, other = (pl.DataFrame(getattr(run, table)) for run in (result, opened))
        assert one.height > 0
        assert one.equals(other)
        assert set(opened.summary["definitions"][table]) == set(one.columns)
        assert opened.summary["observed"][table]["rows"] == one.height
    plain = fy.run(NDP | {"observe": {}})
    assert plain.samples is None
    assert plain.histograms is None
    assert plain.summary["digest"] == result.summary["digest"]
    assert "samples" not in plain.summary["definitions"]
    # The same scenario gives the same rows: the digest says so without a comparison.
    assert fy.run(NDP | {"observe": observe}).summary["observed"] == result.summary["observed"]


def test_folders_with_captures_reach_the_disk(tmp_path: Path) -> None:
    folder = fy.run(NDP).save(tmp_path / "run")
    flush_all(folder)
    assert len(list((folder / "pcap").iterdir())) == 9


def test_the_size_is_said_first(inside: Any, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps(NDP | {"observe": {"samples": {"every": "1us"}}, "run": {"until": "100us"}}))
    done = inside("run", str(file), "-o", str(tmp_path / "out"))
    # 18 links and 8 flows at each of 100 instants.
    assert done.stderr.startswith("observing: about 7,000 rows of samples, about ")
    checked = inside("check", str(file))
    assert "observing: about 7,000 rows" in checked.stdout


@pytest.mark.parametrize(
    ("observe", "path", "words"),
    [
        ({"samples": {}}, "observe.samples", "every"),
        ({"samples": {"every": "10"}}, "observe.samples.every", "unit"),
        ({"samples": {"every": "1us", "links": ["hots-switch"]}}, "observe.samples.links", "did you mean"),
        ({"samples": {"every": "1us", "flows": ["incats"]}}, "observe.samples.flows", "did you mean"),
        ({"capture": {"links": ["host 77 -> *"]}}, "observe.capture.links", "matches no link"),
        ({"capture": {"links": []}}, "observe.capture.links", "empty"),
        ({"histogram": {}}, "observe.histogram", "histograms"),
    ],
)
def test_what_is_not_there_cannot_be_observed(observe: dict[str, Any], path: str, words: str) -> None:
    with pytest.raises(fy.ScenarioError) as caught:
        fy.run(NDP | {"observe": observe})
    [problem] = caught.value.problems
    assert problem["path"].startswith(path)
    assert words in str(caught.value)


def test_connections_come_and_stay(tmp_path: Path) -> None:
    scenario = NDP | {"transport": {"mptcp": {"subflows": 3, "join": "at-once"}}, "observe": {}}
    result = fy.run(scenario)
    opened = fy.open_run(result.save(tmp_path / "run"))
    one, other = (pl.DataFrame(run.connections) for run in (result, opened))
    assert one.equals(other)
    flows = pl.DataFrame(result.flows)
    assert one["flow"].to_list() == [flow for flow in flows["id"] for _ in range(3)]
    assert one["subflow"].to_list() == [0, 1, 2] * flows.height
    sums = one.group_by("flow", maintain_order=True).agg(pl.col("packets_sent").sum())
    assert sums["packets_sent"].to_list() == flows["packets_sent"].to_list()
    assert set(opened.summary["definitions"]["connections"]) == set(one.columns)
    assert fy.run(NDP).connections is None
