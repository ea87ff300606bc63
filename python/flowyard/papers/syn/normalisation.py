"""SYN, sections II-B and III-B (claims P5, P11, P12): what the rate normalisation of ASY comes to.

The procedure, written anew in whole matrices, against a linear programme; classes of queues whose offered rates are
doubled; its limit as a problem of network utility maximisation. And the simulator: what servers send that always have
something to send is compared with these rates.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.papers.syn import _sinkhorn as sinkhorn
from flowyard.papers.syn._sinkhorn import Matrix
from flowyard.sweeps import Axis, Plan, Sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# Rounding of sums of rates.
ROUNDING = 1e-9
COMPUTED, MEASURED = "rates as computed", "rates as packets have them"
EACH, SUM, ONE = "each queue of a class", "a class in total", "a class of one queue"
POSITIVE, SPARSE = "positive", "sparse"
# A packet of 1500 B with its frame, at 1 Gbps.
PACKET_S = 1538 * 8 / 1e9
# Servers that send, others that receive, and the share of pairs with something to send. With two receivers a server sends
# little, and its queues hardly wait for each other; with as many receivers its link is full.
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
        "priorities": pl.DataFrame(list(_priorities(scale.pick(100, 1000)))),
        "limits": pl.DataFrame(list(_limits(scale.pick(5, 25)))),
        "rates": _rates(sweeps["rates"]),
    }


def _sparse(random: np.random.Generator, even: bool) -> Matrix:
    """8 to 120 servers, 1 to 25 % of the pairs; all entries 1, or uniform."""
    hosts = int(random.integers(8, 121))
    there = random.random((hosts, hosts)) < random.uniform(0.01, 0.25)
    np.fill_diagonal(there, val=False)
    if not there.any():
        there[0, 1] = True
    return there * (1.0 if even else 1 - random.random((hosts, hosts)))


def _optimum(count: int) -> Iterator[dict[str, Any]]:
    random = np.random.default_rng(1)
    for number in range(count):
        even = number % 2 == 0
        offered = _sparse(random, even)
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


def _priorities(count: int) -> Iterator[dict[str, Any]]:
    """What becomes of a class whose entries of R are doubled."""
    random = np.random.default_rng(2)
    for number in range(count):
        for kind in (POSITIVE, SPARSE):
            offered = 1 - random.random((12, 12)) if kind == POSITIVE else _sparse(random, even=False)
            places = np.argwhere(offered > 0)
            one = random.integers(len(places))
            for case, some in (
                (EACH, random.random(len(places)) < 1 / 3),
                (ONE, np.arange(len(places)) == one),
            ):
                own = tuple(places[some].T)
                order = random.permutation(offered.size).tolist()
                doubled = offered.copy()
                doubled[own] *= 2
                before, after = (sinkhorn.normalised(one, order)[own] for one in (offered, doubled))
                yield {
                    "number": number,
                    "matrix": kind,
                    "class": case,
                    "queues": len(before),
                    "least_gain": float((after - before).min(initial=0)),
                    "gain_of_sum": float(after.sum() - before.sum()),
                }


def _limits(count: int) -> Iterator[dict[str, Any]]:
    """The limit of positive matrices: sums of 1, and log(w / r) of rank one."""
    random = np.random.default_rng(3)
    for number in range(count):
        for servers in (2, 5, 20, 120):
            offered = 1 - random.random((servers, servers))
            rates = sinkhorn.scaled(offered, 10_000, agreed=1e-14)
            logs = np.log(rates / offered)
            fit = logs.mean(1)[:, None] + logs.mean(0) - logs.mean()
            yield {
                "number": number,
                "servers": servers,
                "residual": float(np.abs(logs - fit).max()),
                "off_one": float(max(np.abs(rates.sum(axis) - 1).max() for axis in (0, 1))),
                "utility_lost": _lost(offered, rates, random),
            }


def _lost(offered: Matrix, rates: Matrix, random: np.random.Generator) -> float:
    """How much more utility a step to other admissible rates has: below 0 at an optimum.

    The utility is concave, so that no rates are better if no small step is. Steps that keep all sums: more for two
    queues, less for the two that share their rows and columns.
    """
    best = -np.inf
    for _ in range(100):
        (i, k), (j, m) = (random.choice(len(rates), 2, replace=False) for _ in range(2))
        step = np.zeros_like(rates)
        step[i, j] = step[k, m] = 1e-3 * rates[[i, k], [m, j]].min()
        step[i, m] = step[k, j] = -step[i, j]
        best = max(best, _utility(offered, rates + step) - _utility(offered, rates))
    return best


def _utility(offered: Matrix, rates: Matrix) -> float:
    return float(-(rates * (np.log(rates / offered) - 1)).sum())


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
    computed = judge.together([judge.at_least(least, 0.95), _as_computed(tables["rates"])])
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
    found = judge.judged(off.is_empty(), f"{len(off)} of {len(own)} queues off by more", "1 % or a packet")
    return found.because("the simulator's rates are not those of the procedure")


def _as_packets(rates: pl.DataFrame) -> Judgement:
    """All that is sent in a run, as a share of the optimum of its matrix."""
    runs = rates.filter(case=FULL).group_by("number", maintain_order=True)
    sums = runs.agg(pl.col("measured", "computed").sum(), pl.col("optimum").first())
    if sums.is_empty():
        return judge.not_reached("there are no rates of the simulator")
    least = float((sums["measured"] / sums["optimum"]).min())  # type: ignore[arg-type]
    used = float(sums["measured"].sum() / sums["computed"].sum())
    return judge.at_least(least, 0.95).because(
        f"servers send {100 * used:.3g} % of their rates: a bucket that is empty while another queue's packet is on the "
        "wire waits, and what it waits is lost to it. Queues with 0.6 and 0.4 of a link get 0.4 each"
    )


def _priority(tables: Tables) -> Judgement:
    rows = tables["priorities"]
    if set(rows["class"]) != {EACH, ONE} or set(rows["matrix"]) != {POSITIVE, SPARSE}:
        return judge.not_reached("some kind of matrix or class is missing")
    found = {}
    for reading, case, column in (
        (EACH, EACH, "least_gain"),
        (SUM, EACH, "gain_of_sum"),
        (ONE, ONE, "least_gain"),
    ):
        own = rows.filter(pl.col("class") == case)
        lost = own.filter(pl.col(column) < -ROUNDING)
        said = f"{len(lost)} of {len(own)} lose, at most {max(0.0, -float(own[column].min())):.3g}"  # type: ignore[arg-type]
        sparse = lost.filter(matrix=SPARSE).height
        why = f"{len(lost) - sparse} on positive R, {sparse} on sparse R"
        if reading == EACH:
            why += (
                "; in R of 2 x 2 ones, doubling all but r_22 takes w_11 from 1/2 to 0.414, as it shares both its row "
                "and its column with queues of its class"
            )
        else:
            why += "; on sparse R 20 rounds and the filling stop short of the limit"
        found[reading] = judge.judged(lost.is_empty(), said, "none loses").because(why)
    return judge.by_reading(found)


def _utility_maximum(tables: Tables) -> Judgement:
    rows = tables["limits"]
    return judge.together(
        judge.at_most(float(rows[column].max()), most)  # type: ignore[arg-type]
        for column, most in (("residual", 1e-9), ("off_one", 1e-9), ("utility_lost", ROUNDING))
    )


def draw(tables: Tables) -> "Picture":
    """Share of the optimum over density; measured over computed rates; what classes gain."""
    picture, (optimum, rates, gains) = style.panels(1, 3)
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
    for place, (case, column, name) in enumerate(
        ((EACH, "least_gain", EACH), (EACH, "gain_of_sum", SUM), (ONE, "least_gain", ONE))
    ):
        own = tables["priorities"].filter(pl.col("class") == case)[column].sort().to_numpy()
        gains.plot(own, np.arange(1, len(own) + 1) / len(own), color=style.COLOURS[place], label=name)
    gains.axvline(0, color="#000000", linewidth=0.9, linestyle="--")
    gains.set(
        xscale="symlog",
        xlabel="gain in rate, least of a class",
        ylabel="share of matrices",
        title="R doubled",
    )
    gains.set_xscale("symlog", linthresh=1e-3)
    gains.legend(loc="upper left")
    return picture


FIGURE = Figure(
    id="SYN-P5",
    title="Rate normalisation: the optimum, priorities, utility",
    plans=plans,
    tables=tables,
    claims={"SYN-P5": _near_the_optimum, "SYN-P11": _priority, "SYN-P12": _utility_maximum},
    draw=draw,
    needs={"optimum": Needs(rows=1000), "priorities": Needs(rows=4000), "limits": Needs(rows=100)},
    assumed=(
        "20 rounds that divide each row, then each column, by its sum; one division by the larger of 1 and the sums; what is "
        "left is handed out in a random order.",
        "R of 8 to 120 servers and 1 to 25 % of the pairs, half of them of 0 and 1, half of uniform entries; positive R of 12 "
        "servers for priorities, of 2 to 120 for the limit.",
        "In the simulator flows that do not end, for 1 s, without the filling, whose order is the simulator's own: 30 servers "
        "to two receivers, where each server uses a fifteenth of its link and each rate is to be met within 1 %, or a packet; and 30 to 30.",
    ),
    quick="fewer random matrices",
)
