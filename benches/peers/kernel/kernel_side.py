"""The kernel's side: two network namespaces, the emulator between them, and Linux' own TCP.

Needs root, /dev/net/tun, iproute2 and a C compiler. Namespaces and processes go when a run ends, however it ends.
Senders are in one namespace, the receiver in the other; all share one clock.
"""

import ctypes
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cases import EVERY_S, Outcome, Wire

HERE = Path(__file__).parent
LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
SPACES = ("flowyard-a", "flowyard-b")
ADDRESSES = ("10.77.0.1", "10.77.0.2")
PORT = 5077
BUFFER = 24_000_000
CONTROLS = {"reno-": "reno", "reno+": "reno", "cubic+": "cubic", "bbr": "bbr"}
FLAVOURS = {
    "reno-": {"tcp_sack": 0, "tcp_timestamps": 0, "tcp_recovery": 0, "tcp_early_retrans": 0},
    "reno+": {},
    "cubic+": {},
    "bbr": {},
}


def missing() -> str:
    """The reason why the kernel's side cannot run here; "" if it can."""
    if sys.platform != "linux":
        return "it needs Linux"
    if os.geteuid() != 0:
        return "it needs root, for network namespaces"
    if not Path("/dev/net/tun").exists():
        return "it needs /dev/net/tun"
    tools = [tool for tool in ("ip", "cc") if shutil.which(tool) is None]
    return f"it needs {' and '.join(tools)}" if tools else ""


def run(wire: Wire, flavour: str) -> Outcome:
    """One run, bounded in time."""
    with emulated(wire, flavour), ahead():
        return Traffic(wire, CONTROLS[flavour]).outcome()


@contextmanager
def ahead() -> Iterator[None]:
    """This process goes ahead of others, as far as it may."""
    before = os.sched_getscheduler(0)
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(40))
    try:
        yield
    finally:
        os.sched_setscheduler(0, before, os.sched_param(0))


def program() -> Path:
    """The emulator, compiled if its source is newer."""
    source, built = HERE / "emulator.c", Path("out/bench/kernel/emulator")
    if not built.exists() or built.stat().st_mtime < source.stat().st_mtime:
        built.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", "-O2", "-o", built, source], check=True)
    return built


@contextmanager
def emulated(wire: Wire, flavour: str) -> Iterator[None]:
    """Namespaces, their settings, and the emulator between them."""
    clean()
    for space in SPACES:
        ip("netns", "add", space)
    seconds = wire.seconds + 60
    words = [program(), *SPACES, 20_000_000, wire.rtt_ms * 500, wire.limit, wire.mark, seconds, *wire.lost]
    emulator = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True)
    try:
        assert emulator.stdout is not None
        if emulator.stdout.readline() != "ready\n":
            raise RuntimeError("the emulator did not start")
        settings: dict[str, object] = {
            **FLAVOURS[flavour],
            "tcp_ecn": int(wire.mark > 0),
            "tcp_no_metrics_save": 1,
        }
        settings |= {"tcp_rmem": "4096 131072 67108864", "tcp_wmem": "4096 16384 67108864"}
        for space, own, other in zip(SPACES, ADDRESSES, ADDRESSES[::-1], strict=True):
            for name, value in settings.items():
                sysctl = Path("/proc/sys/net/ipv4") / name
                ip("netns", "exec", space, "sh", "-c", f"echo {value} > {sysctl}")
            ip("-n", space, "addr", "add", own, "peer", other, "dev", "line")
            ip("-n", space, "link", "set", "line", "up")
            route = ["route", "replace", other, "dev", "line", "src", own]
            ip("-n", space, *route, "rto_min", f"{wire.rto_min_ms}ms")
        yield
    finally:
        emulator.terminate()
        emulator.wait()
        clean()


def clean() -> None:
    """Removes namespaces of an earlier run."""
    for space in SPACES:
        if Path("/run/netns", space).exists():
            ip("netns", "del", space)


def ip(*words: str) -> str:
    """A command of iproute2."""
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


def socket_in(space: str) -> socket.socket:
    """A socket of a namespace; the thread goes back to its own."""
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    other = os.open(f"/run/netns/{space}", os.O_RDONLY)
    try:
        enter(other)
        return socket.socket()
    finally:
        enter(own)
        os.close(own)
        os.close(other)


def enter(space: int) -> None:
    """This thread goes to a namespace (os.setns came with Python 3.12)."""
    if LIBC.setns(space, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


def timeouts() -> int:
    """Timeouts of the senders so far."""
    text = ip("netns", "exec", SPACES[0], "cat", "/proc/net/netstat").splitlines()
    names, values = text[0].split(), text[1].split()
    return int(values[names.index("TCPTimeouts")])


class Traffic:
    """The connections of a run."""

    def __init__(self, wire: Wire, control: str) -> None:
        self.wire = wire
        self.control = control
        self.listening = socket_in(SPACES[1])
        self.listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listening.bind((ADDRESSES[1], PORT))
        self.listening.listen(64)
        self.begun = time.monotonic()
        self.result = Outcome()

    def outcome(self) -> Outcome:
        """Runs the traffic of the wire."""
        wire = self.wire
        if wire.senders > 1:
            self.rounds()
        elif wire.seconds:
            self.long()
        else:
            data = bytes(wire.size)
            _, receiver = self.connect(lambda sender: sender.sendall(data))
            self.read(receiver, wire.size)
            self.result.fct_ms = (time.monotonic() - self.begun) * 1000
        self.result.timeouts = timeouts()
        return self.result

    def connect(
        self, send: Callable[[socket.socket], None] | None = None
    ) -> tuple[socket.socket, socket.socket]:
        """A connection: the sender's socket, which sends as soon as it is open, and the receiver's."""
        sender = socket_in(SPACES[0])
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self.control.encode())
        if self.wire.seconds:
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
        if not self.result.delivered:
            self.begun = time.monotonic()
        sender.connect((ADDRESSES[1], PORT))
        if send is not None:
            threading.Thread(target=send, args=(sender,), daemon=True).start()
        receiver, _ = self.listening.accept()
        receiver.settimeout(60)
        return sender, receiver

    def read(self, receiver: socket.socket, size: int) -> None:
        """Reads so many bytes."""
        while size > 0:
            size -= len(receiver.recv(min(size, 1 << 20)))

    def long(self) -> None:
        """One flow, or two, until the end; deliveries and windows over time."""
        bins = round(self.wire.seconds / EVERY_S)
        flows = 2 if self.wire.later_s else 1
        self.result.delivered = [[0.0] * bins for _ in range(flows)]
        threads = []
        for flow in range(flows):
            time.sleep(max(0.0, self.begun + self.wire.later_s * flow - time.monotonic()))
            sender, receiver = self.connect(send_forever)
            threads.append(threading.Thread(target=self.count, args=(flow, receiver, bins), daemon=True))
            threads[-1].start()
            if flow == 0:
                threads.append(threading.Thread(target=self.watch, args=(sender, bins), daemon=True))
                threads[-1].start()
        for thread in threads:
            thread.join(self.wire.seconds + 10)

    def count(self, flow: int, receiver: socket.socket, bins: int) -> None:
        """Counts what a receiver reads, by span of time."""
        while True:
            got = len(receiver.recv(1 << 20))
            at = int((time.monotonic() - self.begun) / EVERY_S)
            if at >= bins:
                return receiver.close()
            self.result.delivered[flow][at] += got

    def watch(self, sender: socket.socket, bins: int) -> None:
        """Samples a sender's window: tcpi_snd_cwnd is the 21st word behind eight bytes of struct tcp_info."""
        for at in range(bins):
            time.sleep(max(0.0, self.begun + at * EVERY_S - time.monotonic()))
            info = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
            self.result.windows.append(float(struct.unpack_from("I", info, 80)[0]))

    def rounds(self) -> None:
        """All senders answer a request each, and the next round begins when the receiver has every answer."""
        pairs = [self.connect() for _ in range(self.wire.senders)]
        answers = [threading.Thread(target=self.answer, args=(sender,), daemon=True) for sender, _ in pairs]
        for thread in answers:
            thread.start()
        self.begun = time.monotonic()
        for _ in range(self.wire.rounds):
            for _, receiver in pairs:
                receiver.sendall(b"?")
            readers = [
                threading.Thread(target=self.read, args=(receiver, self.wire.size), daemon=True)
                for _, receiver in pairs
            ]
            for reader in readers:
                reader.start()
            for reader in readers:
                reader.join()
            self.result.rounds_s.append(time.monotonic() - self.begun)

    def answer(self, sender: socket.socket) -> None:
        """Answers each byte with a round's data."""
        for _ in range(self.wire.rounds):
            sender.recv(1)
            sender.sendall(bytes(self.wire.size))


def send_forever(sender: socket.socket) -> None:
    """Sends until the receiver is gone."""
    try:
        while True:
            sender.sendall(bytes(1 << 20))
    except OSError:
        sender.close()
