"""Compiles the simulator of HPCC's authors, whose sources gcc 12 takes as they are."""

import sys
from pathlib import Path

from ns3_build import Simulator

HPCC = Simulator(
    name="HPCC",
    repository="alibaba-edu/High-Precision-Congestion-Control",
    folders=(".", "simulation"),
    main="third",
    # The rest of it needs modules that nothing here uses.
    only={"applications": ("rdma-client",)},
    build=Path("out/bench/hpcc"),
)


if __name__ == "__main__":
    print(HPCC.built(Path(sys.argv[1])))
