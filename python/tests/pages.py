"""Following a page of the documentation verbatim: its files are written, its commands run, what they print compared.

What is done with a fenced block, the words after its language say:

    file=PATH            the block is written to PATH
    add=PATH after=LINE  the block is put behind the line of PATH that says LINE
    run                  the commands are run by bash (sh) or the code by Python (python); `exit=N` if that is not 0
    output               these lines are in what the last command printed, in this order; `...` stands for anything

Other blocks are for reading.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```([^\s`]*)[ ]?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WORD = re.compile(r"(\w+)=(.*?)(?= \w+=|$)|\w+")
# What differs from run to run: how long it took.
TIMES = re.compile(r"\b[\d.]+ M/s|in [\d.]+ s\b|\d+:\d\d\b")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the words after it, its text, and the number of its first line."""

    language: str
    words: Mapping[str, str]
    text: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    for fence in FENCE.finditer(text):
        words = {word[1] or word[0]: word[2] or "" for word in WORD.finditer(fence[2])}
        yield Block(fence[1], words, fence[3], text.count("\n", 0, fence.start()) + 1)


def write(block: Block, folder: Path) -> None:
    """Does what a block says about files, if it does."""
    if name := block.words.get("file"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
    elif name := block.words.get("add"):
        path = folder / name
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        places = [i for i, line in enumerate(lines) if line.strip() == block.words["after"]]
        assert len(places) == 1, f"{name}: {len(places)} lines say {block.words['after']!r}"
        lines.insert(places[0] + 1, block.text)
        path.write_text("".join(lines), encoding="utf-8")


def follow(page: Path, folder: Path, environment: Mapping[str, str], *, files: bool = True) -> None:
    """Follows a page in a folder from top to bottom; without `files` they have been written already."""
    printed = ""
    for block in blocks(page):
        where = f"{page.name}, line {block.line}"
        if files:
            write(block, folder)
        if "run" in block.words:
            command = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": ["python", "-c"]}[block.language]
            ended = subprocess.run(
                [*command, block.text], cwd=folder, env=environment, capture_output=True, text=True
            )
            printed = ended.stdout + ended.stderr
            expected = int(block.words.get("exit", 0))
            assert ended.returncode == expected, f"{where}: exit {ended.returncode}\n{printed}"
        elif "output" in block.words:
            missing = first_missing(block.text, printed)
            assert missing is None, f"{where}: no line {missing!r} in\n{printed}"


def environment(programs: Path) -> dict[str, str]:
    """Variables under which `flowyard` and `python` are those of this checkout; their scripts go to a new folder."""
    programs.mkdir()
    script(programs / "python", f'exec "{sys.executable}" "$@"')
    script(programs / "flowyard", f'exec "{sys.executable}" -m flowyard "$@"')
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "python")}


def script(path: Path, text: str) -> None:
    """Writes a program."""
    path.write_text(f"#!/usr/bin/env bash\nset -e\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def first_missing(expected: str, printed: str) -> str | None:
    """The first expected line that is not there, each being looked for behind the one before."""
    lines = iter(_plain(printed))
    for line in _plain(expected):
        pattern = re.compile(".*".join(map(re.escape, line.split("..."))))
        if not any(pattern.fullmatch(candidate) for candidate in lines):
            return line
    return None


def _plain(text: str) -> list[str]:
    """Lines that say something, with single spaces and without times."""
    words = (" ".join(TIMES.sub("?", line).split()) for line in text.splitlines())
    return [line for line in words if line]
