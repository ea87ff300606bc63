"""The studies that ship with Flowyard: the figures of papers, made again, and their claims judged.

A folder each, as `flowyard.papers` runs them: claims.toml, and a file a figure. They use of flowyard what any study may
use; nothing in flowyard needs them.
"""

# The folders here, in the order in which `flowyard paper list` has them.
PAPERS = ("validation", "syn", "daq", "ndp", "peq", "mp", "across", "literature")
