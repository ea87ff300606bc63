"""The charts of tools/member_figures.py: what each records of a run, measures, and draws.

A chart gets the results of one scenario under several names, such as a transport and the one beside it. Its facts are
the numbers that the sentence below the figure may name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

import flowyard as fy
from flowyard.papers import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Results = Mapping[str, fy.Result]
Facts = dict[str, float]

MS = 1e9
# Units of x axes, in picoseconds.
TIMES = {"us": 1e6, "ms": 1e9, "s": 1e12}
# A line to compare with.
GUIDE: Any = {"color": "#777777", "linewidth": 0.9, "linestyle": ":"}
# So many points make a line as smooth as a panel can show.
POINTS = 200


def label_thirds(axes: "Axes") -> None:
    """Labels 1, 2 and 5 of each power of ten as plain numbers, or over more than two of these the powers alone."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


class Chart:
    """A way to show results."""

    def observe(self) -> dict[str, Any]:
        """Fields of the scenario that the chart needs."""
        return {}

    def columns(self, results: Results) -> int:
        """Panels side by side."""
        del results
        return 1

    def facts(self, result: fy.Result) -> Facts:
        """Numbers of one run."""
        raise NotImplementedError

    def draw(self, axes: "list[Axes]", results: Results) -> None:
        """Draws them."""
        raise NotImplementedError


def totals(result: fy.Result) -> Facts:
    """The numbers that any run has."""
    counters = result.summary["counters"]
    flows = pl.DataFrame(result.flows)
    fct = flows["fct_ps"].drop_nulls() / MS
    facts = {
        name: float(counters[name]) for name in ("drops", "trims", "marks", "timeouts", "retransmissions")
    }
    facts |= {"pauses": float(counters["pauses"]), "abandoned": float(counters["abandoned_flows"])}
    facts |= {"flows": float(len(flows)), "completed": float(len(fct))}
    return facts | {
        "fct_min": value(fct.min()),
        "fct_max": value(fct.max()),
        "fct_median": value(fct.median()),
    }


def value(number: Any) -> float:
    """A number of a column, which may be empty."""
    return float("nan") if number is None else float(number)


def samples(result: fy.Result, series: str) -> pl.DataFrame:
    """Samples of one series."""
    return pl.DataFrame(result.samples).filter(pl.col("series") == series).sort("id", "time_ps")


def thinned(rows: pl.DataFrame) -> pl.DataFrame:
    """No more points than can be distinguished, each the largest of its neighbours: peaks stay."""
    each = -(-len(rows) // POINTS)
    if each < 2:
        return rows
    groups = rows.group_by(pl.int_range(pl.len()) // each, maintain_order=True)
    return groups.agg(pl.col("time_ps").first(), pl.col("value").max())


@dataclass(frozen=True)
class Queue(Chart):
    """The content of a port over time.

    Facts: the mean and the 99th percentile of the samples between `since` and `until`, and the largest number of the
    whole run, which samples may miss.
    """

    port: str
    every: str
    unit: str = "packets"
    time: str = "ms"
    since: float = 0
    until: float = float("inf")
    level: float = 0

    SERIES: ClassVar = {
        "packets": ("queue_packets", 1, "packets in the port"),
        "KB": ("queue_bytes", 1e3, "KB in the port"),
        "KB of credit": ("backlog_bytes", 1e3, "KB of unused credit"),
    }
    # Columns of links with the largest content of a port.
    LARGEST: ClassVar = {"packets": "queue_max_packets", "KB": "queue_max_bytes"}

    def observe(self) -> dict[str, Any]:
        return {"observe.samples": {"every": self.every, "links": [self.port], "flows": []}}

    def of(self, result: fy.Result) -> pl.DataFrame:
        """Time and content, in the units of the chart."""
        name, size, _ = self.SERIES[self.unit]
        rows = samples(result, name).with_columns(
            pl.col("time_ps") / TIMES[self.time], pl.col("value") / size
        )
        return rows.filter(pl.col("time_ps") <= self.until)

    def facts(self, result: fy.Result) -> Facts:
        values = self.of(result).filter(pl.col("time_ps") >= self.since)["value"]
        p99 = values.quantile(0.99, "linear")
        facts = {"mean": value(values.mean()), "p99": value(p99)}
        if column := self.LARGEST.get(self.unit):
            links = pl.DataFrame(result.links)
            port = links.filter(pl.concat_str("from", pl.lit(" -> "), "to") == self.port)
            facts["max"] = value(port[column].max()) / self.SERIES[self.unit][1]
        return facts

    def draw(self, axes: "list[Axes]", results: Results) -> None:
        for label, result in results.items():
            rows = thinned(self.of(result))
            axes[0].plot(rows["time_ps"].to_numpy(), rows["value"].to_numpy(), label=label, linewidth=1.1)
        if self.level:
            axes[0].axhline(self.level, **GUIDE)
        axes[0].set(xlabel=f"time ({self.time})", ylabel=self.SERIES[self.unit][2])
        axes[0].set(xlim=(0, None), ylim=(0, None))


@dataclass(frozen=True)
class Completions(Chart):
    """The distribution of completion times, of the measured flows of an entry.

    Facts: median, 99th percentile and maximum of the completed ones, and the percentage up to `within`.
    """

    entry: str
    unit: str = "ms"
    of: str = "fct_ps"
    below: str = "inf"
    within: float = 0
    log: bool = True
    tail: bool = False

    AXES: ClassVar = {
        "fct_ps": "flow completion time ({})",
        "slowdown": "slowdown",
        "deadline": "completion time / deadline",
    }

    def values(self, result: fy.Result) -> tuple[pl.Series, int]:
        """Those of completed flows in order, and the number of measured flows."""
        flows = pl.DataFrame(result.flows).filter("measured", pl.col("tag").cast(str) == self.entry)
        flows = flows.filter(pl.col("size_bytes") < float(self.below))
        if self.of == "deadline":
            found = flows["fct_ps"] / flows["deadline_ps"]
        else:
            found = flows[self.of] / (TIMES[self.unit] if self.of == "fct_ps" else 1)
        return found.drop_nulls().sort(), len(flows)

    def facts(self, result: fy.Result) -> Facts:
        values, count = self.values(result)
        return {
            "count": count,
            "median": value(values.median()),
            "p99": value(values.quantile(0.99, "linear")),
            "max": value(values.max()),
            "mean": value(values.mean()),
            "met": 100 * float((values <= self.within).sum()) / count,
        }

    def draw(self, axes: "list[Axes]", results: Results) -> None:
        for label, result in results.items():
            values, count = self.values(result)
            points = min(len(values), POINTS)
            places = [round(place * (len(values) - 1) / max(1, points - 1)) for place in range(points)]
            shares = [1 - number / count if self.tail else (number + 1) / count for number in places]
            axes[0].step(values.gather(places).to_numpy(), shares, where="post", label=label)
        axes[0].set(xlabel=self.AXES[self.of].format(self.unit), ylabel="share of flows", ylim=(0, 1.02))
        if self.tail:
            axes[0].set(yscale="log", ylabel="share that takes longer", ylim=(0.5 / count, 1))
        if self.log:
            axes[0].set_xscale("log")
            label_thirds(axes[0])
        if self.within:
            axes[0].axvline(self.within, **GUIDE)


@dataclass(frozen=True)
class Rates(Chart):
    """The rate of each flow, or of each entry, over time: payload that reached the receiver. One panel per run.

    Facts: the ends of the first entry and of the last flow, the mean end, and, in the middle of the time until a flow
    ends, Jain's index of the rates and the first entry's percentage of their sum.
    """

    entries: tuple[str, ...]
    every: str
    time: str = "ms"
    until: float = float("inf")
    rate: str = "Gbit/s"
    together: bool = False

    SCALES: ClassVar = {"Gbit/s": 1e9, "Mbit/s": 1e6}

    def observe(self) -> dict[str, Any]:
        return {"observe.samples": {"every": self.every, "links": [], "flows": list(self.entries)}}

    def columns(self, results: Results) -> int:
        return len(results)

    def facts(self, result: fy.Result) -> Facts:
        flows = pl.DataFrame(result.flows).filter(pl.col("tag").cast(str).is_in(list(self.entries)))
        ends = (flows["start_ps"] + flows["fct_ps"]).drop_nulls() / TIMES[self.time]
        first = value(ends.min())
        middle = samples(result, "rate_bps").filter(
            (pl.col("time_ps") / TIMES[self.time]).is_between(first * 0.25, first * 0.75)
        )
        means = middle.group_by("id").agg(pl.col("value").mean())
        rates = means["value"]
        jain = value(rates.sum()) ** 2 / (len(flows) * value((rates**2).sum()) or 1)
        own = flows.filter(pl.col("tag").cast(str) == self.entries[0])
        end = value((own["start_ps"] + own["fct_ps"]).max()) / TIMES[self.time]
        part = means.filter(pl.col("id").is_in(own["id"].to_list()))["value"].sum()
        share = 100 * value(part) / (value(rates.sum()) or 1)
        return {
            "end": end,
            "share": share,
            "last": value(ends.max()),
            "jain": jain,
            "mean_end": value(ends.mean()),
        }

    def draw(self, axes: "list[Axes]", results: Results) -> None:
        places = {entry: place for place, entry in enumerate(self.entries)}
        of = "entry" if self.together else "flow"
        for panel, (label, result) in zip(axes, results.items(), strict=True):
            rows = samples(result, "rate_bps").with_columns(pl.col("time_ps") / TIMES[self.time])
            place = pl.col("tag").cast(str).replace_strict(places, default=None)
            tags = pl.DataFrame(result.flows).select("id", place=place)
            rows = rows.join(tags, on="id").filter(pl.col("time_ps") <= self.until)
            if self.together:
                rows = rows.group_by("place", "time_ps").agg(pl.col("value").sum()).sort("place", "time_ps")
                rows = rows.with_columns(id=pl.col("place"))
            for (number, _), series in rows.group_by("place", "id", maintain_order=True):
                values = series["value"].to_numpy() / self.SCALES[self.rate]
                # Several entries: a colour for each; one: a colour for each flow.
                look: Any = {"color": style.COLOURS[int(number)]} if len(self.entries) > 1 else {}
                panel.plot(series["time_ps"].to_numpy(), values, linewidth=1.1, **look)
            for number, entry in enumerate(self.entries if len(self.entries) > 1 else ()):
                panel.plot([], [], color=style.COLOURS[number], label=entry)
            panel.set(title=label if len(results) > 1 else "", xlim=(0, None), ylim=(0, None))
            panel.set(xlabel=f"time ({self.time})", ylabel=f"rate of each {of} ({self.rate})")
        if len(axes) > 1:
            top = max(panel.get_ylim()[1] for panel in axes)
            right = max(panel.get_xlim()[1] for panel in axes)
            for panel in axes:
                panel.set(ylim=(0, top), xlim=(0, right))


@dataclass(frozen=True)
class Turns(Chart):
    """The times at which each flow receives, one row per flow, in the order of their ends. One panel per run.

    Facts: how many flows receive at a time, on average until the last end, and the mean completion time.
    """

    entries: tuple[str, ...]
    every: str
    time: str = "ms"

    def observe(self) -> dict[str, Any]:
        return {"observe.samples": {"every": self.every, "links": [], "flows": list(self.entries)}}

    def columns(self, results: Results) -> int:
        return len(results)

    def receiving(self, result: fy.Result) -> pl.DataFrame:
        """Samples of flows that have received since the one before."""
        rows = samples(result, "rate_bps").filter(pl.col("value") > 0)
        return rows.with_columns(pl.col("time_ps") / TIMES[self.time])

    def facts(self, result: fy.Result) -> Facts:
        together = self.receiving(result).group_by("time_ps").len()["len"]
        fct = pl.DataFrame(result.flows)["fct_ps"] / TIMES[self.time]
        return {"together": value(together.mean()), "mean": value(fct.mean()), "max": value(fct.max())}

    def draw(self, axes: "list[Axes]", results: Results) -> None:
        right = 0.0
        for panel, (label, result) in zip(axes, results.items(), strict=True):
            rows = self.receiving(result)
            last = rows.group_by("id").agg(pl.col("time_ps").max()).sort("time_ps")["id"].to_list()
            step = value(pl.DataFrame(result.samples)["time_ps"].min()) / TIMES[self.time]
            xs: list[float] = []
            ys: list[float] = []
            for place, flow in enumerate(last, start=1):
                # One line with gaps is smaller than a bar for each interval.
                for first, length in spans(rows.filter(pl.col("id") == flow)["time_ps"].to_list(), step):
                    xs += [first, first + length, float("nan")]
                    ys += [place, place, float("nan")]
            right = max(right, value(rows["time_ps"].max()))
            panel.plot(xs, ys, linewidth=90 / len(last), solid_capstyle="butt", color=style.COLOURS[0])
            panel.set(title=label, xlabel=f"time ({self.time})", ylabel="flow, by its end")
        for panel in axes:
            panel.set(xlim=(0, right), ylim=(0.3, None))
            panel.grid(visible=False)


def spans(times: list[float], step: float) -> list[tuple[float, float]]:
    """Runs of consecutive samples as beginnings and lengths."""
    found: list[tuple[float, float]] = []
    for time in times:
        if found and time - sum(found[-1]) < step * 1.5:
            found[-1] = (found[-1][0], time - found[-1][0])
        else:
            found.append((time - step, step))
    return found


@dataclass(frozen=True)
class Windows(Chart):
    """The congestion window of one flow over time.

    Facts: the mean and the largest window after `since`, and the end of the flow.
    """

    entry: str
    every: str
    flow: int = 0
    time: str = "s"
    since: float = 0

    def observe(self) -> dict[str, Any]:
        return {"observe.samples": {"every": self.every, "links": [], "flows": [self.entry]}}

    def of(self, result: fy.Result) -> pl.DataFrame:
        """Time and window in KB."""
        rows = samples(result, "cwnd_bytes").filter(pl.col("id") == self.flow)
        return rows.with_columns(pl.col("time_ps") / TIMES[self.time], pl.col("value") / 1e3)

    def facts(self, result: fy.Result) -> Facts:
        rows = self.of(result).filter(pl.col("time_ps") >= self.since)
        fct = pl.DataFrame(result.flows)["fct_ps"][self.flow]
        return {
            "mean": value(rows["value"].mean()),
            "max": value(rows["value"].max()),
            "min": value(rows["value"].min()),
            "end": value(fct) / TIMES[self.time],
        }

    def draw(self, axes: "list[Axes]", results: Results) -> None:
        for label, result in results.items():
            rows = thinned(self.of(result))
            axes[0].plot(rows["time_ps"].to_numpy(), rows["value"].to_numpy(), label=label)
        axes[0].set(
            xlabel=f"time ({self.time})", ylabel="congestion window (KB)", xlim=(0, None), ylim=(0, None)
        )


@dataclass(frozen=True)
class Shares(Chart):
    """Bytes that each link of a tier carried, the busiest first, as shares of an even division among all of them.

    Facts: the largest and the smallest share, and the number of links that carried any.
    """

    tier: str

    def values(self, result: fy.Result) -> pl.Series:
        """Shares in descending order."""
        links = pl.DataFrame(result.links).filter(pl.col("tier").cast(str) == self.tier)
        return (links["bytes"] / links["bytes"].mean()).sort(descending=True)

    def facts(self, result: fy.Result) -> Facts:
        values = self.values(result)
        return {
            "links": len(values),
            "most": value(values.max()),
            "least": value(values.min()),
            "used": float((values > 0.001).sum()),
        }

    def draw(self, axes: "list[Axes]", results: Results) -> None:
        # More lines than colours: the dashes tell them apart.
        for place, (label, result) in enumerate(results.items()):
            values = self.values(result)
            axes[0].step(
                range(1, len(values) + 1),
                values.to_numpy(),
                where="mid",
                label=label,
                linestyle=("-", "--", ":")[place // len(style.COLOURS)],
            )
        axes[0].set(xlabel=f"{self.tier} links, busiest first", ylabel="bytes / even division", xscale="log")
        axes[0].set_ylim(bottom=0)


@dataclass(frozen=True)
class Means(Chart):
    """The mean queue at a port, one run per point, over a number that the names of the runs give; and a formula.

    Facts: the number and the mean of the run, and the formula's.
    """

    port: str
    xlabel: str
    formula: Any
    packet: int

    def facts(self, result: fy.Result) -> Facts:
        links = pl.DataFrame(result.links)
        source, _, target = self.port.partition(" -> ")
        row = links.filter((pl.col("from").cast(str) == source) & (pl.col("to").cast(str) == target))
        load = row["utilisation"][0]
        return {"load": load, "mean": row["queue_mean_bytes"][0] / self.packet, "formula": self.formula(load)}

    def draw(self, axes: "list[Axes]", results: Results) -> None:
        points = [self.facts(result) for result in results.values()]
        loads = [number / 100 for number in range(96)]
        axes[0].plot(loads, [self.formula(load) for load in loads], label="closed form")
        axes[0].plot(
            [point["load"] for point in points],
            [point["mean"] for point in points],
            linestyle="",
            marker="o",
            label="simulated",
        )
        axes[0].set(xlabel=self.xlabel, ylabel="mean packets in the port", ylim=(0, None), xlim=(0, 1))
