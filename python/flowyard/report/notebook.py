"""Views of results and scenarios in notebooks: small HTML, everything in it escaped."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from flowyard.report.loads import MARK
from flowyard.text import counted, percent

if TYPE_CHECKING:
    from flowyard.model import Model
    from flowyard.results import Resolved, Result
    from flowyard.sweeps.tables import Sweep
    from flowyard.table import Table
    from flowyard.why import Answer

# Rows of a table that are shown.
ROWS = 10


def of_table(table: "Table") -> str:
    """The first rows, with each column's type, as polars shows them."""
    shown: str = table.to_polars().head(ROWS)._repr_html_()
    more = f", the first {ROWS} shown" if len(table) > ROWS else ""
    return f"{shown}<p>{counted(len(table), 'row')}, {counted(len(table.columns), 'column')}{more}</p>"


def of_result(result: "Result") -> str:
    """The summary of a run, as the command line prints it, and the names of its tables."""
    from flowyard.report.run.summary import entries_table, legend, sizes_table, summary_table
    from flowyard.results import OPTIONAL, TABLES

    name = str(result.summary["scenario"].get("name") or "run")
    shown = filter(None, (summary_table(result, name), sizes_table(result), entries_table(result)))
    tables = {
        name: len(table) for name in (*TABLES, *OPTIONAL) if (table := getattr(result, name)) is not None
    }
    there = ", ".join(f"{name} ({counted(rows, 'row')})" for name, rows in tables.items())
    return (
        f"{''.join(_table(*made[:3]) for made in shown)}<p>{escape(legend(result))}</p><p>{escape(there)}</p>"
    )


def of_sweep(sweep: "Sweep") -> str:
    """How much of a sweep is there, its axes, and the means of its points."""
    from flowyard.report.sweep.points import marked, points_table

    done = int(sweep.runs["done"].sum())
    rows = [("runs", f"{done:,} of {len(sweep.runs):,}"), ("replicas", f"{sweep.replicas:,}")]
    rows += [(name, ", ".join(map(str, values[:ROWS]))) for name, values in sweep.axes.items()]
    rows += [("damaged", f"{len(sweep.damaged):,}")] if sweep.damaged else []
    points = _table(*points_table(sweep)[:3]) if done and sweep.axes else ""
    for note in marked(sweep) if points else ():
        points += f"<p>{escape(f'{MARK} {note}')}</p>"
    return _table(sweep.name, ("", ""), [*rows, ("folder", str(sweep.folder))]) + points


def of_scenario(model: "Model") -> str | None:
    """A scenario, or a part of one, as its file would have it; None of a part that is a single value."""
    from flowyard.interchange.scenario_text import toml

    data = model.to_dict()
    return f"<pre>{escape(toml(data, []))}</pre>" if isinstance(data, dict) else None


def of_resolved(resolved: "Resolved") -> str:
    """A scenario with its defaults, folded, and above it the advice, what will be measured, and what it needs."""
    from flowyard import run_time
    from flowyard.interchange.scenario_text import toml
    from flowyard.results import advised
    from flowyard.text import room

    outlook = resolved.checked.outlook()
    needs = outlook.needs
    lines = [
        f"measured: {run_time.measuring(outlook.window, needs['end_ps'])}",
        f"needs: about {room(needs['memory_bytes'])}; {'at least ' if outlook.is_least else ''}"
        f"{needs['packet_hops']:,} packet-hops",
        *map(advised, outlook.advice),
    ]
    said = "".join(f"<p>{escape(line)}</p>" for line in lines)
    text = escape(toml(dict(resolved), []))
    head = f"{escape(resolved.checked.name)}, every default"
    return f"{said}<details><summary>{head}</summary><pre>{text}</pre></details>"


def of_answer(answer: "Answer") -> str:
    """The parts of a flow's completion time, and its picture."""
    from flowyard.report.charts.drawn import svg
    from flowyard.report.charts.flow import flow_chart

    parts = [
        (name, f"{time / 1e6:,.3f}", percent(time / answer.fct_ps, 1)) for name, time in answer.totals.items()
    ]
    title = f"Flow {answer.flow}: {answer.fct_ps / 1e6:,.3f} us"
    return _table(title, ("part", "us", "share"), parts) + svg(flow_chart(answer))


def _table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    lines = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    above = f"<thead><tr>{head}</tr></thead>" if any(header) else ""
    return f"<table><caption>{escape(title)}</caption>{above}<tbody>{lines}</tbody></table>"
