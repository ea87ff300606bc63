"""How much of a run is done, and how long the rest of it takes at the speed of its second half so far.

Three measures tell how far a run is: its packet-hops and its simulated time, as shares of those that were foreseen, and
its flows. Flows that start together end together, and of flows with heavy tails most end early: flows count only
without a forecast, or beyond it. Of the two forecasts the one that is further behind counts, since retransmissions add
packet-hops and long queues slow a run down. A run that becomes slower, as while its queues build up, has another speed
later than at its start. Beyond its forecasts a run has as long left as its last flows took to end, as many as are left;
when the last few flows of a heavy tail end, nothing says, and they are counted instead.
"""

from collections.abc import Mapping
from typing import Any

# The highest share by a forecast: forecasts are some 25 % off, and a run that continues has time left.
MOST_FORESEEN = 0.95
# Beyond the forecasts, the ends of so many flows or fewer cannot be foreseen from those of the flows before.
FEW_FLOWS = 20
# Seconds for which less than a second may be left.
SHORT_S = 1.0
# Notes that are kept; of more, every second one.
MOST_NOTES = 400


class Pace:
    """The progress of a run, noted now and then.

    Attributes:
        share: Share of the run that is done.
        left: Seconds that the rest takes; None if nothing tells it.
        is_beyond: Whether the run has passed all that was foreseen of it.
        awaited: Number of open flows, if only their ends are awaited and nothing tells when these are; otherwise 0.
    """

    def __init__(self) -> None:
        self.share = 0.0
        self.left: float | None = None
        self.is_beyond = False
        self.awaited = 0
        self._short_since: float | None = None
        self._notes: list[tuple[float, dict[str, float]]] = []

    def note(self, progress: Mapping[str, Any], seconds: float) -> None:
        """Notes the progress so many seconds after the start of the run."""
        now = _shares(progress)
        if len(self._notes) >= MOST_NOTES:
            del self._notes[1::2]
        self._notes.append((seconds, now))
        foreseen: dict[str, float] = {name: now[name] for name in ("hops", "time") if name in now}
        ahead = {name: share for name, share in foreseen.items() if share < 1}
        self.is_beyond = bool(foreseen) and not ahead
        counted = ahead or {"flows": now["flows"]}
        open_flows = progress["flows"] - progress["flows_done"]
        self.awaited = open_flows if self.is_beyond and open_flows <= FEW_FLOWS else 0
        self.left = None if self.awaited else self._longest(counted, seconds)
        if not ahead and self.left is not None:
            self.left = max(self.left, self._last_ends(now["flows"], seconds))
        self.share = min(counted.values())
        if foreseen:
            self.share = max(MOST_FORESEEN, self.share) if self.is_beyond else min(MOST_FORESEEN, self.share)
        if "until" in now:
            # A run ends at run.until, whatever is left of its flows.
            at_most = self._longest({"until": now["until"]}, seconds)
            self.left = at_most if self.left is None else min(self.left, at_most or self.left)
            self.awaited = self.awaited if self.left is None else 0
            self.share = max(self.share, now["until"])
        self.share = min(self.share, 1.0)
        self._doubt(open_flows, seconds)

    def _doubt(self, open_flows: int, seconds: float) -> None:
        """Takes back an estimate of less than a second that has been one for longer than that."""
        if self.left is None or self.left >= 1:
            self._short_since = None
            return
        self._short_since = seconds if self._short_since is None else self._short_since
        if seconds - self._short_since > SHORT_S:
            self.left, self.awaited = None, open_flows

    def _last_ends(self, share: float, seconds: float) -> float:
        """Seconds in which as many flows ended as are left; 0 if fewer have ended."""
        before = 2 * share - 1
        if before < 0:
            return 0.0
        since = next((at for at, then in reversed(self._notes) if then["flows"] <= before), 0.0)
        return seconds - since

    def _longest(self, counted: Mapping[str, float], seconds: float) -> float | None:
        """Seconds until all of some measures are complete; None if one of them stands still."""
        since, before = next((note for note in reversed(self._notes) if note[0] <= seconds / 2), (0.0, {}))
        longest = 0.0
        for name, share in counted.items():
            gained = share - before.get(name, 0.0)
            if share >= 1:
                continue
            if gained <= 0 or seconds <= since:
                return None
            longest = max(longest, (1 - share) / gained * (seconds - since))
        return longest


def _shares(progress: Mapping[str, Any]) -> dict[str, float]:
    """The share that is done, by each measure that a run has."""
    found = {"flows": progress["flows_done"] / progress["flows"] if progress["flows"] else 0.0}
    for name, done, all_ in (
        ("hops", "packet_hops", "foreseen_packet_hops"),
        ("time", "now_ps", "foreseen_end_ps"),
        ("until", "now_ps", "until_ps"),
    ):
        if whole := progress.get(all_):
            found[name] = progress[done] / whole
    return found
