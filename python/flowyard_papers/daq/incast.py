"""Figures 6a to 6c: application throughput against the number of workers, for answers of 10, 20 and 30 KB."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Plan
from flowyard_papers.daq import _judges as judges
from flowyard_papers.daq import _models as models
from flowyard_papers.daq import _rack as rack
from flowyard_papers.daq import _readings as readings
from flowyard_papers.daq import _redrawn as redrawn
from flowyard_papers.daq import _uncut as uncut
from flowyard_papers.daq._models import DEADLINES, FLOORED

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SENDERS, MEANS_KB = tuple(range(5, 41, 5)), (10, 20, 30)
KEYS = ["reading", "scheme", "mean_kb", "senders"]
# What the reading that a search found is run with: its schemes, and the numbers of senders at which much is late.
REACHABLE, REACHED = (rack.DAQ_LARGE, rack.D3_GUARDED, rack.RCP), (10, 20, 30, 40)
# What the text has at the right end of the figures (DAQ-X8), for 10 and for 30 KB.
SLACK_PP = 3
# DAQ has 99 % there, to half a point.
DAQ_PCT = 98.5
ENDS = {rack.D3: {10: 96.0, 30: 80.0}, rack.RCP: {10: 94.0, 30: 80.0}}


def plans(scale: Scale) -> dict[str, Plan]:
    """Every reading; the other schemes and readings of the schemes with fewer rounds."""

    def plan(names: Sequence[str], of: Sequence[str], rounds: int, replicas: int) -> Plan:
        flows = rack.incast(10_000, rounds, "100ms", FLOORED)
        axes = [
            rack.readings(of),
            rack.schemes(names, [flows]),
            rack.mean_sizes(MEANS_KB),
            rack.senders(scale.pick((5, 20, 30, 40), SENDERS)),
        ]
        return Plan(axes=axes, replicas=replicas, name="incast")

    drawn = (readings.REACHABLE.deadlines, REACHABLE, MEANS_KB, scale.pick(REACHED[-1:], REACHED))
    return {
        "paper": plan(rack.PAPER, list(DEADLINES), scale.pick(40, 1000), scale.pick(3, 10)),
        "variants": plan(rack.VARIANTS, [FLOORED], scale.pick(40, 200), scale.pick(3, 10)),
        "others": plan(rack.OTHERS, list(DEADLINES), scale.pick(8, 100), scale.pick(2, 5)),
        "drawn_again": Plan(
            axes=redrawn.axes(*drawn, scale.pick(40, 100)), replicas=scale.pick(3, 10), name="drawn again"
        ),
    }


def tables(sweeps: Sweeps) -> Tables:
    """One row per run, and the means."""
    parts = [rack.in_time(sweep, KEYS) for name, sweep in sweeps.items() if name != "drawn_again"]
    again = rack.in_time(sweeps["drawn_again"], [*KEYS[:2], redrawn.POINT])
    runs = pl.concat([*parts, redrawn.split(again).select(parts[0].columns)])
    return {"runs": runs, "points": replica_means(runs, KEYS, ["in_time_pct"])}


def _each(
    judged: Callable[[pl.DataFrame], Judgement], of: Iterable[readings.Reading] = readings.BY_DEADLINES
) -> Callable[[Tables], Judgement]:
    return lambda tables: judges.by_reading(tables["runs"], of, judged)


def _daq_is_ahead(runs: pl.DataFrame) -> Judgement:
    """Of each pair and size, by the points at which not both have all flows in time."""
    found = []
    for mean in MEANS_KB:
        for other in (rack.D3, rack.RCP):
            own = judges.told_apart(runs.filter(mean_kb=mean), (rack.DAQ, other), "in_time_pct", "senders")
            if len(own):
                found.append(judges.ordered(own, [(rack.DAQ, other)], "in_time_pct", "senders", points=True))
    if not found:
        return judge.not_reached("all schemes have 100 % at every point")
    every = judge.together(found)
    return every.because(f"{every.reason}. DAQ: {rack.CUT}")


def _ends(scheme: str, rule: str) -> Callable[[pl.DataFrame], Judgement]:
    """Results of a scheme with the most senders, and of a fluid model of its rule under the same deadlines."""

    def judged(runs: pl.DataFrame) -> Judgement:
        if lacking := judges.missing(runs, (scheme,)):
            return lacking
        found = judge.together(
            judge.within(
                judges.mean(runs, "in_time_pct", scheme=scheme, senders=SENDERS[-1], mean_kb=mean),
                said,
                absolute=SLACK_PP,
            )
            .measured_in("%")
            .called(f"{mean} KB")
            for mean, said in ENDS[scheme].items()
        )
        reading = runs["reading"][0]
        if reading not in DEADLINES:
            return found
        fluid = {mean: models.share(rule, SENDERS[-1], mean, reading) for mean in ENDS[scheme]}
        said = (
            f"{scheme} is {rule} here, which has {', '.join(f'{one:.3g}' for one in fluid.values())} % of the same "
            "flows in time by a fluid model (models.share)"
        )
        within = all(abs(one - ENDS[scheme][mean]) <= SLACK_PP for mean, one in fluid.items())
        return found.because(said) if within else found.not_reproducible(said)

    return judged


def _daq_holds(runs: pl.DataFrame) -> Judgement:
    """The least share of the two smaller sizes; and the most that it can be, with windows that nothing cuts."""
    if lacking := judges.missing(runs, (rack.DAQ,)):
        return lacking
    means = replica_means(runs.filter(pl.col("mean_kb") < 30, scheme=rack.DAQ), KEYS, ["in_time_pct"])
    worst = means.sort("in_time_pct").row(0, named=True)
    said = f"least with {worst['senders']} senders of {worst['mean_kb']} KB: {rack.CUT}"
    found = judge.at_least(worst["in_time_pct"], DAQ_PCT).because(said)
    reading = runs["reading"][0]
    if found.verdict == judge.PASS or reading not in DEADLINES:
        return found
    best = max(uncut.share(SENDERS[-1], 20, reading, by_rounds=by_rounds) for by_rounds in (False, True))
    if best >= DAQ_PCT:
        return found
    return found.not_reproducible(
        f"whatever Q is: {best:.3g} % of the same flows of {SENDERS[-1]} senders with 20 KB are in time where no "
        "window is ever cut, by a model of nothing but the two queues and the windows (uncut.share)"
    )


def _daq_at_30(runs: pl.DataFrame) -> Judgement:
    if lacking := judges.missing(runs, (rack.DAQ,)):
        return lacking
    found = judges.mean(runs, "in_time_pct", scheme=rack.DAQ, senders=SENDERS[-1], mean_kb=30)
    return judge.between(found, 97, 99).because(
        rack.CUT if found is not None and found < 97 else "all are in time"
    )


def _dctcp(runs: pl.DataFrame) -> Judgement:
    """Information only: the text quotes 7 % of other work. That all or most are late would be something else."""
    if lacking := judges.missing(runs, (rack.DCTCP,)):
        return lacking
    own = replica_means(runs.filter(scheme=rack.DCTCP), KEYS, ["in_time_pct"])
    late = 100 - float(own["in_time_pct"].mean() or 0.0)  # type: ignore[arg-type]
    most = 100 - float(own["in_time_pct"].min() or 0.0)  # type: ignore[arg-type]
    said = f"{late:.3g} % late over all points, at most {most:.3g} %"
    return judge.judged(0 < late < 50, said, "some, and fewer than half; the text quotes 7 %")


WORDS = {
    "senders": judges.Words("flows in time", "%", "number of senders"),
    "mean_kb": judges.Words("flows in time", "%", "mean size in KB"),
}


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
                    found.append(judges.trend(rows, x, "in_time_pct", WORDS[x], rising=False))
    if not found:
        return judge.judged(False, "all flows are in time everywhere", "falling curves")
    bad = [one for one in found if one.verdict != judge.PASS]
    said = f"{len(found) - len(bad)} of {len(found)} curves fall"
    return judge.judged(not bad, said, "all").because("; ".join(one.reason for one in bad[: judge.SHOWN]))


def draw(tables: Tables) -> "Picture":
    """The paper's three schemes as the paper has them; below all others; then the other readings of the deadlines."""
    picture, panels = style.panels(2 + len(DEADLINES) - 1, len(MEANS_KB), size=(4.2, 2.7))
    points = tables["points"].sort("senders")
    others = [name for name in (*rack.VARIANTS, *rack.OTHERS) if name in set(points["scheme"])]
    rows = [(FLOORED, list(rack.PAPER)), (FLOORED, others)]
    rows += [(reading, [*rack.PAPER, *others]) for reading in DEADLINES if reading != FLOORED]
    for row, (reading, schemes) in enumerate(rows):
        for column, mean in enumerate(MEANS_KB):
            axes = panels[row * len(MEANS_KB) + column]
            for scheme in schemes:
                own = points.filter(reading=reading, scheme=scheme, mean_kb=mean)
                if len(own):
                    axes.plot(own["senders"].to_numpy(), own["in_time_pct"].to_numpy(), **rack.look(scheme))
            axes.set(title=f"{mean} KB, deadlines: {reading}", xlabel="senders", ylim=(40, 101))
        panels[row * len(MEANS_KB)].set_ylabel("flows in time (%)")
    panels[0].legend(loc="lower left")
    picture.legend(
        *panels[len(MEANS_KB)].get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=7
    )
    return picture


_DAQS = (*readings.BY_DEADLINES, *readings.OF_DAQ, readings.REACHABLE)
_D3S = (*readings.BY_DEADLINES, *readings.OF_D3)

FIGURE = Figure(
    id="DAQ-F6",
    title="Application throughput against the number of senders",
    plans=plans,
    tables=tables,
    claims={
        "DAQ-F6.a": _each(_daq_is_ahead, readings.ALL),
        "DAQ-F6.b": _each(_ends(rack.D3, "FIFO"), (*_D3S, readings.REACHABLE)),
        "DAQ-F6.c": _each(_ends(rack.RCP, "processor sharing"), (*readings.BY_DEADLINES, readings.REACHABLE)),
        "DAQ-F6.d": _each(_daq_holds, _DAQS),
        "DAQ-F6.e": _each(_daq_at_30, _DAQS),
        "DAQ-F6.f": _each(_falls, _D3S),
        "DAQ-P5": _each(_dctcp),
    },
    draw=draw,
    needs={
        "runs": [
            *(Needs(10, by=KEYS, where={"scheme": name}) for name in rack.PAPER),
            *(
                Needs(10, by=KEYS, where={"scheme": scheme}, reading=one.name)
                for one in (*readings.OF_DAQ, *readings.OF_D3, readings.REACHABLE)
                for scheme in ({one.daq, one.d3} - {*rack.PAPER})
            ),
        ]
    },
    assumed=(
        *rack.ASSUMED,
        *rack.ASSUMED_OTHERS,
        *readings.ASSUMED,
        "What a search found, which the text does not ask for, is called reachable: exponential deadlines that are "
        "drawn again below 2 ms, in forty parts of equal probability, DAQ with Q of 1 MB and D3 with gains of 0.1 and "
        "1 and two round trips of guard; rounds every 200 ms.",
        "Rounds begin 100 ms after the last answer of the one before. The values that the text quotes for D3 and RCP "
        "are those of the right end of the figures, 40 senders (DAQ-X8).",
    ),
)
