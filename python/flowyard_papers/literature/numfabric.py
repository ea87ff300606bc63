"""NUMFabric: the time after which 95 % of the flows have their rates of the optimum, when 100 flows start at once.

Nagaraj et al., "NUMFabric: fast and flexible bandwidth allocation in datacenters", SIGCOMM 2016, semi-dynamic runs: at
each event 100 flows change, and the network has converged once 95 % of the flows are within 10 % of the rates of an
oracle. The oracle here maximises the sum of the logarithms of rates over the links, by its dual: a price for each
link, and the rate of a flow one over the sum of those on its path.
"""

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, judged, not_reached
from flowyard.sweeps import Axis, Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# A flow by its hosts and its spine.
Flow = tuple[int, int, int]
HOST_GBPS, SPINE_GBPS = 10.0, 40.0
# Payload of a link's rate, where each packet of 1500 B meets an acknowledgement of 40 B of a flow of the other way.
PAYLOAD = 1460 / (1500 + 40)
# Time between events; rates are means over so many samples.
GAP_US, SAMPLE_US, WINDOW = 4000, 50, 5
NEAR, SHARE = 0.1, 0.95
# In the median, the last window with it.
MOST_US = 1000
EVENTS, DRAWS = 4, 5


def _network(scale: Scale) -> tuple[int, int, int]:
    """Leaves, spines, hosts of a leaf."""
    return scale.pick((2, 2, 8), (8, 4, 16))


def flows(scale: Scale, draw: int) -> list[list[Flow]]:
    """Flows that start at each event, the first of which is the beginning: between hosts of two leaves, at random.

    No two flows have the same two hosts, so that a route belongs to one flow.
    """
    leaves, spines, own = _network(scale)
    source = random.Random(draw)
    pairs = [(a, b) for a in range(leaves * own) for b in range(leaves * own) if a // own != b // own]
    first, each = scale.pick((20, 10), (200, 100))
    chosen = source.sample(pairs, first + each * EVENTS)
    drawn = [(a, b, source.randrange(spines)) for a, b in chosen]
    ends = [first + each * event for event in range(EVENTS + 1)]
    return [drawn[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def optimum(active: Sequence[Flow], hosts: int) -> list[float]:
    """Gbps of payload of each flow at proportional fairness, by the dual problem."""
    import numpy as np
    from scipy.optimize import minimize

    paths = [
        ((a, "up"), (a // hosts, spine, "up"), (spine, b // hosts, "down"), (b, "down"))
        for a, b, spine in active
    ]
    names = {link: place for place, link in enumerate(dict.fromkeys(link for path in paths for link in path))}
    rates = np.array([HOST_GBPS if len(link) == 2 else SPINE_GBPS for link in names]) * PAYLOAD
    of = np.array([[names[link] for link in path] for path in paths])

    def dual(prices: Any) -> tuple[float, Any]:
        total = prices[of].sum(axis=1)
        slope = rates.copy()
        np.subtract.at(slope, of, np.repeat(1 / total[:, None], of.shape[1], axis=1))
        return float(rates @ prices - np.log(total).sum()), slope

    found = minimize(
        dual,
        np.full(len(names), 0.2),
        jac=True,
        method="L-BFGS-B",
        bounds=[(1e-9, None)] * len(names),
        options={"maxiter": 5000, "maxfun": 10_000, "ftol": 1e-13, "gtol": 1e-7},
    )
    return [float(rate) for rate in 1 / found.x[of].sum(axis=1)]


def plans(scale: Scale) -> dict[str, Plan]:
    """Draws of flows and their paths."""
    leaves, spines, own = _network(scale)
    drawn = [flows(scale, draw) for draw in range(scale.pick(1, DRAWS))]
    traffic = [
        [
            {
                "name": f"event-{event}",
                "background": True,
                "arrivals": {"at-once": {"at": f"{event * GAP_US}us", "jitter": "10us"}},
                "matrix": {"pairs": [[a, b] for a, b, _ in starts]},
                "sizes": "endless",
            }
            for event, starts in enumerate(of_draw)
        ]
        for of_draw in drawn
    ]
    routes = [
        [
            {"path": [f"host {a}", f"leaf {a // own}", f"spine {spine}", f"leaf {b // own}", f"host {b}"]}
            for starts in of_draw
            for a, b, spine in starts
        ]
        for of_draw in drawn
    ]
    base = {
        "topology": {
            "leaf-spine": {
                "leaves": leaves,
                "spines": spines,
                "hosts": own,
                "rate": f"{HOST_GBPS:g}Gbps",
                "delay": "1us",
                "spine": {"rate": f"{SPINE_GBPS:g}Gbps", "delay": "1us"},
            }
        },
        "transport": "numfabric",
        "traffic": traffic[0],
        "routing": {"balancer": {"explicit": {"routes": routes[0], "answers": "backwards"}}},
        "observe": {"samples": {"every": f"{SAMPLE_US}us", "links": []}},
        "run": {"until": f"{(EVENTS + 1) * GAP_US}us"},
    }
    axis = Axis(
        "draw", {"traffic": traffic, "routing.balancer.explicit.routes": routes}, labels=range(len(drawn))
    )
    return {"events": Plan(base, [axis], 1, name="events")}


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """The share of flows near their optimum over time, and how long after each event 95 % of them stay so."""
    sweep, (*_, own) = sweeps["events"], _network(scale)
    samples = sweep.scan("samples").filter(pl.col("series") == "rate_bps")
    rates = samples.select(
        draw=pl.col("draw").cast(pl.Int64),
        flow=pl.col("id").cast(pl.Int64),
        time_us=(pl.col("time_ps") // 1_000_000).cast(pl.Int64),
        gbps=pl.col("value") / 1e9,
    ).collect()
    known = sweep.flows.select(
        draw=pl.col("draw").cast(pl.Int64), flow=pl.col("id").cast(pl.Int64), src="src", dst="dst"
    ).collect()
    parts = []
    for draw in sorted(set(rates["draw"])):
        starts = flows(scale, draw)
        ids = {
            (src, dst): flow
            for flow, src, dst in known.filter(draw=draw).select("flow", "src", "dst").iter_rows()
        }
        for event in range(1, EVENTS + 1):
            active = [one for of_event in starts[: event + 1] for one in of_event]
            best = dict(zip((ids[a, b] for a, b, _ in active), optimum(active, own), strict=True))
            parts.append(_near(rates.filter(draw=draw), best, event).with_columns(draw=draw, event=event))
    near = pl.concat(parts).select("draw", "event", "after_us", "near")
    late = pl.col("after_us").filter(pl.col("near") < SHARE).max().fill_null(0)
    last = pl.col("after_us").max()
    # Still late in the last window: it has not converged.
    times = near.group_by("draw", "event", maintain_order=True).agg(
        converged_us=pl.when(late < last).then(late + SAMPLE_US), near=pl.col("near").last()
    )
    return {"times": times, "near": near}


def _near(rates: pl.DataFrame, best: dict[int, float], event: int) -> pl.DataFrame:
    """The share of flows within 10 % of their optimum, by the end of the window after an event."""
    begin = event * GAP_US
    rows = rates.filter(pl.col("time_us") > begin, pl.col("time_us") <= begin + GAP_US).sort(
        "flow", "time_us"
    )
    mean = pl.col("gbps").rolling_mean(WINDOW).over("flow")
    off = rows.with_columns(
        mean=mean,
        best=pl.col("flow").replace_strict(best, return_dtype=pl.Float64),
        after_us=pl.col("time_us") - begin,
    ).drop_nulls("mean")
    near = (pl.col("mean") / pl.col("best") - 1).abs() <= NEAR
    return off.group_by("after_us", maintain_order=True).agg(near=near.mean()).sort("after_us")


def _converges(tables: Tables) -> Judgement:
    """The median over all events; one without convergence counts as longer than any."""
    times = tables["times"]
    if times.is_empty():
        return not_reached("there are no events")
    found = times["converged_us"].cast(pl.Float64).fill_null(float("inf")).sort()
    median = found.quantile(0.5, "higher")
    tail = found.quantile(0.95, "higher")
    assert median is not None
    measured = f"{median:.0f} us in the median, {tail:.0f} us in the 95th percentile of {len(found)} events"
    return judged(median <= MOST_US, measured, f"at most {MOST_US} us in the median")


def draw(tables: Tables) -> "Picture":
    """Flows near their optimum after each event; times of convergence."""
    picture, (share, times) = style.panels(1, 2)
    for event in range(1, EVENTS + 1):
        rows = (
            tables["near"]
            .filter(event=event)
            .group_by("after_us")
            .agg(pl.col("near").mean())
            .sort("after_us")
        )
        after = (rows["after_us"] / 1e3).to_numpy()
        share.plot(after, 100 * rows["near"].to_numpy(), color=style.COLOURS[event], label=f"event {event}")
    share.axhline(100 * SHARE, color="#000000", linewidth=0.9, linestyle="--")
    share.set(
        xlabel="time since the event (ms)", ylabel="flows within 10 % of the optimum (%)", ylim=(0, 102)
    )
    share.legend(loc="lower right")
    found = tables["times"]["converged_us"].drop_nulls().sort().to_list()
    shares = [100 * (n + 1) / len(tables["times"]) for n in range(len(found))]
    times.step([time / 1e3 for time in found], shares, where="post", marker="o")
    times.set(xlabel="time to convergence (ms)", ylabel="events (%)", xlim=(0, None), ylim=(0, 102))
    return picture


FIGURE = Figure(
    id="LIT-NUM",
    title="NUMFabric: the time to the optimal rates when 100 flows start",
    plans=plans,
    tables=tables,
    claims={"LIT-NUM.a": _converges},
    draw=draw,
    needs={"times": Needs(rows=DRAWS * EVENTS)},
    quick="16 hosts and 10 flows an event, of 128 and 100",
    assumed=(
        "Eight leaves of 16 hosts, four spines, 10 and 40 Gbps, 1 us a cable. 200 endless flows between hosts at "
        "random, each over a spine at random, then 100 more every 4 ms. In the paper flows also stop, which endless "
        "flows do not do here.",
        "Rates are means over 250 us, where the paper has an average with a time constant of 80 us; the time of "
        "convergence is the end of the first window from which on 95 % of the flows stay near the optimum.",
        "The oracle leaves room for acknowledgements, 40 B for each packet of 1500 B.",
        "The paper's ratio to gradient descent, 2.3 in the median, is not judged: that algorithm is not modelled.",
    ),
)
