"""Figure 5: how many workers may answer at once with 99 % of the answers in time."""

from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Plan
from flowyard_papers.daq import _judges as judges
from flowyard_papers.daq import _models as models
from flowyard_papers.daq import _rack as rack
from flowyard_papers.daq import _readings as readings
from flowyard_papers.daq._models import DEADLINES, FLOORED, PLAIN, UNIFORM

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

MEAN_BYTES, LEAST_PCT = 10_000, 99.0
KEYS = ["reading", "scheme", "senders"]
# What is known of a number of senders: it is that one, or below the first one run, or no less than the last one run.
EXACT, BELOW, AT_LEAST = "", "<", ">="

# What DAQ-F5.c asks for.
_RCP_LIMIT = (
    "RCP shares evenly, which is processor sharing: 30 senders by the fluid models of DAQ-F5.d (models.supported), "
    "where two priorities, the best that DAQ's queues can do, have 86, 2.9 times as many (DAQ-X11)"
)


def plans(scale: Scale) -> dict[str, Plan]:
    """The paper's schemes; other readings of them, and others, with fewer rounds; more senders with 20 to 40 ms."""
    numbers = scale.pick((1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100), (1, *range(5, 121, 5)))
    more = (1, 10, 25, 50, 100, 150, 200, 250, 300, 350, 400)
    tight = [name for name in DEADLINES if name != UNIFORM]

    def plan(names: Sequence[str], of: Sequence[str], rounds: int, replicas: int) -> Plan:
        flows = rack.incast(MEAN_BYTES, rounds, "100ms", FLOORED)
        counts = more if UNIFORM in of else numbers
        axes = [rack.readings(of), rack.schemes(names, [flows]), rack.senders(counts)]
        return Plan(axes=axes, replicas=replicas, name="senders")

    return {
        "paper": plan(rack.PAPER, tight, scale.pick(40, 1000), scale.pick(2, 10)),
        "paper_20_to_40_ms": plan(rack.PAPER, [UNIFORM], scale.pick(4, 100), scale.pick(2, 10)),
        "variants": plan(rack.VARIANTS, [FLOORED], scale.pick(20, 200), scale.pick(2, 10)),
        "others": plan(rack.OTHERS, tight, scale.pick(8, 200), scale.pick(2, 5)),
        "others_20_to_40_ms": plan(rack.OTHERS, [UNIFORM], scale.pick(2, 20), scale.pick(2, 5)),
    }


def tables(sweeps: Sweeps) -> Tables:
    """One row per run, the means, and where these fall below 99 %."""
    runs = pl.concat([rack.in_time(sweep, KEYS) for sweep in sweeps.values()])
    points = replica_means(runs, KEYS, ["in_time_pct"])
    rows = []
    for (reading, scheme), own in points.group_by("reading", "scheme", maintain_order=True):
        number, known = supported(own)
        rows.append(
            {
                "reading": reading,
                "scheme": scheme,
                "known": known,
                "supported": number,
                "replicas": own["replicas"].min(),
            }
        )
    return {"runs": runs, "points": points, "supported": pl.DataFrame(rows)}


def supported(points: pl.DataFrame) -> tuple[float, str]:
    """The largest number of senders with 99 %, on straight lines between points, and what is known of it.

    Where no point has 99 % it is below the first one; where the last one has, it is that one or more.
    """
    curve = list(points.sort("senders").select("senders", "in_time_pct").iter_rows())
    met = [place for place, (_, percent) in enumerate(curve) if percent >= LEAST_PCT]
    if not met:
        return float(curve[0][0]), BELOW
    senders, percent = curve[met[-1]]
    if met[-1] == len(curve) - 1:
        return float(senders), AT_LEAST
    after, less = curve[met[-1] + 1]
    return senders + (after - senders) * (percent - LEAST_PCT) / (percent - less), EXACT


def _range(row: dict[str, float | str]) -> tuple[float, float]:
    """From where to where the number may be; below 1 it is 0."""
    number, known = float(row["supported"]), row["known"]
    if known == BELOW:
        return 0.0, 0.0 if number <= 1 else number
    return number, inf if known == AT_LEAST else number


def _said(row: dict[str, float | str]) -> str:
    return f"{row['scheme']} {row['known']}{' ' if row['known'] else ''}{row['supported']:.3g}"


def decided(
    found: tuple[float, float], low: float, high: float, said: str, *, above: bool = False
) -> Judgement:
    """A value that is known from where to where is within bounds; NOT-REACHED if it may be either.

    Args:
        found: Both ends, equal if the value is known.
        low: The bounds.
        high: Infinite if there is none.
        said: What was measured.
        above: Whether `low` itself is too small.
    """
    asked = f"> {low:g}" if above else f"{low:g} to {high:g}"
    least, most = found
    inside = (least > low if above else least >= low) and most <= high
    outside = (most <= low if above else most < low) or least > high
    if not inside and not outside:
        return judge.not_reached(f"{said}: whether that is {asked} would take other numbers of senders")
    return judge.judged(inside, float(f"{least:.6g}") if least == most else said, asked).because(said)


def _by_reading(
    of: Sequence[readings.Reading],
    needs: tuple[str, ...],
    low: float,
    high: float,
    *,
    above: bool = False,
    why: Callable[[Judgement], Judgement] = lambda found: found,
) -> Callable[[Tables], Judgement]:
    """The senders of a scheme, or how many times those of another they are, in every reading.

    Args:
        of: The readings.
        needs: The scheme, or both.
        low: The bounds.
        high: Likewise.
        above: Whether `low` itself is too small.
        why: Gives a FAIL with floored deadlines its cause.
    """

    def judged(own: pl.DataFrame) -> Judgement:
        if lacking := judges.missing(own, needs):
            return lacking
        rows = {row["scheme"]: row for row in own.iter_rows(named=True)}
        said = "senders of which 99 % of the flows are in time: " + ", ".join(
            _said(rows[name]) for name in needs
        )
        ranges = [_range(rows[name]) for name in needs]
        if len(needs) == 1:
            found = decided(ranges[0], low, high, said, above=above)
        elif ranges[1] == (0.0, 0.0):
            # There is nothing to be so many times as large as.
            found = judge.judged(False, said, f"> {low:g}" if above else f"{low:g} to {high:g}")
        else:
            (least, most), (other_least, other_most) = ranges
            ratio = (least / other_most, most / other_least if other_least else inf)
            found = decided(ratio, low, high, said, above=above)
        return why(found) if own["reading"][0] == FLOORED else found

    return lambda tables: judges.by_reading(tables["supported"], of, judged)


def _cut(found: Judgement) -> Judgement:
    return found.because(f"{found.reason}; DAQ: {rack.CUT}")


def _out_of_reach(found: Judgement) -> Judgement:
    return found.not_reproducible(_RCP_LIMIT)


def draw(tables: Tables) -> "Picture":
    """The paper's three schemes: bars for each reading, and the curves that they come from; below, the others."""
    picture, panels = style.panels(3, len(DEADLINES), size=(4.2, 2.9))
    for place, reading in enumerate(DEADLINES):
        bars, curves, others = panels[place :: len(DEADLINES)]
        rows = tables["supported"].filter(reading=reading)
        paper = pl.col("scheme").is_in(rack.PAPER)
        _bars(bars, rows.filter(paper), reading, alone=(rows.filter(~paper)["known"] == BELOW).all())
        _bars(others, rows.filter(~paper), reading)
        for name in rack.PAPER:
            own = tables["points"].filter(reading=reading, scheme=name).sort("senders")
            curves.plot(own["senders"].to_numpy(), own["in_time_pct"].to_numpy(), **rack.look(name))
        curves.axhline(LEAST_PCT, color="#000000", linewidth=0.9, linestyle="--")
        curves.set(xlabel="senders", ylabel="flows in time (%)", ylim=(80, 100.4))
    panels[len(DEADLINES)].legend()
    return picture


def _bars(axes: Any, rows: pl.DataFrame, reading: str, *, alone: bool = True) -> None:
    """Senders with 99 %; the reason where no scheme has that, and where few flows just happen to have it.

    `alone`: whether no scheme of another panel with these deadlines has 99 % either.
    """
    order = {name: place for place, name in enumerate(rack.SCHEMES)}
    rows = rows.sort(pl.col("scheme").cast(pl.String).replace_strict(order, return_dtype=pl.Int64))
    names = rows["scheme"].to_list()
    shown = [0.0 if row["known"] == BELOW else row["supported"] for row in rows.iter_rows(named=True)]
    axes.barh(names, shown, color=[rack.look(name)["color"] for name in names])
    for place, row in enumerate(rows.iter_rows(named=True)):
        if row["known"]:
            axes.text(shown[place], place, f" {row['known']} {row['supported']:g}", va="center", fontsize=7)
    axes.invert_yaxis()
    axes.set(title=f"deadlines: {reading}", xlabel="senders with 99 % in time", xlim=(0, None))
    axes.tick_params(axis="y", labelsize=7)
    axes.grid(axis="y", visible=False)
    if reading != PLAIN or not names:
        return
    middle = {"y": (len(names) - 1) / 2, "ha": "center", "va": "center", "fontsize": 8}
    if any(shown):
        said = "by chance: so few flows were run\nthat hardly one of them has\na deadline too short for it"
        axes.text(x=max(shown) / 2, s=said, bbox={"facecolor": "white", "linewidth": 0}, **middle)
        return
    ceiling = models.share("EDF with rejection", 1, MEAN_BYTES // 1000, PLAIN)
    who = (
        "nobody has 99 %, not even\none sender"
        if alone
        else "none of these has 99 %,\nnot even with one sender"
    )
    axes.set(xlim=(0, 10))
    axes.text(
        x=5,
        s=f"{who}: {100 - ceiling:.2g} % of the\ndeadlines are shorter than\na flow takes alone",
        **middle,
    )


_DAQS = (*readings.BY_DEADLINES, *readings.OF_DAQ)

FIGURE = Figure(
    id="DAQ-F5",
    title="Senders with 99 % of deadlines met",
    plans=plans,
    tables=tables,
    claims={
        "DAQ-F5.a": _by_reading(_DAQS, (rack.DAQ,), 60, 85, why=_cut),
        "DAQ-F5.b": _by_reading(readings.ALL, (rack.DAQ, rack.D3), 1.7, 2.4, why=_cut),
        "DAQ-F5.c": _by_reading(_DAQS, (rack.DAQ, rack.RCP), 3, inf, above=True, why=_out_of_reach),
    },
    draw=draw,
    needs={
        "supported": [
            *(Needs(10, by=KEYS[:2], where={"scheme": name}) for name in rack.PAPER),
            *(
                Needs(10, by=KEYS[:2], where={"scheme": scheme}, reading=one.name)
                for one in (*readings.OF_DAQ, *readings.OF_D3)
                for scheme in ({one.daq, one.d3} - {*rack.PAPER})
            ),
        ]
    },
    assumed=(
        *rack.ASSUMED,
        *rack.ASSUMED_OTHERS,
        *readings.ASSUMED,
        "A mean size of 10 KB; rounds begin 100 ms after the last answer of the one before. Between the numbers of "
        "senders that were run lies a straight line; a number below the first or from the last one on is named so.",
    ),
)
