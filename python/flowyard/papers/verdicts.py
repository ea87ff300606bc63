"""The verdict on each claim of a selection, and their summary."""

import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flowyard.papers.figure import Figure, Tables
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS, Judgement, not_reached
from flowyard.papers.register import Claim, Register

NOBODY = "no figure of the gallery checks this yet"


def judge(figure: Figure, tables: Tables) -> dict[str, Judgement]:
    """Each claim of a figure; a judge that breaks judges NOT-REACHED, and says how it broke."""
    found = {}
    for claim, function in figure.claims.items():
        try:
            found[claim] = function(tables)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            found[claim] = not_reached(
                f"the judge broke: {type(error).__name__}: {error} ({where.name}, line {where.lineno})"
            )
    return found


def entries(
    claims: Iterable[Claim], found: Mapping[str, Judgement], registers: Sequence[Register]
) -> list[dict[str, Any]]:
    """What claims.json says: {id, verdict, measured, expected, reason} for each claim.

    A verdict other than PASS has a reason: the contradiction that predicts it, and what was measured.
    """
    contradictions = {name: says for register in registers for name, says in register.contradictions.items()}
    return [_entry(claim, found.get(claim.id, not_reached(NOBODY)), contradictions) for claim in claims]


def _entry(claim: Claim, judgement: Judgement, contradictions: Mapping[str, str]) -> dict[str, Any]:
    reasons = []
    if judgement.verdict == FAIL:
        reasons += [f"predicted by {name}: {contradictions[name]}" for name in claim.contradicted_by]
    if judgement.verdict != PASS:
        said = f"measured {judgement.measured}, expected {judgement.expected}"
        reasons.append(judgement.reason or said)
    return {
        "id": claim.id,
        "verdict": judgement.verdict,
        "measured": judgement.measured,
        "expected": judgement.expected if judgement.expected is not None else claim.tolerance,
        "reason": " ".join(reason.rstrip(".") + "." for reason in reasons) or None,
    }


@dataclass(frozen=True)
class Summary:
    """How many claims have which verdict; `predicted` are the FAILs that a contradiction of the paper predicts."""

    claims: int
    passed: int
    predicted: int
    failed: int
    not_reached: int

    def __str__(self) -> str:
        return (
            f"claims {self.claims}, pass {self.passed}, fail (predicted by a contradiction) {self.predicted}, "
            f"fail (other) {self.failed}, not reached {self.not_reached}"
        )


def summary(entries: Sequence[Mapping[str, Any]], claims: Mapping[str, Claim]) -> Summary:
    """Counts verdicts."""
    fails = [entry["id"] for entry in entries if entry["verdict"] == FAIL]
    predicted = sum(bool(claims[name].contradicted_by) for name in fails)
    verdicts = [entry["verdict"] for entry in entries]
    return Summary(
        len(entries), verdicts.count(PASS), predicted, len(fails) - predicted, verdicts.count(NOT_REACHED)
    )
