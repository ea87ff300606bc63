"""Words and options of the command line that have no meaning here, and the ones to type: a table for each verb.

Other simulators, and other verbs, have them. The message on an unknown option is argparse's; `flowyard.cli` adds the
line of this table.
"""

import argparse
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from flowyard.errors import UserError

_SCENARIO = (
    "a scenario is a file of a dozen lines (docs/tutorial.md has one); flowyard run web-search-ndp "
    "runs a packaged one"
)

# In place of a verb: a verb, or a sentence.
VERBS = {
    "help": "did you mean --help?",
    "version": "did you mean --version?",
    "simulate": "did you mean run?",
    "list": "did you mean show?",
    "validate": "did you mean check?",
    "lint": "did you mean check?",
    "stats": "did you mean show?",
    "summary": "did you mean show?",
    "trace": "did you mean why? It divides the time of a flow by cause; observe.events records the steps of packets",
    "plot": "did you mean report?",
    "init": _SCENARIO,
    "new": _SCENARIO,
}

_UNTIL = "write --set run.until=10ms"
_IN_FILE = "a sweep has its fields in its file: write "
_AXES = "a sweep has its values in its file: write an entry [[axes]] with "
_NO_FILE = "without a file: flowyard run SCENARIO --compare "
_REPORT = "flowyard report DIR draws the results"
_ESTIMATE = "flowyard check SCENARIO estimates its time, memory and events, without a run"
_COMPARE = "write --compare FIELD=A,B, also with --replicas N"
_AXIS = f'{_AXES}set."FIELD" = [A, B]; {_NO_FILE}FIELD=A,B --replicas N'
_GOES_ON = "the same command executes the runs that are missing, without an option"
_WORKBOOK = "write -o FILE.xlsx"
_SLOWEST = "without numbers it takes the flow with the largest slowdown; flowyard show RUN --csv flows lists all flows"
_SAME_FLOWS = "transports on the same flows: flowyard run SCENARIO --compare A,B,C"
_SCHEMA = "write flowyard schema > FILE"

# Fields of a scenario that other simulators have as options. A value that follows takes the place of the example.
FIELDS = {
    "-s": "did you mean --set?",
    "-j": "did you mean --threads?",
    "-t": "threads: --threads N; a limit of the simulated time: --set run.until=10ms",
    "--transport": "write --set transport=NAME",
    "--topology": "write --set topology=NAME",
    "--queue": "write --set queue=NAME",
    "--balancer": "write --set routing.balancer=NAME",
    "--load": "write --set traffic.NAME.arrivals.poisson.load=0.6",
    "--flows": "write --set traffic.NAME.flows=1000",
    "--sizes": "write --set traffic.NAME.sizes=web-search",
    "--matrix": "write --set traffic.NAME.matrix=uniform",
    "--duration": _UNTIL,
    "--until": _UNTIL,
    "--time": _UNTIL,
    "--sim-time": _UNTIL,
    "--simulation-time": _UNTIL,
    "--stop": _UNTIL,
    "--end": _UNTIL,
}

# Lines by verb and option; by "" in place of words that are too many.
OPTIONS: Mapping[str, Mapping[str, str]] = {
    "run": {
        **FIELDS,
        "-n": "did you mean --replicas?",
        "--transport": "write --set transport=NAME; --compare ndp,dctcp runs several transports",
        "--transports": "did you mean --compare? It takes transports by their names: --compare ndp,dctcp",
        "--dry-run": _ESTIMATE,
        "--estimate": _ESTIMATE,
        "--axis": _COMPARE,
        "--sweep": _COMPARE,
        "--csv": "after the run: flowyard show DIR --csv flows -o flows.csv",
        "--plot": "write --report",
    },
    "check": FIELDS,
    "sweep": {
        "-j": "did you mean --workers? Runs at a time; --threads is of each",
        "-n": _IN_FILE + "replicas = N into it",
        "--set": _IN_FILE + 'set."KEY" = VALUE into it',
        "--seed": _IN_FILE + 'set."run.seed" = N into it',
        "--replicas": "a sweep has them in its file: write replicas = N into it",
        "--load": _AXES + 'set."traffic.NAME.arrivals.poisson.load" = [0.2, 0.4]; '
        f"{_NO_FILE}traffic.NAME.arrivals.poisson.load=0.2,0.4",
        "--transport": f'{_AXES}set.transport = ["ndp", "tcp"]; {_NO_FILE}ndp,tcp',
        "--axis": _AXIS,
        "--axes": _AXIS,
        "--compare": f"a sweep has its values in its file, in [[axes]]; {_NO_FILE}...",
        "--audit": _IN_FILE + 'set."run.audit" = true into it',
        "--resume": _GOES_ON,
        "--continue": _GOES_ON,
    },
    "show": {
        "": "show takes one folder, which may be that of several runs; a table of it: --csv flows; runs on one page: "
        "flowyard report DIR DIR",
        "--xlsx": _WORKBOOK,
        "--excel": _WORKBOOK,
        "--format": "write --csv TABLE, --json, or -o FILE.xlsx",
        "--plot": _REPORT,
    },
    "report": {"--plot": "the page has the plots, without an option"},
    "why": {
        "--flow": "write numbers of flows without an option, as in flowyard why RUN 5",
        "--flows": "write numbers of flows without an option, as in flowyard why RUN 5 17",
        "--slowest": _SLOWEST,
        "--worst": _SLOWEST,
        "--html": "write -o FILE.html",
        "--link": "did you mean --port?",
    },
    "compare": {
        "": f"compare takes a run and a file of another simulator; {_SAME_FLOWS}; runs on one page: "
        "flowyard report DIR DIR DIR",
        "--transport": _SAME_FLOWS,
        "--transports": _SAME_FLOWS,
    },
    "demo": {"": "it runs one workload under NDP and TCP; -o DIR is the folder, by default out/demo"},
    "schema": {"-o": _SCHEMA, "--output": _SCHEMA},
    "paper list": {
        "--failed": "docs/results/README.md lists the claims that fail, with links to the reasons; "
        "flowyard paper show ID has those of a figure"
    },
    "paper run": {"--quick": "write --scale quick, the default", "--full": "write --scale full"},
}


def advice(instead: Mapping[str, str], option: str, value: str, known: argparse.Namespace) -> str | None:
    """The line of a verb's table on an option, with its value and the scenario's names in place of examples.

    Args:
        instead: The table.
        option: The unknown option.
        value: What follows it, or "".
        known: The options that are known, among them the scenario or the files.
    """
    line = instead.get(option)
    if line is None or value.startswith("-"):
        return line
    scenario = str(getattr(known, "scenario", ""))
    if value and Path(value).is_file() and scenario and not Path(scenario).is_file():
        # The scenario is behind the option, and its value was taken for the scenario.
        value, scenario = scenario, value
    if "SCENARIO --compare A,B,C" in line and hasattr(known, "file"):
        names = value or str(known.file)
        return line.replace("SCENARIO --compare A,B,C", f"{known.run} --compare {names}")
    if option == "--transport":
        return _transport(value, line)
    if scenario and "traffic.NAME." in line and (name := _only_entry(scenario)):
        line = line.replace("traffic.NAME.", f"traffic.{name}.")
    if {"=", ","} <= set(value):
        line = line.replace("FIELD=A,B", shlex.quote(value))
    if value:
        line = re.sub(r"(write --set [\w.-]+=)[\w.-]+", lambda found: found[1] + shlex.quote(value), line)
    return line


def _transport(name: str, line: str) -> str:
    """Advice on --transport: where a transport's name follows it, the words for --set."""
    from flowyard.sweeps.members import Members

    try:
        found = Members().transport(name)
    except UserError:
        return line
    if isinstance(found, dict):
        ((tag, fields),) = found.items()
        ((key, value),) = fields.items()
        return line.replace("transport=NAME", f"'transport={{{tag}={{{key}=\"{value}\"}}}}'")
    return line.replace("transport=NAME", f"transport={found}")


def _only_entry(scenario: str) -> str | None:
    """The name of a scenario's traffic entry, or its number; None if there are several."""
    from flowyard import scenarios
    from flowyard.commands import written

    try:
        entries = written.fields(scenarios.find(scenario), {}).get("traffic")
    except UserError:
        return None
    if not isinstance(entries, list) or len(entries) != 1 or not isinstance(entries[0], dict):
        return None
    return str(entries[0].get("name", 0))
