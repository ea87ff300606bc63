"""Judges of figures 7 and 8: by the weights of DAQ, by the reading of the deadlines, and by when flows are measured."""

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from flowyard.papers import judge
from flowyard.papers.figure import Judgement, Tables
from flowyard_papers.daq import _judges as judges
from flowyard_papers.daq import _models as models
from flowyard_papers.daq import _rack as rack
from flowyard_papers.daq import _readings as readings
from flowyard_papers.daq._models import DEADLINES, FLOORED

Judge = Callable[[Tables], Judgement]
# A condition on the runs of a reading, given the name of DAQ with some weights.
Part = Callable[[pl.DataFrame, str], Judgement]
# The figures, their tables of runs and horizontal axes.
INCAST, POISSON, AT_LOAD, ALONE = "incast", "poisson", "at_load", "alone"
X = {INCAST: "senders", POISSON: "flows_per_s"}
IN_TIME, LONG = "in_time_pct", "long_pct"
# The mean size of short flows.
MEAN_KB = 15


def each(
    table: str,
    judged: Part,
    *,
    weights: bool = True,
    d3: bool = False,
) -> Judge:
    """A verdict for each reading of the deadlines, and if DAQ is concerned for each of its weights.

    Args:
        table: Whose runs.
        judged: Is given the runs of a reading and the name of DAQ with these weights.
        weights: Whether DAQ is concerned.
        d3: Whether D3 is, so that its other reading has verdicts, too.
    """

    def judging(tables: Tables) -> Judgement:
        runs = tables[table]
        found = _readings(runs, judged, weights=weights)
        for one in readings.OF_D3 if d3 else ():
            for daq in rack.WEIGHTS if weights else (rack.DAQ,):
                name = f"weights {rack.WEIGHTS[daq]}, {one.name}" if weights else one.name
                found[name] = judged(one.of(runs), daq)
        return judge.by_reading(found)

    return judging


def each_load(judged: Part) -> Judge:
    """A verdict for each reading of figure 8 by the paper's runs, which begin empty; then for each, at the load."""

    def judging(tables: Tables) -> Judgement:
        loaded = _readings(tables[AT_LOAD], judged)
        return judge.by_reading(
            _readings(tables[POISSON], judged)
            | {f"{name}, measured at the load": one for name, one in loaded.items()}
        )

    return judging


def _readings(table: pl.DataFrame, judged: Part, *, weights: bool = True) -> dict[str, Judgement]:
    """By the weights of DAQ, and by the reading of the deadlines."""
    found = {}
    for daq in rack.WEIGHTS if weights else (rack.DAQ,):
        for reading in DEADLINES:
            runs = table.filter(reading=reading)
            name = f"weights {rack.WEIGHTS[daq]}, deadlines {reading}" if weights else reading
            found[name] = judged(runs, daq) if len(runs) else judge.not_reached("not run")
    return found


def bounds(scheme: str | None, value: str, x: str, low: float, high: float, where: pl.Expr) -> Part:
    """A scheme's means at some points are within bounds; without a scheme those of DAQ."""

    def judged(runs: pl.DataFrame, daq: str) -> Judgement:
        name = scheme or daq
        if lacking := judges.missing(runs, (name,)):
            return lacking
        points = runs.filter(where, scheme=name).group_by(x).agg(pl.col(value).mean()).sort(value)
        if points.is_empty():
            return judge.not_reached(f"{name} has no such {x}")
        below, above = points.row(0, named=True), points.row(-1, named=True)
        worst = below if below[value] < low or above[value] <= high else above
        why = {
            rack.DAQ: rack.STARVED,
            rack.DAQ_SHORT: rack.CUT,
            rack.D3: rack.ASKING if x == X[POISSON] else "",
        }
        more = f": {why[name]}" if worst[value] < low and why.get(name) else ""
        found = judge.between(worst[value], low, high).because(f"{name} at {x} = {worst[x]}{more}")
        if x == X[POISSON] and name == rack.D3:
            # What predicts a FAIL there speaks of RCP (DAQ-X14).
            return found.beyond_prediction()
        if name == rack.RCP and worst[value] < low and (fluid := _shared(runs, worst[x])) < low:
            return found.not_reproducible(
                f"processor sharing, which RCP's even shares are, has {fluid:.3g} % of such flows in time without any "
                "long ones (models.share)"
            )
        return found

    return judged


def _shared(runs: pl.DataFrame, senders: int) -> float:
    """In time by the fluid model of processor sharing, for rounds of answers; 100 where there are none."""
    if X[INCAST] not in runs.columns:
        return 100.0
    return models.share("processor sharing", senders, MEAN_KB, runs["reading"][0])


def all_of(parts: Mapping[str | None, Part]) -> Part:
    """Conditions on shares of flows in time, each called by its scheme; None is DAQ."""
    return lambda runs, daq: judge.together(
        part(runs, daq).measured_in("%").called(scheme or daq) for scheme, part in parts.items()
    )


def ahead(
    pairs: Sequence[tuple[str | None, str]], value: str, x: str, where: pl.Expr, *, points: bool
) -> Part:
    """The first scheme of each pair, None for DAQ, is no worse than the other."""

    def judged(runs: pl.DataFrame, daq: str) -> Judgement:
        named = [(more or daq, less) for more, less in pairs]
        return judges.ordered(runs.filter(where), named, value, x, points=points)

    return judged


def ratio(runs: pl.DataFrame, daq: str) -> Judgement:
    """D3's long flows against DAQ's at every number of senders."""
    if lacking := judges.missing(runs, (daq, rack.D3)):
        return lacking
    own = means(runs, LONG, X[INCAST])
    low = min((own[rack.D3][x] / own[daq][x], x) for x in own[daq])
    return judge.at_least(low[0], 0.9).because(f"least with {low[1]} senders")


def gap(runs: pl.DataFrame, daq: str) -> Judgement:
    """Deficit of D3's long flows against DAQ's, in percent of the link."""
    if lacking := judges.missing(runs, (daq, rack.D3)):
        return lacking
    own = means(runs, LONG, X[INCAST])
    most = max((own[daq][x] - own[rack.D3][x], x) for x in own[daq])
    return judge.at_most(most[0], 1).because(f"largest with {most[1]} senders, % of the link")


def constant(runs: pl.DataFrame, daq: str) -> Judgement:  # noqa: ARG001
    """RCP's long flows hardly change with the arrival rate."""
    if lacking := judges.missing(runs, (rack.RCP,)):
        return lacking
    values = means(runs, LONG, X[POISSON])[rack.RCP].values()
    said = f"from {min(values):.3g} to {max(values):.3g} % of the link"
    return judge.at_most(max(values) / min(values), 1.15).because(said)


def minimum(runs: pl.DataFrame, daq: str) -> Judgement:
    """DAQ's long flows have the share of their weight, headers included, at every arrival rate."""
    if lacking := judges.missing(runs, (daq,)):
        return lacking
    short, long = (int(weight) for weight in rack.WEIGHTS[daq].split(":"))
    share = 100 * long / (short + long)
    on_wire = {x: value * 1500 / 1460 for x, value in means(runs, LONG, X[POISSON])[daq].items()}
    worst = min((value, x) for x, value in on_wire.items())
    found = judge.at_least(worst[0], 0.95 * share)
    return found.because(
        f"least at {worst[1]} flows/s, of the link with headers; its weight is {share:.3g} %"
    )


def starved(runs: pl.DataFrame, daq: str) -> Judgement:
    """PDQ's long flows get less than DAQ's at every arrival rate."""
    if lacking := judges.missing(runs, (daq, rack.PDQ)):
        return lacking
    own = means(runs.filter(pl.col("scheme").is_in([daq, rack.PDQ])), LONG, X[POISSON])
    less = [x for x, value in own[rack.PDQ].items() if value < own[daq][x]]
    largest = max((own[rack.PDQ][x] / own[daq][x], x) for x in own[daq])
    said = f"less at {len(less)} of {len(own[daq])} rates; at most {largest[0]:.4g} of DAQ's, at {largest[1]}"
    return judge.judged(len(less) == len(own[daq]), said, "less at every rate")


def with_and_without(senders: int) -> Judge:
    """Long flows change nothing for DAQ at any number of senders; at the most, fewer are in time under D3 and RCP."""

    def of(tables: Tables, daq: str, reading: readings.Reading) -> Judgement:
        x = X[INCAST]
        beside, alone = (means(reading.of(tables[name]), IN_TIME, x) for name in (INCAST, ALONE))
        # Without long flows weights do not matter.
        changes = {at: value - alone[rack.DAQ][at] for at, value in beside[daq].items()}
        largest = max(changes, key=lambda at: abs(changes[at]))
        kept = judge.between(changes[largest], -1, 1).measured_in("pp")
        kept = kept.because(
            f"{daq} with {largest} senders" + (f": {rack.STARVED}" if daq == rack.DAQ else "")
        )
        if daq == rack.DAQ:
            kept = _starved(kept, int(largest), alone[rack.DAQ][largest])
        found = [kept.called(f"change by long flows, largest for {daq} with {largest} senders")]
        for name in (rack.D3, rack.RCP):
            with_long, without = beside[name][senders], alone[name][senders]
            said = (
                f"{name} with {senders} senders: {with_long:.4g} % with long flows, {without:.4g} % without"
            )
            found.append(judge.judged(with_long < without - 1, said, "lower by more than 1 pp").because(said))
        return judge.together(found)

    def judging(tables: Tables) -> Judgement:
        found = {}
        for reading in (readings.BY_DEADLINES[0], *readings.OF_D3):
            for daq, weights in rack.WEIGHTS.items():
                more = "" if reading.d3 == rack.D3 else f", {reading.name}"
                found[f"weights {weights}{more}"] = of(tables, daq, reading)
        return judge.by_reading(found)

    return judging


def _starved(found: Judgement, senders: int, alone_pct: float) -> Judgement:
    """A FAIL with short flows at 1/101 of the link is no question if no rule has enough of them in time there."""
    most = models.starved(1 / 101, senders, MEAN_KB, FLOORED)
    if most >= alone_pct - 1:
        return found
    return found.not_reproducible(
        f"of {senders} such flows the best of all rules has at most {most:.3g} % in time with 1/101 of the link "
        "(models.starved)"
    )


def as_tcp(tables: Tables) -> Judgement:
    """DAQ's long flows against TCP's, in figure 7 and beside it in figure 8."""
    found = {}
    for table, figure in ((INCAST, "7b"), (POISSON, "8b")):
        own = means(tables[table].filter(reading=FLOORED), LONG, X[table])
        for daq, weights in rack.WEIGHTS.items():
            if rack.TCP not in own or daq not in own:
                found[f"figure {figure}, weights {weights}"] = judge.not_reached("TCP or DAQ not run")
                continue
            ratios = {x: value / own[rack.TCP][x] for x, value in own[daq].items()}
            worst = max(ratios, key=lambda x: abs(ratios[x] - 1))
            said = f"furthest from 1 at {X[table].replace('_per_s', ' a second')} = {worst:g}"
            found[f"figure {figure}, weights {weights}"] = judge.between(ratios[worst], 0.9, 1.1).because(
                said
            )
    return judge.by_reading(found)


def means(runs: pl.DataFrame, value: str, x: str) -> Mapping[str, Mapping[float, float]]:
    """The means of each scheme by x."""
    found: dict[str, dict[float, float]] = {}
    for name, at, mean in runs.group_by("scheme", x).agg(pl.col(value).mean()).sort("scheme", x).iter_rows():
        found.setdefault(name, {})[at] = mean
    return found
