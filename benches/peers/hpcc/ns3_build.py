"""Compiles a simulator of the family of HPCC's, an ns-3.17, from a checkout, of which nothing is in this repository.

Its own build wants Python 2 and gcc 5. This one reads which files a module has from the module's own wscript, copies
those of the few modules that its program needs, makes the headers that waf would make, and calls g++ with
`-fpermissive`. The checkout stays as it is. The first call takes some minutes; a second one compiles nothing.
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from flowyard.bench import tell

MODULES = ("core", "network", "bridge", "mpi", "internet", "point-to-point", "applications")
# For other systems and for libraries that are not asked for.
LEFT_OUT = ("win32", "cairo", "nsc-", "int64x64-double.cc")
NAMED = re.compile(r"^[^#\n]*'((?:model|helper|utils)/[\w./-]+\.(?:cc|h))'", re.MULTILINE)
FLAGS = ("-std=gnu++11", "-O2", "-w", "-fpermissive", "-fno-strict-aliasing", "-pthread")
# Results of `waf configure` on 64-bit Linux.
CONFIG = """\
#define HAVE___UINT128_T 1
#define INT64X64_USE_128 1
#define HAVE_STDINT_H 1
#define HAVE_INTTYPES_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_DIRENT_H 1
#define HAVE_STDLIB_H 1
#define HAVE_GETENV 1
#define HAVE_SIGNAL_H 1
#define HAVE_PTHREAD_H 1
#define HAVE_RT 1
"""


@dataclass(frozen=True)
class Simulator:
    """A simulator that is compiled.

    Attributes:
        name: Its name.
        repository: Its repository, as owner and name.
        folders: The folders of a checkout that may hold its sources.
        main: The name of its program, which is in `scratch`.
        only: Words of which a file's name has one, for modules of which not all files are needed.
        build: The folder for sources, objects and the program.
    """

    name: str
    repository: str
    folders: tuple[str, ...]
    main: str
    only: dict[str, tuple[str, ...]]
    build: Path

    def built(self, checkout: Path) -> Path:
        """The simulator's program, from a checkout of its repository."""
        program = self.build / self.main
        if program.exists():
            return program.absolute()
        sources = self.prepared(self.sources(checkout))
        objects = [self.build / "objects" / f"{source.parents[1].name}-{source.stem}.o" for source in sources]
        (self.build / "objects").mkdir(exist_ok=True)
        with ThreadPoolExecutor(os.cpu_count()) as workers:
            for number, _ in enumerate(workers.map(self.compiled, sources, objects)):
                tell(f"{self.name}'s simulator is built: {number + 1} of {len(sources)} files")
        subprocess.run(["g++", "-pthread", "-o", program, *objects, "-lrt"], check=True)
        tell("")
        return program.absolute()

    def sources(self, checkout: Path) -> Path:
        """The folder with the sources."""
        program = f"scratch/{self.main}.cc"
        for folder in self.folders:
            if (checkout / folder / program).exists():
                return checkout / folder
        wanted = Path(self.folders[-1]) / program
        sys.exit(f"error: {checkout} has no {wanted}: a checkout of {self.repository} is wanted")

    def files(self, wscript: str, module: str) -> list[str]:
        """The sources and headers of a module, relative to its folder, from its wscript; those of its tests are not."""
        only = self.only.get(module, ("",))
        return [
            name
            for name in dict.fromkeys(NAMED.findall(wscript))
            if not any(part in name for part in LEFT_OUT) and any(part in name for part in only)
        ]

    def prepared(self, folder: Path) -> list[Path]:
        """Copies the files of the modules, and makes the headers that waf makes; the sources to compile."""
        headers = self.build / "include" / "ns3"
        headers.mkdir(parents=True, exist_ok=True)
        write(headers / "core-config.h", CONFIG)
        sources = []
        for module in MODULES:
            # Some headers are not named there, being private: their neighbours include them by a relative name.
            own = self.build / "src" / module
            for part in ("model", "helper", "utils"):
                for path in sorted((folder / "src" / module / part).glob("*.h")):
                    write(own / part / path.name, path.read_text(encoding="utf-8"))
            public = []
            for name in self.files((folder / "src" / module / "wscript").read_text(encoding="utf-8"), module):
                path = folder / "src" / module / name
                if path.suffix == ".h":
                    public.append(path.name)
                    write(headers / path.name, f'#include "{(own / name).absolute()}"\n')
                else:
                    write(own / name, path.read_text(encoding="utf-8"))
                    sources.append(own / name)
            write(headers / f"{module}-module.h", "".join(f'#include "ns3/{name}"\n' for name in public))
        main = self.build / "src" / f"{self.main}.cc"
        write(main, (folder / "scratch" / main.name).read_text(encoding="utf-8"))
        return [*sources, main]

    def compiled(self, source: Path, target: Path) -> None:
        """Compiles a file if it is newer than its object."""
        if target.exists() and target.stat().st_mtime > source.stat().st_mtime:
            return
        include = ["-I", str(self.build / "include")]
        command = ["nice", "-n", "10", "g++", *FLAGS, *include, "-c", str(source), "-o", str(target)]
        ended = subprocess.run(command, capture_output=True, text=True)
        if ended.returncode:
            sys.exit(f"error: {source} does not compile:\n{ended.stderr}")


def write(path: Path, text: str) -> None:
    """Writes a file unless it has that text: its time decides what is compiled."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
