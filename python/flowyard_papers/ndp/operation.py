"""Figures 4 and 5, the operation of NDP, checked packet by packet in what runs capture.

N senders on one switch send 100 packets each to one receiver; every cable is captured. The receiver's cable shows data
and headers that come and ACKs, NACKs and PULLs that go; those of the senders show which packet follows a NACK; and what
enters and leaves the receiver's port at the switch shows whom it serves. For the last, all senders push so much at once
that both queues wait for long, and the header queue is large enough to lose nothing.

From 32 senders on the first window alone is more than both queues hold (that of headers has as many bytes as the other,
as in the paper on NDP), and headers are lost. They count for claim NDP-F4.b, and every flow has to end; below that none
may be lost.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.ndp import _packets as packets
from flowyard_papers.ndp._scheduler import ANSWER_NS, ASSUMED, NDP, PACKET_BYTES, PORTS, SLOT_NS, WINDOW

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SENDERS = (1, 2, 4, 8, 32, 100)
# Whose first windows fit into the two queues of the port: 8 packets and 187 headers.
FITTING = (1, 2, 4, 8)
# The run of turns has room for all headers of the first windows.
BUSIEST, ROOM = 100, 100 * WINDOW
PACKETS, DELAY_NS = 100, 9500
# The receiver's answers of one instant: PULLs leave behind them.
SLACK_NS = 3 * ANSWER_NS
INCAST, TURNS = "incast", "turns"


def plans() -> dict[str, Plan]:
    """The same at both scales."""
    scenario = {
        "topology": {"single-switch": {"hosts": 2, "rate": "1Gbps", "delay": f"{DELAY_NS}ns"}},
        "transport": NDP,
        "queue": PORTS,
        "traffic": [
            {
                "name": "flows",
                "arrivals": "at-once",
                "matrix": {"incast": {"senders": 1, "receiver": 0}},
                "sizes": {"fixed": f"{PACKETS * PACKET_BYTES}B"},
            }
        ],
        "observe": {"capture": {"links": ["*"]}},
    }
    senders = Axis(
        "senders",
        {
            "topology.single-switch.hosts": [n + 1 for n in SENDERS],
            "traffic.flows.matrix.incast.senders": list(SENDERS),
        },
        labels=SENDERS,
    )
    busy = {
        "topology.single-switch.hosts": BUSIEST + 1,
        "traffic.flows.matrix.incast.senders": BUSIEST,
        "queue": {"ndp": {"header_limit": {"packets": ROOM}, "trim": "arriving"}},
    }
    return {
        INCAST: Plan(scenario, [senders], name="incast"),
        TURNS: Plan(scenario, set=busy, name="both queues wait"),
    }


def tables(sweeps: Sweeps) -> Tables:
    """Counts and replays of each number of senders; what the busy port served; the gaps between PULLs."""
    sweep, counts, gaps = sweeps[INCAST], [], []
    flows = sweep.flows.collect()
    for row in sweep.runs.sort("senders").iter_rows(named=True):
        cables = list(_cables(sweep.path(row["run"])))
        receiver, *others = cables
        own = flows.filter(run=row["run"])
        counts.append({"senders": row["senders"]} | _counts(own, receiver, others))
        sent = _pulls(receiver)["time_ns"].diff().drop_nulls().value_counts().sort("time_ns")
        gaps += [{"senders": row["senders"], "gap_ns": gap, "pulls": n} for gap, n in sent.iter_rows()]
    (busy,) = sweeps[TURNS].runs["run"]
    receiver, *others = _cables(sweeps[TURNS].path(busy))
    arrived = pl.concat(one.filter(packets.is_data()) for one in others)
    served = packets.turns(arrived, receiver.filter(packets.is_data()), DELAY_NS)
    drops = sweeps[TURNS].flows.select(pl.col("drops").sum()).collect().item()
    turns = pl.DataFrame([{"senders": BUSIEST, "dropped": int(drops)} | served])
    return {"counts": pl.DataFrame(counts), "turns": turns, "gaps": pl.DataFrame(gaps)}


def _cables(run: Path) -> Iterator[pl.DataFrame]:
    """The packets of each host's cable: the receiver's first, then those of the senders."""
    files = sorted((run / "pcap").glob("*.pcap"), key=lambda path: int(path.name.split("-")[0]))
    for path in files:
        yield packets.read(path)


def _pulls(cable: pl.DataFrame) -> pl.DataFrame:
    return cable.filter(kind=packets.PULL)


def _counts(flows: pl.DataFrame, receiver: pl.DataFrame, others: list[pl.DataFrame]) -> dict[str, int]:
    came = receiver.filter(packets.is_data())
    pulls = _pulls(receiver)["time_ns"]
    before = DELAY_NS + ANSWER_NS
    replays = [packets.new_before_repeats(one, WINDOW, DELAY_NS + SLOT_NS) for one in others]
    return {
        "sent": int(flows["packets_sent"].sum()),
        "data": came.filter(~pl.col("trimmed")).height,
        "headers": came.filter("trimmed").height,
        "dropped": int(flows["drops"].sum()),
        "timeouts": int(flows["timeouts"].sum()),
        "delivered": int(flows["delivered_bytes"].sum()) // PACKET_BYTES,
        "acks": receiver.filter(kind=packets.ACK).height,
        "nacks": receiver.filter(kind=packets.NACK).height,
        "pulls": len(pulls),
        "pulls_ahead_ns": packets.ahead(pulls.to_numpy(), SLOT_NS),
        **packets.pull_queue(receiver, dict.fromkeys(flows["id"], PACKETS), before, SLACK_NS),
        "repeats": sum(repeats for repeats, _ in replays),
        "new_before_repeats": sum(early for _, early in replays),
    }


def _rows(tables: Tables, senders: tuple[int, ...]) -> list[dict[str, Any]] | None:
    rows = list(tables["counts"].filter(pl.col("senders").is_in(senders)).iter_rows(named=True))
    return rows if len(rows) == len(senders) else None


MISSING = judge.not_reached("not every number of senders was run")


def _spacing(tables: Tables) -> Judgement:
    gaps = tables["gaps"].filter(senders=1)
    if gaps["pulls"].sum() < PACKETS - 2:
        return judge.not_reached("too few PULLs of the flow that is alone")
    rows = [(f"{row['pulls']} gaps, ns", row["gap_ns"], SLOT_NS) for row in gaps.iter_rows(named=True)]
    return judge.all_exactly(rows, "gaps between PULLs")


def _no_silent_loss(tables: Tables) -> Judgement:
    rows = _rows(tables, SENDERS)
    if rows is None:
        return MISSING
    if not sum(row["headers"] for row in rows):
        return judge.not_reached("no data queue was ever full")
    checks: list[tuple[str, judge.Value, judge.Value]] = []
    for row in rows:
        where, fates = f"{row['senders']} senders: ", row["data"] + row["headers"] + row["dropped"]
        checks.append((where + "delivered whole, trimmed or lost", fates, row["sent"]))
        checks.append((where + "new data", row["delivered"], row["senders"] * PACKETS))
        if row["senders"] in FITTING:
            checks.append((where + "headers lost", row["dropped"], 0))
    lost = ", ".join(f"{row['dropped']} with {row['senders']} senders" for row in rows if row["dropped"])
    return judge.all_exactly(checks, "counts").noted(f"headers lost: {lost or 'none'}")


def _pull_rate(tables: Tables) -> Judgement:
    rows = _rows(tables, SENDERS)
    if rows is None or min(row["pulls"] for row in rows) < PACKETS - 1:
        return MISSING
    worst = max(row["pulls_ahead_ns"] for row in rows)
    return judge.at_most(worst, SLACK_NS).because("ns by which PULLs come sooner than one each 12 us")


def _answers(tables: Tables) -> Judgement:
    rows = _rows(tables, SENDERS)
    if rows is None:
        return MISSING
    checks = []
    for row in rows:
        where = f"{row['senders']} senders: "
        checks += [
            (where + "ACKs", row["acks"], row["data"]),
            (where + "NACKs", row["nacks"], row["headers"]),
            (where + "PULLs that nothing asked for", row["unasked"], 0),
            (where + "PULLs that are due and do not come", row["late"], 0),
        ]
        if row["senders"] == 1:
            # The last packet, with which the PULLs of the flow are removed, queues none.
            checks.append((where + "PULLs", row["pulls"], row["data"] + row["headers"] - 1))
    return judge.all_exactly(checks, "counts")


def _repeats_first(tables: Tables) -> Judgement:
    rows = _rows(tables, SENDERS)
    if rows is None:
        return MISSING
    repeats = sum(row["repeats"] for row in rows)
    if not repeats:
        return judge.not_reached("nothing was sent again")
    early = sum(row["new_before_repeats"] for row in rows)
    measured = f"{early} new packets before one that was NACKed, {repeats} repeats"
    return judge.judged(early == 0, measured, "0 new packets")


def _ten_to_one(tables: Tables) -> Judgement:
    row = tables["turns"].row(0, named=True)
    if row["dropped"] or row["data"] < 50:
        return judge.not_reached("headers were dropped, or both queues waited for less than 50 packets")
    return judge.within(row["headers"] / row["data"], 10, relative=0.02).noted(
        f"not the set-up of the other claims: the arriving packet is trimmed, and the queue holds {ROOM} headers"
    )


def draw(tables: Tables) -> "Picture":
    """Fates of packets, the gaps between PULLs, and the answers."""
    picture, (fates, gaps, answers) = style.panels(1, 3)
    counts = tables["counts"]
    places = list(range(len(counts)))
    below = [0.0] * len(counts)
    for name, colour in (("data", 2), ("headers", 0), ("dropped", 1)):
        height = (counts[name] / counts["sent"] * 100).to_list()
        label = {"data": "delivered", "headers": "trimmed", "dropped": "header lost"}[name]
        fates.bar(places, height, bottom=below, color=style.COLOURS[colour], label=label)
        below = [a + b for a, b in zip(below, height, strict=True)]
    fates.set(ylabel="of the packets sent (%)", title="fate of packets")
    for senders, line in zip((1, 8, BUSIEST), style.COLOURS, strict=False):
        rows = tables["gaps"].filter(senders=senders)
        share = (rows["pulls"].cum_sum() / rows["pulls"].sum()).to_numpy()
        gaps.step(
            (rows["gap_ns"] / 1000).to_numpy(), share, where="post", color=line, label=f"{senders} senders"
        )
    gaps.set(xlabel="gap between PULLs (us)", ylabel="share", xlim=(8, 20), title="12 us is a packet's time")
    for name, marker in (("data", "o"), ("acks", "x"), ("headers", "s"), ("nacks", "+"), ("pulls", "^")):
        answers.plot(places, counts[name], marker, fillstyle="none", markersize=8, label=name)
    answers.set(ylabel="packets at the receiver", title="what comes, what is answered", yscale="symlog")
    for axes in (fates, answers):
        axes.set_xticks(places, [str(n) for n in counts["senders"]])
        axes.set_xlabel("senders")
    for axes in (fates, gaps, answers):
        axes.legend(loc="lower right", frameon=True)
    return picture


FIGURE = Figure(
    id="NDP-F4-5",
    title="Figures 4 and 5: the operation of NDP, packet by packet",
    plans=plans,
    tables=tables,
    claims={
        "NDP-F4.a": _spacing,
        "NDP-F4.b": _no_silent_loss,
        "NDP-F4.c": _pull_rate,
        "NDP-F4.d": _answers,
        "NDP-F5.a": _repeats_first,
        "NDP-F5.b": _ten_to_one,
    },
    draw=draw,
    assumed=(
        *ASSUMED,
        "A PULL leaves the host behind ACKs and NACKs of the same instant: up to 3 of them, 1.5 us, are allowed for.",
        "The turns of the two queues are read from a run in which the arriving packet is the one that is trimmed, so "
        "that it is known when a header began to wait.",
    ),
)
