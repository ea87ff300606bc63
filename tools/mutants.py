"""Changes the engine in one place at a time, and lists the changes that no test notices. `make mutants`.

cargo-mutants makes the changes and runs the tests, as .cargo/mutants.toml says; of all changes a run tries an evenly
spaced sample. It finds modules by their `mod` lines and looks into no macro, where those of queues, transports and all
other lists of members are: the copy of the sources that it works on has their lines a second time, compiled never.
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
OUT = ROOT / "out" / "mutants"
TREE = OUT / "tree"
INSTALL = "make mutants needs cargo-mutants: cargo install cargo-mutants --locked"


def main() -> int:
    """Tries the sample; the exit code is cargo-mutants': 2 if a change was missed, 3 if tests did not end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=60, help="about as many changes as this (60)")
    parser.add_argument(
        "--first", type=int, default=0, help="the number of the first one: another sample (0)"
    )
    parser.add_argument("--file", action="append", default=[], help="only files of this pattern: '**/tcp/**'")
    options = parser.parse_args()
    if shutil.which("cargo-mutants") is None:
        print(INSTALL, file=sys.stderr)
        return 1
    copy_sources()
    reveal_members(TREE / "crates" / "sim" / "src")
    command = ["cargo", "mutants", "--package", "flowyard-sim"]
    command += [word for pattern in options.file for word in ("--file", pattern)]
    listed = subprocess.run([*command, "--list"], cwd=TREE, check=True, capture_output=True, text=True)
    total = len(listed.stdout.splitlines())
    if total == 0:
        print(
            f"no changes are possible in {' '.join(options.file)}: paths begin at the root, crates/sim/src",
            file=sys.stderr,
        )
        return 1
    apart = max(1, total // max(1, options.sample))
    first = options.first % apart
    print(f"{total} changes are possible; this run tries one in {apart}, from number {first} on", flush=True)
    command += [
        "--in-place",
        "--sharding",
        "round-robin",
        "--shard",
        f"{first}/{apart}",
        "--output",
        str(OUT),
    ]
    code = subprocess.run(command, cwd=TREE, check=False).returncode
    print(
        f"{OUT / 'mutants.out'}: missed.txt, caught.txt, timeout.txt, the change in diff/, the tests' words in log/"
    )
    return code


def copy_sources() -> None:
    """Makes TREE the files of the checkout, except for build results. Files that are as they were keep their time."""
    git = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(git, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    names = {name for name in listed if name and (ROOT / name).is_file()}
    for old in TREE.glob("crates/**/*.rs"):
        if str(old.relative_to(TREE)) not in names:
            old.unlink()
    for name in names:
        target = TREE / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)


def reveal_members(source: Path) -> None:
    """Adds `mod` lines, which no build reads, for the modules of each folder that a macro declares."""
    for parent in [source / "lib.rs", *source.glob("**/mod.rs")]:
        text = parent.read_text()
        declared = set(re.findall(r"^\s*(?:pub(?:\([^)]*\))? )?mod (\w+)", text, re.MULTILINE))
        files = {path.stem for path in parent.parent.glob("*.rs")} - {"lib", "mod"}
        folders = {path.parent.name for path in parent.parent.glob("*/mod.rs")}
        hidden = sorted((files | folders) - declared)
        if hidden:
            parent.write_text(text + "".join(f"#[cfg(any())]\npub mod {name};\n" for name in hidden))


if __name__ == "__main__":
    sys.exit(main())
