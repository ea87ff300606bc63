"""Settings of HPCC's ns-3 code (config.txt), as the fields of a scenario that correspond to them.

    PACKET_PAYLOAD_SIZE 1000
    SIMULATOR_STOP_TIME 4.00
    CC_MODE 1
    KMAX_MAP 3 25000000000 400 50000000000 800 100000000000 1600

A key and its values a line; `simulation/mix/config_doc.txt` and `scratch/third.cc` of
alibaba-edu/High-Precision-Congestion-Control say what they mean. A file does not hold a network or flows: it names
theirs. What has no counterpart is listed, and so is what other congestion controls than the chosen one would use.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from flowyard.folders.reading import shown
from flowyard.interchange import conweave_config as conweave
from flowyard.interchange.hpcc_rtt import base_rtt_ns
from flowyard.interchange.network import Network
from flowyard.interchange.text import RATE_UNITS, Source, rate_text, time_text

_KEY = re.compile(r"[A-Z][A-Z0-9_]*", re.ASCII)
# One of them tells the file.
_TELLING = re.compile(
    r"(?m)^[ \t]*(CC_MODE|KMAX_MAP|TOPOLOGY_FILE|PACKET_PAYLOAD_SIZE|SIMULATOR_STOP_TIME)[ \t]+\S"
)
# Names of files, and what it traces.
_OTHER = re.compile(r"\w+_FILE|ENABLE_TRACE|QLEN_MON_\w+")
# Controls of `roce` that read no marks.
_UNMARKED = ("hpcc", "timely", "powertcp")
# Settings that one congestion control alone reads in HPCC's code.
_CONTROLS = {
    "DCQCN": (
        *("CLAMP_TARGET_RATE", "ALPHA_RESUME_INTERVAL", "RATE_DECREASE_INTERVAL", "RP_TIMER"),
        *("EWMA_GAIN", "FAST_RECOVERY_TIMES"),
    ),
    "HPCC": ("U_TARGET", "MI_THRESH", "MULTI_RATE", "FAST_REACT", "SAMPLE_FEEDBACK", "INT_MULTI"),
    "DCTCP": ("DCTCP_RATE_AI",),
    "HPCC-PINT": ("PINT_LOG_BASE", "PINT_PROB"),
    "DCQCN and TIMELY": ("RATE_HAI",),
}
# The congestion control of each CC_MODE, the transport that runs it, and the control of `roce`; None: not modelled.
_MODES: dict[int, tuple[str, str | None, str]] = {
    1: ("DCQCN", "roce", "dcqcn-hpcc"),
    3: ("HPCC", "roce", "hpcc"),
    7: ("TIMELY", "roce", "timely"),
    8: ("DCTCP", "roce", "dctcp"),
    10: ("HPCC-PINT", None, ""),
}
# Bytes besides the payload, and of an acknowledgement, with telemetry or a timestamp: those of that code.
_WIRE = {
    "hpcc": ("90B", "88B"),
    "timely": ("56B", "60B"),
    "dctcp": ("48B", "60B"),
    "dcqcn-hpcc": ("48B", "60B"),
}
# The field of each key, and the reader of its value.
_Fields: TypeAlias = dict[str, tuple[str, Callable[[int, str, str], Any]]]
_PAYLOAD_MAX = 65_000
# Its flows start no earlier, and links go down so much later than the file says.
_START_PS = 2 * 10**12


def is_it(text: str) -> bool:
    """Whether a text is such a file."""
    return _TELLING.search(text) is not None


@dataclass
class Config:
    """Contents of a file.

    Attributes:
        source: The file.
        values: Line and words of each key.
        used: The keys that a field of the scenario has.
        unread: The keys whose settings change nothing under its congestion control.
        notes: What was assumed.
        control: The congestion control in place of that of the file, where the user names one.
    """

    source: Source
    values: dict[str, tuple[int, list[str]]]
    used: set[str] = field(default_factory=set)
    unread: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    control: str | None = None

    def transport(self) -> str:
        """The transport that runs the congestion control of the file; refused if none does."""
        line, word = self._word("CC_MODE") or (0, "")
        if not line:
            raise self.source.wrong(0, "has no CC_MODE; say --transport, such as roce")
        mode = self.source.whole(line, "CC_MODE", word)
        name, transport, _ = _MODES.get(mode, ("not known", None, ""))
        if transport is None:
            runs = ", ".join(f"{mode} ({name})" for mode, (name, runs, _) in _MODES.items() if runs)
            raise self.source.wrong(
                line,
                f"CC_MODE {mode} is {name}, which is not here; those of CC_MODE {runs} are. --transport dcqcn is the"
                " nearest, and takes the settings that the file has for DCQCN",
            )
        self.used.add("CC_MODE")
        return transport

    def files(self) -> str:
        """The files that it names, as one tells the user."""
        named = [(key, self._word(f"{key}_FILE")) for key in ("TOPOLOGY", "FLOW")]
        return " and ".join(
            f"its {key}_FILE, {shown(word[1])}" if word else f"a {key}_FILE" for key, word in named
        )

    def parts(self, transport: str, network: Network | None, rate_bps: int | None) -> dict[str, Any]:
        """Transport, ports and end of a scenario.

        Args:
            transport: What hosts do.
            network: The network, if a file has it.
            rate_bps: The rate of hosts, if no file has the network but the user says it.
        """
        found: dict[str, Any] = {"transport": {transport: self._transport(transport, network)}}
        rates = _host_rates(network) or ({rate_bps} if rate_bps else set())
        ports = {} if self._reads_no_marks(transport) else self._ports(rates, network)
        if ports:
            found["queue"] = {"lossless": ports}
        size = self._taken("BUFFER_SIZE", self._mebibytes) if transport in ("roce", "dcqcn") else None
        if size:
            found["buffer"] = {"hpcc": {"size": size, "frame_bytes": "43B"}}
            found.setdefault("queue", {"lossless": {}})
        if transport == "roce" and self._is_conweave():
            self._as_conweave(found, size, network)
        run = {"until": stop} if (stop := self._taken("SIMULATOR_STOP_TIME", self._seconds)) else {}
        if transport == "roce":
            run |= {"time_unit": "1ns", "ties": "arrival"}
            self.notes.append(
                "run.time_unit is 1ns, as in ns-3: links are up to some percent faster than their rates; of packets"
                " that arrive together the one goes first whose transmission began first (run.ties)"
            )
        if run:
            found["run"] = run
        return found

    def _is_conweave(self) -> bool:
        """Whether it is a file of ConWeave's code."""
        return any(key in self.values for key in conweave.KEYS)

    def _as_conweave(self, found: dict[str, Any], size: str | None, network: Network | None) -> None:
        """Changes the parts of a scenario to those of ConWeave's code."""
        irn = bool(self._taken("ENABLE_IRN", self._flag))
        pauses = self._taken("ENABLE_PFC", self._flag) is not False
        if (self._word("LB_MODE") or (0, ""))[1] == "0":
            self.used.add("LB_MODE")
        cables: dict[int, int] = {}
        for cable in network.cables if network else ():
            cables[cable.rate_bps] = max(cables.get(cable.rate_bps, 0), cable.delay_ps)
        payload = int((self._word("PACKET_PAYLOAD_SIZE") or (0, "1000"))[1])
        rtt_ns, rates = base_rtt_ns(network, payload) if network else None, _host_rates(network)
        bdp = rtt_ns * max(rates) // (8 * 10**9) if rtt_ns and rates else None
        found["transport"] = {"roce": conweave.transport(found["transport"]["roce"], irn=irn, bdp=bdp)}
        marks = found.pop("queue", {}).get("lossless", {})
        found.pop("buffer", None)
        self.notes += conweave.notes(irn=irn, pauses=pauses)
        if pauses:
            found |= conweave.pausing(size, cables, marks)
        else:
            ports, notes = conweave.dropping(size, marks)
            found |= ports
            self.notes += notes

    def _threshold(self, kilobytes: float) -> str:
        """A threshold of marks."""
        return conweave.above_own(int(kilobytes)) if self._is_conweave() else f"{int(kilobytes)}KB"

    def faults(self, network: Network | None) -> list[dict[str, Any]]:
        """The link that goes down, if one does."""
        line, words = self.values.get("LINK_DOWN", (0, []))
        if len(words) < 3 or words[0] == "0":
            self.used.add("LINK_DOWN")
            return []
        delay, a, b = (self.source.whole(line, "LINK_DOWN", word) for word in words[:3])
        if network is None or network.host_of is None:
            raise self.source.wrong(
                line, "takes a link down by its nodes' numbers; name its TOPOLOGY_FILE too"
            )
        hosts = network.host_of
        cable = [f"{'host' if node in hosts else 'switch'} {node}" for node in (a, b)]
        if not set(cable) <= set(network.names):
            raise self.source.wrong(line, f"takes the link {a}-{b} down, which the network does not have")
        self.used.add("LINK_DOWN")
        self.notes.append("LINK_DOWN counts from 2 s, as in HPCC's code")
        return [{"at": time_text(_START_PS + delay * 10**6), "target": {"cable": cable}, "change": "down"}]

    def all_notes(self) -> list[str]:
        """Imported and ignored settings."""
        known = self.used | self.unread
        left = [key for key in self.values if key not in known and not _OTHER.fullmatch(key)]
        taken = ", ".join(key for key in self.values if key in self.used)
        notes = [f"taken from {self.source.name}: {taken}", *self.notes]
        for control, keys in _CONTROLS.items():
            if others := [key for key in left if key in keys]:
                notes.append(f"for {control} alone: {', '.join(others)}")
        if left := [key for key in left if not any(key in keys for keys in _CONTROLS.values())]:
            notes.append(f"without a counterpart here: {', '.join(left)}")
        return notes

    def _transport(self, transport: str, network: Network | None) -> dict[str, Any]:
        if transport == "dcqcn":
            return self._fields(self._hosts() | self._dcqcn()) | self._by_time()
        if transport == "roce":
            return self._roce(self._control(), network)
        if transport != "tcp":
            return {}
        payload = self._taken("PACKET_PAYLOAD_SIZE", self._bytes)
        found: dict[str, Any] = {"mss": payload} if payload else {}
        if self.control:
            found["congestion"] = {self.control: {}}
        if self._control() == "dctcp":
            gain = self._taken("EWMA_GAIN", self._share)
            found["congestion"] = {"dctcp": {} if gain is None else {"g": gain}}
        return found

    def _control(self) -> str:
        """The control that the user names, or that of the file's CC_MODE; its DCQCN if it has none that is modelled."""
        if self.control:
            return self.control
        line, word = self._word("CC_MODE") or (0, "")
        mode = self.source.whole(line, "CC_MODE", word) if line else 1
        return _MODES.get(mode, ("", None, ""))[2] or "dcqcn-hpcc"

    def _roce(self, control: str, network: Network | None) -> dict[str, Any]:
        """The transport `roce` with that control."""
        hosts = self._fields(self._hosts())
        if hosts.pop("cnp_interval", None) and control != "dcqcn-hpcc":
            self.used.discard("RATE_DECREASE_INTERVAL")
        if hosts.get("ack_every") == 0:
            hosts["ack_every"] = 1
            self.notes.append("ack_every is 1: with L2_ACK_INTERVAL 0 no flow completes in HPCC's code")
        if control not in _WIRE:
            self.notes.append(f"{control} is none of HPCC's code: its settings are its defaults")
            return hosts | {"congestion": {control: {}}}
        header, ack = _WIRE[control]
        fields = {
            "hpcc": self._hpcc,
            "timely": self._timely,
            "dctcp": self._dctcp,
            "dcqcn-hpcc": self._dcqcn_hpcc,
        }[control]()
        found = {"min_rate": "100Mbps"} | self._fields(fields)
        if control == "hpcc":
            found = {"max_stage": 5, "multi_rate": True, "int_multi": 1} | found
        if control == "dcqcn-hpcc":
            found = {"alpha_timer": "55us", "fast_recovery": 5} | found
        found["window"] = self._window()
        found |= self._base_rtt(control, found["window"], network)
        # Acknowledgements are of the data's class at switches, whatever ACK_HIGH_PRIO says.
        wire = {"header_bytes": header, "ack_bytes": ack, "control_class": 1}
        return hosts | wire | {"recovery": self._recovery(), "congestion": {control: found}}

    def _base_rtt(self, control: str, window: str, network: Network | None) -> dict[str, str]:
        """The round trip of that code, where the control uses one."""
        if control != "hpcc" and window == "none":
            return {}
        payload = int((self._word("PACKET_PAYLOAD_SIZE") or (0, "1000"))[1])
        time_ns = base_rtt_ns(network, payload) if network else None
        if time_ns is None:
            self.notes.append(
                "base_rtt is the longest round trip, with headers and ACKs; HPCC's code has 1000 B one way"
            )
            return {}
        self.notes.append(f"base_rtt is that of HPCC's code, {time_ns} ns: payload, one way")
        return {"base_rtt": f"{time_ns}ns"}

    def _recovery(self) -> dict[str, Any]:
        """Go-back-N or go-back-0, whose reports of a missing packet that code repeats after 500 us."""
        chunk = self._taken("L2_CHUNK_SIZE", self._chunk)
        if self._taken("L2_BACK_TO_ZERO", self._flag) and chunk:
            return {"go-back-0": {"chunk": chunk, "nak_interval": "500us"}}
        return {"go-back-n": {"nak_interval": "500us"}}

    def _window(self) -> str:
        """The field `window`, by HAS_WIN and VAR_WIN, whose values in HPCC's code are 1 and 0."""
        has = self._taken("HAS_WIN", self._flag)
        variable = self._taken("VAR_WIN", self._flag)
        if has is False:
            return "none"
        return "variable" if variable else "fixed"

    def _by_time(self) -> dict[str, str]:
        """Increases of DCQCN, and notes on its fields."""
        if "FAST_RECOVERY_TIMES" in self.used:
            self.notes.append(
                "fast_recovery is one more than FAST_RECOVERY_TIMES, which is compared before it counts"
            )
        if "RATE_DECREASE_INTERVAL" in self.used:
            self.notes.append(
                "cnp_interval is the nearest to RATE_DECREASE_INTERVAL, which makes one cut of several CNPs"
            )
        self.notes.append("byte_counter: rates rise by time alone in HPCC's code")
        return {"byte_counter": "1000GB"}

    def _fields(self, fields: _Fields) -> dict[str, Any]:
        """The fields whose keys the file has."""
        values = ((name, self._taken(key, read)) for key, (name, read) in fields.items())
        return {name: value for name, value in values if value is not None}

    def _hosts(self) -> _Fields:
        """Fields of the transport, whatever its control."""
        return {
            "PACKET_PAYLOAD_SIZE": ("payload", self._bytes),
            "L2_ACK_INTERVAL": ("ack_every", self._packets),
            "RATE_DECREASE_INTERVAL": ("cnp_interval", self._microseconds),
        }

    def _dcqcn(self) -> _Fields:
        return {
            "ALPHA_RESUME_INTERVAL": ("alpha_timer", self._microseconds),
            "RP_TIMER": ("rate_timer", self._microseconds),
            "EWMA_GAIN": ("g", self._share),
            "FAST_RECOVERY_TIMES": ("fast_recovery", self._one_more),
            "RATE_AI": ("rate_ai", self._rate),
            "RATE_HAI": ("rate_hai", self._rate),
            "MIN_RATE": ("min_rate", self._rate),
        }

    def _dcqcn_hpcc(self) -> _Fields:
        return {
            "ALPHA_RESUME_INTERVAL": ("alpha_timer", self._microseconds),
            "RATE_DECREASE_INTERVAL": ("decrease_interval", self._microseconds),
            "RP_TIMER": ("rate_timer", self._microseconds),
            "EWMA_GAIN": ("g", self._share),
            "FAST_RECOVERY_TIMES": ("fast_recovery", self._stages),
            "RATE_AI": ("rate_ai", self._rate),
            "RATE_HAI": ("rate_hai", self._rate),
            "MIN_RATE": ("min_rate", self._rate),
            "CLAMP_TARGET_RATE": ("clamp_target", self._flag),
        }

    def _hpcc(self) -> _Fields:
        return {
            "U_TARGET": ("eta", self._share),
            "MI_THRESH": ("max_stage", self._stages),
            "RATE_AI": ("ai", self._rate),
            "MIN_RATE": ("min_rate", self._rate),
            "MULTI_RATE": ("multi_rate", self._flag),
            "FAST_REACT": ("fast_react", self._flag),
            "SAMPLE_FEEDBACK": ("sample_feedback", self._flag),
            "INT_MULTI": ("int_multi", self._stages),
        }

    def _timely(self) -> _Fields:
        return {
            "RATE_AI": ("ai", self._rate),
            "RATE_HAI": ("hai", self._rate),
            "MIN_RATE": ("min_rate", self._rate),
        }

    def _dctcp(self) -> _Fields:
        return {
            "EWMA_GAIN": ("g", self._share),
            "DCTCP_RATE_AI": ("ai", self._rate),
            "MIN_RATE": ("min_rate", self._rate),
        }

    def _reads_no_marks(self, transport: str) -> bool:
        """Whether thresholds of ports change nothing; says so of those that the file has."""
        control = self._control() if transport == "roce" else ""
        if control not in _UNMARKED:
            return False
        self.unread = {key for key in ("ENABLE_QCN", *_MAPS.values()) if key in self.values}
        if self.unread:
            keys = ", ".join(key for key in self.values if key in self.unread)
            self.notes.append(f"without effect under {control}, which reads no marks: {keys}")
        return True

    def _ports(self, rates: set[int], network: Network | None) -> dict[str, Any]:
        """The thresholds of ports, for the rate of hosts and other rates of links."""
        if (self._word("ENABLE_QCN") or (0, ""))[1] == "0":
            self.used.add("ENABLE_QCN")
            return {"kmin": conweave.NEVER, "kmax": conweave.NEVER}
        maps = {name: self._map(key) for name, key in _MAPS.items() if key in self.values}
        if not maps:
            return {}
        rate = max(rates, default=None)
        found: dict[str, Any] = {"mark": "dequeue"}
        for name, by_rate in maps.items():
            key, values = _MAPS[name], set(by_rate.values())
            if len(values) > 1 and rate is None:
                self.notes.append(
                    f"{key} has thresholds by rate: not taken, as no file has the rate of hosts"
                )
                continue
            if rate is not None and rate not in by_rate:
                known = ", ".join(map(rate_text, by_rate))
                raise self.source.wrong(
                    self.values[key][0],
                    f"{key} has no threshold for {rate_text(rate)}, the rate of hosts; it has {known}",
                )
            value = by_rate[rate] if rate is not None else values.pop()
            found[name] = value if name == "pmax" else self._threshold(value)
            self.used.add(key)
        if "ENABLE_QCN" in self.values:
            self.used.add("ENABLE_QCN")
        others = self._other_rates(maps, rate, network)
        if others:
            found["by_rate"] = others
        self.notes.append("ports mark on departure, as in HPCC's code")
        return found

    def _other_rates(
        self, maps: dict[str, dict[int, float]], rate: int | None, network: Network | None
    ) -> list[dict[str, Any]]:
        """The thresholds of ports whose links have another rate than hosts."""
        rates = {cable.rate_bps for cable in network.cables} - {rate} if network else set()
        known = set.intersection(*map(set, maps.values())) if maps.keys() == _MAPS.keys() else set()
        if rates - known:
            named = ", ".join(map(rate_text, sorted(rates - known)))
            self.notes.append(f"no thresholds for links of {named}: their ports have those of hosts")
        return [
            {
                "rate": rate_text(other),
                "kmin": self._threshold(maps["kmin"][other]),
                "kmax": self._threshold(maps["kmax"][other]),
                "pmax": maps["pmax"][other],
            }
            for other in sorted(rates & known)
        ]

    def _map(self, key: str) -> dict[int, float]:
        """Values by rates in bit/s: their number, then the pairs."""
        line, words = self.values[key]
        source = self.source
        count = source.whole(line, f"the number of rates of {key}", words[0] if words else "", 1, 1000)
        if len(words) < 1 + 2 * count:
            raise source.wrong(
                line, f"{key} announces {count} rates, each with a value; it has {len(words) - 1} words"
            )
        found: dict[int, float] = {}
        for rate, value in zip(words[1 : 2 * count : 2], words[2 : 2 * count + 1 : 2], strict=True):
            number = source.whole(line, f"a rate of {key}", rate, 1, 10**15)
            if key == "PMAX_MAP":
                found[number] = self._share(line, key, value)
            else:
                found[number] = source.whole(line, f"a threshold of {key}", value, 0, 10**6)
        return found

    def _word(self, key: str) -> tuple[int, str] | None:
        """Line and value of a key that has one."""
        line, words = self.values.get(key, (0, []))
        return (line, words[0]) if words else None

    def _taken(self, key: str, read: Callable[[int, str, str], Any]) -> Any:
        """The value of a key as a field has it; None without the key."""
        found = self._word(key)
        if found is None:
            return None
        self.used.add(key)
        return read(found[0], key, found[1])

    def _bytes(self, line: int, key: str, word: str) -> str:
        return f"{self.source.whole(line, key, word, 1, _PAYLOAD_MAX)}B"

    def _chunk(self, line: int, key: str, word: str) -> str | None:
        chunk = self.source.whole(line, key, word, 0, 10**9)
        return f"{chunk}B" if chunk else None

    def _mebibytes(self, line: int, key: str, word: str) -> str:
        return f"{self.source.whole(line, key, word, 1, 10**5)}MiB"

    def _packets(self, line: int, key: str, word: str) -> int:
        return self.source.whole(line, key, word, 0, 1_000_000)

    def _stages(self, line: int, key: str, word: str) -> int:
        return self.source.whole(line, key, word, 0, 1000)

    def _flag(self, line: int, key: str, word: str) -> bool:
        return bool(self.source.whole(line, key, word, 0, 1))

    def _one_more(self, line: int, key: str, word: str) -> int:
        return self.source.whole(line, key, word, 0, 999) + 1

    def _seconds(self, line: int, key: str, word: str) -> str:
        return time_text(self.source.scaled(line, key, word, 12)[0])

    def _microseconds(self, line: int, key: str, word: str) -> str:
        return time_text(self.source.scaled(line, key, word, 6)[0])

    def _share(self, line: int, key: str, word: str) -> float:
        parts, exact = self.source.scaled(line, key, word, 15)
        if parts > 10**15:
            raise self.source.wrong(line, f"{key} is {shown(word)}; must be between 0 and 1")
        return float(word) if exact else parts / 10**15

    def _rate(self, line: int, key: str, word: str) -> str:
        return rate_text(self.source.quantity(line, key, word, RATE_UNITS))


_MAPS: Mapping[str, str] = {"kmin": "KMIN_MAP", "kmax": "KMAX_MAP", "pmax": "PMAX_MAP"}


def read(source: Source) -> Config:
    """The settings of a file."""
    values: dict[str, tuple[int, list[str]]] = {}
    for line, words in source.lines():
        key = words[0]
        if not _KEY.fullmatch(key):
            raise source.wrong(
                line, f"{shown(key)} is no key; a line of a config.txt is a key in capitals and its values"
            )
        if key in values:
            raise source.wrong(line, f"{key} is given a second time, after line {values[key][0]}")
        values[key] = (line, words[1:])
    return Config(source, values)


def _host_rates(network: Network | None) -> set[int]:
    """The rates of the links of hosts."""
    if network is None:
        return set()
    hosts = len(network.hosts)
    return {cable.rate_bps for cable in network.cables if min(cable.a, cable.b) < hosts}
