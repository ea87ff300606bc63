"""Which papers there are, their figures, and what a name on the command line means."""

import difflib
import importlib
import importlib.util
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from flowyard.errors import UserError
from flowyard.papers import register
from flowyard.papers.figure import Figure
from flowyard.papers.register import Claim, Register

ALL = "all"
# The package of the papers that ship with this one.
PAPERS = "flowyard_papers"
# What figures compute and draw with: the extra `papers`.
NEEDED = ("numpy", "scipy", "matplotlib")


@dataclass(frozen=True)
class Paper:
    """A paper: its register and its figures.

    Attributes:
        folder: Where it is.
        register: Its claims.
        figures: In the order of the first claim that each checks.
    """

    folder: Path
    register: Register
    figures: tuple[Figure, ...]

    @property
    def id(self) -> str:
        """The prefix of its claims, such as "NDP"."""
        return self.register.id

    def figure_of(self, claim: str) -> Figure | None:
        """The figure that checks a claim, if one does."""
        return next((figure for figure in self.figures if claim in figure.claims), None)


@dataclass(frozen=True)
class Selection:
    """A selection by name: some figures, and the claims to be judged.

    Attributes:
        name: As it was found: an id, or "all".
        papers: Those concerned.
        figures: To be made, with the paper of each.
        claims: To be judged, whether a figure checks them or not.
    """

    name: str
    papers: tuple[Paper, ...]
    figures: tuple[tuple[Paper, Figure], ...]
    claims: tuple[Claim, ...]


@cache
def packaged() -> tuple[Paper, ...]:
    """The papers that ship with the package.

    Raises:
        UserError: Their package is not there.
    """
    if not _is_there():
        raise UserError(
            f"the papers are not here: their package, {PAPERS}, comes with flowyard; install flowyard anew, "
            "or name the folder of a study of your own"
        )
    import flowyard_papers

    here = Path(flowyard_papers.__file__).parent
    return tuple(load(here / name, f"{PAPERS}.{name}") for name in flowyard_papers.PAPERS)


def known() -> tuple[Paper, ...]:
    """The papers that ship with the package; none if they are not there: a study of one's own does not need them."""
    return packaged() if _is_there() else ()


def home() -> Path | None:
    """The folder of the packaged papers; None if they are not there."""
    if not _is_there():
        return None
    import flowyard_papers

    return Path(flowyard_papers.__file__).parent


def _is_there() -> bool:
    try:
        return importlib.util.find_spec(PAPERS) is not None
    except ModuleNotFoundError:
        return False


def load(folder: Path, package: str = "") -> Paper:
    """A paper from its folder.

    Args:
        folder: With claims.toml and a Python file for each figure; files that begin with "_" are parts of others.
        package: Its name as a package, if it is one; else its files are imported by their place.

    Raises:
        UserError: Its claims and its figures do not fit together, or a package that figures need is not here.
    """
    if missing := [name for name in NEEDED if not importlib.util.find_spec(name)]:
        raise UserError(
            f"figures need packages that are not here, {', '.join(missing)}: pip install 'flowyard[papers]'"
        )
    claims = register.read(folder / "claims.toml")
    modules = [
        _module(path, package) for path in sorted(folder.glob("*.py")) if not path.name.startswith("_")
    ]
    figures = [figure for module in modules if isinstance(figure := getattr(module, "FIGURE", None), Figure)]
    problems, seen = [], dict[str, str]()
    for figure in figures:
        for claim in figure.claims:
            if claim not in claims.claims:
                problems.append(f"figure {figure.id} judges {claim}, which claims.toml does not have")
            elif claim in seen:
                problems.append(f"figures {seen[claim]} and {figure.id} both judge {claim}")
            seen[claim] = figure.id
    ids = [figure.id for figure in figures]
    problems += [
        f"two figures are called {one}" for one in sorted({one for one in ids if ids.count(one) > 1})
    ]
    if problems:
        raise UserError(f"{folder}: " + "; ".join(problems))
    order = {claim: place for place, claim in enumerate(claims.claims)}
    first = {
        figure.id: min((order[claim] for claim in figure.claims), default=len(order)) for figure in figures
    }
    return Paper(folder, claims, tuple(sorted(figures, key=lambda figure: (first[figure.id], figure.id))))


def _module(path: Path, package: str) -> ModuleType:
    if package:
        return importlib.import_module(f"{package}.{path.stem}")
    name = f"flowyard_study.{path.parent.name}.{path.stem}"
    specification = importlib.util.spec_from_file_location(name, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    # Parts shared by figures are imported by their own names.
    sys.path.insert(0, str(path.parent))
    # Bytecode is found stale by size and second: of a file that is edited within one, the old code would run.
    kept, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        specification.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = kept
        sys.path.remove(str(path.parent))
    return module


def select(name: str, *, run_code: bool = True) -> Selection:
    """Selects by "all", a paper's id or folder, a figure's id, a claim's id, a subject, or the path of a study.

    Args:
        name: As it was given.
        run_code: Whether the Python files of a study may be executed. Without them it has claims and no figures.

    Raises:
        UserError: Nothing is called so.
    """
    if name.lower() == ALL:
        return _whole(ALL, packaged())
    for paper in known():
        if name.lower() in (paper.id.lower(), paper.folder.name):
            return _whole(paper.id, (paper,))
    if (Path(name) / "claims.toml").is_file():
        folder = Path(name)
        study = load(folder) if run_code else Paper(folder, register.read(folder / "claims.toml"), ())
        return _whole(study.id, (study,))
    for paper in known():
        if found := _part(paper, name.upper()):
            return found
    if found := _subject(known(), name.upper()):
        return found
    raise UserError(_unknown(name))


def _whole(name: str, papers: Sequence[Paper]) -> Selection:
    figures = tuple((paper, figure) for paper in papers for figure in paper.figures)
    claims = tuple(claim for paper in papers for claim in paper.register.claims.values())
    return Selection(name, tuple(papers), figures, claims)


def _part(paper: Paper, wanted: str) -> Selection | None:
    """The figure with that id and its claims, or else figures that check a claim of that id, its letter there or not.

    A claim may be named after a figure that does not check it: who asks for that figure gets no other.
    """
    figures = [figure for figure in paper.figures if wanted == figure.id.upper()]
    asked = []
    if not figures:
        asked = [
            claim
            for claim in paper.register.claims.values()
            if wanted in (claim.id.upper(), claim.id.upper().rpartition(".")[0])
        ]
        names = {claim.id for claim in asked}
        figures = [figure for figure in paper.figures if names & figure.claims.keys()]
    if not asked and not figures:
        return None
    names = {claim.id for claim in asked}.union(*(figure.claims for figure in figures))
    claims = tuple(claim for claim in paper.register.claims.values() if claim.id in names)
    # A claim, its group and its figure are the same, and so share a folder, where one figure checks them all.
    alone = len(figures) == 1 and names == figures[0].claims.keys()
    name = figures[0].id if alone else wanted
    return Selection(name, (paper,), tuple((paper, figure) for figure in figures), claims)


def _subject(papers: Iterable[Paper], wanted: str) -> Selection | None:
    """All figures of one paper on a subject, by their ids without the paper's: UET is LIT-UET, LIT-UET-CASES, ..."""
    found = [
        (paper, figure)
        for paper in papers
        for figure in paper.figures
        if f"{figure.id.upper().removeprefix(f'{paper.id.upper()}-')}-".startswith(f"{wanted}-")
    ]
    if len({paper.id for paper, _ in found}) != 1:
        return None
    names = set().union(*(figure.claims for _, figure in found))
    (paper, *_) = (paper for paper, _ in found)
    claims = tuple(claim for claim in paper.register.claims.values() if claim.id in names)
    return Selection(wanted, (paper,), tuple(found), claims)


def _unknown(name: str) -> str:
    if "/" in name or Path(name).exists():
        return f"{name}: not the folder of a study, claims.toml is missing"
    names = [ALL]
    for paper in packaged():
        names += [paper.id, *(figure.id for figure in paper.figures), *paper.register.claims]
        names += paper.register.contradictions
    # A figure with a single claim may share its name.
    near = difflib.get_close_matches(name.upper(), dict.fromkeys(names), n=3)
    meant = f"did you mean {', '.join(near)}?" if near else f"papers: {', '.join(p.id for p in packaged())}"
    return f"{name}: no such paper, figure or claim; {meant}"
