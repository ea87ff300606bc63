"""The package: its public names, and that importing it is cheap."""

import subprocess
import sys

import pytest

import flowyard as fy

HEAVY = {"polars", "altair", "rich", "jinja2", "pandas", "pyarrow", "duckdb", "vl_convert"}


def loaded_by(code: str) -> set[str]:
    code += "\nimport sys; print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def ours(loaded: set[str]) -> set[str]:
    return {name for name in loaded if name.startswith("flowyard")}


@pytest.mark.parametrize(
    "code",
    [
        "import flowyard",
        "import flowyard.cli; flowyard.cli.parser()",
        "import flowyard; flowyard.Scenario; flowyard.Ndp",
        "import flowyard; flowyard.run; flowyard.check; flowyard.schema()",
    ],
)
def test_heavy_modules_wait_until_they_are_used(code):
    assert not loaded_by(code) & HEAVY


def test_help_and_checking_import_little(small):
    # Each of these takes time for which whoever types the command waits.
    slow = {*HEAVY, "numpy", "dataclasses", "inspect", "tempfile", "uuid", "decimal", "tomllib"}
    verbs = ours(loaded_by("import flowyard.cli"))
    for_help = loaded_by("from flowyard.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass")
    assert not for_help & slow
    assert ours(for_help) - verbs <= {"flowyard.parts"}
    for_check = loaded_by(f"from flowyard.cli import main; main(['check', {str(small)!r}])")
    # It shows the fields that the file writes, and reads them by a module of 5 ms.
    assert not for_check & (slow - {"tomllib"})
    needed: tuple[str, ...] = (
        "_native",
        "parts",
        "scenarios",
        "results",
        "table",
        "display",
        "run_summary",
        "run_time",
        "memory",
    )
    needed += (
        "folders",
        *(f"folders.{name}" for name in ("owned", "reading", "run_files")),
        "text",
        "terminal.pace",
        "terminal.progress",
        "terminal.folding",
        "commands.written",
    )
    assert ours(for_check) == verbs | {f"flowyard.{name}" for name in needed}
    # And the names of the verbs are had without what these do.
    rooms = {name.split(".")[1] for name in verbs - {"flowyard"}}
    assert rooms == {"cli", "commands", "errors", "parts", "terminal"}


def test_a_run_and_its_summary_load_no_data_frames(small, tmp_path):
    # Both are over sooner than polars is imported.
    for command in (["run", str(small), "-o", str(tmp_path / "run")], ["show", str(tmp_path / "run")]):
        loaded = loaded_by(f"from flowyard.cli import main; assert main({command!r}) == 0")
        assert not loaded & HEAVY, command[0]


def test_importing_the_package_imports_none_of_its_modules():
    assert not {name for name in loaded_by("import flowyard") if name.startswith("flowyard.")}


def test_every_public_name_is_there():
    for name in dir(fy):
        assert getattr(fy, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Fat'"):
        fy.Fat  # noqa: B018


def test_using_one_name_hides_no_other():
    # A submodule called like a function would take the function's place once imported.
    done = loaded_by(
        "import flowyard as fy, flowyard.results, flowyard.cli; assert callable(fy.run) and callable(fy.open)"
    )
    assert "flowyard.results" in done
