"""The terminal of the command line: exit codes, signals, streams, progress, tables on stdout."""
