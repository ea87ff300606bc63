"""PEQ-F1.7: BCube under failures, by runs at quick scale, and that the claim can fail."""

import polars as pl
import pytest

from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard_papers.peq.degradation import FIGURE, KINDS, NETWORKS, SHARES

judge = FIGURE.claims["PEQ-F1.7.c"]


@pytest.fixture
def tables(made):
    return made(FIGURE)


def test_the_claim_holds(tables):
    assert judge(tables).verdict == PASS


def test_as_many_fail_as_the_share_says(tables):
    # 48 switches and 64 servers; shares are rounded to whole numbers.
    for kind, count in (("switches", 48), ("servers", 64)):
        rows = tables["runs"].filter(failed=kind, network="BCube")
        for share, failed, fraction in rows.select("share", "failed_nodes", "failed_fraction").iter_rows():
            assert failed == int(share * count + 0.5)
            assert fraction == failed / count


def test_only_flows_between_working_servers_are_served(tables):
    rows = tables["runs"].filter(failed="servers")
    for name, hosts in (("BCube", 64), ("fat-tree", 54), ("DCell", 56)):
        of = rows.filter(network=name)
        for failed, served in of.select("failed_nodes", "served_fraction").iter_rows():
            working = hosts - failed
            most = working * (working - 1) / (hosts * (hosts - 1))
            assert served <= most + 1e-12
            # In a fat-tree nobody relays for others: all of them are served.
            assert served == pytest.approx(most) or name != "fat-tree"


def test_throughput_is_below_what_the_cables_carry(tables):
    whole = tables["runs"].filter(share=0.0)
    # All links of BCube's servers over the mean distance of 16/7 levels; one link each for a server of the fat-tree.
    bounds = {"BCube": 64 * 3 * 63 / 64 / (3 * 3 / 4), "fat-tree": 54.0}
    for name, bound in bounds.items():
        values = whole.filter(network=name)["throughput_gbps"]
        assert 0.5 * bound < values.min() <= values.max() < bound


def fabricated(values, kind="switches"):
    """Points where BCube has these values under one kind of failures, and falls evenly under the other."""
    rows = [
        {"failed": one, "network": name, "share": share, "throughput_gbps": value}
        for one in KINDS
        for name in NETWORKS
        for share, value in zip(SHARES, values if one == kind else (60, 56, 52, 48, 44, 40), strict=True)
    ]
    return {"points": pl.DataFrame(rows, schema_overrides={"throughput_gbps": pl.Float64})}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((100, 90, 80, 70, 60, 50), PASS),
        # A drop of exactly twice the mean of 10 may be.
        ((100, 80, 75, 70, 60, 50), PASS),
        ((100, 79, 75, 70, 60, 50), FAIL),
        ((100, 100, 100, 100, 100, 50), FAIL),
        # It rises, but for a cliff.
        ((100, 110, 120, 130, 140, 100), FAIL),
    ],
)
def test_a_cliff_fails(kind, values, verdict):
    assert judge(fabricated(values, kind)).verdict == verdict


def test_other_networks_do_not_matter_and_missing_points_do(tables):
    cliff = pl.when(pl.col("network") != "BCube", share=0.2).then(0.0).otherwise("throughput_gbps")
    points = tables["points"].with_columns(throughput_gbps=cliff)
    assert judge({"points": points}).verdict == PASS
    assert judge({"points": points.remove(network="BCube", share=0.08)}).verdict == NOT_REACHED


def test_verdicts_and_picture_survive_csv(tables, tmp_path):
    for name, table in tables.items():
        table.write_csv(tmp_path / name)
    again = {name: pl.read_csv(tmp_path / name) for name in tables}
    assert judge(again) == judge(tables)
    assert FIGURE.draw
    assert len(FIGURE.draw(again).axes) == len(KINDS)
