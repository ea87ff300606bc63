"""Algorithm 1 of the PEQ thesis (section 2.2), line by line: slow, plain, and apart from the simulator's own code.

Flows are pairs of numbers: packets left (tau) and slots left (D). The list that it makes can be looked at.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

ALPHA, BETA = 0.6, 0.4
Walk = Literal["pseudo-code", "text"]


@dataclass(frozen=True)
class Flow:
    """A flow at the beginning of a slot: its packets and slots left."""

    id: int
    left: int
    time: int

    @property
    def cushion(self) -> int:
        """For how many slots it may wait."""
        return self.time - self.left


def urgency(left: float, time: float, alpha: float = ALPHA, beta: float = BETA) -> float:
    """H of equation 2.1; who has the smallest is considered first."""
    return alpha * left + beta * left / time


def aggregated(queue: Sequence[Flow]) -> list[int]:
    """When each flow of a list is done, if it is served as it stands."""
    total, ends = 0, []
    for flow in queue:
        total += flow.left
        ends.append(total)
    return ends


def enqueue(queue: Sequence[Flow], new: Flow, walk: Walk) -> list[Flow] | None:
    """The list with a flow put in, or None if it has no place."""
    ends = aggregated(queue)
    if not queue:
        # Not in the printed algorithm, which takes the first flow as it is.
        return [new] if new.cushion >= 0 else None
    if new.cushion >= ends[-1]:
        return [*queue, new]
    place = None
    for i in reversed(range(len(queue))):
        can_be_delayed = queue[i].time - ends[i] >= new.left
        if not can_be_delayed:
            break
        in_time_before_it = ends[i] - queue[i].left + new.left <= new.time
        if in_time_before_it:
            place = i
            if walk == "text":
                break
    return None if place is None else [*queue[:place], new, *queue[place:]]


def candidates(flows: Sequence[Flow]) -> list[Flow]:
    """In the order in which they are put in; ties go to the earlier deadline, then to the smaller number."""
    feasible = [flow for flow in flows if flow.cushion >= 0]
    return sorted(feasible, key=lambda flow: (urgency(flow.left, flow.time), flow.time, flow.id))


def build(flows: Sequence[Flow], walk: Walk = "pseudo-code") -> list[Flow]:
    """The list of a slot; its first flow is served."""
    queue: list[Flow] = []
    for flow in candidates(flows):
        queue = enqueue(queue, flow, walk) or queue
    return queue


def ends(flows: Sequence[Flow], walk: Walk = "pseudo-code") -> dict[int, int]:
    """When each flow is done that is in time, if all come together and the list is made anew in each slot."""
    found: dict[int, int] = {}
    present, slot = list(flows), 0
    while queue := build(present, walk):
        slot += 1
        left = {flow.id: flow.left - (flow.id == queue[0].id) for flow in present}
        found |= {number: slot for number, packets in left.items() if not packets}
        present = [Flow(flow.id, left[flow.id], flow.time - 1) for flow in present if left[flow.id]]
    return found
