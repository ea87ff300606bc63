"""Costs of figures at full scale: predicted from the published ones, and measured.

Published costs are processor times, which other machines have likewise; the time that one waits for them is their share
of so many workers. They are in a checkout of the sources, docs/results; a wheel has none.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flowyard.papers import outcomes, published
from flowyard.papers.figure import Figure, Scale
from flowyard.papers.outcomes import FigureOutcome
from flowyard.sweeps.local import processors
from flowyard.text import span

# Figures that are named as those that take most.
SHOWN = 5
# Until so many seconds of processor time are done, the pace is thought to be that of busy workers.
TRUSTED_S = 60.0


@dataclass(frozen=True)
class Forecast:
    """The expected cost of a call.

    Attributes:
        cpu_s: Processor time that each figure still needs; None where its cost is not recorded.
        seconds: The time of each with all workers busy, as far as it has runs for them.
        workers: Runs at a time; 0: those of a cluster, which are not known.
    """

    cpu_s: Mapping[str, float | None]
    seconds: Mapping[str, float | None]
    workers: int

    def told(self) -> Iterator[str]:
        """Lines about the whole, and the figures that take most; none if no cost is known."""
        known = {name: cost for name, cost in self.cpu_s.items() if cost is not None}
        if not known:
            return
        yield f"simulations, by published costs: about {self._of(known)}; start-up and drawing come on top"
        most = [name for name in sorted(known, key=known.__getitem__, reverse=True) if known[name] >= 1][
            :SHOWN
        ]
        if len(known) > 1 and most:
            yield "most of it: " + "; ".join(f"{name} {self._of([name])}" for name in most)
        if unknown := [name for name, cost in self.cpu_s.items() if cost is None]:
            yield f"and figures of unknown cost: {', '.join(unknown)}"

    def _of(self, names: Iterable[str]) -> str:
        names = list(names)
        cpu = sum(self.cpu_s[name] or 0.0 for name in names)
        said = f"{span(cpu)} of processor time"
        if not self.workers:
            return said
        workers = f"{self.workers} worker{'' if self.workers == 1 else 's'}"
        return f"{said}, {span(sum(self.seconds[name] or 0.0 for name in names))} with {workers}"

    def measured(
        self, figures: Mapping[str, FigureOutcome], spent: Mapping[str, float], seconds: float
    ) -> str:
        """The cost of the call beside the forecast of these figures.

        Args:
            figures: That were made.
            spent: Processor time that earlier calls took of each.
            seconds: That this call took.
        """
        cpu = sum(one.cpu_s - spent.get(name, 0.0) for name, one in figures.items())
        said = f"took {span(seconds)}, {span(cpu)} of processor time"
        known = [name for name in figures if self.cpu_s.get(name) is not None]
        return (
            f"{said}; expected for the simulations of {len(known)} of {len(figures)} figures: {self._of(known)}"
            if known
            else said
        )


def foretell(
    figures: Sequence[Figure], folder: Path, *, workers: int | None = None, cluster: str | None = None
) -> Forecast:
    """Predicted costs of figures at full scale, without those that earlier calls in the folder made.

    Args:
        figures: To be made, in this order.
        folder: Of the output.
        workers: Runs at a time; default one per processor.
        cluster: Address of a Dask scheduler.
    """
    known = published.costs()
    at_a_time = 0 if cluster else workers or processors()
    cpu, seconds = dict[str, float | None](), dict[str, float | None]()
    for figure in figures:
        recorded = known.get(figure.id)
        done = outcomes.spent(folder / figure.id)
        if recorded is None or recorded.cpu_s is None:
            cpu[figure.id] = seconds[figure.id] = 0.0 if done.finished else None
            continue
        left = 0.0 if done.finished else max(recorded.cpu_s - done.all_s, 0.0)
        cpu[figure.id] = left
        seconds[figure.id] = left / max(1, min(at_a_time, recorded.runs))
    return Forecast(cpu, seconds, at_a_time)


def progress(costs: Sequence[float | None], workers: int) -> Iterator[str]:
    """A line for each of several figures: predicted time for it and all that follow, scaled by those before.

    Args:
        costs: Processor time of each.
        workers: Runs at a time; 0: not known.
    """
    started, done = time.monotonic(), 0.0
    for place, cost in enumerate(costs):
        known = sum(one for one in costs[place:] if one is not None)
        elapsed = time.monotonic() - started
        pace = (elapsed + TRUSTED_S / max(workers, 1)) / (done + TRUSTED_S)
        yield "time left is not known" if None in costs[place:] else f"about {span(known * pace)} left"
        done += cost or 0.0


class Watch:
    """Foretells and measures the time of a call; at quick scale it prints nothing."""

    def __init__(
        self,
        figures: Sequence[Figure],
        scale: Scale,
        folder: Path,
        say: Callable[[str], object],
        *,
        workers: int | None,
        cluster: str | None,
    ) -> None:
        """Says what is foretold."""
        self._say = say
        self._started = time.monotonic()
        self._forecast: Forecast | None = None
        self._left: Iterator[str] = iter(())
        if scale is not Scale.FULL:
            return
        self._spent = {figure.id: outcomes.spent(folder / figure.id).all_s for figure in figures}
        self._forecast = foretell(figures, folder, workers=workers, cluster=cluster)
        for line in self._forecast.told():
            say(line)
        if any(self._forecast.cpu_s.values()):
            self._left = progress(list(self._forecast.cpu_s.values()), self._forecast.workers)

    def left(self) -> str:
        """The time left, before each figure; empty if nothing is known."""
        said = next(self._left, "")
        return f", {said}" if said else ""

    def end(self, figures: Mapping[str, FigureOutcome]) -> None:
        """Says what the call took.

        Args:
            figures: That were made.
        """
        if self._forecast is not None and figures:
            self._say(self._forecast.measured(figures, self._spent, time.monotonic() - self._started))
