"""PEQ chapter 4: the conclusions' orderings with 20 servers, the fewest that it names and no figure shows."""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from flowyard.papers import style
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, by_reading, not_less, not_reached, together
from flowyard.sweeps.plan import ModelPlan
from flowyard_papers.peq import _gains as gains
from flowyard_papers.peq import _load as load
from flowyard_papers.peq import _load_judges as judges
from flowyard_papers.peq import _load_pictures as pictures

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure as Picture

SERVERS = 20
X, ENDS = "deadline_mean_slots", (20, 120)


def axes(scale: Scale) -> dict[str, Sequence[Any]]:
    """The mean deadlines of figures 3.5 to 3.8, with fewer servers."""
    return {"servers": (SERVERS,), X: scale.pick((20, 60, 120), (20, 40, 60, 80, 100, 120))}


def plans(scale: Scale) -> dict[str, ModelPlan]:
    """A plan for each mode."""
    return load.plans(scale, {**axes(scale), "quench": (True,)})


def tables(sweeps: Sweeps) -> Tables:
    """Runs and means."""
    return load.tables(sweeps)


def _as_concluded(tables: Tables) -> Judgement:
    """All orderings of the conclusions: a verdict for each mode and variant of PDQ and D3, first as they are."""
    found = {}
    for variant, mode in product((gains.PLAIN, gains.STRICTLY, gains.QUENCH), load.MODES):
        name = f"mode {mode}" + (f", {variant}" if variant else "")
        found[name] = _ordered(tables["runs"].filter(mode=mode), variant)
    return by_reading(found)


def _ordered(runs: "pl.DataFrame", variant: str) -> Judgement:
    if reason := judges.missing(runs, X, ENDS):
        return not_reached(reason)
    series = load.wide(runs)
    pairs = ((gains.varied(better, variant), gains.varied(worse, variant)) for better, worse in gains.CLAIMED)
    return together([not_less(series, better, worse, x=X, points=True) for better, worse in pairs])


def draw(tables: Tables) -> "Picture":
    """A panel for each mode, and PEQ's lead over PDQ by either rule of it."""
    picture, panels = style.panels(1, len(load.MODES) + len(load.RULES), size=(3.1, 2.6))
    for axes, (mode, title) in zip(panels, load.MODE_TITLES.items(), strict=False):
        pictures.draw_curves(axes, tables["points"].filter(mode=mode), X, 1)
        axes.set(title=title, ylim=(0, None))
    for axes, scheme in zip(panels[len(load.MODES) :], load.RULES.values(), strict=True):
        pictures.draw_gaps(axes, tables["runs"], X, 1, scheme)
        axes.set(title=f"PEQ - {scheme}", ylabel="percentage points")
        axes.legend(fontsize=7)
    for axes in panels:
        axes.set_xlabel("mean deadline (slots)")
    panels[0].set_ylabel("application throughput (%)")
    panels[0].legend(fontsize=7)
    return picture


FIGURE = Figure(
    id="PEQ-P18",
    title="The conclusions' orderings with 20 servers",
    plans=plans,
    tables=tables,
    claims={"PEQ-P18": _as_concluded},
    draw=draw,
    needs=load.NEEDS,
    assumed=(
        *load.ASSUMED,
        "Chapter 4 has the number of servers 'starting from 20', but no figure does. The mean deadlines are those of "
        "figures 3.5 to 3.8, p stays 1/4000, so that the load is half of that of 40 servers. The orderings are those "
        "of the conclusions: PEQ over PDQ, D3 and Stateful D3, and Stateful D3 over D3. Waiting flows only is how "
        "PDQ's early termination is read unless a verdict says strict; with quench, D3 and Stateful D3 remove in "
        "every slot the flows that can no longer finish.",
    ),
)
