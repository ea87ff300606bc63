"""The path of each connection of a run, as its packets show it.

Connections open one after another, each when the packets of the one before are gone. A sample between two of them then
says which links the last one used; these must make one way from its sender to its receiver.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from flowyard.sweeps import Sweep

# Of a connection: ten packets at 10 Gbps over any network here take a tenth of a millisecond.
PACKETS, PACKET_BYTES = 10, 1500


def scenario(topology: Mapping[str, Any], pairs: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """A connection for each pair of hosts, in turn, a millisecond each.

    The last one is there twice: a run ends with its last packet, before that connection's sample.
    """
    return {
        "topology": topology,
        "transport": "datagram",
        "traffic": [
            {
                "name": "connections",
                "matrix": {"pairs": [list(pair) for pair in (*pairs, pairs[-1])]},
                "arrivals": {
                    "times": {"at": [f"{1000 * n + 100}us" for n in range(len(pairs) + 1)], "jitter": "0s"}
                },
                # 28 B of each packet are headers.
                "sizes": {"fixed": f"{PACKETS * (PACKET_BYTES - 28)}B"},
            }
        ],
        "observe": {"samples": {"every": "1ms"}},
    }


def paths(sweep: Sweep) -> pl.DataFrame:
    """A row for each run and connection but the last; hosts have names such as "host 0".

    Columns: the axes, replica, connection, links (their numbers in the path's order), nodes (their names), hops, and
    one_path, whether they are one way from sender to receiver; else links are in the order of their numbers.
    """
    keys = [*sweep.axes, "replica"]
    flows = sweep.flows.select(*keys, connection="id", source="src", target="dst").collect()
    used = (
        sweep.scan("samples")
        .filter(pl.col("series") == "utilisation", pl.col("value") > 0)
        .select(*keys, connection=pl.col("time_ps") // 10**9 - 1, id=pl.col("id").cast(pl.UInt32))
        .join(
            sweep.links.select(*keys, "id", pl.col("from", "to").cast(pl.String)),
            on=[*keys, "id"],
            how="left",
        )
        .sort(*keys, "connection", "id")
        .group_by(*keys, "connection", maintain_order=True)
        .agg(pl.col("id", "from", "to"))
        .collect()
    )
    rows = []
    for row in used.join(flows, on=[*keys, "connection"], how="left").iter_rows(named=True):
        hops = list(zip(row["from"], row["to"], row["id"], strict=True))
        links, nodes = _walk(hops, f"host {row['source']}")
        whole = len(links) == len(hops) and nodes[-1] == f"host {row['target']}"
        rows.append(
            {key: row[key] for key in (*keys, "connection")}
            | {
                "links": " ".join(map(str, links if whole else row["id"])),
                "nodes": " > ".join(nodes) if whole else "",
                "hops": len(hops),
                "one_path": whole,
            }
        )
    return pl.DataFrame(rows)


def _walk(hops: list[tuple[str, str, int]], node: str) -> tuple[list[int], list[str]]:
    """Follows links from a node for as long as exactly one leads on."""
    links: list[int] = []
    nodes = [node]
    while len(links) < len(hops) and len(ways := [hop for hop in hops if hop[0] == nodes[-1]]) == 1:
        ((_, to, link),) = ways
        links.append(link)
        nodes.append(to)
    return links, nodes
