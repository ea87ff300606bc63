"""The mark of a page of ours: a file without it is not, and is not written over."""

# At the head of every page.
MARK = '<meta name="generator" content="Flowyard report">'
