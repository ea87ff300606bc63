"""Memory that ports share: full queues under dynamic thresholds and ABM; tails of short flows beside incasts.

Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches", 1998. Addanki et al., "ABM:
Active buffer management in datacenters", SIGCOMM 2022, with the network of the authors' simulator
(inet-tub/ns3-datacenter): two leaves of 32 hosts, 3.93 MB for the 40 ports of a leaf, alpha 0.5.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, by_reading, judged, not_reached
from flowyard.sweeps import Axis, Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

MEMORY, ALPHA, WIRE = 3_932_160, 0.5, 1500
DT, ABM, TWO = "dynamic thresholds", "ABM", "ABM, two classes"
MEMBERS = {DT: "dynamic", ABM: "abm", TWO: "abm"}
# Over which ABM takes drain rates: in the authors' code for RDMA, and in that for TCP, where it is 25 packets.
UPDATES_US = (25, 30)
# Full queues, of one class or of each of two; the ports of the latter are twice as many.
QUEUES = (1, 2, 4, 8, 16)
# Bursts by shares of the memory; an incast has so many senders.
BURSTS, SENDERS = (0.125, 0.75), 32
# Incasts a second for each of 64 hosts.
RATE, HOSTS = 2, 64
SHORT_BYTES = 100_000
# Timeouts of TCP and of IRN alike.
_TIMEOUT = "5ms"
_LOSSY = {"recovery": {"irn": {"rto_low": _TIMEOUT, "rto_high": _TIMEOUT}}}
TRANSPORTS: dict[str, dict[str, Any]] = {
    "DCTCP": {"tcp": {"preset": "datacentre", "congestion": "dctcp", "sack": True, "rto_min": _TIMEOUT}},
    "TIMELY": {"roce": {"congestion": "timely", **_LOSSY}},
    "PowerTCP": {"roce": {"congestion": "powertcp", "header_bytes": "90B", "ack_bytes": "88B", **_LOSSY}},
}
KEYS = ["buffer", "protocol", "burst"]


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


def _tails(scale: Scale) -> Plan:
    """Web search flows at 40 % load beside incasts."""
    leaf, senders = scale.pick(8, HOSTS // 2), scale.pick(SENDERS // 4, SENDERS)
    memory = MEMORY * leaf * 2 // HOSTS
    traffic = [
        {
            "name": "web",
            "arrivals": {"poisson": {"load": 0.4}},
            "matrix": "uniform",
            "sizes": "web-search",
            "flows": scale.pick(20, 600),
        },
        {
            "name": "burst",
            "background": True,
            "arrivals": {"poisson": {"rate": RATE * HOSTS * senders, "each": "round", "until": "10s"}},
            "matrix": {"incast": {"senders": senders, "receiver": "random"}},
            "sizes": {"fixed": "1B"},
        },
    ]
    base = {
        "topology": {
            "leaf-spine": {
                "leaves": 2,
                "hosts": leaf,
                "spines": 2,
                "parallel": leaf // 8,
                "rate": "10Gbps",
                "delay": "10us",
            }
        },
        "queue": {"ecn": {"limit": {"bytes": f"{memory}B"}, "threshold": {"packets": 65}}},
        "traffic": traffic,
        "run": {"measure": "all", "until": "1s"},
    }
    rules = [{MEMBERS[name]: {"size": f"{memory}B", "alpha": ALPHA}} for name in (DT, ABM)]
    sizes = [f"{round(share * memory / senders)}B" for share in BURSTS]
    axes = [
        Axis("buffer", {"buffer": rules}, labels=[DT, ABM]),
        Axis("protocol", {"transport": list(TRANSPORTS.values())}, labels=list(TRANSPORTS)),
        Axis("burst", {"traffic.burst.sizes.fixed": sizes}, labels=BURSTS),
    ]
    return Plan(base, axes, scale.pick(1, 5), name="tails")


def plans(scale: Scale) -> dict[str, Plan]:
    """Full queues by their number; tails beside incasts."""
    return {"full": _full(scale), "tails": _tails(scale)}


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
    fct_ms, done = pl.col("fct_ps") / 1e9, pl.col("completed")
    web = pl.col("tag") == "web"
    tail = fct_ms.filter(web & (pl.col("size_bytes") <= SHORT_BYTES)).quantile(0.99, "linear")
    runs = (
        sweeps["tails"]
        .flows.group_by(*KEYS, "replica")
        .agg(
            flows=web.sum().cast(pl.Int64),
            short_p99_ms=pl.when((done | ~web).all()).then(tail),
            burst_p99_ms=fct_ms.filter((pl.col("tag") == "burst") & done).quantile(0.99, "linear"),
            drops=pl.col("drops").sum().cast(pl.Int64),
        )
        .collect()
        .sort(*KEYS, "replica")
    )
    order = ["buffer", "update_us", "of_class", "replica"]
    return {
        "full": full.select(*order, "queues", "least_bytes", "most_bytes").sort(order),
        "tails": runs,
        "points": replica_means(runs, KEYS, ["short_p99_ms", "burst_p99_ms"]),
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
        f"within {packets} packets, {packets * WIRE:,} B",
    )


def _dynamic(tables: Tables) -> Judgement:
    return _shares(tables, DT, 1)


def _active(tables: Tables) -> Judgement:
    return by_reading({f"drain rates over {us} us": _shares(tables, ABM, 2, us) for us in UPDATES_US})


def _two_classes(tables: Tables) -> Judgement:
    return by_reading({f"drain rates over {us} us": _shares(tables, TWO, 2, us) for us in UPDATES_US})


def _no_longer_tail(tables: Tables) -> Judgement:
    """The means over seeds of the 99th percentile, ABM over dynamic thresholds, with each transport and burst."""
    points = tables["points"]
    if points.filter(pl.col("short_p99_ms").is_not_null()).height != 2 * len(TRANSPORTS) * len(BURSTS):
        return not_reached("there are not all transports, or flows have not ended")
    ratios = {}
    for transport in TRANSPORTS:
        for burst in BURSTS:
            of = points.filter(protocol=transport, burst=burst)
            active, dynamic = (of.filter(buffer=name)["short_p99_ms"].item() for name in (ABM, DT))
            ratios[f"{transport} at {burst:g}"] = active / dynamic
    measured = ", ".join(f"{name} {ratio:.3g}" for name, ratio in ratios.items())
    return judged(max(ratios.values()) <= 1, measured, f"at most 1 times that under {DT}")


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
    measures = {"short_p99_ms": "web search, up to 100 KB", "burst_p99_ms": "flows of incasts"}
    for axes, (measure, title) in zip(tails, measures.items(), strict=True):
        for place, transport in enumerate(TRANSPORTS):
            for buffer, dash in ((DT, "--"), (ABM, "-")):
                rows = tables["points"].filter(protocol=transport, buffer=buffer).sort("burst")
                style.curve(axes, rows, "burst", measure, place, f"{transport}, {buffer}", linestyle=dash)
        axes.set(xlabel="burst / memory", ylabel="p99 of the FCT (ms)", yscale="log", title=title)
    tails[1].legend(loc="lower right", fontsize=7)
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
        "LIT-ABM.d": _no_longer_tail,
    },
    draw=draw,
    needs={"full": Needs(5, by=("buffer", "update_us", "of_class")), "tails": Needs(5, by=tuple(KEYS))},
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
