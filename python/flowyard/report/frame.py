"""What all reports have in common: one HTML text with its style, script and data."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from flowyard.report import MARK, charts, javascript

HERE = Path(__file__).parent


def render(
    template: str,
    *,
    specs: Mapping[str, charts.Spec],
    scripts: Sequence[str],
    styles: Sequence[str],
    **variables: Any,
) -> str:
    """A page that extends frame.html.jinja, as HTML.

    Args:
        template: Its file.
        specs: Vega-Lite data by the key of a chart, whose element is chart-<key>.
        scripts: Its own scripts, in order; they share one module.
        styles: Style sheets, which it includes.
        variables: What the template shows: at least title, notices, columns (of the widest table of facts), terms,
            meanings and made_from (the files).
    """
    # Names in scenarios are anybody's text: everything is escaped but our own style, script and bundle.
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"sort_keys": True, "separators": (",", ":")}
    html: str = environment.get_template(template).render(
        mark=MARK,
        specs=specs,
        style="\n".join(_text(name) for name in styles),
        script="\n".join(_text(name) for name in scripts),
        bundle=javascript.bundle() if specs else "",
        **variables,
    )
    return html


def _text(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")
