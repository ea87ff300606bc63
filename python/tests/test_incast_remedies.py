"""Remedies against Incast that need no transport of their own: smaller packets, and answers in batches."""

from typing import Any

import pytest

import flowyard as fy

RATE_GBPS, DELAY_US, BUFFER = 1, 25, 64_000
HEADER = 40


def incast(senders: int, *, tcp: dict[str, Any], traffic: list[dict[str, Any]]) -> fy.Result:
    """A run over a switch with a buffer of 64 KB a port."""
    return fy.run(
        {
            "topology": {
                "single-switch": {"hosts": senders + 1, "rate": f"{RATE_GBPS}Gbps", "delay": f"{DELAY_US}us"}
            },
            "transport": {"tcp": tcp},
            "queue": {"drop-tail": {"limit": {"bytes": f"{BUFFER}B"}}},
            "traffic": traffic,
        }
    )


def most_senders(mss: int) -> int:
    """Senders with a packet each in flight whose packets all fit into port and path.

    The port sends one after the other, and a packet is away from it for a round trip without queues less its own time
    there: so many packets are away.
    """
    packet_us = (mss + HEADER) * 8 / 1000 / RATE_GBPS
    ack_us = HEADER * 8 / 1000 / RATE_GBPS
    away_us = packet_us + 2 * ack_us + 4 * DELAY_US
    return int(BUFFER // (mss + HEADER) + away_us / packet_us)


@pytest.mark.parametrize(("mss", "most"), [(1460, 51), (472, 150)])
def test_smaller_packets_let_more_senders_in(mss, most):
    """With windows of a packet: 51 senders lose none at 1500 B, 150 at 512 B, and two more do."""
    assert most_senders(mss) == most
    for senders, loses in ((most, False), (most + 2, True)):
        answers = {
            "name": "answers",
            "arrivals": {"at-once": {"jitter": "1ms"}},
            "matrix": {"incast": {"senders": senders, "receiver": 0}},
            "sizes": {"fixed": f"{40 * mss}B"},
        }
        tcp = {"mss": f"{mss}B", "receive_window": f"{mss}B", "handshake": False, "delayed_ack": 1}
        drops = incast(senders, tcp=tcp, traffic=[answers]).summary["counters"]["drops"]
        assert (drops > 0) == loses, (senders, drops)


def test_staggered_answers_lose_nothing():
    """Thirty senders with windows of eight segments, five at a time: none is lost, and batches follow each other.

    Forty segments of 1500 B fit into 64 KB. All at once they are 240, and do not.
    """
    tcp = {"initial_window": 8, "receive_window": "11680B", "handshake": False, "rto_min": "200ms"}

    def batch(number: int, size: int) -> dict[str, Any]:
        begins = {"after": {"entry": f"b{number - 1}", "each": "all"}} if number else "at-once"
        pairs = [[1 + number * size + sender, 0] for sender in range(size)]
        return {
            "name": f"b{number}",
            "arrivals": begins,
            "matrix": {"pairs": pairs},
            "sizes": {"fixed": "116800B"},
        }

    together = incast(30, tcp=tcp, traffic=[batch(0, 30)])
    staggered = incast(30, tcp=tcp, traffic=[batch(number, 5) for number in range(6)])
    assert together.summary["counters"]["timeouts"] > 0
    assert staggered.summary["counters"]["drops"] == 0
    # 30 x 80 segments of 1500 B take 28.8 ms at line rate; between two batches the link idles for a round trip at most.
    end_ms = staggered.summary["end_ps"] / 1e9
    assert 28.8 < end_ms < 28.8 + 6 * 0.15 + 0.1
