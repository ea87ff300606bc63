"""Packets held to restore their order: counters in run.json, and their line in the summary."""

import flowyard as fy
from flowyard.report.run.summary import summary_table

# Of two datagrams, 10 us apart, the first one takes 20 us longer and arrives 10 us after the second one.
TWO_WAYS = {
    "transport": {"datagram": {"pace": {"rate": "1200Mbps"}}},
    "topology": {
        "explicit": {
            "hosts": ["client", "server"],
            "switches": [{"name": name} for name in ("left", "right", "near", "far")],
            "rate": "10Gbps",
            "delay": "1us",
            "cables": [
                {"ends": ["client", "left"]},
                {"ends": ["right", "server"]},
                {"ends": ["left", "near"]},
                {"ends": ["near", "right"]},
                {"ends": ["left", "far"], "delay": "21us"},
                {"ends": ["far", "right"]},
            ],
        }
    },
    "traffic": [
        {
            "name": "stream",
            "arrivals": {"at-once": {"jitter": "0s"}},
            "matrix": {"pairs": [[0, 1]]},
            "sizes": {"fixed": "294400B"},
        }
    ],
}


def line(result):
    rows = {name: value for name, value, *_ in summary_table(result, "run").rows}
    return rows.get("reordering")


def test_a_run_states_what_its_hosts_held():
    held = fy.run(TWO_WAYS | {"routing": {"balancer": {"drb": {"reorder_timeout": "50us"}}}})
    counts = held.summary["counters"]["reordering"]
    # Of 200 datagrams each second one waits, except the first of all.
    assert counts["held"] in (99, 100)
    assert (counts["packets_max"], counts["bytes_max"], counts["wait_max_ps"]) == (1, 1500, 10_000_000)
    assert counts["wait_ps"] == 10_000_000 * counts["held"]
    expected = f"{counts['held']} packets held, at most 1 of a flow (1,500 B) at a time and for 10 us"
    assert line(held) == expected


def test_a_run_without_a_wait_states_that():
    one_way = {"routing.balancer": {"presto": {"cell": "1MB", "reorder_timeout": "50us"}}}
    assert line(fy.run(TWO_WAYS, one_way)) == "0 packets held"


def test_other_balancers_have_no_line():
    result = fy.run(TWO_WAYS | {"routing": {"balancer": "drb"}})
    assert "reordering" not in result.summary["counters"]
    assert line(result) is None
