"""The report in a headless browser: everything drawn, nothing loaded or complained of, and what can be pressed acts."""

import base64
import json
from urllib.parse import unquote

import pytest
from browser import PROGRAM, Browser
from test_report import page, write_run
from test_report_parts import sampled

from flowyard import results
from flowyard.report import javascript

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no chromium on this machine")

SHOWN = "[...document.querySelectorAll('#flow-table tbody tr')].map(row => row.cells[0].textContent)"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A page of two runs with all that a page can have, one of them cut short."""
    folder = tmp_path_factory.mktemp("report")

    def trouble(summary):
        meanings = results.explain().items()
        summary["definitions"] = {
            table: {each["name"]: each["meaning"] for each in columns} for table, columns in meanings
        }
        fault = {"at_ps": 10**5, "undone_ps": 2 * 10**5, "change": "down", "nodes": ["switch"], "links": [0]}
        summary["faults"] = [fault]

    runs = [
        write_run(folder / "one", change=trouble),
        write_run(folder / "two", finished=0.5, status="limit", until="1ms"),
    ]
    for run in runs:
        sampled(run, count=50)
    assert javascript.bundle()
    page(runs)
    return folder / "report.html"


@pytest.fixture(scope="module")
def wide_browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("wide"), 1400) as browser:
        yield browser


@pytest.fixture(scope="module")
def narrow_browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("narrow"), 420, dark=True) as browser:
        yield browser


def anew(browser, path):
    """A page as it is when it is opened, whatever other tests did with theirs."""
    browser.logged.clear()
    browser.requested.clear()
    browser.open(path)
    return browser


@pytest.fixture
def wide(wide_browser, report):
    return anew(wide_browser, report)


@pytest.fixture
def narrow(narrow_browser, report):
    return anew(narrow_browser, report)


def choose(browser, selector, value):
    """Chooses or types, as a person does."""
    browser.ask(
        f"(() => {{ const field = document.querySelector({selector!r}); field.value = {value!r};"
        "field.dispatchEvent(new Event('input', {bubbles: true}));"
        "field.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )


@pytest.mark.parametrize("width", ["wide", "narrow"])
def test_everything_is_drawn_and_nothing_is_loaded_or_complained_of(report, request, width):
    browser = request.getfixturevalue(width)
    charts = browser.ask("Object.keys(JSON.parse(document.getElementById('specs').textContent)).length")
    # Seven of completion and links, a heat map a run, four over time, three histograms, the timeline.
    assert charts == 7 + 2 + 4 + 3 + 1
    assert browser.ask("document.documentElement.dataset.charts") == str(charts)
    empty = (
        "[...document.querySelectorAll('.chart')].filter(chart => !chart.querySelector('svg path[d]')).length"
    )
    assert browser.ask(empty) == 0
    assert [asked for asked in browser.requested if not asked.startswith("data:")] == [report.as_uri()]
    assert browser.logged == []


def test_the_body_does_not_scroll_sideways(narrow, wide):
    for browser, width in ((narrow, 420), (wide, 1400)):
        assert browser.ask("document.documentElement.scrollWidth") == width
        # What is wider than the page scrolls within its own frame.
        out = (
            "[...document.querySelectorAll('main *')].filter(each => !each.closest('.scroll, svg, pre, [hidden]')"
            f"&& each.checkVisibility() && each.getBoundingClientRect().right > {width} + 1)"
            ".map(each => each.outerHTML)"
        )
        assert browser.ask(out) == []


def test_completion_does_not_scroll_at_800_px(report, tmp_path):
    with Browser(tmp_path / "profile", 800) as browser:
        browser.open(report)
        wider = "[...document.querySelectorAll('#completion .scroll')].map(each => each.scrollWidth - each.clientWidth)"
        assert browser.ask(wider) == [0, 0]
        # Below each other there, side by side where there is room.
        tops = "[...document.querySelectorAll('#completion .scroll')].map(each => each.offsetTop)"
        above, below = browser.ask(tops)
        assert above < below
        browser.resize(1400, 1000)
        browser.wait(f"new Set({tops}).size === 1")


@pytest.mark.parametrize("width", [800, 1200, 1400])
def test_completion_with_long_intervals_does_not_scroll(report, tmp_path, width):
    """Means over few replicas have wide intervals: the tables then stand below each other, and no column is cut."""
    with Browser(tmp_path / "profile", width) as browser:
        browser.open(report)
        browser.ask(
            "document.querySelectorAll('#completion td small').forEach(e => e.textContent = '[1,234, 5,678]')"
        )
        wider = "[...document.querySelectorAll('#completion .scroll')].map(each => each.scrollWidth - each.clientWidth)"
        assert browser.ask(wider) == [0, 0]


def test_percentiles_up_to_p99_are_in_sight_on_a_phone(narrow):
    """Of every table of completion, without scrolling."""
    last = "table.querySelectorAll('tbody tr:not(.group) td')"
    right = narrow.ask(
        "Math.max(...[...document.querySelectorAll('#completion table')].map(table => {"
        f"const cells = [...{last}].filter(each => each.checkVisibility());"
        "const row = cells[0].parentElement; const shown = [...row.cells].filter(each => each.checkVisibility());"
        "return shown[shown.length - 2].getBoundingClientRect().right}))"
    )
    assert right <= 420 - 14


def test_completed_shares_are_whole_on_a_phone_with_the_flows_below_them(narrow):
    head = "document.querySelector('#completion .counts thead th:nth-child(3)')"
    assert narrow.ask(f"[{head}.innerText, {head}.scrollWidth <= {head}.clientWidth]") == ["completed", True]
    cell = "document.querySelector('#completion .counts tbody td[data-total]')"
    total = narrow.ask(f"{cell}.previousElementSibling.textContent")
    assert narrow.ask(f"getComputedStyle({cell}, '::after').content") == f'"of {total}"'


def test_worst_links_show_all_columns(wide):
    tables = "[...document.querySelectorAll('.worst details[open] .scroll')]"
    wider = f"{tables}.map(each => each.scrollWidth - each.clientWidth)"
    assert set(wide.ask(wider)) == {0}


def test_intervals_stay_on_one_line(narrow, wide):
    """A second line would make the rows of one table uneven, and unlike those of the table beside it."""
    for browser in (narrow, wide):
        lines = browser.ask(
            "[...document.querySelectorAll('#completion td small')]"
            ".map((each) => [each.textContent.startsWith('['), each.getClientRects().length, each.offsetHeight])"
        )
        assert sum(bracketed for bracketed, _, _ in lines) > 5
        assert len({height for _, _, height in lines}) == 1
        assert all(parts == 1 for _, parts, _ in lines)


def test_heads_sort_by_value_with_mouse_and_keyboard(wide):
    def column(number):
        return wide.ask(
            "[...document.querySelectorAll('.worst table')[0].tBodies[0].rows]"
            f".map(row => row.cells[{number}].dataset.value ?? row.cells[{number}].textContent)"
        )

    head = ".worst th[aria-sort]:nth-child(3)"
    wide.click(head)
    assert wide.ask(f"document.querySelector({head!r}).ariaSort") == "descending"
    values = [float(value) for value in column(2)]
    assert values == sorted(values, reverse=True)
    wide.ask(f"document.querySelector({head + ' .sort'!r}).focus()")
    wide.key("Enter")
    assert wide.ask(f"document.querySelector({head!r}).ariaSort") == "ascending"
    assert [float(value) for value in column(2)] == sorted(values)
    wide.click(".worst th[aria-sort]:nth-child(1) .sort")
    assert column(0) == sorted(column(0))
    assert (
        wide.ask("document.querySelectorAll('.worst table')[0].querySelectorAll('[aria-sort=none]').length")
        == 7
    )


def test_groups_stay_together_when_rows_are_sorted(wide):
    names = "[...document.querySelectorAll('#completion .group')].map(row => row.textContent.trim())"
    before = wide.ask(names)
    # The heads of two rows: the mean of the slowdown is the first of the second row, and the second column.
    slowdowns = "#completion .pair > :nth-child(2)"
    wide.click(f"{slowdowns} thead tr:nth-child(2) th:nth-child(1)")
    assert wide.ask(names) == before
    rows = wide.ask(
        f"[...document.querySelectorAll({f'{slowdowns} tbody'!r})].map(body => [...body.rows].slice(1)"
        ".map(row => Number(row.cells[1].dataset.value)))"
    )
    assert all(values == sorted(values, reverse=True) for values in rows)


def test_the_filter_of_flows_acts_and_counts(wide):
    count = "document.getElementById('flow-count').textContent"
    assert wide.ask(count) == "Shown: 300 of 300 flows."
    choose(wide, "#flow-filter [name=state]", "20")
    assert wide.ask(count) == "Shown: 20 of 300 flows."
    assert len(wide.ask(SHOWN)) == 20
    choose(wide, "#flow-filter [name=state]", "unfinished")
    assert wide.ask(count) == "Shown: 0 of 300 flows."
    choose(wide, "#flow-filter [name=run]", "two")
    assert wide.ask(count) == "Shown: 150 of 300 flows."
    choose(wide, "#flow-filter [name=state]", "")
    choose(wide, "#flow-filter [name=search]", "17")
    assert wide.ask(SHOWN) == ["17"]
    bars = "document.querySelectorAll('#chart-timeline .mark-rect path').length"
    wide.wait(f"{bars} === 1")
    choose(wide, "#flow-filter [name=search]", "host 3")
    assert wide.ask(count) == "Shown: 150 of 300 flows."
    choose(wide, "#flow-filter [name=search]", "")
    wide.wait(f"{bars} === 300")


def test_the_heat_map_takes_another_number_and_brings_out_a_link(wide):
    fills = "[...document.querySelectorAll('#chart-heat-0 .mark-rect path')].map(cell => cell.getAttribute('fill'))"
    scale = "[...document.querySelectorAll('.scale')].filter(each => !each.hidden).map(each => each.dataset.metric)"
    assert wide.ask(scale) == ["utilisation"]
    # The made-up utilisation is 0.1 to 0.8 of 0.8.
    assert len(set(wide.ask(fills))) == 7
    choose(wide, "[data-parameter=metric]", "trouble")
    assert wide.ask(scale) == ["trouble"]
    assert len(wide.ask(fills)) == 8
    wide.hover(".worst tr[data-cell]")
    wide.wait("document.querySelectorAll('#chart-heat-0 path[stroke=\"var(--ink)\"]').length === 1")


def test_a_link_is_chosen_for_its_samples(wide):
    line = "document.querySelector('#chart-time-queue-bytes .mark-line path').getAttribute('d')"
    before = wide.ask(line)
    links = wide.ask(
        "[...document.querySelector('[data-parameter=link]').options].map(option => option.value)"
    )
    assert len(links) == 2
    choose(wide, "[data-parameter=link]", links[1])
    wide.wait(f"{line} !== {before!r}")


def test_definitions_come_with_pointer_keyboard_and_finger(wide, narrow):
    told = "document.getElementById('tip').hidden ? null : document.getElementById('tip').textContent"
    wide.hover(".card dfn")
    assert wide.ask(told).startswith("complete: all flows ended, though flows with lost datagrams")
    wide.hover("h1")
    assert wide.ask(told) is None
    wide.ask("document.querySelector('.card dl dfn').focus()")
    assert wide.ask(told).startswith("Flow completion time:")
    wide.key("Escape")
    assert wide.ask(told) is None

    sorts = "document.querySelectorAll('th[aria-sort]:not([aria-sort=none])').length"
    narrow.tap(".worst th[aria-sort]:nth-child(6) dfn")
    assert narrow.ask(told).startswith("Packets dropped")
    assert narrow.ask(sorts) == 0
    tip = narrow.ask("document.getElementById('tip').getBoundingClientRect().toJSON()")
    assert tip["left"] >= 0
    assert tip["right"] <= 420
    narrow.tap(".worst th[aria-sort]:nth-child(1) .sort")
    assert narrow.ask(sorts) == 1
    assert narrow.ask(told) is None


def test_every_head_of_a_table_has_a_definition(wide):
    plain = (
        "[...document.querySelectorAll('table.sortable thead th')]"
        ".filter(head => !head.querySelector('dfn')).map(head => head.textContent.trim())"
    )
    # "when" stands over before, during and after, which the footnote explains, in both tables of completion.
    assert wide.ask(plain) == ["when"] * 2
    assert wide.ask("[...document.querySelectorAll('.card dt')].every(name => name.querySelector('dfn'))")
    assert (
        wide.ask(
            "[...document.querySelectorAll('figure h3')].filter(name => !name.querySelector('dfn, .run')).length"
        )
        == 0
    )


def test_on_paper_everything_is_open_and_nothing_is_to_be_pressed(report, tmp_path):
    with Browser(tmp_path / "profile", 1400) as browser:
        browser.open(report)
        browser.print(tmp_path / "report.pdf")
        assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
        browser.media("print")
        # Closed details show their inside.
        insides = "[...document.querySelectorAll('details.panel:not(#flow-table)')].map(each => each.lastElementChild)"
        # The browser lays the page out anew for paper in its own time.
        browser.wait(f"{insides}.every(each => each.checkVisibility({{contentVisibilityAuto: true}}))")
        assert not browser.ask("document.querySelector('nav').checkVisibility()")
        assert not browser.ask("[...document.querySelectorAll('.sort')].some(each => each.checkVisibility())")
        assert browser.ask("document.querySelector('.notice.warning').checkVisibility()")
        # The first sheet has the results; all else begins on another one.
        after = "document.querySelector('#distributions + section')"
        assert browser.ask(f"getComputedStyle({after}).breakBefore") == "page"
        assert browser.logged == []


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A page of what the demo runs, with fewer flows: as long as the demo's own."""
    folder = tmp_path_factory.mktemp("demo")
    fewer = {"traffic.queries.flows": 200, "run.measure": "all"}
    both = {name: results.run(name, fewer) for name in ("web-search-ndp", "web-search-tcp")}
    for result in both.values():
        # Fewer flows from an empty network are not in a steady state; the demo's own are, and have no advice.
        result.summary["measured"]["unstable"].clear()
        result.summary["advice"].clear()
    page([result.save(folder / name) for name, result in both.items()])
    return folder / "report.html"


@pytest.fixture
def as_the_demo(wide_browser, demo):
    return anew(wide_browser, demo)


def test_the_demo_s_page_begins_with_the_result_and_is_short(as_the_demo):
    top = "document.querySelector({!r}).getBoundingClientRect().bottom"
    # Below the title stands which transport is best.
    assert as_the_demo.ask(top.format(".result")) < 140
    assert as_the_demo.ask(top.format(".cards")) < 510
    # The first groups of the table of completion: FCT and slowdown of all flows under both.
    # Above them two lines say what was simulated.
    assert as_the_demo.ask(top.format("#completion tbody")) < 800
    assert as_the_demo.ask("document.documentElement.scrollHeight") < 6000
    assert as_the_demo.logged == []


def test_what_is_folded_opens_by_its_link(as_the_demo):
    for name in ("words", "absent", "cost"):
        opened = f"(document.querySelector('#{name} details') ?? document.getElementById('{name}')).open"
        assert not as_the_demo.ask(opened)
        # Not by the mouse: the page is still scrolling to where the link before led.
        as_the_demo.ask(f"""document.querySelector("nav a[href='#{name}']").click()""")
        as_the_demo.wait(opened)
    # A chart that was folded away has the width of its place.
    as_the_demo.ask("document.querySelector('#heat summary').click()")
    for i in (0, 1):
        chart = f"document.querySelector('#chart-heat-{i}')"
        as_the_demo.wait(
            f"{chart}.querySelector('svg').getBoundingClientRect().width > 0.9 * {chart}.clientWidth"
        )


def test_charts_and_their_data_can_be_saved(report, narrow):
    links = "[...document.querySelectorAll('#chart-slowdown .vega-actions a')]"
    assert narrow.ask(f"{links}.map(link => [link.textContent, link.download])") == [
        ["Save as SVG", "slowdown.svg"],
        ["Save as PNG", "slowdown.png"],
        ["Save data as CSV", "slowdown.csv"],
    ]
    narrow.ask(f"{links}.forEach(link => link.dispatchEvent(new MouseEvent('mousedown')))")
    narrow.wait(f"{links}.every(link => link.href.startsWith('data:'))")
    svg, png, csv = (link.partition(",")[2] for link in narrow.ask(f"{links}.map(link => link.href)"))
    # Nothing of the page's style is left to be asked for; colours are those of the page, here the dark ones.
    assert "var(" not in unquote(svg)
    assert unquote(svg).startswith("<svg")
    assert "#3987e5" in unquote(svg)
    assert base64.b64decode(png).startswith(b"\x89PNG")
    specs = json.loads(report.read_text().split('id="specs">')[1].split("</script>")[0])
    rows = specs["slowdown"]["datasets"]["rows"]
    head, *lines = unquote(csv).splitlines()
    names = head.split(",")
    assert set(names) == {"run", "value", "share"}
    found = [dict(zip(names, line.split(","), strict=True)) for line in lines]
    assert [(row["run"], float(row["value"]), float(row["share"])) for row in found] == [
        (row["run"], row["value"], row["share"]) for row in rows
    ]
    assert narrow.logged == []
    # The picture is drawn from the page's own text.
    assert [asked for asked in narrow.requested if not asked.startswith("data:")] == [report.as_uri()]
