"""`flowyard compare`: a run beside results of htsim and of HPCC's simulator."""

import json
import shutil

import pages
import polars as pl
import pytest
from interchange_examples import fct_txt

import flowyard as fy
from flowyard import cli, peers
from flowyard.errors import UserError
from flowyard.interchange import hpcc_fct, htsim_log
from flowyard.interchange.finished import Finished
from flowyard.interchange.text import Source
from flowyard.peers.matching import Flow, match

EXAMPLE = pages.ROOT / "examples" / "htsim-ndp"
US = 1_000_000


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Forty flows between four hosts, and their table."""
    folder = tmp_path_factory.mktemp("compared") / "run"
    scenario = {
        "name": "few",
        "topology": {"single-switch": {"hosts": 4}},
        "transport": "ndp",
        "traffic": [
            {
                "name": "a",
                "arrivals": {"poisson": {"load": 0.5}},
                "matrix": "uniform",
                "sizes": "web-search",
                "flows": 40,
            }
        ],
        "run": {"measure": "all"},
    }
    fy.run(scenario).save(folder)
    return folder, pl.read_parquet(folder / "flows.parquet")


def printed(flows, payload=9000):
    """What htsim would print of these flows."""
    ordered = flows.sort(pl.col("start_ps") + pl.col("fct_acked_ps"))
    lines = ["Parsed args", "startflow ndp_0_1 CWND 135000 rts 0 at 0"]
    for i, row in enumerate(ordered.iter_rows(named=True)):
        end = (row["start_ps"] + row["fct_acked_ps"]) / US
        whole = -(-row["size_bytes"] // payload) * payload
        name = f"ndp_{row['src']}_{row['dst']}"
        lines.append(f"Flow {name} flow_id {i} finished at {end:.6f} total bytes {whole}")
    return "\n".join([*lines, "Done"]) + "\n"


def test_the_page_is_followed(tmp_path):
    shutil.copytree(EXAMPLE, tmp_path / "examples" / "htsim-ndp")
    page = pages.ROOT / "docs" / "how-to" / "compare-with-htsim.md"
    pages.follow(page, tmp_path, pages.environment(tmp_path / "bin"))


@pytest.mark.parametrize(("written", "peer"), [(fct_txt, "HPCC"), (printed, "htsim")])
def test_our_own_times_in_a_peer_s_words_are_the_same(run, tmp_path, written, peer):
    folder, flows = run
    file = tmp_path / "theirs.txt"
    file.write_text(written(flows))
    found = peers.compare(folder, file)
    assert (found.peer, found.acked, found.theirs) == (peer, True, 40)
    assert found.flows["id"].to_list() == flows["id"].to_list()
    assert found.flows["ratio"].to_list() == pytest.approx([1.0] * 40, rel=1e-3)
    assert found.flows["peer_slowdown"].to_list() == pytest.approx(
        found.flows["slowdown"].to_list(), rel=1e-3
    )
    assert (found.matched.ambiguous, found.matched.unknown) == (0, 0)


def test_what_the_command_says_and_writes(run, tmp_path, capsys):
    folder, flows = run
    file, page = tmp_path / "fct.txt", tmp_path / "page.html"
    # One flow is missing there, one is unknown here.
    file.write_text(fct_txt(flows[1:], slower=2) + "0b000001 0b000301 10000 100 77 0 900 800\n")
    words = ["compare", str(folder), str(file), "-o", str(page)]
    assert cli.main(words) == 0
    out = capsys.readouterr().out
    assert "flow by flow: p1 2.000, p50 2.000, p99 2.000" in out
    assert "1 flow complete in the run alone: left out" in out
    assert "1 flow of HPCC that the run does not have, or has not completed: left out" in out
    html = page.read_text()
    assert 'id="chart-flows"' in html
    assert html.count('<tr><th scope="row" data-value') == 39
    assert cli.main([*words, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [flow["ratio"] for flow in said["flows"]] == pytest.approx([2.0] * 39, rel=1e-3)


def test_a_clock_that_began_elsewhere(run, tmp_path, capsys):
    folder, flows = run
    file = tmp_path / "fct.txt"
    file.write_text(fct_txt(flows, late_ns=2 * 10**9))
    assert cli.main(["compare", str(folder), str(file)]) == 2
    assert (
        "start 2 s later in the file; if the clock alone differs, --shift=-2000000us"
        in capsys.readouterr().err
    )
    shifted = peers.compare(folder, file, -2 * 10**12).flows
    assert shifted.height == 40
    # The clocks differ, the times that flows take do not.
    file.write_text(fct_txt(flows))
    assert shifted["peer_fct_ps"].equals(peers.compare(folder, file).flows["peer_fct_ps"])


def test_a_second_run_is_for_a_report(run, capsys):
    folder, _ = run
    assert cli.main(["compare", str(folder), str(folder)]) == 2
    assert f"flowyard report {folder} {folder}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "neither a fct.txt of HPCC's ns-3 code nor what htsim printed"),
        ("0b000001 0b000101 1 100 20 0 9\n", "neither"),
        ("0b000001 0b000101 1 100 20 0 9 8\n0b000001 0b0001\n", "line 2: must be eight words"),
        ("0b000001 0b000101 1 100 20 0 0 8\n", 'line 1: fct is "0"; must be'),
        ("0b000001 0b000101 1 100 20 0 9 8\n10.0.0.1 0b000101 1 1 1 1 1 1\n", 'line 2: sip is "10.0.0.1"'),
        ("Flow ndp_0_1 finished at 1.2.3 total bytes 5\n", 'finished at is "1.2.3"'),
        ("Flow ndp_0_1 finished at 12 total bytes 0\n", 'total bytes is "0"'),
        ("Flow ndp_0_99 finished at 12 total bytes 9000\n", "no flow is in both"),
    ],
)
def test_what_is_wrong_with_a_file(run, tmp_path, text, message):
    file = tmp_path / "theirs.txt"
    file.write_text(text)
    with pytest.raises(UserError) as caught:
        peers.compare(run[0], file)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("line", "flow"),
    [
        ("Flow ndp_0_13(7) finished at 184.265 total bytes 2007000", (0, 13, 2007000, 184265000)),
        (
            "Flow Uec_3_4 flowId 1000000001 uecSrc 0 finished at 1.5e+06 total messages 1 total packets 2 RTS 0 "
            "total bytes 8192 in_flight now 0",
            (3, 4, 8192, 1_500_000_000_000),
        ),
        ("Flow Roce_2_1 5 finished at 7 total bytes 4096", (2, 1, 4096, 7_000_000)),
    ],
)
def test_lines_of_htsim_s_transports(line, flow):
    (found,) = htsim_log.read(Source("log", f"x\n{line}\n"))
    assert (found.src, found.dst, found.size_bytes, found.end_ps) == flow
    assert found.start_ps is None


def test_addresses_are_those_of_nodes():
    source = Source("fct.txt", "0b010201 0b000001 1 100 20 5 9 8 more\n")
    assert hpcc_fct.is_it(source)
    assert hpcc_fct.read(source) == [Finished(258, 0, 20, 14_000, start_ps=5_000, ideal_fct_ps=8_000)]


def test_flows_that_cannot_be_told_apart_are_left_out():
    """Two of three flows of one kind have finished at the peer, which says no starts."""
    ours = [Flow(i, 0, 1, 10_000, i * US) for i in range(3)] + [Flow(3, 0, 1, 5_000, 0)]
    theirs = [Finished(0, 1, 18_000, end * US, padded=True) for end in (9, 7)]
    theirs.append(Finished(0, 1, 9_000, 4 * US, padded=True))
    found = match(ours, theirs)
    assert [(row, flow.end_ps) for row, flow in found.pairs] == [(3, 4 * US)]
    assert (found.ambiguous, found.unknown) == (2, 0)
    found = match(ours[:2], theirs[:2])
    assert [(row, flow.end_ps) for row, flow in found.pairs] == [(0, 7 * US), (1, 9 * US)]


def test_two_transports_are_sent_to_where_they_are_compared(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["compare", "ndp", "dctcp"]) == 2
    assert "flowyard run SCENARIO --compare ndp,dctcp" in " ".join(capsys.readouterr().err.split())


def test_starts_tell_flows_apart():
    ours = [Flow(i, 0, 1, 10_000, i * 3 * US) for i in range(4)]
    theirs = [
        Finished(0, 1, 10_000, 50 * US, start_ps=start) for start in (9 * US + 999, 3 * US - 999, 4_500_000)
    ]
    found = match(ours, theirs)
    assert [(row, flow.start_ps) for row, flow in found.pairs] == [(1, 3 * US - 999), (3, 9 * US + 999)]
    assert (found.unknown, abs(found.nearest_ps or 0)) == (1, 1_500_000)


def test_hosts_of_an_imported_network_have_the_numbers_of_the_file():
    scenario = {"topology": {"explicit": {"hosts": ["host 4", "host 7"]}}}
    assert peers.numbers(scenario) == {0: 4, 1: 7}
    assert peers.numbers({"topology": {"explicit": {"hosts": ["a", "host 7"]}}}) == {}
    assert peers.numbers({"topology": {"fat-tree": {"k": 4}}}) == {}


def test_nodes_of_an_fct_txt_by_their_numbers():
    """Descendants write the node itself, or its address as a decimal number."""
    for src, dst in (("1", "258"), (str(0x0B000101), str(0x0B010201)), ("0b000101", "0b010201")):
        text = Source("fct.txt", f"{src} {dst} 10000 100 20000 2000000000 9164 8256\n")
        assert hpcc_fct.is_it(text)
        (flow,) = hpcc_fct.read(text)
        assert (flow.src, flow.dst, flow.size_bytes) == (1, 258, 20000)
    with pytest.raises(
        UserError, match="must be an address such as 0b000101, of node 1, or the node's number"
    ):
        hpcc_fct.read(Source("fct.txt", "99999 1 10000 100 20000 2000000000 9164 8256\n"))
