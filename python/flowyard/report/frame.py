"""The frame of all reports: one HTML text with its style, script and data."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from flowyard.report import charts, javascript
from flowyard.report.mark import MARK
from flowyard.report.section import Section

HERE = Path(__file__).parent


def render(
    template: str,
    *,
    scripts: Sequence[str],
    styles: Sequence[str],
    specs: Mapping[str, charts.Spec] | None = None,
    sections: Sequence[Section] = (),
    result: str = "",
    story: str = "",
    **variables: Any,
) -> str:
    """A page that extends frame.html.jinja, as HTML.

    Args:
        template: Its file.
        scripts: Its own scripts, in order; they share one module.
        styles: Style sheets, which it includes.
        specs: Vega-Lite data by the key of a chart, whose element is chart-<key>, besides those of sections.
        sections: Sections that it has as objects: their HTML and menus, by `sections`.
        result: What came out, in a sentence below the title.
        story: Sentences on the simulation, below that.
        variables: What the template and those of sections show: at least title, notices, columns (of the widest
            table of facts), terms, meanings and made_from (the files).
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
    drawn = dict(specs or {})
    shown = []
    for section in sections:
        drawn |= section.specs
        html = environment.get_template(section.template).render(**variables, **section.data)
        shown.append({"menu": section.menu, "html": Markup(html)})
    page: str = environment.get_template(template).render(
        mark=MARK,
        specs=drawn,
        sections=shown,
        style="\n".join(_text(name) for name in styles),
        script="\n".join(_text(name) for name in scripts),
        bundle=javascript.bundle() if drawn else "",
        result=result,
        story=story,
        **variables,
    )
    return page


def _text(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")
