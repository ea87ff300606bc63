"""Runs in a process of their own: its peak of memory is then that of the run alone."""

import json
import subprocess
import sys
from collections.abc import Mapping
from os import PathLike
from typing import Any


def run(
    scenario: str | PathLike[str] | Mapping[str, Any], overrides: Mapping[str, object] | None = None
) -> dict[str, Any]:
    """Runs a scenario in a new process and returns its counters and what else its figures need."""
    plain = scenario if isinstance(scenario, Mapping) else str(scenario)
    return python("-m", "flowyard.bench.child", text=json.dumps([plain, dict(overrides or {})]))


def python(*arguments: str, text: str = "") -> dict[str, Any]:
    """Runs Python with these arguments and that input, and returns the JSON that it prints."""
    done = subprocess.run(
        [sys.executable, *arguments], input=text, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"a process of the benchmark failed:\n{done.stderr}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def main() -> None:
    """In the new process: reads what to run, runs it, prints what it took."""
    from flowyard import results

    result = results.run(*json.loads(sys.stdin.read()))
    # The peak of memory has been read at the end of the run: what follows does not count.
    import polars as pl

    flows = pl.DataFrame(result.flows)
    rate = pl.DataFrame(result.links)["rate_bps"][0]
    goodput = flows.select((pl.col("size_bytes") * 8e12 / pl.col("fct_ps") / rate).median()).item()
    figures = {
        "status": result.status,
        "median_goodput": goodput,
        "full_packets": flows["delivered_bytes"].sum() / payload(result.summary["scenario"]),
    }
    print(json.dumps(result.summary["counters"] | figures))


def payload(scenario: dict[str, Any]) -> int:
    """Payload bytes of a full data packet of the scenario's transport."""

    def size(text: str) -> int:
        number = text.removesuffix("B")
        return int(number.removesuffix("K")) * (1000 if number.endswith("K") else 1)

    ((name, fields),) = scenario["transport"].items()
    if name in ("mptcp", "parallel-tcp"):
        # A subflow has TCP's fields.
        name, fields = "tcp", fields["tcp"]
    if name == "ndp":
        header = size(fields["header_bytes"]) if fields["mtu_includes_header"] else 0
        return size(fields["mtu"]) - header
    if name == "datagram":
        return size(fields["lengths"]["fixed"]) - size(fields["header_bytes"])
    if name == "central":
        return size(fields["lengths"]["fixed"])
    if "mtu" in fields:
        headers = ("network_header", "scheduled_header", "header_bytes")
        return size(fields["mtu"]) - sum(size(fields[key]) for key in headers if key in fields)
    # Transports whose rates switches assign share a table of how packets are sent; TCP's field of that name is a word.
    if isinstance(fields.get("pacing"), dict):
        fields = fields["pacing"]
    return size(fields.get("payload") or fields["mss"])


if __name__ == "__main__":
    main()
