"""PEQ section 1.4: what the thesis says of RCP, which this simulator does not have yet.

The table says which part of a scenario it would be, and whether the scenario's schema has it. Nothing is put in its
place: processor sharing on the slotted link is what RCP imitates, not RCP.
"""

from collections.abc import Callable
from typing import Any

import polars as pl

import flowyard as fy
from flowyard.papers.figure import Figure, Scale, Sweeps, Tables
from flowyard.papers.judge import Judgement, not_reached

# By claim: where in a scenario the part would be, its name, and what it is.
PARTS = {
    "PEQ-P9": ("Transport", "rcp", "routers that write one explicit rate into every packet"),
}


def tables(scale: Scale, sweeps: Sweeps) -> Tables:
    """Each part, and whether a scenario can have it."""
    del scale, sweeps
    schema = fy.schema()
    rows = [
        {
            "claim": claim,
            "in_scenario": where.lower(),
            "part": name,
            "what": what,
            "there": name in members(schema, where),
        }
        for claim, (where, name, what) in PARTS.items()
    ]
    return {"parts": pl.DataFrame(rows)}


def members(schema: dict[str, Any], where: str) -> set[str]:
    """The names that a scenario may give in that place."""
    return {name for one in schema["$defs"][where]["oneOf"] for name in one.get("properties", ())}


def _waits(claim: str) -> Callable[[Tables], Judgement]:
    def judge(tables: Tables) -> Judgement:
        (row,) = tables["parts"].filter(claim=claim).iter_rows(named=True)
        name = f"the {row['in_scenario']} {row['part']}"
        if row["there"]:
            return not_reached(f"{name} is there, but no figure measures this claim yet")
        return not_reached(f"the simulator does not have {name} yet: {row['what']}")

    return judge


FIGURE = Figure(
    id="PEQ-P9",
    title="RCP: not there yet",
    tables=tables,
    claims={claim: _waits(claim) for claim in PARTS},
)
