"""Files that users name: regular ones of a bounded size; what is none is refused without waiting for it."""

import os
import socket
import tracemalloc

import pytest

from flowyard import cli
from flowyard.errors import UserError
from flowyard.folders import reading

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes and devices have no paths there")

# Verbs with the file that they read first.
VERBS = [
    "run {} -o out",
    "check {}",
    "topology {} -o out.svg",
    "export {} --to htsim-cm -o out.cm",
    "slotted {} -o out",
    "sweep {} -o out",
    "import {} -o out.toml",
]


@pytest.fixture
def pipe(tmp_path):
    """A FIFO that nobody writes to: who opens it to read waits for ever."""
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", ["pipe", "endless"])
def test_every_verb_refuses_what_is_no_regular_file(verb, kind, pipe, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path, called = (pipe, "a pipe") if kind == "pipe" else ("/dev/zero", "a device")
    assert cli.main(verb.format(path).split()) == 2
    assert f"{path}: is {called}; name a regular file" in capsys.readouterr().err
    assert [found.name for found in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.parametrize("kind", ["pipe", "endless", "link to an endless one"])
def test_a_distribution_is_a_regular_file(kind, pipe, small, tmp_path, capsys):
    (tmp_path / "link").symlink_to("/dev/zero")
    name = {"pipe": "pipe", "endless": "/dev/zero"}.get(kind, "link")
    sizes = f'traffic.few.sizes={{"cdf": {{"file": "{name}"}}}}'
    assert cli.main(["check", str(small), "--set", sizes]) == 2
    assert f'traffic.few.sizes.cdf.file: "{name}": is no regular file' in capsys.readouterr().err


def test_a_folder_of_results_has_regular_files(pipe, small, tmp_path, capsys):
    assert cli.main(["run", str(small), "-o", str(tmp_path / "run")]) == 0
    for name in ("run.json", "flows.parquet"):
        (tmp_path / "run" / name).unlink()
        os.mkfifo(tmp_path / "run" / name)
        capsys.readouterr()
        assert cli.main(["report", str(tmp_path / "run")]) == 2
        assert f"{tmp_path / 'run' / name}: is a pipe; name a regular file" in capsys.readouterr().err


def test_the_text_is_that_of_the_file(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\n")
    assert reading.text(path, encoding="utf-8-sig") == "one\ntwo\nthree\n"
    (tmp_path / "link").symlink_to(path)
    assert reading.text(tmp_path / "link") == "\ufeffone\ntwo\nthree\n"


def test_a_file_has_at_most_so_many_bytes(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"x" * (2 << 20))
    assert len(reading.text(path, most=2 << 20)) == 2 << 20
    with path.open("ab") as file:
        file.write(b"x")
    with pytest.raises(UserError, match=r"text: has 2,097,153 bytes; at most 2,097,152 \(2 MiB\) are read$"):
        reading.text(path, most=2 << 20)


def test_a_file_with_holes_is_too_large_without_being_read_whole(tmp_path):
    path = tmp_path / "holes"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UserError, match="at most 1,048,576"):
        reading.text(path, most=1 << 20)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere", "nowhere: no such file"),
        ("folder", "folder: is a folder; name a regular file"),
        ("a\0b", "no file can have that name"),
    ],
)
def test_what_cannot_be_read_is_named(name, said, tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(UserError, match=said):
        reading.text(tmp_path / name)


def test_a_socket_is_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        with pytest.raises(UserError, match="socket: is a socket; name a regular file"):
            reading.text("socket")


def test_a_small_file_takes_little_memory_whatever_may_be_read(tmp_path):
    path = tmp_path / "small.json"
    path.write_text('{"a": 1}')
    tracemalloc.start()
    try:
        found = reading.read_json(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == {"a": 1}
    assert peak < 1 << 20


def test_a_file_is_read_to_its_end_and_no_further_than_allowed(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "_PIECE", 1)
    path = tmp_path / "grows"
    path.write_bytes(b"x" * 100)
    # As a file that has grown since the system was asked for its size, and as those of the kernel, which have none.
    for size in (0, 40, 100):
        assert reading._bytes(path, size, 1000) == b"x" * 100
        assert len(reading._bytes(path, size, 60)) == 61
