"""Memory by the number of mistakes: a document with one in each of 200,000 places takes little more than a good one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PATIENCE_S

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="Linux says the peak of memory"
)

COUNT = 200_000
ENTRY = {"name": "a", "arrivals": "at-once", "matrix": "permutation", "sizes": {"fixed": "1KB"}}
SOUND = {"topology": {"single-switch": {"hosts": 4}}, "transport": "ndp", "traffic": [ENTRY]}
MANY = {
    "entries that are too many": SOUND | {"traffic": [{"name": "a"}] * COUNT},
    "keys that nobody knows": SOUND | {"run": {f"key{i}": i for i in range(COUNT)}},
    "texts for whole numbers": SOUND | {"traffic": [ENTRY | {"matrix": {"pairs": [["a", "b"]] * COUNT}}]},
    "hosts that are not there": SOUND | {"traffic": [ENTRY | {"matrix": {"pairs": [[8, 9]] * COUNT}}]},
    "cables to no node": SOUND
    | {"topology": {"explicit": {"hosts": ["a", "b"], "cables": [{"ends": ["x", "y"]}] * COUNT}}},
}
CHILD = """
import json, sys
from pathlib import Path
from flowyard import _native
# Not ru_maxrss: that of a child begins with what its parent had when it forked.
status = lambda: dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
peak = lambda: int(status()["VmHWM"].split()[0]) >> 10
text = sys.stdin.read()
try:
    _native.Checked(text, "json", Path(), [])
except _native.ScenarioError as error:
    print(json.dumps([len(error.problems), str(error).splitlines()[-1], len(str(error)), peak()]))
"""


@pytest.mark.parametrize("kind", MANY)
def test_the_memory_that_mistakes_take_has_a_bound(kind):
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps(MANY[kind]),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    problems, last, length, peak_mib = json.loads(done.stdout)
    assert problems <= 200
    assert length < 30_000
    assert last == "and at least 180 more" if problems == 200 else not last.startswith("and at least")
    # What is read takes some tens of MB; with a problem in each place it was above 1,000.
    assert peak_mib < 400
