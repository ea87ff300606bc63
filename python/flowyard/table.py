"""Tables of results: any Arrow consumer reads one, and each is a Parquet file in a run's folder.

The engine hands its columns over without a copy. arro3 writes the files, which loads in a moment, and polars reads
them. A file keeps the unit and the
meaning of each column (in its Arrow schema) and where it comes from (version, seed, digest), for readers
without Flowyard.
"""

import io
import os
import shutil
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from flowyard.display import Displayed
from flowyard.errors import UserError

if TYPE_CHECKING:
    import polars as pl

    from flowyard import _native


# Of a file whose ends are whole.
OVERWRITTEN = "what is in it was overwritten"


def read_frame(
    path: Path, columns: Sequence[str] | None = None, if_there: Sequence[str] = ()
) -> "pl.DataFrame":
    """A Parquet file, or some columns of it.

    Args:
        path: The file.
        columns: Those to read; default all.
        if_there: Columns to read besides that older versions did not write.

    Raises:
        UserError: It cannot be read, is no whole Parquet file, or lacks a column.
    """
    from flowyard.forks import pl

    try:
        with _stderr.dropped_on(pl.exceptions.PanicException):
            if columns is not None and if_there:
                known = pl.read_parquet_schema(path)
                columns = [*columns, *(name for name in if_there if name in known)]
            return pl.read_parquet(path, columns=None if columns is None else list(columns), memory_map=False)
    except pl.exceptions.PolarsError as error:
        why = OVERWRITTEN if "zstd error" in str(error) else str(error).partition("\n")[0]
    except pl.exceptions.PanicException:
        # polars checks both ends of a file, and takes what is between them as it is.
        why = OVERWRITTEN
    except OSError as error:
        why = error.strerror or str(error)
    raise UserError(f"{path}: not a table that can be read ({why})")


class _Columns(Protocol):
    """Columns of a table: the engine's, or those of a file."""

    @property
    def columns(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class Table(Displayed):
    """Columns of results, which polars, pandas and pyarrow take by `to_polars`, `to_pandas` and `to_arrow`.

    Whatever else reads Arrow's PyCapsule interface takes it as it is: duckdb finds it by its variable's name.
    """

    _view = "of_table"

    def __init__(self, columns: "_native.Table | None", file: Path | None = None) -> None:
        self._native = columns
        self._file = file

    @classmethod
    def read(cls, path: Path) -> "Table":
        """The table in a Parquet file, which is read when it is first used: a damaged one raises a UserError then."""
        return cls(None, path)

    @cached_property
    def _columns(self) -> _Columns:
        if self._native is not None:
            return self._native
        assert self._file is not None
        return read_frame(self._file)

    def write(self, path: Path) -> None:
        """Writes a Parquet file: zstd, statistics for each row group.

        What was read from a file is copied as a file.

        Raises:
            OSError: It cannot be written.
        """
        if self._file is not None:
            shutil.copyfile(self._file, path)
            return
        from arro3.io import write_parquet

        native: Any = self._native
        # By way of memory: the operating system's reason not to write comes as Python has it.
        file = io.BytesIO()
        write_parquet(native, file, compression="zstd(3)", key_value_metadata=native.metadata)
        path.write_bytes(file.getbuffer())

    def values(self, *names: str) -> list[list[Any]]:
        """The values of some columns, None for nulls; in a tenth of the time that importing polars takes.

        Raises:
            UserError: The file cannot be read.
        """
        from arro3.core import Table as Arrow
        from arro3.io import read_parquet

        if self._native is not None:
            table = Arrow.from_arrow(self._native)
        else:
            assert self._file is not None
            try:
                table = read_parquet(self._file).read_all()
            except Exception:
                # polars has words for it.
                return [self.to_polars()[name].to_list() for name in names]
        return [list(table[name].to_pylist()) for name in names]

    def to_polars(self) -> "pl.DataFrame":
        """As a polars table."""
        from flowyard.forks import pl

        return pl.DataFrame(self)

    def to_arrow(self) -> Any:
        """As a pyarrow.Table, whose schema has each column's unit and meaning.

        Raises:
            ImportError: There is no pyarrow.
        """
        return _needed("pyarrow", "to_arrow", "pyarrow").table(self)

    def to_pandas(self) -> Any:
        """As a pandas.DataFrame; whole numbers are signed there, so that a difference may be negative.

        A column with a value of 2^63 or more stays unsigned.

        Raises:
            ImportError: There is no pandas, or no pyarrow, by which it reads.
        """
        frame = _needed("pandas", "to_pandas", "pandas pyarrow").DataFrame
        arrow = _needed("pyarrow", "to_pandas", "pandas pyarrow")
        table = arrow.table(self)
        for place, name in enumerate(table.column_names):
            column = table.column(name)
            if str(column.type).startswith("uint"):
                with suppress(arrow.ArrowInvalid):
                    table = table.set_column(place, name, column.cast(arrow.int64()))
        # Before version 3 pandas did not read Arrow itself; since then it does so by pyarrow.
        return frame.from_arrow(table) if hasattr(frame, "from_arrow") else table.to_pandas()

    def __getattr__(self, name: str) -> Any:
        # What begins with "_" is asked for by libraries of tables.
        hint = "" if name.startswith("_") else self._instead(name)
        raise AttributeError(f"a Table has no {name}{hint}", name=name, obj=self)

    def _instead(self, name: str) -> str:
        """The column, or the method of a library of tables, that an attribute was meant to be."""
        from difflib import get_close_matches

        from flowyard.forks import pl

        near = get_close_matches(name, self.columns, n=1)
        near = near or [column for column in self.columns if column.startswith(f"{name}_")][:1]
        if near:
            return f"; did you mean the column .to_polars()[{near[0]!r}]?"
        if hasattr(pl.DataFrame, name):
            return f"; take it as a table of a library: .to_polars().{name}"
        if hasattr(_pandas_frame(), name):
            return f"; take it as a table of a library: .to_pandas().{name}"
        columns = ", ".join(self.columns)
        return f"; take it as a table of a library, by to_polars() or to_pandas(); columns are {columns}"

    def __getitem__(self, name: object) -> Any:
        raise TypeError(f"a Table has no items; take it as a table of a library: .to_polars()[{name!r}]")

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in their order."""
        return self._columns.columns

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows, each a dict by column, as pandas.DataFrame reads a table; `to_pandas` is faster for large ones."""
        return self.to_polars().iter_rows(named=True)

    def __len__(self) -> int:
        return len(self._columns)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._columns.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<flowyard.Table of {len(self)} rows, {len(self.columns)} columns>"


def _pandas_frame() -> Any:
    """The class of pandas' tables; None where there is no pandas."""
    try:
        return import_module("pandas").DataFrame
    except ImportError:
        return None


def _needed(package: str, method: str, wanted: str) -> Any:
    """A package, for a method that wants it, and maybe others."""
    try:
        return import_module(package)
    except ImportError:
        raise ImportError(f"{method} needs a package that is not here: pip install {wanted}") from None


class _Stderr:
    """The process' stderr while threads read files: held back by the first of them, given back by the last.

    Each thread for itself would save and put back what another has put there, and in the end nothing is right.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers = 0
        self._drop = False
        # Where it goes, and what is held; None where nothing can be written anywhere: what is printed is printed.
        self._real = -1
        self._held: IO[bytes] | None = None

    @contextmanager
    def dropped_on(self, unwanted: type[BaseException]) -> Iterator[None]:
        """Holds back all that the process writes to stderr meanwhile, and drops it if this exception ends it.

        Before polars gives up on a file that was overwritten in the middle, its threads print where they stood.
        """
        with self._lock:
            self._readers += 1
            if self._readers == 1:
                self._hold()
        try:
            yield
        except unwanted:
            self._drop = True
            raise
        finally:
            with self._lock:
                self._readers -= 1
                if self._readers == 0:
                    self._give_back()

    def _hold(self) -> None:
        # Late, for only who reads files needs it.
        import tempfile

        self._drop = False
        try:
            self._held = tempfile.TemporaryFile()  # noqa: SIM115 (closed when it is given back)
        except OSError:
            return
        sys.stderr.flush()
        self._real = os.dup(2)
        os.dup2(self._held.fileno(), 2)

    def _give_back(self) -> None:
        if self._held is None:
            return
        with self._held as held:
            self._held = None
            sys.stderr.flush()
            os.dup2(self._real, 2)
            os.close(self._real)
            held.seek(0)
            if not self._drop and (text := held.read()):
                os.write(2, text)


_stderr = _Stderr()
