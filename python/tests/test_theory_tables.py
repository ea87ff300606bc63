"""flowyard.theory: printed tables and equations, Front-Back against brute force, TCP's throughput."""

import random
from fractions import Fraction
from itertools import product
from math import inf, sqrt

import pytest

from flowyard.theory import bounds, front_back, goodput, loss, tables
from flowyard.theory.fat_tree import FatTree
from flowyard.theory.front_back import Steady, Varying
from flowyard.theory.loads import channel_shares, worst_loads

# The rows as printed; 5.33 and 10.67 are 16/3 and 32/3.
TABLE_3_2 = {
    "NR": (2, 8, 16, 128),
    "DNVR": (2, 8, 8, 32),
    "MDNVRk, 1/2 X paths": (None, 8, 8, 16),
    "MDNVRk, 3/4 X paths": (None, None, Fraction(16, 3), Fraction(32, 3)),
    "MDNVR": (2, 4, 4, 8),
}
TABLE_5_2 = {
    "NR": (16, 8, 4),
    "DNVR": (8, 8, 2),
    "MDNVRk, k = 4": (16, 8, 4),
    "MDNVRk, k = 2": (8, 8, 2),
    "MDNVRk, k = 4/3": (Fraction(16, 3), 4, Fraction(4, 3)),
    "MDNVR": (4, 4, 1),
}


def test_table_3_1():
    assert tables.table_3_1(FatTree(4, 3), 2) == {
        "NR": (1, 16),
        "DNVR": (1, 8),
        "MDNVRk": (1, 8),
        "MDNVR": (1, 4),
    }
    assert tables.table_3_1(FatTree(16, 2), 3)["DNVR"] == (1, 3 * 16)
    with pytest.raises(ValueError, match="k: 5"):
        tables.table_3_1(FatTree(4, 3), 5)
    with pytest.raises(ValueError, match="n = 2 and n = 3"):
        tables.table_3_1(FatTree(4, 4), 2)


def test_table_3_2_as_printed():
    rows = tables.table_3_2()
    for reading in ("formula", "counted"):
        found = {(row["tree"], row["scheme"]): row[reading] for row in rows}
        for scheme, values in TABLE_3_2.items():
            assert [found[tree, scheme] for tree in tables.TREES] == list(values), scheme


def test_table_5_1_as_printed():
    rows = tables.table_5_1()
    assert len(rows) == 16
    assert rows[:2] == [("000", "100"), ("001", "101")]
    assert rows[-1] == ("311", "011")


def test_table_5_2_as_printed_but_for_one_entry():
    rows = tables.table_5_2()
    for row in rows:
        values = (row["load_0"], row["load_1"], row["ratio"])
        if row["scheme"] == "DNVR, link_optimal":
            assert values == (4, 4, 1)
        elif row["scheme"] == "MDNVRk, k = 4/3":
            assert values == (Fraction(16, 3), Fraction(16, 3), Fraction(4, 3))
        else:
            assert values == TABLE_5_2[row["scheme"]], row
    assert len(rows) == 2 * len(TABLE_5_2) + 1


def test_the_bad_single_path_is_link_optimal():
    shares = channel_shares(tables.TREE, tables.bad_single_path())
    assert max(worst_loads(16, shares).values()) == bounds.dnvr_link(tables.TREE)


def test_bounds_of_levels():
    tree = FatTree(8, 3)
    assert [bounds.any_switch(tree, level) for level in range(3)] == [128, 32, 8]
    assert [bounds.dnvr_switch(tree, level) for level in range(3)] == [32, 32, 8]
    assert [bounds.mdnvrk_switch(tree, 8, level) for level in range(3)] == [64, 32, 8]
    assert [bounds.dnvr_ratio(tree, level) for level in range(3)] == [4, 4, 1]
    assert [bounds.dnvr_link(FatTree(m, 2)) for m in (2, 4, 8, 16, 32)] == [1, 2, 2, 3, 4]


class TestGoodput:
    def test_equation_1_6_follows_from_the_others(self):
        for servers, printed in ((5, goodput.PRINTED_SECONDS[0]), (20, goodput.PRINTED_SECONDS[1])):
            for ours, theirs in zip(goodput.seconds_fit(servers), printed, strict=True):
                assert abs(ours / theirs - 1) < 0.01
        for servers in range(1, 49):
            a, b, c = goodput.seconds_fit(servers)
            seconds = a * servers**2 + b * servers + c
            assert goodput.with_incast(servers) == servers * goodput.SENT_BYTES / seconds

    @pytest.mark.parametrize(
        ("servers", "with_mbps", "without_mbps", "gain"),
        [
            (2, 101.4, 677.1, 568),
            (4, 100.6, 807.5, 703),
            (8, 27.31, 893.5, 3172),
            (9, 28.80, 904.2, 3040),
            (16, 39.16, 943.7, 2310),
            (25, 53.38, 963.3, 1705),
        ],
    )
    def test_values(self, servers, with_mbps, without_mbps, gain):
        found = goodput.with_incast(servers), goodput.without_incast(servers)
        assert [float(each * 8 / 10**6) for each in found] == pytest.approx(
            [with_mbps, without_mbps], rel=1e-3
        )
        assert float(100 * goodput.gain(servers)) == pytest.approx(gain, rel=1e-3)

    def test_three_ways_to_the_gain(self):
        for servers in (8, 25):
            every = [by(servers) for by in (goodput.gain, goodput.gain_by_1_6, goodput.gain_by_1_8)]
            assert max(every) / min(every) < 1.01
        assert round(100 * goodput.gain_by_1_8(8)) == 3163

    def test_where_the_fit_means_nothing(self):
        negative = [servers for servers in range(1, 49) if goodput.timeouts(servers) < 0]
        assert negative == [3, 47, 48]


class TestLoss:
    def test_twice_the_flows(self):
        few, many = (loss.loss_rate(n, 83_333, Fraction(1, 1000), 100) for n in (20, 40))
        assert many == 4 * few
        assert loss.loss_rate(100, 900, 1, 100) == Fraction(87, 1000) ** 2

    def test_the_rule_from_stanford(self):
        assert loss.stanford_buffer(0.25, 1e6, 10_000) == pytest.approx(0.01 * 0.25e6)

    def test_throughput_without_timeouts_is_the_square_root_law(self):
        assert loss.padhye(1e-8, 0.1, 0.2) == pytest.approx(loss.square_root_law(1e-8, 0.1), rel=1e-3)
        assert loss.square_root_law(0.01, 0.1, packets_per_ack=1) == pytest.approx(sqrt(1.5) * 100)

    def test_throughput_by_hand(self):
        # p = 0.02, b = 2: RTT sqrt(0.08/3) + T0 min(1, 3 sqrt(0.015)) 0.02 (1 + 0.0128)
        expected = 1 / (0.1 * 0.16329932 + 0.4 * 0.36742346 * 0.02 * 1.0128)
        assert loss.padhye(0.02, 0.1, 0.4) == pytest.approx(expected)
        assert loss.padhye(0.5, 0.1, 0.4) == pytest.approx(1 / (0.1 * sqrt(2 / 3) + 0.4 * 0.5 * 9))

    def test_the_window_limits(self):
        assert loss.padhye(0, 0.1, 0.2, window=45) == 450
        assert loss.padhye(1e-4, 0.1, 0.2, window=45) == 450
        for wrong in (-0.1, 1.5):
            with pytest.raises(ValueError, match="loss"):
                loss.padhye(wrong, 0.1, 0.2)
        with pytest.raises(ValueError, match="largest window"):
            loss.padhye(0, 0.1, 0.2, window=inf)


def traces(seed, paths, segments=70):
    source = random.Random(seed)
    return [Varying([Fraction(source.randint(1, 20)) for _ in range(segments)]) for _ in range(paths)]


class TestFrontBack:
    @pytest.mark.parametrize("path", [Steady(Fraction(7, 3)), traces(1, 1, 9)[0]], ids=["steady", "varying"])
    def test_a_path_counts_what_it_ends(self, path):
        assert path.end(0) == 0
        for segments in range(1, 15):
            end = path.end(segments)
            assert path.delivered(end) == segments
            assert path.delivered(end - Fraction(1, 1000)) == segments - 1

    @pytest.mark.parametrize("paths", [1, 2, 3, 4, 5])
    def test_every_segment_is_sent_once(self, paths):
        for seed in range(30):
            some = traces(seed, paths)
            for segments in (1, 2, 7, 60):
                believed = [Fraction(1 + seed % (2 + place)) for place in range(paths)]
                for outcome in (
                    front_back.front_back(some, segments, believed),
                    front_back.divide(some, segments, believed),
                    front_back.divide_once(some, segments, believed),
                ):
                    ends = [0, *(high for _, _, high in outcome.pieces)]
                    assert [low for _, low, _ in outcome.pieces] + [segments] == ends
                    assert outcome.finish_s >= front_back.earliest(some, segments)
                    assert outcome.context_switches >= 0

    def test_two_paths_never_jump_and_finish_within_a_segment(self):
        for seed in range(50):
            some = traces(seed, 2)
            outcome = front_back.front_back(some, 40)
            assert outcome.context_switches == 0
            assert outcome.finish_s <= front_back.earliest(some, 40) + 20

    def test_no_division_finishes_earlier_by_brute_force(self):
        for seed in range(20):
            some = traces(seed, 2)
            best = min(
                max(some[0].end(owners.count(0)), some[1].end(owners.count(1)))
                for owners in product((0, 1), repeat=9)
            )
            assert front_back.earliest(some, 9) == best

    def test_figure_4_3_by_hand(self):
        slow = [Steady(Fraction(10)), Steady(Fraction(5))]
        believed = [Fraction(10)] * 2
        outcome = front_back.front_back(slow, 200_000, believed)
        # At 13,333.2 s path 0 begins its 133,333rd segment and path 1 its 66,667th, the last one.
        assert outcome.finish_s == Fraction(133_334, 10)
        assert outcome.pieces == ((0, 0, 133_333), (1, 133_333, 200_000))
        assert front_back.divide_once(slow, 200_000, believed).finish_s == 20_000
        # In rounds of 100,000, 25,000, 6,250 ... segments of path 1, until nothing is left.
        divided = (
            front_back.divide(slow, 200_000, believed, owner_first=True),
            front_back.divide(slow, 200_000, believed),
        )
        assert [outcome.context_switches for outcome in divided] == [8, 9]
        assert front_back.divide([Steady(Fraction(10))] * 2, 200_000, believed).context_switches == 0

    def test_divide_by_hand(self):
        # 12 segments at 2 and at 1 a second, believed alike: path 0 ends 6 at 3 s, when path 1 has three left.
        # Of these path 0 gets the smaller half, one; path 0 ends its own at 3.5 s and path 1 at 5 s.
        outcome = front_back.divide([Steady(Fraction(2)), Steady(Fraction(1))], 12, [Fraction(1)] * 2)
        assert outcome.pieces == ((0, 0, 6), (1, 6, 11), (0, 11, 12))
        assert outcome.finish_s == 5
        assert outcome.context_switches == 1

    def test_pairs_of_figure_4_5(self):
        rates = {1: Fraction(3), 2: Fraction(4), 3: Fraction(6), 4: Fraction(7)}
        assert front_back.pairings(rates) == [(1, 4), (2, 3)]
        assert front_back.pairings({**rates, 1: Fraction(1)}) == [(1, 4), (2, 3)]
        assert front_back.pairings({**rates, 1: Fraction(5)}) == [(1, 3), (2, 4)]
        assert front_back.pairings({1: Fraction(1), 2: Fraction(2), 3: Fraction(3)}) == [(1, 2), (3,)]

    def test_segments_by_turns_are_the_worst_case(self):
        assert front_back.alternating(10).context_switches == 8
