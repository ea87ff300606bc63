"""The how-tos that add code to the engine work: each is followed to the letter.

They share one copy of the checkout: the files of all of them are written, then the commands of each are run, so that
the engine is built once, for their tests and for Python. A command of `make` or `cargo` that several of them have is
run once: with the files of all pages it does the same each time. What is built already (the packages that it needs) is
linked into a target folder of the copy's own; the checkout's is not touched.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pages
import pytest

HOW_TOS = sorted((pages.ROOT / "docs" / "how-to").glob("own-*.md"))
# The engine is built quickly rather than well, and with the assertions of tests.
QUICK = """\
[profile.release.package.flowyard-sim]
codegen-units = 16
debug-assertions = true
opt-level = 0
overflow-checks = true
[profile.release.package.flowyard-tables]
opt-level = 0
[profile.release.package.flowyard-python]
opt-level = 0
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout as of now, with a virtual environment that stands on the one in use."""
    copy = tmp_path_factory.mktemp("checkout")
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=pages.ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (pages.ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(pages.ROOT / name, copy / name)
    commit = "git init -q && git add -A && git -c user.name=t -c user.email=t@localhost commit -qm copy"
    subprocess.run(commit, shell=True, cwd=copy, check=True)
    # Beside what is there: with other flags all packages of others would be built again.
    with (copy / ".cargo" / "config.toml").open("a", encoding="utf-8") as config:
        config.write(QUICK)

    programs = copy / ".venv" / "bin"
    programs.mkdir(parents=True)
    for stamp in (".maturin", ".runtime", ".dev"):
        (copy / ".venv" / stamp).touch()
    pages.script(programs / "python", f'PYTHONPATH="{copy / "python"}" exec "{sys.executable}" "$@"')
    pages.script(programs / "flowyard", f'exec "{programs / "python"}" -m flowyard "$@"')
    pages.script(programs / "ruff", f'exec "{sys.executable}" -m ruff "$@"')
    # `maturin develop` would install into the environment in use: a wheel is built and unpacked instead, but not before
    # make asks for the installation.
    pages.script(
        programs / "maturin",
        '[[ "$*" != *--skip-install* ]] || exit 0\n'
        f'"{sys.executable}" -m maturin build --release --locked --quiet -i "{sys.executable}" -o dist\n'
        f'"{sys.executable}" -m zipfile -e dist/*.whl python',
    )
    return copy


@pytest.fixture(scope="module")
def target(checkout: Path) -> Iterator[Path]:
    """A target folder with what is built of others' packages."""
    built = Path(os.environ.get("CARGO_TARGET_DIR", pages.ROOT / "target"))
    built.mkdir(exist_ok=True)
    # Beside the other, because hard links do not cross file systems.
    own = Path(tempfile.mkdtemp(prefix="how-to-", dir=built))
    for part in ("deps", "build", ".fingerprint"):
        if (built / "release" / part).is_dir():
            shutil.copytree(built / "release" / part, own / "release" / part, copy_function=link, ignore=ours)
    yield own
    shutil.rmtree(own)


def link(source: str, to: str) -> None:
    """Libraries are linked, being replaced but never written to; the rest is copied."""
    if source.endswith((".rlib", ".rmeta", ".so", ".dylib")):
        os.link(source, to)
    else:
        shutil.copy2(source, to)


def ours(_: str, names: list[str]) -> list[str]:
    """What is built of the checkout itself."""
    return [name for name in names if "flowyard" in name or "_native" in name]


def run_once(program: Path, kind: str, options: str = "") -> None:
    """Puts a program before the one of its name that says again what a command of the kind said, if it succeeded."""
    real, kept = shutil.which(program.name), program.with_suffix(".said")
    kept.mkdir()
    pages.script(
        program,
        f'[ "$1" = {kind} ] || exec "{real}" "$@"\n'
        f'said="{kept}/$(printf %s "${{FLOWYARD_GOLDEN-}} $*" | cksum | tr " " -)"\n'
        'if [ ! -e "$said" ]; then\n'
        f'  "{real}" "$1" {options} "${{@:2}}" > "$said.new" 2>&1 || {{ cat "$said.new"; exit 1; }}\n'
        '  mv "$said.new" "$said"\n'
        "fi\n"
        'cat "$said"',
    )


def test_how_tos_are_found() -> None:
    """A pattern that no longer finds anything would make the next test pass."""
    assert len(HOW_TOS) >= 4
    for page in HOW_TOS:
        blocks = list(pages.blocks(page))
        kinds = [kind for block in blocks for kind in block.words]
        assert any(block.language == "rust" and block.words for block in blocks)
        assert kinds.count("run") >= 3
        assert kinds.count("output") >= 2


def test_how_tos(checkout: Path, target: Path, tmp_path: Path) -> None:
    environment = {**pages.environment(tmp_path / "bin"), "CARGO_TARGET_DIR": str(target)}
    # In the profile and with the features of `make setup`: the tests link the engine that Python gets.
    run_once(tmp_path / "bin" / "cargo", "test", "--release -p flowyard-python")
    run_once(tmp_path / "bin" / "make", "setup")
    for page in HOW_TOS:
        for block in pages.blocks(page):
            pages.write(block, checkout)
    for page in HOW_TOS:
        pages.follow(page, checkout, environment, files=False)
