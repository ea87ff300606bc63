"""The list of claims that the registers of the papers go back to, reduced to what must agree with them.

`register_claims.csv` beside this file has a row for each claim: id, kind and grade as the list abbreviates them, the
numbers of its tolerance, whether section 7 of the list amends these, and the contradictions by which the list expects
it to FAIL. `register_contradictions.csv` has the ids of all contradictions. Both are made from the list by

    python python/tests/papers_origin.py claims.md
"""

import csv
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

HERE = Path(__file__).parent
CLAIMS, CONTRADICTIONS = HERE / "register_claims.csv", HERE / "register_contradictions.csv"
FIELDS = ("claim", "kind", "grade", "numbers", "amended", "contradicted_by")

LINE = re.compile(r"^- \[([A-Z]+)-([\w.]+) \| ([CMP]) \| ([NOIE])\](.*)$", re.MULTILINE)
BRACES = re.compile(r"(?<![_^])\{([^}]*)\}")
NUMBER = re.compile(r"\d+(?:\.\d+)?")
CONTRADICTION = re.compile(r"^\* \*\*(([A-Z]+)-X\d+)\b(.*)$", re.MULTILINE)
# A claim names the contradiction by which it is to FAIL, or the contradiction names the claims, without their paper.
BY_CLAIM = re.compile(r"contradiction ([A-Z]+-X\d+)|expected FAIL[^;)}]*?see ([A-Z]+-X\d+)")
BY_CONTRADICTION = re.compile(
    r"FAIL of ((?:[A-Z]+\d[\w.]*(?:(?:, | and (?:of )?| at \d+ and of )(?=[A-Z]+\d))?)+)"
)
OF_CLAIMS = re.compile(r"^\[([^\]:]*): expected FAIL")
CLAIM = re.compile(r"\b[A-Z]+\d+(?:[\w.]*\w)?")
# X4 has no gain within the range of P2, though it does not say FAIL. Section 7 tells the others among the readings.
TOLD_OTHERWISE = {
    "DAQ-P2": ["DAQ-X4"],
    **{name: ["DAQ-X1"] for name in ("DAQ-F7a.a", "DAQ-F7a.b", "DAQ-F8a.c")},
    # With the floor that F7a.d needs, 95 % at 5 senders cannot be.
    "DAQ-F7a.c": ["DAQ-X16"],
}
TOLD = "F7a.a, b, F8a.c under 1:100: predicted by DAQ-X1"
# Expectations of ours, and limits that section 7 puts right, in its words: their numbers are to be in the tolerance.
EXPECTATIONS = re.compile(r"^.*\bTo E go: (.*)$", re.MULTILINE)
LIMITS = {
    "DAQ-F6.a": "points at which both have 100 % to 0.1 pp do not count",
    "MP-F5.14.c": "best buffer rises from 3 to 7 senders and never falls",
    "MP-K1": "{+- 3 pp}",
    "MP-TH3.2.c": "at least 195 of 200 draws",
    "MP-T5.2.b": "range 1 to 3",
    "PEQ-F3.5.c": "+0.51 pp",
    "SYN-F10.d": "2-hop packets may wait at their server's port for 4-hop ones: no single value is claimed",
}


def numbers(tolerance: str) -> list[str]:
    """The numbers in a tolerance, each once."""
    return sorted(set(NUMBER.findall(tolerance)), key=float)


def claims(text: str) -> Iterator[dict[str, str]]:
    """A row for each claim of the list."""
    predicted = _predicted(text)
    ours = set(re.findall(r"\b[A-Z]+-[\w.]*\w", " ".join(EXPECTATIONS.findall(text))))
    for paper, rest, kind, grade, said in LINE.findall(text):
        claim = f"{paper}-{rest}"
        by = [one or other for one, other in BY_CLAIM.findall(said)] + predicted.get(claim, [])
        limit = LIMITS.get(claim, "")
        # A list without section 7 has the old limits.
        amended = bool(limit) and limit in text
        found = numbers(limit if amended else " ".join(BRACES.findall(said)))
        values = (
            claim,
            kind,
            "E" if claim in ours else grade,
            " ".join(found),
            "yes" if amended else "",
            " ".join(dict.fromkeys(by)),
        )
        yield dict(zip(FIELDS, values, strict=True))


def _predicted(text: str) -> dict[str, list[str]]:
    """Which contradictions say of which claims that they are to FAIL."""
    predicted: dict[str, list[str]] = {name: list(by) for name, by in TOLD_OTHERWISE.items()}
    for name, paper, says in CONTRADICTION.findall(text):
        for named in [*BY_CONTRADICTION.findall(says), *OF_CLAIMS.findall(says.lstrip("* "))]:
            for claim in CLAIM.findall(named):
                predicted.setdefault(f"{paper}-{claim}", []).append(name)
    return predicted


def unsaid(text: str) -> list[str]:
    """Words that are looked for here and that the list does not have any more."""
    return [words for words in (TOLD, *LIMITS.values()) if words not in text]


def contradictions(text: str) -> list[str]:
    """The ids of the list's contradictions."""
    return [name for name, _, _ in CONTRADICTION.findall(text)]


def read() -> tuple[list[Mapping[str, str]], list[str]]:
    """What the files here have."""
    with CLAIMS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return list(rows), CONTRADICTIONS.read_text(encoding="utf-8").split()


def main(origin: Path) -> None:
    """Writes the files."""
    text = origin.read_text(encoding="utf-8")
    with CLAIMS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(claims(text))
    CONTRADICTIONS.write_text("\n".join(contradictions(text)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
