"""The compiled half: what the stubs promise is there, and nothing else."""

import ast

import pytest
from conftest import ROOT

from flowyard import _native


def test_the_stubs_name_what_is_there():
    stubs = ast.parse((ROOT / "python" / "flowyard" / "_native.pyi").read_text())
    named = {node.name for node in stubs.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    assert named == {name for name in dir(_native) if not name.startswith("_")}


def test_an_unknown_format_is_refused():
    with pytest.raises(ValueError, match='format is "yaml"; use "toml" or "json"'):
        _native.Checked("", "yaml", ".", [])
