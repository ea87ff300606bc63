"""A report for readers who meet the run for the first time: first sentences, menu, legends, tables side by side."""

import re
from html import unescape

import pytest

import flowyard as fy
from flowyard.report import javascript
from flowyard.report.run import labelled, story
from flowyard.report.run import page as run_page
from flowyard.report.run.story import of_runs
from flowyard.report.sweep import page as sweep_page

SCENARIO = {
    "topology": {
        "leaf-spine": {
            "leaves": 2,
            "spines": 1,
            "hosts": 3,
            "host": {"rate": "10Gbps"},
            "spine": {"rate": "40Gbps"},
        }
    },
    "transport": {"ndp": {}},
    "run": {"seed": 9},
    "traffic": [
        {
            "name": "few",
            "arrivals": {"poisson": {"load": 0.5}},
            "matrix": "uniform",
            "sizes": {"fixed": "20KB"},
            "flows": 60,
        }
    ],
}


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """Making the real bundle takes seconds."""
    monkeypatch.setattr(javascript, "bundle", lambda: "/* bundle */")


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Runs with two transports."""
    folder = tmp_path_factory.mktemp("two")
    fy.run(SCENARIO).save(folder / "ndp")
    fy.run({**SCENARIO, "transport": {"tcp": {"preset": "datacentre"}}}).save(folder / "tcp")
    return labelled.read([folder / "ndp", folder / "tcp"])


def text(html):
    body = re.sub(r"<(script|style).*?</\1>", "", html.partition("<body")[2], flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split()).replace("\xa0", " ")


def test_the_first_sentences_say_what_was_simulated(two):
    said = of_runs(two[:1]).replace("\xa0", " ")
    assert said.startswith(
        "6 hosts and 3 switches (leaf-spine) with links of 10.0 Gbps to hosts and 40.0 Gbps between switches. "
        'Traffic "few": 60 measured flows of 20.0 KB, Poisson arrivals at a load of 0.5, matrix uniform. '
        "Transport ndp, queue ndp, load balancing per-packet. "
    )
    assert said.endswith("seed 9, replica 0.")
    assert f"{two[0].measured.height} measured flows" in said
    html = run_page.render(two[:1])
    assert text(html).partition("Completion")[0].strip().endswith(said)


def test_runs_share_the_sentences_that_are_the_same(two):
    said = of_runs(two)
    assert said.count("hosts and 3 switches") == 1
    assert (
        "Transport ndp, queue ndp, load balancing per-packet; or transport newreno, queue drop-tail" in said
    )


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (("at a load of 0.2, matrix x", "at a load of 0.4, matrix x"), "at a load of 0.2 or 0.4, matrix x"),
        (("seeds of 1", "seeds of 2", "seeds of 3"), "seeds of 1, 2 or 3"),
        # Two values of which only pairs occur, and words that begin differently, are not put together.
        (("load 1, size 2, x", "load 2, size 1, x"), "load 1, size 2, x; or load 2, size 1, x"),
        (("ndp, queue a", "tcp, queue a"), "ndp, queue a; or tcp, queue a"),
        (("a b", "a b c"), "a b; or a b c"),
    ],
)
def test_sentences_that_differ_in_one_value_are_one(found, said):
    words = iter(found)
    assert story._one(found, lambda _: next(words)) == said


def test_a_sweep_says_its_axes_and_its_first_run(tmp_path):
    seeds = fy.Axis("seed", {"run.seed": [4, 5]})
    done = fy.sweep(fy.Plan(SCENARIO, [seeds], replicas=2), tmp_path / "s")
    said = text(sweep_page.render(done))
    assert "4 runs over seed (4, 5), 2 replicas each. The first run: 6 hosts and 3 switches" in said


def headings(html):
    """The menu's words, and the heading of the section that each leads to."""
    for key, words in re.findall(r'<a href="#([\w-]+)">([^<]*)</a>', html.partition("</nav>")[0]):
        section = html.partition(f'id="{key}"')[2]
        heading = re.search(r"<(h2|summary)>(.*?)</\1>", section, flags=re.DOTALL)[2]
        yield unescape(words), unescape(re.sub(r"<.*", "", heading, flags=re.DOTALL)).strip()


def test_the_menu_has_the_words_of_the_headings(two, tmp_path):
    swept = fy.sweep(fy.Plan(SCENARIO, [fy.Axis("seed", {"run.seed": [1, 2]})]), tmp_path / "s")
    found = [*headings(run_page.render(two)), *headings(sweep_page.render(swept))]
    assert len(found) > 12
    assert [words for words, heading in found if not heading.startswith(words)] == []


def test_dashes_mean_the_median_where_they_do(tmp_path):
    """Of six runs the last two have dashes, but not where a dashed line is a percentile."""
    lengths = {"traffic.few.sizes": [{"uniform": {"min": "1KB", "max": f"{n}KB"}} for n in range(20, 26)]}
    axis = fy.Axis("name", lengths, labels=[f"n{n}" for n in range(6)])
    html = sweep_page.render(fy.sweep(fy.Plan(SCENARIO, [axis]), tmp_path / "s"))
    found = re.findall(r"<figure.*?</figure>", html, flags=re.DOTALL)
    charts = [re.search(r'id="chart-([\w-]+)"', figure) for figure in found]
    figures = {chart[1]: figure for chart, figure in zip(charts, found, strict=True) if chart}
    buttons = {key: re.findall(r"<button.*?</button>", figure) for key, figure in figures.items()}
    assert sum("dasharray" in button for button in buttons["fct"]) == 2
    assert len(buttons["by-size"]) == 6
    assert not any("dasharray" in button for button in buttons["by-size"])


def test_completion_times_and_slowdowns_are_tables_that_a_narrow_page_stacks(two):
    """Each alone has at most eight columns; in one row they had thirteen, too many for 800 px."""
    section = run_page.render(two).partition('id="completion"')[2].partition("</section>")[0]
    tables = re.findall(r"<table.*?</table>", section, flags=re.DOTALL)
    assert [re.search(r'class="span">(?:<[^>]*>)?(FCT|slowdown)', table)[1] for table in tables] == [
        "FCT",
        "slowdown",
    ]
    columns = [
        {
            len(re.findall(r"<t[hd]", row))
            for row in re.findall(r"<tr>.*?</tr>", table.partition("</thead>")[2], flags=re.DOTALL)
        }
        for table in tables
    ]
    assert columns == [{8}, {6}]


def test_the_first_printed_sheet_ends_behind_the_distributions(two):
    html = run_page.render(two)
    menu = re.findall(r'<a href="#([\w-]+)">', html.partition("</nav>")[0])
    assert menu[:2] == ["completion", "distributions"]
    assert "break-before: page" in html
