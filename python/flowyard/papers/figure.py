"""A figure or table of a paper: what to run, its data, its picture, and the claims that it checks.

A figure's file ends with `FIGURE = Figure(...)`. Its parts, in the order in which they are used:

    plans(scale) -> {name: Plan or ModelPlan}      what to run; left out if nothing is
    tables(scale, sweeps) -> {name: DataFrame}     the figure's data, flat columns, one CSV each; both functions leave
                                                   out the arguments that they do not use
    claims = {id: function(tables) -> Judgement}   see flowyard.papers.judge
    draw(tables) -> matplotlib figure              left out where there is nothing to see

At full scale a claim is judged only if the tables that its judge reads have what `needs` asks for: the replicas and the
flows of the paper. And at any scale, only if these tables have rows.
"""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from flowyard.errors import UserError
from flowyard.forks import pl
from flowyard.papers.judge import Judgement
from flowyard.papers.needs import Needs
from flowyard.sweeps import Sweep
from flowyard.sweeps.task import Planned

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

__all__ = ["Figure", "Judgement", "Needs", "Scale", "Sweeps", "Tables"]

Tables = Mapping[str, pl.DataFrame]
Sweeps = Mapping[str, Sweep]
T = TypeVar("T")


class Scale(StrEnum):
    """How much is run.

    QUICK judges every claim on fewer points and seeds, in minutes; FULL has those of the paper.
    """

    QUICK = "quick"
    FULL = "full"

    def pick(self, quick: T, full: T) -> T:
        """The one of the two that this scale has."""
        return quick if self is Scale.QUICK else full


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure or table.

    Attributes:
        id: As claims have it, such as "NDP-T1"; several of them may share a file, such as "PEQ-F1.2-8".
        title: What it shows.
        tables: Its data.
        claims: A judge for each claim, by id.
        plans: What to run, by name.
        draw: Its picture.
        assumed: What was assumed where the paper is silent, a sentence each.
        needs: What the tables, by name, must have at full scale for a verdict: the replicas or flows of the paper.
            Where readings differ in what they need, several for a table.
        quick: What quick scale has for the whole beyond what plans tell, such as "3 of 7 sizes" that only `tables`
            knows of.
        measured: Columns that differ from run to run and from machine to machine, such as times that were taken. No
            claim may read them; they are left out where a figure that is made again is compared with the published.
    """

    id: str
    title: str
    tables: Callable[..., Tables]
    claims: Mapping[str, Callable[[Tables], Judgement]]
    plans: Callable[..., Mapping[str, Planned]] | None = None
    draw: "Callable[[Tables], Picture] | None" = None
    assumed: Sequence[str] = field(default_factory=tuple)
    needs: Mapping[str, Needs | Sequence[Needs]] = field(default_factory=dict)
    quick: str = ""
    measured: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Lets both functions be called with all arguments."""
        object.__setattr__(self, "tables", self._with_all(self.tables, "scale", "sweeps"))
        if self.plans:
            object.__setattr__(self, "plans", self._with_all(self.plans, "scale"))

    def _with_all(self, function: Callable[..., T], *names: str) -> Callable[..., T]:
        """The function, called with the arguments of these names; it gets those that it has parameters for.

        Raises:
            UserError: It has other parameters.
        """
        parameters = inspect.signature(function, follow_wrapped=False).parameters
        if len(parameters) == len(names) or any(
            one.kind is one.VAR_POSITIONAL for one in parameters.values()
        ):
            return function
        if not set(parameters) <= set(names):
            raise UserError(
                f"figure {self.id}: {function.__name__} has the parameters {', '.join(parameters)}; "
                f"there are {' and '.join(names)}"
            )

        @functools.wraps(function)
        def called(*given: object) -> T:
            named = dict(zip(names, given, strict=True))
            return function(**{name: named[name] for name in parameters})

        return called
