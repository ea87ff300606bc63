"""The outcomes of a sweep's runs, counted."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from flowyard.sweeps.advice import Advice
from flowyard.sweeps.task import Task
from flowyard.text import counted

# Runs that a line names.
NAMED = 3


@dataclass
class Outcomes:
    """Outcomes of the tasks of a call.

    Attributes:
        before: Runs that were there already.
        damaged: Runs that were there, but not whole, and so are made again.
        statuses: How many ended how.
        failed: Why runs failed, each with its label.
        violations: What audits found, each with the run's label.
        interrupted: Whether Ctrl-C ended the call.
        advice: What is probably not meant, of the points that were missing.
    """

    before: int = 0
    damaged: int = 0
    statuses: dict[str, int] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    interrupted: bool = False
    advice: Sequence[Advice] = ()

    def ended(self, task: Task, status: str, violations: Sequence[str] = ()) -> None:
        """Notes that a task is done."""
        self.statuses[status] = self.statuses.get(status, 0) + 1
        self.violations += [f"{task.label}: {violation}" for violation in violations]

    def broke(self, task: Task, error: BaseException) -> None:
        """Notes that a task failed."""
        self.failed.append(f"{task.label}: {str(error) or type(error).__name__}")

    @property
    def done(self) -> int:
        """Runs that this call completed."""
        return sum(self.statuses.values())

    def states(self, unsteady: int, where: str, named: Sequence[str] = ()) -> list[str]:
        """Lines on runs that did not complete, and on those not in a steady state, with the way to these.

        Args:
            unsteady: How many were not in a steady state.
            where: The command that shows these.
            named: Their labels, where a line has room for them.
        """
        found = [
            f"{counted(count, 'run')} ended with status {status}"
            for status, count in self.statuses.items()
            if status != "complete"
        ]
        were = "run was" if unsteady == 1 else "runs were"
        more = [f"and {len(named) - NAMED:,} more"] if len(named) > NAMED else []
        labels = f" ({'; '.join([*named[:NAMED], *more])})" if named else ""
        return [
            *found,
            *([f"{unsteady:,} {were} not in a steady state{labels}; {where}"] if unsteady else []),
        ]
