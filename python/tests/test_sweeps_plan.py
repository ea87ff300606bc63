"""Sweep files: what they may say, what is said about mistakes, and which runs are the same."""

import importlib
import json
import pickle

import pytest

import flowyard as fy
from flowyard import _native, cli
from flowyard.errors import UserError
from flowyard.results import Result
from flowyard.sweeps.plan import Axis, ModelPlan, Plan
from flowyard.terminal import exits

SCENARIO = 'scenario = "small.toml"\n'
SEEDS = '[[axes]]\nname = "seed"\nset.run.seed = [1, 2]\n'


@pytest.fixture
def read(small, tmp_path):
    """Reads a sweep file of that text."""

    def read(text):
        path = tmp_path / "plan.toml"
        path.write_text(text)
        return Plan.read(path)

    return read


def scenarios(plan):
    return [json.loads(task.scenario) for task in plan.tasks()]


def places(plan):
    return [(*task.values.values(), task.replica) for task in plan.tasks()]


# What a file may say.


def test_a_grid_has_every_combination_replica_by_replica_and_the_last_axis_fastest(read):
    plan = read(
        SCENARIO + "replicas = 2\n" + SEEDS + '[[axes]]\nname = "n"\nset."traffic.few.flows" = [3, 4]\n'
    )
    grid = [(1, 3), (1, 4), (2, 3), (2, 4)]
    assert places(plan) == [(*point, replica) for replica in (0, 1) for point in grid]
    ran = [
        (found["run"]["seed"], found["traffic"][0]["flows"], found["run"]["replica"])
        for found in scenarios(plan)
    ]
    assert ran == places(plan)
    assert plan.tasks()[3].label == "seed = 2, n = 4, replica 0"


def test_zipped_fields_move_together_and_labels_name_the_places(read):
    plan = read(
        SCENARIO + '[[axes]]\nname = "speed"\nlabels = ["slow", "fast"]\n'
        'set.topology.single-switch.rate = ["1Gbps", "40Gbps"]\nset.run.seed = [5, 6]\n'
    )
    assert places(plan) == [("slow", 0), ("fast", 0)]
    found = [(s["topology"]["single-switch"]["rate"], s["run"]["seed"]) for s in scenarios(plan)]
    assert found == [("1Gbps", 5), ("40Gbps", 6)]


@pytest.mark.parametrize(
    "key", ["traffic.few.flows", '"traffic.few.flows"', 'traffic."few.flows"', '"traffic.few".flows']
)
def test_keys_may_have_quotes(read, key):
    plan = read(SCENARIO + f'[[axes]]\nname = "n"\nset.{key} = [2, 3]\n')
    assert [s["traffic"][0]["flows"] for s in scenarios(plan)] == [2, 3]


def test_fields_for_every_run(read):
    plan = read(SCENARIO + "set.run.measure = 'all'\nset.\"traffic.few.flows\" = 2\n" + SEEDS)
    found = scenarios(plan)
    assert [(s["run"]["measure"], s["traffic"][0]["flows"]) for s in found] == [("all", 2)] * 2


def test_an_axis_may_take_other_scenarios(read, small, tmp_path):
    (tmp_path / "large.toml").write_text(small.read_text().replace("hosts = 4", "hosts = 8"))
    plan = read('[[axes]]\nname = "which"\nscenario = ["small.toml", "large.toml", "web-search-ndp"]\n')
    assert places(plan) == [("small", 0), ("large", 0), ("web-search-ndp", 0)]
    hosts = [s["topology"].get("single-switch", {}).get("hosts") for s in scenarios(plan)]
    assert hosts == [4, 8, None]


def test_a_variant_goes_by_its_name(read):
    plan = read(
        SCENARIO + 'set.transport = "tcp"\n[[axes]]\nname = "limit"\n'
        "set.queue = ['ndp', { drop-tail = { limit.packets = 7 } }]\n"
    )
    assert places(plan) == [("ndp", 0), ("drop-tail", 0)]
    assert scenarios(plan)[1]["queue"]["drop-tail"]["limit"] == {"packets": 7}


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (["ndp", {"tcp": {"congestion": "dctcp"}}, "pfabric"], ["ndp", "dctcp", "pfabric"]),
        (["tcp", {"tcp": {"congestion": {"cubic": {"c": 0.3}}}}], ["tcp", "cubic"]),
        (
            [{"tcp": {"congestion": "dctcp"}}, {"tcp": {"congestion": "dctcp", "rto_min": "5ms"}}],
            ["dctcp", "dctcp, rto_min 5ms"],
        ),
        (
            [{"tcp": {"congestion": {"dctcp": {"gain": gain}}, "mtu": "9000B"}} for gain in (0.1, 0.2)],
            ["dctcp, gain 0.1", "dctcp, gain 0.2"],
        ),
        (
            ["drop-tail", *({"drop-tail": {"limit": {"packets": n}}} for n in (7, 8))],
            ["drop-tail", "drop-tail, limit.packets 7", "drop-tail, limit.packets 8"],
        ),
    ],
)
def test_places_go_by_what_distinguishes_them(values, labels):
    assert Axis("a", {"transport": values}).values == labels


@pytest.mark.parametrize("values", [["ndp", {"ndp": {}}], [{"tcp": {"mtu": "1KB"}}] * 2, ["x", "x"]])
def test_places_that_nothing_distinguishes_need_labels(values):
    with pytest.raises(UserError, match="appears twice; remove one, or give labels that differ"):
        Axis("a", {"transport": values})


def test_no_axes_are_replicas_alone_from_the_scenario_s_own_on(read):
    plan = read(SCENARIO + "replicas = 3\nset.run.replica = 10\n")
    assert places(plan) == [(0,), (1,), (2,)]
    assert [s["run"]["replica"] for s in scenarios(plan)] == [10, 11, 12]


def test_the_scenario_may_be_a_table(read, small, tmp_path):
    inline = "[scenario]\n" + small.read_text().replace("[topology", "[scenario.topology").replace(
        "[transport", "[scenario.transport"
    ).replace("[[traffic", "[[scenario.traffic")
    assert [task.key for task in read(inline).tasks()] == [task.key for task in read(SCENARIO).tasks()]


def test_python_says_the_same(read, small):
    keys = [task.key for task in read(SCENARIO + "replicas = 2\n" + SEEDS).tasks()]
    entry = fy.Entry(name="few", arrivals="at-once", matrix="permutation", sizes=fy.Fixed("10KB"), flows=4)
    classes = fy.Scenario(topology=fy.SingleSwitch(hosts=4), transport=fy.Ndp(), traffic=[entry])
    for scenario in (small, str(small), fy.check(small), classes):
        made = Plan(scenario, [Axis("seed", {"run.seed": [1, 2]})], replicas=2)
        assert [task.key for task in made.tasks()] == keys


# What is said about mistakes.

MISTAKES = {
    "replica = 3": "replica: unknown; did you mean replicas?",
    "colour = 3": "colour: unknown; there are name, scenario, replicas, set, axes, metrics",
    "replicas = 0": "replicas: 0; use a whole number of at least 1",
    'replicas = "3"': "replicas: '3'; use a whole number of at least 1",
    "replicas = true": "replicas: True; use a whole number of at least 1",
    "replicas = 1.5": "replicas: 1.5; use a whole number of at least 1",
    "replicas = 1000001": "1,000,001 runs; a sweep has at most 1,000,000",
    "replicas = 500001\n" + SEEDS: "1,000,002 runs; a sweep has at most 1,000,000",
    "name = 3": "name: 3; use a text",
    "metrics = 'slowdown_p99'": "metrics: 'slowdown_p99'; use a list, such as [\"slowdown_p99\"]",
    "metrics = ['slowdown_99']": "metrics: 'slowdown_99' is none; did you mean slowdown_p99?",
    "metrics = [3]": "metrics: 3 is none; there are completed_fraction, ",
    "metrics = ['marks', 'marks']": "metrics: marks stands there twice",
    "set = [1]": 'set: not a table of keys; write set."run.seed" = 7',
    "axes = 3": "axes: not a list of tables; begin each axis with [[axes]]",
    "set.run.seed = 2026-01-01": "set.run.seed: 2026-01-01 is a date or a time of day; use a text",
    "[axes]\nname = 'a'": "axes: not a list of tables; begin each axis with [[axes]]",
    "[[axes]]\nset.run.seed = [1]": 'axes.0.name: missing; it becomes a column, such as "load"',
    "[[axes]]\nname = ' '\nset.run.seed = [1]": "axes.0.name: ' '; it becomes a column",
    "[[axes]]\nname = 'a'": 'axis a: sets nothing; give it set."KEY" = [values], or scenario = [...]',
    "[[axes]]\nname = 'a'\nsets.x = [1]": "axes.a.sets: unknown; did you mean set?",
    "[[axes]]\nname = 'a'\nset = 3": "axes.a.set: not a table of keys",
    "[[axes]]\nname = 'transport'\nvalues = ['tcp', 'ndp']": "axes.transport.values: an axis has its values with "
    'their field: set.transport = ["tcp", "ndp"]',
    "[[axes]]\nname = 'load'\nvalues = [0.5]": "axes.load.values: an axis has its values with their field: "
    'set."traffic.NAME.arrivals.poisson.load" = [0.2, 0.4]',
    "[[axes]]\nname = 'a'\nset.run.seed = 3": "axes.a.set.run.seed: 3 is not a list of values",
    "[[axes]]\nname = 'a'\nset.run.seed = []": 'axis a: set."run.seed" has 0 values',
    "[[axes]]\nname = 'a'\nset.run.seed = [1, 2]\nset.run.until = ['1s']": (
        'axis a: set."run.seed" has 2, set."run.until" has 1 values; lists of an axis have equal lengths, at least 1'
    ),
    "[[axes]]\nname = 'a'\nset.run.seed = [1, 2]\nlabels = ['x']": (
        'axis a: set."run.seed" has 2, labels has 1 values'
    ),
    "[[axes]]\nname = 'a'\nset.run.seed = [1, 2]\nlabels = 'xy'": (
        "axes.a.labels: 'xy' is not a list with an item for each place"
    ),
    "[[axes]]\nname = 'a'\nset.run.seed = [1]\nlabels = [[1]]": (
        "axis a: labels: [1]; use texts and finite numbers"
    ),
    "[[axes]]\nname = 'a'\nset.run.seed = [1]\nlabels = [nan]": (
        "axis a: labels: nan; use texts and finite numbers"
    ),
    "[[axes]]\nname = 'a'\nset.run.seed = [1, 2]\nlabels = ['x', 'x']": "axis a: x appears twice;",
    # Equal numbers would be one row of the means.
    "[[axes]]\nname = 'a'\nset.run.seed = [1, 2]\nlabels = [1, 1.0]": "axis a: 1.0 appears twice;",
    "[[axes]]\nname = 'a'\nset.x = [{ a = 1, b = 2 }]": "axis a: its values are no plain numbers or texts",
    SEEDS + SEEDS.replace("seed =", "until ="): "axes: two have the name seed",
    SEEDS + SEEDS.replace('"seed"', '"b"'): 'set."run.seed": of two axes; a field belongs to one',
    "[[axes]]\nname = 'a'\nscenario = ['small.toml']": (
        "scenario: given more than once; once for all runs, or by one axis"
    ),
    "[[axes]]\nname = 'a'\nscenario = ['nowhere.toml']": "axes.a.scenario: nowhere.toml: no such file",
    "[[axes]]\nname = 'a'\nscenario = [3]": "axes.a.scenario: 3; use the name of a file",
}
COLUMNS = (
    "drops",
    "tag",
    "replica",
    "run",
    "done",
    "status",
    "flows",
    "goodput_bps",
    "replicas",
    "drops_ci95",
)
MISTAKES |= {
    SEEDS.replace('"seed"', f'"{name}"'): f"axis {name}: the tables have a column of that name; call it "
    for name in COLUMNS
}


def told(capsys, *arguments):
    """What the command says about a mistake, in both forms."""
    assert cli.main(["sweep", *map(str, arguments)]) == exits.BAD_INPUT
    out, err = capsys.readouterr()
    assert out == ""
    assert cli.main(["sweep", *map(str, arguments), "--json"]) == exits.BAD_INPUT
    assert err == f"error: {json.loads(capsys.readouterr().out)['error']}\n"
    return err


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_told(small, tmp_path, capsys, text):
    plan = tmp_path / "plan.toml"
    plan.write_text(SCENARIO + text + "\n")
    said = told(capsys, plan, "-o", tmp_path / "out")
    first, *lines = said.splitlines()
    assert first == f"error: {plan} is no sweep:"
    assert any(line.startswith("  " + MISTAKES[text]) for line in lines)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "scenario: missing; name a file, a packaged scenario, or give an axis scenario = [...]"),
        ("scenario = 3", "scenario: 3; use the name of a file or of a packaged scenario, or a table"),
        ("scenario = 'nowhere.toml'", "scenario: nowhere.toml: no such file; packaged scenarios: "),
        ("scenario = 'web-serch-ndp'", "scenario: web-serch-ndp: no such file; did you mean web-search-ndp?"),
    ],
)
def test_without_a_scenario_nothing_runs(tmp_path, capsys, text, why):
    plan = tmp_path / "plan.toml"
    plan.write_text(text)
    assert f"{plan} is no sweep:\n  {why}" in told(capsys, plan)


@pytest.mark.parametrize(
    ("axes", "proposed"),
    [
        (["transport"], "protocol"),
        (["transport", "protocol"], "swept_transport"),
        (["drops"], "swept_drops"),
        (["drops", "swept_drops", "axis_drops"], "drops_"),
    ],
)
def test_an_axis_called_like_a_column_is_given_a_name_that_works(small, axes, proposed):
    listed = [Axis(name, {f"run.{number}": [1]}) for number, name in enumerate(axes)]
    with pytest.raises(UserError) as refused:
        Plan(small, listed)
    assert str(refused.value).endswith(
        f"axis {axes[0]}: the tables have a column of that name; call it {proposed}"
    )
    Plan(small, [Axis(proposed, {"run.seed": [1]})])


def test_all_mistakes_are_told_at_once_on_one_screen(small, tmp_path, capsys):
    plan = tmp_path / "plan.toml"
    plan.write_text(
        "scenario = 'nowhere.toml'\nreplicas = 0\nreplica = 1\nset = 3\n"
        "[[axes]]\nname = 'drops'\nset.run.seed = [1]\n"
        "[[axes]]\nname = 'b'\nset.x = [1, 2]\nlabels = ['c']\n"
        "[[axes]]\nset.y = 3\nlabel = ['x']\n"
    )
    said = told(capsys, plan)
    for key in ("replica: ", "axis b: ", "axes.2.label: ", "axes.2.name: ", "axes.2.set.y: ", "set: "):
        assert f"\n  {key}" in said
    for key in ("scenario: nowhere.toml: ", "axis drops: ", "replicas: 0; "):
        assert f"\n  {key}" in said
    assert said.count("\n") <= 24


def test_a_file_that_is_none(tmp_path, capsys):
    broken = tmp_path / "broken.toml"
    broken.write_text("[[axes\n")
    assert f"{broken}: not TOML: " in told(capsys, broken)
    broken.write_bytes(b"name = '\xff'")
    assert f"{broken}: not UTF-8 text" in told(capsys, broken)
    assert told(capsys, tmp_path / "none.toml") == f"error: {tmp_path / 'none.toml'}: no such file\n"
    assert told(capsys, tmp_path) == f"error: {tmp_path}: is a folder; name a regular file\n"


def test_points_that_cannot_be_run_are_named_with_the_scenario_s_own_words(small, tmp_path, capsys):
    plan = tmp_path / "plan.toml"
    plan.write_text(
        SCENARIO + "[[axes]]\nname = 'hosts'\nset.topology.single-switch.hosts = [4, 1, -1, 8, 0, -2]\n"
    )
    with pytest.raises(fy.ScenarioError) as own:
        fy.check(small, {"topology.single-switch.hosts": 1})
    said = told(capsys, plan, "-o", tmp_path / "out")
    assert said.startswith(f"error: {plan}: 4 of 6 points cannot be run:\nhosts = 1\n  {own.value}\n")
    assert "\nhosts = 0\n" in said
    assert said.endswith("\nand 1 more\n")
    # A problem of several points is said once, with the first of them.
    plan.write_text(plan.read_text() + "[[axes]]\nname = 'seed'\nset.run.seed = [1, 2]\n")
    said = told(capsys, plan, "-o", tmp_path / "out")
    assert said.startswith(
        f"error: {plan}: 8 of 12 points cannot be run:\nhosts = 1, seed = 1, and 1 more\n  {own.value}\n"
    )
    plan.write_text(SCENARIO + "set.run.sead = 3\n[[axes]]\nname = 'seed'\nset.run.seed = [1, 2]\n")
    said = told(capsys, plan, "-o", tmp_path / "out")
    assert said.startswith(f"error: {plan}: 2 of 2 points cannot be run:\nevery point\n  run.sead: ")
    assert said.count("\n") == 3
    plan.write_text(SCENARIO + "set.run.sead = 3\n")
    assert 'run.sead: unknown key; did you mean "seed"?' in told(capsys, plan, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--shard", "3/2"], "'3/2' is not I/N with I from 1 to N, such as 1/4"),
        (["--shard", "7/2"], "SLURM_ARRAY_TASK_COUNT is their number, so write N as a number"),
        (["--shard", "0/0"], "'0/0' is not I/N"),
        (["--shard", "1"], "'1' is not I/N"),
        (["--workers", "0"], "'0' is no whole number of at least 1"),
        (["--workers", "2", "--dask", "tcp://x:1"], "not allowed with argument"),
    ],
)
def test_wrong_usage(capsys, words, why):
    with pytest.raises(SystemExit) as ended:
        cli.main(["sweep", "plan.toml", *words])
    assert ended.value.code == 2
    assert why in capsys.readouterr().err


# Which runs are the same.


@pytest.fixture
def key(small):
    """The key of the small scenario with other fields."""
    return lambda **changes: Plan(small, set=changes).tasks()[0].key


def test_the_same_computation_has_the_same_key(small, tmp_path, key):
    renamed = tmp_path / "renamed.toml"
    renamed.write_text(f'name = "another"\n# A comment.\n{small.read_text()}')
    assert Plan(renamed, name="renamed").tasks()[0].key == key()
    # A default that is written out changes nothing.
    assert key(**{"run.seed": fy.check(small)["run"]["seed"]}) == key()
    # Threads change the time that a run takes, and nothing else.
    assert key(**{"run.threads": 2}) == key()
    # Nor does which axis says it.
    assert [task.key for task in Plan(small, [Axis("a", {"run.seed": [3]})]).tasks()] == [
        key(**{"run.seed": 3})
    ]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("run.seed", 2),
        ("run.replica", 1),
        ("run.until", "1s"),
        ("run.audit", True),
        ("traffic.few.flows", 3),
        ("traffic.few.sizes.fixed", "11KB"),
        ("traffic.few.name", "many"),
        ("topology.single-switch.rate", "1Gbps"),
        ("transport.ndp.initial_window", 5),
        ("queue.ndp.data_limit.packets", 5),
        ("transport", "datagram"),
    ],
)
def test_another_computation_has_another_key(key, field, value):
    assert key(**{field: value}) != key()


def test_another_engine_makes_other_keys(key, monkeypatch):
    before = key()
    monkeypatch.setattr("flowyard._native.__engine__", "9.9.9+other")
    assert key() != before


def test_more_replicas_keep_the_keys_of_the_first_and_all_differ(small):
    axis = Axis("seed", {"run.seed": [1, 2, 3]})
    few, many = (
        {(task.values["seed"], task.replica): task.key for task in Plan(small, [axis], n).tasks()}
        for n in (3, 7)
    )
    assert few.items() <= many.items()
    assert len(set(many.values())) == 3 * 7


def summary(task):
    """What running a task leaves in run.json."""
    result = task.run()
    assert isinstance(result, Result)
    return result.summary


def test_a_point_is_read_once_for_its_check_and_all_its_runs(small, monkeypatch):
    made, read = _native.Checked, []

    def counting(*source):
        read.append(source)
        return made(*source)

    monkeypatch.setattr(_native, "Checked", counting)
    tasks = Plan(small, [Axis("seed", {"run.seed": [1, 2]})], 3).tasks()
    digests = {summary(task)["digest"] for task in tasks}
    assert (len(tasks), len(digests), len(read)) == (6, 6, 2)


def test_a_task_in_another_process_reads_its_scenario_and_does_the_same(small):
    for task in Plan(small, [Axis("seed", {"run.seed": [1, 2]})], 2, name="mine").tasks():
        there = pickle.loads(pickle.dumps(task))
        assert (there, there.point) == (task, None)
        here, away = summary(task), summary(there)
        assert here["scenario"]["name"] == "mine"
        assert {key: here[key] for key in ("scenario", "digest", "status")} == {
            key: away[key] for key in ("scenario", "digest", "status")
        }


def test_a_replica_of_more_than_64_bits_fails_alone(small):
    first, second = Plan(small, replicas=2, set={"run.replica": 2**64 - 1}).tasks()
    assert first.run().status == "complete"
    with pytest.raises(_native.ScenarioError, match=r"run\.replica"):
        second.run()


def test_a_file_that_the_scenario_names_is_part_of_it(small, tmp_path):
    table = tmp_path / "sizes.txt"
    small.write_text(small.read_text().replace('sizes.fixed = "10KB"', 'sizes.cdf = { file = "sizes.txt" }'))

    def key(points):
        table.write_text(points)
        return Plan(small).tasks()[0].key

    assert key("0 0\n1000 100\n") != key("0 0\n2000 100\n")
    assert key("0 0\n1000 100\n") == key("0  0\n1000\t100\n")


def test_the_key_of_a_model_knows_its_file_and_values():
    def double(size, replica):
        raise AssertionError

    def triple(size, replica):
        raise AssertionError

    keys = [
        task.key
        for function in (double, triple)
        for task in ModelPlan(function, {"size": [1, 2]}, replicas=2).tasks()
    ]
    assert len(set(keys)) == 8
    assert [task.key for task in ModelPlan(double, {"size": [1, 2]}).tasks()] == keys[:2]


def test_the_key_of_a_model_knows_what_it_imports(tmp_path, monkeypatch):
    package = tmp_path / "studies"
    package.mkdir()
    files = {
        "__init__": "",
        "model": "from .rates import RATE\ndef model(replica):\n    import studies.loads\n",
        "rates": "import json\nfrom studies import units\nRATE = 1",
        "units": "",
        "loads": "",
        "other": "",
    }
    for name, text in files.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    model = importlib.import_module("studies.model").model

    def key():
        return ModelPlan(model).tasks()[0].key

    first = key()
    for name in files:
        (package / f"{name}.py").write_text(files[name] + "# another text\n")
        assert (key() == first) == (name == "other"), name
        (package / f"{name}.py").write_text(files[name])
    assert key() == first


def test_a_plan_made_in_python_is_checked_too(small):
    with pytest.raises(UserError, match="replicas: 0"):
        Plan(small, replicas=0)
    with pytest.raises(UserError, match=r'axis a: set."x" has 1, set."y" has 2 values'):
        Axis("a", {"x": [1], "y": [1, 2]})
    with pytest.raises(UserError, match="its scenarios have no names; give it labels"):
        Axis("a", scenarios=[fy.check(small) | {"name": None}])
