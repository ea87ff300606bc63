"""Prints what pyproject.toml asks for: `python tools/needs.py dependencies`, or the name of an extra such as dev."""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
what = sys.argv[1]
print(*(project["dependencies"] if what == "dependencies" else project["optional-dependencies"][what]))
