"""Labels of axes: shares that are close together read differently, and time begins with the span that is asked for."""

from importlib import resources

import pytest
from browser import PROGRAM, Browser

from flowyard.report.charts import port
from flowyard.why import Port

MS = 10**9


@pytest.mark.skipif(PROGRAM is None, reason="no chromium on this machine")
def test_marks_of_an_axis_of_shares_all_read_differently(tmp_path):
    """Of 0.005 % each, as of an axis up to 0.03 %; zero and all stay as they are."""
    script = resources.files("flowyard.report").joinpath("charts/charts.js").read_text(encoding="utf-8")
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><meta charset='utf-8'><title>t</title><body><script>{script}</script>")
    with Browser(tmp_path / "profile", 800) as browser:
        browser.open(page)
        said = browser.ask("[0, 1, 2, 3, 4, 5, 6].map((n) => expressionFunctions.share(n * 0.00005))")
        assert said == ["0%", "0.005%", "0.01%", "0.015%", "0.02%", "0.025%", "0.03%"]
        assert browser.ask("[0.002, 0.05, 0.25].map(expressionFunctions.share)") == ["0.2%", "5%", "25%"]


@pytest.mark.parametrize(
    ("start", "title"),
    [(0, "µs"), (99 * MS, "µs since 99 ms"), (220_519_250_000, "µs since 220,519.25 µs")],
)
def test_the_axis_of_a_port_says_when_it_begins(start, title):
    found = Port(link=0)
    spec = port.port_chart(found, start, start + MS)
    titles = [
        layer["encoding"]["x"]["axis"]["title"]
        for panel in spec["vconcat"]
        for layer in panel["layer"]
        if layer["encoding"]["x"]["axis"]["title"]
    ]
    assert set(titles) == {title}
