"""The exit codes of the command line."""

COMPLETE, FAILED, BAD_INPUT, STALLED, LIMIT, INTERRUPTED = 0, 1, 2, 3, 4, 130
# As a program that SIGPIPE ends: who was to read stdout has gone.
BROKEN_PIPE = 141
# By the status of a run.
OF_STATUS = {"complete": COMPLETE, "stalled": STALLED, "limit": LIMIT, "interrupted": INTERRUPTED}
