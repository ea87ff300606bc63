"""Flowyard on a machine: wheels and releases, completion, citation, and the schema by which editors complete."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from importlib import util
from pathlib import Path

import pages
import pytest
import yaml

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


@pytest.mark.skipif(not shutil.which("fish"), reason="no fish here")
def test_fish_completes_verbs_and_options(capsys, tmp_path):
    (tmp_path / "flowyard.fish").write_text(script(capsys, "fish"))
    code = "source flowyard.fish; complete -C 'flowyard rep'; complete -C 'flowyard run --se'"
    ended = subprocess.run(
        ["fish", "-N", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert [line.split("\t")[0] for line in ended.stdout.splitlines()] == ["report", "--seed", "--set"]


def test_names_in_help_texts_are_written_out(capsys):
    written = script(capsys, "zsh")
    assert "%(" not in written
    assert "web-search-ndp" in written


BUILT = pages.ROOT / "target" / "release" / "lib_native.so"


@pytest.mark.skipif(not BUILT.exists(), reason="no release build that a wheel could take")
def test_a_wheel_installs_in_a_fresh_environment_and_runs_the_demo(tmp_path):
    """From the build of `make setup`. `make wheel` does so with the wheels of a release, and times it."""
    packages = Path(sysconfig.get_path("purelib"))
    build = [
        "--release",
        "--locked",
        "--compatibility",
        "linux",
        "--auditwheel",
        "skip",
        "--out",
        str(tmp_path),
    ]
    subprocess.run([sys.executable, "-m", "maturin", "build", *build], cwd=pages.ROOT, check=True)
    (wheel,) = tmp_path.glob("flowyard-*-cp311-abi3-*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    python = tmp_path / "env" / "bin" / "python"
    install = ["--python", str(python), "install", "--quiet", "--no-index", "--no-deps", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    # Its requirements are those of the tests; the wheel's own package comes first.
    (site,) = (tmp_path / "env" / "lib").glob("python3.*/site-packages")
    (site / "requirements.pth").write_text(f"{packages}\n")
    outside = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    place = {"cwd": tmp_path, "env": outside, "capture_output": True, "text": True, "check": True}
    where = subprocess.run([python, "-c", "import flowyard; print(flowyard.__file__)"], **place).stdout
    assert Path(where).is_relative_to(site)
    subprocess.run([tmp_path / "env" / "bin" / "flowyard", "demo"], **place)
    page = (tmp_path / "out" / "demo" / "report.html").read_text(encoding="utf-8")
    assert '<meta name="generator" content="Flowyard report">' in page


def test_the_workflow_of_a_release_runs_what_is_there():
    workflow = yaml.safe_load((pages.ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
    commands = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    targets = re.findall(r"^([\w-]+):", (pages.ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    made = re.findall(r"\bmake ([\w-]+)", " ".join(commands))
    assert made == ["wheel", "docs"]
    assert set(made) <= set(targets)
    for tool in re.findall(r"\btools/[\w.]+", " ".join(commands)):
        assert (pages.ROOT / tool).is_file()
    printed = subprocess.run(
        [sys.executable, pages.ROOT / "tools/version.py"], capture_output=True, text=True
    )
    assert printed.stdout == f"{fy._native.__version__}\n"


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
    assert ours == {"time-span", "bytes", "rate", "host", "uint8", "uint32", "uint64", "double"}
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
