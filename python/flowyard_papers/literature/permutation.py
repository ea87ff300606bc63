"""A permutation: each server of a fat-tree sends one flow and receives one, under all transports."""

from typing import TYPE_CHECKING

from flowyard.analysis import completion
from flowyard.analysis.intervals import replica_means
from flowyard.papers import style
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.sweeps import Plan
from flowyard_papers.literature import _compare

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


def plans(scale: Scale) -> dict[str, Plan]:
    """Each transport on the same permutations."""
    k, size = scale.pick((4, "1MB"), (8, "10MB"))
    entry = {
        "name": "flows",
        "arrivals": "at-once",
        "matrix": "permutation",
        "sizes": {"fixed": size},
        "deadlines": _compare.DEADLINES,
    }
    base = {"topology": _compare.fat_tree(k), "traffic": [entry], "run": {"until": "60s"}}
    return {"permutation": Plan(base, [_compare.axis()], scale.pick(5, 10), name="permutation")}


def tables(sweeps: Sweeps) -> Tables:
    """One row per run, of all its flows."""
    return {"runs": _compare.groups(sweeps["permutation"], ["by"]).filter(group=completion.ALL)}


def draw(tables: Tables) -> "Picture":
    """A bar for each transport in each measure."""
    picture, panels = style.panels(1, len(_compare.MEASURES), size=(3.2, 3.0))
    means = {
        row["by"]: row for row in replica_means(tables["runs"], ["by"], list(_compare.MEASURES)).to_dicts()
    }
    for axes, (measure, unit) in zip(panels, _compare.MEASURES.items(), strict=True):
        for place, name in enumerate(_compare.TRANSPORTS):
            value, interval = means[name][measure], means[name][f"{measure}_ci95"]
            axes.barh(place, value or 0, 0.7, xerr=interval or 0, color=_compare.COLOURS[place])
        axes.set_yticks(
            range(len(means)), list(_compare.TRANSPORTS) if axes is panels[0] else [""] * len(means)
        )
        axes.invert_yaxis()
        axes.set_xlabel(unit)
        axes.grid(axis="y", visible=False)
    return picture


FIGURE = Figure(
    id="LIT-PERMUTATION",
    title="A permutation: all transports on one fat-tree",
    plans=plans,
    tables=tables,
    claims={},
    draw=draw,
    assumed=(*_compare.ASSUMED, "Flows of 1 MB on 16 servers at quick scale, of 10 MB on 128 at full scale."),
)
