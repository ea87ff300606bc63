"""Sphinx: the Markdown pages of the repository as a site. `make docs` builds it.

The root of the source is that of the repository, so that the links by which a forge shows the pages hold here too.
Nothing is fetched: no intersphinx, no fonts, no scripts from elsewhere.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent
FORGE = "https://github.com/flowyard/flowyard/blob/main"

project = "Flowyard"
html_title = "Flowyard"
extensions = ["myst_parser"]
root_doc = "docs/index"
source_suffix = {".md": "markdown"}
include_patterns = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**.md"]
exclude_patterns = ["docs/site", ".*", "benches", "crates", "dist", "examples", "out", "python", "target"]

html_theme = "furo"
html_extra_path = ["site/index.html"]
html_static_path = ["site/site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {"footer_icons": []}
myst_heading_anchors = 4
# Blocks of a terminal have no lexer.
highlight_language = "none"
# Pages that the program writes into another begin with a heading of a lower level.
suppress_warnings = ["misc.highlighting_failure", "myst.header"]

# What `make docs-links` does not ask for.
linkcheck_ignore = [re.escape(FORGE) + ".*"]
linkcheck_timeout = 20
linkcheck_workers = 4

# The menu of the site, by the page that carries a part of it: a forge would show it as text, so that it is kept apart.
MENUS = {
    "docs/index": "contents",
    "docs/transports/README": "transports",
    "docs/queues": "queues",
    "docs/reference/README": "reference",
}
# Of links, not of pictures: text, path, anchor.
LINK = re.compile(r"(?<!!)(\[[^\]]*\])\((?!https?:|#)([^)\s#]+)(#[^)\s]*)?\)")


def add_menu(_: "Sphinx", docname: str, source: list[str]) -> None:
    """The first page carries the menu, pages of members those of their members."""
    if menu := MENUS.get(docname):
        source[0] += "\n" + (ROOT / "docs" / "site" / f"{menu}.md").read_text(encoding="utf-8")


def link_to_forge(app: "Sphinx", docname: str, source: list[str]) -> None:
    """Links to files that are no pages lead to the repository; that they exist is tested by test_docs.py."""
    folder = (ROOT / docname).parent

    def forge(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve().relative_to(ROOT).as_posix()
        if target.removesuffix(".md") in app.env.found_docs:
            return link[0]
        return f"{link[1]}({FORGE}/{target}{link[3] or ''})"

    source[0] = LINK.sub(forge, source[0])


def setup(app: "Sphinx") -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", add_menu)
    app.connect("source-read", link_to_forge)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
