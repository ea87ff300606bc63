"""What the documentation repeats from the code is what the code says."""

from pathlib import Path

import pytest

import flowyard as fy

RESULTS = Path(__file__).parents[2] / "docs" / "results.md"
COLUMNS = [column for columns in fy.explain().values() for column in columns]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column["name"])
def test_results_has_the_column(column: dict[str, str]) -> None:
    row = f"| `{column['name']}` | {column['unit']} | {column['meaning']} |"
    assert row in RESULTS.read_text(encoding="utf-8").splitlines()
