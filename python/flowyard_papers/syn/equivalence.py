"""SYN figure 1 and section II (claims P3, P8): links f times as fast are f parallel links with f times the switches.

The evaluated leaf-spine has 120 servers and 3 spines at 10 Gbps; theory (edge colouring of a Clos network, Koenig
1916) wants links of one rate, where it is 30 spines at 1 Gbps. Which packets of a slot can be routed must be the same.
"""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from flowyard.papers import style
from flowyard.papers.figure import Figure, Scale, Tables
from flowyard.papers.judge import Judgement, all_exactly, exactly, judged, not_reached, together
from flowyard_papers.syn._colouring import colouring
from flowyard_papers.syn._leaf_spine import (
    FACTOR,
    LEAVES,
    SERVERS,
    SERVERS_PER_LEAF,
    SPINES,
    Demand,
    Fabric,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

# The paper's links first; all have the same capacity at a leaf.
FACTORS = (10, 2, 5, 30)


def tables(scale: Scale) -> Tables:
    """Sizes of the networks, and the packing of the packets of many slots into them."""
    pairs = {factor: (Fabric(factor, False), Fabric(factor, True)) for factor in FACTORS}
    networks = [fabric.consists_of() for pair in pairs.values() for fabric in pair]
    slots = []
    for kind, number, demand in _demands(scale.pick(50, 200)):
        # Leaves as in the paper's network; servers are numbered by leaf in all.
        leaf = pairs[FACTOR][0].leaf
        crossing = [(leaf[a], leaf[b]) for a, b in demand if leaf[a] != leaf[b]]
        colours = colouring(crossing, SERVERS_PER_LEAF)
        out, into = (Counter(pair[end] for pair in crossing) for end in (0, 1))
        about = {
            "kind": kind,
            "number": number,
            "packets": len(demand),
            "most_at_a_leaf": max([*out.values(), *into.values()], default=0),
            "colours": None if colours is None else len(set(colours)),
        }
        for factor, (fast, equal) in pairs.items():
            found = {"factor": factor, **about}
            for name, fabric in (("fast", fast), ("equal", equal)):
                busiest, overfull = fabric.carry(demand, colours) if colours is not None else (None, None)
                found |= {
                    f"room_of_a_leaf_{name}": fabric.room,
                    f"busiest_link_{name}": busiest,
                    f"overfull_links_{name}": overfull,
                }
            slots.append(found)
    return {"networks": pl.DataFrame(networks), "slots": pl.DataFrame(slots, infer_schema_length=None)}


MATCHINGS = ("random matching", "random partial matching", "matching between leaves")
BEYOND = ("a server sends 2", "a server receives 2")


def _demands(count: int) -> Iterator[tuple[str, int, Demand]]:
    """Slots of each kind: matchings of the servers, and demands beyond any matching."""
    random = np.random.default_rng(1)
    servers = np.arange(SERVERS)
    for number in range(count):
        order = random.permutation(SERVERS)
        yield MATCHINGS[0], number, [(a, int(b)) for a, b in enumerate(order) if a != b]
        active = random.random(SERVERS) < random.random()
        yield MATCHINGS[1], number, [(a, int(b)) for a, b in enumerate(order) if a != b and active[a]]
        # Every packet leaves its leaf, all of a leaf for the same one: each leaf fills its uplinks.
        leaf, place = servers // SERVERS_PER_LEAF, servers % SERVERS_PER_LEAF
        away = 1 + number % (LEAVES - 1)
        within = random.permutation(SERVERS_PER_LEAF)
        targets = (leaf + away) % LEAVES * SERVERS_PER_LEAF + within[place]
        full = [(a, int(b)) for a, b in enumerate(targets)]
        yield MATCHINGS[2], number, full
        # One packet gets a source, or a destination, in a leaf that it had nothing to do with.
        (source, target), *others = random.permutation(full).tolist()
        strangers = [a for a, b in others if leaf[a] not in (leaf[source], leaf[target])]
        yield BEYOND[0], number, [*others, (strangers[0], target)]
        yield BEYOND[1], number, [*others, (source, strangers[0])]


def _not_oversubscribed(tables: Tables) -> Judgement:
    row = tables["networks"].filter(factor=FACTOR, links="two rates").row(0, named=True)
    expected = {
        "servers": 120,
        "leaves": 4,
        "servers_per_leaf_least": 30,
        "servers_per_leaf_most": 30,
        "spines": 3,
        "spine_links_most_gbps": 10,
        "server_links_most_gbps": 1,
        "leaf_down_most_gbps": 30,
        "leaf_up_least_gbps": 30,
        "oversubscription": 1,
    }
    return all_exactly(((name, row[name], value) for name, value in expected.items()), "counts")


def _equivalent(tables: Tables) -> Judgement:
    return together([_same_counts(tables["networks"]), _same_routability(tables["slots"])])


def _same_counts(networks: pl.DataFrame) -> Judgement:
    rows = []
    for factor in FACTORS:
        fast, equal = (
            networks.filter(factor=factor, links=links).row(0, named=True)
            for links in ("two rates", "one rate")
        )
        expected = {
            "spines": fast["spines"] * factor,
            "spine_links_least_gbps": fast["spine_links_least_gbps"] / factor,
            "spine_links_most_gbps": fast["server_links_most_gbps"],
        }
        same = ("servers", "leaves", "leaf_up_least_gbps", "leaf_down_most_gbps", "oversubscription")
        expected |= {name: fast[name] for name in same}
        if factor == FACTOR:
            # The two that the paper names.
            expected["spines"] = 30
            rows += [("spines at 10 Gbps", fast["spines"], 3)]
        rows += [(f"{name} at factor {factor}", equal[name], value) for name, value in expected.items()]
    return all_exactly(rows, "counts")


def _same_routability(slots: pl.DataFrame) -> Judgement:
    """Every matching fits into both networks, and no demand with 31 packets at a leaf into either."""
    wrong, counts = [], Counter[str]()
    for row in slots.iter_rows(named=True):
        said = f"{row['kind']} {row['number']} at factor {row['factor']}"
        for name, link in (("fast", row["factor"]), ("equal", 1)):
            if row["kind"] in MATCHINGS:
                busiest, overfull = row[f"busiest_link_{name}"], row[f"overfull_links_{name}"]
                fits = overfull == 0 and busiest is not None and busiest <= link
            else:
                # Nothing was tried: the leaf has more packets than its uplinks take.
                fits = row["most_at_a_leaf"] <= row[f"room_of_a_leaf_{name}"]
            if fits != (row["kind"] in MATCHINGS):
                wrong.append(f"{said}: {'fits' if fits else 'does not fit'} ({name})")
        counts[row["kind"]] += 1
    if set(counts) != {*MATCHINGS, *BEYOND}:
        return not_reached("some kind of demand is missing")
    found = judged(not wrong, f"{len(slots) - len(wrong)} of {len(slots)} slots alike", f"all {len(slots)}")
    return found.because("; ".join(wrong[:3]))


def _colours_suffice(tables: Tables) -> Judgement:
    """In every matching at most 30 colours, and no link of 1 Gbps with two packets."""
    rows = tables["slots"].filter(pl.col("kind").is_in(MATCHINGS), factor=FACTOR)
    if rows.is_empty():
        return not_reached("there are no matchings")
    good = (
        (pl.col("colours") <= 30)
        & (pl.col("busiest_link_equal") <= 1)
        & (pl.col("overfull_links_equal") == 0)
    )
    # A matching without a colouring has nulls here.
    routed = rows.filter(good).height
    return exactly(f"{routed} of {rows.height} matchings", f"{rows.height} of {rows.height} matchings")


def draw(tables: Tables) -> "Picture":
    """Both networks, and how full their busiest links are."""
    picture, panels = style.panels(1, 3)
    networks = tables["networks"].filter(factor=FACTOR)
    for axes, links, width in zip(panels, ("two rates", "one rate"), (2.2, 0.5), strict=False):
        _diagram(axes, networks.filter(links=links).row(0, named=True), width)
    slots = tables["slots"].filter(factor=FACTOR)
    fit = slots.filter(pl.col("kind").is_in(MATCHINGS))
    axes = panels[2]
    axes.axvspan(SERVERS_PER_LEAF + 0.5, SERVERS_PER_LEAF + 2, color="#f3d9cf", label="no room: in neither")
    for name, full, colour, marker in (
        ("equal", 1, style.COLOURS[1], "s"),
        ("fast", FACTOR, style.COLOURS[0], "o"),
    ):
        label = f"{SPINES * FACTOR // full} spines at {full} Gbps"
        axes.plot(
            fit["most_at_a_leaf"].to_numpy(),
            100 * fit[f"busiest_link_{name}"].to_numpy() / full,
            linestyle="",
            marker=marker,
            color=colour,
            alpha=0.5,
            label=label,
        )
    beyond = slots.filter(pl.col("kind").is_in(BEYOND))
    axes.plot(
        beyond["most_at_a_leaf"].to_numpy(), [4] * len(beyond), linestyle="", marker="x", color="#803010"
    )
    axes.set(ylim=(0, 108), title="Busiest fabric link of a slot", xlabel="packets at the busiest leaf")
    axes.set_ylabel("share of what it carries (%)")
    axes.legend(loc="center", bbox_to_anchor=(0.6, 0.4), fontsize=7.5)
    return picture


def _diagram(axes: "Axes", row: dict[str, Any], width: float) -> None:
    """Spines above leaves above servers."""
    leaves = [(place + 0.5) / row["leaves"] for place in range(row["leaves"])]
    spines = [(place + 0.5) / row["spines"] for place in range(row["spines"])]
    for leaf in leaves:
        for spine in spines:
            axes.plot([leaf, spine], [1, 2], color="#8aa4b8", linewidth=width, zorder=1)
        servers = row["servers_per_leaf_most"]
        at = [leaf + ((place + 0.5) / servers - 0.5) * 0.22 for place in range(servers)]
        for server in at:
            axes.plot([leaf, server], [1, 0.3], color="#b0b0b0", linewidth=0.4, zorder=1)
        axes.scatter(at, [0.3] * servers, s=3, color=style.COLOURS[6], zorder=2)
    axes.scatter(leaves, [1] * len(leaves), s=60, marker="s", color=style.COLOURS[0], zorder=2)
    axes.scatter(
        spines,
        [2] * len(spines),
        s=60 if len(spines) < 10 else 14,
        marker="s",
        color=style.COLOURS[2],
        zorder=2,
    )
    up, down = row["leaf_up_least_gbps"], row["leaf_down_most_gbps"]
    axes.set(
        title=f"{row['spines']} spines at {row['spine_links_most_gbps']:g} Gbps",
        ylim=(0, 2.3),
    )
    axes.text(
        0.5, 0.05, f"{row['servers']} servers; a leaf has {down} Gbps down, {up} up", ha="center", fontsize=8
    )
    axes.axis("off")


FIGURE = Figure(
    id="SYN-P8",
    title="The leaf-spine of 120 servers, and its equivalent with links of one rate",
    tables=tables,
    claims={"SYN-F1.a": _not_oversubscribed, "SYN-P3": _colours_suffice, "SYN-P8": _equivalent},
    draw=draw,
    assumed=(
        "A slot is the time of a packet at 1 Gbps, so that a link of f Gbps takes f packets per slot.",
        "Matchings of all 120 servers, of some of them, and those in which all packets of a leaf go to one other leaf, "
        "which fill every uplink; beside the paper's factor 10 the factors 2, 5 and 30, of the same capacity.",
        "Loads are counted on the links of the generated networks, apart from the colouring. In a demand beyond any "
        "matching a server sends, or receives, 2 packets, and its leaf has 31: more than its uplinks take.",
    ),
)
