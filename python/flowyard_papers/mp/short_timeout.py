"""Figure 5.17: 7 Senders again with a minimum retransmission timeout of 1 ms, beside that of 200 ms.

Clients and connections are those of figures 5.14 to 5.16, whose other set-ups stand beside at three buffers.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Figure, Judgement, Scale, Sweeps, Tables
from flowyard.papers.judge import by_reading, judged, not_less, not_reached, together
from flowyard.sweeps import Plan
from flowyard_papers.mp import _chapter5 as chapter
from flowyard_papers.mp import _chapter5_judges as judges
from flowyard_papers.mp import _chapter5_pictures as pictures
from flowyard_papers.mp import _chapter5_runs as measured
from flowyard_papers.mp._chapter5 import DUAL, FCT, FRAGMENT_FCT, FRAGMENT_THROUGHPUT, MDNVR, NR
from flowyard_papers.mp.senders import IN_STEP_KEPT, MEASURES, OWN_KEPT, OWN_NEW, STEP

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SHORT, LONG = "7 Senders, RTOmin 1 ms", "7 Senders, RTOmin 200 ms"
PATTERNS = {"rto-1ms": SHORT, "rto-200ms": LONG}
TIMEOUTS = {SHORT: "1ms", LONG: "200ms"}
OTHERS: Mapping[str, tuple[str, str, str]] = {
    "kept": (IN_STEP_KEPT, "kept", "common"),
    "own-new": (OWN_NEW, "new", "receiver"),
    "own-kept": (OWN_KEPT, "kept", "receiver"),
}
SETUPS = {
    f"{name}-{key}": (pattern, setup)
    for name, pattern in PATTERNS.items()
    for key, (setup, _, _) in OTHERS.items()
}
SOME = (60, 120, 180)


def plans(scale: Scale) -> dict[str, Plan]:
    """All schemes with 1 ms, Normal Routing, MDNVR and Dual with 200 ms; two schemes with the other set-ups."""
    made, replicas = {}, scale.pick(2, chapter.REPLICAS)
    for name, pattern in PATTERNS.items():
        tcp = {**chapter.TCP, "rto_min": TIMEOUTS[pattern]}
        names = chapter.SCHEMES if pattern == SHORT else (NR, MDNVR, DUAL)
        axes = [chapter.schemes(names, tcp), chapter.buffers(chapter.LARGE)]
        made[name] = Plan(chapter.scenario(chapter.senders(7)), axes, replicas, name=name)
        for key, (_, connection, barrier) in OTHERS.items():
            traffic = chapter.senders(7, connection=connection, barrier=barrier)
            axes = [chapter.schemes((NR, MDNVR), tcp), chapter.buffers(SOME)]
            made[f"{name}-{key}"] = Plan(chapter.scenario(traffic), axes, replicas, name=f"{name}-{key}")
    return made


def tables(sweeps: Sweeps) -> Tables:
    """One row per run, of the default set-up and of the others; means."""
    runs = measured.of_patterns(sweeps, PATTERNS, fragments=True)
    setups = measured.of_setups(sweeps, SETUPS, fragments=True)
    return {"runs": runs, "setups": setups, "points": measured.points(runs)}


def _runs(tables: Tables, setup: str) -> pl.DataFrame:
    return tables["runs"] if setup == STEP else tables["setups"].filter(setup=setup)


def _better(tables: Tables) -> Judgement:
    short = tables["runs"].filter(pattern=SHORT)
    of_fragments = (FRAGMENT_FCT, FRAGMENT_THROUGHPUT)
    return by_reading(
        {
            f"whole transfer, {MDNVR}": judges.better(short, MDNVR, NR),
            f"whole transfer, {DUAL}": judges.better(short, DUAL, NR),
            f"a fragment, {MDNVR}": judges.better(short, MDNVR, NR, of_fragments),
            f"a fragment, {DUAL}": judges.better(short, DUAL, NR, of_fragments),
        }
        | {
            f"{setup}: whole transfer, {MDNVR}": judges.better(
                _runs(tables, setup).filter(pattern=SHORT), MDNVR, NR
            )
            for setup, _, _ in OTHERS.values()
        }
    )


def _complementary(tables: Tables) -> Judgement:
    return by_reading(
        {
            "whole transfer": _no_later(tables, STEP, FCT, (MDNVR, NR)),
            f"whole transfer, with {DUAL}": _no_later(tables, STEP, FCT, (DUAL, NR)),
            "a fragment": _no_later(tables, STEP, FRAGMENT_FCT, (MDNVR, NR)),
        }
        | {
            f"{setup}: whole transfer": _no_later(tables, setup, FCT, (MDNVR, NR))
            for setup, _, _ in OTHERS.values()
        }
    )


def _no_later(tables: Tables, setup: str, measure: str, schemes: tuple[str, ...]) -> Judgement:
    """Each scheme with 1 ms against itself with 200 ms, paired by replica."""
    judgements = []
    for scheme in schemes:
        of_scheme = _runs(tables, setup).filter(scheme=scheme)
        pairs = of_scheme.pivot(on="pattern", index=["buffer", "replica"], values=measure)
        if {SHORT, LONG} - set(pairs.columns):
            return not_reached("one of the timeouts has no runs")
        names = {LONG: f"FCT of {scheme} with 200 ms", SHORT: f"with 1 ms ({scheme})"}
        judgements.append(not_less(pairs.rename(names), names[LONG], names[SHORT], x="buffer"))
    return together(judgements)


def _smaller_gain(tables: Tables) -> Judgement:
    """By the gain that section 5.3.4 gives of a pattern: "for 7 Senders, the most improvement is observed at ...".

    It has no mean over buffers, among which are some with which both schemes collapse under the long timeout.
    """
    means = {
        f"{name}, {scheme}, mean over buffers": _smaller_gain_of(tables, STEP, measure, scheme)
        for name, measure in MEASURES.items()
        for scheme in (MDNVR, DUAL)
    }
    others = {
        f"{setup}: {name}, {MDNVR}": _smaller_gain_of(tables, setup, measure, MDNVR)
        for setup, _, _ in OTHERS.values()
        for name, measure in MEASURES.items()
    }
    best = {
        f"{name}, {MDNVR}, at the best buffer": _smaller_gain_of(tables, STEP, measure, MDNVR, largest=True)
        for name, measure in MEASURES.items()
    }
    return by_reading(best | means | others)


def _smaller_gain_of(
    tables: Tables, setup: str, measure: str, scheme: str, largest: bool = False
) -> Judgement:
    """The mean gain in completion time over the buffers, or the largest."""
    found = {
        pattern: judges.gains(_runs(tables, setup).filter(pattern=pattern), measure, scheme, NR)
        for pattern in (SHORT, LONG)
    }
    short, long = (
        max(found[pattern].values(), default=None) if largest else judges.mean(found[pattern])
        for pattern in (SHORT, LONG)
    )
    if short is None or long is None:
        return not_reached("some point has no mean")
    return judged(
        short < long, f"{short:.4g} % with 1 ms, {long:.4g} % with 200 ms", "less with 1 ms"
    ).because(
        f"1 ms: {judges.said(found[SHORT])}; 200 ms: {judges.said(found[LONG])}; with small ports both schemes wait "
        f"for timeouts of 200 ms; tried: {DUAL}, fragments, the best buffer, other connections and barriers"
    )


def draw(tables: Tables) -> "Picture":
    """All schemes with 1 ms; of Normal Routing and MDNVR the lines with 200 ms beside them, in dashes."""
    picture = pictures.rows(tables["points"], [SHORT])
    look: dict[str, Any] = {"linestyle": "--", "markerfacecolor": "white"}
    for axes, measure in zip(picture.axes, pictures.SHOWN, strict=True):
        for scheme in (NR, MDNVR):
            rows = tables["points"].filter(pl.col("scheme") == scheme, pattern=LONG).sort("buffer")
            style.curve(axes, rows, "buffer", measure, pictures.PLACES[scheme], f"{scheme}, 200 ms", **look)
        axes.autoscale(axis="y")
        axes.set_ylim(bottom=0)
    pictures.legend(picture, picture.axes[0], columns=7)
    return picture


FIGURE = Figure(
    id="MP-F5.17",
    title="7 Senders with a minimum timeout of 1 ms, and of 200 ms",
    plans=plans,
    tables=tables,
    claims={"MP-F5.17.a": _better, "MP-F5.17.b": _complementary, "MP-F5.17.c": _smaller_gain},
    draw=draw,
    needs={"runs": chapter.NEEDS, "setups": chapter.NEEDS_SETUPS},
    assumed=(
        *chapter.ASSUMED,
        "Only the minimum of the retransmission timeout changes: the timer of delayed acknowledgements stays "
        "at 200 ms.",
        "Senders are those of figures 5.14 to 5.16, in step, with a connection for each fragment; the other "
        f"readings of clients and connections are run with buffers of {SOME[0]}, {SOME[1]} and {SOME[2]} packets.",
        "The text does not compare the gains of both timeouts. The gain of a pattern is what it gives of each, that at "
        'the buffer where "the most improvement is observed"; means over the buffers stand beside.',
    ),
)
