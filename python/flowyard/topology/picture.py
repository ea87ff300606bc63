"""A picture of a network that a person can read, as SVG or PNG.

Networks in tiers stand in rows, hosts at the bottom; those whose hosts are joined to each other in a circle, a torus
as a cube. Where a file names no tiers, they follow from the distance to the hosts; a cable on whose way another node
stands bends around it. What would be too small to see is summed up: hosts as a number below their switch, and a network
too large even for that as one box a tier.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import altair as alt

from flowyard.text import count, counted, rate
from flowyard.topology import Network

WIDTH, HEIGHT = 1200, 620
# Beyond so many, hosts are numbers below their switches; beyond so many cables, a tier is a box.
HOSTS_MAX, CABLES_MAX = 160, 1_600
COLOURS = ["#4c78a8", "#f58518", "#54a24b", "#b279a2", "#9d755d", "#e45756", "#72b7b2", "#eeca3b"]
NAMED_MAX = 40
# Pixels of a letter and of a line of names, and the most lines of one row.
LETTER, LINE, LINES_MAX = 6.0, 11, 3
# Pixels from its middle at which a line touches a node; how far a bent cable goes aside, of its length; its pieces.
NEAR, BEND, STEPS = 12.0, 0.12, 16
# Pairs of a cable and a node that are looked at for that.
PAIRS_MAX = 200_000

# The thinnest line; by how much that of a higher rate is thicker, for all rates together; kinds that the legend has.
THINNEST, RATE_STEP, WIDEST, KINDS_MAX = 0.8, 2.2, 8.0, 8

Place = tuple[float, float]


def svg(network: Network, title: str) -> str:
    """The picture."""
    import vl_convert

    text: str = vl_convert.vegalite_to_svg(chart(network, title).to_dict())
    # It shrinks with a window, or a page, that is narrower.
    return text.replace("<svg ", '<svg style="max-width: 100%; height: auto" ', 1)


def png(drawn: str) -> bytes:
    """The picture that `svg` made, in pixels; twice as many as its own, for screens that have them."""
    import vl_convert

    content: bytes = vl_convert.svg_to_png(drawn, scale=2)
    return content


def chart(network: Network, title: str) -> Any:
    """The picture as an Altair chart, a layer on top of the other."""
    network = _in_levels(network)
    tiers = network.tiers()
    joined = any(network.nodes[cable.a].host and network.nodes[cable.b].host for cable in network.cables)
    torus = _torus(network)
    notes: dict[int, str] = {}
    if torus:
        places = torus
    elif joined and len(network.cables) <= CABLES_MAX:
        places = _circle(network)
    elif len(network.cables) <= CABLES_MAX or _collapsed(network):
        places, notes = _rows(network, tiers)
    else:
        places = None
    if places is None:
        return _boxes(network, tiers, title)
    return _drawn(network, tiers, places, notes, title)


def _in_levels(network: Network) -> Network:
    """The network with a tier for each distance from the hosts, where all its switches are of one tier."""
    distance = network.distances()
    tiers = {node.tier for node in network.nodes if not node.host}
    if network.kind != "explicit" or len(tiers) != 1 or max(distance.values(), default=0) < 2:
        return network
    nodes = [
        node
        if node.host or place not in distance
        else node._replace(tier=f"{node.tier}, level {distance[place]}")
        for place, node in enumerate(network.nodes)
    ]
    return replace(network, nodes=nodes)


def _collapsed(network: Network) -> bool:
    """Whether it can be drawn without its hosts."""
    nodes = network.nodes
    switches = sum(not (nodes[cable.a].host or nodes[cable.b].host) for cable in network.cables)
    return switches <= CABLES_MAX and not any(nodes[c.a].host and nodes[c.b].host for c in network.cables)


def _rows(network: Network, tiers: list[str]) -> tuple[dict[int, Place], dict[int, str]]:
    """Each tier a row, in the order of the nodes; many hosts only as a note at their switch."""
    places: dict[int, Place] = {}
    notes: dict[int, str] = {}
    hidden = network.hosts > HOSTS_MAX
    rows = [tier for tier in tiers if not (hidden and tier == "host")]
    for row, tier in enumerate(rows):
        members = [place for place, node in enumerate(network.nodes) if node.tier == tier]
        y = row / max(len(rows) - 1, 1)
        for number, place in enumerate(members):
            places[place] = ((number + 0.5) / len(members), y)
    if hidden:
        below = Counter(
            switch
            for cable in network.cables
            for host, switch in ((cable.a, cable.b), (cable.b, cable.a))
            if network.nodes[host].host
        )
        notes = {switch: f"{hosts}" for switch, hosts in below.items()}
    return places, notes


def _circle(network: Network) -> dict[int, Place]:
    """Hosts on a circle in their order; each switch outside, beside the hosts that hang on it."""
    hosts = [place for place, node in enumerate(network.nodes) if node.host]
    angle = {place: 2 * math.pi * number / len(hosts) for number, place in enumerate(hosts)}
    places = {place: _on_circle(angle[place], 0.40) for place in hosts}
    for place, node in enumerate(network.nodes):
        if node.host:
            continue
        below = [angle[o] for c in network.cables for o in (c.a, c.b) if place in (c.a, c.b) and o in angle]
        # The mean direction; hosts on both sides of the start of the circle do not pull it across.
        x, y = sum(map(math.cos, below)), sum(map(math.sin, below))
        places[place] = _on_circle(math.atan2(y, x), 0.49)
    return places


def _on_circle(angle: float, radius: float) -> Place:
    return 0.5 + radius * math.sin(angle) * HEIGHT / WIDTH, 0.5 + radius * math.cos(angle)


def _torus(network: Network) -> dict[int, Place] | None:
    """A torus as a cube seen from above its corner; cables that go around are stubs on its faces."""
    if network.kind != "camcube" or len(network.cables) > CABLES_MAX:
        return None
    points = [_coordinates(network, host) for host in range(network.hosts)]
    flat = {host: (x + 0.42 * z, y + 0.34 * z) for host, (x, y, z) in enumerate(points)}
    wide, high = (max(p[axis] for p in flat.values()) or 1 for axis in (0, 1))
    return {place: (0.04 + 0.92 * x / wide, 0.04 + 0.92 * y / high) for place, (x, y) in flat.items()}


def _coordinates(network: Network, host: int) -> tuple[int, int, int]:
    """Where a host of a torus is: hosts are numbered along z, then y, then x."""
    y, z = network.parameters["y"], network.parameters["z"]
    return host // (y * z), host // z % y, host % z


def _around(network: Network, a: int, b: int) -> bool:
    """Whether a cable goes around a torus, from one face of the cube to the other."""
    ends = zip(_coordinates(network, a), _coordinates(network, b), strict=True)
    return network.kind == "camcube" and any(abs(one - other) > 1 for one, other in ends)


def _outwards(end: Place, other: Place) -> Place:
    """A little further than the end, as seen from the other end."""
    x, y = (one - two for one, two in zip(end, other, strict=True))
    step = 0.035 / math.hypot(x, y)
    return end[0] + step * x, end[1] + step * y


def _in_the_way(a: Place, b: Place, places: Iterable[Place]) -> bool:
    """Whether a node stands on the straight line between two others."""
    (ax, ay), (bx, by) = ((x * WIDTH, y * HEIGHT) for x, y in (a, b))
    length = math.hypot(bx - ax, by - ay)
    for x, y in places:
        px, py = x * WIDTH - ax, y * HEIGHT - ay
        along = (px * (bx - ax) + py * (by - ay)) / length
        across = abs(px * (by - ay) - py * (bx - ax)) / length
        if across < NEAR and NEAR < along < length - NEAR:
            return True
    return False


def _bent(a: Place, b: Place) -> list[Place]:
    """Points of a curve between two nodes, the further beside the straight line the longer that is."""
    x, y = (b[0] - a[0]) * WIDTH, (b[1] - a[1]) * HEIGHT
    aside = BEND * math.copysign(1.0, x or y)
    # Twice as far as the curve's middle.
    middle = ((a[0] + b[0]) / 2 - 2 * aside * y / WIDTH, (a[1] + b[1]) / 2 + 2 * aside * x / HEIGHT)
    curve = []
    for step in range(STEPS + 1):
        t = step / STEPS
        weights = ((1 - t) ** 2, 2 * t * (1 - t), t**2)
        curve.append(
            (
                sum(weight * point[0] for weight, point in zip(weights, (a, middle, b), strict=True)),
                sum(weight * point[1] for weight, point in zip(weights, (a, middle, b), strict=True)),
            )
        )
    return curve


def _line(a: Place, b: Place) -> dict[str, Any]:
    return {"x": a[0], "y": a[1], "x2": b[0], "y2": b[1]}


def _pairs(network: Network, places: dict[int, Place]) -> Counter[tuple[int, int, int]]:
    """Cables that are drawn: how many of a rate are between two nodes."""
    return Counter((c.a, c.b, c.rate_bps) for c in network.cables if c.a in places and c.b in places)


def _kind(bps: int, number: int) -> str:
    """The meaning of a line: its rate, and of parallel cables their number."""
    return rate(bps) if number == 1 else f"{number} cables of {rate(bps)}"


def _widths(network: Network, places: dict[int, Place]) -> alt.StrokeWidth:
    """The width of lines: thicker by a step for each higher rate, and by one for each parallel cable; with a legend."""
    kinds = sorted({(bps, number) for (_, _, bps), number in _pairs(network, places).items()})
    rates = sorted({bps for bps, _ in kinds})
    step = min(RATE_STEP, WIDEST / len(rates)) if rates else RATE_STEP
    widths = [THINNEST + step * rates.index(bps) + 0.8 * (number - 1) for bps, number in kinds]
    legend = alt.Legend(
        title=None, orient="top", symbolType="stroke", symbolStrokeColor="#8a8f98", symbolSize=400
    )
    return alt.StrokeWidth(
        "kind:N",
        sort=None,
        scale=alt.Scale(type="ordinal", domain=[_kind(*kind) for kind in kinds], range=widths),
        legend=legend if len(kinds) <= KINDS_MAX else None,
    )


def _cables(network: Network, places: dict[int, Place]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Straight cables, a row each, and the points of those that bend around a node."""
    pairs = _pairs(network, places)
    lines: list[dict[str, Any]] = []
    curves: list[dict[str, Any]] = []
    bends = len(pairs) * len(places) <= PAIRS_MAX
    for (a, b, bps), number in pairs.items():
        style = {"kind": _kind(bps, number), "dash": [1, 0]}
        if network.kind == "camcube" and _around(network, a, b):
            ends = [(places[a], places[b]), (places[b], places[a])]
            lines += [{**style, "dash": [3, 3], **_line(end, _outwards(end, other))} for end, other in ends]
        elif bends and _in_the_way(places[a], places[b], places.values()):
            points = enumerate(_bent(places[a], places[b]))
            curves += [
                {**style, "cable": f"{a}-{b}", "step": step, "x": px, "y": py} for step, (px, py) in points
            ]
        else:
            lines.append(style | _line(places[a], places[b]))
    return lines, curves


def _drawn(
    network: Network, tiers: list[str], places: dict[int, Place], notes: dict[int, str], title: str
) -> Any:
    """Nodes at their places, and the cables between them."""
    nodes = [
        {
            "x": x,
            "y": y,
            "tier": network.nodes[place].tier,
            "name": network.nodes[place].name,
            "note": notes.get(place, ""),
            "host": network.nodes[place].host,
            "size": (90 if network.nodes[place].host else 190) * (1.0 if len(places) < 200 else 0.4),
        }
        for place, (x, y) in places.items()
    ]
    shown = [tier for tier in tiers if any(node["tier"] == tier for node in nodes)]
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, 1]))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-0.04, 1.04]))
    lines, curves = _cables(network, places)
    thick = _widths(network, places)
    faint = max(0.15, min(0.7, 120 / max(len(lines) + len(curves) / (STEPS + 1), 1)))
    cables = (
        alt.Chart(alt.InlineData(values=lines))
        .mark_rule(color="#8a8f98", opacity=faint)
        .encode(
            x=x,
            y=y,
            x2="x2:Q",
            y2="y2:Q",
            strokeWidth=thick,
            strokeDash=alt.StrokeDash("dash:N", scale=None),
        )
    )
    bent = (
        alt.Chart(alt.InlineData(values=curves))
        .mark_line(color="#8a8f98", opacity=faint)
        .encode(
            x=x,
            y=y,
            detail="cable:N",
            order="step:Q",
            strokeWidth=thick,
        )
    )
    colour = alt.Color(
        "tier:N",
        sort=shown,
        scale=alt.Scale(domain=shown, range=[COLOURS[i % len(COLOURS)] for i in range(len(shown))]),
        legend=alt.Legend(title=None, orient="top", symbolType="square"),
    )
    data = alt.InlineData(values=nodes)
    squares = (
        alt.Chart(data)
        .mark_square(opacity=1, stroke="white", strokeWidth=1)
        .encode(x=x, y=y, color=colour, size=alt.Size("size:Q", scale=None, legend=None), tooltip="name:N")
    )
    layers: list[Any] = [cables, *([bent] if curves else []), squares]
    if len(nodes) <= NAMED_MAX:
        for host, dy in ((True, 16), (False, -14)):
            for number, line in enumerate(lines_of_names([node for node in nodes if node["host"] == host])):
                own = alt.Chart(alt.InlineData(values=line))
                away = LINE * number if host else -LINE * number
                layers += _words(own.encode(x=x, y=y, text="name:N"), dy + away, 10)
    if notes:
        layers += _words(alt.Chart(data).encode(x=x, y=y, text="note:N"), 16, 9)
    return _titled(layers, network, title, bool(notes))


def lines_of_names(nodes: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The nodes whose names stand in the same line, of as few lines as keep neighbours of a row apart."""
    rows: dict[float, list[dict[str, Any]]] = {}
    for node in sorted(nodes, key=lambda node: float(node["x"])):
        rows.setdefault(node["y"], []).append(node)
    for per_row in range(1, LINES_MAX + 1):
        lines = [[node for row in rows.values() for node in row[first::per_row]] for first in range(per_row)]
        pairs = ((row[i], row[i + per_row]) for row in rows.values() for i in range(len(row) - per_row))
        if all((b["x"] - a["x"]) * WIDTH >= LETTER * (len(a["name"]) + len(b["name"])) / 2 for a, b in pairs):
            break
    return lines


def _words(words: alt.Chart, dy: int, size: int) -> list[alt.Chart]:
    """Text with a white rim, which cables do not run through."""
    rim = words.mark_text(dy=dy, fontSize=size, stroke="white", strokeWidth=4, strokeJoin="round")
    return [rim, words.mark_text(dy=dy, fontSize=size, color="#333")]


def _boxes(network: Network, tiers: list[str], title: str) -> Any:
    """One box a tier with its numbers, and the cables between tiers as one line."""
    ports = network.ports()
    height = {tier: row / max(len(tiers) - 1, 1) for row, tier in enumerate(tiers)}
    boxes = []
    for tier, (nodes, least, most) in ports.items():
        each = count(least) if least == most else f"{count(least)} to {count(most)}"
        ports_each = "1 port" if each == "1" else f"{each} ports"
        boxes.append({"x": 0.5, "y": height[tier], "text": f"{tier}: {count(nodes)}, {ports_each}"})
    lines = [
        {
            "x": 0.5,
            "y": height[a],
            "y2": height[b],
            "middle": (height[a] + height[b]) / 2,
            "text": f"{counted(number, 'cable')} of {rate(bps)}",
        }
        for (a, b, bps, _, _), number in network.cable_kinds().items()
    ]
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, 1]))
    scale = alt.Scale(domain=[-0.1, 1.1])
    drawn, named = alt.InlineData(values=lines), alt.InlineData(values=boxes)
    layers = [
        alt.Chart(drawn)
        .mark_rule(color="#8a8f98", strokeWidth=3)
        .encode(x=x, y=alt.Y("y:Q", axis=None, scale=scale), y2="y2:Q"),
        alt.Chart(drawn)
        .mark_text(align="left", dx=10, fontSize=13)
        .encode(x=x, y=alt.Y("middle:Q", scale=scale), text="text:N"),
        alt.Chart(named)
        .mark_rect(color="#4c78a8", width=460, height=44, cornerRadius=6)
        .encode(x=x, y=alt.Y("y:Q", scale=scale)),
        alt.Chart(named)
        .mark_text(fontSize=15, color="white")
        .encode(x=x, y=alt.Y("y:Q", scale=scale), text="text:N"),
    ]
    return _titled(layers, network, title, hidden=False)


def _titled(layers: list[Any], network: Network, title: str, hidden: bool) -> Any:
    switches = len(network.nodes) - network.hosts
    cables = Counter[str]()
    for (_, _, there, back, _), number in network.cable_kinds().items():
        cables[rate(there) if there == back else f"{rate(there)} and {rate(back)}"] += number
    lines = ", ".join(f"{counted(number, 'cable')} of {bps}" for bps, number in cables.items())
    subtitle = f"{network.kind}: {counted(network.hosts, 'host')}, {counted(switches, 'switch', 'switches')}, {lines}"
    if hidden:
        subtitle += "; the numbers are hosts below a switch"
    return (
        alt.layer(*layers)
        .properties(
            width=WIDTH,
            height=HEIGHT,
            title=alt.TitleParams(title, subtitle=subtitle, anchor="start", fontSize=18, subtitleFontSize=13),
            padding=24,
        )
        .configure_view(stroke=None)
    )
