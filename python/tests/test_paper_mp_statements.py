"""Statements of the multipath thesis without a figure: verdicts on made-up tables, and the numbers of their set-ups."""

from fractions import Fraction
from itertools import product

import polars as pl
import pytest

from flowyard.papers.figure import Scale
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS
from flowyard.theory import front_back
from flowyard_papers.mp import (
    _divide_check,
    _least_delay,
    _reads,
    buffer_rules,
    early_drop,
    partitions,
    settings,
    unequal_paths,
)


def blocks(history=1.2, arrival=1.0, requests=80.0, selected=1.2):
    """Times of a block: of Front-Back 10 ms throughout, of the others longer by a factor where paths change."""
    changing = (partitions.REDRAWN_RATES, partitions.JUMPING_DELAYS)
    factors = {partitions.HISTORY: history, partitions.ARRIVAL: arrival}
    rows = [
        {
            "condition": condition,
            "partition": partition,
            "replica": replica,
            "fct_ms": 10.0 * (factors.get(partition, 1.0) if condition in changing else 1.0) + 0.01 * replica,
            "requests": requests if partition == partitions.IDLE else 2.0,
        }
        for condition, partition, replica in product(partitions.CONDITIONS, partitions.PARTITIONS, range(3))
    ]
    model = [
        {
            "condition": condition,
            "partition": rule,
            "replica": replica,
            "fct_ms": 10.0 * (selected if changing and rule == _least_delay.ONE else 1.0),
        }
        for changing, condition in enumerate((partitions.STEADY_DELAYS, partitions.JUMPING_DELAYS))
        for rule in _least_delay.RULES
        for replica in range(3)
    ]
    return {"runs": pl.DataFrame(rows), "model": pl.DataFrame(model)}


@pytest.mark.parametrize(
    ("claim", "changes", "verdict"),
    [
        ("MP-P11", {}, PASS),
        ("MP-P11", {"history": 1.005}, FAIL),
        ("MP-P12", {}, PASS),
        ("MP-P12", {"arrival": 1.1, "selected": 1.005}, FAIL),
        ("MP-P13", {}, PASS),
        ("MP-P13", {"requests": 15.0}, FAIL),
    ],
)
def test_partitions(claim, changes, verdict):
    found = partitions.FIGURE.claims[claim](blocks(**changes))
    assert found.verdict == verdict
    assert found.verdict == PASS or claim == "MP-P13" or found.reason or found.measured


def test_arrival_times_by_both_rules():
    """The claim's own rule selects a path; that of the engine has its packets beside it."""
    found = partitions.FIGURE.claims["MP-P12"](blocks(arrival=1.1, selected=1.0))
    assert [reading.verdict for _, reading in found.readings] == [FAIL, FAIL, FAIL, PASS]


class TestLeastDelay:
    """By hand: a segment takes 12 us at the last link of a path, which it reaches after 150 us and leaves for 50 us."""

    @pytest.mark.parametrize("rule", _least_delay.RULES)
    def test_paths_at_rest_share_a_block_evenly(self, rule):
        """Of 1370 segments 685 take each path: 200 us and 685 times 12. A window lasts 540 us, a round trip 412."""
        assert _least_delay.mean_block_ms(rule, [[], []], 1) == pytest.approx(0.2 + 685 * 0.012)

    def test_what_is_given_to_a_path_stays_there(self):
        """2 ms of other traffic are before the first segment: given at once, half of all wait behind them."""
        others = [[(0.0, 2e-3)], []]
        late = _least_delay.mean_block_ms(_least_delay.AT_ONCE, others, 1)
        assert late == pytest.approx(2 + 685 * 0.012 + 0.05)
        # Front-Back leaves the rest to the other path; all work is 2 ms and 1370 segments, and half of it 9.22 ms.
        both = _least_delay.mean_block_ms(_least_delay.FRONT_BACK, others, 1)
        assert (2 + 1370 * 0.012) / 2 < both < late

    def test_a_segment_in_turn_waits_for_its_path(self):
        """45 and 45 segments are on their way, the next is for the busy path: the other idles until that answers."""
        others = [[(0.0, 2e-3)], []]
        taken = _least_delay.mean_block_ms(_least_delay.FRONT_BACK, others, 1)
        assert _least_delay.mean_block_ms(_least_delay.ONE, others, 1) > taken

    def test_the_model_has_the_bursts_of_the_packets(self):
        (bursts, _) = partitions._joining(partitions.JUMPING_DELAYS, 3)
        entries = partitions._scenario(partitions.JUMPING_DELAYS, 3)["traffic"][1:]
        assert [f"{1000 * at:.0f}ms" for at, _ in bursts] == entries[0]["arrivals"]["times"]["at"]
        assert {took for _, took in bursts} == {2e-3}
        (evenly, _) = partitions._joining(partitions.STEADY_DELAYS, 3)
        # 100 Mbps of 1 Gbps for 2 s.
        assert sum(took for _, took in evenly) == pytest.approx(0.1 * 2, rel=1e-3)


def goodputs(column, name, low):
    """Goodput of 900 Mbps, and of 100 from so many senders on."""
    return [
        {
            column: name,
            "servers": n,
            "replica": 0,
            "goodput_mbps": 100.0 if n >= low else 900.0,
            "completed": True,
        }
        for n in (1, 2, 3, 4, 5, 46)
    ]


@pytest.mark.parametrize(
    ("low", "everything", "apart", "verdicts"),
    [
        (5, 5, 99, (PASS, PASS, FAIL, PASS)),
        (5, 99, 5, (PASS, PASS, PASS, FAIL)),
        (99, 5, 5, (FAIL, FAIL, PASS, PASS)),
    ],
)
def test_settings_collapse(low, everything, apart, verdicts):
    """All three, and FUSO by its readings: with its background requests, each size by itself, with all that comes."""
    falls = {"FUSO": low, settings.APART: apart}
    rows = []
    for name, setting in settings.RUN.items():
        for kb in setting.units_kb:
            reads = goodputs("setting", name, falls.get(name, 5))
            both = goodputs("setting", name, everything)
            for row, other in zip(reads, both, strict=True):
                rows.append(row | {"unit_kb": kb, settings.EVERYTHING: other["goodput_mbps"]})
    found = settings.FIGURE.claims["MP-P14"]({"runs": pl.DataFrame(rows)})
    assert found.verdict == verdicts[0]
    readings = [reading.verdict for _, reading in found.readings]
    assert readings == [verdicts[0], PASS, PASS, *verdicts[1:]]


def test_settings_are_those_of_the_text():
    """Section 5.2.1: round trip, buffer, units, the most senders, rounds; in the scenarios that are run."""
    stated = {
        "ICTCP": ("25us", "85KB", ["64KB", "128KB", "256KB"], 46, 100, 0),
        "Tam et al.": ("25us", "128KB", ["10KB", "100KB"], 100, 100, 0),
        "FUSO": ("70us", "128KB", ["50KB"], 5, 10, 500),
        settings.APART: ("70us", "128KB", ["50KB", "500KB"], 5, 10, 0),
    }
    assert list(stated) == list(settings.RUN)
    for plan, (delay, buffer, units, most, rounds, background) in zip(
        settings.plans(Scale("full")).values(), stated.values(), strict=True
    ):
        unit, servers = plan.axes
        assert list(unit.set["traffic.reads.sizes.fixed"]) == units
        assert max(servers.labels) == most
        assert plan.set["topology.single-switch.rate"] == "1Gbps"
        assert plan.set["topology.single-switch.delay"] == delay
        assert plan.set["queue.drop-tail.limit.bytes"] == buffer
        assert plan.set["traffic.reads.arrivals.blocks.blocks"] == rounds
        senders = "traffic.requests.matrix.incast.senders"
        assert servers.set.get(senders) == (list(servers.labels) if background else None)
        if background:
            assert isinstance(plan.scenario, dict)
            reads, requests = plan.scenario["traffic"]
            assert reads["name"] == _reads.READS
            assert (requests["sizes"], requests["background"]) == ({"fixed": f"{background}KB"}, True)


def test_what_comes_in_the_background_is_goodput_only_if_asked_for(made):
    """At least as much as the reads alone, in the same time; the same where nothing comes."""
    runs = made(settings.FIGURE)["runs"]
    assert runs["completed"].all()
    beside = runs["setting"] == "FUSO"
    assert (runs.filter(beside)[settings.EVERYTHING] > runs.filter(beside)["goodput_mbps"]).all()
    assert (runs.filter(~beside)[settings.EVERYTHING] == runs.filter(~beside)["goodput_mbps"]).all()
    assert runs[settings.EVERYTHING].max() < settings.LINK_MBPS


@pytest.mark.parametrize(
    ("gains", "verdict"),
    [((40, 38, 36, 34, 32), PASS), ((40, 38, 39, 34, 32), FAIL), ((40, 40, 40, 40, 40), FAIL)],
)
def test_gain_over_the_difference_of_delays(gains, verdict):
    rows = [
        {"reading": reading, "parted": parted, "replica": replica, "gain_percent": gain + 0.1 * replica}
        for reading, (parted, gain), replica in product(
            unequal_paths.SIGNS, zip(unequal_paths.PARTED, gains, strict=True), range(3)
        )
    ]
    found = unequal_paths.FIGURE.claims["MP-P15"]({"gains": pl.DataFrame(rows)})
    assert found.verdict == verdict
    # The calculation is of the reading with a constant mean; where all other paths are farther it shows nothing.
    same, farther = (reading for _, reading in found.readings)
    assert (bool(same.calculation), farther.calculation) == (verdict == FAIL, "")


def test_two_windows_over_paths_that_part():
    """By hand: 6 links both ways and 6 segments are 6.071616 ms, in which two windows of 65,535 B go."""
    rtt_ms = 6 + 6 * 1492 * 8 / 1e6
    alike = 2e6 / (2 * 65_535) * rtt_ms
    for signs in unequal_paths.SIGNS.values():
        assert unequal_paths.window_limited_ms(0, signs) == pytest.approx(alike)
    # Two cores, one half a link's delay farther on each of its links, one nearer: 1 ms there and back if data and
    # answers take the same, which is so in two of four ways; in the others one makes up for the other.
    by_hand = 2e6 / 65_535 / (1 / (rtt_ms + 1) + 1 / (rtt_ms - 1))
    assert unequal_paths.window_limited_ms(50, (1, -1)) == pytest.approx((by_hand + alike) / 2)
    same, farther = (
        [unequal_paths.window_limited_ms(parted, signs) for parted in unequal_paths.PARTED]
        for signs in unequal_paths.SIGNS.values()
    )
    assert same == sorted(same, reverse=True)
    assert farther == sorted(farther)


def test_loss_by_buffer_rule():
    """A small buffer loses more; a port with room for all that flows can send loses nothing."""
    losses = [buffer_rules.lost(64, room, 0, 400) for room in (520, 700, 1000)]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] > 0
    assert buffer_rules.lost(2, 1e6, 0, 400) == 0


def test_servers_whose_first_windows_a_port_holds():
    """By hand: 15 KB a window; 12.5 KB hold no second one, 30 KB two beside the one on the wire."""
    assert [early_drop.bears_at_once(size) for size in (12_500, 15_000, 30_000, 44_999)] == [1, 2, 3, 3]


@pytest.mark.parametrize(("red", "tail", "verdict"), [(46, 5, PASS), (5, 46, FAIL), (5, 5, FAIL)])
def test_early_drops(red, tail, verdict):
    falls = dict.fromkeys(early_drop.QUEUES, 4) | {early_drop.RED: red, early_drop.DROP_TAIL: tail}
    runs = pl.DataFrame([row for queue, low in falls.items() for row in goodputs("queue", queue, low)])
    tables = {"runs": runs, "collapse": early_drop.before_collapse(runs)}
    assert early_drop.FIGURE.claims["MP-P17"](tables).verdict == verdict
    lost = tables | {"runs": runs.with_columns(completed=False)}
    assert early_drop.FIGURE.claims["MP-P17"](lost).verdict == NOT_REACHED


@pytest.mark.parametrize("error", [-50, -10, 25, 100])
@pytest.mark.parametrize(("larger", "owner_first"), [(False, False), (False, True), (True, True)])
def test_two_calculations_of_divide_agree(error, larger, owner_first):
    rates = [Fraction(10), Fraction(10 * (100 + error), 100)]
    paths = [front_back.Steady(rate) for rate in rates]
    outcome = front_back.divide(
        paths, 20_000, [Fraction(10)] * 2, odd_to_idle=larger, owner_first=owner_first
    )
    assert outcome.context_switches == _divide_check.context_switches(
        rates, 20_000, larger, owner_first, False
    )
