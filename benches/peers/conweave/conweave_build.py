"""Compiles the simulator of ConWeave's authors, a descendant of HPCC's."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "hpcc"))

from ns3_build import Simulator

CONWEAVE = Simulator(
    name="ConWeave",
    repository="conweave-project/conweave-ns3",
    folders=(".",),
    main="network-load-balance",
    # The rest of it needs modules that nothing here uses.
    only={
        "applications": ("rdma-client", "udp-", "packet-loss-counter", "app-recv-buffer", "check-all-packets")
    },
    build=Path("out/bench/conweave"),
)


if __name__ == "__main__":
    print(CONWEAVE.built(Path(sys.argv[1])))
