"""Compares Flowyard's RoCE with the simulator of ConWeave's authors: the same files, flow by flow.

Builds the simulator from a checkout, of which nothing is in this repository. Each case is a topology, flow.txt and
config.txt of that simulator: it runs them, and Flowyard runs what `flowyard import --ecmp conweave` makes of them.
Prints a row for each lone flow, and the median and 99th percentile of others. Exit code 1 if a row is further apart
than it may be.

    .venv/bin/python benches/peers/conweave/conweave_flows.py CHECKOUT --case lone
    .venv/bin/python benches/peers/conweave/conweave_flows.py CHECKOUT --control dcqcn --control dcqcn_irn
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "hpcc"))

import conweave_cases as cases
from conweave_build import CONWEAVE
from flow_by_flow import Peer, main

if __name__ == "__main__":
    sys.exit(main(Peer(CONWEAVE, cases.OPTIONS, cases.CASES, cases.ALL, cases.files), __doc__ or ""))
