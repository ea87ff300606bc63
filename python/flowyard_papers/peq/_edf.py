"""Earliest deadline first against SRPT, and against D3, on sets of flows that can all be on time: PEQ-P6 and P14."""

from typing import Any

import polars as pl

from flowyard.papers.figure import Tables
from flowyard.papers.judge import Judgement, at_most, by_reading, not_reached
from flowyard_papers.peq._sets import exponential, served, sets

# Fewer sets say little about a mean.
ENOUGH = 30
# EDF as such, by which of several flows goes first that are due together.
EDF: dict[str, tuple[str, str]] = {
    "ties by flow number": ("edf", "id"),
    "ties by size": ("edf_by_size", "size"),
}
# The flows whose completion times are compared. SRPT loses some of those that are due.
FLOWS = {"flows in time under both": "", "all flows, SRPT without deadlines": "_all"}


def compare(slack: int, flows: int, count: int, replica: int) -> pl.DataFrame:
    """Earliest deadline first, SRPT and D3 on the sets that can be done in full."""
    kinds = exponential(slack, "shift")
    schemes: dict[str, Any] = {
        **{name: {"edf": {"ties": ties}} for name, ties in EDF.values()},
        "srpt": "sjf",
        "d3": {"d3": {"order": "arrival"}},
        "d3_random": {"d3": {"order": "random"}},
        "optimal": "optimal",
    }
    fates = {
        name: served(sets(flows, count), kinds, scheme, replica=replica).sort("flow")
        for name, scheme in schemes.items()
    }
    full = fates["optimal"].select(pl.col("done").all().over("set"))["done"]
    done = {name: rows["done"] & full for name, rows in fates.items()}
    # EDF completes all flows of these sets, with either rule for ties.
    both = done["edf"] & done["edf_by_size"] & done["srpt"]
    srpt = (
        fates["edf"]
        .filter(full)
        .sort("set", "size")
        .select(pl.col("size").cast(pl.Int64).cum_sum().over("set"))["size"]
    )
    return pl.DataFrame(
        {
            "sets": count,
            "full_sets": int(full.sum()) // flows,
            # A sum and a count each, so that means of several replicas can be made.
            **{f"{name}_done": int(done[name].sum()) for name in done if name != "optimal"},
            "both_done": int(both.sum()),
            **{
                f"{name}_fct_sum_slots": int(fates[name]["end_slot"].filter(both).sum())
                for name in ("edf", "edf_by_size", "srpt")
            },
            **{
                f"{name}_all_fct_sum_slots": int(fates[name]["end_slot"].filter(done[name]).sum())
                for name in ("edf", "edf_by_size")
            },
            "srpt_all_fct_sum_slots": int(srpt.sum()),
            "inverted": int((done["edf"] & ~done["d3"]).sum()),
            "inverted_random": int((done["edf"] & ~done["d3_random"]).sum()),
        }
    )


def totals(compared: pl.DataFrame) -> pl.DataFrame:
    """Sums over replicas, and the ratios of mean completion times, by slack and flows."""
    by = ["slack", "flows"]
    table = compared.drop("replica", "count").group_by(by).sum().sort(by)
    # Where no set can be done in full, there is none.
    return table.with_columns(
        (pl.col(f"{name}{of}_fct_sum_slots") / pl.col(f"srpt{of}_fct_sum_slots")).alias(
            f"{name}_over_srpt{of}"
        )
        for name, _ in EDF.values()
        for of in FLOWS.values()
    ).fill_nan(None)


def near_best(tables: Tables) -> Judgement:
    """EDF's mean completion time over SRPT's: a verdict for each rule for ties and each choice of flows."""
    rows = tables["deadlines"].filter(pl.col("full_sets") >= ENOUGH)
    return by_reading(
        {
            f"{over}; {ties}": _ratio(rows, f"{name}_over_srpt{of}")
            for over, of in FLOWS.items()
            for ties, (name, _) in EDF.items()
        }
    )


def _ratio(rows: pl.DataFrame, column: str) -> Judgement:
    if rows.is_empty():
        return not_reached(f"nowhere are there {ENOUGH} sets that can be done in full")
    said = [
        f"{row[column]:.2f} with {row['flows']} flows, slack {row['slack']}"
        for row in rows.iter_rows(named=True)
    ]
    return at_most(rows.sort(column)[column][-1], 1.25).because("; ".join(said))
