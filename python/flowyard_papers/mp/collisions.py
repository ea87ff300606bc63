"""Section 1.3: per-flow ECMP lets long flows collide; and per-flow Valiant load balancing is much the same.

The four flows that leave a pod of FT(4,3) under Stride(4) each take one of four ways up, by a hash under ECMP, by a
random core under Valiant's scheme, by lot under DNVR. The set-up is that of chapter 5, and beside it the same with
windows that fill the path: 65,535 B do not, so that four flows on one link still fit.
"""

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan, Sweep
from flowyard_papers.mp import _chapter5, _chapter5_runs
from flowyard_papers.mp._chapter5 import MDNVR, RANDOM, STRIDE_2, STRIDE_4

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

ECMP, VALIANT = "ECMP by flow", "Valiant"
FLOWS = CORES = 4
COLLISION = 1 - Fraction(24, 256)
LONG = 20_000_000
CHAPTER, LARGE = "windows of 65,535 B", "windows that fill the path"
# 750 KB is the product of rate and round trip.
WINDOWS: Mapping[str, dict[str, Any]] = {
    CHAPTER: {},
    LARGE: {"receive_window": "2MB", "initial_ssthresh": "750KB"},
}
BUFFER = 50
# Names of sweeps.
SETUPS = {"chapter-5": CHAPTER, "large-windows": LARGE}
SHORT = {"stride-4": STRIDE_4, "stride-2": STRIDE_2, "random": RANDOM}


def _schemes(tcp: Mapping[str, Any], names: tuple[str, ...]) -> Axis:
    single = {ECMP: ({"tcp": dict(tcp)}, "per-flow"), VALIANT: ({"tcp": dict(tcp)}, "valiant")}
    both: dict[str, tuple[Any, str]] = {**single, MDNVR: (_chapter5.parallel(2, tcp), "nix")}
    return Axis(
        "scheme",
        {
            "transport": [both[name][0] for name in names],
            "routing.balancer": [both[name][1] for name in names],
        },
        labels=names,
    )


def plans(scale: Scale) -> dict[str, Plan]:
    """Long flows under Stride(4) in both set-ups; chapter 5's transfers under its three patterns."""
    replicas = scale.pick(5, _chapter5.REPLICAS)
    long = _chapter5.scenario(_chapter5.transfers(_chapter5.MATRICES[STRIDE_4], LONG))
    found = {
        name: Plan(
            long,
            [_schemes({**_chapter5.TCP, **WINDOWS[setup]}, (ECMP, VALIANT, MDNVR))],
            replicas,
            name=name,
        )
        for name, setup in SETUPS.items()
    }
    for name, pattern in SHORT.items():
        base = _chapter5.scenario(_chapter5.traffic(pattern))
        found[name] = Plan(base, [_schemes(_chapter5.TCP, (ECMP, VALIANT))], replicas, name=name)
    return found


def tables(sweeps: Sweeps) -> Tables:
    """All ways of four flows over four cores; one row per run of long flows and of chapter 5's transfers; means."""
    ways = [len(set(cores)) for cores in product(range(CORES), repeat=FLOWS)]
    long = pl.concat(
        [_long(sweeps[name]).with_columns(setup=pl.lit(setup)) for name, setup in SETUPS.items()]
    )
    short = pl.concat(
        [
            _chapter5_runs.runs(sweeps[name], ["scheme"]).with_columns(pattern=pl.lit(pattern))
            for name, pattern in SHORT.items()
        ]
    ).select("pattern", "scheme", "replica", "fct_ms")
    return {
        "ways": pl.DataFrame({"cores_in_use": ways})
        .group_by("cores_in_use")
        .len("ways")
        .sort("cores_in_use"),
        "long": long,
        "short": short,
        "points": replica_means(long, ["setup", "scheme"], ["goodput_mbps", "fct_ms"]),
    }


def _long(sweep: Sweep) -> pl.DataFrame:
    """Mean goodput of the flows and FCT, null where one is incomplete; pods whose flows share a way to the cores."""
    keys = ["scheme", "replica"]
    fct = pl.col("fct_acked_ps").cast(pl.Float64)
    done = pl.col("completed").all()
    flows = sweep.flows.group_by(keys).agg(
        goodput_mbps=pl.when(done).then((8e6 * pl.col("size_bytes") / fct).mean()),
        fct_ms=pl.when(done).then(fct.mean() / 1e9),
    )
    # Acknowledgements of 42 B use links too.
    up = sweep.links.filter(
        pl.col("tier").cast(pl.String) == "aggregation-core", pl.col("bytes") > 100 * pl.col("packets")
    )
    pods = (
        up.group_by(*keys, pod=pl.col("from").cast(pl.String).str.extract(r"pod (\d+)"))
        .agg(ways=pl.len())
        .group_by(keys)
        .agg(pods_with_collision=(pl.col("ways") < CORES).sum().cast(pl.Int64))
    )
    return flows.join(pods, on=keys).sort(keys).collect()


def _chance(tables: Tables) -> Judgement:
    ways = dict(tables["ways"].iter_rows())
    collide = sum(number for cores, number in ways.items() if cores < FLOWS)
    found = judge.exactly(str(Fraction(collide, sum(ways.values()))), str(COLLISION))
    runs = tables["long"].filter(scheme=ECMP)
    pods, of = runs["pods_with_collision"].sum(), CORES * len(runs)
    return found.noted(f"{float(COLLISION):.3f}; in the runs {pods} of {of} pods have a collision")


def _below(tables: Tables, setup: str) -> Judgement:
    """ECMP's goodput in each run against MDNVR's in the run with the same seed."""
    runs = (
        tables["long"]
        .filter(setup=setup)
        .pivot(on="scheme", index=["setup", "replica"], values="goodput_mbps")
    )
    if {ECMP, MDNVR} - set(runs.columns):
        return judge.not_reached(f"no runs of {ECMP} or {MDNVR}")
    fct = dict(tables["long"].filter(setup=setup).group_by("scheme").agg(pl.col("fct_ms").mean()).iter_rows())
    return judge.not_less(runs, MDNVR, ECMP, x="setup").noted(
        f"mean completion time {fct[ECMP]:.0f} ms under ECMP, {fct[MDNVR]:.0f} ms under MDNVR"
    )


def _collide(tables: Tables) -> Judgement:
    chance = _chance(tables)
    return judge.by_reading({setup: judge.together([chance, _below(tables, setup)]) for setup in WINDOWS})


def _alike(tables: Tables) -> Judgement:
    """Mean completion times under Valiant over those under ECMP, for each pattern and set-up."""
    long = tables["long"].select(pl.col("setup").alias("case"), "scheme", "fct_ms")
    rows = pl.concat([tables["short"].select(pl.col("pattern").alias("case"), "scheme", "fct_ms"), long])
    if rows["fct_ms"].has_nulls():
        return judge.not_reached("some flows are not complete")
    means = {
        (case, scheme): fct
        for case, scheme, fct in rows.group_by("case", "scheme").agg(pl.col("fct_ms").mean()).iter_rows()
    }
    cases = [*SHORT.values(), *WINDOWS]
    if missing := [case for case in cases if {(case, ECMP), (case, VALIANT)} - means.keys()]:
        return judge.not_reached(f"no runs of {missing[0]}")
    ratios = {case: means[case, VALIANT] / means[case, ECMP] for case in cases}
    said = ", ".join(f"{ratio:.3f} ({case})" for case, ratio in ratios.items())
    found = judge.together(judge.comparable(ratio, 0.9, 1.1).called(case) for case, ratio in ratios.items())
    return found.noted(f"completion time of Valiant over ECMP: {said}")


def draw(tables: Tables) -> "Picture":
    """How many cores four flows use; goodput of each run; completion times of each run."""
    picture, (ways, goodput, times) = style.panels(1, 3)
    rows = tables["ways"]
    share = 100 * rows["ways"] / rows["ways"].sum()
    colours = [style.COLOURS[2 if cores == CORES else 1] for cores in rows["cores_in_use"]]
    ways.bar(rows["cores_in_use"], share, color=colours)
    for cores, part in zip(rows["cores_in_use"], share, strict=True):
        ways.text(cores, part + 1, f"{part:.1f} %", ha="center")
    ways.set(
        xlabel="cores that four flows use", ylabel="share of choices (%)", title="90.6 % have a collision"
    )
    ways.set_xticks(range(1, CORES + 1))
    for panel, measure in ((goodput, "goodput_mbps"), (times, "fct_ms")):
        for place, setup in enumerate(WINDOWS):
            for column, scheme in enumerate((ECMP, VALIANT, MDNVR)):
                values = (
                    tables["long"].filter(setup=setup, scheme=scheme)[measure].drop_nulls().sort().to_list()
                )
                spread = [
                    4 * place + column + 0.5 * (n / max(1, len(values) - 1) - 0.5) for n in range(len(values))
                ]
                label = scheme if place == 0 and panel is goodput else None
                panel.scatter(spread, values, s=12, color=style.COLOURS[column], label=label)
                if values:
                    mean = sum(values) / len(values)
                    panel.hlines(mean, spread[0] - 0.1, spread[-1] + 0.1, color=style.COLOURS[column])
        panel.set_xticks([1, 5], list(WINDOWS), fontsize=8)
        panel.set_ylim(bottom=0)
    goodput.set(ylabel="mean goodput of a flow (Mbps)", title="20 MB under Stride(4), a dot a run")
    goodput.legend(loc="upper left")
    times.set(ylabel="mean completion time (ms)", title="the same runs")
    return picture


FIGURE = Figure(
    id="MP-P3",
    title="Section 1.3: collisions of long flows under ECMP, and Valiant load balancing",
    plans=plans,
    tables=tables,
    claims={"MP-P3": _collide, "MP-P4": _alike},
    draw=draw,
    needs={
        "long": Needs(_chapter5.REPLICAS, by=("setup", "scheme")),
        "short": Needs(_chapter5.REPLICAS, by=("pattern", "scheme")),
    },
    assumed=(
        *_chapter5.ASSUMED,
        "Long flows have 20 MB each, under Stride(4) with buffers of 50 packets. In the second reading receivers hold "
        "2 MB and slow start ends at 750 KB, the product of rate and round trip.",
        "With windows of 65,535 B four flows on one link still fit: MDNVR is ahead there by its two windows a transfer "
        "(MP-K1), not by collisions, which count in the second reading alone.",
        "Valiant's scheme goes by a random switch at which shortest paths turn: a core, between pods.",
    ),
)
