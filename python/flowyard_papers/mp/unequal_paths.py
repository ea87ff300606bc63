"""Section 6.2: paths of different delays. Stride(4) on FT(4,3) whose cores lie at different distances.

Core 0, which Normal Routing takes, keeps its distance. Of the others one is as far, one is nearer and one farther by
the same share: paths part, and their mean stays. A second reading has all others farther.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise, permutations, product
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import half_width, replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard.topology import network
from flowyard_papers.mp import _chapter5 as chapter
from flowyard_papers.mp import _chapter5_runs as measured
from flowyard_papers.mp._chapter5 import FCT, MDNVR, NR, STRIDE_4
from flowyard_papers.mp.sample import BYTES_PER_S, HEADER_BYTES, LINKS, SEGMENT_BYTES, WINDOW_BYTES

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

BUFFER, DELAY_US = 50, 500
# By how many percent of a link's delay cores part.
PARTED = (0, 20, 40, 60, 80)
SAME_MEAN, FARTHER = "mean delay constant", "other paths farther"
# Of each core in turn: how many of these shares its links are longer.
SIGNS: Mapping[str, Sequence[int]] = {SAME_MEAN: (0, 1, 0, -1), FARTHER: (0, 1, 1, 1)}


def plans(scale: Scale) -> dict[str, Plan]:
    """Normal Routing and MDNVR over the difference, by both readings."""
    made = {}
    for place, signs in enumerate(SIGNS.values()):
        scenarios = [_scenario(parted, signs) for parted in PARTED]
        axes = [Axis("parted", scenarios=scenarios, labels=PARTED), chapter.schemes((NR, MDNVR))]
        name = f"parted-{place}"
        made[name] = Plan(None, axes, scale.pick(5, chapter.REPLICAS), name=name)
    return made


def _scenario(parted: int, signs: Sequence[int]) -> dict[str, Any]:
    base = chapter.scenario(chapter.traffic(STRIDE_4))
    tree = network({"topology": base["topology"]})
    names = [node.name for node in tree.nodes]
    hosts, switches = (
        [n for n in names if n.startswith("host")],
        [n for n in names if not n.startswith("host")],
    )
    cables = []
    for link in tree.cables:
        ends = [names[link.a], names[link.b]]
        core = next((int(name.split()[1]) for name in ends if name.startswith("core")), None)
        share = 0 if core is None else signs[core]
        cables.append({"ends": ends, "delay": f"{DELAY_US * (100 + share * parted) / 100:g}us"})
    base["topology"] = {
        "explicit": {
            "hosts": hosts,
            "switches": [{"name": name} for name in switches],
            "rate": f"{chapter.LINK_BPS}bps",
            "cables": cables,
        }
    }
    base["queue"]["drop-tail"]["limit"]["packets"] = BUFFER
    return base


def tables(sweeps: Sweeps) -> Tables:
    """One row per run; by how much MDNVR takes off Normal Routing's mean time in each; means of both."""
    runs = pl.concat(
        [
            measured.runs(sweeps[f"parted-{place}"], ("parted", "scheme")).select(
                pl.lit(reading).alias("reading"), pl.all()
            )
            for place, reading in enumerate(SIGNS)
        ]
    )
    wide = runs.pivot(on="scheme", index=["reading", "parted", "replica"], values=FCT)
    gain = 100 * (1 - pl.col(MDNVR) / pl.col(NR))
    gains = wide.select("reading", "parted", "replica", gain_percent=gain)
    return {
        "runs": runs,
        "gains": gains,
        "points": replica_means(runs, ["reading", "parted", "scheme"], [FCT]),
        "gain_points": replica_means(gains, ["reading", "parted"], ["gain_percent"]),
    }


def _falls(tables: Tables) -> Judgement:
    return judge.by_reading({reading: _falls_in(tables["gains"], reading) for reading in SIGNS})


def _falls_in(gains: pl.DataFrame, reading: str) -> Judgement:
    """From one difference to the next it rises by no more than the interval; from first to last it falls by more."""
    wide = gains.filter(reading=reading).pivot(on="parted", index="replica", values="gain_percent")
    names = [str(parted) for parted in PARTED]
    if set(names) - set(wide.columns) or wide.null_count().sum_horizontal().item():
        return judge.not_reached("some difference was not run, or did not complete")
    rises = [f"from {a} to {b} %" for a, b in pairwise(names) if _rises(wide[b] - wide[a])]
    lower = _rises(wide[names[0]] - wide[names[-1]])
    said = ", ".join(f"{_mean(wide[name]):.1f} % ({name})" for name in names)
    found = judge.judged(not rises and lower, f"gain by difference: {said}", "never rises, and falls in all")
    where = f"rises {', '.join(rises)}" if rises else "hardly falls from the first to the last"
    found = found.because(
        f"it {where}; both windows count: a path that is nearer by as much as another is farther makes up for more "
        "than that one loses"
    )
    times = [window_limited_ms(parted, SIGNS[reading]) for parted in PARTED]
    if times[-1] > times[0]:
        return found
    return found.not_reproducible(
        f"without losses two full windows of {WINDOW_BYTES:,} B carry a transfer in {times[0]:.1f} ms where paths are "
        f"alike and in {times[-1]:.1f} ms where they differ by {PARTED[-1]} % about the same mean (window_limited_ms): "
        "the mean of inverse round trips is the higher the more they part, so that the gain cannot fall; section 6.2 "
        "itself names no direction"
    )


def window_limited_ms(parted: int, signs: Sequence[int]) -> float:
    """How long two full windows take for a transfer under MDNVR, the mean over the paths that are drawn.

    Table 5.3: nothing but the window limits a connection without losses, so that it sends one in a round trip. Both
    connections share the bytes by their rates. Data and answers take two of the four cores each, and a core is two
    links of a way; the time is half the harmonic mean of both round trips, which is concave: with the mean round trip
    constant it falls as they part.
    """
    segment_s = (SEGMENT_BYTES + HEADER_BYTES) / BYTES_PER_S
    pairs = list(permutations(signs, 2))
    times = []
    for there, back in product(pairs, pairs):
        longer = [(a + b) * 2 * parted / 100 for a, b in zip(there, back, strict=True)]
        trips = [(2 * LINKS + links) * DELAY_US / 1e6 + LINKS * segment_s for links in longer]
        times.append(1000 * chapter.TRANSFER_BYTES / sum(WINDOW_BYTES / trip for trip in trips))
    return sum(times) / len(times)


def _rises(gap: pl.Series) -> bool:
    return _mean(gap) > half_width(gap)


def _mean(values: pl.Series) -> float:
    mean = values.mean()
    assert isinstance(mean, float)
    return mean


def draw(tables: Tables) -> "Picture":
    """Mean time of both schemes over the difference of delays, and the gain."""
    picture, (times, gain) = style.panels(1, 2)
    for place, reading in enumerate(SIGNS):
        for scheme, look in ((NR, "--"), (MDNVR, "-")):
            rows = tables["points"].filter(reading=reading, scheme=scheme).sort("parted")
            label = f"{scheme}, {reading}"
            style.curve(times, rows, "parted", FCT, place, label, linestyle=look)
        rows = tables["gain_points"].filter(reading=reading).sort("parted")
        style.curve(gain, rows, "parted", "gain_percent", place)
    times.set(ylabel="mean FCT (ms)")
    gain.set(ylabel="MDNVR's gain over NR (%)")
    for axes in (times, gain):
        axes.set_xlabel("difference of the cores' delays (%)")
        axes.set_ylim(bottom=0)
    picture.legend(*times.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return picture


FIGURE = Figure(
    id="MP-P15",
    title="Section 6.2: paths of different delays",
    plans=plans,
    tables=tables,
    claims={"MP-P15": _falls},
    draw=draw,
    needs={
        "runs": Needs(chapter.REPLICAS, by=("reading", "parted", "scheme")),
        "gains": Needs(chapter.REPLICAS, by=("reading", "parted")),
    },
    assumed=(
        *chapter.ASSUMED,
        f"Stride(4) with ports of {BUFFER} packets. Links of core 0, which Normal Routing takes, keep {DELAY_US} us; "
        "those of core 1 are longer and those of core 3 shorter by the difference, core 2 is as core 0; in the second "
        "reading cores 1 to 3 are farther.",
        'The text names no network, and no direction: "we could see how algorithm performance will be affected in '
        'other topologies where the multiple paths have different delays".',
    ),
)
