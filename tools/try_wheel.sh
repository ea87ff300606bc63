#!/usr/bin/env bash
# try_wheel.sh PYTHON WHEEL: installs the wheel in a fresh environment, away from the checkout, and runs the demo in it.
# Prints the seconds that both take.
set -euo pipefail
python=$(realpath -s "$1")
wheel=$(realpath "$2")
constraints=$(realpath constraints.txt)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/env"
cd "$folder"
unset PYTHONPATH VIRTUAL_ENV
SECONDS=0
env/bin/pip install --quiet --disable-pip-version-check --no-compile -c "$constraints" "$wheel"
installed=$SECONDS
env/bin/flowyard demo
ended=$SECONDS
grep -q '<meta name="generator" content="Flowyard report">' out/demo/report.html
# What only papers need is not there, and is asked for.
said=$(env/bin/flowyard paper list 2>&1) && exit 1
grep -q "pip install 'flowyard\[papers\]'" <<< "$said"
env/bin/flowyard completion bash > /dev/null
env/bin/flowyard topology web-search-ndp -o network.svg > /dev/null
echo "$(basename "$wheel"): $(($(stat -c %s "$wheel") / 1024)) KiB, $(du -sm env | cut -f1) MB with all that it needs"
echo "installed in $installed s, demo in $((ended - installed)) s"
