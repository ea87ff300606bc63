"""An evenly spaced subsample: some analyses of a large sweep use only so many of its points."""

from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


def evenly(items: Sequence[Item], most: int) -> list[Item]:
    """At most so many of the items, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    return [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)]
