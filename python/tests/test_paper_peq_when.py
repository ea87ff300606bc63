"""Our own figures on PEQ, which check no claim: that they are made, and that their tables are right."""

from pathlib import Path

import polars as pl
import pytest

from flowyard import slotted
from flowyard.papers import catalogue, page_tables, running
from flowyard.papers.figure import Scale
from flowyard.slotted.measures import measure
from flowyard_papers.peq import weights, when

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module", params=["PEQ-WHEN", "PEQ-WEIGHTS"])
def made(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("papers") / request.param
    return folder, running.run(catalogue.select(request.param), Scale.QUICK, folder), request.param


def test_a_figure_without_claims_is_in_the_gallery(made):
    folder, outcome, name = made
    assert (outcome.broke, outcome.entries, outcome.summary.claims) == ([], [], 0)
    page = (folder / "index.html").read_text()
    assert f'src="{name}/figure.svg"' in page
    assert "<thead>" not in page
    assert (folder / name / "figure.svg").exists()


def test_tables_survive_csv(made):
    folder, _, name = made
    figure = {figure.id: figure for figure in (when.FIGURE, weights.FIGURE)}[name]
    assert figure.draw
    assert figure.draw(running.read_tables(figure, folder / name))


def test_no_scheme_is_above_the_ceiling(made):
    folder, _, name = made
    points = pl.read_csv(folder / name / "points.csv", infer_schema_length=None)
    if name == "PEQ-WHEN":
        sets = points.filter(release="set")
        assert sets.filter(pl.col("below_optimal_pp") < -1e-9).is_empty()
        # If larger flows are never due earlier, shortest and most urgent are the same flow.
        in_step = sets.filter(pl.col("value") >= 0, kind="slope")
        assert in_step["lead_pp"].to_list() == [0.0] * len(in_step)
    else:
        # Any beta up to alpha, but 0, gives the order of the thesis's weights.
        alike = points.filter(pl.col("beta_over_alpha").is_between(0, 1, closed="right"))
        assert alike["change_pp"].to_list() == [0.0] * len(alike)


def points(*rows):
    columns = ("release", "kind", "largest_packets", "value", "lead_pp", "better", "below_optimal_pp")
    return pl.DataFrame(rows, schema=list(columns), orient="row")


def test_the_conclusion_counts_and_names_places():
    table = points(
        ("set", "slack", 110, 0.1, 2.0, "PEQ", 0.5),
        ("set", "slack", 198, 1.0, 3.0, "PEQ", 0.0),
        ("set", "slack", 198, 3.0, -1.0, "PDQ", 1.0),
        ("load", "slope", 198, -0.5, 0.1, "neither", None),
    )
    one, two = when.conclude(table).iter_rows(named=True)
    assert one["says"] == (
        "PEQ ahead at 2 of 3 points (slack 0.1 to 1), PDQ at 1 (slack 3); lead -1 to +3 pp"
    )
    assert (one["most_at"], one["least_at"]) == ("slack 1, sizes to 198", "slack 3, sizes to 198")
    assert one["below_optimal_pp"] == 0.5
    assert (two["peq_better"], two["pdq_better"], two["below_optimal_pp"]) == (0, 0, None)


def test_the_last_corner_is_the_adversarial_set():
    assert when.deadlines("slope", -0.5) == {"linear": {"at_zero": 297.0, "slope": -0.5}}
    row = when.point("set", "slope", 3, 0, replica=2).filter(largest_packets=198, value=-0.5)
    config = {
        "generation": {"sets": {"flows": 16, "sets": 3}},
        "classes": [
            {
                "sizes": {"uniform": {"min": 2, "max": 198}},
                "deadlines": {"linear": {"at_zero": 297, "slope": -0.5}},
            }
        ],
        "run": {"replica": 2},
    }
    for name in ("peq", "pdq", "optimal"):
        flows = pl.DataFrame(slotted.run(config, {"discipline": name}).flows)
        assert row[f"{name}_pct"].item() == 100 * measure(flows)["application_throughput"].item()


def test_the_published_page_has_no_empty_table():
    assert page_tables.claims(catalogue.packaged()[0].register, []) == []
