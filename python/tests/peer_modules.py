"""Modules of benches/peers, which are no package, for tests."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

PEERS = Path(__file__).parents[2] / "benches" / "peers"


def module(peer: str, name: str) -> ModuleType:
    """A module of a comparison with a peer; its neighbours find each other by name."""
    spec = importlib.util.spec_from_file_location(name, PEERS / peer / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    spec.loader.exec_module(loaded)
    return loaded
