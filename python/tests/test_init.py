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
