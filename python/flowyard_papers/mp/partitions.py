"""Section 4.3: parallel TCP by history, by arrival times and by idle paths beside Front-Back, where paths fluctuate.

One host sends another blocks over two paths of their own. Rates are redrawn every 10 ms, or bursts of other traffic
make delays jump; beside it the same paths at rest. The thesis states how the schemes compare, and has no figure of it.
"""

import random
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from flowyard.analysis.intervals import half_width, replica_means
from flowyard.papers import judge, style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.sweeps import Axis, Plan
from flowyard_papers.mp import _least_delay

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

FRONT_BACK, HISTORY, ARRIVAL, IDLE = "front-back", "proportional", "arrival-time", "last-idle"
PARTITIONS = (FRONT_BACK, HISTORY, ARRIVAL, IDLE)
STEADY_RATES, REDRAWN_RATES = "rates constant", "rates redrawn every 10 ms"
STEADY_DELAYS, JUMPING_DELAYS = "delays constant", "delays jump every 10 ms"
CONDITIONS = (STEADY_RATES, REDRAWN_RATES, STEADY_DELAYS, JUMPING_DELAYS)
PATHS, BLOCKS, BLOCK_BYTES = ("x", "y"), 20, 2_000_000
# Rates of a path in Mbps; bursts of other traffic, half of the intervals have one, and the same load spread evenly.
LOWEST, HIGHEST, EVERY_MS, UNTIL_MS = 200, 1000, 10, 2000
BURST_BYTES = 250_000
LINK_BPS = 1_000_000_000
SPREAD_BPS = BURST_BYTES * 8 * 1000 // EVERY_MS // 2
REPLICAS = 20
FCT, REQUESTS = "fct_ms", "requests"
# "A large number of block requests": an order of magnitude more.
FAR_MORE = 8


def plans(scale: Scale) -> dict[str, Plan]:
    """All partitions under each condition, by draw."""
    draws = range(scale.pick(10, REPLICAS))
    transports = [{"parallel-tcp": {"paths": {"count": 2}, "partition": name}} for name in PARTITIONS]
    partition = Axis("partition", {"transport": transports}, labels=PARTITIONS)
    made = {}
    for place, condition in enumerate(CONDITIONS):
        axis = Axis("draw", scenarios=[_scenario(condition, draw) for draw in draws], labels=draws)
        made[f"condition-{place}"] = Plan(None, [axis, partition], 1, name=f"condition-{place}")
    return made


def _scenario(condition: str, draw: int) -> dict[str, Any]:
    source = random.Random(f"{draw}")
    cables: list[dict[str, Any]] = [{"ends": ["s", path]} for path in PATHS]
    cables += [{"ends": [path, "t"], "rate": "1Gbps"} for path in PATHS]
    cables += [{"ends": ["a", "s"]}, {"ends": ["t", "b"]}, {"ends": ["t", "sink"]}]
    cables += [{"ends": [f"source {path}", path]} for path in PATHS]
    hosts = ["a", "b", "sink", *(f"source {path}" for path in PATHS)]
    found: dict[str, Any] = {
        "topology": {
            "explicit": {
                "hosts": hosts,
                "switches": [{"name": name} for name in ("s", "t", *PATHS)],
                "rate": "10Gbps",
                "delay": "50us",
                "cables": cables,
            }
        },
        "queue": {"drop-tail": {"limit": {"packets": 1000}}},
        "routing": {"balancer": "nix"},
        "traffic": [
            {
                "name": "blocks",
                "connection": "kept",
                "matrix": {"pairs": [[0, 1]]},
                "arrivals": {"blocks": {"blocks": BLOCKS, "jitter": "0s"}},
                "sizes": {"fixed": f"{BLOCK_BYTES}B"},
            }
        ],
    }
    if condition in (STEADY_RATES, REDRAWN_RATES):
        return found | {"faults": {"events": _rates(source, condition)}}
    return found | {"traffic": [*found["traffic"], *_others(source, condition, hosts)]}


def _rates(source: random.Random, condition: str) -> list[dict[str, Any]]:
    """Each path's rate from its first draw on, or anew each time."""
    last = UNTIL_MS if condition == REDRAWN_RATES else EVERY_MS
    return [
        {
            "at": f"{at}ms",
            "target": {"cable": [path, "t"]},
            "change": {"rate": f"{source.randint(LOWEST, HIGHEST)}Mbps"},
        }
        for at in range(0, last, EVERY_MS)
        for path in PATHS
    ]


def _others(source: random.Random, condition: str, hosts: Sequence[str]) -> list[dict[str, Any]]:
    """Datagrams over the last link of each path: at once in bursts, or evenly all the time."""
    entries = []
    for path in PATHS:
        entry: dict[str, Any] = {
            "name": f"others-{path}",
            "background": True,
            "matrix": {"pairs": [[hosts.index(f"source {path}"), hosts.index("sink")]]},
        }
        if condition == JUMPING_DELAYS:
            starts = [f"{at}ms" for at in _bursts_ms(source)]
            entry |= {
                "transport": "datagram",
                "arrivals": {"times": {"at": starts, "jitter": "0s"}},
                "sizes": {"fixed": f"{BURST_BYTES}B"},
            }
        else:
            entry |= {
                "transport": {"datagram": {"pace": {"rate": f"{SPREAD_BPS}bps"}}},
                "arrivals": {"at-once": {"jitter": "0s"}},
                "sizes": "endless",
            }
        entries.append(entry)
    return entries


def _bursts_ms(source: random.Random) -> list[int]:
    return [at for at in range(0, UNTIL_MS, EVERY_MS) if source.random() < 0.5]


def _joining(condition: str, draw: int) -> list[_least_delay.Others]:
    """The traffic of `_others` for the model: bursts at the same instants, or evenly."""
    if condition == JUMPING_DELAYS:
        source = random.Random(f"{draw}")
        return [[(at / 1e3, 8 * BURST_BYTES / LINK_BPS) for at in _bursts_ms(source)] for _ in PATHS]
    return [_least_delay.evenly(SPREAD_BPS / LINK_BPS, UNTIL_MS / 1e3) for _ in PATHS]


def tables(sweeps: Sweeps) -> Tables:
    """One row per run: the mean time of a block, and how many ranges its connections asked for; times of the model."""
    parts = []
    for place, condition in enumerate(CONDITIONS):
        sweep, keys = sweeps[f"condition-{place}"], ["partition", "draw"]
        pieces = sweep.scan("connections").group_by(*keys, "flow").agg(pl.col("pieces").sum())
        blocks = sweep.flows.filter(pl.col("tag").cast(pl.String) == "blocks")
        found = blocks.join(pieces, left_on=[*keys, "id"], right_on=[*keys, "flow"]).group_by(keys)
        time = pl.col("fct_ps").cast(pl.Float64).mean() / 1e9
        table = found.agg(
            pl.when(pl.col("completed").all()).then(time).alias(FCT),
            pl.col("pieces").mean().alias(REQUESTS),
        )
        parts.append(table.select(pl.lit(condition).alias("condition"), pl.all()).sort(keys[::-1]).collect())
    runs = pl.concat(parts).rename({"draw": "replica"})
    means = replica_means(runs, ["condition", "partition"], [FCT, REQUESTS])
    draws = runs["replica"].unique().sort().to_list()
    joining = {name: partial(_joining, name) for name in (STEADY_DELAYS, JUMPING_DELAYS)}
    model = _least_delay.table(joining, draws).rename({"block_ms": FCT})
    return {"runs": runs, "points": means, "model": model}


def _falls_behind(runs: pl.DataFrame, partition: str, steady: str, changing: str) -> Judgement:
    """The ratio of mean times to those of Front-Back, draw by draw, rises where paths change.

    By more than half the 95 % interval of the difference, and than the 1 % that orderings allow for.
    """
    wide = runs.pivot(on="partition", index=["condition", "replica"], values=FCT)
    ratio = wide.select("condition", "replica", ratio=pl.col(partition) / pl.col(FRONT_BACK))
    both = ratio.pivot(on="condition", index="replica", values="ratio")
    if {steady, changing} - set(both.columns) or both.null_count().sum_horizontal().item():
        return judge.not_reached("a condition was not run, or did not complete")
    before, gap = _mean(both[steady]), both[changing] - both[steady]
    slack = max(half_width(gap), 0.01 * before)
    said = f"{before:.4g} with {steady}, {_mean(both[changing]):.4g} with {changing}"
    return judge.judged(_mean(gap) > slack, said, f"higher, by more than {slack:.2g}")


def _mean(values: pl.Series) -> float:
    mean = values.mean()
    assert isinstance(mean, float)
    return mean


def _history(tables: Tables) -> Judgement:
    return _falls_behind(tables["runs"], HISTORY, STEADY_RATES, REDRAWN_RATES)


def _arrival(tables: Tables) -> Judgement:
    """The text's rule selects a path for each segment; beside it, as the engine has it, a segment for each path."""
    at = (STEADY_DELAYS, JUMPING_DELAYS)
    selected = {
        f"a path is selected for {rule} (model)": _falls_behind(tables["model"], rule, *at)
        for rule in _least_delay.WAITING
    }
    taken = _falls_behind(tables["runs"], ARRIVAL, *at).because(
        "a path takes another segment whenever its window has room, whatever it is believed to need: estimates decide "
        "which segment a path takes, not when; tried: bursts of 2 ms on a round trip of 0.4 ms"
    )
    return judge.by_reading(selected | {"a path with room takes a segment (packets)": taken})


def _requests(tables: Tables) -> Judgement:
    means: Mapping[str, float] = dict(
        tables["runs"].group_by("partition").agg(pl.col(REQUESTS).mean()).iter_rows()
    )
    if {IDLE, FRONT_BACK} - set(means):
        return judge.not_reached("a partition was not run")
    found = judge.at_least(means[IDLE] / means[FRONT_BACK], FAR_MORE)
    return found.noted(
        f"requests a transfer: {means[IDLE]:.4g} under {IDLE}, {means[FRONT_BACK]:.4g} under {FRONT_BACK}"
    )


def draw(tables: Tables) -> "Picture":
    """Mean time of a block by condition and partition; requests."""
    picture, (times, requests) = style.panels(1, 2, size=(5.2, 3.2))
    for place, partition in enumerate(PARTITIONS):
        for axes, column in ((times, FCT), (requests, REQUESTS)):
            rows = [
                tables["points"].filter(condition=condition, partition=partition).row(0, named=True)
                for condition in CONDITIONS
            ]
            axes.bar(
                [at + 0.2 * (place - 1.5) for at in range(len(CONDITIONS))],
                [row[column] for row in rows],
                0.19,
                yerr=[row[f"{column}_ci95"] or 0 for row in rows],
                color=style.COLOURS[place],
                label=partition,
            )
    names = [
        condition.replace(" every", "\nevery").replace(" constant", "\nconstant") for condition in CONDITIONS
    ]
    for axes, label in ((times, "mean time of a block (ms)"), (requests, "requests a transfer")):
        axes.set_xticks(range(len(CONDITIONS)), names, fontsize=7.5)
        axes.set(ylabel=label)
    requests.set_yscale("log")
    picture.legend(*times.get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return picture


FIGURE = Figure(
    id="MP-P11-13",
    title="Section 4.3: history, arrival times and idle paths beside Front-Back on paths that fluctuate",
    plans=plans,
    tables=tables,
    claims={"MP-P11": _history, "MP-P12": _arrival, "MP-P13": _requests},
    draw=draw,
    needs={"runs": Needs(REPLICAS, by=("condition", "partition"))},
    assumed=(
        f"Two paths of four links of 50 us; {BLOCKS} blocks of {BLOCK_BYTES:,} B on kept connections, so that there is "
        "a history. TCP has the simulator's defaults, ports hold 1000 packets.",
        f"Rates: each path's last link has {LOWEST} to {HIGHEST} Mbps, drawn anew every {EVERY_MS} ms or once.",
        f"Delays: every {EVERY_MS} ms a burst of {BURST_BYTES:,} B of other traffic joins a path's queue or does not, "
        "which is 2 ms of its link; at rest the same traffic comes evenly.",
        "Arrival-time matching selects a path for each segment, that of the engine a segment for each with room. "
        f"The former is a model with the same paths, blocks and bursts: windows of {_least_delay.WINDOW} segments, "
        "full from the beginning, no losses. How many segments may wait at their path the text does not say: one, "
        "all, or a window.",
        "A request is a range of a block that one connection sends in order. Chunks of idle paths have 16 segments.",
    ),
)
