"""Charts as files for a paper: SVG or PNG, in the colours of the light page."""

import json
import re
from functools import cache
from pathlib import Path

from flowyard import memory
from flowyard.report.charts import Spec

STYLE = Path(__file__).parents[1] / "page.css"
VARIABLE = re.compile(r"var\((--[\w-]+)\)")


def svg(spec: Spec) -> str:
    """A chart as SVG, on white.

    Raises:
        UserError: There is no room in memory to draw it.
    """
    memory.require_room_to_draw("picture")
    import vl_convert

    colours = light()
    text = VARIABLE.sub(lambda found: colours[found[1]], json.dumps({**spec, "background": "white"}))
    drawn: str = vl_convert.vegalite_to_svg(text)
    return drawn


def png(drawn: str) -> bytes:
    """The picture that `svg` made, in pixels; twice as many as its own, for screens that have them."""
    import vl_convert

    content: bytes = vl_convert.svg_to_png(drawn, scale=2)
    return content


@cache
def light() -> dict[str, str]:
    """The colours of the light page by their variables."""
    first = STYLE.read_text(encoding="utf-8").partition(":root {")[2].partition("}")[0]
    return dict(re.findall(r"(--[\w-]+): ([^;]+);", first))
