"""Tables on stdout: what is printed without rich is what rich would print."""

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
