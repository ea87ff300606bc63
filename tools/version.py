"""Prints the version that Cargo.toml gives to the engine and the Python package: `python tools/version.py`."""

import tomllib
from pathlib import Path

manifest = tomllib.loads((Path(__file__).parents[1] / "Cargo.toml").read_text(encoding="utf-8"))
print(manifest["workspace"]["package"]["version"])
