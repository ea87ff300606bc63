"""Tables on stdout: what is printed without rich is what rich would print."""

import re

import pytest

from flowyard.terminal import console
from flowyard.terminal.console import TextTable, show

TABLES = [
    TextTable("no head", ("", ""), [("a", "bb"), ("ccc", "d")]),
    TextTable("a head", ("x", "longer"), [("a", "bb"), ("ccc", "d")]),
    TextTable("no rows", ("x", "longer"), []),
    TextTable(
        "words last", ("x", "n", "words"), [("a", "1", "some"), ("b", "20", "a few more")], words_last=True
    ),
    TextTable(
        "three at the left", ("a", "b", "c", "d"), [("1", "", "333", "4"), ("", "22", "3", "4444")], left=3
    ),
    TextTable("as wide as a line", ("", ""), [("a" * 80, "b" * (console.WIDTH - 87))]),
    TextTable(":x: and [bold]", ("[red]", ""), [(":smile:", "")]),
]


def printed(table, capsys, monkeypatch, plain):
    monkeypatch.setattr(console, "_plain", plain)
    show(table)
    return capsys.readouterr().out


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.title)
def test_a_table_without_rich_is_the_same(table, capsys, monkeypatch):
    ours = printed(table, capsys, monkeypatch, plain := console._plain)
    assert plain(table)
    assert ours == printed(table, capsys, monkeypatch, lambda _: [])


@pytest.mark.parametrize(
    "table",
    [
        TextTable("too wide", ("", ""), [("a" * 80, "b" * (console.WIDTH - 86))]),
        TextTable("t" * (console.WIDTH + 1), ("",), []),
        TextTable("wide letters", ("",), [("\N{CJK UNIFIED IDEOGRAPH-7DB2}",)]),
        TextTable("two lines", ("",), [("a\nb",)]),
    ],
    ids=lambda table: table.title[:20],
)
def test_what_rich_knows_better_is_left_to_it(table):
    assert not console._plain(table)


SIZES = TextTable(
    "by flow size",
    [
        "flow size",
        "flows",
        "completed",
        *(f"{what} p{p}" for what in ("FCT us", "slowdown") for p in (50, 95, 99)),
    ],
    [
        ["100 KB to 10 MB", "2,537", "100.0%", "3,810", "28,610", "43,092", "3.106", "7.522", "9.530"],
        ["all", "6,000", "99.9%", "239.3", "29,175", "68,172", "2.728", "6.599", "9.039"],
    ],
)
CLAIMS = TextTable(
    "Claims",
    ("claim", "verdict", "measured", "expected"),
    [
        (
            "NDP-T1.d",
            "PASS",
            "2 of 2 counts at k = 6 equal; 4 of 4 counts at k = 12 equal",
            "all 2 equal; " * 4,
        )
    ],
    left=4,
)
RUNS = TextTable(
    "out",
    ("run", "transport", "flows", "FCT p99", "differs"),
    [("a-name-of-more-letters-than-a-column-has", "ndp", "6,000 of 6,000", "68.2 ms", "some.field 1, " * 9)],
    left=2,
    words_last=True,
)


def in_terminal(table, columns, capsys, monkeypatch):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", str(columns))
    show(table)
    return re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()


@pytest.mark.parametrize("columns", [60, 80, 100])
@pytest.mark.parametrize("table", [SIZES, CLAIMS, RUNS], ids=lambda table: table.title)
def test_a_narrow_terminal_shows_every_column(table, columns, capsys, monkeypatch):
    lines = in_terminal(table, columns, capsys, monkeypatch)
    assert max(map(len, lines)) <= columns
    text = "".join(lines)
    assert "…" not in text
    for cell in [*table.header, *(cell for row in table.rows for cell in row)]:
        for word in cell.split():
            assert word[: console.LONGEST_WORD] in text, word


def test_a_cell_that_is_a_number_is_never_folded(capsys, monkeypatch):
    for columns in (80, 100):
        text = "\n".join(in_terminal(SIZES, columns, capsys, monkeypatch))
        assert all(cell in text for row in SIZES.rows for cell in row[1:])


def test_where_heads_in_two_lines_are_not_enough_columns_go_below(capsys, monkeypatch):
    ruled = {
        columns: sum("───" in line for line in in_terminal(SIZES, columns, capsys, monkeypatch))
        for columns in (80, 100, 140)
    }
    assert ruled == {80: 2, 100: 1, 140: 1}
    below = in_terminal(SIZES, 80, capsys, monkeypatch)[-5:]
    assert below[0].split() == ["flow", "size", "slowdown", "p95", "slowdown", "p99"]
    assert [line.split()[-2:] for line in below[2:4]] == [["7.522", "9.530"], ["6.599", "9.039"]]
