"""Members of a run that are written in Python: prototypes.

from flowyard.prototypes import CongestionControl

class Half(CongestionControl):
    def on_loss(self, window, loss):
        window.ssthresh = window.cwnd = max(window.cwnd / 2, window.mss)

fy.run("scenario.toml", {"transport.tcp.congestion.python.name": "half"}, controls={"half": Half})

The contracts are those of the engine's own members: see docs/how-to/python-prototypes.md. Nothing here is imported by a
run without prototypes.
"""

from flowyard._native import Ack, Data, Flow, Hop, Host, Packet, Port, Received, Signal, Window
from flowyard.prototypes.balancer import Balancer
from flowyard.prototypes.control import Answer, CongestionControl
from flowyard.prototypes.failures import PrototypeError
from flowyard.prototypes.queue import Queue
from flowyard.prototypes.transport import Transport

__all__ = [  # noqa: RUF022, as people meet them
    "Transport",
    "Flow",
    "Host",
    "Data",
    "Received",
    "CongestionControl",
    "Window",
    "Ack",
    "Signal",
    "Answer",
    "Queue",
    "Port",
    "Packet",
    "Balancer",
    "Hop",
    "PrototypeError",
]
