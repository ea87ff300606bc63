"""SYN, sections II-B and III-B (claim P5): how near the rate normalisation of ASY comes to the highest throughput.

The procedure, written anew in whole matrices, against a linear programme. And the simulator: what servers send that
always have something to send is compared with these rates.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard_papers.syn import _sinkhorn as sinkhorn
from flowyard_papers.syn._sinkhorn import Matrix

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

COMPUTED, MEASURED = "rates as computed", "rates as packets have them"
# A packet of 1500 B with its frame, at 1 Gbps.
PACKET_S = 1538 * 8 / 1e9
# Servers that send, others that receive, and the share of pairs with something to send. With two receivers a server
# sends little, and its queues hardly wait for each other; with as many receivers its link is full.
LITTLE, FULL = "two receivers", "as many receivers"
CASES: dict[str, tuple[int, int, float]] = {LITTLE: (30, 2, 0.5), FULL: (30, 30, 0.2)}


def supports(case: str, count: int) -> list[Matrix]:
    """R of 0 and 1, in which no server both sends and receives."""
    senders, receivers, density = CASES[case]
    random = np.random.default_rng(6)
    size = senders + receivers
    found = []
    for _ in range(count):
        offered = np.zeros((size, size))
        offered[:senders, senders:] = random.random((senders, receivers)) < density
        found.append(offered)
    return found


def plans(scale: Scale) -> dict[str, Plan]:
    """Flows that do not end, on one switch."""
    scenarios, labels = [], []
    for case, (senders, receivers, _) in CASES.items():
        for number, offered in enumerate(supports(case, scale.pick(2, 5))):
            scenarios.append(_endless(senders + receivers, np.argwhere(offered > 0).tolist()))
            labels.append(f"{case} {number}")
    return {"rates": Plan(axes=[Axis("case", scenarios=scenarios, labels=labels)], name="rates")}


def _endless(hosts: int, pairs: list[list[int]]) -> dict[str, Any]:
    return {
        "topology": {"single-switch": {"hosts": hosts, "rate": "1Gbps", "delay": "0.5us"}},
        "transport": {"central": {}},
        # What is left is handed out in an order of the simulator's own: without it rates can be compared.
        "controller": {"asy": {"normalisation": {"fill": False}}},
        "traffic": [
            {
                "name": "endless",
                "arrivals": {"at-once": {"jitter": "0s"}},
                "matrix": {"pairs": pairs},
                "sizes": {"fixed": "1GB"},
            }
        ],
        "run": {"until": "1s", "audit": True},
    }


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """A row a matrix, and of the runs a row a queue."""
    return {
        "optimum": pl.DataFrame(list(_optimum(scale.pick(200, 1000)))),
        "rates": _rates(sweeps["rates"]),
    }


def _optimum(count: int) -> Iterator[dict[str, Any]]:
    random = np.random.default_rng(1)
    for number in range(count):
        even = number % 2 == 0
        offered = sinkhorn.sparse(random, even)
        rates = sinkhorn.normalised(offered, random.permutation(offered.size).tolist())
        unfilled = sinkhorn.normalised(offered)
        best = sinkhorn.most(offered > 0)
        yield {
            "number": number,
            "entries": "0 and 1" if even else "uniform",
            "servers": len(offered),
            "density": np.count_nonzero(offered) / offered.size,
            "largest_sum": max(rates.sum(0).max(), rates.sum(1).max()),
            "share": rates.sum() / best,
            "share_unfilled": unfilled.sum() / best,
        }


def _rates(sweep: Sweep) -> pl.DataFrame:
    """A row a queue: its rate by the procedure, and by what was sent."""
    rows = []
    for run in sweep.runs.filter("done").iter_rows(named=True):
        case, number = run["case"].rsplit(" ", 1)
        offered = supports(case, int(number) + 1)[int(number)]
        rates, best = sinkhorn.normalised(offered), sinkhorn.most(offered > 0)
        flows = sweep.flows.filter(pl.col("run") == run["run"]).select("src", "dst", "packets_sent").collect()
        rows += [
            {
                "case": case,
                "number": int(number),
                "from": source,
                "to": target,
                "computed": float(rates[source, target]),
                "measured": packets * PACKET_S,
                "optimum": best,
            }
            for source, target, packets in flows.iter_rows()
        ]
    return pl.DataFrame(rows).sort("case", "number", "from", "to")


def _near_the_optimum(tables: Tables) -> Judgement:
    shares = tables["optimum"]
    least, mean = float(shares["share"].min()), float(shares["share"].mean())  # type: ignore[arg-type]
    share = judge.at_least(least, 0.95).called("least share of the optimum")
    computed = judge.together([share, _as_computed(tables["rates"])])
    computed = computed.noted(f"mean share {mean:.4f} of {len(shares)} matrices")
    return judge.by_reading({COMPUTED: computed, MEASURED: _as_packets(tables["rates"])})


def _as_computed(rates: pl.DataFrame) -> Judgement:
    """The simulator's rates are those of the procedure, where nothing keeps a queue from using its rate."""
    own = rates.filter(case=LITTLE)
    if own.is_empty():
        return judge.not_reached("there are no rates of the simulator")
    # The first packet goes at once, so that in a second a rate is met to a packet.
    allowed = pl.max_horizontal(0.01 * pl.col("computed"), pl.lit(PACKET_S))
    off = own.filter((pl.col("measured") - pl.col("computed")).abs() > allowed)
    found = judge.judged(
        off.is_empty(),
        f"{len(off)} of {len(own)} queues off the computed rate by more than",
        "1 % or a packet",
    )
    return found.because("the simulator's rates are not those of the procedure")


def _as_packets(rates: pl.DataFrame) -> Judgement:
    """All that is sent in a run, as a share of the optimum of its matrix."""
    runs = rates.filter(case=FULL).group_by("number", maintain_order=True)
    sums = runs.agg(pl.col("measured", "computed").sum(), pl.col("optimum").first())
    if sums.is_empty():
        return judge.not_reached("there are no rates of the simulator")
    least = float((sums["measured"] / sums["optimum"]).min())  # type: ignore[arg-type]
    used = float(sums["measured"].sum()) / float(sums["computed"].sum())
    return judge.at_least(least, 0.95).because(
        f"servers send {100 * used:.3g} % of their rates: a bucket that is empty while another queue's packet is on "
        "the wire waits, and what it waits is lost to it. Queues with 0.6 and 0.4 of a link get 0.4 each"
    )


def draw(tables: Tables) -> "Picture":
    """Share of the optimum over density; measured over computed rates; what classes gain."""
    picture, (optimum, rates) = style.panels(1, 2)
    for place, entries in enumerate(("0 and 1", "uniform")):
        own = tables["optimum"].filter(entries=entries)
        look: dict[str, Any] = {"linestyle": "", "markersize": 3, "color": style.COLOURS[place]}
        density = 100 * own["density"].to_numpy()
        optimum.plot(density, 100 * own["share"].to_numpy(), "o", label=f"R: {entries}", **look)
        optimum.plot(density, 100 * own["share_unfilled"].to_numpy(), "x", **look)
    optimum.axhline(95, color="#000000", linewidth=0.9, linestyle="--")
    optimum.set(
        xlabel="pairs with traffic (%)", ylabel="share of the optimum (%)", title="Sum of rates (x: unfilled)"
    )
    optimum.legend(loc="lower right")
    for place, case in enumerate(CASES):
        own = tables["rates"].filter(case=case)
        x, y = own["computed"].to_numpy(), own["measured"].to_numpy()
        rates.plot(x, y, style.MARKERS[place], linestyle="", markersize=3, label=case, alpha=0.7)
    rates.plot([0, 1], [0, 1], color="#000000", linewidth=0.9, linestyle="--")
    rates.set(xlabel="rate computed", ylabel="rate measured", title="Rates of queues in the simulator")
    rates.legend()
    return picture


FIGURE = Figure(
    id="SYN-P5",
    title="The sum of normalised rates against the optimum",
    plans=plans,
    tables=tables,
    claims={"SYN-P5": _near_the_optimum},
    draw=draw,
    needs={"optimum": Needs(rows=1000)},
    assumed=(
        "20 rounds that divide each row, then each column, by its sum; one division by the larger of 1 and the "
        "sums; what is left is handed out in a random order.",
        "R of 8 to 120 servers and 1 to 25 % of the pairs, half of them of 0 and 1, half of uniform entries.",
        "In the simulator flows that do not end, for 1 s, without the filling, whose order is the simulator's own: "
        "30 servers to two receivers, where each server uses a fifteenth of its link and each rate is to be met "
        "within 1 %, or a packet; and 30 to 30.",
    ),
    quick="fewer random matrices",
)
