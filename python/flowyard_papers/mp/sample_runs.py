"""Tables 5.4 and 5.5 with packets: four transfers of 5 MB from the first pod to the second, ports of 30 packets.

As there, a transfer lasts until its last byte is received (MP-X16), and its bytes are those of its packets, headers
included.
"""

from math import ceil
from typing import TYPE_CHECKING

import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Figure, Judgement, Needs, Scale, Sweeps, Tables
from flowyard.papers.judge import between, by_reading, exactly, judged, not_reached, together, within
from flowyard.sweeps import Plan
from flowyard_papers.mp import _chapter5 as chapter
from flowyard_papers.mp._chapter5 import MDNVR, NR
from flowyard_papers.mp.sample import HEADER_BYTES, KB, SEGMENT_BYTES, SENT_BYTES

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

PAIRS = [[source, source + 4] for source in range(4)]
BUFFER, SIZE_BYTES = 30, SENT_BYTES
# Flow 1 of table 5.4, of which nothing was lost; averages of both tables; the slowest flow.
UNLOST_S, NR_MEAN_S, SLOWEST_S, MDNVR_MEAN_S = 5017 / 9435, 0.64, 0.87, 0.30
AUTHORS_S = 9
PLANS = {"normal": NR, "multipath": MDNVR}
OWN, LOSSLESS, EVERY_RUN = "ties by arrival", "runs without loss", "mean of all runs"
SETUPS = (OWN, *chapter.BESIDE)


def plans(scale: Scale) -> dict[str, Plan]:
    """Normal Routing, which is not random, and MDNVR; the former with the other order of ties, too."""
    base = chapter.scenario(chapter.transfers({"pairs": PAIRS}, SIZE_BYTES))
    made = {}
    for name, scheme in PLANS.items():
        axes = [chapter.schemes((scheme,)), chapter.buffers((BUFFER,))]
        # At quick scale, too, there are enough for some without a loss.
        made[name] = Plan(base, axes, chapter.REPLICAS, name=name)
    for ties in chapter.BESIDE.values():
        axes = [chapter.schemes((NR,)), chapter.buffers((BUFFER,))]
        name = f"normal-{ties}"
        made[name] = Plan(chapter.with_ties(base, ties), axes, scale.pick(5, chapter.REPLICAS), name=name)
    return made


def tables(sweeps: Sweeps) -> Tables:
    """A row a transfer, a connection of a transfer, and a run."""
    received = SIZE_BYTES + ceil(SIZE_BYTES / SEGMENT_BYTES) * HEADER_BYTES
    seconds = pl.when("completed").then(pl.col("fct_ps") / 1e12)
    setups = dict.fromkeys(PLANS, OWN) | {f"normal-{ties}": setup for setup, ties in chapter.BESIDE.items()}
    flows = pl.concat(
        [sweeps[name].flows.with_columns(setup=pl.lit(setup)) for name, setup in setups.items()]
    )
    transfers = flows.select(
        "setup",
        "scheme",
        "replica",
        "src",
        received_s=seconds,
        kb_a_second=received / KB / seconds,
        drops=pl.col("drops").cast(pl.Int64),
        timeouts=pl.col("timeouts").cast(pl.Int64),
    )
    shares = (
        sweeps["multipath"]
        .scan("connections")
        .select("replica", "flow", "subflow", share=pl.col("delivered_bytes") / SIZE_BYTES)
    )
    costs = [
        {
            "scheme": scheme,
            "replica": replica,
            "packet_hops": summaries[run]["counters"]["packet_hops"],
            # Rounded up, as the time itself is another one each time.
            "cpu_s_at_most": ceil(summaries[run]["counters"]["cpu_s"]),
        }
        for name in PLANS
        for summaries in (sweeps[name].summaries(),)
        for run, scheme, replica in sweeps[name].metrics.select("run", "scheme", "replica").iter_rows()
    ]
    return {
        "transfers": transfers.sort("setup", "scheme", "replica", "src").collect(),
        "shares": shares.sort("replica", "flow", "subflow").collect(),
        "costs": pl.DataFrame(costs),
    }


def _of(tables: Tables, scheme: str, setup: str = OWN) -> pl.DataFrame:
    return tables["transfers"].filter(setup=setup, scheme=scheme)


def _mean(values: pl.Series) -> float | None:
    """None if there is none, or one is missing."""
    mean = values.mean()
    return mean if isinstance(mean, float) and not values.null_count() else None


def _unlost(tables: Tables) -> Judgement:
    time = _mean(_of(tables, NR).filter(drops=0)["received_s"])
    return within(time, UNLOST_S, relative=0.05).measured_in("s")


def _normal(tables: Tables) -> Judgement:
    return by_reading({setup: _normal_of(_of(tables, NR, setup)) for setup in SETUPS})


def _normal_of(rows: pl.DataFrame) -> Judgement:
    losses = _mean(rows.group_by("replica").agg(pl.col("drops").sum())["drops"])
    speed = _mean(rows["kb_a_second"])
    time = (
        within(_mean(rows["received_s"]), NR_MEAN_S, relative=0.2)
        .measured_in("s")
        .called("mean completion time")
    )
    found = together([time, between(losses, 5, 100).measured_in("packets lost")]).because(_each(rows))
    return found if speed is None else found.noted(f"mean throughput {speed:.0f} KB/s, 8238 in the table")


def _slowest(tables: Tables) -> Judgement:
    return by_reading({setup: _slowest_of(_of(tables, NR, setup)) for setup in SETUPS})


def _slowest_of(rows: pl.DataFrame) -> Judgement:
    slowest = _mean(rows.group_by("replica").agg(pl.col("received_s").max())["received_s"])
    return within(slowest, SLOWEST_S, relative=0.15).measured_in("s").because(_each(rows))


def _each(rows: pl.DataFrame) -> str:
    """Transfers of a run, the fastest first; means over the runs."""
    place = pl.col("received_s").rank("ordinal").over("replica").alias("place")
    means = rows.group_by(place).agg(pl.col("received_s", "drops", "timeouts").mean()).sort("place")
    said = (
        f"{time or float('nan'):.3f} s with {drops:.3g} lost and {timeouts:.3g} timeouts"
        for _, time, drops, timeouts in means.iter_rows()
    )
    return "from the fastest to the slowest, transfers take " + ", ".join(said)


def _multipath(tables: Tables) -> Judgement:
    """Table 5.5 is of one run with "Total lost packets: 0"."""
    rows = _of(tables, MDNVR)
    return by_reading(
        {LOSSLESS: _multipath_of(_without_loss(rows), rows), EVERY_RUN: _multipath_of(rows, rows)}
    )


def _without_loss(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("drops").sum().over("replica") == 0)


def _multipath_of(rows: pl.DataFrame, every: pl.DataFrame) -> Judgement:
    if rows.is_empty():
        return judged(False, "no run without a loss", "one or more")
    losing = every.filter(pl.col("drops") > 0)["replica"].n_unique()
    time = (
        within(_mean(rows["received_s"]), MDNVR_MEAN_S, relative=0.1)
        .measured_in("s")
        .called("mean completion time")
    )
    lost = exactly(_total(rows["drops"]), 0).measured_in("packets lost")
    said = f"{losing} of {every['replica'].n_unique()} runs lose packets, {_total(every['drops'])} in all"
    found = together([time, lost]).because(said)
    speed = _mean(rows["kb_a_second"])
    noted = f"{said}; mean throughput {speed or 0:.0f} KB/s, 16982 in the table"
    return found.noted(noted.removeprefix(f"{said}; ") if found.reason else noted)


def _total(values: pl.Series) -> int:
    return int(values.sum())


def _halves(tables: Tables) -> Judgement:
    shares = tables["shares"]
    if set(shares["subflow"]) != {0, 1}:
        return not_reached("transfers have not two connections each")
    lossless = _without_loss(_of(tables, MDNVR))["replica"].unique().to_list()
    free = shares.filter(pl.col("replica").is_in(lossless))
    return by_reading({LOSSLESS: _halves_of(free), EVERY_RUN: _halves_of(shares)})


def _halves_of(shares: pl.DataFrame) -> Judgement:
    off = 100 * (shares["share"] / 0.5 - 1).abs()
    worst, mean = off.max(), off.mean()
    if not isinstance(worst, float) or not isinstance(mean, float):
        return judged(False, "no run without a loss", "one or more")
    said = f"{worst:.3g} % from a half at most, {mean:.3g} % on average"
    return judged(worst <= 3, said, "at most 3 %").because(
        f"{(off > 3).sum()} of {len(off)} connections are further off: a path that waits for its timeout leaves the "
        "rest to the other"
    )


def _cost(tables: Tables) -> Judgement:
    costs = tables["costs"]
    hops, busy = costs["packet_hops"].mean(), max(costs["cpu_s_at_most"])
    assert isinstance(hops, float)
    return judged(
        True,
        f"{busy} s of processor time at most, {hops:,.0f} packet-hops",
        f"reported; theirs {AUTHORS_S} s",
    )


def draw(tables: Tables) -> "Picture":
    """When each transfer of the first run ends, and what it lost, under both schemes."""
    picture, (times, losses) = style.panels(1, 2)
    for place, scheme in enumerate((NR, MDNVR)):
        rows = _of(tables, scheme).filter(replica=0).sort("src")
        at = [source + 0.38 * place - 0.19 for source in rows["src"]]
        for axes, column in ((times, "received_s"), (losses, "drops")):
            axes.bar(at, rows[column].to_list(), 0.36, color=style.COLOURS[(0, 3)[place]], label=scheme)
    for mean, label, look in ((NR_MEAN_S, "NR", "--"), (MDNVR_MEAN_S, "MDNVR", ":")):
        times.axhline(
            mean, color="#000000", linewidth=1.2, linestyle=look, label=f"mean of {label} in the thesis"
        )
    for axes, label in ((times, "last byte received (s)"), (losses, "packets lost")):
        axes.set(xlabel="transfer", ylabel=label)
        axes.set_xticks(range(4), [f"{source} to {target}" for source, target in PAIRS])
    picture.legend(*times.get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return picture


FIGURE = Figure(
    id="MP-T5.4-5",
    title="Tables 5.4 and 5.5: four transfers of 5 MB, under Normal Routing and MDNVR",
    plans=plans,
    tables=tables,
    claims={
        "MP-T5.4.a": _unlost,
        "MP-T5.4.b": _normal,
        "MP-T5.4.c": _slowest,
        "MP-T5.5.a": _multipath,
        "MP-T5.5.b": _halves,
        "MP-T5.45.e": _cost,
    },
    draw=draw,
    needs={
        "transfers": Needs(chapter.REPLICAS, by=("setup", "scheme")),
        "shares": Needs(chapter.REPLICAS),
        "costs": Needs(chapter.REPLICAS, by=("scheme",)),
    },
    assumed=(
        *chapter.ASSUMED[:3],
        chapter.ASSUMED[4],
        "Hosts 0 to 3 send to hosts 4 to 7 and nobody else does; all start at the same instant. The tables "
        "are of one run with one seed, here there are 20: that of table 5.5 lost nothing, and it is compared with "
        "those that lose nothing either; the mean of all runs stands beside.",
    ),
)
