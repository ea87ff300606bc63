"""Output folders: complete or not there at all."""

import pytest

from flowyard.errors import UserError
from flowyard.folders import Staging


def fill(staging):
    (staging.path / "run.json").write_text("{}")


def test_nothing_is_left_of_a_run_that_fails(tmp_path):
    def fail():
        with Staging(tmp_path / "run") as staging:
            fill(staging)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_the_folder_appears_complete(tmp_path):
    with Staging(tmp_path / "deep" / "run") as staging:
        fill(staging)
        assert not (tmp_path / "deep" / "run").exists()
        folder = staging.publish()
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["run"]
    assert (folder / "run.json").exists()


def test_two_runs_at_once_get_two_numbers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Staging(numbered="ndp") as first, Staging(numbered="ndp") as second:
        fill(first)
        fill(second)
        assert [str(staging.publish()) for staging in (second, first)] == ["out/ndp-1", "out/ndp-2"]


def test_a_folder_filled_in_the_meantime_is_not_replaced(tmp_path):
    with Staging(tmp_path / "run") as staging:
        fill(staging)
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "other").touch()
        with pytest.raises(UserError, match="is not empty"):
            staging.publish()
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["other"]
