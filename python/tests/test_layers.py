"""The rooms of the Python package are those of docs/architecture.md, and imports go by their order there.

`crates/sim/tests/layers.rs` does the same for the simulator. Imports inside functions count, too: they are
there so that commands start fast, not to go round the order.
"""

import ast
import re
import sys
from collections.abc import Container, Iterator, Mapping
from pathlib import Path

import pytest

from flowyard.errors import UserError
from flowyard.papers import catalogue

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "flowyard"
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
LISTED = ARCHITECTURE.partition("### Rooms of the Python package")[2].partition("\n##")[0]
ROOMS = re.findall(r"^    (\w+)(?:/|\.py)", LISTED, re.MULTILINE)
# The rooms of the report: a folder, or the files that are named before the colon or the end.
IN_REPORT = ARCHITECTURE.partition("### Rooms of `report/`")[2].partition("\n##")[0]
REPORT = {
    module: number
    for number, (name, words) in enumerate(re.findall(r"^    (\w+/?) +([^:\n]*)", IN_REPORT, re.MULTILINE))
    for module in ([name.removesuffix("/")] if name.endswith("/") else words.split())
}
# What flowyard_papers may use: what is documented for studies.
FOR_STUDIES = "analysis papers prototypes results slotted sweeps table theory topology"


def imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """The imports of a file, at its head or within functions, without those that only types need.

    Yields:
        Modules, each with the name that is imported from it; without a name where the module itself is.
    """
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                continue
            case ast.ImportFrom(module=str(module), names=names):
                yield from ((module, name.name) for name in names)
            case ast.Import(names=names):
                yield from ((name.name, "") for name in names)
        yield from imports(node)


def room(path: Path) -> str:
    """The room that a file is in."""
    first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "commands" if path.name == "command.py" else first


def upwards(path: Path, source: str) -> list[str]:
    """What a file imports from rooms above its own."""
    place = {name: number for number, name in enumerate(ROOMS)}
    assert room(path) in place, f"docs/architecture.md has no room for {path.name}"
    found = []
    for module, name in imports(ast.parse(source)):
        # Of the package itself, its modules and its names may be imported.
        top, _, rest = (f"{module}.{name}" if module == "flowyard" else module).partition(".")
        other = "commands" if rest.endswith(".command") else rest.partition(".")[0]
        if top == "flowyard" and other in place and place[other] > place[room(path)]:
            found.append(f"{path.relative_to(PACKAGE)} imports {top}.{rest}")
    return found


def test_the_list_is_the_tree():
    there = {
        path.name.removesuffix(".py")
        for path in PACKAGE.iterdir()
        if path.suffix == ".py" or (path.is_dir() and any(path.glob("*.py")))
    }
    assert set(ROOMS) == there - {"__init__"}
    assert len(ROOMS) == len(set(ROOMS))


# A verb has the name of its subject, and the benchmarks that of what they measure.
NAMED_LIKE_ROOMS = {"commands", "bench"}
# Metrics of the flows of a run, and the text format of interchange.
SAME_NAME = {"analysis/completion.py", "analysis/deadlines.py", "interchange/text.py"}


def test_a_name_of_a_room_is_no_name_of_a_module_elsewhere():
    """Two files of one name leave a reader to guess which one has the idea."""
    twice = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if path.parent != PACKAGE and path.stem in ROOMS and path.parent.name not in NAMED_LIKE_ROOMS
    }
    assert twice == SAME_NAME


def test_the_map_names_each_crate_and_each_folder_of_the_simulator():
    drawn = ARCHITECTURE.partition("## Data flow")[2].partition("`simulate()`")[0]
    for path in (ROOT / "crates").iterdir():
        assert path.name == "sim" or f"crates/{path.name}" in drawn
    for path in (ROOT / "crates/sim/src").iterdir():
        assert not path.is_dir() or re.search(rf"\b{path.name}\b", drawn), path.name


def test_the_life_of_a_packet_is_that_of_the_engine():
    """The page and the head of the engine have the same steps, and each file and function in them exists."""
    engine = ROOT / "crates/sim/src/engine"
    sources = {
        path.relative_to(engine).as_posix(): path.read_text(encoding="utf-8") for path in engine.rglob("*.rs")
    }
    written = re.findall(r"^//! +(\d+)\. (.*(?:\n//! {5}.*)*)", sources["mod.rs"], re.MULTILINE)
    head = [(number, " ".join(text.replace("//!", "").split())) for number, text in written]
    listed = ARCHITECTURE.partition("### Life of a packet")[2].partition("\n### ")[0]
    steps = re.findall(r"^(\d+)\. (.*(?:\n +.*)*)", listed, re.MULTILINE)
    assert len(head) == 15
    assert [(number, " ".join(text.replace("**", "").split())) for number, text in steps] == head
    for name in re.findall(r"`([^`]+)`", listed.partition("1. ")[2]):
        source = "".join(sources.values())
        item = rf"\b(?:fn|struct) {name.removeprefix('cx.')}\b"
        assert name in sources or (engine / name).is_dir() or re.search(item, source), name


def test_no_module_imports_from_a_room_above():
    files = [path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py"]
    assert len(files) > 100
    wrong = [line for path in files for line in upwards(path, path.read_text(encoding="utf-8"))]
    assert wrong == []


def test_an_import_upwards_is_found():
    path = PACKAGE / "table.py"
    assert upwards(path, "from flowyard.report import page")
    assert upwards(path, "if True:\n    import flowyard.cli")
    assert upwards(path, "from flowyard import results")
    assert upwards(path, "def late():\n    from flowyard.report import page")
    assert upwards(path, "class A:\n    def late(self):\n        from flowyard import report")
    assert not upwards(path, "if TYPE_CHECKING:\n    from flowyard.report import page")
    assert not upwards(path, "from flowyard import Flows, _native, text")


def upwards_in_report(path: Path, source: str) -> list[str]:
    """The imports of a file of the report from a room of the report above its own."""
    own = path.relative_to(PACKAGE / "report").parts[0].removesuffix(".py")
    assert own in REPORT, f"docs/architecture.md has no room for report/{own}"
    used = re.findall(r"flowyard\.report\.(\w+)", " ".join(f"{a}.{b}" for a, b in imports(ast.parse(source))))
    return [f"{path.name} imports report.{other}" for other in used if REPORT.get(other, 0) > REPORT[own]]


def test_the_rooms_of_the_report_import_in_one_direction():
    files = [
        path for path in (PACKAGE / "report").rglob("*.py") if path != PACKAGE / "report" / "__init__.py"
    ]
    assert {path.relative_to(PACKAGE / "report").parts[0].removesuffix(".py") for path in files} == set(
        REPORT
    )
    assert [
        line for path in files for line in upwards_in_report(path, path.read_text(encoding="utf-8"))
    ] == []
    path = PACKAGE / "report" / "charts" / "heat.py"
    assert upwards_in_report(path, "def late():\n    from flowyard.report.run import facts")
    assert upwards_in_report(path, "from flowyard.report import sweep")
    assert not upwards_in_report(path, "from flowyard.report import reasons")


def circles(files: Mapping[str, str]) -> list[str]:
    """The modules that import each other in a circle, directly or by way of others.

    Args:
        files: The sources, by the names of the modules.
    """
    uses = {name: modules_used(source, files) - {name} for name, source in files.items()}
    reached = {name: set(used) for name, used in uses.items()}
    for middle in files:
        for name in files:
            if middle in reached[name]:
                reached[name] |= reached[middle]
    return sorted(name for name in files if name in reached[name])


def modules_used(source: str, files: Container[str]) -> set[str]:
    """The modules among the files that a source imports; the package itself finds its names late."""
    found = {
        inner if (inner := f"{module}.{name}") in files else module
        for module, name in imports(ast.parse(source))
    }
    return {name for name in found if name in files and name != "flowyard"}


def test_no_files_import_each_other_in_a_circle():
    def name(path: Path) -> str:
        return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")

    files = {
        name(path): path.read_text(encoding="utf-8")
        for package in (PACKAGE, PACKAGE.parent / "flowyard_papers")
        for path in package.rglob("*.py")
    }
    assert len(files) > 300
    assert circles(files) == []


def test_a_circle_is_found():
    files = {
        "flowyard.a": "from flowyard import b",
        "flowyard.b": "def late():\n    from flowyard.c import name",
        "flowyard.c": "import flowyard.a",
        "flowyard.d": "from flowyard.a import name",
        "flowyard.e": "if TYPE_CHECKING:\n    from flowyard.f import name",
        "flowyard.f": "from flowyard import e",
    }
    assert circles(files) == ["flowyard.a", "flowyard.b", "flowyard.c"]


def test_studies_use_public_names_only():
    allowed, files = set(FOR_STUDIES.split()), list((ROOT / "python/flowyard_papers").rglob("*.py"))
    assert len(files) > 100
    for path in files:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "flowyard":
                first = [*(node.module or "").split(".")[1:2]] or [name.name for name in node.names]
                # Classes and functions of the package itself are public.
                rooms = {name for name in first if name in ROOMS}
                assert rooms <= allowed, f"{path}: {ast.unparse(node)}"
                assert not any(name.name.startswith("_") for name in node.names), (
                    f"{path}: {ast.unparse(node)}"
                )


def test_nothing_but_the_catalogue_knows_the_studies():
    naming = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if "flowyard_papers" in path.read_text(encoding="utf-8")
    }
    assert naming == {"papers/__init__.py", "papers/catalogue.py", "sweeps/source.py"}


class TestWithoutTheStudies:
    @pytest.fixture(autouse=True)
    def without(self, monkeypatch):
        class Finder:
            def find_spec(self, name, *_):
                if name.partition(".")[0] == "flowyard_papers":
                    raise ModuleNotFoundError(f"No module named {name!r}", name=name)

        for name in [name for name in sys.modules if name.partition(".")[0] == "flowyard_papers"]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
        catalogue.packaged.cache_clear()
        yield
        catalogue.packaged.cache_clear()

    @pytest.mark.parametrize("name", ["all", "NDP", "NDP-F6", "no-such"])
    def test_a_plain_message(self, name):
        with pytest.raises(UserError, match="flowyard_papers, comes with flowyard; install flowyard anew"):
            catalogue.select(name)

    def test_a_study_of_one_s_own_needs_none(self):
        selection = catalogue.select(str(ROOT / "examples/incast-buffers"))
        assert [paper.id for paper in selection.papers] == ["BUF"]


# Lines of a function without its docstring: it is read as a whole.
FUNCTION_LINES = 70


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    docstring = ast.get_docstring(function, clean=False)
    return function.end_lineno - function.lineno + 1 - (docstring.count("\n") + 1 if docstring else 0)


def long_functions(source: str) -> list[str]:
    functions = (
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return [
        f"{function.name}: {length(function)} lines"
        for function in functions
        if length(function) > FUNCTION_LINES
    ]


def test_no_function_is_longer_than_a_screen():
    # Of Rust, clippy::too_many_lines holds the same, with its threshold in crates/*/clippy.toml.
    folders = ("python/flowyard", "python/flowyard_papers", "tools", "benches")
    files = [file for folder in folders for file in sorted((ROOT / folder).rglob("*.py"))]
    found = {str(file.relative_to(ROOT)): long_functions(file.read_text(encoding="utf-8")) for file in files}
    assert len(files) > 400
    assert not {file: names for file, names in found.items() if names}


def test_a_long_function_is_found():
    body = "    x = 1\n" * FUNCTION_LINES
    assert long_functions(f"def f():\n{body}") == [f"f: {FUNCTION_LINES + 1} lines"]
    assert not long_functions(f'def f():\n    """Two\n    lines."""\n{body[:-10]}')
