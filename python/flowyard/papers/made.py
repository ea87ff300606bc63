"""What became of a figure."""

from dataclasses import dataclass, field

from flowyard.papers.judge import Judgement


@dataclass
class Made:
    """What became of a figure.

    Attributes:
        judgements: By claim.
        seconds: That it took now.
        runs: How many runs its sweeps have.
        cpu_s: Processor time of its simulations, whenever they ran.
        endings: How many of them did not end as "complete", by status.
        tables: Their names.
        violations: What audits found in its runs: the simulator is wrong.
        broke: Why there is no picture or no tables, if so.
    """

    judgements: dict[str, Judgement] = field(default_factory=dict)
    seconds: float = 0.0
    runs: int = 0
    cpu_s: float = 0.0
    endings: dict[str, int] = field(default_factory=dict)
    tables: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    broke: str = ""
