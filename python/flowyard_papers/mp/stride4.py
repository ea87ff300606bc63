"""Figure 5.11: every node of FT(4,3) sends 2 MB to the node four further on, all at once, by buffer and scheme."""

from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers.figure import Figure, Judgement, Scale, Sweeps, Tables
from flowyard.papers.judge import between, by_reading, judged, not_reached, together
from flowyard.sweeps import Plan
from flowyard_papers.mp import _chapter5 as chapter
from flowyard_papers.mp import _chapter5_judges as judges
from flowyard_papers.mp import _chapter5_pictures as pictures
from flowyard_papers.mp import _chapter5_runs as measured
from flowyard_papers.mp._chapter5 import (
    DNVR,
    DUAL,
    ECMP,
    FCT,
    MDNVR,
    NR,
    RANDOM,
    STRIDE_2,
    STRIDE_4,
    THROUGHPUT,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

PATTERNS = {"stride-4": STRIDE_4, "random": RANDOM, "stride-2": STRIDE_2}
TOGETHER, JITTER, THREE, FOUR = "all start together", "starts within 1 ms", "3 paths", "4 paths"
RFC_5681 = "windows grow by RFC 5681"
SETUPS = {
    "jitter": (STRIDE_4, JITTER),
    "paths-3": (STRIDE_4, THREE),
    "paths-4": (STRIDE_4, FOUR),
    "rfc-5681": (STRIDE_4, RFC_5681),
} | {f"ties-{ties}": (STRIDE_4, setup) for setup, ties in chapter.BESIDE.items()}
# Of the gain: set-up and scheme by reading, the claims' own first. "Our proposed schemes" are MDNVR and Dual.
GAINS = (
    {TOGETHER: (TOGETHER, MDNVR), f"{TOGETHER}, {DUAL}": (TOGETHER, DUAL)}
    | {setup: (setup, MDNVR) for setup in (JITTER, THREE, FOUR, RFC_5681)}
    | {setup: (setup, MDNVR) for setup in chapter.BESIDE}
)
LOW, HIGH, HALF = 40, 60, 50.0
TRIED = "tried: starts within 1 ms, 3 and 4 paths, windows by RFC 5681, Dual" + "".join(
    f", {setup}" for setup in chapter.BESIDE
)


def plans(scale: Scale) -> dict[str, Plan]:
    """All schemes; Normal Routing and DNVR with the other patterns; starts apart, and more paths."""
    replicas, buffers = scale.pick(2, chapter.REPLICAS), chapter.buffers(chapter.SMALL)
    made = {}
    for name, pattern in PATTERNS.items():
        names = chapter.SCHEMES if pattern == STRIDE_4 else (NR, DNVR)
        base = chapter.scenario(chapter.transfers(chapter.MATRICES[pattern]))
        made[name] = Plan(base, [chapter.schemes(names), buffers], replicas, name=name)
    stride = chapter.MATRICES[STRIDE_4]
    apart = chapter.scenario(chapter.transfers(stride, jitter="1ms"))
    made["jitter"] = Plan(apart, [chapter.schemes(), buffers], replicas, name="jitter")
    by_bytes = chapter.schemes((NR, MDNVR), chapter.RFC_5681)
    base = chapter.scenario(chapter.transfers(stride))
    made["rfc-5681"] = Plan(base, [by_bytes, buffers], replicas, name="rfc-5681")
    for paths in (3, 4):
        more = chapter.schemes((NR,), more={MDNVR: (chapter.parallel(paths), "nix")})
        name = f"paths-{paths}"
        made[name] = Plan(base, [more, buffers], replicas, name=name)
    for ties in chapter.BESIDE.values():
        name, axes = f"ties-{ties}", [chapter.schemes((NR, DNVR, MDNVR)), buffers]
        made[name] = Plan(chapter.with_ties(base, ties), axes, replicas, name=name)
    return made


def tables(sweeps: Sweeps) -> Tables:
    """One row per run, of the pattern and of the other set-ups; means."""
    runs = measured.of_patterns(sweeps, PATTERNS)
    return {
        "runs": runs,
        "setups": measured.of_setups(sweeps, SETUPS),
        "points": measured.points(runs.filter(pattern=STRIDE_4)),
    }


def _gain(tables: Tables, reading: str, measure: str) -> dict[int, float]:
    setup, scheme = GAINS[reading]
    runs = tables["runs"] if setup == TOGETHER else tables["setups"].filter(setup=setup)
    return judges.gains(runs.filter(pattern=STRIDE_4), measure, scheme, NR)


def _half(tables: Tables) -> Judgement:
    return by_reading({name: judges.best(_gain(tables, name, FCT), LOW, HIGH, HALF) for name in GAINS})


def _throughput(tables: Tables) -> Judgement:
    """Beside the gain of the mean throughput, what the gain of the mean FCT would make it."""
    readings = {}
    for name in GAINS:
        found = judges.best(_gain(tables, name, THROUGHPUT), LOW, HIGH, 60, 110)
        means = {
            at: 100 * gain / (100 - gain)
            for at, gain in _gain(tables, name, FCT).items()
            if LOW <= at <= HIGH
        }
        alone = ", ".join(f"{gain:.1f} % ({at})" for at, gain in sorted(means.items()))
        readings[name] = found.noted(f"mean FCTs alone would make it {alone} (MP-X12)") if alone else found
    return by_reading(readings)


def _at_fifty(tables: Tables) -> Judgement:
    names = [name for name, (setup, _) in GAINS.items() if setup in (TOGETHER, JITTER, *chapter.BESIDE)]
    return by_reading({name: _largest(tables, name) for name in names})


def _largest(tables: Tables, reading: str) -> Judgement:
    judgements = []
    for measure in judges.MEASURES:
        found = _gain(tables, reading, measure)
        if not found:
            return not_reached("some point has no mean")
        one = between(judges.largest(found), LOW, HIGH)
        one = one.because(f"{judges.NAMES[measure]}: {judges.said(found)}").measured_in("packets")
        judgements.append(one.called(f"buffer that gains most in {judges.NAMES[measure]}"))
    both = together(judgements)
    return both.because(f"{both.reason}; {TRIED}")


def _stride(tables: Tables) -> pl.DataFrame:
    return tables["runs"].filter(pattern=STRIDE_4)


def _dnvr(tables: Tables) -> Judgement:
    jitter = tables["setups"].filter(setup=JITTER)
    return by_reading(
        {
            TOGETHER: judges.better(_stride(tables), DNVR, NR),
            JITTER: judges.better(jitter, DNVR, NR),
        }
    )


def _ecmp(tables: Tables) -> Judgement:
    found = judges.gains(_stride(tables), THROUGHPUT, ECMP, NR)
    large = {at: gain for at, gain in found.items() if at >= 30}
    if not large:
        return not_reached("no buffer of 30 packets or more")
    least = f"gain {max(large.values()):.3g} % at most, with buffers of 30 packets or more"
    return judged(max(large.values()) < 0, least, "below 0").because(judges.said(found))


def _both(tables: Tables) -> Judgement:
    """Section 5.3.4: "the performance difference ... is generally small": not at every buffer, says its word."""
    runs = _stride(tables)
    return by_reading(
        {
            which: judges.all_hold(
                {
                    "MDNVR before NR": judges.better(runs, MDNVR, NR),
                    "Dual before NR": judges.better(runs, DUAL, NR),
                    "MDNVR and Dual alike": judges.alike(runs, MDNVR, DUAL, which),
                }
            )
            for which in (judges.GENERALLY, judges.EVERY)
        }
    )


def _most(tables: Tables) -> Judgement:
    judgements = []
    for measure in judges.MEASURES:
        mean = {
            pattern: judges.mean(judges.gains(tables["runs"].filter(pattern=pattern), measure, DNVR, NR))
            for pattern in PATTERNS.values()
        }
        found = judges.above(STRIDE_4, mean.pop(STRIDE_4), mean)
        judgements.append(
            found.because(
                f"{judges.NAMES[measure]}, mean over buffers; where nothing is lost no single path gains, and the "
                "random paths of DNVR may meet under Stride(4), where fixed ones of d-mod-k do not (MP-T5.2.b)"
            )
        )
    return together(judgements)


def draw(tables: Tables) -> "Picture":
    """Completion time, throughput and loss over the buffer."""
    return pictures.rows(tables["points"], [STRIDE_4])


FIGURE = Figure(
    id="MP-F5.11",
    title="Stride(4): completion time, throughput and loss by buffer",
    plans=plans,
    tables=tables,
    claims={
        "MP-F5.11.a": _half,
        "MP-F5.11.b": _throughput,
        "MP-F5.11.c": _at_fifty,
        "MP-F5.11.d": _dnvr,
        "MP-F5.11.e": _ecmp,
        "MP-F5.11.f": _both,
        "MP-F5.11.g": _most,
    },
    draw=draw,
    needs={"runs": chapter.NEEDS, "setups": chapter.NEEDS_SETUPS},
    assumed=(
        *chapter.ASSUMED,
        "All start at the same instant; a second reading has starts within 1 ms. Readings with 3 and 4 paths: "
        "Front-Back over as many connections.",
    ),
)
