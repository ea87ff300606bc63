"""Papers: every figure of a paper in one command, and its claims judged in public.

    a paper is a folder:   claims.toml (the register: what the paper says, and how exactly), one file a figure
    a figure is a file:    plans (what to run) -> tables (its data, as CSV) -> claims (a verdict each), draw (a picture)

`flowyard paper run` goes through the sweep machinery, so that an interrupted run goes on where it was. Verdicts are
functions of the tables alone: the committed CSV files are enough to check them again. A folder of one's own, outside
the package, is run in the same way: docs/papers.md.
"""

# The folders here, in the order in which `flowyard paper list` has them.
PAPERS = ("validation", "syn", "daq", "ndp", "peq", "mp", "across", "literature")
