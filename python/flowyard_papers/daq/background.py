"""Figures 7 and 8: short flows with deadlines beside two long flows, as rounds of answers and at random times.

Both are run with the weights as the text has them, 1:100 for long flows, and the other way round (DAQ-X1).

The paper's simulation of random times lasts 1.5 s, from an empty rack on; at the highest rate that is too short for a
steady state. Two claims that depend on it are also judged at the load: by flows that start from 1.5 to 2.9 s.

The rounds of figure 7 are also run without long flows, and those of figures 5 and 6 for the abstract's gain of short
flows over all figures. TCP's long flows stand beside DAQ's, which are to have what TCP "would provide" (section I).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import loads, style
from flowyard.papers.figure import Figure, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard_papers.daq import _background_judges as judges
from flowyard_papers.daq import _carried as carried
from flowyard_papers.daq import _gains as gains
from flowyard_papers.daq import _rack as rack
from flowyard_papers.daq._background_judges import ALONE, AT_LOAD, IN_TIME, INCAST, LONG, POISSON, X
from flowyard_papers.daq._gains import SHORT_ONLY
from flowyard_papers.daq._models import DEADLINES, FLOORED

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

MEAN_BYTES, LONG_FLOWS = 1000 * judges.MEAN_KB, 2
# Hosts 1 and 2 have the long flows.
FIRST = 1 + LONG_FLOWS
SENDERS, RATES = tuple(range(5, 41, 5)), tuple(range(1000, 8001, 1000))
GAP, WORKERS, UNTIL_PS = "1600ms", 40, 1_500_000_000_000
# Flows of the last 100 ms are not counted: most are not due before the end of the run.
SETTLED_PS = UNTIL_PS - 100_000_000_000
OWN = (rack.DAQ, rack.DAQ_SHORT, rack.D3, rack.RCP)
OTHERS = rack.OTHERS
# D3 with the constants of a public model, and whose long flows DAQ's are compared with.
BESIDE = (rack.D3_PLAIN, rack.TCP)
# Figures 5 and 6, where there are no long flows: mean sizes, and senders.
SHORT_ONLY_SENDERS = {10: (*range(5, 121, 5),), 20: SENDERS, 30: SENDERS}
# Of which claims are judged at the load.
LOADED = (rack.DAQ, rack.DAQ_SHORT, rack.PDQ)
# The paper's run; and one in which the flows of its second half count, while arrivals go on.
PAPER_RUN = {"measure": "all", "until": "1500ms"}
LOADED_RUN = {"measure": {"from": "1500ms", "until": "2900ms", "drain": "100ms"}, "until": "3s"}
KEYS = ["reading", "scheme"]
# The horizontal axes of the tables of runs.
TABLES = {**X, AT_LOAD: X[POISSON]}
ANY = pl.lit(True)
MOST = pl.col("flows_per_s") == RATES[-1]


def plans(scale: Scale) -> dict[str, Plan]:
    """Rounds and random times; the other schemes and the other readings of the deadlines with less."""
    tight, loose = [FLOORED], [name for name in DEADLINES if name != FLOORED]
    long = rack.long_flows(LONG_FLOWS)

    def incast(
        names: Sequence[str], readings: Sequence[str], rounds: int, replicas: int, *, alone: bool = False
    ) -> Plan:
        flows = rack.incast(MEAN_BYTES, rounds, GAP, FLOORED, at=GAP)
        axes = [
            rack.readings(readings),
            rack.schemes(names, [flows] if alone else [long, flows]),
            rack.senders(scale.pick((5, 20, 35, 40), SENDERS), FIRST),
        ]
        return Plan(axes=axes, replicas=replicas, name="incast")

    def poisson(
        names: Sequence[str], readings: Sequence[str], replicas: int, run: Mapping[str, Any] = PAPER_RUN
    ) -> Plan:
        flows = rack.poisson(MEAN_BYTES, 1000, FLOORED, WORKERS, FIRST, until=run["until"])
        rates = scale.pick((1000, 3000, 5000, 7000, 8000), RATES)
        axes = [
            rack.readings(readings),
            rack.schemes(names, [long, flows], FIRST + WORKERS, run=run),
            Axis("flows_per_s", {"traffic.short.arrivals.poisson.rate": list(rates)}, labels=rates),
        ]
        return Plan(axes=axes, replicas=replicas, name="random times")

    return {
        "incast": incast(OWN, tight, scale.pick(4, 20), scale.pick(2, 10)),
        "incast_other_deadlines": incast(OWN, loose, scale.pick(1, 5), scale.pick(2, 10)),
        "incast_beside": incast(BESIDE, tight, scale.pick(4, 20), scale.pick(2, 10)),
        ALONE: incast((*rack.PAPER, rack.D3_PLAIN), tight, scale.pick(4, 20), scale.pick(2, 10), alone=True),
        "incast_others": incast(OTHERS, tight, scale.pick(1, 5), scale.pick(2, 5)),
        "poisson": poisson((*OWN, rack.PDQ), list(DEADLINES), scale.pick(2, 10)),
        "poisson_beside": poisson(BESIDE, tight, scale.pick(2, 10)),
        "poisson_others": poisson([name for name in OTHERS if name != rack.PDQ], tight, scale.pick(1, 5)),
        AT_LOAD: poisson(LOADED, list(DEADLINES), scale.pick(2, 10), LOADED_RUN),
        **{f"{SHORT_ONLY} {mean} KB": _short_only(scale, mean) for mean in SHORT_ONLY_SENDERS},
    }


def _short_only(scale: Scale, mean_kb: int) -> Plan:
    """The rounds of figures 5 and 6, of which there are fewer here."""
    flows = rack.incast(1000 * mean_kb, scale.pick(20, 100), "100ms", FLOORED)
    numbers = SHORT_ONLY_SENDERS[mean_kb]
    axes = [
        rack.schemes((*rack.PAPER, rack.D3_PLAIN), [flows]),
        rack.senders(numbers[3::4] if scale is Scale.QUICK else numbers),
    ]
    return Plan(axes=axes, replicas=scale.pick(2, 10), name="short flows only")


def tables(sweeps: Sweeps) -> Tables:
    """For each figure one row per run, and the means."""
    found: dict[str, pl.DataFrame] = {}
    for figure, x in TABLES.items():
        keys = [*KEYS, x]
        parts = [sweep for name, sweep in sweeps.items() if name.startswith(figure)]
        runs = pl.concat(_runs(figure, sweep, keys) for sweep in parts)
        values = [IN_TIME, LONG, *(name for name in loads.COLUMNS if name in runs.columns)]
        found |= {figure: runs, f"{figure}_points": replica_means(runs, keys, values)}
    found[ALONE] = rack.in_time(sweeps[ALONE], [*KEYS, X[INCAST]])
    found[SHORT_ONLY] = pl.concat(
        rack.in_time(sweeps[f"{SHORT_ONLY} {mean} KB"], ["scheme", "senders"]).with_columns(
            mean_kb=pl.lit(mean)
        )
        for mean in SHORT_ONLY_SENDERS
    )
    return found


def _runs(figure: str, sweep: Sweep, keys: list[str]) -> pl.DataFrame:
    """One row per run: short flows in time, what long ones deliver; at random times the loads of short flows."""
    short = rack.in_time(sweep, keys, SETTLED_PS if figure == POISSON else None)
    share = (
        carried.long_at_load(sweep, keys, WORKERS) if figure == AT_LOAD else carried.long_share(sweep, keys)
    )
    found = short.join(share, on=[*keys, "replica"])
    if figure == INCAST:
        return found
    return found.join(carried.of_short(sweep, keys, WORKERS), on=[*keys, "replica"])


def draw(tables: Tables) -> "Picture":
    """The paper's three schemes, short flows above and long ones below; then the same of the others."""
    picture, panels = style.panels(4, 2, size=(5.2, 2.8))
    labels = {IN_TIME: "short flows in time (%)", LONG: "long flows together (% of the link)"}
    own = (rack.DAQ, rack.DAQ_SHORT, rack.D3, rack.RCP)
    others = [name for name in rack.SCHEMES if name not in own]
    rows = [(value, names) for names in (own, others) for value in labels]
    for row, (value, names) in enumerate(rows):
        for column, figure in enumerate((INCAST, POISSON)):
            axes, x = panels[2 * row + column], X[figure]
            points = tables[f"{figure}_points"].filter(reading=FLOORED).sort(x)
            for scheme in names:
                curve = points.filter(scheme=scheme)
                if len(curve):
                    axes.plot(curve[x].to_numpy(), curve[value].to_numpy(), **rack.look(scheme))
            kind = "7{}: rounds of answers" if figure == INCAST else "8{}: random times"
            more = "" if names is own else ", other schemes"
            axes.set_title(f"figure {kind.format('ab'[row % 2])}{more}")
            axes.set(xlabel=x.replace("_per_s", " a second"), ylim=(-2, 102))
        panels[2 * row].set_ylabel(labels[value])
    panels[0].legend(loc="center left")
    picture.legend(*panels[4].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    return picture


_ORDER = [(None, rack.D3), (rack.D3, rack.RCP), (None, rack.RCP)]
_LEFT, _RIGHT = pl.col("senders") == SENDERS[0], pl.col("senders") == SENDERS[-1]
_ROOM, _SERVED = pl.col("flows_per_s") <= 5000, pl.col("flows_per_s") <= 7000


def _both(low: float, high: float, where: pl.Expr) -> judges.Judge:
    parts: dict[str | None, judges.Part] = {
        name: judges.bounds(name, IN_TIME, X[INCAST], low, high, where) for name in (rack.D3, rack.RCP)
    }
    return judges.each(INCAST, judges.all_of(parts), weights=False, d3=True)


_CLAIMS: dict[str, judges.Judge] = {
    "DAQ-F7a.a": judges.each(
        INCAST, judges.bounds(None, IN_TIME, X[INCAST], 99, 100, pl.col("senders") <= 35)
    ),
    "DAQ-F7a.b": judges.each(INCAST, judges.bounds(None, IN_TIME, X[INCAST], 97, 99.5, _RIGHT)),
    "DAQ-F7a.c": _both(93, 97, _LEFT),
    "DAQ-F7a.d": _both(87, 93, _RIGHT),
    "DAQ-F7a.e": judges.with_and_without(SENDERS[-1]),
    "DAQ-F7b.a": judges.each(INCAST, judges.ahead(_ORDER, LONG, X[INCAST], ANY, points=False), d3=True),
    "DAQ-F7b.b": judges.each(INCAST, judges.ratio, d3=True),
    "DAQ-F7b.c": judges.each(INCAST, judges.gap, d3=True),
    "DAQ-F7b.d": judges.as_tcp,
    "DAQ-F8a.a": judges.each(
        POISSON,
        judges.all_of(
            {
                name: judges.bounds(name, IN_TIME, X[POISSON], 97.5, 100, _SERVED)
                for name in (None, rack.D3, rack.RCP)
            }
        ),
        d3=True,
    ),
    "DAQ-F8a.b": judges.each(
        POISSON,
        judges.all_of(
            {
                rack.RCP: judges.bounds(rack.RCP, IN_TIME, X[POISSON], 30, 50, MOST),
                rack.D3: judges.bounds(rack.D3, IN_TIME, X[POISSON], 20, 40, MOST),
            }
        ),
        weights=False,
        d3=True,
    ),
    "DAQ-F8a.c": judges.each_load(judges.bounds(None, IN_TIME, X[POISSON], 80, 100, MOST)),
    "DAQ-F8b.a": judges.each(POISSON, judges.constant, weights=False),
    "DAQ-F8b.b": judges.each(POISSON, judges.minimum),
    "DAQ-F8b.c": judges.each(
        POISSON,
        judges.ahead([(None, rack.D3), (None, rack.RCP)], LONG, X[POISSON], _ROOM, points=False),
        d3=True,
    ),
    "DAQ-P1": gains.of_long,
    "DAQ-P2": gains.of_short,
    "DAQ-P3": judges.each(POISSON, judges.minimum),
    "DAQ-P7": judges.each_load(judges.starved),
}

FIGURE = Figure(
    id="DAQ-F7-8",
    title="Short flows beside two long ones: rounds of answers, and random times",
    plans=plans,
    tables=tables,
    claims=_CLAIMS,
    draw=draw,
    needs={
        **{
            figure: [Needs(10, by=[*KEYS, x], where={"scheme": name}) for name in names]
            for (figure, x), names in zip(
                TABLES.items(), ((*OWN, *BESIDE), (*OWN, *BESIDE), LOADED), strict=True
            )
        },
        ALONE: Needs(10, by=[*KEYS, "senders"]),
        SHORT_ONLY: Needs(10, by=["scheme", "mean_kb", "senders"]),
    },
    assumed=(
        *rack.ASSUMED,
        *rack.ASSUMED_OTHERS,
        "A mean size of 15 KB. Long flows are 100 MB from each of two more hosts, one after the other without a pause. "
        "Rounds begin 1.6 s after the last answer of the one before, the first 1.6 s after the long flows; 20 a run.",
        "At random times 40 workers answer for 1.5 s, the length of the paper's simulation, from an empty rack on; "
        "flows that start in the last 100 ms are not counted. A flow that has not ended by then is late.",
        "Measured at the load are flows that start from 1.5 to 2.9 s, and the throughput of long flows in that time, "
        "in runs of 3 s. Loads of short flows are payload over the rate of the aggregator's link.",
        "Without long flows, figure 7 has the same rounds. Figures 5 and 6 are run again with 100 rounds, for the gain "
        "over figures 5 to 8. D3 with gains 0.1 and 1 and no guard is a reading of all that is said of D3. TCP is "
        "NewReno over first-in first-out ports of 4 MB.",
        "The throughput of long flows is their payload, over the whole run and together. What DAQ's weights promise is "
        "compared with it as it is on the wire, with headers.",
    ),
)
