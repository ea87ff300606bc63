"""Why the slow flows of a run are slow: parts of their completion times beside those of flows of the middle half.

Of each size group some of the slowest 1 % and of the middle half by slowdown are drawn by the run's seed; it is
made again with their events.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from flowyard.analysis.completion import SIZE_GROUPS
from flowyard.results import Result
from flowyard.why import Answer, again, divided
from flowyard.why.losses import transport_of
from flowyard.why.path import by_flow, totals
from flowyard.why.ports import Port, ports

if TYPE_CHECKING:
    import polars as pl

SLOWEST, MIDDLE = "slowest 1 %", "middle half"
# Flows that are drawn of each set, over all size groups.
DRAWN = 200
# Rows of events that are read for them; flows that need more are left out.
ROWS = 1_200_000
# Rows of ports that are read: of all their packets, and of their pauses.
LINK_ROWS = 1_200_000

Row = dict[str, Any]


@dataclass(frozen=True)
class Group:
    """Flows of one size group and one set, with the mean of each part of their times.

    Attributes:
        size: The size group.
        set: SLOWEST or MIDDLE.
        flows: So many flows are in the set.
        answers: Those of them that were drawn and explained.
    """

    size: str
    set: str
    flows: int
    answers: Sequence[Answer]

    @property
    def means(self) -> dict[str, float]:
        """The mean time of each part in ps."""
        return means([answer.totals for answer in self.answers])


@dataclass(frozen=True)
class Slow:
    """Why the slow flows of a run are slow.

    Attributes:
        groups: The sets by size group.
        left_out: Flows that were drawn, and need too many events.
        waits: Links at which the slowest flows waited, with the time in ps, longest first.
        whose: For packets of flows of which size they waited at the first of these links, in ps; "the same flow" apart.
        read: The number of these links whose packets were read for that.
        by_flow: The answers of flows by number, their waits divided as `flowyard why` does.
        undivided: Links at which the flows waited, with too many packets to read: waits there are queue or pauses.
    """

    groups: Sequence[Group]
    left_out: int
    waits: Sequence[tuple[str, str, int]]
    whose: Mapping[str, int]
    read: int
    by_flow: Mapping[int, Answer]
    undivided: int = 0

    @property
    def slowest(self) -> list[Answer]:
        """The answers of the slowest flows."""
        return [answer for group in self.groups if group.set == SLOWEST for answer in group.answers]


def means(all_totals: Sequence[Mapping[str, int]]) -> dict[str, float]:
    """The mean of each part over flows, in ps."""
    sums: Counter[str] = Counter()
    for each in all_totals:
        sums.update(each)
    return {name: total / len(all_totals) for name, total in sums.items()}


def slow_flows(run: Result, more: Sequence[int] = ()) -> Slow | None:
    """Why the slow flows of a run are slow; None where no flow is complete.

    Args:
        run: The run.
        more: Further flows to explain, such as those that were slow in another run.

    Raises:
        UserError: The run cannot be made again.
    """
    flows = run.flows.to_polars()
    flows = flows.filter(flows["measured"] & flows["slowdown"].is_not_null())
    if flows.is_empty():
        return None
    chosen = _chosen(flows, random.Random(f"why {run.summary['seed']}"))
    wanted = [row for _, _, _, rows in chosen for row in rows]
    extra = flows.filter(flows["id"].is_in(list(more)))
    wanted += list(extra.iter_rows(named=True))
    kept = _affordable(run, wanted)
    found = _explained(run, kept)
    slowest = [
        found[row["id"]]
        for _, name, _, rows in chosen
        if name == SLOWEST
        for row in rows
        if row["id"] in found
    ]
    waits = _waits(slowest)
    # First of all the ports where the slowest waited.
    order = list(dict.fromkeys(link for link, _ in [*waits, *_waits(list(found.values()))]))
    histories, paused = _histories(run, order)
    answers = {
        flow: replace(answer, parts=by_flow(answer.parts, flow, histories | paused))
        for flow, answer in found.items()
    }
    groups = [
        Group(size, name, number, [answers[row["id"]] for row in rows if row["id"] in answers])
        for size, name, number, rows in chosen
    ]
    groups = [group for group in groups if group.answers]
    names = run.links.to_polars()
    told = [
        (f"{names['from'][link]} -> {names['to'][link]}", str(names["tier"][link]), time)
        for link, time in waits
    ]
    read = sum(link in histories for link, _ in waits)
    whose = _whose(run, [answers[answer.flow] for answer in slowest], histories)
    left_out = len({row["id"] for row in wanted} - answers.keys())
    return Slow(groups, left_out, told, whose, read, answers, len(order) - len(histories))


def size_group(size_bytes: int) -> str:
    """The size group of a flow."""
    return next(name for upper, name in SIZE_GROUPS if upper is None or size_bytes <= upper)


def _chosen(flows: "pl.DataFrame", stream: random.Random) -> list[tuple[str, str, int, list[Row]]]:
    """Size group, set, its number of flows, and the flows that are drawn from it."""
    by_size: dict[str, list[Row]] = defaultdict(list)
    for row in flows.sort("slowdown", "id").iter_rows(named=True):
        by_size[size_group(row["size_bytes"])].append(row)
    each = DRAWN // len(by_size)
    found = []
    for size in (name for _, name in SIZE_GROUPS if name in by_size):
        rows = by_size[size]
        slow = rows[len(rows) - max(1, len(rows) // 100) :]
        middle = rows[len(rows) // 4 : max(3 * len(rows) // 4, len(rows) // 4 + 1)]
        for name, members in ((SLOWEST, slow), (MIDDLE, middle)):
            drawn = stream.sample(members, min(each, len(members)))
            found.append((size, name, len(members), drawn))
    return found


def _affordable(run: Result, rows: Sequence[Row]) -> list[Row]:
    """Of these flows, in turn, those whose events there is room for: first of all the smallest."""
    flows = run.flows.to_polars()
    packets = max(int(flows["packets_sent"].sum()), 1)
    a_packet = again.ROWS_A_HOP * run.summary["counters"]["packet_hops"] / packets + 2
    kept, room = {}, float(ROWS)
    for row in sorted(rows, key=lambda row: (row["packets_sent"], row["id"])):
        needed = row["packets_sent"] * a_packet
        if row["id"] not in kept and needed <= room:
            kept[row["id"]] = row
            room -= needed
    return list(kept.values())


def _explained(run: Result, rows: Sequence[Row]) -> dict[int, Answer]:
    """The answers of flows by number, of one run."""
    if not rows:
        return {}
    made = again.of_flows(run, [row["id"] for row in rows], 2 * ROWS)
    assert made.events is not None
    events, links = made.events.to_polars(), made.links.to_polars()
    cut = (made.summary["observed"]["events"] or {}).get("cut_off_ps")
    own = {
        key[0]: part for key, part in events.partition_by("flow", as_dict=True, maintain_order=True).items()
    }
    answers = {}
    for row in rows:
        whole = cut is None or row["start_ps"] + row["fct_ps"] < cut
        if whole and row["id"] in own:
            transport = transport_of(run.summary["scenario"], row["tag"])
            answers[row["id"]] = divided(row, again.rows_of(own[row["id"]]), links, transport=transport)
    return answers


def _waits(answers: Sequence[Answer]) -> list[tuple[int, int]]:
    """Links at which flows waited, with the time in ps, longest first."""
    sums: Counter[int] = Counter()
    for answer in answers:
        for part in answer.parts:
            if part.waits and part.link is not None:
                sums[part.link] += part.until_ps - part.from_ps
    return sorted(sums.items(), key=lambda item: (-item[1], item[0]))


def _histories(run: Result, links: Sequence[int]) -> tuple[dict[int, Port], dict[int, Port]]:
    """Histories of ports by link: of the first ones, as many as there is room for, and of the others only pauses."""
    table = run.links.to_polars()
    first: list[int] = []
    rows = 0
    for link in links:
        rows += 2 * int(table["packets"][link])
        if rows > LINK_ROWS:
            break
        first.append(link)
    pausing = [link for link in links[len(first) :] if table["pauses"][link]]
    return (
        _read(run, first, ["started", "paused"]),
        _read(run, pausing, ["paused"]),
    )


def _read(run: Result, links: Sequence[int], kinds: Sequence[str]) -> dict[int, Port]:
    """Histories of the ports of these links, of events of these kinds; one without events has an empty history."""
    if not links:
        return {}
    table = run.links.to_polars()
    names = [f"{table['from'][link]} -> {table['to'][link]}" for link in links]
    made = again.of_ports(run, names, 0, run.summary["end_ps"], kinds)
    assert made.events is not None
    rates = dict(zip(table["id"], table["rate_bps"], strict=True))
    return {link: Port(link) for link in links} | ports(made.events.to_polars().iter_rows(named=True), rates)


def _whose(run: Result, slow: Sequence[Answer], histories: Mapping[int, Port]) -> dict[str, int]:
    """For packets of which flows the slow ones waited at these ports, in ps, longest first."""
    sizes = dict(run.flows.to_polars().select("id", "size_bytes").iter_rows())
    sums: Counter[str] = Counter()
    for answer in slow:
        sums.update(_by_size(answer, histories, sizes))
    return dict(sums.most_common())


def _by_size(answer: Answer, histories: Mapping[int, Port], sizes: Mapping[int, int]) -> dict[str, int]:
    """For packets of which flows it waited at these ports, by their size, in ps."""
    sums: Counter[str] = Counter()
    for part in answer.parts:
        if not (part.waits and part.link in histories):
            continue
        if part.of is None:
            name = "no packet: a pause, or an idle port"
        elif part.of == answer.flow:
            name = "the same flow"
        else:
            name = f"flows {size_group(sizes[part.of])}"
        sums[name] += part.until_ps - part.from_ps
    return dict(sums)


def difference(one: Slow, other: Slow, flows: Sequence[int]) -> dict[str, float]:
    """Where the difference of the mean completion time of flows in two runs comes from: by part, in ps.

    Args:
        one: The first run.
        other: The other one.
        flows: Flows that are explained in both.
    """
    before, after = (means([totals(each.by_flow[flow].parts) for flow in flows]) for each in (one, other))
    names = dict.fromkeys([*before, *after])
    return {name: after.get(name, 0.0) - before.get(name, 0.0) for name in names}
