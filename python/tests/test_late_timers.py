"""Timers that come after the end of their flow."""

import tomllib

import flowyard as fy

# Timeouts of nanoseconds: the only subflow has retransmitted, by which the others are due, when its flow ends.
SCENARIO = """
[topology.leaf-spine]
rate = "1Gbps"

[transport.mptcp.tcp]
handshake = false
rto_min = "1ns"
rto_max = "9900ns"

[transport.mptcp.scatter]
switch = "loss"

[[traffic]]
name = "a"
sizes = "homa-w1"
matrix.incast = { senders = 1 }

[traffic.arrivals.triggers]
starts = ["0s", "1us", { trigger = 4 }]
fires = [{ flow = 1, trigger = 4 }]
list = [{ id = 4, kind.barrier = 1 }]
"""


def test_packet_scatter_opens_no_subflow_of_a_flow_that_is_over():
    result = fy.run(tomllib.loads(SCENARIO))
    assert result.summary["status"] == "complete"
    counters = result.summary["counters"]
    assert (counters["flows"], counters["unfinished_flows"]) == (3, 0)
    assert counters["retransmissions"] > 0
