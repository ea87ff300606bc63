"""Makes the pages that play a run, and the pictures of docs/how-to/why-slow.md; `make docs` runs it by draw_figures.py.

docs/images/watch/NAME.html  an incast under TCP and under NDP, pauses that spread from a slow receiver, and Front-Back
docs/images/why-*.svg        the slowest flow of the how-to and the port at which it waited, from its scenario

Git ignores all of them.
"""

import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import flowyard as fy
from flowyard.report.charts.drawn import svg
from flowyard.report.charts.flow import flow_chart
from flowyard.report.charts.port import port_chart
from flowyard.report.explained.watch import watch_page
from flowyard.why import port_of, slowest, why

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
HOW_TO = ROOT / "docs" / "how-to" / "why-slow.md"
DCTCP = {"tcp": {"congestion": "dctcp", "preset": "datacentre"}}
# The first 800 us are enough to see.
LONGEST_PS = 800_000_000
PORT = "switch -> host 0"


def incast(transport: object) -> dict[str, Any]:
    """Eight hosts send 90 KB each to one at once."""
    entry = {
        "name": "incast",
        "arrivals": "at-once",
        "matrix": {"incast": {"senders": 8, "receiver": 0}},
        "sizes": {"fixed": "90KB"},
    }
    switch = {"hosts": 9, "rate": "10Gbps", "delay": "1us"}
    return {"topology": {"single-switch": switch}, "transport": transport, "traffic": [entry]}


def pauses() -> dict[str, Any]:
    """Four hosts send to a host whose link becomes slow: pauses spread from its port to the flows beside them."""
    rack = {"leaves": 2, "spines": 1, "hosts": 6, "rate": "10Gbps", "delay": "500ns"}
    entry = {
        "name": "to-one",
        "arrivals": "at-once",
        "matrix": {"pairs": [[0, 6], [1, 6], [2, 6], [3, 6], [4, 7], [5, 8]]},
        "sizes": {"fixed": "150KB"},
    }
    slow = {
        "at": "20us",
        "target": {"link": ["leaf 1", "host 6"]},
        "change": {"rate": "2Gbps"},
        "lasts": "200us",
    }
    return {
        "topology": {"leaf-spine": rack},
        "transport": "roce",
        "queue": {"lossless": {"xoff": "30KB", "xon": "15KB"}},
        "faults": {"events": [slow]},
        "traffic": [entry],
    }


def front_back() -> dict[str, Any]:
    """Two flows over two paths each: the front half of their data takes one, the back half the other."""
    entry = {
        "name": "halves",
        "arrivals": "at-once",
        "matrix": {"pairs": [[0, 8], [4, 12]]},
        "sizes": {"fixed": "120KB"},
    }
    tree = {"fat-tree": {"k": 4, "rate": "10Gbps", "delay": "500ns"}}
    transport = {"parallel-tcp": {"paths": {"count": 2}, "partition": "front-back"}}
    return {"topology": tree, "transport": transport, "routing": {"balancer": "nix"}, "traffic": [entry]}


PAGES: Mapping[str, Callable[[], dict[str, Any]]] = {
    "incast-tcp": lambda: incast({"tcp": {"preset": "datacentre"}}),
    "incast-ndp": lambda: incast("ndp"),
    "pauses": pauses,
    "front-back": front_back,
}


def draw() -> None:
    """Writes all of them."""
    folder = IMAGES / "watch"
    folder.mkdir(parents=True, exist_ok=True)
    for name, scenario in PAGES.items():
        run = fy.run(scenario())
        page = watch_page(run, name, 0, min(run.summary["end_ps"], LONGEST_PS))
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    for name, picture in pictures().items():
        (IMAGES / f"{name}.svg").write_text(picture, encoding="utf-8")


def pictures() -> dict[str, str]:
    """The pictures of the how-to by name."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "rack.toml"
        scenario.write_text(block(HOW_TO, "rack.toml"), encoding="utf-8")
        run = fy.run(scenario, {"transport": DCTCP})
    answer = why(run, slowest(run), whose=True)
    end = answer.start_ps + 1_000_000_000
    port = port_of(run, PORT, 0, end)
    return {"why-slow-flow": svg(flow_chart(answer)), "why-slow-port": svg(port_chart(port, 0, end))}


def block(page: Path, name: str) -> str:
    """The text of a page's fenced block that is that file."""
    _, _, rest = page.read_text(encoding="utf-8").partition(f"file={name}\n")
    return rest.partition("```")[0]


if __name__ == "__main__":
    draw()
    sys.exit(0)
