"""The register of a paper: its claims, its contradictions and the causes of failures, from claims.toml."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flowyard.errors import UserError
from flowyard.folders import reading

# Tables of a register, by id.
TABLES = ("claims", "contradictions", "failures")
KINDS = ("closed form", "model", "packets")
GRADES = ("number", "ordering", "implied", "expectation")
# Why a claim fails, and what each cause means.
CAUSES = {
    "paper": "the paper contradicts itself, or a calculation refutes its statement",
    "unstated": "the verdict depends on a value or a rule that the paper does not state",
    "model": "a mechanism of the simulator or of a standard differs from the paper's model",
    "tolerance": "the measured value is near the bound, which is ours",
    "tie": "the differences are within the noise",
    "ours": "the expectation was ours, and wrong",
    "unknown": "nothing explains it for sure",
}


@dataclass(frozen=True)
class Claim:
    """Something that a paper says and that can be checked.

    Attributes:
        id: Paper, figure and letter, such as "NDP-T1.a".
        kind: How it is checked: closed form (exact arithmetic or a theorem), model (slotted, flow-level or
            algorithmic simulation) or packets (packet-level simulation).
        grade: What the text gives: a number, an ordering (or another shape), or something implied; or an expectation
            of ours, behind which no statement of the text stands, and which is counted separately.
        says: The claim in our words.
        tolerance: When it counts as met.
        contradicted_by: Contradictions of the paper that predict that the claim fails as the text has it.
        arithmetic: It is true by construction and cannot fail, so that its PASS says nothing; counted separately.
    """

    id: str
    kind: str
    grade: str
    says: str
    tolerance: str
    contradicted_by: tuple[str, ...] = ()
    arithmetic: bool = False

    @property
    def ours(self) -> bool:
        """Whether it is an expectation of ours, not a claim of the paper."""
        return self.grade == "expectation"


@dataclass(frozen=True)
class Failure:
    """Why a claim fails at full scale.

    Attributes:
        cause: One of CAUSES.
        says: The reason in a plain sentence or two; the judge has the evidence.
    """

    cause: str
    says: str


@dataclass(frozen=True)
class Register:
    """A paper's claims.

    Attributes:
        id: The prefix of its claims, such as "NDP".
        title: Of the paper.
        source: Authors, venue, year.
        claims: By id, in the order of the paper.
        contradictions: By id: where the paper contradicts itself or what can be, in our words.
        failures: By id of the claim.
    """

    id: str
    title: str
    source: str
    claims: dict[str, Claim]
    contradictions: dict[str, str]
    failures: dict[str, Failure] = field(default_factory=dict)


def read(path: Path) -> Register:
    """Reads a claims.toml.

    Raises:
        UserError: It cannot be read, or is no register; the text names every problem.
    """
    document = reading.read_toml(path)
    problems = [
        f"{name}: missing" for name in ("id", "title", "source") if not isinstance(document.get(name), str)
    ]
    problems += [f"{key}: unknown" for key in document.keys() - {"id", "title", "source", *TABLES}]
    problems += [
        f'{name}: not a table of tables; begin each item with [{name}."ID"]'
        for name in TABLES
        if not _is_tables(document.get(name, {}))
    ]
    if not problems:
        problems += _problems(document)
    if problems:
        raise UserError(f"{path} is no register of claims:\n" + "\n".join(f"  {line}" for line in problems))
    return Register(
        document["id"],
        document["title"],
        document["source"],
        {name: _claim(name, claim) for name, claim in document.get("claims", {}).items()},
        {name: found["says"] for name, found in document.get("contradictions", {}).items()},
        {name: Failure(**found) for name, found in document.get("failures", {}).items()},
    )


def _is_tables(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(item, dict) for item in value.values())


def _claim(name: str, claim: dict[str, Any]) -> Claim:
    return Claim(id=name, **claim | {"contradicted_by": tuple(claim.get("contradicted_by", ()))})


def _problems(document: dict[str, Any]) -> Iterator[str]:
    claims, contradictions = document.get("claims", {}), document.get("contradictions", {})
    needed = {"kind", "grade", "says", "tolerance"}
    for own, claim in claims.items():
        if not own.startswith(f"{document['id']}-"):
            yield f'claims."{own}": not of {document["id"]}; ids begin with "{document["id"]}-"'
        if missing := sorted(needed - claim.keys()):
            yield f'claims."{own}": {", ".join(missing)} missing'
        if unknown := sorted(claim.keys() - needed - {"contradicted_by", "arithmetic"}):
            yield f'claims."{own}": {", ".join(unknown)} unknown'
        for name, allowed in (("kind", KINDS), ("grade", GRADES)):
            if claim.get(name, allowed[0]) not in allowed:
                yield f'claims."{own}".{name}: {claim[name]!r}; there are {", ".join(allowed)}'
        for name in ("says", "tolerance"):
            if not isinstance(claim.get(name, ""), str):
                yield f'claims."{own}".{name}: {claim[name]!r}; use a text'
        if not isinstance(claim.get("arithmetic", False), bool):
            yield f'claims."{own}".arithmetic: {claim["arithmetic"]!r}; use true or false'
        names = claim.get("contradicted_by", [])
        if not isinstance(names, list):
            yield f'claims."{own}".contradicted_by: {names!r}; use a list of ids'
            continue
        for name in names:
            if name not in list(contradictions):
                yield f'claims."{own}".contradicted_by: no contradiction {name}'
    for own, contradiction in contradictions.items():
        if contradiction.keys() != {"says"} or not isinstance(contradiction["says"], str):
            yield f'contradictions."{own}": has says, a text, and nothing else'
    for own, failure in document.get("failures", {}).items():
        if own not in claims:
            yield f'failures."{own}": no claim of that id'
        if failure.keys() != {"cause", "says"} or not isinstance(failure["says"], str):
            yield f'failures."{own}": has cause and says, a text, and nothing else'
        elif failure["cause"] not in list(CAUSES):
            yield f'failures."{own}".cause: {failure["cause"]!r}; there are {", ".join(CAUSES)}'
