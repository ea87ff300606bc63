"""The ring all-reduce of the cookbook against its closed form: 2 (N - 1) steps, each of a chunk alone."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "networks-and-traffic.md"


@pytest.fixture(scope="module")
def ring() -> dict[str, Any]:
    """The names that the recipe leaves."""
    section = PAGE.read_text().partition("### Ring all-reduce")[2]
    code = section.partition("```python\n")[2].partition("```")[0]
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    return names


def test_each_chunk_goes_round_and_each_host_sends_and_receives_once_a_step(ring):
    flows = ring["result"].flows.to_polars().with_columns(pl.col("tag").cast(pl.String))
    ranks = ring["ranks"]
    assert flows.height == 2 * (ranks - 1) * ranks
    for (_, own), step in zip(
        flows.group_by("tag", maintain_order=True), range(2 * (ranks - 1)), strict=True
    ):
        assert sorted(own["src"]) == sorted(own["dst"]) == list(range(ranks)), step
        assert ((own["dst"] - own["src"].cast(pl.Int64)) % ranks == 1).all()


def test_the_ring_takes_as_long_as_its_chunks_one_after_the_other(ring):
    flows = ring["result"].flows.to_polars()
    steps = 2 * (ring["ranks"] - 1)
    alone = flows["ideal_fct_ps"][0]
    assert flows["fct_ps"].to_list() == [alone] * flows.height
    last = (flows["start_ps"] + flows["fct_ps"]).max()
    # The first step alone has the jitter of "at-once": the time of 1500 B at 100 Gbps.
    assert steps * alone <= last <= steps * alone + 120_000
