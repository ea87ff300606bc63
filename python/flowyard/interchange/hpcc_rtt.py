"""The base round trip of HPCC's ns-3 code: the largest over all pairs of hosts, by which its windows are sized.

Each link of a shortest path counts its delay twice and the transmission of a packet's payload once, in whole
nanoseconds: no headers, no acknowledgement (`scratch/third.cc`, CalculateRoute, with GLOBAL_T 1).
"""

from collections import deque

from flowyard.interchange.network import Network

# A search from each host of a network; larger ones are left to the engine's own round trip.
_LINKS_MOST = 20_000_000


def base_rtt_ns(network: Network, payload_bytes: int) -> int | None:
    """The round trip in ns; None if the network is too large or two hosts are not joined.

    Args:
        network: The network.
        payload_bytes: Payload of a full packet.
    """
    if len(network.hosts) * len(network.cables) > _LINKS_MOST:
        return None
    ends: list[list[tuple[int, int, int]]] = [[] for _ in network.names]
    for cable in network.cables:
        delay_ns, takes_ns = cable.delay_ps // 1000, payload_bytes * 8 * 10**9 // cable.rate_bps
        ends[cable.a].append((cable.b, delay_ns, takes_ns))
        ends[cable.b].append((cable.a, delay_ns, takes_ns))
    return max(
        (_farthest_ns(host, len(network.hosts), ends) for host in range(len(network.hosts))), default=None
    )


def _farthest_ns(host: int, hosts: int, ends: list[list[tuple[int, int, int]]]) -> int:
    """The largest round trip from a host; hosts do not forward."""
    found = {host: (0, 0)}
    queue = deque([host])
    while queue:
        node = queue.popleft()
        if node < hosts and node != host:
            continue
        for to, delay_ns, takes_ns in ends[node]:
            if to not in found:
                found[to] = (found[node][0] + delay_ns, found[node][1] + takes_ns)
                queue.append(to)
    return max(2 * delay + takes for node, (delay, takes) in found.items() if node < hosts)
