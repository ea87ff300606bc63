#!/usr/bin/env bash
# Fuzzes for so many minutes, round after round, each with a new seed, which is printed with the time that the round took;
# stops at the first failure. What proptest finds is kept beside the test, in *.proptest-regressions, and is tried first
# from then on: commit it with the fix; a generated scenario with a fault is reduced and kept in out/fuzz. A round once more: PROPTEST_RNG_SEED=SEED tools/fuzz.sh 1
set -euo pipefail
cd "$(dirname "$0")/.."
minutes=${1:?minutes}
until=$((SECONDS + 60 * minutes))
# The profile of `make test`: some optimisation, all the assertions.
fuzz_engine() {
  export FLOWYARD_FUZZ=$1 PROPTEST_RNG_SEED=$2
  cargo test --locked --quiet -p flowyard-sim --test fuzz_parsers --test fuzz_runs -- --nocapture
  # Legal scenarios over all members, each in all ways: as many in a round as the tests run.
  FLOWYARD_FUZZ=2000 cargo test --locked --quiet -p flowyard-sim --test generated_runs -- --nocapture
  cargo test --locked --quiet -p flowyard-sim --test properties --test network -- books_balance four_ways_agree faults_hang
}
fuzz_python() {
  FLOWYARD_FUZZ=$1 .venv/bin/python -m pytest --quiet --numprocesses=auto --hypothesis-seed="$2" python/tests/test_fuzz.py
}
# Says its seed, and keeps what fails in out/fuzz.
fuzz_verbs() { .venv/bin/python python/tests/fuzz_verbs.py --cases "$1"; }
rounds=0
while ((SECONDS < until)); do
  seed=${PROPTEST_RNG_SEED:-$(od -An -N6 -tu8 /dev/urandom | tr -d ' ')}
  started=$SECONDS
  echo "round $((rounds + 1)): PROPTEST_RNG_SEED=$seed"
  fuzz_engine 500 "$seed"
  fuzz_python 200 "$seed"
  fuzz_verbs 500
  rounds=$((rounds + 1))
  echo "round $rounds took $((SECONDS - started)) s"
done
echo "$rounds rounds of 500 cases for each property of the engine and 200 for each of Python's, 2000 generated scenarios, and 500 changed inputs over all verbs"
