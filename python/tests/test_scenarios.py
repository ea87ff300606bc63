"""The packaged scenarios show what the comments at their heads say."""

import re
import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import flowyard as fy
from flowyard import scenarios


def run(name: str, **overrides: object) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The flows and links of an audited run; of overrides, "__" stands for the dot."""
    changed = {key.replace("__", "."): value for key, value in overrides.items()}
    result = fy.run(name, {"run.audit": True, **changed})
    assert (result.status, result.violations) == ("complete", [])
    return pl.DataFrame(result.flows), pl.DataFrame(result.links)


def total(links: pl.DataFrame, column: str) -> int:
    return int(links[column].sum())


def commands(name: str) -> list[dict[str, str]]:
    """The groups of --set in the comments; one that fills the line goes on in the next."""
    lines = re.findall(r"^#   (--set .*)$", scenarios.find(name).read_text(encoding="utf-8"), re.MULTILINE)
    given = [[word.split("=", 1) for word in shlex.split(line) if word != "--set"] for line in lines]
    groups: list[dict[str, str]] = []
    for pairs in given:
        # Another topology is several lines, and none of the others does without the first.
        if groups and "topology" in groups[-1] and pairs[0][0].startswith("topology."):
            groups[-1] |= dict(pairs)
        else:
            groups.append(dict(pairs))
    return groups


@pytest.mark.parametrize("name", scenarios.names())
def test_commands_in_comments_are_right(name: str) -> None:
    for overrides in commands(name):
        assert fy.check(name, overrides) != fy.check(name)


def test_commands_are_found() -> None:
    assert [len(commands(name)) for name in ("incast-blocks", "bcube-relays")] == [2, 1]


def test_the_readme_says_what_a_shorter_timeout_does() -> None:
    """The first figure that a reader may try, with the command that the sentence has."""
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    (said,) = re.findall(
        r"with\s`flowyard run web-search-tcp --set (\S+)=(\S+)` the slowdown of 251 falls to (\d+)", readme
    )
    flows = pl.DataFrame(fy.run("web-search-tcp", {said[0]: said[1]}).flows).filter("measured")
    short = flows.filter(pl.col("size_bytes") <= 100_000)["slowdown"]
    assert round(short.quantile(0.99, "linear") or 0) == int(said[2])


def seconds(flows: pl.DataFrame) -> float:
    return float((flows["start_ps"] + flows["fct_ps"]).max()) / 1e12  # type: ignore[arg-type]


def test_incast_collapses_until_it_is_cured() -> None:
    flows, links = run("incast-blocks")
    # 10 blocks of 16 x 64 KiB: what the client's link takes, headers not counted.
    at_line_rate = 10 * 16 * 65536 * 8 / 1e9
    assert seconds(flows) > 50 * at_line_rate
    to_client = links.filter(pl.col("to") == "host 0")
    assert total(links, "drops") == total(to_client, "drops") > 0
    # A block in which a server waits for its timeout lasts for at least that long.
    assert seconds(flows) > 10 * 0.2
    cured, _ = run("incast-blocks", transport__tcp__rto_min="1ms")
    assert cured["timeouts"].sum() > 0
    assert at_line_rate < seconds(cured) < 2 * at_line_rate
    cured, links = run("incast-blocks", **{"queue__drop-tail__limit__bytes": "2MB"})
    assert total(links, "drops") == cured["timeouts"].sum() == 0
    assert at_line_rate < seconds(cured) < 1.1 * at_line_rate


def test_oversubscribed_uplinks_trim() -> None:
    def uplinks_share(links: pl.DataFrame) -> float:
        up = links.filter(pl.col("tier").is_in(["leaf-spine", "spine-leaf"]))
        return total(up, "trims") / total(links, "trims")

    small: dict[str, Any] = {"traffic__queries__flows": 200}
    assert uplinks_share(run("leaf-spine-oversubscribed", **small)[1]) > 0.5
    without = {"topology__leaf-spine__spines": 8}
    assert uplinks_share(run("leaf-spine-oversubscribed", **small, **without)[1]) == 0


def test_the_failed_core_loses_packets_until_routes_avoid_it() -> None:
    flows, links = run("fat-tree-core-failure")
    at_core = links.filter((pl.col("from") == "core 0") | (pl.col("to") == "core 0"))
    assert total(links, "lost") == total(at_core, "lost") == flows["lost"].sum() > 0
    sooner, _ = run("fat-tree-core-failure", faults__detection_delay="50us")
    assert 0 < sooner["lost"].sum() < flows["lost"].sum()
    sound, _ = run("fat-tree-core-failure", faults__events="[]")
    assert sound["lost"].sum() == 0
    assert sound["fct_ps"].mean() < flows["fct_ps"].mean()


def test_hosts_of_a_bcube_relay() -> None:
    flows, links = run("bcube-relays")

    def distance(src: int, dst: int) -> int:
        return sum(src // 4**digit % 4 != dst // 4**digit % 4 for digit in range(3))

    distances = [distance(*pair) for pair in flows.select("src", "dst").iter_rows()]
    assert max(distances) == 3
    # The mean over all pairs of different hosts is 3 digits x 3/4 x 64/63.
    assert sum(distances) / 64 == pytest.approx(2.3, abs=0.15)
    # Every packet, data or answer, goes out of as many hosts as digits differ. Of data there are 64 x 1 MB.
    out = links.filter(pl.col("from").cast(pl.String).str.starts_with("host"))
    assert total(out, "bytes") > sum(distances) * 1_000_000


def test_answers_follow_their_queries() -> None:
    flows, _ = run("requests-and-replies")
    queries, answers = (flows.filter(pl.col("tag") == tag).sort("id") for tag in ("queries", "answers"))
    assert (answers["src"] == queries["dst"]).all()
    assert (answers["dst"] == queries["src"]).all()
    assert (answers["start_ps"] == queries["start_ps"] + queries["fct_ps"] + 50_000_000).all()
    alone, _ = run("requests-and-replies", traffic__background__sources__share=0.01)
    ndp, _ = run("requests-and-replies", transport="ndp", queue="ndp")
    late = [(~flows.filter("measured")["met_deadline"].drop_nulls()).sum() for flows in (flows, alone, ndp)]
    assert late[0] > late[1] >= late[2] == 0


def test_weights_decide_whose_answers_are_late() -> None:
    reversed_weights = {"queue__daq__short_weight": 100, "queue__daq__long_weight": 1}
    met, rates = [], []
    for weights in ({}, reversed_weights):
        flows, links = run("daq-incast", **weights)
        assert total(links, "drops") == flows["retransmissions"].sum() == 0
        met.append(flows["met_deadline"].drop_nulls().mean())
        long = flows.filter(pl.col("tag") == "long")["delivered_bytes"].sum()
        rates.append(long * 8 / (seconds(flows.filter(pl.col("tag") == "answers")) * 1e9))
    assert met[0] < 0.5
    assert met[1] > 0.95
    # With 1 : 100 the long flows have all but a hundredth of the link, less headers.
    assert rates[0] > 0.9 > rates[1] > 0.5
