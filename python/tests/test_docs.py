"""What the documentation repeats from the code is what the code says, and what it tells people to write works."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import flowyard as fy
from flowyard import results, slotted
from flowyard.papers import register
from flowyard.prototypes import Queue
from flowyard.prototypes.examples.fixed_window import FixedWindow
from flowyard.prototypes.examples.per_flow import PerFlow
from flowyard.sweeps import Plan

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results.md"
COOKBOOK = ROOT / "docs" / "networks-and-traffic.md"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs").glob("how-to/*.md")),
    *sorted((ROOT / "docs").glob("reference/*.md")),
    *sorted((ROOT / "docs").glob("queues/*.md")),
    *sorted((ROOT / "docs").glob("transports/*.md")),
]
COLUMNS = [column for columns in fy.explain().values() for column in columns]

# Language, what is to be done with the block, text. Those of pages.py have more than a word.
FENCE = re.compile(r"^```(\S*)[ ]?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A part of a scenario or of a traffic entry in a line, such as `matrix = "uniform"`.
INLINE = re.compile(r"`([a-z][\w.-]* = [^`]+)`")


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column["name"])
def test_results_has_the_column(column: dict[str, str]) -> None:
    row = f"| `{column['name']}` | {column['unit']} | {column['meaning']} |"
    assert row in RESULTS.read_text(encoding="utf-8").splitlines()


def properties(*names: str) -> set[str]:
    """The fields of a part of the scenario."""
    schema: dict[str, Any] = fy.schema()
    for name in names:
        schema = schema["$defs"][name]
    return set(schema["properties"])


SCENARIO, ENTRY = properties(), properties("Entry")


def indented(text: str) -> Iterator[tuple[int, str]]:
    """Blocks of lines that are indented by four or more, each with the number of its first line."""
    block: list[str] = []
    first = 0
    for number, line in enumerate([*text.splitlines(), "end"], start=1):
        if line.startswith("    "):
            first = first if block else number
            block.append(line)
        elif block and not line.strip():
            block.append(line)
        elif block:
            yield first, textwrap.dedent("\n".join(block))
            block = []


def snippets(page: Path) -> Iterator[tuple[int, str]]:
    """All TOML on a page: blocks that say so, indented ones that begin with a table, and parts in a line."""
    text = page.read_text(encoding="utf-8")
    fences = list(FENCE.finditer(text))
    for fence in fences:
        if fence[1] == "toml" and not fence[2]:
            yield text.count("\n", 0, fence.start()) + 1, fence[3]
    # Lines stay where they are, so that numbers do.
    text = FENCE.sub(lambda fence: "\n" * fence[0].count("\n"), text)
    yield from ((line, block) for line, block in indented(text) if block.startswith("["))
    for part in INLINE.finditer(text):
        # Elsewhere, `pull_rate = 0.5` is a field of something that the sentence names.
        if page == COOKBOOK or re.split(r"[ .]", part[1])[0] in SCENARIO | ENTRY:
            yield text.count("\n", 0, part.start()) + 1, part[1]


SNIPPETS = [pytest.param(text, id=f"{page.name}-{line}") for page in PAGES for line, text in snippets(page)]
PYTHON = [
    pytest.param(fence[3], id=page.name)
    for page in PAGES
    for fence in FENCE.finditer(page.read_text(encoding="utf-8"))
    if fence[1] == "python" and not fence[2]
]
# TOML of other kinds, which its block names.
OTHERS = [
    pytest.param(fence[2], fence[3], id=f"{page.name}-{fence[2]}")
    for page in PAGES
    for fence in FENCE.finditer(page.read_text(encoding="utf-8"))
    if fence[1] == "toml" and fence[2] and "=" not in fence[2]
]
# Files that snippets read, in blocks that name them.
BESIDE = {
    fence[2]: fence[3]
    for page in PAGES
    for fence in FENCE.finditer(page.read_text(encoding="utf-8"))
    if fence[1] == "text" and fence[2].endswith(".txt") and "=" not in fence[2]
}


def completed(snippet: str) -> dict[str, Any]:
    """A scenario with that snippet in it: as it is, or with a small network, a transport and other traffic."""
    written = tomllib.loads(snippet)
    other: dict[str, Any] = {
        "name": "queries",
        "arrivals": "at-once",
        "matrix": "permutation",
        "sources": {"share": 0.5},
        "sizes": {"fixed": "64KB"},
    }
    if "measure" in written.get("run", {}):
        # Windows count Poisson arrivals; these take less than the millisecond that a snippet is run for.
        other |= {"arrivals": {"poisson": {"load": 0.3}}, "sizes": {"fixed": "1KB"}, "flows": 4000}
    if not written.keys() <= SCENARIO:
        entry = {"arrivals": "at-once", "matrix": "permutation", "sizes": {"fixed": "64KB"}, **written}
        if written.get("sizes") in ("endless", {"endless": {}}):
            entry["background"] = True
        if "list" in written.get("sizes", {}):
            entry["flows"] = len(written["sizes"]["list"])
        written = {"traffic": [other, {"name": "snippet", **entry}]}
    # Agents have the names of the transports that they serve, but for those that are another choice.
    serves: dict[str, Any] = {"fecn": "rcp", "qcn": {"roce": {"congestion": "qcn"}}}
    agent = next(iter(written.get("agent", {})), "")
    transport = serves.get(agent, agent) or ("ndp" if "ndp" in written.get("queue", {}) else "tcp")
    # Controllers serve one transport, all but Hedera and DARD "central", and paths that are granted come from a
    # controller that chooses them.
    balancer = written.get("routing", {}).get("balancer", {})
    granted = "granted" in balancer
    if "hermes" in balancer:
        transport = {"tcp": {"congestion": "dctcp"}}
    served = "controller" in written and not {"hedera", "dard"} & set(written["controller"])
    if granted or served or "central" in written.get("transport", {}):
        transport = "central"
        written = {"controller": "syn" if granted else "asy", **written}
    if "hpcc" in written.get("buffer", {}):
        written = {"queue": "lossless", **written}
    # These are for two tiers.
    tree = {"k": 4, "levels": 2 if {"conga", "conweave", "hermes"} & set(balancer) else 3}
    return {"topology": {"fat-tree": tree}, "transport": transport, "traffic": [other], **written}


def test_snippets_are_found() -> None:
    """A pattern that no longer finds anything would make the next test pass."""
    found = [str(parameters.id).rsplit("-", 1)[0] for parameters in SNIPPETS]
    assert found.count("index.md") >= 1
    assert found.count("networks-and-traffic.md") > 70
    assert found.count("measuring.md") >= 6
    assert [parameters.id for parameters in PYTHON] == [
        "networks-and-traffic.md",
        "networks-and-traffic.md",
        "results.md",
        "slotted.md",
        "sweeps.md",
        "theory.md",
    ]
    assert [parameters.id for parameters in OTHERS] == [
        "papers.md-claims",
        "slotted.md-slotted",
        "slotted.md-slotted",
        "slotted.md-slotted",
        "sweeps.md-sweep",
        "sweeps.md-sweep",
    ]
    assert list(BESIDE) == ["sizes.txt"]


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_snippets_run(snippet: str, tmp_path: Path) -> None:
    for name, text in BESIDE.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    path = tmp_path / "snippet.json"
    path.write_text(json.dumps(completed(snippet)), encoding="utf-8")
    # What names a prototype gets one.
    own: dict[str, Any] = {
        "transports": {"queries": FixedWindow},
        "queues": {"queries": Queue},
        "balancers": {"queries": PerFlow},
    }
    handed = own if "python = {" in snippet else {}
    result = fy.run(path, {"run.until": "1ms", "run.audit": True}, **handed)
    assert result.violations == []


def test_the_example_of_deployed_tcp_follows_the_advice(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "transports" / "which-tcp.md").read_text(encoding="utf-8")
    path = tmp_path / "deployed.toml"
    path.write_text(next(fence[3] for fence in FENCE.finditer(page) if fence[1] == "toml"), encoding="utf-8")
    assert results.Checked(path).outlook().advice == []


@pytest.mark.parametrize(("kind", "text"), OTHERS)
def test_other_toml_is_read(kind: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / f"{kind}.toml"
    path.write_text(text, encoding="utf-8")
    if kind == "sweep":
        assert len(Plan.read(path).tasks()) > 1
    elif kind == "slotted":
        assert slotted.check(path)["discipline"]
    else:
        assert register.read(path).claims


@pytest.mark.parametrize("code", PYTHON)
def test_python_runs(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(code, names)
    if "sweep" in names:
        assert names["sweep"].complete
    elif "flowyard.theory" in code:
        said = (ROOT / "docs/theory.md").read_text(encoding="utf-8")
        assert f"prints `{capsys.readouterr().out.strip()}`" in said
    else:
        assert names["result"].status in ("complete", "limit")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if link.startswith(("https:", "http:")):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_rows_of_tables_have_as_many_cells_as_their_head(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        rows = [re.split(r"(?<!\\)\|", row.strip())[1:-1] for row in table.splitlines()]
        assert len(rows) > 2, table
        assert all(re.fullmatch(r" ?:?-+:? ?", cell) for cell in rows[1]), rows[1]
        assert {len(row) for row in rows} == {len(rows[0])}, table


def menu() -> Iterator[tuple[Path, str]]:
    """Pages in the menu of the site, each with the title that it has there."""
    spec = importlib.util.spec_from_file_location("conf", ROOT / "docs" / "conf.py")
    assert spec is not None
    assert spec.loader is not None
    conf = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conf)
    for page, name in conf.MENUS.items():
        folder = (ROOT / page).parent
        # A pattern leaves out the pages of its own block.
        shown: set[Path] = set()
        for line in (ROOT / "docs" / "site" / f"{name}.md").read_text(encoding="utf-8").splitlines():
            if line.startswith("```{toctree}"):
                shown = {ROOT / f"{page}.md"}
            if not line or line.startswith(("`", ":")):
                continue
            title, _, path = line.removesuffix(">").rpartition(" <")
            for found in sorted(folder.glob(f"{path}.md")):
                if found not in shown:
                    shown.add(found)
                    text = found.read_text(encoding="utf-8")
                    yield found.resolve(), title or re.findall(r"^# (.*)$", text, re.MULTILINE)[0]


def test_each_page_is_in_the_menu_of_the_site() -> None:
    pages = {path for path, _ in menu()}
    assert {*PAGES, ROOT / "docs/results/README.md"} - pages == {ROOT / "docs/index.md"}


def test_entries_of_the_menu_say_different_things() -> None:
    entries = [*menu()]
    for kind in zip(*entries, strict=True):
        assert [entry for entry in kind if kind.count(entry) > 1] == []


def test_pages_have_different_titles() -> None:
    titles = [re.findall(r"^# (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)[0] for page in PAGES]
    assert [title for title in titles if titles.count(title) > 1] == []


def test_the_reference_is_fresh() -> None:
    command = [sys.executable, str(ROOT / "tools" / "generate_reference.py"), "--check"]
    environment = os.environ | {"PYTHONWARNINGS": "ignore:flowyard is a debug build"}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_every_field_is_in_the_reference() -> None:
    """However the generator walks through the schema, it must come to everything."""
    text = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference").glob("*.md"))
    schema: dict[str, Any] = fy.schema()
    for name, definition in schema["$defs"].items():
        for field in definition.get("properties", {}):
            assert f"| `{field}` |" in text, f"{name}.{field}"
        for choice in definition.get("oneOf", []):
            for tag in [*choice.get("properties", {}), choice.get("const")]:
                known = (f": {tag}\n", f"`{{ {tag} = ... }}`", f'`"{tag}"`')
                assert tag is None or any(form in text for form in known), f"{name}: {tag}"


def anchors(page: Path) -> set[str]:
    """What GitHub calls the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
