"""Lemmas 4.1 and 4.2, theorem 4.1, conjecture 4.1 and figure 4.5: judges of Front-Back."""

import polars as pl

from flowyard.papers import judge
from flowyard.papers.figure import Judgement, Tables

# The last segment, which both paths of Front-Back may send, or one that claims it.
BOTH, CLAIMED = "the last segment goes on both paths", "a path claims each segment"


def switches_are_pieces(tables: Tables) -> Judgement:
    rows = [
        (f"{name}, row {place}", q, pieces - paths)
        for name in ("errors", "sizes", "traces", "worst_case")
        for place, (pieces, paths, q) in enumerate(
            tables[name].select("pieces", "paths", "context_switches").rows()
        )
    ]
    return judge.all_exactly(rows, "counts")


def worst_case(tables: Tables) -> Judgement:
    rows = tables["worst_case"].select("segments", "pieces", "context_switches").rows()
    return judge.all_exactly(
        [
            each
            for n, pieces, q in rows
            for each in ((f"pieces of {n}", pieces, n), (f"switches of {n}", q, n - 2))
        ],
        "counts",
    )


def never_switches(tables: Tables) -> Judgement:
    rows = [
        (f"{name}, row {place}", q, 0)
        for name in ("errors", "sizes", "traces")
        for place, q in enumerate(tables[name].filter(algorithm="FB2")["context_switches"])
    ]
    return judge.all_exactly(rows, "transfers without a context switch")


def optimal_for_two(tables: Tables) -> Judgement:
    rows = tables["traces"].filter(algorithm="FB2")
    orderly = judge.judged(
        not any(rows["context_switches"]), f"{sum(rows['context_switches'])} context switches", "0"
    )
    readings = {}
    for name, column in ((BOTH, "earliest_s"), (CLAIMED, "finish_s")):
        late = [
            f"{segments} segments of draw {draw} in {found:g} s, not {best:g}"
            for draw, segments, found, best in rows.select("draw", "segments", column, "best_s").rows()
            if found > best
        ]
        found = judge.judged(
            not late, f"{len(rows) - len(late)} of {len(rows)} as early as any division", f"all {len(rows)}"
        ).because("; ".join(late[: judge.SHOWN]))
        readings[name] = judge.together([found, orderly])
    return judge.by_reading(readings)


def optimal_for_more(tables: Tables) -> Judgement:
    """Finish times: within one segment of each path of what all paths together need."""
    checks = []
    for name, rows, ideal in (
        ("steady rates", tables["steady"], "fluid_s"),
        ("random rates", tables["traces"].filter(pl.col.algorithm != "FB2"), "earliest_s"),
    ):
        late = rows.filter(pl.col.finish_s > (pl.col(ideal) + pl.col.one_segment_each_s) * (1 + 1e-9))
        checks.append(
            judge.judged(
                len(rows) > 0 and late.is_empty(), f"{name}: {len(late)} of {len(rows)} later", "none later"
            )
        )
    return judge.together(checks)


def fewest_switches(tables: Tables) -> Judgement:
    """Whether Front-Back that believes other rates has fewer switches, and finishes no later."""
    better = []
    for (error,), some in tables["beliefs"].group_by("error_percent", maintain_order=True):
        columns = ("believed", "context_switches", "finish_s")
        by = {name: (q, finish) for name, q, finish in some.select(columns).rows()}
        own = by["equal"]
        better += [
            f"path 1 {error:+} %: {q} switches believing {name}, {own[0]} believing equal rates"
            for name, (q, finish) in by.items()
            if q < own[0] and finish <= own[1]
        ]
    found = judge.judged(not better, f"{len(better)} counter-examples", "none")
    return found.because(
        "a wrong belief that turns out right: " + "; ".join(better[: judge.SHOWN])
    ).not_reproducible(
        "a counter-example refutes a conjecture: who believes the rates that come divides once, and has no switch "
        "(the table of beliefs)"
    )


def first_groups(tables: Tables) -> Judgement:
    row = tables["pairings"].filter(rate_of_path_1=3.0)
    return judge.together(
        [
            judge.exactly(row["groups"].item(), "[1,4] [2,3]").called("groups"),
            judge.exactly(row["share_of_first"].item(), 0.5).called("share of the first group"),
        ]
    )


def later_groups(tables: Tables) -> Judgement:
    rows = tables["pairings"].filter(pl.col.rate_of_path_1 < 3)
    found = judge.all_exactly(
        [
            (f"path 1 at {rate:g}", groups, "[1,3] [2,4]")
            for rate, groups in rows.select("rate_of_path_1", "groups").rows()
        ],
        "groups",
    )
    return found.noted("its rule gives [1,3], [2,4] only if path 1 has become faster than 4")
