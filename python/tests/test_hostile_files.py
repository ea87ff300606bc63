"""What files and arguments hold that none of ours does: too deep, too long, too large, no text."""

import json

import pytest

from flowyard import cli
from flowyard.errors import UserError
from flowyard.folders import reading


def refused(read, *arguments):
    with pytest.raises(UserError) as caught:
        read(*arguments)
    return str(caught.value)


DEEP = "[" * 100_000
DIGITS = "9" * 5000


@pytest.mark.parametrize(
    ("language", "text", "message"),
    [
        ("toml", f"a = {DEEP}", "nested too deep; at most 64 levels"),
        ("toml", ".".join(["a"] * 3000) + " = 1", r"a\.a\.a\.a.*nested too deep; at most 64 levels"),
        ("toml", f"x = 1\na = {DIGITS}", r"line 2: 9{20}\.\.\. is a number of more than 64 bits"),
        ("toml", f"a = [[0, 0x{'f' * 6000}]]", r"a\.0\.1: 0xf{18}\.\.\. is a number of more than 64 bits"),
        ("toml", "a = 18446744073709551616", "a: 18446744073709551616 is a number of more than 64 bits"),
        ("toml", "a = -9223372036854775809", "a: -9223372036854775809 is a number of more than 64 bits"),
        ("toml", "a = ", r"not TOML: Invalid value \(at "),
        ("toml", "a = \x00", "not TOML"),
        ("toml", "x = 1\nrate = 1.5Gbps # of each", r'line 2.*; write quantities in quotes: rate = "1\.5Gbps"$'),
        ("toml", "a = { load = 50% }", r'; write quantities in quotes: load = "50%"$'),
        ("toml", "a = [1, 10 us]", r'; write quantities in quotes: "10 us"$'),
        ("toml", "a = 1 b = 2", r"not TOML: [^;]*$"),
        ("json", DEEP, "nested too deep; at most 64 levels"),
        ("json", "[" * 65 + "]" * 65, "nested too deep; at most 64 levels"),
        ("json", f"[\n{DIGITS}]", r"line 2: 9{20}\.\.\. is a number"),
        ("json", '{"a": NaN}', "a: nan; use a finite number"),
        ("json", '{"a": [1e999]}', "a.0: inf; use a finite number"),
        ("json", '["\\ud800"]', "half a pair of surrogates"),
        ("json", "", "not JSON: Expecting value"),
    ],
)  # fmt: skip
def test_toml_and_json_that_hold_what_none_of_ours_does(tmp_path, language, text, message):
    path = tmp_path / f"file.{language}"
    path.write_text(text)
    said = refused(reading.read_toml if language == "toml" else reading.read_json, path)
    assert said.startswith(f"{path}: ")
    assert len(said) < len(str(path)) + 200
    with pytest.raises(UserError, match=message):
        (reading.parse_toml if language == "toml" else reading.parse_json)(text, "file")


def test_what_may_be_there_is_read(tmp_path):
    path = tmp_path / "file"
    path.write_text("a = [-9223372036854775808, 18446744073709551615]\nb.c = nan\n")
    assert reading.read_toml(path)["a"] == [-(2**63), 2**64 - 1]
    value = json.loads("[" * 64 + "]" * 64)
    path.write_text(json.dumps([r"\ud800", "🦀"]))
    assert reading.read_json(path) == [r"\ud800", "🦀"]
    assert reading.parse_json(json.dumps(value), "file") == value


@pytest.mark.parametrize(
    ("most", "verb"),
    [
        (reading.SCENARIO_MAX, ["check", "large"]),
        (reading.SCENARIO_MAX, ["import", "large"]),
        (reading.SCENARIO_MAX, ["slotted", "large"]),
        (reading.PLAN_MAX, ["sweep", "large"]),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_file_that_is_too_large_is_not_read(tmp_path, monkeypatch, capsys, most, verb):
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "large").open("wb") as file:
        # A hole: no disk is filled.
        file.truncate(most + 1)
    assert cli.main(verb) == 2
    said = f"error: large: has {most + 1:,} bytes; at most {most:,} ({most >> 20} MiB) are read\n"
    assert capsys.readouterr() == ("", said)


@pytest.mark.parametrize("word", ["\udcff", "small\0"])
@pytest.mark.parametrize(
    "verb",
    [
        ["run", "WORD"],
        ["run", "nowhere.toml", "-o", "WORD"],
        ["check", "nowhere.toml", "--set", "run.seed=WORD"],
        ["sweep", "WORD"],
        ["report", "WORD"],
        ["show", "WORD"],
        ["import", "nowhere", "--transport", "WORD"],
        ["paper", "run", "WORD"],
        ["slotted", "WORD"],
    ],
    ids=lambda verb: verb[0],
)
def test_arguments_are_text(capsys, monkeypatch, tmp_path, verb, word):
    """A shell hands on any bytes, of which Python makes surrogates; NUL can come from Python only."""
    monkeypatch.chdir(tmp_path)
    assert cli.main([part.replace("WORD", word) for part in verb]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: '")
    assert err.endswith(
        "': has a NUL, or bytes that are not UTF-8; rename the file, or write another value\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_with_json_what_is_no_text_is_told_as_json(capsys):
    assert cli.main(["check", "a\0b", "--json"]) == 2
    out, err = capsys.readouterr()
    assert "has a NUL" in json.loads(out)["error"]
    assert err == ""


def test_a_message_has_an_end_whatever_it_quotes():
    assert str(UserError("x" * 3000)) == "x" * 3000
    assert str(UserError("x" * 3001 + "\ny")) == "x" * 3000 + "...\ny"
    many = str(UserError("\n".join(["z" * 99] * 100_000)))
    assert many.endswith(f"{'z' * 99}\nand 99,849 more lines")
    assert len(many) < 16_000


def test_a_register_with_a_mistake_in_each_claim_is_refused_in_a_few_lines(tmp_path, capsys):
    claims = "".join(f'[claims."OWN-{i}"]\nkind = "{"x" * 50}"\n' for i in range(5000))
    (tmp_path / "claims.toml").write_text(f'id = "OWN"\ntitle = "t"\nsource = "s"\n{claims}')
    assert cli.main(["paper", "run", str(tmp_path), "-o", str(tmp_path / "out")]) == 2
    err = capsys.readouterr().err
    assert len(err) < 20_000
    assert err.splitlines()[-1].endswith(" more lines")


@pytest.mark.parametrize("verb", ["run", "check", "sweep", "report", "import", "slotted", "paper show"])
def test_names_that_no_file_can_have(verb, tmp_path, monkeypatch, capsys):
    """Longer than a file system takes; the message has an end nevertheless."""
    monkeypatch.chdir(tmp_path)
    assert cli.main([*verb.split(), "x" * 100_000]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: xxx")
    assert len(err) < 20_000
    (tmp_path / "plan.toml").write_text(f'scenario = "{"x" * 100_000}"\n')
    assert cli.main(["sweep", "plan.toml"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: plan.toml is no sweep:\n  scenario: xxx")
    assert len(err) < 20_000
