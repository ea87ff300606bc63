"""CONGA against per-flow ECMP and local choice: shares of a link that is half as fast, saturation, completion times.

Alizadeh et al., "CONGA: distributed congestion-aware load balancing for datacenters", SIGCOMM 2014, section 2.4 and
figure 2 for what passes, section 5 for the testbed with one cable down. A local choice is CONGA's own without what it
learns of other switches: uses that leaves return count as 0 at once.
"""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, between, judged, not_reached
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard_papers.literature import _asymmetry
from flowyard_papers.literature._asymmetry import GAP

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

ECMP, LOCAL, CONGA = "ECMP", "local choice", "CONGA"
# A tenth of the figure's 90, 80 and 100 Gbps.
PASSED_GBPS = {ECMP: 9.0, LOCAL: 8.0, CONGA: 10.0}
SPLIT_SLACK = 0.05
# Loads at which the queue of the halved spine is to grow under ECMP and not; the third is CONGA's.
BELOW, ABOVE, HIGH = 0.48, 0.52, 0.70
SATURATION = (BELOW, ABOVE, 0.6, HIGH)
# Of what ECMP's half exceeds 40 Gbps by at the load above: 1.6 Gbps on the wire. Growth is at least half of it.
GROWS_GBPS = 0.8
FCT_LOAD, RATIO = 0.6, (2.0, 10.0)
WIRE, PAYLOAD = 1500, 1460
FLOW_BYTES = 30_000
# The window of the shares.
SPLIT_MS = (10, 60)
END_MS = {Scale.QUICK: 10, Scale.FULL: 200}


def _schemes() -> Axis:
    balancers = ["per-flow", {"conga": {"gap": GAP}}]
    return Axis("scheme", {"routing.balancer": balancers}, labels=[ECMP, CONGA])


def _split(scale: Scale) -> Plan:
    """160 flows of 62.5 Mbps each over two spines, of which one passes 4 of 8 Gbps on."""
    hosts = 160
    base = {
        "topology": {
            "leaf-spine": {
                "leaves": 2,
                "spines": 2,
                "hosts": hosts,
                "rate": "62500Kbps",
                "delay": "2us",
                "spine": {"rate": "8Gbps"},
            }
        },
        "faults": {
            "events": [
                {"at": "0s", "target": {"link": ["spine 1", "leaf 1"]}, "change": {"rate": "4Gbps"}},
            ]
        },
        "transport": {"tcp": _asymmetry.TCP},
        "queue": "drop-tail",
        "traffic": [
            {
                "name": "demand",
                "background": True,
                "arrivals": {"at-once": {"jitter": "1ms"}},
                "matrix": {"pairs": [[host, hosts + host] for host in range(hosts)]},
                "sizes": "endless",
            }
        ],
        "run": {"until": f"{SPLIT_MS[1]}ms", "measure": {"from": f"{SPLIT_MS[0]}ms", "until": "end"}},
    }
    # Each packet of a flow of 62.5 Mbps comes 192 us after the last one: it is a flowlet.
    balancers = ["per-flow", {"conga": {"gap": "150us", "ageing": "1ns"}}, {"conga": {"gap": "150us"}}]
    axis = Axis("scheme", {"routing.balancer": balancers}, labels=list(PASSED_GBPS))
    return Plan(base, [axis], scale.pick(2, 10), name="split")


def _saturation(scale: Scale) -> Plan:
    """Short flows from leaf to leaf for a given time, at loads on the wire."""
    hosts, end = scale.pick(8, 32), f"{END_MS[scale]}ms"
    base = _asymmetry.testbed(hosts) | {
        "transport": {"tcp": _asymmetry.TCP},
        "queue": {"drop-tail": {"limit": {"bytes": "1MB"}}},
        "traffic": [_asymmetry.forward(hosts, BELOW, {"fixed": f"{FLOW_BYTES}B"})],
        "run": {"until": end, "measure": {"from": "0s", "until": end, "drain": "0s"}},
    }
    loads = [round(load * PAYLOAD / WIRE / 2, 5) for load in SATURATION]
    axes = [
        _schemes(),
        Axis("load", {"traffic.flows.arrivals.poisson.load": loads}, labels=list(SATURATION)),
    ]
    return Plan(base, axes, scale.pick(1, 5), name="saturation")


def _completion(scale: Scale) -> Plan:
    """Web search flows from leaf to leaf."""
    hosts = scale.pick(8, 32)
    base = _asymmetry.testbed(hosts) | {
        "transport": {"tcp": _asymmetry.TCP},
        "queue": {"drop-tail": {"limit": {"bytes": "1MB"}}},
        "traffic": [_asymmetry.forward(hosts, FCT_LOAD, "web-search", scale.pick(60, 3000))],
        "run": {"measure": "auto"},
    }
    return Plan(base, [_schemes()], scale.pick(1, 5), name="completion")


def plans(scale: Scale) -> dict[str, Plan]:
    """Shares under a fixed demand, saturation, and completion times."""
    return {"split": _split(scale), "saturation": _saturation(scale), "completion": _completion(scale)}


def _passed(sweep: Sweep) -> pl.DataFrame:
    """The rate at which both spines pass packets to leaf 1, headers included, and of them the halved one."""
    keys = ["scheme", "replica"]
    gbps = 8 * pl.col("bytes") / ((SPLIT_MS[1] - SPLIT_MS[0]) * 1e6)
    down = sweep.links.filter((pl.col("to") == "leaf 1") & pl.col("from").is_in(["spine 0", "spine 1"]))
    return (
        down.group_by(keys)
        .agg(passed_gbps=gbps.sum(), halved_gbps=gbps.filter(pl.col("from") == "spine 1").sum())
        .collect()
        .sort(keys)
    )


def _growth(sweep: Sweep, end_ms: int) -> pl.DataFrame:
    """Growth of the bytes of flows that have begun and not ended, over the second half of each run."""
    keys = ["scheme", "load", "replica"]
    start, ends = pl.col("start_ps"), pl.col("start_ps") + pl.col("fct_ps")

    def open_flows(at_ms: float) -> pl.Expr:
        at_ps = at_ms * 1e9
        return ((start <= at_ps) & (ends.is_null() | (ends > at_ps))).sum().cast(pl.Float64)

    half = end_ms / 2
    return (
        sweep.flows.group_by(keys)
        .agg(open_half=open_flows(half), open_end=open_flows(end_ms))
        .with_columns(growth_gbps=(pl.col("open_end") - pl.col("open_half")) * FLOW_BYTES * 8 / (half * 1e6))
        .collect()
        .sort(keys)
    )


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """A row per run of each plan, and means."""
    passed, growth = _passed(sweeps["split"]), _growth(sweeps["saturation"], END_MS[scale])
    return {
        "split": passed,
        "shares": replica_means(passed, ["scheme"], ["passed_gbps", "halved_gbps"]),
        "saturation": growth,
        "growth": replica_means(growth, ["scheme", "load"], ["growth_gbps"]),
        **_asymmetry.completion(sweeps["completion"], ["scheme"]),
    }


def _shares(tables: Tables) -> Judgement:
    """The rate that passes under each scheme against that of the figure, as means over seeds."""
    found = dict(tables["shares"].select("scheme", "passed_gbps").iter_rows())
    if found.keys() != PASSED_GBPS.keys():
        return not_reached("there are not all schemes")
    holds = all(abs(found[name] / due - 1) <= SPLIT_SLACK for name, due in PASSED_GBPS.items())
    said = ", ".join(f"{found[name]:.2f} Gbps under {name}" for name in PASSED_GBPS)
    return judged(holds, said, f"9, 8 and 10 Gbps +- {SPLIT_SLACK:.0%}")


def _saturates(tables: Tables) -> Judgement:
    """Whether open flows grow under ECMP above a half of the load alone, and not under CONGA."""
    due = [(ECMP, BELOW, False), (ECMP, ABOVE, True), (CONGA, HIGH, False)]
    said, holds = [], True
    for scheme, load, grows in due:
        growth = _asymmetry.mean_of(tables["saturation"], "growth_gbps", scheme=scheme, load=load)
        if growth is None:
            return not_reached("there are not all loads")
        holds = holds and (growth >= GROWS_GBPS) == grows
        said.append(f"{growth:+.2f} Gbps under {scheme} at {load}")
    return judged(
        holds, ", ".join(said), f"below {GROWS_GBPS}, at least {GROWS_GBPS}, below {GROWS_GBPS} Gbps"
    )


def _sooner(tables: Tables) -> Judgement:
    means = [_asymmetry.mean_of(tables["runs"], "fct_mean_ms", scheme=name) for name in (ECMP, CONGA)]
    if means[0] is None or not means[1]:
        return not_reached(_asymmetry.MISSING)
    return between(means[0] / means[1], *RATIO)


def draw(tables: Tables) -> "Picture":
    """Shares of both spines by scheme, growth by load, completion times by scheme."""
    picture, (split, growth, fct) = style.panels(1, 3)
    shares = {row["scheme"]: row for row in tables["shares"].iter_rows(named=True)}
    names = [name for name in PASSED_GBPS if name in shares]
    halved = [shares[name]["halved_gbps"] for name in names]
    full = [shares[name]["passed_gbps"] - shares[name]["halved_gbps"] for name in names]
    split.bar(names, full, color=style.COLOURS[0], label="spine 0, 8 Gbps")
    split.bar(names, halved, bottom=full, color=style.COLOURS[1], label="spine 1, 4 Gbps")
    for place, name in enumerate(names):
        split.plot([place - 0.4, place + 0.4], [PASSED_GBPS[name]] * 2, "k--", linewidth=1)
    split.set(ylabel="passed to leaf 1 (Gbps)", ylim=(0, 13), title="dashed: a tenth of CONGA's figure 2")
    split.legend(loc="upper left", ncols=2)
    for place, name in enumerate((ECMP, CONGA)):
        rows = tables["growth"].filter(scheme=name).sort("load")
        style.curve(growth, rows, "load", "growth_gbps", place, name)
    loads = sorted(set(tables["growth"]["load"]))
    # ECMP sends half of 160 Gbps times the load to the halved spine's 40 Gbps; CONGA three quarters of 160 in all.
    excess = [max(0.0, 80 * load - 40) for load in loads]
    growth.plot(loads, excess, "--", color=style.COLOURS[0], label="80 load - 40")
    growth.set(xlabel="load", ylabel="growth of open flows (Gbps)")
    growth.legend()
    columns = [
        ("fct_mean_ms", "all, mean"),
        ("short_mean_ms", "to 100 KB, mean"),
        ("short_p99_ms", "to 100 KB, p99"),
    ]
    for place, name in enumerate((ECMP, CONGA)):
        rows = tables["points"].filter(scheme=name)
        if rows.is_empty():
            continue
        values = [rows[column][0] for column, _ in columns]
        at = [spot + 0.4 * place - 0.2 for spot in range(len(columns))]
        fct.bar(at, [value or 0 for value in values], 0.4, color=style.COLOURS[place], label=name)
    fct.set_xticks(range(len(columns)), [said for _, said in columns])
    fct.set(ylabel="FCT (ms)", yscale="log", title=f"web search, load {FCT_LOAD}")
    fct.legend()
    return picture


FIGURE = Figure(
    id="LIT-CONGA",
    title="CONGA, local choice and ECMP where a spine passes half as much on as the other",
    plans=plans,
    tables=tables,
    claims={"LIT-CONGA.a": _shares, "LIT-CONGA.b": _saturates, "LIT-CONGA.c": _sooner},
    draw=draw,
    needs={
        "shares": Needs(10, by=("scheme",)),
        "saturation": Needs(5, by=("scheme", "load")),
        "runs": Needs(5, by=("scheme",), least={"flows": 3000}),
    },
    assumed=(
        "Shares: 160 endless TCP flows of 62.5 Mbps each, from leaf 0 to leaf 1, over spines of 8 Gbps, one of which "
        "has 4 to leaf 1; rates are a tenth of the figure's. What passes is counted with headers, from 10 to 60 ms. "
        "Flowlets end after 150 us, less than the 192 us between two packets of a flow. The numbers of the figure are "
        "from memory of the paper, and follow from its rates.",
        "Testbed: 64 hosts, two cables of 40 Gbps between a leaf and a spine, one of spine 1 down; flows from leaf 0 "
        "to leaf 1, each host to one other. TCP with SACK and RACK-TLP, ports of 1 MB, flowlets of 500 us (quick "
        "scale: 16 hosts, cables of 10 Gbps).",
        "Saturation: flows of 30 KB, loads with headers. Ports are finite and TCP waits at its source, so that in "
        "place of a queue the bytes of open flows are counted, whole ones even if a part has come; a link of 40 Gbps "
        "with 4 % too much falls behind by 1.6 Gbps, and half of that is the bound. From 100 to 200 ms (quick scale: "
        "5 to 10 ms).",
        "Completion times are of 3000 web search flows behind a warm-up. Enterprise sizes are not public as a table.",
    ),
)
