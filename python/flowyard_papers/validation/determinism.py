"""Looking at a run does not change it: digests with the audit on, and with either way of serving ports.

A digest is a hash over every value of the flows and links that a run returns. The packaged scenarios are run as they
are, but without a warm-up, audited, with ports that serve packet by packet instead of computing departures ahead
(docs/architecture.md), both, and with another seed.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard import results
from flowyard.papers import style
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, all_exactly, judged, not_reached, together
from flowyard.sweeps import Axis, Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# Those that take long have fewer flows at quick scale.
SCENARIOS: Mapping[str, dict[str, Any]] = {
    "bcube-relays": {},
    "fat-tree-core-failure": {},
    "incast-blocks": {},
    "leaf-spine-oversubscribed": {"traffic.queries.flows": 200},
    "requests-and-replies": {},
    "web-search-ndp": {"traffic.queries.flows": 200},
    "web-search-tcp": {"traffic.queries.flows": 200},
}
PLAIN, AUDIT, SERVED, BOTH, SEED = "as it is", "audited", "ports served", "both", "another seed"
VARIANTS = {
    PLAIN: (False, "auto", 1),
    AUDIT: (True, "auto", 1),
    SERVED: (False, "serviced", 1),
    BOTH: (True, "serviced", 1),
    SEED: (False, "auto", 2),
}


def plans(scale: Scale) -> dict[str, Plan]:
    """Every scenario in every variant."""
    whole = {"run.measure": "all"}
    scenarios = [results.check(name, whole | scale.pick(fewer, {})) for name, fewer in SCENARIOS.items()]
    audit, ports, seed = zip(*VARIANTS.values(), strict=True)
    switches = {"run.audit": audit, "run.port_mode": ports, "run.seed": seed}
    axes = [
        Axis("scenario", scenarios=scenarios, labels=list(SCENARIOS)),
        Axis("variant", switches, labels=list(VARIANTS)),
    ]
    return {"digests": Plan(axes=axes, name="digests")}


def tables(sweeps: Sweeps) -> Tables:
    """One row per run: its digest, and how many violations its audit found."""
    sweep = sweeps["digests"]
    rows = [
        {
            "run": run,
            "status": summary["status"],
            # A text, whatever its digits are.
            "digest": f"sha256:{summary['digest']}",
            "events": summary["counters"]["events"],
            "audited": summary["scenario"]["run"]["audit"],
            "violations": len(summary.get("violations", ())),
        }
        for run, summary in sweep.summaries().items()
    ]
    runs = sweep.runs.drop("done", "replica").join(pl.DataFrame(rows), on="run", maintain_order="left")
    return {"runs": runs.drop("run")}


def _digests(tables: Tables, variant: str) -> dict[str, str] | None:
    """By scenario; None if one is missing."""
    rows = tables["runs"].filter(variant=variant)
    found = dict(rows.select("scenario", "digest").iter_rows())
    return found if found.keys() >= SCENARIOS.keys() else None


def _same(tables: Tables, variants: Sequence[tuple[str, str]]) -> Judgement:
    """Both variants of each pair have the same digests."""
    rows = []
    for one, other in variants:
        a, b = _digests(tables, one), _digests(tables, other)
        if a is None or b is None:
            return not_reached("there are not all scenarios and variants")
        rows += [(f"{name}, {one}, against {other}: the digest", a[name], b[name]) for name in a]
    return all_exactly(rows, "digests")


def _audited(tables: Tables) -> Judgement:
    audited = tables["runs"].filter(pl.col("variant").is_in([AUDIT, BOTH]))
    if not audited["audited"].all():
        return not_reached("a run was not audited")
    clean = judged(not audited["violations"].sum(), f"{audited['violations'].sum()} violations", "none")
    return together([_same(tables, [(AUDIT, PLAIN), (BOTH, SERVED)]), clean])


def _seen(tables: Tables) -> Judgement:
    plain, seed = _digests(tables, PLAIN), _digests(tables, SEED)
    if plain is None or seed is None:
        return not_reached("there are not all scenarios and variants")
    everything = [*plain.values(), *seed.values()]
    return judged(
        len(set(everything)) == len(everything),
        f"{len(set(everything))} digests of {len(everything)} runs",
        f"{len(everything)} different ones",
    )


def draw(tables: Tables) -> "Picture":
    """Each digest as a strip of colours: equal strips are equal results."""
    import numpy as np

    picture, (axes,) = style.panels(1, 1, (8.4, 3.4))
    names, variants = list(SCENARIOS), list(VARIANTS)
    for row in tables["runs"].iter_rows(named=True):
        x, y = variants.index(row["variant"]), names.index(row["scenario"])
        digits = np.array([[int(digit, 16) for digit in row["digest"].partition(":")[2][:16]]])
        axes.imshow(
            digits, extent=(x, x + 0.94, y + 0.85, y + 0.1), aspect="auto", cmap="viridis", vmin=0, vmax=15
        )
    axes.set(xlim=(0, len(variants)), ylim=(len(names), 0))
    axes.set_xticks([place + 0.47 for place in range(len(variants))], variants)
    axes.set_yticks([place + 0.47 for place in range(len(names))], names)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    return picture


FIGURE = Figure(
    id="VAL-D",
    title="Digests: audit and port modes change nothing, a seed does",
    plans=plans,
    tables=tables,
    claims={
        "VAL-D.a": _audited,
        "VAL-D.b": lambda tables: _same(tables, [(SERVED, PLAIN), (BOTH, AUDIT)]),
        "VAL-D.c": _seen,
    },
    draw=draw,
    assumed=(
        "The scenarios are those that come with the package, from an empty network and without a warm-up; at quick "
        "scale three of them have 200 flows.",
    ),
)
