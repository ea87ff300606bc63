"""How figures 5 and 6 can be read: deadlines, and what the text leaves open of DAQ and of D3, one thing at a time.

The text names no queue target Q; its figure 5 fills a queue of 700 KB, so that 1 MB is as plausible as four
bandwidth-delay products. A sender transmits "min{flow_win, sender_win}" when it has the SYN/ACK (section II-B), and
flow_win is what a flow may send "in one RTT" (table I): by the letter a window is sent as a whole, once a round trip.
It "adapts to the queue length being experienced at the switch", and what is compared is a "maximum queueing delay":
an urgent packet waits for no other in Q1.2. "The queue for short flows" (section II-A), which is the default, is both.

D3's constants are not in the text either. RCP has the 0.4 and 0.4 of its authors' ns-2 model, of which D3's model is an
extension, and D3's own paper has flows subtract two round trips from their deadlines for the delay of requests: that
is the default. A public model has 0.1 and 1 and no guard.
"""

from dataclasses import dataclass

import polars as pl

from flowyard_papers.daq import _rack as rack
from flowyard_papers.daq._models import DEADLINES, FLOORED


@dataclass(frozen=True)
class Reading:
    """A way to read a figure.

    Attributes:
        name: In the table of verdicts.
        deadlines: How they are read.
        daq: The scheme that stands for DAQ.
        d3: The scheme that stands for D3.
        searched: Whether only a search found it, and no word of the paper.
    """

    name: str
    deadlines: str = FLOORED
    daq: str = rack.DAQ
    d3: str = rack.D3
    searched: bool = False

    def of(self, table: pl.DataFrame) -> pl.DataFrame:
        """The rows of this reading, in which its schemes have the names DAQ and D3."""
        chosen = {self.daq: rack.DAQ, self.d3: rack.D3}
        variants = (rack.DAQ, rack.D3, *rack.VARIANTS, rack.D3_GUARDED)
        left_out = [name for name in variants if name not in chosen]
        own = table.filter(~pl.col("scheme").is_in(left_out), reading=self.deadlines)
        return own.with_columns(pl.col("scheme").cast(pl.String).replace(chosen))


BY_DEADLINES = tuple(Reading(name, name) for name in DEADLINES)
# These only ask what DAQ does, or D3, in place of the default.
OF_DAQ = (
    Reading("Q of 1 MB", daq=rack.DAQ_LARGE),
    Reading("a window a round trip", daq=rack.DAQ_ROUNDS),
    Reading("the queue that a packet meets", daq=rack.DAQ_MET),
)
OF_D3 = (Reading("D3 with gains 0.1 and 1, no guard", d3=rack.D3_PLAIN),)
ALL = (*BY_DEADLINES, *OF_DAQ, *OF_D3)
# Nothing in the text asks for this; a search over what it leaves open found it.
REACHABLE = Reading(
    "deadlines below 2 ms drawn again, Q of 1 MB, D3 with gains 0.1 and 1",
    "exponential, drawn again below 2 ms",
    rack.DAQ_LARGE,
    rack.D3_GUARDED,
    searched=True,
)

ASSUMED = (
    "Readings of figures 5 and 6 differ from the default in one thing. Q of 1 MB: the text has no number. A window a "
    'round trip: flow_win is what is sent "in one RTT" (table I), so that a window goes as a whole and the next one '
    'when all of it is acknowledged. The queue that a packet meets: flow_win follows "the queue length being '
    'experienced at the switch", which for an urgent packet is Q1.1 alone; the default is Q1.1 and Q1.2, "the queue '
    'for short flows". D3 with gains 0.1 and 1, no guard: a public model; the default is 0.4 and 0.4, as '
    "RCP's in ns-2, and two round trips of guard, as D3's own paper has them.",
)
