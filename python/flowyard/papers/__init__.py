"""Papers: every figure of a paper in one command, and its claims judged in public.

    a paper is a folder:   claims.toml (the register: what the paper says, and how exactly), one file per figure
    a figure is a file:    plans (what to run) -> tables (its data, as CSV) -> claims (a verdict each), draw (a picture)

`flowyard paper run` goes through the sweep machinery, so that an interrupted run goes on where it was. Verdicts are
functions of the tables alone: the committed CSV files are enough to check them again. The papers themselves are in a
package beside this one, `flowyard_papers`. A folder of one's own is run in the same way: docs/papers.md.
"""
