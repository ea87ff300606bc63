"""Counts in sentences: one thing is not called by its plural."""

import pytest

from flowyard import cli, text

LONE = """
transport = "ndp"

[topology.single-switch]
hosts = 2
rate = "10Gbps"
delay = "1us"

[[traffic]]
name = "one"
arrivals = "at-once"
matrix.pairs = [[0, 1]]
sizes = "facebook-web"
"""


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (text.counted(1, "cable"), "1 cable"),
        (text.counted(0, "cable"), "0 cables"),
        (text.counted(2000, "cable"), "2,000 cables"),
        (text.counted(1, "switch", "switches"), "1 switch"),
        (text.counted(2, "switch", "switches"), "2 switches"),
    ],
)
def test_a_noun_goes_with_its_number(said, words):
    assert said == words


def test_a_lone_flow_is_one_flow(tmp_path, capsys):
    (tmp_path / "lone.toml").write_text(LONE, encoding="utf-8")
    assert cli.main(["check", str(tmp_path / "lone.toml")]) == 0
    out = capsys.readouterr().out
    assert "1 flow" in out
    assert "1 flows" not in out


def test_a_lone_switch_and_its_cables_in_the_title_of_a_picture(tmp_path):
    scenario = tmp_path / "lone.toml"
    scenario.write_text(LONE, encoding="utf-8")
    picture = tmp_path / "net.svg"
    code = cli.main(["topology", str(scenario), "-o", str(picture)])
    assert code == 0
    assert "2 hosts, 1 switch, 2 cables of 10.0" in picture.read_text(encoding="utf-8").replace(
        "\N{NO-BREAK SPACE}", " "
    )
