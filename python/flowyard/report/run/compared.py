"""The page of `flowyard compare`: a run and a peer's results, as curves, by size and flow by flow."""

from dataclasses import dataclass
from pathlib import Path

import altair as alt

from flowyard import folders, text
from flowyard.forks import pl
from flowyard.peers import Comparison
from flowyard.report import charts, frame, terms
from flowyard.report.mark import MARK
from flowyard.report.run import labelled, story, tables
from flowyard.report.run.figures import Figure, of_deciles
from flowyard.report.run.tables import Cell

OURS = "Flowyard"
# Rows of the table: those whose times differ most.
MOST_ROWS = 500
# Points in the chart of flows.
MOST_POINTS = 4000


@dataclass(frozen=True)
class Side:
    """One of the two, as tables and charts of the report take a run: its flows with fct_ps and slowdown."""

    label: str
    measured: pl.DataFrame


def sides(found: Comparison) -> list[Side]:
    """Ours and the peer's."""
    ours = found.flows.with_columns(completed=pl.lit(True))
    theirs = ours.with_columns(fct_ps="peer_fct_ps", slowdown="peer_slowdown")
    return [Side(OURS, ours), Side(found.peer, theirs)]


def most_apart(flows: pl.DataFrame, most: int) -> pl.DataFrame:
    """The flows whose times differ most, as a ratio of either to the other."""
    return flows.sort(pl.col("ratio").log().abs(), descending=True, maintain_order=True).head(most)


def write(found: Comparison, output: Path) -> Path:
    """Writes the page; an earlier one is replaced, anything else is not."""
    folders.refuse_foreign(output, MARK)
    folders.replace(output, render(found), mark=MARK)
    return output


def render(found: Comparison) -> str:
    """The page as HTML."""
    both = sides(found)
    shown = [
        Figure(
            "fct", "fct", "Flow completion time", "Share of the flows that are complete within a time.",
            charts.fct_distribution(both), [],
        ),
        Figure(
            "slowdown", "slowdown", "Slowdown",
            "Share of the flows that are complete with at most this slowdown, over the same ideal time for both.",
            charts.slowdown_distribution(both), [],
        ),
        Figure(
            "by-size", "size", "Slowdown by flow size",
            of_deciles(both),
            charts.slowdown_by_size(both), [],
        ),
        Figure(
            "flows", "fct", "Flow by flow",
            f"A dot is a flow: below the line {found.peer} is faster, above it Flowyard. "
            f"{_drawn(found.flows)}",
            _flow_by_flow(found), [],
        ),
    ]  # fmt: skip
    name = found.scenario.get("name") or found.run.resolve().name
    return frame.render(
        "run/compared.html.jinja",
        scripts=("tips.js", "sort.js", "charts/charts.js"),
        styles=("page.css", "parts.css", "print.css"),
        specs={figure.key: figure.spec for figure in shown if figure.spec},
        runs=both,
        columns=2,
        title=f"{name}: Flowyard and {found.peer}",
        story=story.of_runs(labelled.read([found.run])),
        notices=[],
        notes=found.notes(),
        figures={figure.key: figure for figure in shown},
        several_sizes=found.flows["size_bytes"].n_unique() > 1,
        summary=tables.summary(both),
        statistics=tables.STATISTIC_NAMES.values(),
        quantiles=_quantiles(found.flows),
        peer=found.peer,
        flows=_rows(most_apart(found.flows, MOST_ROWS)),
        total=found.flows.height,
        terms=terms.COMPARED,
        meanings=terms.meanings(terms.COMPARED, [found.definitions]),
        made_from=f"run.json and flows.parquet of {found.run}, and {found.file}",
        dashes=[charts.dash(i, 2) for i in range(2)],
        colours=charts.COLOURS,
    )


def _quantiles(flows: pl.DataFrame) -> list[tuple[str, str]]:
    """The peer's time over ours, over all flows."""
    shares = {"smallest": 0.0, "p1": 0.01, "p50": 0.5, "p99": 0.99, "largest": 1.0}
    return [(name, f"{flows['ratio'].quantile(share, 'linear'):.3f}") for name, share in shares.items()]


def _rows(flows: pl.DataFrame) -> list[list[Cell]]:
    rows = []
    for row in flows.iter_rows(named=True):
        plain = [Cell(str(row[name]), value=row[name]) for name in ("id", "src", "dst")]
        scaled = [
            Cell(as_text(row[name]), value=row[name])
            for name, as_text in (
                ("size_bytes", text.size),
                ("start_ps", text.duration),
                ("fct_ps", text.duration),
                ("peer_fct_ps", text.duration),
                ("slowdown", text.ratio),
                ("peer_slowdown", text.ratio),
            )
        ]
        ratio = Cell(f"{row['ratio']:.3f}", value=row["ratio"])
        rows.append([*plain, Cell(row["tag"]), *scaled, ratio])
    return rows


def _drawn(flows: pl.DataFrame) -> str:
    return f"Drawn are {MOST_POINTS:,} of {flows.height:,}." if flows.height > MOST_POINTS else ""


def _flow_by_flow(found: Comparison) -> charts.Spec:
    """Each flow's two times against each other."""
    flows = found.flows
    if flows.height > MOST_POINTS:
        # Evenly over the ratios, so that both ends are there.
        flows = flows.sort("ratio").gather_every(-(-flows.height // MOST_POINTS))
    rows = [
        {
            "flow": f"flow {row['id']}: {row['src']} → {row['dst']}",
            "size": row["size_bytes"],
            "ours": charts.rounded(row["fct_ps"]),
            "theirs": charts.rounded(row["peer_fct_ps"]),
            "ratio": charts.rounded(row["ratio"]),
        }
        for row in flows.iter_rows(named=True)
    ]
    values = [row[name] for row in rows for name in ("ours", "theirs")]
    x = charts.log_axis("ours", "duration", "Flowyard", values)
    y = charts.log_axis("theirs", "duration", found.peer, values, alt.Y)
    ends = [{"ours": end, "theirs": end} for end in charts.log_domain(values)]
    same = (
        charts.chart_of("ends")
        .mark_line(color="var(--axis)", strokeDash=[4, 3], strokeWidth=1.5)
        .encode(x=x, y=y)
    )
    points = (
        charts.chart_of("rows")
        .mark_point(filled=True, size=26, opacity=0.6, color="var(--run-1)")
        .encode(
            x=x,
            y=y,
            tooltip=[
                alt.Tooltip("flow:N", format="", formatType="label"),
                charts.tip("size", "bytes", "size"),
                charts.tip("ours", "duration", "Flowyard"),
                charts.tip("theirs", "duration", found.peer),
                charts.tip("ratio", "ratio", f"{found.peer} over Flowyard"),
            ],
        )
    )
    return charts.spec_of([same, points], charts.HEIGHT, rows=rows, ends=ends)
