"""Memory that ports share: full queues under dynamic thresholds and ABM; tails of short flows beside incasts.

Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches", 1998. Addanki et al., "ABM:
Active buffer management in datacenters", SIGCOMM 2022.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, by_reading, judged, not_reached
from flowyard.sweeps import Axis, Plan
from flowyard_papers.literature import _tails
from flowyard_papers.literature._tails import ABM, ALPHA, DT, MEMORY

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

WIRE, TWO = 1500, "ABM, two classes"
MEMBERS = {**_tails.MEMBERS, TWO: "abm"}
# Over which ABM takes drain rates: in the authors' code for RDMA, and in that for TCP, where it is 25 packets.
UPDATES_US = (25, 30)
# Full queues, of one class or of each of two; the ports of the latter are twice as many.
QUEUES = (1, 2, 4, 8, 16)


def expected(buffer: str, queues: int) -> float:
    """Bytes of each of so many full queues of a class, by the closed forms."""
    if buffer == DT:
        return ALPHA * MEMORY / (1 + queues * ALPHA)
    return ALPHA * MEMORY / (1 + (2 if buffer == TWO else 1) * ALPHA) / queues


def _entry(classes: int, ports: int, of_class: int) -> dict[str, Any]:
    """Two endless flows for each port of a class; receivers come behind all senders."""
    senders, first = 2 * ports * classes, of_class * ports
    pairs = [[2 * port + own, senders + port] for port in range(first, first + ports) for own in (0, 1)]
    return {
        "name": f"class-{of_class}",
        "class": of_class,
        "background": True,
        "arrivals": {"at-once": {"jitter": "10us"}},
        "matrix": {"pairs": pairs},
        "sizes": "endless",
    }


def _full(scale: Scale) -> Plan:
    """So many ports that two hosts each overload, under both rules, and under ABM with as many of a second class."""
    points = [
        (name, n, update)
        for name in MEMBERS
        for n in QUEUES
        for update in UPDATES_US[: 1 if name == DT else None]
        if not (name == TWO and n == max(QUEUES))
    ]
    base = {
        "topology": {"single-switch": {"hosts": 3, "rate": "10Gbps", "delay": "1us"}},
        "transport": "datagram",
        "queue": {
            "strict-priority": {"classes": 2, "limit": {"bytes": "10MB"}, "threshold": {"bytes": "10MB"}}
        },
        "traffic": [_entry(1, 1, 0)],
        "run": {"until": "4ms", "measure": {"from": "2ms", "until": "end"}},
    }
    classes = [2 if name == TWO else 1 for name, _, _ in points]
    rules = [
        {
            MEMBERS[name]: {"size": f"{MEMORY}B", "alpha": ALPHA}
            | ({} if name == DT else {"update": f"{update}us"})
        }
        for name, _, update in points
    ]
    pairs = list(zip(points, classes, strict=True))
    full = Axis(
        "full",
        {
            "buffer": rules,
            "topology.single-switch.hosts": [3 * n * count for (_, n, _), count in pairs],
            "traffic": [[_entry(count, n, of) for of in range(count)] for (_, n, _), count in pairs],
        },
        labels=[f"{name}: {n}: {update}" for name, n, update in points],
    )
    return Plan(base, [full], scale.pick(1, 5), name="full queues")


def plans(scale: Scale) -> dict[str, Plan]:
    """Full queues by their number; tails beside incasts."""
    return {"full": _full(scale), "tails": _tails.plan(scale)}


def tables(sweeps: Sweeps) -> Tables:
    """Bytes of the shortest and the longest of the full queues of each run; tails of web search flows and of bursts."""
    sweep = sweeps["full"]
    keys = ["full", "replica"]
    # Ports to receivers are those that drop.
    ports = sweep.links.filter(pl.col("drops") > 0).group_by(keys)
    waiting = pl.col("queue_mean_bytes") - WIRE * pl.col("utilisation")
    queues = ports.agg(queues=pl.len().cast(pl.Int64), least_bytes=waiting.min(), most_bytes=waiting.max())
    name = pl.col("full").cast(pl.String).str.split(": ")
    full = queues.select(
        pl.exclude("full"),
        buffer=name.list.get(0),
        of_class=name.list.get(1).cast(pl.Int64),
        update_us=name.list.get(2).cast(pl.Int64),
    ).collect()
    runs = _tails.runs(sweeps["tails"])
    order = ["buffer", "update_us", "of_class", "replica"]
    return {
        "full": full.select(*order, "queues", "least_bytes", "most_bytes").sort(order),
        "tails": runs,
        "points": replica_means(runs, _tails.KEYS, ["short_p99_ms", "burst_p99_ms"]),
    }


def _shares(tables: Tables, buffer: str, packets: int, update_us: int = UPDATES_US[0]) -> Judgement:
    """Whether each full queue is within so many packets of its closed form, in every run."""
    rows = tables["full"].filter(buffer=buffer, update_us=update_us).sort("of_class")
    due = set(QUEUES) - ({max(QUEUES)} if buffer == TWO else set())
    if set(rows["of_class"]) != due:
        return not_reached("there are not all numbers of queues")
    off = {
        (n, bound): bytes_ - expected(buffer, n)
        for n, *both in rows.select("of_class", "least_bytes", "most_bytes").iter_rows()
        for bound, bytes_ in zip(("least", "most"), both, strict=True)
    }
    (n, _), worst = max(off.items(), key=lambda one: abs(one[1]))
    return judged(
        abs(worst) <= packets * WIRE,
        f"furthest {worst:+,.0f} B from {expected(buffer, n):,.0f} B, with {n}",
        f"within {packets * WIRE:,} B",
    )


def _dynamic(tables: Tables) -> Judgement:
    return _shares(tables, DT, 1)


def _active(tables: Tables) -> Judgement:
    return by_reading({f"drain rates over {us} us": _shares(tables, ABM, 2, us) for us in UPDATES_US})


def _two_classes(tables: Tables) -> Judgement:
    return by_reading({f"drain rates over {us} us": _shares(tables, TWO, 2, us) for us in UPDATES_US})


def draw(tables: Tables) -> "Picture":
    """Bytes of a queue and of all together by their number; tails by burst."""
    picture, (each, together, *tails) = style.panels(2, 2)
    for place, buffer in enumerate(MEMBERS):
        rows = tables["full"].filter(buffer=buffer, replica=0, update_us=UPDATES_US[0]).sort("of_class")
        mean = (rows["least_bytes"] + rows["most_bytes"]) / 2e3
        numbers = rows["of_class"].to_list()
        line = [expected(buffer, n) / 1e3 for n in numbers]
        total = [n * (2 if buffer == TWO else 1) for n in numbers]
        look: dict[str, Any] = {"color": style.COLOURS[place]}
        each.plot(numbers, line, "--", **look)
        each.plot(numbers, mean, style.MARKERS[place], **look, label=buffer)
        together.plot(numbers, [a * b / 1e3 for a, b in zip(line, total, strict=True)], "--", **look)
        together.plot(
            numbers, [a * b / 1e3 for a, b in zip(mean, total, strict=True)], style.MARKERS[place], **look
        )
    together.axhline(MEMORY / 1e6, color="#000000", linewidth=0.9, linestyle=":")
    each.set(ylabel="of each queue (KB)", yscale="log")
    together.set(ylabel="of all queues together (MB)", ylim=(0, None))
    for axes in (each, together):
        axes.set(xlabel="full queues of a class", xscale="log", title="lines: closed forms")
        axes.set_xticks(QUEUES, [str(n) for n in QUEUES])
        axes.set_xticks([], minor=True)
    each.legend()
    _tails.draw(tables["points"], tails)
    return picture


FIGURE = Figure(
    id="LIT-ABM",
    title="Memory that ports share: full queues under dynamic thresholds and ABM; tails beside incasts",
    plans=plans,
    tables=tables,
    claims={
        "LIT-ABM.a": _dynamic,
        "LIT-ABM.b": _active,
        "LIT-ABM.c": _two_classes,
        "LIT-ABM.d": _tails.no_longer,
    },
    draw=draw,
    needs={
        "full": Needs(5, by=("buffer", "update_us", "of_class")),
        "points": Needs(5, by=tuple(_tails.KEYS)),
    },
    assumed=(
        "Full queues: two hosts send datagrams to each port, 10 Gbps. Memory counts what waits behind the packet on "
        "the wire; means over 2 ms.",
        "Tails: two leaves of 32 hosts, two spines with four cables to each leaf, 10 Gbps and 10 us a cable, marks "
        "above 65 packets; 600 web search flows at 40 % of the hosts' links, and for each host two incasts a second, "
        "of 32 senders (quick scale: 20 flows, 16 hosts and 8 senders). All are of one class, with alpha 0.5: the "
        "authors have an alpha for each class, and one of its own for packets of a flow's first round trip, which is "
        "not modelled.",
        "Ports drop under all three transports: DCTCP has SACK, TIMELY and PowerTCP the recovery of IRN; timeouts are "
        "5 ms.",
    ),
)
