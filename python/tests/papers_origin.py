"""The list of claims that the registers of the papers go back to, reduced to what must agree with them.

`register_claims.csv` beside this file has a row for each claim: id, kind and grade as the list abbreviates them, the
numbers of its tolerance, and the contradictions by which the list expects it to FAIL. `register_contradictions.csv` has
the ids of all contradictions. Both are made from the list by

    python python/tests/papers_origin.py claims.md
"""

import csv
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

HERE = Path(__file__).parent
CLAIMS, CONTRADICTIONS = HERE / "register_claims.csv", HERE / "register_contradictions.csv"
FIELDS = ("claim", "kind", "grade", "numbers", "contradicted_by")

LINE = re.compile(r"^- \[([A-Z]+)-([\w.]+) \| ([CMP]) \| ([NOI])\](.*)$", re.MULTILINE)
BRACES = re.compile(r"(?<![_^])\{([^}]*)\}")
NUMBER = re.compile(r"\d+(?:\.\d+)?")
CONTRADICTION = re.compile(r"^\* \*\*(([A-Z]+)-X\d+)\b(.*)$", re.MULTILINE)
# A claim names the contradiction by which it is to FAIL, or the contradiction names the claims, without their paper.
BY_CLAIM = re.compile(r"contradiction ([A-Z]+-X\d+)|expected FAIL[^;)}]*?see ([A-Z]+-X\d+)")
BY_CONTRADICTION = re.compile(
    r"FAIL of ((?:[A-Z]+\d[\w.]*(?:(?:, | and (?:of )?| at \d+ and of )(?=[A-Z]+\d))?)+)"
)
# X4 has no gain within the range of P2, though it does not say FAIL.
TOLD_OTHERWISE = {"DAQ-P2": ["DAQ-X4"]}


def numbers(tolerance: str) -> list[str]:
    """The numbers in a tolerance, each once."""
    return sorted(set(NUMBER.findall(tolerance)), key=float)


def claims(text: str) -> Iterator[dict[str, str]]:
    """A row for each claim of the list."""
    predicted: dict[str, list[str]] = {name: list(by) for name, by in TOLD_OTHERWISE.items()}
    for name, paper, says in CONTRADICTION.findall(text):
        for named in BY_CONTRADICTION.findall(says):
            for claim in re.findall(r"[A-Z]+\d[\w.]*\w", named):
                predicted.setdefault(f"{paper}-{claim}", []).append(name)
    for paper, rest, kind, grade, said in LINE.findall(text):
        claim = f"{paper}-{rest}"
        by = [one or other for one, other in BY_CLAIM.findall(said)] + predicted.get(claim, [])
        found = numbers(" ".join(BRACES.findall(said)))
        yield dict(
            zip(FIELDS, (claim, kind, grade, " ".join(found), " ".join(dict.fromkeys(by))), strict=True)
        )


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
