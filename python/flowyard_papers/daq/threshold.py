"""Figure 3: application throughput against DAQ's threshold, and what waits in the two queues of short flows."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.daq import _judges as judges
from flowyard_papers.daq import _packets as packets
from flowyard_papers.daq import _rack as rack
from flowyard_papers.daq import _readings as readings
from flowyard_papers.daq._models import FLOORED, PLAIN, UNIFORM

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

MEAN_BYTES, RATE, WORKERS = 30_000, 3600, 40
# Thresholds in RTTs; the last stands for infinity.
ENDLESS = 1_000_000_000
RATIOS = (0, 5, 10, 20, 30, 40, 60, 80, 100, 150, 200, ENDLESS)
GOOD, OWN = (20, 60), 30
# Without a floor is the default here (DAQ-X3).
READINGS = (PLAIN, FLOORED, UNIFORM)
# DAQ in other readings, which are judged by the best threshold alone: how each is called, and its scheme.
OTHERS = {one.name: one.daq for one in readings.OF_DAQ}
NEAR_BEST = (10, 20, 30, 40, 60)
KEEP, GIVE_UP = "late flows go on", "late flows are given up"
KEYS = ["reading", "ratio"]


def _place(ratio: float) -> str:
    """A threshold in words."""
    return "infinity" if ratio == ENDLESS else f"{ratio:g} RTT" if ratio else "0"


IN_TIME = judges.Words("flows in time", "%", "threshold", _place)
OTHER = judges.Words("mean length of Q1.2", "bytes", "threshold", _place)
URGENT = judges.Words("mean length of Q1.1", "bytes", "threshold", _place)


def plans(scale: Scale) -> dict[str, Plan]:
    """Every threshold with every reading; both ends also with late flows given up; captured packets for the queues."""
    flows = rack.poisson(MEAN_BYTES, RATE, PLAIN, WORKERS, flows=scale.pick(4000, 20_000))

    def ratios(values: tuple[int, ...]) -> Axis:
        return Axis("ratio", {"queue.daq.ratio": list(values)}, labels=values)

    # The rack fills within 50 ms, of seconds.
    run = {"measure": "all"}
    daq = rack.schemes((rack.DAQ,), [flows], 1 + WORKERS, run=run)
    base = {"topology": rack.rack(1 + WORKERS), "traffic": [flows], "run": run}
    scenarios = [base | rack.SCHEMES[name] for name in OTHERS.values()]
    others = Axis("reading", scenarios=scenarios, labels=list(OTHERS))
    late = Axis("late", {"transport.daq.late": ["keep", "give-up"]}, labels=[KEEP, GIVE_UP])
    captured = flows | {"flows": scale.pick(1000, 3000)}
    capture = {"capture": {"links": ["host-switch", "* -> host 0"]}}
    watched = rack.schemes((rack.DAQ,), [captured], 1 + WORKERS, run=run, observe=capture)
    replicas = scale.pick(3, 10)
    return {
        "throughput": Plan(axes=[daq, rack.readings(READINGS), ratios(RATIOS)], replicas=replicas, name="F3"),
        "others": Plan(axes=[others, ratios(NEAR_BEST)], replicas=replicas, name="other readings"),
        "ends": Plan(axes=[daq, late, ratios((0, ENDLESS))], replicas=replicas, name="one queue"),
        "queues": Plan(
            axes=[watched, ratios(scale.pick((0, 10, 30, 60, ENDLESS), RATIOS))],
            replicas=scale.pick(2, 5),
            name="queues",
        ),
    }


def tables(sweeps: Sweeps) -> Tables:
    """One row per run, the means, flows that end at other times with one queue than with the other, and mean queues."""
    runs = pl.concat(rack.in_time(sweeps[name], KEYS) for name in ("throughput", "others"))
    queues = packets.occupancy(sweeps["queues"], ["ratio"])
    return {
        "runs": runs,
        "points": replica_means(runs, KEYS, ["in_time_pct"]),
        "ends": _ends(sweeps["ends"].flows),
        "queues": queues,
        "queue_points": replica_means(queues, ["ratio"], ["urgent_bytes", "other_bytes"]),
    }


def _ends(flows: pl.LazyFrame) -> pl.DataFrame:
    """For each run of threshold 0 against the one of infinity: flows, those with another end, shares in time."""
    keys = ["late", "replica", "id"]
    own = flows.select(*keys, "ratio", "fct_ps", "met_deadline")
    none, endless = (own.filter(pl.col("ratio") == ratio).drop("ratio") for ratio in (0, ENDLESS))
    both = none.join(endless, on=keys, suffix="_endless", validate="1:1")
    return (
        both.group_by("late", "replica")
        .agg(
            flows=pl.len().cast(pl.Int64),
            other_end=pl.col("fct_ps").ne_missing(pl.col("fct_ps_endless")).sum().cast(pl.Int64),
            in_time_0_pct=100 * pl.col("met_deadline").mean(),
            in_time_endless_pct=100 * pl.col("met_deadline_endless").mean(),
        )
        .sort("late", "replica")
        .collect()
    )


def _by_reading(
    runs: pl.DataFrame, of: Iterable[str], judged: Callable[[pl.DataFrame], Judgement]
) -> Judgement:
    found = {}
    for name in of:
        own = runs.filter(reading=name)
        found[name] = judged(own) if len(own) else judge.not_reached("not run")
    return judge.by_reading(found)


def _each(
    judged: Callable[[dict[int, float]], Judgement], of: Sequence[str] = READINGS
) -> Callable[[Tables], Judgement]:
    """Judges the means by threshold."""

    def means(points: pl.DataFrame) -> Judgement:
        return judged(dict(points.sort("ratio").select("ratio", "in_time_pct").iter_rows()))

    return lambda tables: _by_reading(tables["points"], of, means)


def _one_queue(means: dict[int, float]) -> Judgement:
    return judge.together(
        judge.between(means.get(ratio), 83, 89).measured_in("%").called(f"threshold {_place(ratio)}")
        for ratio in (0, ENDLESS)
    )


def _best(means: dict[int, float]) -> Judgement:
    best = max(means, key=means.__getitem__)
    more = f": {rack.CUT}" if means[best] < 94 else ""
    return judge.between(means[best], 94, 98).because(f"at {best} RTT{more}")


def _where(means: dict[int, float]) -> Judgement:
    best = max(means, key=means.__getitem__)
    short = means[best] - means[OWN]
    within = judge.between(best, *GOOD).measured_in("RTT").because(f"{means[best]:.4g} % there")
    near = judge.at_most(short, 0.5).measured_in("pp").called(f"below the best at {OWN} RTT")
    return judge.together([within.called("best threshold"), near])


def _declines(tables: Tables) -> Judgement:
    runs = tables["runs"].filter(pl.col("ratio") >= GOOD[1])
    return _by_reading(
        runs, READINGS, lambda own: judges.trend(own, "ratio", "in_time_pct", IN_TIME, rising=False)
    )


def _identical(tables: Tables) -> Judgement:
    found = {}
    for late in (KEEP, GIVE_UP):
        rows = tables["ends"].filter(late=late)
        other, flows = rows["other_end"].sum(), rows["flows"].sum()
        none, endless = (
            float(rows[f"in_time_{ratio}_pct"].mean() or 0.0)  # type: ignore[arg-type]
            for ratio in ("0", "endless")
        )
        if not flows:
            found[late] = judge.not_reached("not run")
            continue
        said = f"{other:,} of {flows:,} flows end at another time; {none:.4g} and {endless:.4g} % in time"
        found[late] = judge.judged(other == 0, said, "the same schedule")
    return judge.by_reading(found)


def _queues_move(tables: Tables) -> Judgement:
    rows = tables["queues"]
    return judge.together(
        judges.trend(rows, "ratio", column, words, rising=rising, slack=0.01 * scale)
        for column, words, rising in (("other_bytes", OTHER, False), ("urgent_bytes", URGENT, True))
        for scale in (rows[column].mean(),)
        if isinstance(scale, float)
    )


def draw(tables: Tables) -> "Picture":
    """Throughput and mean queues over the threshold; infinity stands at the right end."""
    picture, (left, right) = style.panels(1, 2, size=(4.8, 3.2))
    places = {ratio: place for place, ratio in enumerate(RATIOS)}
    for place, reading in enumerate((*READINGS, *OTHERS)):
        rows = tables["points"].filter(reading=reading).sort("ratio")
        rows = rows.with_columns(pl.col("ratio").replace_strict(places))
        style.curve(
            left,
            rows,
            "ratio",
            "in_time_pct",
            place,
            f"deadlines: {reading}" if reading in READINGS else reading,
            within=(0, 100),
        )
    left.set(xlabel="threshold (RTT)", ylabel="flows in time (%)")
    left.legend(loc="lower center")
    rows = tables["queue_points"].sort("ratio").with_columns(pl.col("ratio").replace_strict(places))
    for place, (column, label) in enumerate((("urgent_bytes", "Q1.1"), ("other_bytes", "Q1.2"))):
        style.curve(right, rows, "ratio", column, place, label, within=(0, math.inf))
    right.set(xlabel="threshold (RTT)", ylabel="mean queue (bytes)")
    right.legend(loc="center left")
    for axes in (left, right):
        axes.set_xticks(range(len(RATIOS)), [*map(str, RATIOS[:-1]), "inf"])
    return picture


FIGURE = Figure(
    id="DAQ-F3",
    title="Application throughput against the threshold",
    plans=plans,
    tables=tables,
    claims={
        "DAQ-F3.a": _each(_one_queue),
        "DAQ-F3.b": _each(_best, (*READINGS, *OTHERS)),
        "DAQ-F3.c": _each(_where),
        "DAQ-F3.d": _declines,
        "DAQ-F3.e": _identical,
        "DAQ-F3.h": _queues_move,
    },
    draw=draw,
    needs={
        "runs": Needs(10, by=KEYS, least={"flows": 20_000}),
        "points": Needs(10, by=KEYS),
        "ends": Needs(10, by=("late",)),
        "queues": Needs(5, by=("ratio",)),
    },
    assumed=(
        *rack.ASSUMED[:3],
        "Q of 1 MB, a window a round trip and the queue that a packet meets, in place of Q of 150 KB, a sliding window "
        "and Q1.1 with Q1.2, are read with deadlines without a floor; the text has no number for Q.",
        "Deadlines are exponential of mean 20 ms without a floor; the other readings are judged too.",
        "3600 flows per second (DAQ-X6) from 40 workers, 20 000 in all, from an empty rack: 0.864 of the link is "
        "offered and carried, and what a warm-up would change is below 0.03 points. With an infinite threshold all "
        "flows with a deadline wait in Q1.1, late ones, too.",
        "A queue's mean length is that of its waiting bytes over time, from captured packets of 3000 flows.",
    ),
)
