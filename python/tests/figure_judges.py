"""For tests of figures: verdicts of their quick tables, and of tables made by hand."""

from types import ModuleType
from typing import Any

from conftest import through_csv

from flowyard.papers.judge import FAIL, PASS


def check_real_tables(module: ModuleType, tables: Any) -> None:
    """Real tables and their CSV files give each claim of a figure the same verdict, and the figure is drawn."""
    again = through_csv(tables)
    for claim, judge in module.FIGURE.claims.items():
        judgement = judge(tables)
        assert judgement.verdict in (PASS, FAIL), claim
        assert judge(again) == judgement
    assert module.FIGURE.draw(again).axes


def verdict(module: ModuleType, letter: str, tables: Any, reading: int | None = None) -> str:
    """Of a claim of a module's figure, or of one of its readings by number."""
    judgement = module.FIGURE.claims[f"{module.FIGURE.id}.{letter}"](tables)
    verdict: str = judgement.verdict if reading is None else judgement.readings[reading][1].verdict
    return verdict
