"""Sphinx: the Markdown pages of the repository as a site. `make docs` builds it.

The root of the source is that of the repository, so that the links by which a forge shows the pages hold here too.
Nothing is fetched: no intersphinx, no fonts, no scripts from elsewhere.
"""

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent
FORGE = "https://github.com/flowyard/flowyard/blob/main"

project = "Flowyard"
html_title = "Flowyard"
# The second one lets a host that hides names with an underscore serve the pages, too.
extensions = ["myst_parser", "sphinx.ext.githubpages"]
root_doc = "docs/index"
source_suffix = {".md": "markdown"}
include_patterns = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**.md"]
exclude_patterns = ["docs/site", ".*", "benches", "crates", "dist", "examples", "out", "python", "target"]

html_theme = "furo"
# Pages that play a run are drawn by tools/watch_pages.py.
html_extra_path = ["site/index.html", *(["images/watch"] if (ROOT / "docs/images/watch").exists() else [])]
html_static_path = ["site/site.css", "site/claims.js", "site/excerpts-from-disk.js"]
html_css_files = ["site.css"]
html_js_files = ["claims.js", "excerpts-from-disk.js"]
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
# Of a figure on a page: name, title. Of a published figure: id, title. Of links, not of pictures: text, path, anchor.
TITLE = re.compile(r"^\*\*Figure ([a-z0-9-]+)\*\* \(drawn by `make docs`\): (.*)$", re.MULTILINE)
RESULT = re.compile(r"^### (\S+): (.*)$", re.MULTILINE)
LINK = re.compile(r"(?<!!)(\[[^\]]*\])\((?!https?:|#)([^)\s#]+)(#[^)\s]*)?\)")


def add_menu(_: "Sphinx", docname: str, source: list[str]) -> None:
    """The first page carries the menu, pages of members those of their members."""
    if menu := MENUS.get(docname):
        source[0] += "\n" + (ROOT / "docs" / "site" / f"{menu}.md").read_text(encoding="utf-8")


def show_pictures(_: "Sphinx", docname: str, source: list[str]) -> None:
    """Pages name their figures; here the pictures that tools/draw_figures.py has drawn are in their place."""
    docs, folder = ROOT / "docs", (ROOT / docname).parent

    def picture(found: re.Match[str], text: str, pattern: str) -> str:
        paths = sorted(docs.glob(pattern))
        link = Path(os.path.relpath(paths[0], folder)).as_posix() if paths else ""
        return f"{text}![{found[1]}: {found[2]}]({link})" if link else found[0]

    source[0] = TITLE.sub(lambda found: picture(found, "", f"images/**/{found[1]}.svg"), source[0])
    if docname == "docs/results/README":
        source[0] = RESULT.sub(
            lambda found: picture(found, f"{found[0]}\n\n", f"results/*/{found[1]}.svg"), source[0]
        )


def link_to_forge(app: "Sphinx", docname: str, source: list[str]) -> None:
    """Links to files that are no pages lead to the repository; that they exist is tested by test_docs.py."""
    folder = (ROOT / docname).parent

    def forge(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve().relative_to(ROOT).as_posix()
        if target.removesuffix(".md") in app.env.found_docs:
            return link[0]
        return f"{link[1]}({FORGE}/{target}{link[3] or ''})"

    source[0] = LINK.sub(forge, source[0])


def write_excerpts(app: "Sphinx", error: Exception | None) -> None:
    """The text of each page, from which the search of a site on disk takes its excerpts."""
    if error or app.builder.name != "html":
        return
    texts = {
        name: re.sub(r"<[^>]+>", " ", app.env.get_doctree(name).astext())
        for name in sorted(app.env.found_docs)
    }
    script = f"window.EXCERPTS = {json.dumps(texts, ensure_ascii=False)};\n"
    (Path(app.outdir) / "_static" / "excerpts.js").write_text(script, encoding="utf-8")


def setup(app: "Sphinx") -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", add_menu)
    app.connect("source-read", show_pictures)
    app.connect("source-read", link_to_forge)
    app.connect("build-finished", write_excerpts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
