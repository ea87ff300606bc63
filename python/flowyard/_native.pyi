"""The compiled half: crates/python."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, final

__version__: str
# The version and a hash of the engine's sources: what results depend on besides their scenario.
__engine__: str

class ScenarioError(ValueError):
    """A scenario that cannot be run; the text says all that is wrong, one a line.

    Attributes:
        problems: A dict for each, with path, message and, where there is one, value and hint.
    """

    problems: list[dict[str, Any]]

@final
class Table:
    """Columns of results, in the engine's own memory: what `flowyard.Table` wraps."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in their order."""
    @property
    def metadata(self) -> dict[str, str]:
        """Where the table comes from: flowyard.version, flowyard.seed, flowyard.digest and the like."""
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Outcome:
    """What a run left: its tables, and its summary as JSON text."""

    @property
    def flows(self) -> Table: ...
    @property
    def links(self) -> Table: ...
    @property
    def samples(self) -> Table | None: ...
    @property
    def histograms(self) -> Table | None: ...
    @property
    def events(self) -> Table | None: ...
    @property
    def connections(self) -> Table | None: ...
    def captures(self) -> list[tuple[str, bytes]]:
        """The captured packets: (name, content) of a pcap file for each cable."""
    @property
    def summary(self) -> str: ...

def take_panic() -> str | None:
    """The text of the last panic in a call from this thread, and its place in the source.

    None if there was none since the last call of this function.
    """

def schema() -> str:
    """The JSON Schema of scenarios, as text."""

@final
class Checked:
    """A scenario in which nothing is wrong; its flows are drawn when something first needs them, and once.

    Files that the scenario names are looked for in the folder; prototypes are the `Handed` that it may name. `require`
    is called with the bytes that the network will take, before it is built, and raises if there are not so many.

    Raises:
        ScenarioError: It cannot be run; with all problems.
    """

    def __init__(
        self,
        text: str,
        format: str,
        folder: str | PathLike[str],
        overrides: list[tuple[str, str]],
        prototypes: Sequence[object] = (),
        require: Callable[[int], object] | None = None,
    ) -> None: ...
    def replica(self, number: int, name: str | None = None) -> Checked:
        """The scenario's repetition of that number, from 0 for itself; called `name` if it has none.

        Nothing of it is built or drawn yet, so that many can be kept until they are run.

        Raises:
            ScenarioError: Its `run.replica` would have more than 64 bits.
        """
    def resolved(self, whole: bool) -> str:
        """The scenario as JSON with every default filled in; those that depend on other parts only if `whole`."""
    def outlook(self) -> str:
        """What there is to know of a run before it, as JSON: needs, derived, advice.

        {needs: {memory_bytes, packet_hops, end_ps, sample_rows, port_looks}, why_least, derived: {path: value},
        advice: [{path, message, write}]}.

        Raises:
            ScenarioError: It needs more than `run` allows.
        """
    def memory_least(self) -> int:
        """Bytes that a run takes at least, found without drawing its flows."""
    def fabric(self) -> Fabric:
        """Its network."""
    def flows(self) -> Table:
        """The flows that are drawn before a run: id, tag, src, dst, size_bytes, start_ps, deadline_ps.

        start_ps is null for flows that wait for others.
        """
    def run(self, progress: Callable[[Any], object] | None = None) -> Outcome:
        """Runs it to its end; KeyboardInterrupt ends it early with valid tables."""

@final
class Window:
    """A connection's window, as its congestion control in Python sees and sets it. Sizes are in bytes.

    Attributes:
        cwnd: The congestion window, one segment at least. Fractions are rounded down.
        ssthresh: The slow-start threshold; 2**64 - 1 before the first loss.
        mss: A full segment.
        flight: Bytes that were sent and are not acknowledged; of a loss or a mark, those that it halves.
        pacing_bps: The rate at which payload is sent, in bit/s; None: as fast as the window and the wire allow.
    """

    cwnd: float
    ssthresh: float
    pacing_bps: float | None
    @property
    def mss(self) -> int: ...
    @property
    def flight(self) -> int: ...

@final
class Ack:
    """An acknowledgement, of new data or a duplicate. Sizes are in bytes, times in picoseconds.

    Attributes:
        acked: Bytes that it acknowledges; 0: a duplicate.
        now_ps: When it arrives.
        rtt_ps: Time since the segment was sent that it answers.
        srtt_ps: The retransmission timer's estimate of the round trip; None before the first sample.
        in_flight: Bytes sent and not acknowledged before it.
        app_limited: Whether the data at hand or the receive window limits the bytes in flight, and not the congestion
            window.
        marked: Whether it echoes a mark.
        may_grow: Whether the window may grow by it.
        una: Everything before this byte is acknowledged, with it.
        next: Everything before this byte has been sent.
        hops: Links that it has crossed.
    """

    acked: int
    now_ps: int
    rtt_ps: int
    srtt_ps: int | None
    in_flight: int
    app_limited: bool
    marked: bool
    may_grow: bool
    una: int
    next: int
    hops: int

@final
class Signal:
    """A sign of congestion: a loss, a timeout or a mark. Times are in picoseconds.

    Attributes:
        now_ps: When it is noticed.
        dupacks: Of a loss, the duplicate acknowledgements that told of it.
        first: Of a timeout, whether it is the first one of its segment.
        left: Bytes of the flow that are not acknowledged.
        srtt_ps: The retransmission timer's estimate of the round trip; None before the first sample.
        time_left_ps: Time to the flow's deadline, 0 after it; None without one.
    """

    now_ps: int
    dupacks: int
    first: bool
    left: int
    srtt_ps: int | None
    time_left_ps: int | None

@final
class Packet:
    """A packet as a queue sees it. Sizes are in bytes, times in picoseconds.

    Attributes:
        size: Bytes on the wire.
        payload: Its payload.
        flow: Stands for the 5-tuple of its flow, in its direction.
        dst: The host that it is for, by its number.
        priority: Its class of traffic (DSCP): 0 goes first where there are several.
        ecn_capable: Whether it may be marked.
        marked: Whether a port has marked it.
        control: Whether it is an acknowledgement, a pull or another packet without payload.
        trimmable: Whether its payload may be cut off.
        hops: Links that it has crossed.
        arrived_ps: When it came to this port.
    """

    size: int
    payload: int
    flow: int
    dst: int
    priority: int
    ecn_capable: bool
    marked: bool
    control: bool
    trimmable: bool
    hops: int
    arrived_ps: int

@final
class Port:
    """A port as its queue sees it, and what the queue does with packets. Sizes are in bytes, times in picoseconds.

    Attributes:
        now_ps: The time of the decision.
        packets: Packets in the port, the one on the wire included, the one that arrives not.
        bytes: Their bytes.
        wire_bytes: Bytes of the packet on the wire; 0 if there is none.
        waiting: Packets that wait.
        waiting_bytes: Their bytes.
        rate_bps: The rate of the link in bit/s.
        full_packet: Bytes of a full data packet on the wire.
        first: The packet that has waited longest; None if nothing waits.
    """

    now_ps: int
    packets: int
    bytes: int
    wire_bytes: int
    waiting: int
    waiting_bytes: int
    rate_bps: int
    full_packet: int
    first: Packet | None
    def pop(self) -> Packet | None:
        """Takes the packet that has waited longest, to be returned by `dequeue` or dropped; None if nothing waits."""
    def drop(self, packet: Packet) -> None:
        """Drops a packet: the one that arrives, one that waits, or one that was popped."""
    def mark(self, packet: Packet) -> bool:
        """Marks a packet if it is ECN-capable; whether it is."""
    def trim(self, packet: Packet) -> None:
        """Cuts the payload off the packet that arrives, which must be trimmable; its size is that of its headers."""
    def random(self) -> float:
        """A random number from 0 to 1 (less than 1) from the port's own stream, which the scenario's seed sets."""

@final
class Hop:
    """A packet at a node from which several next hops lead to where it goes.

    Attributes:
        count: How many next hops there are.
        flow: Stands for the 5-tuple of the packet's flow, in its direction.
        node: The node's number.
        salt: A random number of 64 bits of the node's own.
        ticket: A number that no other hop of any packet has.
        hops: Links that the packet has crossed.
        now_ps: The time in picoseconds.
    """

    count: int
    flow: int
    node: int
    salt: int
    ticket: int
    hops: int
    now_ps: int

@final
class Host:
    """A host, and a timer of its own that outlives any flow: `flow.host`. Times are in picoseconds.

    Attributes:
        number: Its number.
        now_ps: The time.
    """

    number: int
    now_ps: int
    def set_timer(self, after_ps: int) -> None:
        """Sets its timer, to so many picoseconds from now, in place of an earlier one: `on_host_timer`."""
    def clear_timer(self) -> None:
        """Switches its timer off."""

@final
class Flow:
    """A host's endpoint of a flow: what is known of it there, and its actions.

    Attributes of your own can be set. Sizes are in bytes, times in picoseconds.

    Attributes:
        number: Its number: the row of the flows table.
        src: The number of the sending host.
        dst: The number of the receiving host.
        size: Bytes of the flow.
        packets: Packets of the flow: all have the full payload but the last one.
        payload: Payload of a full packet.
        header_bytes: Bytes of each packet that are not payload.
        priority: The priority of its traffic entry.
        start_ps: When it started.
        deadline_ps: Its deadline, at the sender; None without one.
        rate_bps: The rate of the host's link at the start, in bit/s.
        host: The host of this endpoint.
        now_ps: The time.
        sends: Whether this endpoint is the sender.
        bytes: At the receiver: bytes delivered, each counted once; at the sender: bytes sent at least once.
        next: At the receiver: the first packet that has not been delivered; at the sender: the first one never sent.
        complete: At the receiver: whether every byte has been delivered; at the sender: whether each has been sent.
        finished: Whether the sender has called `finish`.
    """

    number: int
    src: int
    dst: int
    size: int
    packets: int
    payload: int
    header_bytes: int
    priority: int
    start_ps: int
    deadline_ps: int | None
    rate_bps: int
    host: Host
    now_ps: int
    sends: bool
    bytes: int
    next: int
    complete: bool
    finished: bool
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: object) -> None: ...
    def has(self, number: int) -> bool:
        """Whether a packet has been delivered, or, at the sender, has been sent at least once."""
    def ready(self) -> None:
        """The sender has something to send: `next_packet` is called once the wire is free."""
    def data(self, number: int, *, kind: int = 0, seq: int = 0, ack: int = 0, priority: int = 0) -> Data:
        """A data packet, to be returned by `next_packet`: the flow's packet of that number.

        `kind`, `seq` and `ack` hold values of your choice.
        """
    def send(
        self,
        kind: int = 0,
        *,
        number: int = 0,
        seq: int = 0,
        ack: int = 0,
        size: int = ...,
        priority: int = 0,
    ) -> None:
        """Sends a packet without payload to the other endpoint at once, ahead of data.

        `kind`, `number`, `seq` and `ack` hold values of your choice; its size is that of a header unless given.
        """
    def set_timer(self, after_ps: int, kind: int = 0) -> None:
        """Sets the timer of a kind, from 0 to 7, to so many picoseconds from now, in place of an earlier one."""
    def clear_timer(self, kind: int = 0) -> None:
        """Switches the timer of a kind off."""
    def deliver(self, packet: Received) -> int:
        """At the receiver: delivers a packet of data; its bytes if they are new, else 0."""
    def count_timeout(self) -> None:
        """Counts a timeout in the flow's row."""
    def finish(self, acknowledged: bool = True) -> None:
        """The sender is done: none of its methods is called any more. `acknowledged`: every byte is."""
    def random(self) -> float:
        """A random number from 0 to 1 (less than 1) from this endpoint's own stream, which the scenario's seed sets."""

@final
class Data:
    """A data packet to be sent, of `Flow.data`.

    Attributes:
        number: Its number in the flow.
        payload: Its payload.
    """

    number: int
    payload: int

@final
class Received:
    """A packet that has arrived at a host, as a transport sees it. Sizes are in bytes, times in picoseconds.

    Attributes:
        number: Its number in the flow; of a packet without payload, what its sender put there.
        payload: Its payload, even if that has been cut off.
        kind: Its kind, of the sender's choice.
        seq: A number of the sender's choice.
        ack: Another one. Of data, the sort key of ports with the queue "pfabric".
        priority: Its class of traffic (DSCP).
        size: Bytes on the wire.
        control: Whether it is one without payload, of `Flow.send`.
        marked: Whether a port has marked it.
        trimmed: Whether a port has cut the payload off.
        returned: Whether it is a header that a full port has returned to the sender.
        hops: Links that it has crossed.
        sent_ps: When it was made.
    """

    number: int
    payload: int
    kind: int
    seq: int
    ack: int
    priority: int
    size: int
    control: bool
    marked: bool
    trimmed: bool
    returned: bool
    hops: int
    sent_ps: int

@final
class Fabric:
    """The network of a scenario, of which nothing but the topology need be there: read, checked and built once.

    `require`: see `Checked`.

    Raises:
        ScenarioError: The topology cannot be built; with all problems there.
    """

    def __init__(
        self,
        text: str,
        format: str,
        overrides: list[tuple[str, str]],
        require: Callable[[int], object] | None = None,
    ) -> None: ...
    def graph(self) -> str:
        """Its nodes and directed links, as JSON; links `i` and `i ^ 1` are the two directions of one cable.

        {topology, nodes: [{name, tier, host}], links: [[from, to, rate_bps, delay_ps]]}.
        """
    def survey(self) -> str:
        """Paths between hosts by distance, oversubscription and bisection, as JSON."""

@final
class Slotted:
    """A configuration of the slotted link in which nothing is wrong.

    Raises:
        ScenarioError: It cannot be run; with all problems.
    """

    def __init__(self, text: str, format: str, overrides: list[tuple[str, str]]) -> None: ...
    def resolved(self) -> str:
        """The configuration as JSON with every default filled in."""
    def run(
        self,
        discipline: Callable[..., Any] | None = None,
        schedule: bool = False,
        progress: Callable[[int], object] | None = None,
    ) -> tuple[Table, Table, str]:
        """Runs it: the tables of flows and of the schedule, and a summary as JSON text.

        `schedule` keeps who was served when, whether or not `run.schedule` asks for it. KeyboardInterrupt ends the run
        early with valid tables.
        """

def slotted_schema() -> str:
    """The JSON Schema of configurations of the slotted link, as text."""

def explain_slotted() -> dict[str, list[dict[str, str]]]:
    """The columns of both tables: {table: [{name, unit, kind, meaning}]}."""

def read_cdf(
    text: str,
    name: str,
    dialect: str | None = None,
    packet_bytes: int | None = None,
    interpolation: str | None = None,
) -> str:
    """What the text of a file with a distribution of sizes says, as JSON: points, mean_bytes, dialect, interpolation.

    Raises:
        ValueError: The text is no distribution, or the dialect must be said.
    """

def intervals(
    values: Sequence[float], shares: Sequence[float]
) -> tuple[tuple[float | None, float | None], list[tuple[float | None, float | None]]]:
    """The ends of the 95 % intervals of the mean and of percentiles of observations in order of time."""

def floor_seconds(k: int, hops: int) -> float:
    """CPU seconds in which bare packets cross so many links of a k-ary fat-tree."""

def chase_seconds(steps: int) -> float:
    """CPU seconds of so many reads of memory, each of which depends on the one before."""

def rehearse(text: str, parts: int) -> dict[str, Any]:
    """Times of a scenario, given as JSON, in so many parts, one after the other, and its digest.

    `run_s`: its wall time on one thread; of it `lanes_s`: the part that threads would share; `slowest_s`: the slowest
    lane of each window; `windows`: windows with lanes.
    """

def barrier_seconds(threads: int, windows: int) -> float:
    """Seconds in which so many threads begin and end a window without work, on average over so many windows."""

def path_bytes(k: int, connections: int) -> tuple[int, int]:
    """Bytes of the table of whole paths after so many connections under "nix", and how many paths it has."""

def agent_bytes(text: str) -> tuple[int, int]:
    """Bytes of all port agents once a scenario, given as JSON, has been run, and the number of ports that have one.

    Raises:
        ValueError: The scenario cannot be run.
    """

def explain() -> dict[str, list[dict[str, str]]]:
    """The columns of all tables: {table: [{name, unit, kind, meaning}]}."""
