"""Reports and summaries of runs, one or several side by side."""
