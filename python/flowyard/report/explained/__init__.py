"""Pages that explain: of a flow, of a port, and of a span of a run that one can watch."""
