"""Links, by the tiers that they connect."""

from flowyard.analysis.distribution import strip
from flowyard.analysis.frames import Arrow, frame
from flowyard.forks import pl


def by_tier(links: Arrow) -> pl.DataFrame:
    """A row for each tier, in order of first appearance.

    Columns: tier, links, utilisation_mean, utilisation_max (0 to 1), queue_mean_bytes (mean over the links of
    their time average), queue_max_bytes (the largest), drops, trims, marks (sums, packets), paused_ps (the largest).
    """
    links = frame(links)
    return links.group_by("tier", maintain_order=True).agg(
        pl.len().alias("links"),
        pl.col("utilisation").mean().alias("utilisation_mean"),
        pl.col("utilisation").max().alias("utilisation_max"),
        pl.col("queue_mean_bytes").mean(),
        pl.col("queue_max_bytes").max(),
        *(pl.col(name).sum() for name in ("drops", "trims", "marks")),
        pl.col("paused_ps").max(),
    )


def spread_by_tier(links: Arrow, column: str, points: int = 60) -> pl.DataFrame:
    """How a column of the links spreads within each tier.

    Columns: tier, links, mean, min, p25, p50, p75, max, and strip: a list of at most `points` of the links'
    values. All in the unit of the column.
    """
    links = frame(links)
    value = pl.col(column)
    table = links.group_by("tier", maintain_order=True).agg(
        pl.len().alias("links"),
        value.mean().alias("mean"),
        value.min().cast(pl.Float64).alias("min"),
        *(
            value.quantile(share, "linear").alias(name)
            for name, share in (("p25", 0.25), ("p50", 0.5), ("p75", 0.75))
        ),
        value.max().cast(pl.Float64).alias("max"),
    )
    values = {tier: strip(part[column].cast(pl.Float64), points) for (tier,), part in links.group_by("tier")}
    strips = [values[tier].to_list() for tier in table["tier"]]
    return table.with_columns(pl.Series("strip", strips, dtype=pl.List(pl.Float64)))


def worst_links(links: Arrow, count: int = 10) -> pl.DataFrame:
    """The links that were used, or lost packets to faults, worst first.

    By packets lost to faults, dropped, trimmed, marked, then by the time for which they were paused and the fullest
    queue.
    """
    links = frame(links)
    keys = ["lost", "drops", "trims", "marks", "paused_ps", "queue_max_bytes", "utilisation"]
    used = links.filter((pl.col("packets") > 0) | (pl.col("lost") > 0))
    return used.sort(*keys, "id", descending=[True] * len(keys) + [False]).head(count)
