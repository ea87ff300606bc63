"""What the tables say: completion times and slowdown by size group, goodput. Table in, table out.

Percentiles interpolate linearly between order statistics. Unfinished flows have no completion time:
the completed share stands beside every percentile, since leaving it out flatters a bad transport.
"""

from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from flowyard.console import TextTable
    from flowyard.results import Result

# Upper ends of the size groups, inclusive, in bytes: short, middle and long flows, as pFabric cut them.
GROUPS = ((100_000, "up to 100 KB"), (10_000_000, "100 KB to 10 MB"), (None, "above 10 MB"))
PERCENTILES = (50, 95, 99)


def frame(table: Any) -> pl.DataFrame:
    """Any table that speaks Arrow, as a polars frame."""
    return table if isinstance(table, pl.DataFrame) else pl.DataFrame(table)


def measured(result: "Result") -> pl.DataFrame:
    """The flows that count: those that start after the warm-up."""
    warm_up = picoseconds(result.summary["scenario"]["run"].get("warm_up", "0s"))
    return frame(result.flows).filter(pl.col("start_ps") >= warm_up)


def picoseconds(time: str) -> int:
    """A time as run.json writes it ("1500ns"): a whole number and a unit."""
    digits = time.rstrip("smnup")
    return int(digits) * {"s": 10**12, "ms": 10**9, "us": 10**6, "ns": 10**3, "ps": 1}[time[len(digits) :]]


def by_size(flows: pl.DataFrame) -> pl.DataFrame:
    """A row for each size group that has flows, and one for all: counts, FCT and slowdown."""
    size = pl.col("size_bytes")
    group = pl.lit(len(GROUPS) - 1)
    for i in reversed(range(len(GROUPS) - 1)):
        group = pl.when(size <= GROUPS[i][0]).then(pl.lit(i)).otherwise(group)
    columns = [
        pl.len().alias("flows"),
        pl.col("completed").mean().alias("completed"),
        (pl.col("fct_ps").mean() / 1e6).alias("fct_mean_us"),
        *((pl.col("fct_ps").quantile(p / 100, "linear") / 1e6).alias(f"fct_p{p}_us") for p in PERCENTILES),
        pl.col("slowdown").mean().alias("slowdown_mean"),
        *(pl.col("slowdown").quantile(p / 100, "linear").alias(f"slowdown_p{p}") for p in PERCENTILES),
    ]
    groups = flows.group_by(group.alias("group")).agg(columns).sort("group")
    named = groups.with_columns(
        pl.col("group").replace_strict(dict(enumerate(name for _, name in GROUPS)), return_dtype=pl.String)
    )
    return pl.concat([named, flows.select(pl.lit("all").alias("group"), *columns)])


def goodput_bps(result: "Result") -> float:
    """Payload delivered a second, by all flows together, over the whole run."""
    delivered = int(frame(result.flows)["delivered_bytes"].sum())
    end_ps = result.summary["end_ps"]
    return delivered * 8 * 1e12 / end_ps if end_ps else 0.0


def summary_table(result: "Result", title: str) -> "TextTable":
    """One run on half a screen."""
    from flowyard.console import TextTable

    flows = measured(result)
    counters = result.summary["counters"]
    completed = int(flows["completed"].sum())
    fct = [_number(flows["fct_ps"].quantile(p / 100, "linear"), 1e6) for p in PERCENTILES]
    slowdown = [_number(flows["slowdown"].quantile(p / 100, "linear")) for p in PERCENTILES]
    names = "/".join(f"p{p}" for p in PERCENTILES)
    rate = counters["packet_hops"] / counters["wall_s"] / 1e6 if counters["wall_s"] else 0.0
    rows = [
        ("status", result.status),
        ("simulated", f"{result.summary['end_ps'] / 1e9:.3f} ms in {counters['wall_s']:.2f} s"),
        ("flows completed", f"{completed:,} of {len(flows):,}"),
        (f"FCT {names}", " / ".join(fct) + " us"),
        (f"slowdown {names}", " / ".join(slowdown)),
        ("goodput", f"{goodput_bps(result) / 1e9:.2f} Gbit/s"),
        ("drops, trims, marks", ", ".join(f"{counters[name]:,}" for name in ("drops", "trims", "marks"))),
        ("retransmissions, timeouts", f"{counters['retransmissions']:,}, {counters['timeouts']:,}"),
        ("packet-hops", f"{counters['packet_hops']:,} ({rate:.2f} M/s)"),
        ("digest", result.summary["digest"][:16]),
    ]
    return TextTable(title, ("", ""), rows)


def comparison_table(results: dict[str, "Result"], title: str) -> "TextTable":
    """Several runs side by side: a row for each run and size group."""
    from flowyard.console import TextTable

    percentiles = [f"p{p}" for p in PERCENTILES]
    header = ["run", "flow size", "flows", "completed", *(f"FCT {p} us" for p in percentiles)]
    header += [f"slowdown {p}" for p in percentiles]
    rows = []
    for name, result in results.items():
        for row in by_size(measured(result)).iter_rows(named=True):
            cells = [name, row["group"], f"{row['flows']:,}", f"{row['completed']:.1%}"]
            cells += [_number(row[f"fct_{p}_us"]) for p in percentiles]
            cells += [_number(row[f"slowdown_{p}"]) for p in percentiles]
            rows.append(cells)
            name = ""
    return TextTable(title, header, rows)


def _number(value: float | None, scale: float = 1.0) -> str:
    """Three or four digits that count; a dash where there is no value."""
    if value is None:
        return "-"
    value /= scale
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
