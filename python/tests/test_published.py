"""Published results: the verdicts in docs/results are those of its CSV files, and the summaries say so."""

import importlib.util
import json
from pathlib import Path

import pytest

from flowyard.papers import running, verdicts
from flowyard.papers.catalogue import packaged

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
PUBLISHED = [paper for paper in packaged() if (RESULTS / paper.id).is_dir()]


def tool():
    """tools/publish_results.py as a module."""
    specification = importlib.util.spec_from_file_location(
        "publish_results", ROOT / "tools/publish_results.py"
    )
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_something_is_published():
    assert PUBLISHED


@pytest.mark.parametrize("paper", PUBLISHED, ids=lambda paper: paper.id)
class TestPaper:
    def test_every_claim_is_there_once(self, paper):
        entries = json.loads((RESULTS / paper.id / "claims.json").read_text(encoding="utf-8"))
        assert [entry["id"] for entry in entries] == list(paper.register.claims)
        assert all(entry["reason"] for entry in entries if entry["verdict"] != "PASS")

    def test_verdicts_are_those_of_the_tables(self, paper):
        entries = json.loads((RESULTS / paper.id / "claims.json").read_text(encoding="utf-8"))
        published = {entry["id"]: entry for entry in entries}
        about = json.loads((RESULTS / paper.id / "results.json").read_text(encoding="utf-8"))
        assert about["scale"] == "full"
        for figure in paper.figures:
            if figure.id not in about["figures"]:
                # Not run at full scale yet, and it says so.
                assert {published[claim]["verdict"] for claim in figure.claims} <= {"NOT-REACHED"}, figure.id
                continue
            found = verdicts.judge(figure, running.read_tables(figure, RESULTS / paper.id / figure.id))
            for claim, one in found.items():
                said = (published[claim]["verdict"], published[claim]["measured"])
                assert (one.verdict, one.measured) == said, claim


def test_summaries_are_up_to_date():
    publish = tool()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert publish.BEGIN in readme
    assert publish.with_summary(readme) == readme
    assert publish.page() == (RESULTS / "README.md").read_text(encoding="utf-8")
