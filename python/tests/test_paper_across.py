"""ALL-3, ALL-4, ALL-6 to ALL-8: incast, ECMP under rates and under windows, balancers, transports, controls of RoCE."""

import numpy as np
import polars as pl
import pytest
from conftest import drawn_from_csv

import flowyard as fy
from flowyard.papers import style
from flowyard.papers.figure import Scale
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard_papers.across import _short_long, by_flow, incast, one_picture, roce_controls, which_balancer


def changed(table, column, value, **rows):
    """A table with another value in some rows, of which there are some."""
    chosen = pl.all_horizontal([pl.col(name) == one for name, one in rows.items()])
    assert not table.filter(chosen).is_empty()
    return table.with_columns(pl.when(chosen).then(pl.lit(value)).otherwise(column).alias(column))


def readings(found):
    return {name: one.verdict for name, one in found.readings}


class TestIncast:
    figure = incast.FIGURE

    def test_claim(self, made):
        """DAQ's start with one server alone is below the link's share; nobody but Reno collapses."""
        found = self.figure.claims["ALL-3"](made(self.figure))
        assert readings(found) == {incast.LINK: FAIL, incast.HALF: PASS}
        assert found.reason.startswith("DAQ with 1 (")
        assert len(drawn_from_csv(self.figure, made(self.figure)).axes) == 2

    def test_only_reno_loses(self, made):
        runs = made(self.figure)["runs"].filter(size_bytes=incast.JUDGED, servers=100)
        by = {row["scheme"]: row for row in runs.iter_rows(named=True)}
        assert by[incast.RENO]["drops"] > 0
        assert by[incast.RENO]["timeouts"] > 0
        for scheme in (incast.DAQ, incast.SYN, incast.ASY):
            assert (by[scheme]["drops"], by[scheme]["timeouts"]) == (0, 0)

    @pytest.mark.parametrize("scheme", incast.SCHEMES)
    def test_can_pass_and_fail(self, made, scheme):
        runs = made(self.figure)["runs"]
        judge = self.figure.claims["ALL-3"]
        even = runs.with_columns(goodput=pl.lit(0.95))
        good = changed(even, "goodput", 0.1, scheme=incast.RENO, servers=32)
        assert set(readings(judge({"runs": good})).values()) == {PASS}
        if scheme == incast.RENO:
            assert set(readings(judge({"runs": even})).values()) == {FAIL}
            return
        below = changed(good, "goodput", 0.89, scheme=scheme, servers=8)
        assert readings(judge({"runs": below})) == {incast.LINK: FAIL, incast.HALF: PASS}
        collapsed = changed(good, "goodput", 0.4, scheme=scheme, servers=8)
        assert set(readings(judge({"runs": collapsed})).values()) == {FAIL}

    def test_what_is_missing_is_not_judged(self, made):
        runs, judge = made(self.figure)["runs"], self.figure.claims["ALL-3"]
        assert judge({"runs": runs.remove(scheme=incast.ASY)}).verdict == NOT_REACHED
        assert judge({"runs": runs.filter(pl.col("servers") < 100)}).verdict == NOT_REACHED
        never = changed(runs, "goodput", None, scheme=incast.RENO, servers=100)
        assert judge({"runs": never}).verdict == NOT_REACHED


class TestByFlow:
    figure = by_flow.FIGURE

    def test_claim(self, made):
        found = self.figure.claims["ALL-4"](made(self.figure))
        assert found.verdict == PASS
        assert "under ASY" in found.note
        assert len(drawn_from_csv(self.figure, made(self.figure)).axes) == 3

    def test_can_fail(self, made):
        tables, judge = made(self.figure), self.figure.claims["ALL-4"]
        by_packet = tables["rates"].filter(balancer=by_flow.PACKET)["fct_mean_us"][0]
        for factor, verdict in ((1.24, PASS), (1.26, FAIL)):
            rates = changed(tables["rates"], "fct_mean_us", factor * by_packet, balancer=by_flow.FLOW)
            assert judge({**tables, "rates": rates}).verdict == verdict
        slow = changed(tables["rates"], "network_median_us", 500.0, balancer=by_flow.FLOW)
        assert judge({**tables, "rates": slow}).verdict == FAIL
        even = tables["ndp_runs"].with_columns(goodput_gbps=pl.lit(1.0))
        assert judge({**tables, "ndp_runs": even}).verdict == FAIL
        quick = tables["mp_long"].with_columns(goodput_mbps=1.0 * pl.col("scheme").str.len_chars())
        assert judge({**tables, "mp_long": quick}).verdict == FAIL
        one = tables["rates"].filter(balancer=by_flow.FLOW)
        assert judge({**tables, "rates": one}).verdict == NOT_REACHED


def names_of(part):
    """The members of a part of scenarios, as the schema has them."""
    names = set()
    for choice in fy.schema()["$defs"][part]["oneOf"]:
        names |= set(choice.get("enum", choice.get("required", [choice.get("const")])))
    return names


def used(part):
    """The name of what a scenario has at a field, which is a name or a table of one key."""
    return part if isinstance(part, str) else next(iter(part))


def labels(picture):
    """Of the first panel's rows."""
    return [label.get_text() for label in picture.axes[0].get_yticklabels()]


class TestWhichBalancer:
    figure = which_balancer.FIGURE

    def test_a_row_for_each_run_and_all_flows_end(self, made):
        runs = made(self.figure)["runs"]
        # Five balancers on the leaf-spine, four on the tree; three conditions; two workloads of TCP and one of RoCE.
        assert len(runs) == (5 + 4) * 3 * (2 + 1)
        assert runs["unfinished"].sum() == 0
        assert not runs["short_p99_slowdown"].has_nulls()
        assert (runs["short_p99_slowdown"] >= 1).all()

    def test_the_picture_has_a_row_for_each_balancer(self, made):
        picture = drawn_from_csv(self.figure, made(self.figure))
        assert len(picture.axes) == 12
        assert labels(picture) == list(which_balancer.QUICK)

    def test_each_balancer_is_there_or_left_out_by_name(self):
        there = {used(balancer) for balancer, _ in which_balancer.BALANCERS.values()}
        fixed = {"single", "nix", "dual", "mod-k", "valiant", "spain"}
        # Of entropy values, of a controller, of a list, of a class in Python.
        needs_more = {"entropy", "granted", "explicit", "python"}
        assert names_of("Balancer") == there | fixed | needs_more

    def test_the_load_is_that_of_the_links_between_switches(self):
        """Of 80 Gbps of a leaf's hosts 24 / 31 go up by 40 Gbps; of 16 of a tree 12 / 15 by as many links."""
        fabrics = which_balancer._fabrics(Scale.FULL)
        _, leaves, _ = fabrics[which_balancer.LEAVES]
        _, tree, _ = fabrics[which_balancer.TREE]
        assert leaves * 80 * 24 / 31 / 40 == pytest.approx(which_balancer.LOAD)
        assert tree * 12 / 15 == pytest.approx(which_balancer.LOAD)

    def test_a_slow_cable_shows_under_a_balancer_that_sees_nothing(self, made):
        runs = made(self.figure)["runs"].filter(
            fabric=which_balancer.LEAVES, transport=which_balancer.DCTCP, workload=which_balancer.WEB
        )
        by = dict(runs.filter(balancer="per packet").select("condition", "long_mean_slowdown").iter_rows())
        assert by[which_balancer.SLOW] > by[which_balancer.HEALTHY]


class TestOnePicture:
    figure = one_picture.FIGURE

    def test_a_row_for_each_run_and_all_flows_end(self, made):
        runs = made(self.figure)["runs"]
        assert len(runs) == len(one_picture.QUICK) * len(one_picture.LOADS) * len(one_picture.WORKLOADS)
        assert runs["unfinished"].sum() == 0
        assert ((runs["long_goodput_share"] > 0) & (runs["long_goodput_share"] < 1)).all()

    def test_the_picture_has_a_row_for_each_transport(self, made):
        picture = drawn_from_csv(self.figure, made(self.figure))
        assert len(picture.axes) == 6
        assert labels(picture) == list(one_picture.QUICK)

    def test_each_transport_is_there_or_left_out_by_name(self):
        there = {used(one["transport"]) for one in one_picture.TRANSPORTS.values()}
        assert names_of("Transport") == there | {"datagram", "d3", "python"}

    def test_incasts_are_as_many_for_each_flow_as_the_window_counts(self):
        """A fifth of the load in flows of 32 KB, four fifths in those of web search, of 1.6 MB on average."""
        part = one_picture.INCAST_PART
        each = part / (1 - part) * 1_600_000 / one_picture.INCAST_BYTES
        assert pytest.approx(each, rel=0.05) == one_picture.INCASTS_EACH


class TestRoceControls:
    figure = roce_controls.FIGURE

    def test_a_row_for_each_run_and_all_flows_end(self, made):
        runs = made(self.figure)["runs"]
        assert len(runs) == 2 * len(roce_controls.QUICK)
        assert runs["unfinished"].sum() == 0
        assert not runs["incast_p99_slowdown"].has_nulls()
        assert ((runs["fullest_port_share"] > 0) & (runs["fullest_port_share"] < 1)).all()

    def test_pauses_are_of_the_networks_that_pause(self, made):
        """Without a control an incast pauses links; ports that pause drop nothing, and those that drop do not pause."""
        by = {row["by"]: row for row in made(self.figure)["runs"].iter_rows(named=True)}
        assert by["no control, pauses"]["pauses"] > 0
        assert by["no control, pauses"]["paused_share"] > 0
        for name, row in by.items():
            assert row["pauses"] == 0 or name.endswith(roce_controls.PAUSES), name
            assert row["drops"] == 0 or name.endswith(roce_controls.LOSSES), name

    def test_the_picture_has_a_row_for_each_control_in_both_networks(self, made):
        picture = drawn_from_csv(self.figure, made(self.figure))
        assert len(picture.axes) == len(roce_controls.MEASURES)
        both = (roce_controls.PAUSES, roce_controls.LOSSES)
        assert labels(picture) == [f"{name}, {ports}" for name in roce_controls.QUICK for ports in both]

    def test_each_control_is_there_or_left_out_by_name(self):
        there = {control["congestion"] for control in roce_controls.CONTROLS.values()}
        # DCQCN as the HPCC simulator has it, and a control for Ethernet that has no acknowledgements.
        assert names_of("RateControl") == there | {"dcqcn-hpcc", "qcn"}


def test_what_did_not_end_is_not_shown():
    """Neither as the tail of those that ended, nor as a dot of the replicas that are left."""
    rows = pl.DataFrame({"by": ["a", "a", "b"], "value": [2.0, None, 3.0]})
    picture = style.panels()[0]
    (axes,) = picture.axes
    look = {"color": "black", "marker": "o", "shift": 0.0}
    _short_long.dots(axes, rows, "by", ["a", "b"], "value", look)
    (line,) = axes.lines
    assert np.asarray(line.get_xydata()).tolist() == [[3.0, 1.0]]
