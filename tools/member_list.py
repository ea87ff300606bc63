"""The figures of tools/member_figures.py: a member, its page, its chart, what stands beside it, and the sentence.

A variant changes fields of the page's example; the numbers of a sentence are those of a variant, by its place:
`{0[max]}`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from member_charts import Chart, Completions, Means, Queue, Rates, Shares, Turns, Windows


@dataclass(frozen=True)
class Figure:
    """A figure on a page below docs/."""

    name: str
    page: str
    chart: Chart
    variants: Mapping[str, Mapping[str, Any]]
    says: str
    always: Mapping[str, Any] = field(default_factory=dict)
    size: tuple[float, float] = (5.4, 2.5)
    legend: Any = "best"
    legend_columns: int = 1


def transport(
    name: str, chart: Chart, variants: Mapping[str, Mapping[str, Any]], says: str, **other: Any
) -> Figure:
    """A figure on the page of a transport."""
    return Figure(name, f"transports/{name}.md", chart, variants, says, **other)


def md1(load: float) -> float:
    """Mean number of packets in an M/D/1 system: Pollaczek and Khinchine."""
    return load + load**2 / (2 * (1 - load))


# The same network and traffic under TCP; the agent of switches, if any, goes.
TCP = {
    "transport": {"tcp": {"preset": "datacentre"}},
    "queue": "drop-tail",
    "routing.balancer": "per-flow",
    "agent": None,
    "controller": None,
}
# Sixty workers in place of twelve, in the example that the pages on DAQ and D3 have.
SIXTY = {
    "topology.single-switch.hosts": 62,
    "traffic.responses.matrix.incast.senders": 60,
    "traffic.long.matrix.pairs": [[61, 0]],
}


def timers(rto: str, delayed: str) -> dict[str, str]:
    """Timers of TCP."""
    names = ("rto_min", "rto_initial", "delayed_ack_timeout")
    return {f"transport.tcp.{name}": value for name, value in zip(names, (rto, rto, delayed), strict=True)}


TRANSPORTS = [
    transport(
        "datagram",
        Means("switch 0 -> host 1", "utilisation of the link", md1, 1500),
        {
            f"{load} %": {"transport.datagram.pace": {"poisson": f"{load / 10}Gbps"}}
            for load in range(10, 100, 10)
        },
        "The example at nine rates. At a load of 0.8 the port has {7[mean]:.2f} packets on average, by the "
        "closed form {7[formula]:.2f}; at 0.9 {8[mean]:.2f} and {8[formula]:.2f}.",
    ),
    transport(
        "tcp",
        Completions("answers"),
        {"1 ms": timers("1ms", "500us"), "10 ms": {}, "200 ms": timers("200ms", "40ms")},
        "The example under three smallest timeouts. All bytes take 17 ms at line rate; the last reply takes "
        "{0[max]:.0f} ms, {1[max]:.0f} ms and {2[max]:.0f} ms.",
    ),
    transport(
        "dctcp",
        Queue("switch -> host 0", "50us", since=4, until=14, level=65),
        {"DCTCP": {}, "NewReno": {"transport.tcp.congestion": "newreno"}},
        "Under DCTCP the two long flows keep {0[mean]:.0f} packets at the port (dotted: K = 65), the "
        "replies at 2 ms fit into the buffer, and the port drops {0[drops]:.0f} packets; under NewReno it "
        "is full twice, and drops {1[drops]:.0f}.",
        legend="upper right",
    ),
    transport(
        "d2tcp",
        Rates(("near", "far"), "4ms", rate="Mbit/s"),
        {"D2TCP": {}, "DCTCP": {"transport.tcp.congestion": "dctcp"}},
        "Under D2TCP the flow with the near deadline gets more than the others and ends after {0[end]:.0f} "
        "ms, in time; under DCTCP shares are alike, and it ends after {1[end]:.0f} ms.",
    ),
    transport(
        "l2dct",
        Completions("answers"),
        {"L2DCT": {}, "DCTCP": {"transport.tcp.congestion": "dctcp"}},
        "The example under L2DCT and DCTCP. The last answer takes {0[max]:.2f} ms under L2DCT and {1[max]:.2f} ms "
        "under DCTCP.",
    ),
    transport(
        "ictcp",
        Completions("answers"),
        {"ICTCP": {}, "TCP": {"transport.tcp.ictcp": None}},
        "The example under ICTCP and under TCP alone. The last of 24 answers takes {0[max]:.0f} ms under ICTCP and "
        "{1[max]:.0f} ms under TCP, which waits for timeouts of 200 ms.",
    ),
    transport(
        "bos",
        Completions("permutation"),
        {
            "XMP": {},
            "LIA over DCTCP": {"transport.mptcp.coupling": "lia", "transport.mptcp.tcp.congestion": "dctcp"},
        },
        "The example under XMP and under LIA over DCTCP. The last flow takes {0[max]:.0f} ms and {1[max]:.0f} ms.",
    ),
    transport(
        "cubic",
        Windows("long", "50ms", since=1),
        {"CUBIC": {}, "NewReno": {"transport.tcp.congestion": "newreno"}},
        "After a loss the window of CUBIC returns fast to its last maximum, slowly past it, then fast "
        "again; NewReno's grows by a segment a round trip. On average it is {0[mean]:.0f} KB under CUBIC "
        "and {1[mean]:.0f} KB under NewReno.",
    ),
    transport(
        "swift",
        Queue("switch -> host 0", "100us", since=3, until=20),
        {
            "Swift": {},
            "without flow scaling": {"transport.tcp.congestion": {"swift": {"fs_range": "0us"}}},
            "NewReno": {"transport.tcp.congestion": "newreno"},
        },
        "Between 3 and 20 ms the port has {0[mean]:.0f} packets on average under Swift, {1[mean]:.0f} "
        "without flow scaling, and {2[mean]:.0f} under NewReno, which drops {2[drops]:,.0f} packets; Swift "
        "drops {0[drops]:.0f}.",
        legend="center right",
    ),
    transport(
        "bbr",
        Queue("left switch -> right switch", "1ms", since=500, until=3000),
        {"BBR": {}, "CUBIC": {"transport.tcp.congestion": "cubic"}},
        "Between 0.5 and 3 s the port has {0[mean]:.0f} packets on average under BBR, and {1[mean]:.0f} under CUBIC; "
        "BBR drops {0[drops]:,.0f} packets, CUBIC {1[drops]:,.0f}.",
        legend="center right",
    ),
    transport(
        "pias",
        Completions("web-search", below="100e3", unit="us", tail=True),
        {"PIAS": {}, "DCTCP": {"transport.tcp.tagging": None}},
        "Flows below 100 KB, of 1,000 measured flows: the share that takes longer. The longest takes "
        "{0[max]:,.0f} us under PIAS and {1[max]:,.0f} us under DCTCP, the mean is {0[mean]:.0f} and "
        "{1[mean]:.0f} us.",
    ),
    transport(
        "mptcp",
        Completions("permutation", log=False),
        {f"{number} subflows": {"transport.mptcp.subflows": number} for number in (8, 4, 2)}
        | {"1 subflow": {"transport.mptcp.subflows": 1}},
        "The last flow takes {3[max]:.0f} ms with one subflow, on one path, and {0[max]:.0f} ms with eight, "
        "which share all four; at line rate it would be 80 ms.",
    ),
    transport(
        "repflow",
        Completions("short", unit="us"),
        {
            "RepFlow": {},
            "RepSYN": {"transport.repflow.replicate": "syn"},
            "TCP": {"transport": {"tcp": {"preset": "datacentre"}}},
        },
        "Short flows take {0[median]:.0f} us under RepFlow, {1[median]:.0f} us under RepSYN and {2[median]:.0f} us "
        "under TCP (medians); the slowest {0[max]:,.0f}, {1[max]:,.0f} and {2[max]:,.0f} us.",
    ),
    Figure(
        "fuso",
        "transports/mptcp.md",
        Completions("flows"),
        {"FUSO": {}, "MPTCP": {"transport.mptcp.recovery": "own"}},
        "Half of the flows take {0[median]:.2f} ms and more with FUSO, and {1[median]:.2f} ms without; the last "
        "one takes {0[max]:.0f} ms and {1[max]:.0f} ms.",
    ),
    Figure(
        "mmptcp",
        "transports/mptcp.md",
        Completions("short"),
        {"MMPTCP": {}, "MPTCP": {"transport.mptcp.scatter": None}},
        "Half of the short flows take {0[median]:.0f} ms and more under MMPTCP, and {1[median]:.0f} ms under MPTCP; "
        "the last one takes {0[max]:.0f} ms and {1[max]:.0f} ms.",
    ),
    transport(
        "parallel-tcp",
        Completions("stride", log=False),
        {
            "all four paths": {"transport.parallel-tcp.paths": "all"},
            "two paths, front-back": {},
            "two paths, in-order": {"transport.parallel-tcp.partition": "in-order"},
            "one path": {"transport.parallel-tcp.paths.count": 1},
        },
        "Half of the flows take {3[median]:.1f} ms and more over one path, {1[median]:.1f} ms over two and "
        "{0[median]:.1f} ms over all four, where the load is even. With two, the last one takes "
        "{1[max]:.1f} ms from front and back, and {2[max]:.1f} ms in order.",
        legend="lower right",
    ),
    transport(
        "ndp",
        Queue("pod 0 edge 0 -> host 0", "5us", unit="KB", until=2.5, level=12),
        {"NDP": {}, "TCP": TCP},
        "The port to the receiver of the incast has at most {0[max]:.1f} KB under NDP, eight full packets "
        "(dotted) and headers: {0[trims]:.0f} packets are trimmed and {0[drops]:.0f} dropped in the "
        "network. Under TCP it has up to {1[max]:.0f} KB, and {1[drops]:.0f} packets are dropped.",
    ),
    transport(
        "uet",
        Queue("pod 0 edge 0 -> host 0", "2us", unit="KB", until=0.7),
        {control: {"transport.uet.control": control} for control in ("nscc", "rccc", "both")},
        "{0[trims]:.0f} packets are trimmed under NSCC, {1[trims]:.0f} under RCCC and {2[trims]:.0f} under "
        "both, most of them of the first windows; the port has {0[mean]:.0f}, {1[mean]:.0f} and {2[mean]:.0f} "
        "KB on average, and the last flow takes {0[fct_max]:.3f}, {1[fct_max]:.3f} and {2[fct_max]:.3f} ms.",
    ),
    transport(
        "pfabric",
        Completions("queries", of="slowdown", below="100e3"),
        {
            "pFabric": {},
            "DCTCP": {"transport": {"tcp": {"preset": "datacentre", "congestion": "dctcp"}}, "queue": "ecn"},
        },
        "Flows below 100 KB: the 99th percentile of their slowdown is {0[p99]:.2f} under pFabric and "
        "{1[p99]:.1f} under DCTCP.",
    ),
    transport(
        "homa",
        Completions("messages", of="slowdown", below="10e3"),
        {"Homa": {}, "NDP": {"transport": "ndp"}},
        "Messages below 10 KB: the 99th percentile of their slowdown is {0[p99]:.2f} under Homa and {1[p99]:.1f} "
        "under NDP.",
    ),
    transport(
        "phost",
        Completions("messages", of="slowdown", below="10e3"),
        {"pHost": {}, "pFabric": {"transport": "pfabric"}},
        "Messages below 10 KB: the 99th percentile of their slowdown is {0[p99]:.2f} under pHost and {1[p99]:.2f} "
        "under pFabric.",
    ),
    transport(
        "dcpim",
        Completions("flows", of="slowdown", below="100e3"),
        {"dcPIM": {}, "pHost": {"transport": "phost"}},
        "Flows below 100 KB: the 99th percentile of their slowdown is {0[p99]:.2f} under dcPIM and {1[p99]:.2f} "
        "under pHost.",
    ),
    transport(
        "expresspass",
        Queue("switch -> host 0", "5us", unit="KB"),
        {
            "ExpressPass": {},
            "NDP": {"transport": "ndp"},
            "DCTCP": {"transport": {"tcp": {"preset": "datacentre", "congestion": "dctcp"}}},
        },
        "The port holds at most {0[max]:.1f} KB under ExpressPass, {1[max]:.1f} KB under NDP and "
        "{2[max]:.1f} KB under DCTCP; the last flow takes {0[fct_max]:.2f}, {1[fct_max]:.2f} and "
        "{2[fct_max]:.2f} ms.",
    ),
    transport(
        "qcn",
        Queue("switch -> host 0", "50us", unit="KB"),
        {"QCN": {}, "DCQCN": {"transport.roce.congestion": "dcqcn"}},
        "The port holds {0[mean]:.0f} KB on average under QCN and {1[mean]:.0f} KB under DCQCN. The first and the last "
        "flow end after {0[fct_min]:.1f} and {0[fct_max]:.1f} ms, and after {1[fct_min]:.1f} and {1[fct_max]:.1f} ms.",
    ),
    transport(
        "sird",
        Queue("host 0 -> switch", "20us", unit="KB of credit", since=4, until=12),
        {"SIRD": {}, "without marks of senders": {"transport.sird.sender_threshold": "1GB"}},
        "From 4 to 12 ms host 0 holds unused credit of {0[mean]:.0f} KB on average; without its marks it holds "
        "{1[mean]:.0f} KB. The other host's flow is the first to end, after {0[fct_min]:.1f} and "
        "{1[fct_min]:.1f} ms.",
    ),
    transport(
        "rcp",
        Rates(("long",), "20ms", rate="Mbit/s"),
        {"authors' constants": {}, "constants of data centres": {"agent": "rcp"}},
        "All five flows have the same rate at any time (Jain's index {0[jain]:.3f} and {1[jain]:.3f}). The "
        "sum grows to the link's rate over a second under the authors' constants, and is there at once "
        "under the others: the flows end after {0[last]:,.0f} and {1[last]:,.0f} ms.",
    ),
    transport(
        "numfabric",
        Rates(("three", "one"), "500us"),
        {"counts as three": {}, "counts as one": {"traffic.three.transport.numfabric.weight": 1.0}},
        "The flow of 15 MB has {0[share]:.0f} % of the link where it counts as three flows, and {1[share]:.0f} % where "
        "it counts as one. The last flow ends after {0[last]:.1f} and {1[last]:.1f} ms.",
    ),
    transport(
        "dcqcn",
        Queue("switch -> host 0", "20us", unit="KB"),
        {"DCQCN": {}, "without marks": {"queue.lossless.kmin": "500MB", "queue.lossless.kmax": "600MB"}},
        "64 first packets at line rate fill the port to the thresholds of flow control. Notifications then "
        "lower the rates: {0[pauses]:.0f} pause frames, against {1[pauses]:,.0f} without marks, where "
        "senders go on at line rate. Packets dropped: {0[drops]:.0f} and {1[drops]:.0f}.",
    ),
    transport(
        "hpcc",
        Queue("switch -> host 0", "2us", unit="KB"),
        {
            "HPCC": {},
            "TIMELY": {"transport.roce.congestion": "timely"},
            "DCQCN": {"transport.roce.congestion": "dcqcn"},
        },
        "HPCC drains the packets of the start and then keeps {0[mean]:.0f} KB at the port on average; TIMELY, whose "
        "thresholds are of longer round trips, {1[mean]:,.0f} KB, and DCQCN {2[mean]:,.0f} KB. Packets dropped: "
        "{0[drops]:.0f}, {1[drops]:.0f} and {2[drops]:.0f}.",
    ),
    transport(
        "timely",
        Queue("switch -> host 0", "20us", unit="KB"),
        {
            "TIMELY": {},
            "without control": {"transport.roce.congestion": {"timely": {"t_low": "1s", "t_high": "2s"}}},
        },
        "TIMELY keeps {0[mean]:.0f} KB at the port on average, with {0[pauses]:.0f} pause frames; at the rate of the "
        "line, flow control alone holds {1[mean]:,.0f} KB there, with {1[pauses]:,.0f} pause frames.",
    ),
    transport(
        "powertcp",
        Queue("switch -> host 0", "2us", unit="KB"),
        {
            "PowerTCP": {},
            "theta-PowerTCP": {"transport.roce.congestion": {"powertcp": {"mode": "theta"}}},
            "DCQCN": {"transport.roce.congestion": "dcqcn"},
        },
        "Nine flows that join fill the port with up to {0[max]:.0f} KB under PowerTCP, {1[max]:.0f} KB by round-trip "
        "times and {2[max]:,.0f} KB under DCQCN; on average {0[mean]:.0f}, {1[mean]:.0f} and {2[mean]:.0f} KB wait.",
    ),
    transport(
        "daq",
        Completions("responses", of="deadline", within=1),
        {"DAQ": {}, "TCP": TCP},
        "With 60 workers: {0[met]:.0f} % of the responses meet their deadlines (left of the dotted line) "
        "under DAQ, which drops {0[drops]:.0f} packets, and {1[met]:.0f} % under TCP, which drops "
        "{1[drops]:.0f}.",
        always=SIXTY,
    ),
    transport(
        "pdq",
        Turns(("queries", "updates"), "200us"),
        {"PDQ": {}, "TCP": TCP},
        "Intervals of 0.2 ms in which a flow receives, one row per flow: on average {0[together]:.1f} flows at "
        "a time under PDQ, one after another, and {1[together]:.1f} under TCP. Flows complete after "
        "{0[mean]:.1f} and {1[mean]:.1f} ms on average; PDQ's senders abandoned {0[abandoned]:.0f} that "
        "could not meet their deadlines.",
    ),
    transport(
        "racs",
        Rates(("flows",), "1ms", rate="Mbit/s"),
        {"RACS": {}, "RCP": {"transport": "rcp", "agent": "rcp"}},
        "The flow with the fewest remaining bytes gets most of the link under RACS, and all get the same "
        "under RCP: flows end after {0[mean_end]:.0f} ms and {1[mean_end]:.0f} ms on average.",
    ),
    transport(
        "d3",
        Completions("responses", of="deadline", within=1),
        {"D3": {}, "alpha = beta = 0": {"agent.d3": {"alpha": 0, "beta": 0}}, "TCP": TCP},
        "With 60 workers: {0[met]:.0f} % of the responses meet their deadlines (left of the dotted line) "
        "under D3, {1[met]:.0f} % if all of the link may be allocated, and {2[met]:.0f} % under TCP.",
        always=SIXTY,
    ),
    transport(
        "central",
        Completions("bursts", of="slowdown"),
        {"ASY": {}, "SYN": {"controller": "syn"}, "TCP": TCP},
        "The median of the slowdown is {0[median]:.1f} under ASY, {1[median]:.1f} under SYN, whose bursts "
        "wait for slots, and {2[median]:.1f} under TCP, the 99th percentile {0[p99]:.0f}, {1[p99]:.0f} and "
        "{2[p99]:.0f}.",
    ),
]


def queue(
    name: str, chart: Chart, variants: Mapping[str, Mapping[str, Any]], says: str, **other: Any
) -> Figure:
    """A figure on the page of a queue."""
    return Figure(f"queue-{name}", f"queues/{name}.md", chart, variants, says, **other)


DROP_TAIL = {"queue": "drop-tail"}
LAST_PORT = "switch -> host 0"
BOTTLENECK = "left switch -> right switch"
DATACENTRE_DCTCP = {"transport": {"tcp": {"preset": "datacentre", "congestion": "dctcp"}}, "queue": "ecn"}

QUEUES = [
    queue(
        "infinite",
        Queue(LAST_PORT, "5us", unit="KB"),
        {"infinite": {}, "drop-tail": DROP_TAIL},
        "Without a limit the port has up to {0[max]:,.0f} KB, and all {0[flows]:.0f} flows complete; with "
        "100 packets, {1[max]:.0f} KB, {1[drops]:,.0f} packets are dropped, and {1[completed]:.0f} of the "
        "flows complete.",
    ),
    queue(
        "drop-tail",
        Queue(BOTTLENECK, "2ms", since=50),
        {f"{limit} packets": {"queue.drop-tail.limit.packets": limit} for limit in (400, 100, 10)},
        "After 50 ms the port has {0[mean]:.0f} packets on average with a limit of 400, {1[mean]:.0f} with "
        "100 and {2[mean]:.0f} with 10; the last flow takes {0[fct_max]:.0f}, {1[fct_max]:.0f} and "
        "{2[fct_max]:.0f} ms.",
    ),
    queue(
        "ecn",
        Queue(BOTTLENECK, "100us", since=5, until=30),
        {f"K = {limit}": {"queue.ecn.threshold.packets": limit} for limit in (100, 65, 20)},
        "From 5 ms on the port has {0[mean]:.0f}, {1[mean]:.0f} and {2[mean]:.0f} packets on average, and "
        "the link is busy: the last flow takes {0[fct_max]:.1f}, {1[fct_max]:.1f} and {2[fct_max]:.1f} ms.",
    ),
    queue(
        "ndp",
        Queue(LAST_PORT, "10us", unit="KB"),
        {f"{limit} packets": {"queue.ndp.data_limit.full-packets": limit} for limit in (30, 15, 8)},
        "First windows fill the queues of data and of headers; then pulls hold the queue at its limit. "
        "{0[trims]:.0f}, {1[trims]:.0f} and {2[trims]:.0f} packets are trimmed, and the last flow takes "
        "{0[fct_max]:.2f}, {1[fct_max]:.2f} and {2[fct_max]:.2f} ms: eight packets suffice.",
    ),
    queue(
        "trimming",
        Queue(LAST_PORT, "5us", unit="KB"),
        {f"{limit} packets": {"queue.trimming.limit.full-packets": limit} for limit in (86, 43, 36)},
        "First windows fill the queue, and marks hold it below its limit. {0[trims]:.0f}, {1[trims]:.0f} and "
        "{2[trims]:.0f} packets are trimmed, and the last flow takes {0[fct_max]:.3f}, {1[fct_max]:.3f} and "
        "{2[fct_max]:.3f} ms.",
    ),
    queue(
        "credit",
        Queue(LAST_PORT, "1us", unit="KB", until=0.2),
        {"10 tokens": {}, "1 token": {"queue.credit.burst": 1}},
        "Ten tokens let ten packets come together: the port holds up to {0[max]:.1f} KB, and with one token "
        "{1[max]:.1f} KB. The last flow takes {0[fct_max]:.2f} and {1[fct_max]:.2f} ms.",
    ),
    queue(
        "link-credits",
        Queue(LAST_PORT, "1us", unit="KB"),
        {"credits": {}, "pauses": {"queue": {"lossless": {"xoff": "16KB"}}}},
        "With credits of 16 KB for each sender's link the port holds up to {0[max]:.0f} KB, with pauses at 16 KB "
        "{1[max]:.0f} KB. The last flow takes {0[fct_max]:.2f} and {1[fct_max]:.2f} ms.",
    ),
    queue(
        "strict-priority",
        Completions("short", unit="us"),
        {"three classes": {}, "one class": {"queue.strict-priority.classes": 1}},
        "Beside four long flows a short one takes {0[median]:.0f} us with three classes and {1[median]:.0f} "
        "us with one (medians); the last long flow takes {0[fct_max]:.1f} ms in both.",
    ),
    queue(
        "selective-drop",
        Queue(LAST_PORT, "5us", unit="KB", until=2),
        {
            "selective dropping": {},
            "strict priority": {"queue": {"strict-priority": {"mark": "none", "limit": {"bytes": "36864B"}}}},
        },
        "With selective dropping the port has up to {0[max]:.1f} KB and drops {0[drops]:.0f} packets, under strict "
        "priority {1[max]:.1f} KB and {1[drops]:.0f} packets. The long flow takes {0[fct_max]:.2f} and "
        "{1[fct_max]:.2f} ms.",
    ),
    queue(
        "pfabric",
        Turns(("flows",), "50us"),
        {"pFabric": {}, "DCTCP": DATACENTRE_DCTCP},
        "Intervals of 50 us in which a flow receives, one row per flow: {0[together]:.1f} flows at a time under "
        "pFabric, the shortest first, and {1[together]:.1f} under DCTCP; flows take {0[mean]:.1f} and "
        "{1[mean]:.1f} ms on average.",
    ),
    queue(
        "wfq",
        Rates(("three", "one"), "500us"),
        {"3 and 1": {}, "1 and 3": {"traffic.three.transport.numfabric.weight": 1.0 / 3.0}},
        "Until the first flow ends, that of 15 MB has {0[share]:.0f} % of the link with weights of 3 and 1, and "
        "{1[share]:.0f} % with 1 and 3.",
    ),
    queue(
        "lossless",
        Queue(LAST_PORT, "20us", unit="KB"),
        {"lossless": {}, "drop-tail": DROP_TAIL},
        "With flow control the port has up to {0[max]:,.0f} KB, {0[pauses]:.0f} pause frames stop hosts, "
        "and {0[drops]:.0f} packets are dropped; drop-tail drops {1[drops]:.0f}. The last flow takes "
        "{0[fct_max]:.1f} and {1[fct_max]:.1f} ms.",
    ),
    *(
        queue(
            name,
            Queue(BOTTLENECK, "2ms", since=50),
            {label: {}, "drop-tail": DROP_TAIL},
            f"After 50 ms the port has {{0[mean]:.0f}} packets on average under {label} and {{1[mean]:.0f}} under "
            "drop-tail; the last flow takes {0[fct_max]:.0f} and {1[fct_max]:.0f} ms.",
            legend="center right" if name == "red" else "upper right",
        )
        for name, label in {"codel": "CoDel", "red": "RED", "pie": "PIE"}.items()
    ),
    queue(
        "phantom",
        Queue(BOTTLENECK, "100us", since=10),
        {
            "phantom queue": {},
            "threshold of 65 packets": {"queue": {"ecn": {"threshold": {"packets": 65}}}},
        },
        "After 10 ms the port has {0[mean]:.1f} packets on average under the phantom queue and {1[mean]:.1f} under a "
        "threshold of 65 packets; the last flow takes {0[fct_max]:.1f} and {1[fct_max]:.1f} ms.",
    ),
    queue(
        "fpq",
        Queue(LAST_PORT, "1ms", since=50),
        {"FPQ": {}, "drop-tail": DROP_TAIL},
        "After 50 ms the port has {0[mean]:.0f} packets on average under FPQ and {1[mean]:.0f} under drop-tail, which "
        "drops {1[drops]:,.0f} packets, and FPQ {0[drops]:,.0f}; the last flow takes {0[fct_max]:.0f} and "
        "{1[fct_max]:.0f} ms.",
    ),
    queue(
        "daq",
        Rates(("short", "long"), "1ms", rate="Mbit/s", together=True),
        {"weights 3 and 1": {}, "weights 1 and 3": {"queue.daq.short_weight": 1, "queue.daq.long_weight": 3}},
        "Flows with deadlines together get {0[share]:.0f} % of the link with weights of 3 and 1, and "
        "{1[share]:.0f} % with 1 and 3.",
    ),
]

OTHERS = [
    Figure(
        "balancers",
        "routing.md",
        Shares("aggregation-core"),
        {
            name: {"routing.balancer": name}
            for name in (
                *("single", "mod-k", "dual", "per-flow", "nix", "valiant", "per-packet", "permuted"),
                *(
                    "weighted",
                    "letflow",
                    "drill",
                    "detail",
                    "adaptive",
                    "entropy",
                    "drb",
                    "presto",
                    "flare",
                    "spain",
                ),
            )
        },
        "Of {0[links]:.0f} links from aggregation to core, `single` uses {0[used]:.0f}, `per-flow` "
        "{3[used]:.0f}, and `per-packet` all {6[used]:.0f}. The busiest link carries {0[most]:.1f} times an "
        "even division under `single`, {3[most]:.1f} times under `per-flow`, {6[most]:.2f} times under "
        "`per-packet` and {7[most]:.2f} times under `permuted`; the last flow takes {0[fct_max]:.2f}, "
        "{3[fct_max]:.2f}, {6[fct_max]:.2f} and {7[fct_max]:.2f} ms.",
    ),
    Figure(
        "controller-syn",
        "control.md",
        Completions("bursts", of="slowdown"),
        {
            policy: {"controller.syn.policy": policy}
            for policy in ("mmf", "ocf", "srjf", "least-recently-allocated")
        },
        "The slowdown of half of the bursts is at most {0[median]:.1f} under `mmf`, {1[median]:.1f} under "
        "`ocf`, {2[median]:.1f} under `srjf` and {3[median]:.1f} under `least-recently-allocated`; the 99th "
        "percentile is {0[p99]:.1f}, {1[p99]:.1f}, {2[p99]:.1f} and {3[p99]:.1f}.",
    ),
    Figure(
        "controller-rates",
        "control.md",
        Rates(("both", "first", "last"), "500us", rate="Mbit/s"),
        {
            "ASY": {"controller": "asy"},
            "max-min": {},
            "Flowtune": {"controller": "flowtune"},
        },
        "The flow that shares both links gets {0[share]:.0f} % of the sum of the three rates under ASY, "
        "whose sum is the largest, {1[share]:.0f} % under max-min, and {2[share]:.0f} % under Flowtune, "
        "which is proportionally fair.",
    ),
    Figure(
        "controller-dard",
        "control.md",
        Rates(("long",), "1ms", rate="Mbit/s"),
        {"DARD": {}, "without": {"controller": None}},
        "Each flow alone would take 41 ms. Under DARD the last one ends after {0[last]:.0f} ms; without, on the "
        "paths of the first hash, after {1[last]:.0f} ms.",
    ),
    Figure(
        "controller-hedera",
        "control.md",
        Rates(("long",), "1ms", rate="Mbit/s"),
        {"Hedera": {}, "without": {"controller": None}},
        "Each flow alone would take 41 ms. With Hedera the last one ends after {0[last]:.0f} ms; without, "
        "on the paths of the first hash, after {1[last]:.0f} ms.",
    ),
]

FIGURES = TRANSPORTS + QUEUES + OTHERS
