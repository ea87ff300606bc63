"""Beyond the paper: the schemes at 10 Gbps, over two bottlenecks, on a fat-tree, and with web search. Ours."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import loads, style
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.daq import _rack as rack
from flowyard_papers.daq._models import DEADLINES, FLOORED

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# RCP's slow constants are those of one figure of the paper; what is compared here has constants that fit the network.
SCHEMES = (rack.DAQ, rack.D3, *rack.OTHERS)
TEN, PARKING, TREE, WEB = "rack, 10 Gbps", "two bottlenecks", "fat-tree, k = 4", "web search"
# At 10 Gbps the last of 12,000 flows starts after 0.33 s, with a deadline of 2 ms on the mean. Requests of more than
# 875 flows, one of 40 B each in a round trip of 28 us, fill that link: D3 then never ends.
UNTIL = {TEN: "1s", WEB: "200s"}
# The warm-up that 0.86 of a cable asks for. The rule has the mean over a tier, and these cables are loaded one way.
MEASURE: Mapping[str, Any] = {PARKING: {"from": "50ms", "drain": "150ms"}}
# Links of sources for each link that they load. A run's own loads are over the former; of web search, of the latter.
SOURCES = {TEN: 40, PARKING: 4, TREE: 1, WEB: 1}
# On two bottlenecks: whose flows cross both.
BOTH, ONE = "both", "one"


def _entry(name: str, matrix: Any, arrivals: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    part = {"name": name, "matrix": matrix, "arrivals": arrivals, "sizes": rack.sizes(30_000)}
    return part | {"deadlines": DEADLINES[FLOORED]} | more


def _ten(flows: int) -> dict[str, Any]:
    """Ten times as fast; a tenth of the round trip and of the deadlines."""
    due = {"exponential": {"mean": "2ms", "min": "300us"}}
    workers = rack.to_aggregator(1, 40)
    short = _entry(rack.SHORT, workers, {"poisson": {"rate": 36_000}}, deadlines=due, flows=flows)
    return {
        "topology": {"single-switch": {"hosts": 41, "rate": "10Gbps", "delay": "6.884us"}},
        "traffic": [short],
    }


def _parking(flows: int) -> dict[str, Any]:
    """Three switches in a row; flows over both cables between them meet others on each."""
    hosts = [f"{name} {i}" for name in ("a", "b", "c") for i in range(8)]
    topology = {
        "rate": "1Gbps",
        "delay": "34us",
        "hosts": hosts,
        "switches": [{"name": f"switch {i}"} for i in range(3)],
        "cables": [{"ends": [host, f"switch {i // 8}"]} for i, host in enumerate(hosts)]
        + [{"ends": ["switch 0", "switch 1"]}, {"ends": ["switch 1", "switch 2"]}],
    }
    through = {"pairs": [[i, 16 + i] for i in range(4)]}
    beside = {"pairs": [[4 + i, 8 + i] for i in range(4)] + [[12 + i, 20 + i] for i in range(4)]}
    arrivals = {"poisson": {"rate": 1800}}
    return {
        "topology": {"explicit": topology},
        "traffic": [
            _entry(BOTH, through, arrivals, flows=flows // 3),
            _entry(ONE, beside, {"poisson": {"rate": 3600}}, flows=2 * flows // 3),
        ],
    }


def _tree(flows: int) -> dict[str, Any]:
    """From everywhere to everywhere, at 0.6 of the hosts' links."""
    short = _entry(rack.SHORT, "uniform", {"poisson": {"load": 0.6}}, flows=flows)
    return {"topology": {"fat-tree": {"k": 4, "rate": "1Gbps", "delay": "20us"}}, "traffic": [short]}


def _web(flows: int) -> dict[str, Any]:
    """Flows of all sizes to the aggregator, at 0.6 of its link, with ten times as much time."""
    short = _entry(
        rack.SHORT,
        rack.to_aggregator(1, 20),
        {"poisson": {"load": 0.6, "of": "receivers"}},
        sizes="web-search",
        deadlines={"exponential": {"mean": "200ms", "min": "20ms"}},
        flows=flows,
    )
    return {"topology": rack.rack(21), "traffic": [short]}


def plans(scale: Scale) -> dict[str, Plan]:
    """Four networks or workloads, each under all schemes."""
    flows = scale.pick(1500, 12_000)
    known = list(SCHEMES)
    bases = {TEN: _ten(flows), PARKING: _parking(flows), TREE: _tree(flows), WEB: _web(flows // 5)}
    return {
        name: Plan(
            axes=[Axis("scheme", scenarios=[base | rack.SCHEMES[one] for one in known], labels=known)],
            replicas=scale.pick(2, 5),
            name=name,
            set={"run.measure": MEASURE.get(name, "auto"), "run.until": UNTIL.get(name, "20s")},
        )
        for name, base in bases.items()
    }


def tables(sweeps: Sweeps) -> Tables:
    """Means by network, scheme and traffic entry; loads are of the links that most go over."""
    parts = []
    for name, sweep in sweeps.items():
        keys = ["scheme", "tag", "replica"]
        flows = sweep.flows.filter("measured").with_columns(pl.col("tag").cast(pl.String))
        means = flows.group_by(keys).agg(
            in_time_pct=100 * pl.col("met_deadline").mean(), fct_ms=pl.col("fct_ps").mean() / 1e9
        )
        rows = means.with_columns(case=pl.lit(name)).sort(keys).collect()
        tags = rows["tag"].unique().sort()
        own = pl.concat(loads.of_runs(sweep, ["scheme"], tag).with_columns(tag=pl.lit(tag)) for tag in tags)
        own = own.with_columns(pl.col(loads.COLUMNS) * SOURCES[name])
        parts.append(rows.join(own, on=keys, maintain_order="left"))
    runs = pl.concat(parts)
    values = ["in_time_pct", "fct_ms", *loads.COLUMNS]
    return {"points": replica_means(runs, ["case", "tag", "scheme"], values)}


def draw(tables: Tables) -> "Picture":
    """Bars for each case; two for each scheme where there are two bottlenecks."""
    picture, panels = style.panels(1, 4, size=(3.2, 3.4))
    for axes, case in zip(panels, (TEN, PARKING, TREE, WEB), strict=True):
        rows = tables["points"].filter(case=case)
        tags = sorted(set(rows["tag"]))
        for at, tag in enumerate(tags):
            own = dict(rows.filter(tag=tag).select("scheme", "in_time_pct").iter_rows())
            spots = [place + 0.4 * at for place in range(len(SCHEMES))]
            values = [own.get(scheme, 0.0) for scheme in SCHEMES]
            label = f"over {tag}" if len(tags) > 1 else ""
            axes.barh(spots, values, 0.8 / len(tags), label=label or None)
        axes.set_yticks(range(len(SCHEMES)), list(SCHEMES) if axes is panels[0] else [""] * len(SCHEMES))
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        axes.set(title=case, xlabel="flows in time (%)")
    panels[1].legend()
    return picture


FIGURE = Figure(
    id="DAQ-OURS",
    title="The schemes elsewhere: 10 Gbps, two bottlenecks, a fat-tree, web search (ours)",
    plans=plans,
    tables=tables,
    claims={},
    draw=draw,
    assumed=(
        *rack.ASSUMED_OTHERS,
        "Short flows have 30 KB on average and deadlines as in figures 5 to 8; at 10 Gbps deadlines and round trips "
        "are a tenth, the flows ten times as many. Web search has deadlines of at least 20 ms, of mean 200 ms.",
        "Two bottlenecks: three switches in a row; a third of the flows cross both cables, 1800 a second.",
        *loads.ASSUMED,
        "The links are the aggregator's, the cables between switches, and those of all hosts of the fat-tree. Web "
        "search offers 0.6 of the aggregator's link.",
        "No flow is without a deadline, so that DAQ's weights do not matter. RCP has gains of 0.1 and 1 and the "
        "network's own round trip.",
    ),
)
