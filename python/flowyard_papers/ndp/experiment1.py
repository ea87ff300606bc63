"""Figure 6, experiment 1: 2000 short flows of 150 KB on a 6-ary fat-tree, with background on 8 of the 54 servers.

The five panels of the paper: goodput of each flow, sorted; completion times; headers that a flow received in place of
its packets; applications that send and receive at each server; who sends to whom. What section 5 says of the
scheduler is judged on the same run: Poisson arrivals, the number of flows, servers apart, background until the end.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Sweeps, Tables
from flowyard.sweeps import Plan
from flowyard.topology import network
from flowyard_papers.ndp._flows import last_payload, short_flows
from flowyard_papers.ndp._scheduler import ASSUMED, BACKGROUND, RATE_BPS, Scheduler, base_rtt_ns

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SERVERS, LONG, FLOWS, SIZE, RATE = 54, 8, 2000, 150_000, 2500
LOOK_US = 20
# The scheduler's other matrix (section 5), of which the figure's first three panels are judged, too.
RANDOM = "random"
# 1.2 ms and the base RTT, what claim NDP-F6b.a calls ideal.
IDEAL_PS = SIZE * 8 * 10**12 // RATE_BPS + 1000 * base_rtt_ns()


def plans() -> dict[str, Plan]:
    """One run, as the paper says, at both scales; and one with the scheduler's random matrix."""
    # Of the background it is looked at when it carries something, until the end of the run.
    watch = {"observe": {"samples": {"every": f"{LOOK_US}us", "links": [], "flows": [BACKGROUND]}}}
    made = {
        name: Scheduler(
            k=6, flows=FLOWS, size=SIZE, rate=RATE, matrix=matrix, long_share=0.15, changes=watch
        ).scenario()
        for name, matrix in (("run", "permutation"), (RANDOM, "uniform"))
    }
    return {name: Plan(scenario, name="experiment 1") for name, scenario in made.items()}


def tables(sweeps: Sweeps) -> Tables:
    """The short flows, a row each; servers; the background's flows, with the last time at which each had payload."""
    sweep = sweeps["run"]
    (summary,) = sweep.summaries().values()
    flows = sweep.flows.collect()
    short = short_flows(flows)
    long = flows.filter(tag=BACKGROUND)
    host = pl.DataFrame({"server": range(network(summary["scenario"]).hosts)})
    counted = [
        table.group_by(server=pl.col(end).cast(pl.Int64)).agg(pl.len().cast(pl.Int64).alias(name))
        for table, end, name in (
            (short, "src", "sends"),
            (short, "dst", "receives"),
            (long, "src", "sends_long"),
            (long, "dst", "receives_long"),
        )
    ]
    for one in counted:
        host = host.join(one, on="server", how="left", maintain_order="left")
    last = (short["start_ps"] + short["fct_ps"]).max()
    run = {
        "short_flows": len(short),
        "long_flows": len(long),
        "last_short_ps": last,
        "end_ps": summary["end_ps"],
    }
    return {
        "flows": short,
        "servers": host.fill_null(0),
        "run": pl.DataFrame([run]),
        "background": last_payload(long, sweep),
        RANDOM: short_flows(sweeps[RANDOM].flows.collect()),
    }


def _high_goodput(tables: Tables) -> Judgement:
    goodput = tables["flows"]["goodput_gbps"]
    if goodput.null_count() or goodput.is_empty():
        return judge.not_reached("not all short flows have ended")
    most = (goodput >= 0.7).mean()
    median = judge.at_least(_float(goodput.median()), 0.8).measured_in("Gbps").called("median goodput")
    fast = judge.at_least(_float(most), 0.75).called("share of flows at 0.7 Gbps or more")
    return judge.together([median, fast])


def _short_completion(tables: Tables) -> Judgement:
    median = tables["flows"]["fct_ps"].median()
    return judge.at_most(None if median is None else _float(median) / IDEAL_PS, 1.5)


def _goodput_times_fct(tables: Tables) -> Judgement:
    flows = tables["flows"]
    # Seconds and bits; the rounding of one division and one multiplication.
    product = flows["goodput_gbps"] * flows["fct_ps"] / 8000
    wrong = flows.filter((product - SIZE).abs().fill_null(SIZE) > 1e-9 * SIZE)
    if flows.is_empty():
        return judge.not_reached("there are no flows")
    found = judge.judged(
        wrong.is_empty(), f"{len(flows) - len(wrong)} of {len(flows)} flows", f"all {len(flows)}"
    )
    return found.because(f"the first other one is flow {min(wrong['id'].to_list(), default=None)}")


def _headers_cost_time(tables: Tables) -> Judgement:
    from scipy.stats import spearmanr

    flows = tables["flows"].drop_nulls("fct_ps")
    none = int((flows["headers"] == 0).sum())
    if flows["headers"].n_unique() < 2:
        return judge.not_reached("all flows received equally many headers, which correlate with nothing")
    found = spearmanr(flows["headers"].to_numpy(), flows["fct_ps"].to_numpy(), alternative="greater")
    measured = f"{none} flows without a header; Spearman {found.statistic:.3g}, p = {found.pvalue:.2g}"
    return judge.judged(none > 0 and found.pvalue < 0.01, measured, "some flows; above 0 with p < 0.01")


def _random(tables: Tables) -> Judgement:
    """Goodput, completion and headers of the figure, with the random matrix."""
    own = {"flows": tables[RANDOM]}
    completion = _short_completion(own).called("median FCT over the ideal")
    return judge.together([_high_goodput(own), completion, _headers_cost_time(own)])


def _apart(tables: Tables) -> Judgement:
    servers = tables["servers"]
    long = servers.filter((pl.col("sends_long") > 0) | (pl.col("receives_long") > 0))
    rows = [
        ("servers", len(servers), SERVERS),
        ("servers with background", len(long), LONG),
        ("senders of short flows", int(servers["sends"].sum()), FLOWS),
        ("receivers of short flows", int(servers["receives"].sum()), FLOWS),
        (
            "short flows of servers with background",
            int(long.select(pl.col("sends", "receives").sum()).sum_horizontal().item()),
            0,
        ),
    ]
    return judge.all_exactly(rows, "numbers of servers and their flows")


def _matrix(tables: Tables) -> Judgement:
    flows = tables["flows"]
    rows = [
        ("flows", len(flows), FLOWS),
        ("to oneself", flows.filter(pl.col("src") == pl.col("dst")).height, 0),
    ]
    return judge.all_exactly(rows, "numbers")


def _poisson(tables: Tables) -> Judgement:
    from scipy.stats import kstest

    gaps = tables["flows"]["start_ps"].sort().diff().drop_nulls() / 1e12
    if len(gaps) < FLOWS - 1:
        return judge.not_reached(f"{len(gaps)} gaps of {FLOWS - 1} are known")
    found = kstest(gaps.to_numpy(), "expon", args=(0, 1 / RATE))
    measured = f"p = {found.pvalue:.3g}; mean gap {_float(gaps.mean()) * 1e6:.4g} us"
    return judge.judged(
        found.pvalue > 0.01, measured, f"p > 0.01 for exponential gaps of mean {1e6 / RATE:g} us"
    )


def _pairs(tables: Tables) -> Judgement:
    run = tables["run"].row(0, named=True)
    counted = judge.all_exactly(
        [("short flows", run["short_flows"], FLOWS), ("background flows", run["long_flows"], LONG)],
        "numbers of flows",
    )
    return judge.together([counted, _apart(tables)])


def _until_the_last(tables: Tables) -> Judgement:
    """Every background flow still carries payload when the last short flow has ended, and none after the run."""
    done = int(tables["flows"]["completed"].sum())
    run, until = tables["run"].row(0, named=True), tables["background"]["last_payload_ps"]
    last = run["last_short_ps"]
    if last is None or len(until) != LONG:
        return judge.not_reached("no short flow has ended, or not every background flow is known")
    stopped = [
        f"flow {flow} " + ("never carried any" if at is None else f"at {at / 1e12:.6g} s")
        for flow, at in tables["background"].select("id", "last_payload_ps").iter_rows()
        if at is None or at <= last
    ]
    going = f"{LONG - len(stopped)} of {LONG} background flows carry payload"
    measured = f"{done} short flows ended, the last at {last / 1e12:.6g} s; {going} later than that"
    found = judge.judged(done == FLOWS and not stopped, measured, f"{FLOWS}; {LONG} of {LONG}")
    return found.because(f"stopped before: {', '.join(stopped)}" if stopped else "short flows did not end")


def _float(value: Any) -> float:
    return float(value)


def draw(tables: Tables) -> "Picture":
    """The paper's panels (a) to (e), the fourth with senders and receivers."""
    picture, axes = style.panels(2, 3)
    flows, servers = tables["flows"], tables["servers"]
    goodput, fct, headers, sends, matrix, gaps = axes
    order = range(1, len(flows) + 1)
    goodput.plot(order, flows["goodput_gbps"].sort(descending=True).to_numpy())
    goodput.set(xlabel="flows, sorted", ylabel="goodput (Gbps)", title="(a) goodput", ylim=(0, 1.02))
    times = flows["fct_ps"].sort().to_numpy() / 1e9
    fct.plot(times, [place / len(flows) for place in order])
    fct.axvline(IDEAL_PS / 1e9, color="#000000", linewidth=0.9, linestyle="--", label="ideal + RTT")
    fct.set(xlabel="FCT (ms)", ylabel="share of the flows", title="(b) flow completion time", ylim=(0, 1.02))
    fct.legend(loc="lower right")
    headers.plot(order, flows["headers"].sort(descending=True).to_numpy())
    headers.set(xlabel="flows, sorted", ylabel="headers", title="(c) headers received", xscale="log")
    where = servers["server"].to_numpy()
    sends.bar(where, servers["sends"].to_numpy(), 1.0, label="sending")
    sends.bar(where, -servers["receives"].to_numpy(), 1.0, label="receiving")
    sends.set(xlabel="server", ylabel="short flows", title="(d) applications (gaps: background)")
    # Room for the legend above all bars.
    most = int(servers.select(pl.max_horizontal(pl.col("sends", "receives").max())).item())
    sends.set_ylim(-1.1 * most, 1.6 * most)
    sends.legend(loc="upper right", ncols=2)
    matrix.scatter(flows["src"].to_numpy(), flows["dst"].to_numpy(), s=3)
    matrix.set(xlabel="from server", ylabel="to server", title="(e) traffic matrix")
    known = flows["start_ps"].sort().diff().drop_nulls().to_numpy() / 1e6
    gaps.hist(known, bins=60, histtype="step", log=True)
    gaps.set(xlabel="gap between arrivals (us)", ylabel="flows", title="Poisson arrivals: a straight line")
    return picture


FIGURE = Figure(
    id="NDP-F6",
    title="Figure 6: 2000 short flows beside background traffic",
    plans=plans,
    tables=tables,
    claims={
        "NDP-F6a.a": _high_goodput,
        "NDP-F6b.a": _short_completion,
        "NDP-F6b.b": _goodput_times_fct,
        "NDP-F6c.a": _headers_cost_time,
        "NDP-F6d.a": _apart,
        "NDP-F6e.a": _matrix,
        "NDP-F6.e": _random,
        "NDP-P6": _poisson,
        "NDP-P7": _pairs,
        "NDP-P8": _until_the_last,
    },
    draw=draw,
    needs={"flows": Needs(rows=FLOWS), RANDOM: Needs(rows=FLOWS), "background": Needs(rows=LONG)},
    assumed=(
        *ASSUMED,
        "2500 flows per second, as in the later experiments; a permutation of the 46 servers, and a new one when all "
        "have sent.",
        "NDP-F6.e has sources and receivers of short flows at random among the 46 in place of permutations.",
        "The 8 servers with background traffic send endless flows among themselves. Their last payload is known to "
        f"{LOOK_US} us.",
    ),
)
