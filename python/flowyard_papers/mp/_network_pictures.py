"""The picture of section 6.1: loads on packets beside the theory's, and completion times on other networks."""

from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Tables
from flowyard_papers.mp import _packet_loads

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# A colour for each kind of scheme, paler with fewer paths.
LOOKS = {
    "NR": (0, 1.0),
    "d-mod-k": (4, 1.0),
    "s-mod-k": (1, 1.0),
    "DNVR": (5, 1.0),
    "MDNVR": (3, 1.0),
    "MDNVR, 2 paths": (3, 0.4),
    "MDNVR, 4 paths": (3, 0.7),
    "MDNVR, all paths": (3, 1.0),
    "Dual": (2, 1.0),
}
LOADED = ("NR", "d-mod-k", "s-mod-k", "DNVR", "Dual", "MDNVR")


def draw(tables: Tables) -> "Picture":
    """Largest loads on both trees, measured and computed; mean completion times of the schemes on all networks."""
    picture, panels = style.panels(1, 3)
    for panel, (name, tree) in zip(panels, _packet_loads.TREES.items(), strict=False):
        patterns = list(_packet_loads.targets(tree))
        for place, scheme in enumerate(LOADED):
            colour = style.COLOURS[LOOKS[scheme][0]]
            loads = [_largest_loads(tables, name, pattern, scheme) for pattern in patterns]
            measured, theory = zip(*loads, strict=True)
            where = [at + 0.14 * (place - 2.5) for at in range(len(patterns))]
            panel.bar(where, theory, 0.12, color=colour, alpha=0.45)
            panel.scatter(where, measured, s=11, color=colour, label=scheme, zorder=3)
        panel.set_xticks(range(len(patterns)), [_short(each) for each in patterns], fontsize=8)
        panel.set(title=f"{name}: packets (dots), theory (bars)", ylabel="largest load of a link")
    panels[1].legend(ncols=2, loc="upper left", bbox_to_anchor=(0.08, 1), fontsize=7.5)
    runs = tables["runs"]
    networks, schemes = (runs[name].unique(maintain_order=True).to_list() for name in ("network", "scheme"))
    means = runs.group_by("network", "scheme").agg(pl.col("mean_fct_us").mean())
    for place, scheme in enumerate(schemes):
        of = dict(means.filter(scheme=scheme).select("network", "mean_fct_us").iter_rows())
        where = [at + 0.14 * (place - 2.5) for at, name in enumerate(networks) if name in of]
        values = [of[name] for name in networks if name in of]
        number, alpha = LOOKS[scheme]
        panels[2].bar(where, values, 0.13, color=style.COLOURS[number], alpha=alpha, label=scheme)
    panels[2].set_xticks(range(len(networks)), list(networks), fontsize=8)
    panels[2].set(title="random permutation, nothing lost", ylabel="mean completion time (us)", yscale="log")
    panels[2].legend(fontsize=7.5)
    return picture


def _largest_loads(tables: Tables, tree: str, pattern: str, scheme: str) -> tuple[Any, Any]:
    """Of a link, measured and by theory; where paths are drawn the means."""
    if scheme in _packet_loads.DRAWN:
        some = tables["draws"].filter(tree=tree, pattern=pattern)
        return some.filter(scheme=scheme)["link"].mean(), some.filter(scheme="theory")["link"].mean()
    some = tables["loads"].filter(tree=tree, pattern=pattern, scheme=scheme, of="link")
    return some["measured"].max(), some["theory"].max()


def _short(pattern: str) -> str:
    return pattern.replace("permutation ", "perm. ")
