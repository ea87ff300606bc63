"""Flowyard: a data-centre network simulator.

import flowyard as fy

result = fy.run("web-search-ndp")             # or a file's path, or fy.Scenario(...)
result.flows                                  # any Arrow consumer: polars, pandas, duckdb, pyarrow
fy.sweep("my-sweep.toml", "out/my").means     # many runs: means over replicas, with intervals
fy.compare("web.toml", ["ndp", "tcp"], "out/two")  # transports side by side, with the same flows
fy.transports, fy.queues, fy.topologies, ...  # what there is, by its kind: fy.queues.Ndp()
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flowyard._native import ScenarioError as ScenarioError
    from flowyard._native import __version__ as __version__
    from flowyard.parts import agents as agents
    from flowyard.parts import arrivals as arrivals
    from flowyard.parts import balancers as balancers
    from flowyard.parts import congestion_controls as congestion_controls
    from flowyard.parts import controllers as controllers
    from flowyard.parts import matrices as matrices
    from flowyard.parts import partitions as partitions
    from flowyard.parts import path_selectors as path_selectors
    from flowyard.parts import queues as queues
    from flowyard.parts import rate_controls as rate_controls
    from flowyard.parts import sizes as sizes
    from flowyard.parts import topologies as topologies
    from flowyard.parts import transports as transports
    from flowyard.parts import uet_controls as uet_controls
    from flowyard.results import Result as Result
    from flowyard.results import check as check
    from flowyard.results import explain as explain
    from flowyard.results import open_run as open_run
    from flowyard.results import run as run
    from flowyard.results import schema as schema
    from flowyard.scenario import *  # noqa: F403
    from flowyard.sweeps import Axis as Axis
    from flowyard.sweeps import Plan as Plan
    from flowyard.sweeps import Sweep as Sweep
    from flowyard.sweeps import compare as compare
    from flowyard.sweeps import sweep as sweep
    from flowyard.sweeps.open_folder import open as open  # noqa: A004
    from flowyard.table import Table as Table

# Where each public name lives. Nothing is imported until it is used, so that `import flowyard` and
# `flowyard --help` stay instant; all the scenario's classes come from flowyard.scenario.
_HOME = {
    "__version__": "flowyard._native",
    "ScenarioError": "flowyard._native",
    "Table": "flowyard.table",
    "Axis": "flowyard.sweeps",
    "Plan": "flowyard.sweeps",
    "Result": "flowyard.results",
    "Sweep": "flowyard.sweeps",
    "check": "flowyard.results",
    "compare": "flowyard.sweeps",
    "explain": "flowyard.results",
    "open": "flowyard.sweeps.open_folder",
    "open_run": "flowyard.results",
    "run": "flowyard.results",
    "schema": "flowyard.results",
    "sweep": "flowyard.sweeps",
}

# Modules with functions for results and networks, which `import flowyard` alone makes available, too.
_MODULES = ("analysis", "interchange", "prototypes", "report", "topology", "why")


def __getattr__(name: str) -> Any:
    # The import system asks for our submodules here, too. Classes alone have capitals: all that is not one
    # must not cost the import of flowyard.scenario.
    if name in _HOME or name[:1].isupper():
        module = import_module(_HOME.get(name, "flowyard.scenario"))
        if name in _HOME or name in module.__all__:
            return getattr(module, name)
    elif name in _MODULES:
        return import_module(f"flowyard.{name}")
    elif name in import_module("flowyard.parts").MODULES:
        return import_module(f"flowyard.parts.{name}")
    hint = _hint(name) if name[:1].isupper() else ""
    raise AttributeError(
        f"module 'flowyard' has no attribute {name!r}{hint}", name=name, obj=sys.modules[__name__]
    )


def _hint(name: str) -> str:
    """Classes that go by another name here; what is only misspelt Python says itself."""
    modules = {
        part: import_module(f"flowyard.parts.{part}") for part in import_module("flowyard.parts").MODULES
    }
    found = [f"fy.{part}.{name}" for part, module in modules.items() if name in module.__all__]
    if name in import_module("flowyard.prototypes").__all__:
        found.append(f"flowyard.prototypes.{name}")
    found = found or [f"fy.{other}" for other in import_module("flowyard.scenario").__all__ if name in other]
    return f"; did you mean {' or '.join(found[:4])}?" if found else ""


def __dir__() -> list[str]:
    modules = import_module("flowyard.parts").MODULES
    return sorted({*_HOME, *_MODULES, *modules, *import_module("flowyard.scenario").__all__})
