"""What the command line does with its terminal: exit codes, signals, streams, progress, tables on stdout."""
