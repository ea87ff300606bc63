"""How to cite Flowyard: the one place of which BibTeX and CITATION.cff are made."""

from flowyard import _native

TITLE = "Flowyard: a data-centre network simulator"
AUTHOR = "The Flowyard developers"
ADDRESS = "https://github.com/flowyard/flowyard"
LICENCES = ("MIT", "Apache-2.0")
ABSTRACT = (
    "A packet-level simulator for people who design, compare and choose transport",
    "protocols, load balancing and flow scheduling in data-centre networks.",
)


def bibtex() -> str:
    """An entry for a bibliography."""
    return f"""\
@software{{flowyard,
  title = {{{TITLE}}},
  author = {{{{{AUTHOR}}}}},
  version = {{{_native.__version__}}},
  url = {{{ADDRESS}}},
}}
"""


def cff() -> str:
    """The text of CITATION.cff."""
    licences = "".join(f"  - {name}\n" for name in LICENCES)
    abstract = "".join(f"  {line}\n" for line in ABSTRACT)
    return f"""\
cff-version: 1.2.0
message: If you use Flowyard in your research, please cite it.
title: "{TITLE}"
type: software
authors:
  - name: {AUTHOR}
version: {_native.__version__}
license:
{licences}repository-code: {ADDRESS}
abstract: >-
{abstract}"""
