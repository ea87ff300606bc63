"""The verdict on each claim of a selection, and their summary."""

import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from flowyard.forks import pl
from flowyard.papers.figure import Figure, Scale, Tables
from flowyard.papers.judge import FAIL, NOT_REACHED, PASS, Judgement, by_reading, not_reached
from flowyard.papers.needs import Needs
from flowyard.papers.register import Claim, Register
from flowyard.papers.words import EXPECTATION, NOT_REPRODUCIBLE, OPEN, PREDICTED

# How the reason of a claim begins whose judge broke.
BROKE = "the judge broke"
# Of a claim whose published tables are of before a change of its figure.
OLDER = "its figure has changed and has not been run again at full scale yet"
NOBODY = "no figure of the gallery checks this yet"


@dataclass(frozen=True)
class Read(Mapping[str, pl.DataFrame]):
    """Tables that record which of them a judge read.

    Attributes:
        tables: All of them.
        names: Those that were read.
    """

    tables: Tables
    names: set[str] = field(default_factory=set)

    def __getitem__(self, name: str) -> pl.DataFrame:
        table = self.tables[name]
        self.names.add(name)
        return table

    def __iter__(self) -> Iterator[str]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)


def judge(figure: Figure, tables: Tables, scale: Scale = Scale.FULL) -> dict[str, Judgement]:
    """Each claim of a figure.

    A judge that breaks judges NOT-REACHED, and says how it broke. So does one that reads a table without rows, and at
    full scale one that reads a table that lacks what the figure needs.
    """
    found = {}
    for claim, function in figure.claims.items():
        read = Read(tables)
        try:
            found[claim] = _with_enough(function(read), figure, tables, read.names, scale)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            found[claim] = not_reached(
                f"{BROKE}: {type(error).__name__}: {error} ({where.name}, line {where.lineno})"
            )
    return found


def _with_enough(
    judgement: Judgement, figure: Figure, tables: Tables, names: Iterable[str], scale: Scale
) -> Judgement:
    """A judgement, or NOT-REACHED where the tables that were read are too little for it or for one of its readings."""
    lacking: dict[str, list[str]] = {}
    for name in sorted(names):
        if tables[name].is_empty():
            lacking.setdefault("", []).append(f"table {name} has no rows")
            continue
        needs = figure.needs.get(name, ()) if scale is Scale.FULL else ()
        for one in (needs,) if isinstance(needs, Needs) else needs:
            if said := one.lacking(tables[name]):
                lacking.setdefault(one.reading, []).append(f"table {name} has {said}")
    judgement = _unless(judgement, lacking.get(""))
    if not judgement.readings:
        return judgement
    return by_reading({name: _unless(one, lacking.get(name)) for name, one in judgement.readings})


def _unless(judgement: Judgement, lacking: Sequence[str] | None) -> Judgement:
    """A judgement, unless something is lacking; one that reached nothing anyway says why itself."""
    if not lacking or judgement.verdict == NOT_REACHED:
        return judgement
    return replace(not_reached("; ".join(lacking)), searched=judgement.searched)


def entries(
    claims: Iterable[Claim],
    found: Mapping[str, Judgement],
    registers: Sequence[Register],
    scale: Scale = Scale.FULL,
    left_out: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Entries of claims.json, one per claim; docs/papers.md has the meaning of each field.

    Args:
        claims: All of them.
        found: Judgements by claim; the others are NOT-REACHED.
        registers: With the contradictions.
        scale: At which the tables were made.
        left_out: What that scale leaves out, by claim.
    """
    contradictions = {name: says for register in registers for name, says in register.contradictions.items()}
    failures = {name: failure for register in registers for name, failure in register.failures.items()}
    made = []
    for claim in claims:
        judgement = found.get(claim.id, not_reached(NOBODY))
        entry: dict[str, Any] = {"id": claim.id, "verdict": judgement.verdict, "scale": str(scale)}
        entry |= _evidence(claim, judgement, contradictions)
        if judgement.verdict == FAIL and (failure := failures.get(claim.id)):
            # The register's numbers are those of full scale; beside others they need that word.
            scaled = "At full scale: " if (left_out or {}).get(claim.id) else ""
            entry |= {"cause": failure.cause, "why": f"{scaled}{failure.says}"}
        if claim.arithmetic:
            entry["arithmetic"] = True
        if claim.ours:
            entry["expectation"] = True
        if judgement.verdict != NOT_REACHED and (less := (left_out or {}).get(claim.id)):
            entry["left_out"] = less
        if judgement.readings:
            entry["readings"] = [
                {
                    "reading": name,
                    **({"reachable": True} if one.searched else {}),
                    "verdict": one.verdict,
                    **_evidence(claim, one, {}),
                }
                for name, one in judgement.readings
            ]
        made.append(entry)
    return made


def _evidence(claim: Claim, judgement: Judgement, contradictions: Mapping[str, str]) -> dict[str, Any]:
    """Measured, expected, reason if more is known than these two say, and of a FAIL its kind.

    The reason of a FAIL names the contradictions that predict it, of those given, and the calculation that shows that
    the number cannot be reproduced.
    """
    reasons = []
    if judgement.verdict == FAIL:
        predicted = [name for name in claim.contradicted_by if name in contradictions]
        reasons += [f"predicted by {name}: {contradictions[name]}" for name in predicted]
    if judgement.verdict != PASS and judgement.reason:
        reasons.append(judgement.reason)
    if judgement.calculation:
        reasons.append(f"Not reproducible: {judgement.calculation}")
    if judgement.note:
        reasons.append(judgement.note)
    return {
        "measured": judgement.measured,
        "expected": judgement.expected if judgement.expected is not None else claim.tolerance,
        **({"unit": judgement.unit} if judgement.unit and judgement.measured is not None else {}),
        "reason": " ".join(reason.rstrip(".") + "." for reason in reasons) or None,
        **({"fail": _kind(claim, judgement)} if judgement.verdict == FAIL else {}),
        **({"not_reproducible": judgement.calculation} if judgement.calculation else {}),
    }


def _kind(claim: Claim, judgement: Judgement) -> str:
    """The kind of a FAIL: of an expectation of ours, predicted, shown to be not reproducible, or open."""
    if claim.ours:
        return EXPECTATION
    if claim.contradicted_by and not judgement.unpredicted:
        return PREDICTED
    return NOT_REPRODUCIBLE if judgement.calculation else OPEN


@dataclass(frozen=True)
class Summary:
    """How many claims have which verdict, each claim by its own reading; expectations of ours apart.

    Attributes:
        claims: All of them that are no expectations of ours.
        passed: PASS of claims that could have failed.
        arithmetic: PASS of those that are true by construction.
        predicted: FAIL that a contradiction of the paper predicts.
        not_reproducible: FAIL of which a calculation shows that the paper's number cannot be obtained.
        open: The other FAILs.
        not_reached: NOT-REACHED.
        expectations: What we expected and no paper says.
        expectations_passed: PASS of these.
        expectations_failed: FAIL of these.
        scale: At which they were judged.
    """

    claims: int
    passed: int
    arithmetic: int
    predicted: int
    not_reproducible: int
    open: int
    not_reached: int
    expectations: int = 0
    expectations_passed: int = 0
    expectations_failed: int = 0
    scale: str = Scale.FULL.value

    def __str__(self) -> str:
        arithmetic = f" and arithmetic {self.arithmetic}" if self.arithmetic else ""
        return (
            f"{'at quick scale: ' if self.scale == Scale.QUICK else ''}"
            f"claims {self.claims}, pass {self.passed}{arithmetic}, fail (open) {self.open}, "
            f"fail (not reproducible) {self.not_reproducible}, fail (predicted by a contradiction) {self.predicted}, "
            f"not reached {self.not_reached}{self.ours}"
        )

    @property
    def ours(self) -> str:
        """Suffix of a summary about expectations of ours; empty without any."""
        if not self.expectations:
            return ""
        left = self.expectations - self.expectations_passed - self.expectations_failed
        return (
            f"; expectations of ours {self.expectations}: pass {self.expectations_passed}, "
            f"fail {self.expectations_failed}{f', not reached {left}' if left else ''}"
        )


def summary(entries: Sequence[Mapping[str, Any]]) -> Summary:
    """Counts verdicts, as claims.json has them."""
    papers = [entry for entry in entries if not entry.get("expectation")]
    expected = [entry["verdict"] for entry in entries if entry.get("expectation")]
    verdict = [entry["verdict"] for entry in papers]
    arithmetic = sum(entry["verdict"] == PASS and entry.get("arithmetic", False) for entry in papers)
    kinds = [entry.get("fail") for entry in papers]
    quick = any(entry["scale"] == Scale.QUICK for entry in entries)
    return Summary(
        claims=len(papers),
        passed=verdict.count(PASS) - arithmetic,
        arithmetic=arithmetic,
        predicted=kinds.count(PREDICTED),
        not_reproducible=kinds.count(NOT_REPRODUCIBLE),
        open=kinds.count(OPEN),
        not_reached=verdict.count(NOT_REACHED),
        expectations=len(expected),
        expectations_passed=expected.count(PASS),
        expectations_failed=expected.count(FAIL),
        scale=str(Scale.QUICK if quick else Scale.FULL),
    )
