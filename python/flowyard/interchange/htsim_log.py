"""Lines of htsim's log about finished flows.

    Flow ndp_0_13 flow_id 1 finished at 184.265 total bytes 2007000

The name has source and destination, and in some versions the connection in brackets. The time, in us since the
beginning, is that of the last acknowledgement at the sender; the bytes are those of whole packets, for htsim fills up
the last one. Neither the start nor the size that was asked for is printed. All its transports print such a line, with
more words between and after these in newer ones (uec.cpp, eqds.cpp).
"""

import re

from flowyard.interchange.finished import Finished
from flowyard.interchange.hpcc_flow import BYTES_MAX
from flowyard.interchange.text import Source

US = 6
NODE_MAX = 2**32 - 1

_FLOW = re.compile(
    r"Flow \w*?_(\d+)_(\d+)(?:\(\d+\))? .*?\bfinished at ([\d.eE+]+) .*?\btotal bytes (\d+)", re.ASCII
)


def is_it(source: Source) -> bool:
    """Whether a text has such a line."""
    return bool(_FLOW.search(source.text))


def read(source: Source) -> list[Finished]:
    """The flows, in the order in which they finished."""
    flows = []
    for line, text in enumerate(source.text.split("\n"), 1):
        if not (found := _FLOW.match(text.lstrip())):
            continue
        src, dst = (
            source.whole(line, name, word, 0, NODE_MAX)
            for name, word in zip(("source", "destination"), found.groups(), strict=False)
        )
        end, _ = source.scaled(line, "finished at", found[3], US)
        size = source.whole(line, "total bytes", found[4], 1, BYTES_MAX)
        flows.append(Finished(src, dst, size, end, padded=True))
    return flows
