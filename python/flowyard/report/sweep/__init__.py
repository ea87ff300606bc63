"""Reports on sweeps: on a page, and its points and replicas in a terminal."""
