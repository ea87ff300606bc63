"""The command line of htsim_uec (ultraethernet/uet-htsim, main_uec.cpp) as fields of a scenario.

One table says for each option how many values it takes and which fields it sets. From it follow the reader, its
refusals and the table in docs/how-to/from-ns3-or-htsim.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from flowyard.errors import UserError
from flowyard.folders.reading import shown
from flowyard.interchange.text import decimal, rate_text, time_text

# Powers of ten from a microsecond to a picosecond, and from a megabit to a bit.
US, MBPS = 6, 6
# A degraded link keeps this share of its rate, queue and thresholds.
DEGRADED = 0.25
# Controls that are a sender's alone.
SENDERS = ("nscc", "dctcp", "constant")


@dataclass
class Settings:
    """Settings of one command line.

    Attributes:
        mtu: Bytes of a full packet, with its header.
        window: Packets of the first window, if given.
        sender: The control of the sender, None with -receiver_cc_only.
        receiver: Whether receivers give credit.
        nscc: Fields of the sender's window.
        rccc: Fields of the receiver's credit.
        transport: Further fields of transport.uet.
        queue: Fields of queue.trimming.
        rate_bps: Rate of links without a .topo file, and of the hosts' links with one.
        delay_ps: Delay of such links.
        degraded: Links from cores that are degraded.
        run: Fields of run.
        matrix: The file of -tm.
        topology: The file of -topo.
        reuse: Whether messages share connections.
    """

    mtu: int = 4150
    window: int | None = None
    sender: str | None = "nscc"
    receiver: bool = False
    nscc: dict[str, Any] = field(default_factory=dict)
    rccc: dict[str, Any] = field(default_factory=dict)
    transport: dict[str, Any] = field(default_factory=dict)
    queue: dict[str, Any] = field(default_factory=dict)
    rate_bps: int = 100 * 10**9
    delay_ps: int = 10**6
    degraded: int = 0
    run: dict[str, Any] = field(default_factory=lambda: {"seed": 13, "measure": "all", "until": "1ms"})
    matrix: str | None = None
    topology: str | None = None
    reuse: bool = False

    def control(self) -> Any:
        """Field `control` of the transport."""
        if self.sender is None:
            return {"rccc": self.rccc} if self.rccc else "rccc"
        if not self.receiver:
            return {"nscc": self.nscc} if self.nscc and self.sender == "nscc" else self.sender
        if self.sender != "nscc":
            raise ValueError(f"-sender_cc_algo {self.sender} with credit of the receiver has no counterpart")
        both = {name: fields for name, fields in (("nscc", self.nscc), ("rccc", self.rccc)) if fields}
        return {"both": both} if both else "both"

    def parts(self) -> dict[str, Any]:
        """Transport, queue and run of the scenario."""
        uet = {"control": self.control(), **self.transport}
        if self.window is not None:
            uet["initial_window"] = f"{self.window * self.mtu}B"
        queue = {"queue": {"trimming": self.queue}} if self.queue else {}
        return {"transport": {"uet": uet}, **queue, "run": self.run}


@dataclass(frozen=True)
class Option:
    """An option.

    Attributes:
        values: Their number.
        meaning: Fields that it sets, for the page.
        apply: Sets them; a ValueError gives the reason why there is no counterpart.
    """

    values: int
    meaning: str
    apply: Callable[..., None]


def read(words: Sequence[str], where: str) -> Settings:
    """The settings of a command line.

    Args:
        words: Its options and their values.
        where: Place for messages, such as a file with its line.

    Raises:
        UserError: An option is unknown, has no counterpart or a wrong value.
    """
    settings, rest = Settings(), list(words)
    while rest:
        name = rest.pop(0)
        option = OPTIONS.get(name)
        if option is None:
            known = ", ".join(name for name, option in OPTIONS.items() if option.meaning != REFUSED)
            raise UserError(
                f"{where}: {shown(name)} is no option of htsim_uec that is read; these are {known}"
            )
        if len(rest) < option.values:
            raise UserError(f"{where}: {name} takes {option.values} value{'s'[: option.values - 1]}")
        values, rest = rest[: option.values], rest[option.values :]
        try:
            option.apply(settings, *values)
        except ValueError as error:
            raise UserError(f"{where}: {' '.join([name, *values])}: {error}") from None
    try:
        settings.control()
    except ValueError as error:
        raise UserError(f"{where}: {error}") from None
    return settings


def page() -> list[str]:
    """The table of options as the how-to has it; options of one meaning share a row."""
    rows: dict[str, list[str]] = {}
    for name, option in OPTIONS.items():
        rows.setdefault(option.meaning, []).append(f"`{name}`")
    return [
        "| htsim_uec | here |",
        "| --- | --- |",
        *(f"| {', '.join(names)} | {text} |" for text, names in rows.items()),
    ]


def _whole(word: str, low: int = 0) -> int:
    if not (word.isascii() and word.isdecimal() and len(word) <= 15 and int(word) >= low):
        raise ValueError(f"must be a whole number, {low} or more")
    return int(word)


def _scaled(word: str, power: int) -> int:
    found = decimal(word, power)
    if found is None or found[0] >= 10**18:
        raise ValueError("must be a number, 0 or more, such as 2.5")
    return found[0]


def _share(word: str) -> float:
    _scaled(word, 0)
    return float(word)


def _sender_alone(settings: Settings) -> None:
    settings.sender, settings.receiver = settings.sender or "nscc", False


def _receiver_alone(settings: Settings) -> None:
    settings.sender, settings.receiver = None, True


def _with_sender(settings: Settings) -> None:
    settings.sender = settings.sender or "nscc"


def _with_receiver(settings: Settings) -> None:
    settings.receiver = True


def _algorithm(settings: Settings, word: str) -> None:
    if word not in SENDERS:
        raise ValueError(f"must be one of {', '.join(SENDERS)}")
    settings.sender = word


def _mtu(settings: Settings, word: str) -> None:
    settings.mtu = _whole(word, 65)
    settings.transport["mtu"] = f"{settings.mtu}B"


def _window(settings: Settings, word: str) -> None:
    settings.window = _whole(word, 1)


def _packets(name: str) -> Callable[[Settings, str], None]:
    def apply(settings: Settings, word: str) -> None:
        settings.queue[name] = {"full-packets": _whole(word, 1)}

    return apply


def _thresholds(settings: Settings, low: str, high: str) -> None:
    settings.queue |= {"ecn_low": {"full-packets": _whole(low)}, "ecn_high": {"full-packets": _whole(high)}}


def _without_trimming(settings: Settings) -> None:
    settings.transport["trimming"] = False
    settings.queue["trim"] = "none"


def _entropy(settings: Settings, word: str) -> None:
    known = ("mixed", "oblivious", "bitmap", "reps", "reps_legacy")
    if word not in known:
        raise ValueError(f"must be one of {', '.join(known)}")
    settings.transport["entropy"] = word.replace("_", "-")


def _field(part: str, name: str, value: Callable[[str], Any]) -> Callable[[Settings, str], None]:
    def apply(settings: Settings, word: str) -> None:
        getattr(settings, part)[name] = value(word)

    return apply


def _fixed(part: str, name: str, value: Any) -> Callable[[Settings], None]:
    def apply(settings: Settings) -> None:
        getattr(settings, part)[name] = value

    return apply


def _attribute(name: str, value: Callable[[str], Any]) -> Callable[[Settings, str], None]:
    def apply(settings: Settings, word: str) -> None:
        setattr(settings, name, value(word))

    return apply


def _reuse(settings: Settings) -> None:
    settings.reuse = True


def _only(*allowed: str) -> Callable[[Settings, str], None]:
    """An option whose other values have no counterpart."""

    def apply(_settings: Settings, word: str) -> None:
        if word not in allowed:
            raise ValueError(f"has no counterpart; read: {', '.join(allowed)}")

    return apply


def _refused(reason: str) -> Callable[..., None]:
    def apply(_settings: Settings, *_values: str) -> None:
        raise ValueError(reason)

    return apply


def _nothing(_settings: Settings, *_values: str) -> None:
    """An option without effect here."""


def _bytes(word: str) -> str:
    return f"{_whole(word, 1)}B"


def _us(word: str) -> str:
    return time_text(_scaled(word, US))


_RCCC = "`control.rccc`: "
REFUSED = "refused, with the reason"
OPTIONS = {
    "-tm": Option(1, "the .cm file", _attribute("matrix", str)),
    "-topo": Option(
        1,
        "the .topo file; without one `topology.fat-tree` of the .cm file's nodes",
        _attribute("topology", str),
    ),
    "-sender_cc_only": Option(0, '`transport.uet.control = "nscc"`', _sender_alone),
    "-receiver_cc_only": Option(0, '`control = "rccc"`', _receiver_alone),
    "-sender_cc": Option(0, '`control = "both"`; `-sender_cc` alone is `"nscc"`', _with_sender),
    "-receiver_cc": Option(0, '`control = "both"`; `-sender_cc` alone is `"nscc"`', _with_receiver),
    "-sender_cc_algo": Option(1, '`control = "nscc"`, `"dctcp"`, `"constant"`', _algorithm),
    "-target_q_delay": Option(
        1, "`control.nscc`: `target_delay`, in us", _field("nscc", "target_delay", _us)
    ),
    "-qa_gate": Option(1, "`control.nscc`: `quick_adapt_gate`", _field("nscc", "quick_adapt_gate", _whole)),
    "-oversubscribed_cc": Option(
        0, f"{_RCCC}`oversubscription_control = true`", _fixed("rccc", "oversubscription_control", True)
    ),
    "-force_disable_oversubscribed_cc": Option(
        0, f"{_RCCC}`oversubscription_control = false`", _fixed("rccc", "oversubscription_control", False)
    ),
    "-Ai": Option(1, f"{_RCCC}`increase`", _field("rccc", "increase", _share)),
    "-Md": Option(1, f"{_RCCC}`decrease`", _field("rccc", "decrease", _share)),
    "-alpha": Option(1, f"{_RCCC}`gain`", _field("rccc", "gain", _share)),
    "-cwnd": Option(1, "`initial_window`, so many times `mtu`", _window),
    "-mtu": Option(1, "`mtu`", _mtu),
    "-paths": Option(
        1, "`entropy_values`", _field("transport", "entropy_values", lambda word: _whole(word, 1))
    ),
    "-load_balancing_algo": Option(1, "`entropy`", _entropy),
    "-sack_threshold": Option(1, "`ack_bytes`", _field("transport", "ack_bytes", _bytes)),
    "-sleek": Option(0, "`sleek = {}`", _fixed("transport", "sleek", {})),
    "-enable_accurate_base_rtt": Option(0, '`base_rtt = "pair"`', _fixed("transport", "base_rtt", "pair")),
    "-disable_base_rtt_update_on_nack": Option(
        0, "`base_rtt_from_nacks = false`", _fixed("transport", "base_rtt_from_nacks", False)
    ),
    "-disable_trim": Option(0, '`trimming = false`, and `queue.trimming.trim = "none"`', _without_trimming),
    "-q": Option(1, "`queue.trimming.limit`, in full packets", _packets("limit")),
    "-ecn": Option(2, "`queue.trimming.ecn_low`, `ecn_high`, in full packets", _thresholds),
    "-trimsize": Option(1, "`queue.trimming.trimmed_bytes`", _field("queue", "trimmed_bytes", _bytes)),
    "-linkspeed": Option(
        1, "`topology.fat-tree.rate`, in Mbps", _attribute("rate_bps", lambda word: _scaled(word, MBPS))
    ),
    "-hop_latency": Option(
        1, "`topology.fat-tree.delay`, in us", _attribute("delay_ps", lambda word: _scaled(word, US))
    ),
    "-failed": Option(
        1,
        "`faults.events`: so many links from cores down to aggregation switches keep a quarter of rate and queue",
        _attribute("degraded", _whole),
    ),
    "-end": Option(1, "`run.until`, in us; 1 ms by default", _field("run", "until", _us)),
    "-seed": Option(1, "`run.seed`; 13 by default", _field("run", "seed", _whole)),
    "-conn_reuse": Option(
        0, 'messages on one connection: `connection = "kept"`; else each is a flow', _reuse
    ),
    "-strat": Option(
        1,
        "`ecmp_host` is the balancer of `uet`; others are refused: set `routing.balancer`",
        _only("ecmp_host"),
    ),
    "-queue_type": Option(
        1,
        "`composite` and `composite_ecn` are `queue.trimming`; others are refused",
        _only("composite", "composite_ecn"),
    ),
    "-planes": Option(1, "1; more are refused", _only("1")),
    "-tiers": Option(1, "3; a .topo file has other numbers", _only("3")),
    "-nodes": Option(1, "nothing: the files have it", _nothing),
    **{
        name: Option(values, "nothing: results are always written", _nothing)
        for name, values in (("-o", 1), ("-log", 1), ("-logtime", 1), ("-logtime_us", 1), ("-debug", 0))
    },
    **{
        name: Option(values, REFUSED, _refused(reason))
        for name, values, reason in (
            ("-queue_size_bdp_factor", 1, "has no counterpart; -q gives the packets of a port"),
            ("-disable_fd", 0, "has no counterpart"),
            ("-host_queue_type", 1, "has no counterpart: hosts send control packets first"),
            ("-pcie", 1, "hosts have no model of PCIe"),
            ("-switch_latency", 1, "give it in a .topo file"),
            ("-ar_sticky_delta", 1, "set routing.balancer.adaptive"),
            ("-ar_granularity", 1, "set routing.balancer.adaptive"),
            ("-ar_method", 1, "set routing.balancer.adaptive"),
        )
    },
}


def network(settings: Settings, nodes: int, where: str) -> dict[str, Any]:
    """The fat-tree of three tiers that htsim_uec builds without a .topo file."""
    k = next((k for k in range(2, 100, 2) if k**3 // 4 == nodes), 0)
    if not k:
        raise UserError(
            f"{where}: no fat-tree of three tiers has {nodes} hosts (k^3/4); -topo names a .topo file"
        )
    return {"fat-tree": {"k": k, "rate": rate_text(settings.rate_bps), "delay": time_text(settings.delay_ps)}}


def faults(settings: Settings, topology: dict[str, Any], where: str) -> list[dict[str, Any]]:
    """Degraded links: the first of those from cores down to aggregation switches, in the switches' order."""
    if not settings.degraded:
        return []
    tree = topology.get("fat-tree")
    if tree is None:
        raise UserError(f"{where}: -failed goes with a fat-tree without a .topo file")
    half = tree["k"] // 2
    most = tree["k"] * half * half
    if settings.degraded > most:
        raise UserError(f"{where}: -failed {settings.degraded}: the fat-tree has {most} links from cores")
    events = []
    for number in range(settings.degraded):
        switch, link = divmod(number, half)
        pod, place = divmod(switch, half)
        ends = [f"core {place + link * half}", f"pod {pod} aggregation {place}"]
        events.append({"at": "0s", "target": {"link": ends}, "change": {"capacity": DEGRADED}})
    return events
