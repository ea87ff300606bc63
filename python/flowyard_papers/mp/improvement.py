"""Figure 1.6: what avoiding Incast may gain, by equations 1.2 to 1.8.

Nothing is simulated: the equations are fits to measurements, put together. The gain has three readings: from equations
1.2 to 1.5 and 1.7, from 1.6 and 1.7, and from 1.8, whose right side is in percent although its left is a ratio (MP-X9).
"""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Tables
from flowyard.theory import goodput
from flowyard_papers.mp._exact import value

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SERVERS = range(1, 49)
GAINS = {
    "equations 1.2 to 1.5 and 1.7": "gain_percent",
    "equations 1.6 and 1.7": "gain_1_6_percent",
    "equation 1.8": "gain_1_8_percent",
}


def tables() -> Tables:
    """Goodput and gain by servers; coefficients of equation 1.6, printed and as they follow."""
    rows = [
        {
            "servers": servers,
            "with_incast_mbps": float(goodput.with_incast(servers) * 8 / 10**6),
            "without_incast_mbps": float(goodput.without_incast(servers) * 8 / 10**6),
            "gain_percent": float(goodput.gain(servers) * 100),
            "gain_1_6_percent": float(goodput.gain_by_1_6(servers) * 100),
            "gain_1_8_percent": float(goodput.gain_by_1_8(servers) * 100),
            "timeouts": float(goodput.timeouts(servers)),
        }
        for servers in SERVERS
    ]
    coefficients = [
        {"servers": where, "of": of, "follows": float(follows), "printed": float(printed)}
        for where, servers in (("up to 8", goodput.FEW), ("above 8", goodput.FEW + 1))
        for of, follows, printed in zip(
            ("S^2", "S", "1"),
            goodput.seconds_fit(servers),
            goodput.PRINTED_SECONDS[servers > goodput.FEW],
            strict=True,
        )
    ]
    return {"points": pl.DataFrame(rows), "coefficients": pl.DataFrame(coefficients)}


def _equation_1_6(tables: Tables) -> Judgement:
    rows = tables["coefficients"]
    checks = [
        judge.within(follows, printed, relative=0.01).called(f"coefficient of {of} for S {where}")
        for where, of, follows, printed in rows["servers", "of", "follows", "printed"].rows()
    ]
    return judge.together(checks)


def _without_incast(tables: Tables) -> Judgement:
    points = tables["points"]
    checks = [
        judge.within(_at(points, "without_incast_mbps", servers), expected, relative=0.005)
        .measured_in("Mbps")
        .called(f"S = {servers}")
        for servers, expected in ((1, 512), (8, 893), (25, 963))
    ]
    below = judge.judged(
        bool((points["without_incast_mbps"] < 1000).all()), "all below 1000 Mbps", "all below 1000 Mbps"
    )
    return judge.together([*checks, below])


def _largest(tables: Tables) -> Judgement:
    """At S = 8 the value that each reading has, all above 3000 % by more than 1 %; at S = 9 that of the first."""
    points, expected = tables["points"], dict(zip(GAINS.values(), (3172, 3166, 3163), strict=True))
    readings = {}
    for reading, column in GAINS.items():
        peak = points.filter(pl.col(column) == pl.col(column).max())["servers"].to_list()
        checks = [
            judge.judged(peak == [8], f"largest at S = {', '.join(map(str, peak))}", "largest at S = 8"),
            judge.within(_at(points, column, 8), expected[column], relative=0.01)
            .measured_in("%")
            .called("gain at S = 8"),
        ]
        if column == "gain_percent":
            beyond = judge.within(_at(points, column, 9), 3040, relative=0.01)
            checks.append(beyond.measured_in("%").called("gain at S = 9"))
        readings[reading] = judge.together(checks)
    return judge.by_reading(readings)


def _at_25(tables: Tables) -> Judgement:
    return judge.by_reading(
        {
            reading: judge.within(_at(tables["points"], column, 25), 1704.5, relative=0.01)
            for reading, column in GAINS.items()
        }
    )


def _falls(tables: Tables) -> Judgement:
    rows = tables["points"].filter(pl.col.servers.is_between(9, 48)).sort("servers")
    readings = {}
    for reading, column in GAINS.items():
        up = rows.filter(pl.col(column).diff() >= 0)["servers"].to_list()
        said = f"it rises at S = {up}" if up else "falls from each S to the next"
        readings[reading] = judge.judged(len(rows) == 40 and not up, said, "falls from each S to the next")
    return judge.by_reading(readings)


def _rises(tables: Tables) -> Judgement:
    rows = tables["points"].filter(pl.col.servers.is_between(9, 25)).sort("servers")
    column = rows["with_incast_mbps"]
    falls = rows.filter(pl.col.with_incast_mbps.diff() <= 0)["servers"].to_list()
    return judge.together(
        [
            judge.within(column[0], 28.8, relative=0.005).measured_in("Mbps").called("S = 9"),
            judge.within(column[-1], 53.4, relative=0.005).measured_in("Mbps").called("S = 25"),
            judge.judged(
                len(rows) == 17 and not falls,
                f"falls at {len(falls)} of {len(rows) - 1} steps",
                "at none of 16",
            ).because(f"it falls at S = {', '.join(map(str, falls))}" if falls else ""),
        ]
    )


def _at(points: pl.DataFrame, column: str, servers: int) -> float | None:
    found = value(points, column, servers=servers)
    return None if found is None else float(found)


def draw(tables: Tables) -> "Picture":
    """Goodput with and without Incast, and the gain."""
    points = tables["points"]
    figure, (with_it, without, gain) = style.panels(1, 3)
    with_it.plot(points["servers"], points["with_incast_mbps"], marker="o")
    without.plot(points["servers"], points["without_incast_mbps"], marker="o", color=style.COLOURS[2])
    for place, (reading, column) in enumerate(GAINS.items()):
        gain.plot(
            points["servers"],
            points[column],
            color=style.COLOURS[place],
            marker=style.MARKERS[place],
            label=reading,
        )
    with_it.set(title="(a) with Incast, equations 1.2 to 1.5", xlabel="servers", ylabel="goodput (Mbps)")
    without.set(title="(b) without, equation 1.7", xlabel="servers", ylabel="goodput (Mbps)")
    gain.set(title="(c) gain", xlabel="servers", ylabel="gain (%)")
    gain.legend()
    return figure


FIGURE = Figure(
    id="MP-F1.6",
    title="Figure 1.6: best-case improvement, equations 1.2 to 1.8",
    tables=tables,
    claims={
        "MP-F1.6.a": _equation_1_6,
        "MP-F1.6.b": _without_incast,
        "MP-F1.6.c": _largest,
        "MP-F1.6.d": _at_25,
        "MP-F1.6.e": _falls,
        "MP-F1.6.f": _rises,
    },
    draw=draw,
    assumed=(
        "Each server sends 100 blocks of 262,144 B, segments have 1500 B, and the wait I of equation 1.5 is in "
        "milliseconds: with these equation 1.6 follows from the others.",
        "Panel (d) of the figure is from data that the dissertation does not print.",
    ),
)
