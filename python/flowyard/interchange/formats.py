"""The peers' formats by name, and which of them a text is."""

from flowyard.errors import UserError
from flowyard.folders.reading import shown
from flowyard.interchange.text import Source

TOPOLOGY = ("htsim-topo", "hpcc-topology", "graphml")
TRAFFIC = ("htsim-cm", "hpcc-flow", "netsys-trace")
CDF = "cdf"
READ = (*TOPOLOGY, *TRAFFIC, CDF)

_LOOKED_AT = 50


def sniff(source: Source) -> str:
    """The format of a text, by its content; refused if it could be none of them."""
    start = source.text[:4096].lstrip("\ufeff \t\r\n")
    if start.startswith("<"):
        if "<graphml" in start:
            return "graphml"
        raise _unknown(source, start)
    # Enough lines to tell, without splitting a million of them.
    rows = [
        words for _, words in zip(range(_LOOKED_AT), (words for _, words in source.lines()), strict=False)
    ]
    if not rows:
        raise source.wrong(0, "is empty")
    first = [row[0].lower() for row in rows]
    if "tiers" in first or "podsize" in first or "tier" in first:
        return "htsim-topo"
    if "connections" in first or any("->" in word for word in first) or rows[0][0] == "Nodes":
        return "htsim-cm"
    widths = [len(row) for row in rows]
    numbers = [all(_number(word) for word in row) for row in rows]
    if widths[0] == 1 and numbers[0]:
        if widths[1:2] == [6]:
            return "hpcc-flow"
        if widths[1:2] in ([2], [3]):
            return CDF
    if (
        widths[0] in (3, 6)
        and rows[0][0].isdecimal()
        and any(width == 5 and not number for width, number in zip(widths[1:], numbers[1:], strict=True))
    ):
        return "hpcc-topology"
    if all(numbers) and set(widths) == {5}:
        return "netsys-trace"
    cells = [[word for cell in row for word in cell.split(",") if word] for row in rows]
    if all(len(row) in (2, 3) and all(_number(word) for word in row) for row in cells):
        return CDF
    raise _unknown(source, " ".join(rows[0]))


def _unknown(source: Source, start: str) -> UserError:
    line = start.splitlines()[0] if start else ""
    raise source.wrong(
        0, f"begins {shown(line)}, which is none of the known formats; say --format {', '.join(READ)}"
    )


def _number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
