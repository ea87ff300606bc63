"""The flows of a scenario as the engine draws them before a run: sizes and rate of each traffic entry.

A distribution's own mean is not always that of its flows: sizes are whole bytes, a byte or more, and a few flows of a
heavy tail are far from it.
"""

from collections.abc import Mapping
from typing import Any

from flowyard import text
from flowyard.results import Checked, variant

# Arrivals that have a rate.
SPREAD = ("poisson", "times")


def entries(checked: Checked, resolved: Mapping[str, Any]) -> list[dict[str, Any]]:
    """For each entry that has flows before the run: name, flows, sizes in bytes, flows per second.

    Sizes are null for flows without end, the rate where flows start together or after others.
    """
    from flowyard.forks import pl

    endless = [entry["name"] for entry in resolved["traffic"] if variant(entry["sizes"]) == "endless"]
    size = pl.when(~pl.col("name").is_in(endless)).then("size_bytes")
    known = pl.col("start_ps").drop_nulls()
    found = (
        pl.DataFrame(checked.flows())
        .lazy()
        .with_columns(pl.col("tag").cast(pl.String).alias("name"))
        .with_columns(size.alias("size_bytes"))
        .group_by("name", maintain_order=True)
        .agg(
            pl.len().alias("flows"),
            pl.col("size_bytes").mean().alias("mean_size_bytes"),
            pl.col("size_bytes").min().alias("least_size_bytes"),
            pl.col("size_bytes").max().alias("largest_size_bytes"),
            pl.when(known.max() > known.min())
            .then((known.len() - 1) * 1e12 / (known.max() - known.min()))
            .alias("flows_per_s"),
        )
        .collect()
    )
    order = {entry["name"]: place for place, entry in enumerate(resolved["traffic"])}
    spread = {entry["name"] for entry in resolved["traffic"] if variant(entry["arrivals"]) in SPREAD}
    rows = sorted(found.to_dicts(), key=lambda row: order[row["name"]])
    for row in rows:
        if row["name"] not in spread or row["flows"] < 2:
            row["flows_per_s"] = None
    return rows


def said(row: Mapping[str, Any]) -> str:
    """An entry in a line."""
    flows = f"{row['name']}: {text.counted(row['flows'], 'flow')}"
    least, mean, largest = (row[f"{which}_size_bytes"] for which in ("least", "mean", "largest"))
    if mean is not None:
        flows += f" of {text.size(least)}"
        flows += "" if least == largest else f" to {text.size(largest)}, mean {text.size(mean)}"
    rate = row["flows_per_s"]
    return flows if rate is None else f"{flows}; one every {text.duration(1e12 / rate)} on average"
