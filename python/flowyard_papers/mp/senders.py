"""Figures 5.14 to 5.16: every node of FT(4,3) reads ten blocks that are striped over 3, 5 or 7 others.

"Clients request block k + 1 only after successful receipt of all fragments in block k" (5.3.1.3): the default reading
has all clients in step and a connection for each fragment, whose time begins with its handshake (5.3.4). Completion is
of "each node's data transfer" (5.3.4, beside figures 5.14 to 5.16), ten blocks, or of a fragment.

With those of figures 5.11 to 5.13 they are the six patterns of which the text says that multipath transfers end
earlier, and chapter 3 that they lose less. Under Stride(4) two paths halve the flows at the busiest port; elsewhere two
windows in slow start are a larger burst than one (MP-X21).
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers.figure import Figure, Judgement, Scale, Sweeps, Tables
from flowyard.papers.judge import by_reading, judged, not_less, not_reached
from flowyard.sweeps import Plan
from flowyard_papers.mp import _chapter5 as chapter
from flowyard_papers.mp import _chapter5_judges as judges
from flowyard_papers.mp import _chapter5_pictures as pictures
from flowyard_papers.mp import _chapter5_runs as measured
from flowyard_papers.mp._chapter5 import DUAL, FCT, FRAGMENT_FCT, FRAGMENT_THROUGHPUT, LOSS, MDNVR, NR

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

NUMBERS = (3, 5, 7)
PATTERNS = {f"senders-{number}": f"{number} Senders" for number in NUMBERS}
SMALLER = ("stride-4", "random", "stride-2")
STEP = "clients in step, new connections"
IN_STEP_KEPT = "clients in step, kept connections"
OWN_NEW, OWN_KEPT = "each client by itself, new connections", "each client by itself, kept connections"
SECOND, DRAWN = "senders i + 2, i + 4, ...", "senders drawn in each run"
RFC_5681 = "windows grow by RFC 5681"
_KEYS = {
    "kept": IN_STEP_KEPT,
    "own-new": OWN_NEW,
    "own-kept": OWN_KEPT,
    "second": SECOND,
    "drawn": DRAWN,
    "rfc-5681": RFC_5681,
}
SETUPS = {f"senders-{n}-{key}": (f"{n} Senders", setup) for n in NUMBERS for key, setup in _KEYS.items()}
MEASURES = {"whole transfer": FCT, "a fragment": FRAGMENT_FCT}
# Set-up, measure and scheme of each reading, the claim's own first; the text speaks of "our proposed schemes".
READINGS = {
    f"{name}, {scheme}": (STEP, measure, scheme)
    for name, measure in MEASURES.items()
    for scheme in (MDNVR, DUAL)
} | {
    f"{setup}: {name}, {MDNVR}": (setup, measure, MDNVR)
    for setup in _KEYS.values()
    for name, measure in MEASURES.items()
    if measure == FCT or setup in (IN_STEP_KEPT, OWN_NEW, OWN_KEPT)
}
# Where the thesis has the largest gain, from and to, and that gain in percent.
STATED = {3: (60, 100, 75.0), 5: (120, 160, 80.0), 7: (160, 200, 80.0)}


def plans(scale: Scale) -> dict[str, Plan]:
    """All schemes; Normal Routing and MDNVR with the other set-ups, at the buffers that the text names."""
    replicas = scale.pick(2, chapter.REPLICAS)
    made = {}
    for number in NUMBERS:
        name = f"senders-{number}"
        axes = [chapter.schemes(), chapter.buffers(chapter.LARGE)]
        made[name] = Plan(chapter.scenario(chapter.senders(number)), axes, replicas, name=name)
        made |= _setups(number, replicas)
    for name in SMALLER:
        axes = [chapter.schemes((NR, MDNVR, DUAL)), chapter.buffers(chapter.SMALL)]
        base = chapter.scenario(chapter.traffic(chapter.PATTERNS[name]))
        made[name] = Plan(base, axes, replicas, name=name)
    return made


def _setups(number: int, replicas: int) -> dict[str, Plan]:
    low, high, _ = STATED[number]
    named = chapter.buffers(range(low, high + 1, 20))
    made = {}
    for key, traffic in {
        "kept": chapter.senders(number, connection="kept"),
        "own-new": chapter.senders(number, barrier="receiver"),
        "own-kept": chapter.senders(number, connection="kept", barrier="receiver"),
        "second": chapter.senders(number, chapter.EVERY_SECOND),
        "drawn": chapter.senders(number),
        "rfc-5681": chapter.senders(number),
    }.items():
        tcp = chapter.RFC_5681 if key == "rfc-5681" else chapter.TCP
        axes, name = [chapter.schemes((NR, MDNVR), tcp), named], f"senders-{number}-{key}"
        if key == "drawn":
            axes.append(chapter.drawn_senders(number, replicas))
        made[name] = Plan(chapter.scenario(traffic), axes, 1 if key == "drawn" else replicas, name=name)
    return made


def tables(sweeps: Sweeps) -> Tables:
    """One row per run, of the patterns and of the other set-ups; means."""
    runs = measured.of_patterns(sweeps, chapter.PATTERNS, fragments=True)
    setups = measured.of_setups(sweeps, SETUPS, fragments=True)
    return {"runs": runs, "setups": setups, "points": measured.points(runs)}


def _gain(tables: Tables, number: int, reading: str) -> dict[int, float]:
    setup, measure, scheme = READINGS[reading]
    runs = tables["runs"] if setup == STEP else tables["setups"].filter(setup=setup)
    return judges.gains(runs.filter(pattern=f"{number} Senders"), measure, scheme, NR)


def _stated(tables: Tables, number: int) -> Judgement:
    low, high, least = STATED[number]
    return by_reading({name: judges.best(_gain(tables, number, name), low, high, least) for name in READINGS})


def _better(tables: Tables) -> Judgement:
    return by_reading({name: _better_by(tables, measure) for name, measure in MEASURES.items()})


def _better_by(tables: Tables, measure: str) -> Judgement:
    measures = judges.MEASURES if measure == FCT else (FRAGMENT_FCT, FRAGMENT_THROUGHPUT)
    return judges.all_hold(
        {
            f"{scheme} before NR, {pattern}": judges.better(
                tables["runs"].filter(pattern=pattern), scheme, NR, measures
            )
            for pattern in PATTERNS.values()
            for scheme in (MDNVR, DUAL)
        }
    )


def _best_rises(tables: Tables) -> Judgement:
    own = [name for name, (setup, _, _) in READINGS.items() if setup == STEP]
    return by_reading({name: _best_rises_by(tables, name) for name in own})


def _best_rises_by(tables: Tables, reading: str) -> Judgement:
    found = {number: _gain(tables, number, reading) for number in NUMBERS}
    if not all(found.values()):
        return not_reached("some point has no mean")
    best = [judges.largest(found[number]) for number in NUMBERS]
    shown = "; ".join(f"{number} Senders: {judges.said(found[number])}" for number in NUMBERS)
    measured = ", ".join(map(str, best)) + " packets with 3, 5, 7 senders"
    holds = best == sorted(best) and best[0] < best[-1]
    return judged(holds, measured, "never falling, and more with 7 than with 3").because(shown)


def _earlier(tables: Tables) -> Judgement:
    """Completion times alone, with all six patterns."""
    return judges.all_hold(
        {
            f"{scheme} before NR, {pattern}": judges.better(
                tables["runs"].filter(pattern=pattern), scheme, NR, (FCT,)
            )
            for pattern in chapter.PATTERNS.values()
            for scheme in (MDNVR, DUAL)
        }
    )


def _no_more_loss(tables: Tables) -> Judgement:
    """Every buffer of every pattern is a point."""
    runs = tables["runs"]
    if set(runs["pattern"]) != set(chapter.PATTERNS.values()):
        return not_reached("there are not all patterns")
    point = pl.format("{}, {} packets", "pattern", "buffer").alias("point")
    lost = judges.wide(runs.with_columns(point), LOSS, "point")
    names = {scheme: f"loss of {scheme}" for scheme in (NR, MDNVR)}
    found = not_less(lost.rename(names), names[NR], names[MDNVR], x="point", points=True)
    means = runs.pivot(
        on="scheme", index=["pattern", "buffer"], values=LOSS, aggregate_function="mean", maintain_order=True
    )
    more = means.filter(pl.col(MDNVR) > pl.col(NR)).group_by("pattern", maintain_order=True)
    where = "; ".join(
        f"{pattern}: at {', '.join(map(str, rows['buffer'].sort()))} packets" for (pattern,), rows in more
    )
    return found.because(f"{found.reason}; MDNVR loses more under {where or 'no pattern'} (MP-X21)")


def draw(tables: Tables) -> "Picture":
    """A row for each number of senders: completion time, throughput and loss over the buffer."""
    return pictures.rows(tables["points"], list(PATTERNS.values()))


_CLAIMS: dict[str, Callable[[Tables], Judgement]] = {
    "MP-F5.14.a": partial(_stated, number=3),
    "MP-F5.15.a": partial(_stated, number=5),
    "MP-F5.16.a": partial(_stated, number=7),
    "MP-F5.14.b": _better,
    "MP-F5.14.c": _best_rises,
    "MP-P1": _earlier,
    "MP-P2": _no_more_loss,
}

FIGURE = Figure(
    id="MP-F5.14-16",
    title="3, 5 and 7 Senders: completion time, throughput and loss by buffer; all six patterns",
    plans=plans,
    tables=tables,
    claims=_CLAIMS,
    draw=draw,
    needs={"runs": chapter.NEEDS, "setups": chapter.NEEDS_SETUPS},
    assumed=(
        *chapter.ASSUMED,
        "Node i reads from i + 4, i + 8, i + 12, then i + 2, i + 6, i + 10, i + 14 (modulo 16), the first 3, "
        "5 or 7 of them; readings have the senders i + 2, i + 4 and so on, and senders drawn for each run "
        "(figure 5.9 is an image).",
        '"Clients request block k + 1 only after successful receipt of all fragments in block k" (5.3.1.3): all '
        "clients are in step, and each fragment has a connection of its own, as one that is kept would have one "
        "handshake for ten blocks. Readings have kept connections, and clients that go from block to block each by "
        "itself.",
        'The time is that of "each node\'s data transfer" (5.3.4): from the first request to the last '
        "acknowledgement of all ten blocks from one sender; a reading has that of a fragment. The gain is MDNVR's; as "
        'the text speaks of "our proposed schemes", a reading has that of Dual.',
        "Loss is packets that ports dropped, of either direction, over data packets sent, repeats included. "
        "The other three patterns are run for what the text says of all six.",
    ),
)
