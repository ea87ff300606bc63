"""The order of columns that have no names: inferred only where no other order fits, else refused with those that do.

`0 1 0 3000 0` may be a flow of one byte from host 0 to host 3000, or 3,000 bytes from host 1 to host 0. An order fits
if all rows can be read by it: nodes are hosts of the network, sizes at least a byte, ids follow each other, priority
groups are 0 to 7, ends come after starts.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from flowyard.errors import UserError
from flowyard.folders.reading import shown
from flowyard.interchange import columns, tables
from flowyard.interchange.text import Source, decimal

# Rows that are tried; more could rule out further orders, not admit one.
_TRIED = 1000
GROUPS = 8
# A network without a file has all hosts up to the highest number: so many for each that has a flow are no network.
_HOSTS_A_USED_ONE = 100
_HOSTS_MANY = 1000
WIDTH_HPCC = 6
_NODE_MAX = 2**32 - 1


@dataclass(frozen=True)
class Order:
    """An order of columns.

    Attributes:
        columns: Their names, as --columns has them.
        format: The format that has them so, if there is one.
        counted: Whether the number of rows stands above them; None if either may be.
    """

    columns: str
    format: str | None = None
    counted: bool | None = None


ORDERS = (
    Order("src,dst,pg,dport,size,start_s", "hpcc-flow", True),
    Order("src,dst,pg,packets,start_s,end", "rdma-flow", True),
    Order("id,src,dst,pg,size,start"),
    Order("id,size,src,dst,start_us", "netsys-trace", False),
    Order("src,dst,pg,size,start_s", "conweave-flow"),
    Order("id,src,dst,size,start"),
    Order("id,src,dst,start,size"),
    Order("id,start,src,dst,size"),
    Order("src,dst,size,start,pg"),
    Order("src,dst,size,start"),
    Order("src,dst,start,size"),
    Order("start,src,dst,size"),
    Order("size,src,dst,start"),
    Order("id,src,dst,size"),
    Order("src,dst,size"),
)


def hint(source: Source) -> str:
    """Which orders fit rows that no format has, for a message."""
    rows = [words for _, (_, words) in zip(range(_TRIED), tables.rows(source), strict=False)]
    width = len(rows[0])
    found = [
        order.columns
        for order in ORDERS
        if all(len(row) == order.columns.count(",") + 1 == width for row in rows)
        and _fits(order, rows, None, True)
    ]
    if not found:
        if columns.heads(rows[0]) and not all(map(columns.heads, rows[1:])):
            return _own_names(rows[0])
        option = columns.example(width)
        return f"columns without known names are not guessed: name all {width}, in their order, as {option}"
    some = " or ".join(found)
    return f"columns without names are not guessed: name them, such as --columns {some}, with units as in start_us"


def _own_names(words: Sequence[str]) -> str:
    """The advice on a line of names, for a message: which names are not known, and the option that replaces these."""
    if not (strange := columns.unknown(words)):
        return f"its columns make no table; {columns.allowed()}"
    return (
        f"names of columns that are not known: {', '.join(map(shown, strange))}; name all {len(words)}, in order, "
        f"and write a known one for each {columns.PLACEHOLDER}: "
        f"{columns.own_example(words, strange)}; {columns.allowed()}"
    )


def of_format(name: str) -> str:
    """The columns of a format."""
    return next(order.columns for order in ORDERS if order.format == name)


def settle(source: Source, hosts: Collection[int] | None, *, packets: bool = False) -> str:
    """The format of rows without names.

    Args:
        source: The text.
        hosts: The numbers of the hosts, if the network is known.
        packets: Whether the user says how large a packet is, so that sizes are in packets.

    Raises:
        UserError: Several orders fit, or none, or only one whose units are not known.
    """
    count = tables.counted(source)
    counted = count is not None
    tried = _TRIED if count is None else min(count, _TRIED)
    rows = [row for _, row in zip(range(tried + counted), tables.rows(source), strict=False)][counted:]
    width = len(rows[0][1]) if rows else 0
    # Rows of another width are told with their line by the format's reader.
    rows = [row for row in rows if len(row[1]) == width]
    known = [
        order
        for order in ORDERS
        if order.columns.count(",") + 1 == width and order.counted in (counted, None)
    ]
    fitting = [order for order in known if _fits(order, [words for _, words in rows], hosts, counted)]
    if packets:
        fitting = [order for order in fitting if "packets" in order.columns] or fitting
    # The one that a format has, and no other that does not say what it is.
    if len(fitting) == 1 and fitting[0].format:
        return fitting[0].format
    if not fitting and counted and width in (0, WIDTH_HPCC):
        # Its reader refuses what does not fit, and says which line it is.
        return "hpcc-flow"
    raise _refused(source, rows, fitting)


def _refused(source: Source, rows: list[tables.Row], fitting: list[Order]) -> UserError:
    line, words = rows[0] if rows else (0, [])
    start = f"has {len(words)} columns without names, {shown(' '.join(words))}"
    if not fitting:
        return source.wrong(line, f"{start}; name them, such as --columns src,dst,size,start_us")
    said = "; ".join(
        f"--columns {order.columns}" + (f" (--format {order.format})" if order.format else "")
        for order in fitting
    )
    unit = (
        ", with the unit of starts as in start_us"
        if any("start" in order.columns for order in fitting)
        else ""
    )
    which = "could be any of" if len(fitting) > 1 else "are perhaps"
    return source.wrong(
        line, f"{start}, which {which} {said}; say which{unit}, or write the names above them"
    )


def _fits(order: Order, rows: list[list[str]], hosts: Collection[int] | None, counted: bool) -> bool:
    """Whether all rows can be read so."""
    names = order.columns.split(",")
    values = {
        name.partition("_")[0]: column for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }
    used: set[int] = set()
    for name in ("src", "dst"):
        nodes = list(_whole(values[name], 0, _NODE_MAX))
        if len(nodes) < len(rows) or (hosts is not None and any(node not in hosts for node in nodes)):
            return False
        used |= set(nodes)
    if any(src == dst for src, dst in zip(values["src"], values["dst"], strict=True)):
        return False
    if hosts is None and not counted and max(used) >= max(_HOSTS_MANY, _HOSTS_A_USED_ONE * len(used)):
        return False
    bounds = {
        "size": (1, 10**12),
        "packets": (1, 10**9),
        "pg": (0, GROUPS - 1),
        "dport": (0, 65535),
        "id": (0, 2**63),
    }
    for name, (low, high) in bounds.items():
        if name in values and len(list(_whole(values[name], low, high))) < len(rows):
            return False
    if "id" in values:
        ids = [int(word) for word in values["id"]]
        if ids != list(range(ids[0], ids[0] + len(ids))):
            return False
    if any(decimal(word, 0) is None for word in (*values.get("start", ()), *values.get("end", ()))):
        return False
    return "end" not in values or all(
        float(start) < float(end) for start, end in zip(values["start"], values["end"], strict=True)
    )


def _whole(words: Collection[str], low: int, high: int) -> Iterator[int]:
    """The whole numbers within bounds, up to the first word that is none."""
    for word in words:
        if not (word.isascii() and word.isdecimal() and len(word) <= 20 and low <= int(word) <= high):
            return
        yield int(word)
