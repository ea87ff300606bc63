"""Folders of runs that something has happened to: what `flowyard report` may be pointed at."""

import json
import shutil
from pathlib import Path

import flowyard as fy
from flowyard import sweeps


def damaged(folder: Path, scenario: Path) -> None:
    """Puts a sound run, a sound sweep, and copies of them with one thing wrong each, into a folder."""
    fy.run(scenario).save(folder / "run")
    sweeps.sweep(sweeps.Plan(scenario, replicas=1), folder / "swept", workers=1)

    def copy(name: str, of: str = "run") -> Path:
        return Path(shutil.copytree(folder / of, folder / name))

    def summary(name: str, change) -> None:
        path = copy(name) / "run.json"
        data = json.loads(path.read_text())
        change(data)
        path.write_text(json.dumps(data))

    def cut(path: Path, at: int) -> None:
        path.write_bytes(path.read_bytes()[:at])

    # Tables.
    cut(copy("cut-flows") / "flows.parquet", 500)
    cut(copy("empty-links") / "links.parquet", 0)
    (copy("text-flows") / "flows.parquet").write_text("id,fct_ps\n0,5\n")
    shutil.copy(folder / "run/links.parquet", copy("links-for-flows") / "flows.parquet")
    (copy("no-flows") / "flows.parquet").unlink()
    noisy = bytearray((folder / "run/flows.parquet").read_bytes())
    noisy[100:400] = bytes(300)
    (copy("overwritten-flows") / "flows.parquet").write_bytes(noisy)
    # The summary.
    cut(copy("cut-summary") / "run.json", 200)
    (copy("list-for-summary") / "run.json").write_text("[1, 2]\n")
    (copy("binary-summary") / "run.json").write_bytes(b"\xff\xfe\x00")
    summary("no-status", lambda data: data.pop("status"))
    summary("no-scenario", lambda data: data.pop("scenario"))
    summary("no-counters", lambda data: data.pop("counters"))
    summary("empty-summary", lambda data: data.clear())
    summary("text-for-a-number", lambda data: data.update(end_ps="soon"))
    summary("no-mean-size", lambda data: data["traffic"][0].pop("mean_size_bytes"))
    summary("weird-status", lambda data: data.update(status="weird"))
    summary("faults-are-texts", lambda data: data.update(faults=["spine 1 is down", "spine 1 is up"]))
    fault = {"at_ps": 1, "undone_ps": None, "change": "down", "links": [99], "nodes": []}
    summary("faults-on-a-link-too-far", lambda data: data.update(faults=[fault]))
    summary("scenario-is-a-text", lambda data: data.update(scenario="fast"))
    # Other folders.
    (folder / "thesis").mkdir()
    (folder / "thesis/thesis.tex").write_text("Years of work.\n")
    # Sweeps.
    cut(copy("cut-plan", "swept") / "sweep.json", 100)
    (copy("other-plan", "swept") / "sweep.json").write_text('{"name": "x"}\n')
    (copy("plan-with-a-text-for-runs", "swept") / "sweep.json").write_text(
        '{"engine": "x", "axes": 3, "replicas": "many", "runs": "all"}\n'
    )
    (copy("deep-plan", "swept") / "sweep.json").write_text("[" * 100_000)
    plan = json.loads((folder / "swept/sweep.json").read_text())
    (copy("plan-of-no-replicas", "swept") / "sweep.json").write_text(json.dumps(plan | {"replicas": 0}))
    plan["runs"][0]["values"] = {"load": 0.5}
    (copy("run-at-no-place", "swept") / "sweep.json").write_text(json.dumps(plan))
    shutil.rmtree(next((copy("undone-sweep", "swept") / "runs").iterdir()))
    cut(next((copy("cut-run-of-a-sweep", "swept") / "runs").iterdir()) / "flows.parquet", 500)
    cut(next((copy("cut-summary-in-a-sweep", "swept") / "runs").iterdir()) / "run.json", 200)
