"""Output folders: complete or not there at all."""

import contextlib
import errno
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import flowyard as fy
from flowyard import folders
from flowyard.errors import UserError
from flowyard.folders import Staging


def fill(staging):
    (staging.path / "run.json").write_text("{}")


def on_disk(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


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


def test_what_is_done_is_kept_beside_a_place_that_is_taken_in_the_meantime(tmp_path):
    with Staging(tmp_path / "run") as staging:
        fill(staging)
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "other").touch()
        with pytest.raises(UserError) as error:
            staging.publish()
    assert str(error.value) == (
        f"{tmp_path / 'run'}: something else was put there in the meantime; the results are in {tmp_path / 'run-1'}"
    )
    assert on_disk(tmp_path) == ["run", "run-1", "run-1/run.json", "run/other"]


def test_what_is_done_is_kept_where_it_was_made_if_it_cannot_be_moved(tmp_path, monkeypatch):
    def refused(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patch, Staging(tmp_path / "run") as staging:
        fill(staging)
        patch.setattr(folders, "moved", refused)
        with pytest.raises(
            UserError, match=r"cannot write here \(Permission denied\); the results are in "
        ) as error:
            staging.publish()
    assert str(error.value).endswith(str(staging.path))
    # It is no dead process's to the next one.
    with Staging(tmp_path / "next"):
        pass
    assert on_disk(tmp_path) == [staging.path.name, f"{staging.path.name}/run.json"]


class TestLinks:
    """`-o LINK`: what it leads to is settled before the run, not after it."""

    def test_an_empty_folder_that_a_link_leads_to_is_filled(self, tmp_path):
        (tmp_path / "far/empty").mkdir(parents=True)
        (tmp_path / "link").symlink_to("far/empty")
        (tmp_path / "second").symlink_to("link")
        with Staging(tmp_path / "second") as staging:
            fill(staging)
            assert staging.publish() == tmp_path / "second"
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "second/run.json").exists()
        assert on_disk(tmp_path / "far") == ["empty", "empty/run.json"]

    def test_a_folder_below_a_link_is_made(self, tmp_path):
        (tmp_path / "far").mkdir()
        (tmp_path / "link").symlink_to("far")
        with Staging(tmp_path / "link/deep/run") as staging:
            fill(staging)
            staging.publish()
        assert on_disk(tmp_path / "far") == ["deep", "deep/run", "deep/run/run.json"]

    @pytest.mark.parametrize(
        ("leads_to", "said"),
        [
            ("nowhere", "is a link to nowhere, which is not there"),
            ("link", "is a link to link, which is not there"),
            ("file", "is a file; choose another folder"),
            ("full", "is not empty"),
        ],
    )
    def test_other_links_are_refused_at_once(self, leads_to, said, tmp_path):
        (tmp_path / "file").touch()
        (tmp_path / "full").mkdir()
        (tmp_path / "full/thesis.tex").touch()
        (tmp_path / "link").symlink_to(leads_to)
        before = on_disk(tmp_path)
        with pytest.raises(UserError, match=f"link: {said}"), Staging(tmp_path / "link"):
            pytest.fail("it began")
        assert on_disk(tmp_path) == before


class TestMounts:
    """A container's volume, or any place where another file system begins: no folder can be moved there."""

    @pytest.fixture
    def volume(self, tmp_path, monkeypatch):
        volume = tmp_path / "volume"
        volume.mkdir()
        monkeypatch.setattr(Path, "is_mount", lambda path: path == volume)
        return volume

    def test_it_is_filled_from_inside_and_run_json_comes_last(self, volume, tmp_path, monkeypatch):
        moves, rename = [], Path.rename
        monkeypatch.setattr(Path, "rename", lambda old, new: moves.append(new.name) or rename(old, new))  # type: ignore[func-returns-value]
        with Staging(volume) as staging:
            assert staging.path.parent == volume
            fill(staging)
            for name in ("links.parquet", "samples.parquet", "flows.parquet"):
                (staging.path / name).touch()
            assert staging.publish() == volume
        assert moves[-1] == "run.json"
        assert on_disk(tmp_path) == ["volume", *sorted(f"volume/{name}" for name in moves)]

    def test_what_a_killed_process_left_in_it_is_removed(self, volume):
        leftover(volume)
        with Staging(volume) as staging:
            fill(staging)
            staging.publish()
        assert on_disk(volume) == ["run.json"]

    def test_what_is_done_is_kept_in_it_if_something_else_was_put_there(self, volume):
        with Staging(volume) as staging:
            fill(staging)
            (volume / "thesis.tex").touch()
            with pytest.raises(UserError, match=r"the results are in .*/volume/volume-1$"):
                staging.publish()
        assert on_disk(volume) == ["thesis.tex", "volume-1", "volume-1/run.json"]


def leftover(place, name=".flowyard-0123456789ab"):
    """What a process leaves that is killed while it writes."""
    (place / name).mkdir()
    (place / name / "flows.parquet").touch()
    (place / f"{name}.lock").touch()


def test_what_killed_processes_left_is_removed_and_nothing_else(tmp_path):
    leftover(tmp_path)
    # Names of other people's, and of versions that had no lock, of which nobody knows whether they live.
    for name in (".flowyard-notes", "thesis", ".flowyard-0123456789abc"):
        leftover(tmp_path, name)
    (tmp_path / ".flowyard-ba9876543210").mkdir()
    others = set(on_disk(tmp_path)) - {name for name in on_disk(tmp_path) if "0123456789ab" in name}
    others |= {name for name in on_disk(tmp_path) if "0123456789abc" in name}
    with Staging(tmp_path / "living") as living:
        fill(living)
        with Staging(tmp_path / "run"):
            assert living.path.exists()
            assert set(on_disk(tmp_path)) >= others
        living.publish()
    assert set(on_disk(tmp_path)) == others | {"living", "living/run.json"}


@pytest.mark.parametrize(
    ("code", "goes_on"), [(errno.EINVAL, True), (errno.ENOTSUP, True), (errno.EIO, False)]
)
def test_a_file_system_that_cannot_flush_folders_is_written_to(small, tmp_path, monkeypatch, code, goes_on):
    own = os.fsync

    def fsync(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(code, os.strerror(code))
        own(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    plan = fy.Plan(small)
    if goes_on:
        assert fy.sweep(plan, tmp_path / "out").complete
    else:
        with pytest.raises(UserError, match="cannot write here"):
            fy.sweep(plan, tmp_path / "out")


def test_a_new_file_is_whole_as_soon_as_its_name_is_there(tmp_path):
    # What another process sees is what a kill at that moment would leave.
    path, size, seen = tmp_path / "new.toml", 64 << 20, set()
    stop = threading.Event()

    def look():
        while not stop.is_set():
            with contextlib.suppress(FileNotFoundError):
                seen.add(path.stat().st_size)

    looking = threading.Thread(target=look)
    looking.start()
    folders.create(path, b"x" * size)
    folders.replace(path, b"x" * (size + 1))
    while size + 1 not in seen:
        pass
    stop.set()
    looking.join()
    assert seen <= {size, size + 1}
    assert on_disk(tmp_path) == ["new.toml"]


def test_a_new_file_takes_no_place_of_another_s_where_there_are_no_links(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    folders.create(tmp_path / "new", "text")
    assert (tmp_path / "new").read_text() == "text"
    with pytest.raises(FileExistsError):
        folders.create(tmp_path / "new", "other")
    assert (tmp_path / "new").read_text() == "text"
    assert on_disk(tmp_path) == ["new"]


# Dies when half of a file is written.
DYING = """\
import os, pathlib, signal, sys
from flowyard import folders
def half(path, content):
    with path.open("wb") as file:
        file.write(content[: len(content) // 2])
    os.kill(os.getpid(), signal.SIGKILL)
pathlib.Path.write_bytes = half
getattr(folders, sys.argv[1])(pathlib.Path(sys.argv[2]), "x" * 100)
"""


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
@pytest.mark.parametrize("verb", ["create", "replace"])
def test_what_a_killed_process_left_of_a_file_is_removed_by_the_next(verb, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    command = [sys.executable, "-c", DYING, verb, str(folder / "papers.json")]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert not (folder / "papers.json").exists()
    assert on_disk(folder) != []
    # So that `paper run -o out` goes on with a folder that it had only begun.
    folders.refuse_taken(folder)
    assert on_disk(folder) == []
    subprocess.run(command, check=False)
    folders.create(folder / "other", "text")
    assert on_disk(folder) == ["other"]
