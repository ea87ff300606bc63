"""What makes Flowyard at home on a machine: completion, citation, and the schema by which editors complete."""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import util

import pages
import pytest

import flowyard as fy
from flowyard import citation, cli, scenarios
from flowyard.errors import UserError
from flowyard.interchange.scenario_text import FOR_EDITORS, SCHEMA, toml
from flowyard.papers import catalogue

PACKAGED = pages.ROOT / "python" / "flowyard" / "scenarios"


def script(capsys, shell):
    assert cli.main(["completion", shell]) == 0
    return capsys.readouterr().out


def completed(script, *words):
    """What bash offers for the last word."""
    line = "\n".join(
        [
            script,
            f"COMP_WORDS=({' '.join(map(repr, words))})",
            f"COMP_CWORD={len(words) - 1}",
            "_shtab_flowyard",
            'printf "%s\\n" "${COMPREPLY[@]}"',
        ]
    )
    ended = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return set(ended.stdout.split())


def test_bash_completes_verbs_and_options(capsys):
    written = script(capsys, "bash")
    verbs = next(
        action for action in cli.parser()._actions if isinstance(action, argparse._SubParsersAction)
    ).choices
    assert completed(written, "flowyard", "") >= set(verbs)
    assert completed(written, "flowyard", "re") == {"report"}
    assert completed(written, "flowyard", "run", "--se") == {"--set", "--seed"}
    assert completed(written, "flowyard", "paper", "") >= {"list", "show", "run"}


@pytest.mark.skipif(not shutil.which("zsh"), reason="no zsh here")
def test_zsh_reads_its_script(capsys):
    subprocess.run(["zsh", "-n"], input=script(capsys, "zsh"), text=True, check=True)


def test_names_in_help_texts_are_written_out(capsys):
    written = script(capsys, "zsh")
    assert "%(" not in written
    assert "web-search-ndp" in written


def test_the_citation_is_one(capsys):
    """CITATION.cff is what the command prints, and both name the version that is installed."""
    assert cli.main(["cite", "--cff"]) == 0
    assert capsys.readouterr().out == (pages.ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert cli.main(["cite"]) == 0
    entry = capsys.readouterr().out
    assert re.fullmatch(r"@software\{flowyard,\n(  \w+ = \{.*\},\n)+\}\n", entry)
    version = fy._native.__version__
    assert f"version = {{{version}}}" in entry
    assert f"\nversion: {version}\n" in citation.cff()


def test_packaged_and_imported_scenarios_name_the_schema():
    for name in scenarios.names():
        first, _, rest = (PACKAGED / f"{name}.toml").read_text(encoding="utf-8").partition("\n")
        assert first == SCHEMA
        assert rest.startswith("# ")
    file = SCHEMA.removeprefix("#:schema ")
    schema = json.loads((PACKAGED / file).read_text(encoding="utf-8"))
    assert schema == fy.schema()
    written = toml({"run": {"seed": 2}}, ["a remark"])
    assert written.startswith(f"{SCHEMA}\n{FOR_EDITORS}\n# a remark\n")
    assert tomllib.loads(written) == {"run": {"seed": 2}}


def test_the_schema_has_no_format_that_json_schema_means_otherwise():
    """Editors hold values to these: a time span would have to be a time of day."""
    ours = set(re.findall(r'"format": "([^"]+)"', json.dumps(fy.schema())))
    theirs = {"date-time", "time", "date", "duration", "email", "hostname", "uri", "uuid", "regex"}
    assert ours == {"time-span", "bytes", "rate", "uint32", "uint64", "double"}
    assert not ours & theirs


def test_figures_say_which_packages_they_need(monkeypatch, tmp_path):
    found = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name: None if name == "scipy" else found(name))
    with pytest.raises(UserError, match=r"not here, scipy: pip install 'flowyard\[papers\]'"):
        catalogue.load(pages.ROOT / "examples" / "incast-buffers")


def test_simulations_reports_and_sweeps_need_none_of_them(tmp_path):
    """In a process that has none of the packages of `papers`: a run, its report, and a sweep with intervals."""
    code = """
import sys
for name in ("numpy", "scipy", "matplotlib"):
    sys.modules[name] = None
import flowyard as fy
from flowyard.sweeps import Plan
from flowyard import report
from pathlib import Path
small = {"topology": {"single-switch": {"hosts": 4}}, "transport": "ndp", "traffic": [
    {"name": "few", "arrivals": "at-once", "matrix": "permutation", "sizes": {"fixed": "10KB"}}]}
folder = fy.run(small).save("run")
report.write([Path("run")], Path("report.html"))
swept = fy.sweep(Plan(small, replicas=3), "swept", workers=1)
assert swept.means["fct_mean_ps_ci95"][0] >= 0
import flowyard.report.sweep.page
flowyard.report.sweep.page.write(Path("swept"), Path("sweep.html"))
"""
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
