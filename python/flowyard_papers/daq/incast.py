"""Figures 6a to 6c: application throughput against the number of workers, for answers of 10, 20 and 30 KB."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Plan
from flowyard_papers.daq import _judges as judges
from flowyard_papers.daq import _rack as rack
from flowyard_papers.daq._models import DEADLINES, FLOORED

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SENDERS, MEANS_KB = tuple(range(5, 41, 5)), (10, 20, 30)
KEYS = ["reading", "scheme", "mean_kb", "senders"]
# What the text has at the right end of the figures (DAQ-X8), for 10 and for 30 KB.
ENDS = {rack.D3: {10: 96.0, 30: 80.0}, rack.RCP: {10: 94.0, 30: 80.0}}


def plans(scale: Scale) -> dict[str, Plan]:
    """Every reading of the deadlines; the other schemes with fewer rounds."""

    def plan(names: Sequence[str], rounds: int, replicas: int) -> Plan:
        flows = rack.incast(10_000, rounds, "100ms", FLOORED)
        axes = [
            rack.readings(list(DEADLINES)),
            rack.schemes(names, [flows]),
            rack.mean_sizes(MEANS_KB),
            rack.senders(scale.pick((5, 20, 30, 40), SENDERS)),
        ]
        return Plan(axes=axes, replicas=replicas, name="incast")

    return {
        "paper": plan(rack.PAPER, scale.pick(40, 1000), scale.pick(3, 10)),
        "others": plan(rack.OTHERS, scale.pick(8, 100), scale.pick(2, 5)),
    }


def tables(sweeps: Sweeps) -> Tables:
    """A row a run, and the means."""
    runs = pl.concat([rack.in_time(sweep, KEYS) for sweep in sweeps.values()])
    return {"runs": runs, "points": replica_means(runs, KEYS, ["in_time_pct"])}


def _each(judged: Callable[[pl.DataFrame], Judgement]) -> Callable[[Tables], Judgement]:
    return lambda tables: judges.by_reading(tables["runs"], DEADLINES, judged)


def _daq_is_ahead(runs: pl.DataFrame) -> Judgement:
    pairs = [(rack.DAQ, rack.D3), (rack.DAQ, rack.RCP)]
    return judge.together(
        judges.ordered(runs.filter(mean_kb=mean), pairs, "in_time_pct", "senders", points=True)
        for mean in MEANS_KB
    )


def _ends(scheme: str) -> Callable[[pl.DataFrame], Judgement]:
    def judged(runs: pl.DataFrame) -> Judgement:
        if lacking := judges.missing(runs, (scheme,)):
            return lacking
        return judge.together(
            judge.within(
                judges.mean(runs, "in_time_pct", scheme=scheme, senders=SENDERS[-1], mean_kb=mean),
                said,
                absolute=3,
            )
            for mean, said in ENDS[scheme].items()
        )

    return judged


def _daq_holds(runs: pl.DataFrame) -> Judgement:
    if lacking := judges.missing(runs, (rack.DAQ,)):
        return lacking
    means = replica_means(runs.filter(pl.col("mean_kb") < 30, scheme=rack.DAQ), KEYS, ["in_time_pct"])
    worst = means.sort("in_time_pct").row(0, named=True)
    found = judge.at_least(worst["in_time_pct"], 98.5)
    return found.because(f"least with {worst['senders']} senders of {worst['mean_kb']} KB: {rack.CUT}")


def _daq_at_30(runs: pl.DataFrame) -> Judgement:
    if lacking := judges.missing(runs, (rack.DAQ,)):
        return lacking
    found = judges.mean(runs, "in_time_pct", scheme=rack.DAQ, senders=SENDERS[-1], mean_kb=30)
    return judge.between(found, 97, 99).because(
        rack.CUT if found is not None and found < 97 else "all are in time"
    )


def _dctcp(runs: pl.DataFrame) -> Judgement:
    """Only told: the text quotes 7 % of other work. That all or most are late would be something else."""
    if lacking := judges.missing(runs, (rack.DCTCP,)):
        return lacking
    own = replica_means(runs.filter(scheme=rack.DCTCP), KEYS, ["in_time_pct"])
    late = 100 - float(own["in_time_pct"].mean() or 0.0)  # type: ignore[arg-type]
    most = 100 - float(own["in_time_pct"].min() or 0.0)  # type: ignore[arg-type]
    said = f"{late:.3g} % late over all points, at most {most:.3g} %"
    return judge.judged(0 < late < 50, said, "some, and fewer than half; the text quotes 7 %")


def _falls(runs: pl.DataFrame) -> Judgement:
    """With senders at each size, and with sizes at each number of senders."""
    schemes = (rack.D3, rack.RCP)
    if lacking := judges.missing(runs, schemes):
        return lacking
    found = []
    for scheme in schemes:
        own = runs.filter(scheme=scheme)
        for x, across in (("senders", "mean_kb"), ("mean_kb", "senders")):
            for at in sorted(own[across].unique()):
                rows = own.filter(pl.col(across) == at)
                # At the left end all are in time, and nothing can fall.
                if (rows["in_time_pct"] < 100).any():
                    found.append(judges.trend(rows, x, "in_time_pct", rising=False))
    if not found:
        return judge.judged(False, "all flows are in time everywhere", "falling curves")
    bad = [one for one in found if one.verdict != judge.PASS]
    said = f"{len(found) - len(bad)} of {len(found)} curves fall"
    return judge.judged(not bad, said, "all").because("; ".join(one.reason for one in bad[: judge.SHOWN]))


def draw(tables: Tables) -> "Picture":
    """A row of panels for each reading of the deadlines."""
    picture, panels = style.panels(len(DEADLINES), len(MEANS_KB), size=(4.2, 2.9))
    points = tables["points"].sort("senders")
    schemes = [name for name in rack.SCHEMES if name in set(points["scheme"])]
    for row, reading in enumerate(DEADLINES):
        for column, mean in enumerate(MEANS_KB):
            axes = panels[row * len(MEANS_KB) + column]
            for scheme in schemes:
                own = points.filter(reading=reading, scheme=scheme, mean_kb=mean)
                axes.plot(own["senders"].to_numpy(), own["in_time_pct"].to_numpy(), **rack.look(scheme))
            axes.set(title=f"{mean} KB, deadlines: {reading}", xlabel="senders", ylim=(40, 101))
        panels[row * len(MEANS_KB)].set_ylabel("flows in time (%)")
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    return picture


FIGURE = Figure(
    id="DAQ-F6",
    title="Application throughput against the number of senders",
    plans=plans,
    tables=tables,
    claims={
        "DAQ-F6.a": _each(_daq_is_ahead),
        "DAQ-F6.b": _each(_ends(rack.D3)),
        "DAQ-F6.c": _each(_ends(rack.RCP)),
        "DAQ-F6.d": _each(_daq_holds),
        "DAQ-F6.e": _each(_daq_at_30),
        "DAQ-F6.f": _each(_falls),
        "DAQ-P5": _each(_dctcp),
    },
    draw=draw,
    needs={"runs": [Needs(10, by=KEYS, where={"scheme": name}) for name in rack.PAPER]},
    assumed=(
        *rack.ASSUMED,
        *rack.ASSUMED_OTHERS,
        "Rounds begin 100 ms after the last answer of the one before. The values that the text quotes for D3 and RCP "
        "are those of the right end of the figures, 40 senders (DAQ-X8).",
    ),
)
