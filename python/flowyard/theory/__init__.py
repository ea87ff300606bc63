"""Theory of multipath routing on fat-trees, in exact fractions: loads, best routings, ratios, bounds, Front-Back.

    fat_tree        FT(m,n): nodes, switches, channels, shortest paths
    matrices        traffic matrices, their decomposition by level and into permutations
    routings        which paths a pair takes and with which shares
    loads           what links and switches carry; worst permutations
    optimum         OPTU and OPTUSW, the least maximum loads
    ratios          oblivious performance ratios
    bounds          the theorems' bounds as formulas
    tables          the printed tables, and the same counted
    assignments     single-path routings with given worst loads, by search
    probabilities   path probabilities from loads or capacities
    front_back      Front-Back and Divide over paths of any rates
    goodput         goodput with and without Incast
    loss            loss rates, buffers and TCP's throughput

Loads, shares and weights are `fractions.Fraction`. Chapters, equations and tables are those of L. Song, "Multipath
approaches to avoiding TCP Incast", Ph.D. dissertation, University of Iowa, 2017, unless a module names another source.
"""
