#!/usr/bin/env bash
# quietly.sh COMMAND...: runs a command, and prints what it said only if it fails.
set -euo pipefail
output=$("$@" 2>&1) || {
  code=$?
  printf '%s\n' "$output" >&2
  exit "$code"
}
