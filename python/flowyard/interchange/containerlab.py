"""A network from a containerlab file (YAML): its nodes and links.

    topology:
      nodes:
        leaf1: {kind: linux}
        h1: {kind: linux}
      links:
        - endpoints: ["leaf1:e1", "h1:eth1"]

Links have no rates there, and kinds are operating systems: rates, delays and hosts are what the user says. Both forms
of endpoints are read, text and tables with `node`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowyard.errors import UserError
from flowyard.folders.reading import shown
from flowyard.interchange import cabling

if TYPE_CHECKING:
    from flowyard.interchange.network import Network
    from flowyard.interchange.text import Source

# What an endpoint may name besides a node: the machine that the lab runs on.
_OUTSIDE = ("host", "mgmt-net", "macvlan", "dummy")


def read(source: Source, **options: Any) -> Network:
    """The network; options as for `cabling.network_of`."""
    topology = _parsed(source)
    nodes, links = _part(source, topology, "nodes", dict), _part(source, topology, "links", list)
    found = cabling.Cabling({str(name): {} for name in nodes})
    outside = 0
    for place, link in enumerate(links):
        a, b = _ends(source, place, link)
        if a in _OUTSIDE or b in _OUTSIDE:
            outside += 1
            continue
        for end in (a, b):
            if end not in found.nodes:
                raise source.wrong(
                    0, f"topology.links.{place} has the node {shown(end)}, which is not in topology.nodes"
                )
        found.join(a, b, {})
    try:
        network = cabling.network_of(found.by_node(), **options)
    except UserError as error:
        systems = (
            "" if options.get("hosts") else "kinds of containerlab are operating systems, also of hosts: "
        )
        raise source.wrong(0, f"{systems}{error}") from None
    network.notes.append("of nodes only their names are read, and of links only their ends")
    if outside:
        network.notes.append(f"links to the machine of the lab are not read: {outside}")
    return network


def _parsed(source: Source) -> dict[str, Any]:
    try:
        import yaml
    except ImportError:
        raise UserError("YAML needs a package that is not here: pip install pyyaml") from None
    try:
        data = yaml.safe_load(source.text)
    # Its parser raises several kinds, and Python's own for what nests too deep or is no date.
    except Exception as error:
        mark = getattr(error, "problem_mark", None)
        what = shown(" ".join(str(getattr(error, "problem", None) or error).split()))
        raise source.wrong(mark.line + 1 if mark else 0, f"is not YAML ({what})") from None
    topology = data.get("topology") if isinstance(data, dict) else None
    if not isinstance(topology, dict):
        raise source.wrong(0, "has no topology with nodes and links, as a containerlab file has")
    return topology


def _part(source: Source, topology: dict[str, Any], key: str, kind: type) -> Any:
    value = topology.get(key)
    if not isinstance(value, kind) or not value:
        what = "a table of nodes by name" if kind is dict else "a list of links"
        raise source.wrong(0, f"topology.{key} is {shown(value)}; must be {what}")
    return value


def _ends(source: Source, place: int, link: Any) -> tuple[str, str]:
    """The names of the nodes that a link joins."""
    ends = link.get("endpoints") if isinstance(link, dict) else None
    if isinstance(ends, list) and len(ends) == 2:
        names = [end.get("node") if isinstance(end, dict) else end for end in ends]
        found = [name.partition(":")[0] for name in names if isinstance(name, str)]
        if len(found) == 2:
            return found[0], found[1]
    raise source.wrong(
        0, f'topology.links.{place} is {shown(link)}; must be such as {{endpoints: ["leaf1:e1", "h1:eth1"]}}'
    )
