"""Lines in narrow terminals break between words, and are whole where programs read them; `check` folds defaults."""

import io
import json
import sys

import pytest

from flowyard import cli
from flowyard.commands import written
from flowyard.terminal import folding


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    return Terminal()


LINE = f"advice: transport.tcp.rto_initial: {'some words of a sentence ' * 6}; write transport.tcp.preset = 5"


def test_a_terminal_breaks_between_words(narrow):
    folding.say(LINE, narrow)
    lines = narrow.getvalue().splitlines()
    assert max(map(len, lines)) <= 60
    assert len(lines) > 2
    assert " ".join(narrow.getvalue().split()) == " ".join(LINE.split())
    assert all(line.startswith("  ") for line in lines[1:])


def test_a_word_longer_than_the_line_stays_whole(narrow):
    word = "x" * 70
    folding.say(f"a {word} b", narrow)
    assert word in narrow.getvalue()


def test_programs_get_whole_lines(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    stream = io.StringIO()
    folding.say(LINE, stream)
    assert stream.getvalue() == f"{LINE}\n"


def test_errors_fold_to_the_terminal(narrow, monkeypatch):
    monkeypatch.setattr(sys, "stderr", narrow)
    assert max(map(len, cli.on_one_screen(f"error: {LINE}").splitlines())) <= 60


def test_hints_are_for_terminals(narrow, monkeypatch, capsys):
    folding.hint("flowyard report out/a draws them")
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(sys, "stdout", narrow)
    folding.hint("flowyard report out/a draws them")
    assert narrow.getvalue() == "flowyard report out/a draws them\n"


def test_after_a_run_there_is_a_hint_at_the_report(small, tmp_path, monkeypatch):
    terminal = Terminal()
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "stdout", terminal)
    assert cli.main(["run", str(small), "-o", str(tmp_path / "there")]) == 0
    assert terminal.getvalue().splitlines()[-1] == f"flowyard report {tmp_path / 'there'} draws them"


class TestDefaults:
    def test_written_fields_stay_and_others_are_counted(self):
        resolved = {"tree": {"k": 4, "rate": "1Gbps", "host": {}, "none": None}}
        assert written.without_defaults(resolved, {"tree": {"k": 4}}) == ({"tree": {"k": 4}}, 2)
        # A member by its name, or by nothing.
        assert written.without_defaults({"ndp": {"a": 1, "b": 2}}, "ndp") == ("ndp", 2)
        assert written.without_defaults({"ndp": {"a": 1, "b": 2}}, None) == ("ndp", 2)
        nested = {"name": "a", "sizes": {"web": {}}, "flows": 5, "start": "0ps"}
        own = {"name": "a", "sizes": "web", "flows": 5}
        assert written.without_defaults(nested, own) == ({"name": "a", "sizes": "web", "flows": 5}, 1)

    def test_overrides_are_written_too(self, tmp_path):
        file = tmp_path / "a.json"
        file.write_text(json.dumps({"traffic": [{"name": "q", "flows": 3}]}))
        changes = {"transport.tcp.mss": "1KB", "traffic.q.flows": "8", "run.seed": 5}
        assert written.fields(file, changes) == {
            "traffic": [{"name": "q", "flows": 8}],
            "transport": {"tcp": {"mss": "1KB"}},
            "run": {"seed": 5},
        }

    def test_check_prints_them_folded_and_all_on_request(self, small, capsys):
        words = ["check", str(small), "--set", 'transport={"ndp":{"initial_window":7}}']
        assert cli.main(words) == 0
        folded = capsys.readouterr().out
        assert "{ ndp = { initial_window = 7 } } and " in folded
        assert "header_bytes" not in folded
        assert cli.main([*words, "--defaults"]) == 0
        whole = capsys.readouterr().out
        assert "header_bytes" in whole
        assert "defaults" not in whole
        (count,) = {int(line.split()[-2]) for line in folded.splitlines() if "initial_window" in line}
        assert cli.main([*words, "--json"]) == 0
        settings = json.loads(capsys.readouterr().out)["transport"]["ndp"]
        assert count == len([value for value in settings.values() if value is not None]) - 1
