"""Edge colouring of a bipartite multigraph: packets between leaves get spines so that no two share a link.

Koenig's theorem: as many colours suffice as the busiest vertex has edges. Filled up to a regular multigraph, it is a
union of perfect matchings, which are split off one by one; each is a colour.
"""

from collections.abc import Sequence

import numpy as np


def colouring(edges: Sequence[tuple[int, int]], colours: int) -> list[int] | None:
    """A colour, below `colours`, for each edge: different among edges that begin, or end, at the same vertex.

    Args:
        edges: Where each begins and ends. Beginnings and ends are apart, even under the same number.
        colours: How many there are.

    Returns:
        Nothing if a vertex has more edges than there are colours.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    names = {vertex: place for place, vertex in enumerate(dict.fromkeys(v for edge in edges for v in edge))}
    left = np.zeros((len(names), len(names)), np.int64)
    waiting: dict[tuple[int, int], list[int]] = {}
    for number, (a, b) in enumerate(edges):
        left[names[a], names[b]] += 1
        waiting.setdefault((names[a], names[b]), []).append(number)
    if left.size and max(left.sum(0).max(), left.sum(1).max()) > colours:
        return None
    # Rows and columns lack equally many edges in all, so that filling from the first on makes all of them full.
    for a in range(len(names)):
        for b in range(len(names)):
            left[a, b] += min(colours - left[a].sum(), colours - left[:, b].sum())
    found = [0] * len(edges)
    for colour in range(colours if edges else 0):
        for a, b in enumerate(maximum_bipartite_matching(csr_array(left > 0), perm_type="column")):
            assert b >= 0, "a regular bipartite graph has a perfect matching"
            left[a, b] -= 1
            if real := waiting.get((a, int(b))):
                found[real.pop()] = colour
    return found
