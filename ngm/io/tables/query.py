"""What every module here needs: a query that was not run yet, rows that could not be used, and a DuckDB of our own."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from ngm._spelling import nearest

WORK = "ngm_tables"  # a database in memory for what we make, so that no query of a user meets it
EXAMPLES = 3  # number of bad rows that are shown
_EXTENSIONS = (
    "autoload_known_extensions",
    "autoinstall_known_extensions",
    "allow_community_extensions",
    "allow_unsigned_extensions",
)


@dataclass(frozen=True)
class RejectedRows:
    """Rows that could not be used.

    Args:
        count: How many.
        examples: The first few, and what is wrong with each.
    """

    count: int = 0
    examples: tuple[str, ...] = ()

    def __add__(self, other: RejectedRows) -> RejectedRows:
        """Both together; the examples of the first come first."""
        return RejectedRows(self.count + other.count, (self.examples + other.examples)[:EXAMPLES])


@dataclass(frozen=True)
class Query:
    """Rows that DuckDB has not read yet.

    Args:
        name: What messages call it: the file, or "the query".
        columns: Names of the columns.
        types: DuckDB type of each; all VARCHAR where it is a text file.
        numbers: Whether each holds numbers, as far as is known.
        sql: A query for all of them.
        rejects: Table into which the reader of a text file puts lines that do not fit; None for other sources.
        header: Whether the first row of a text file was taken for names; None where there was no question.
        rereadable: Whether reading it again would give the same rows; a query may not.
        hint: What is odd about a text file of one column; see `ngm.io.tables.text_format.TextFormat`.
        broken: A query for the numbers of the rows that hold nothing, which `sql` leaves out; None where it has none.
        unread: Rows that could not be used when it was read before.
        comments: Lines above the rows of a text file that start with #.
    """

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    numbers: tuple[bool, ...]
    sql: str
    rejects: str | None = None
    header: bool | None = None
    rereadable: bool = True
    hint: str = ""
    broken: str | None = None
    unread: RejectedRows = RejectedRows()
    comments: int = 0

    def has(self, column: str, given_as: str = "") -> str:
        """The name itself if there is such a column, else an error that shows those there are."""
        if column not in self.columns:
            raise missing_column(self.name, column, self.columns, given_as, self.hint)
        return column

    def type_of(self, column: str) -> str:
        """DuckDB type of a column."""
        return self.types[self.columns.index(column)]


def connect(
    temporary: Path | None = None, memory_limit: str | None = None, restricted: bool = False
) -> duckdb.DuckDBPyConnection:
    """A DuckDB of its own, in memory; what does not fit goes to files in `temporary`.

    Args:
        temporary: Folder for what does not fit; DuckDB's own choice where not given.
        memory_limit: Such as "4GB"; DuckDB's own (four fifths of the memory) where not given.
        restricted: Loads no extension, so that neither the network nor another database can be reached, and takes no
            other settings afterwards.
    """
    connection = duckdb.connect(":memory:", config=dict.fromkeys(_EXTENSIONS, "false") if restricted else {})
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET python_enable_replacements = false")  # a name in a query is no variable of this program
    connection.execute(f"ATTACH ':memory:' AS {WORK}")
    if temporary is not None:
        connection.execute(f"SET temp_directory = '{escaped(_absolute(str(temporary)))}'")
    if memory_limit is not None:
        try:
            connection.execute(f"SET memory_limit = '{escaped(memory_limit)}'")
        except duckdb.Error:
            raise ValueError(f"memory_limit is {memory_limit!r}; give a size such as '4GB' or '500MB'") from None
    if restricted:
        connection.execute("SET lock_configuration = true")
    return connection


@contextmanager
def refusals(name: str) -> Iterator[None]:
    """Turns what DuckDB says into one line."""
    try:
        yield
    except duckdb.Error as error:
        first = str(error).strip().splitlines()[0]
        if "No space left" in str(error) or "failed to offload" in str(error):  # the latter: no room left to spill to
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None
        if isinstance(error, duckdb.OutOfMemoryException):
            raise ValueError(f"{name} does not fit: {first}; raise memory_limit") from None
        raise ValueError(f"{name} cannot be read: {first}") from None


def missing_column(table: str, column: str, columns: Iterable[str], given_as: str = "", hint: str = "") -> ValueError:
    """The error for a name that is not among the columns."""
    if hint:
        return ValueError(f"{table} has one column, {hint}")
    present = list(columns)
    option_text = f" for {given_as}" if given_as else ""
    return ValueError(
        f"{table} has no column {column!r}{option_text}{nearest(column, present)}; its columns are {', '.join(present)}"
    )


def quoted(name: str) -> str:
    """A column's name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def escaped(text: str) -> str:
    """A text between quotes in SQL."""
    return text.replace("'", "''")


def file_to_read(file: str | Path) -> str:
    """A file's name between quotes in SQL that reads it; DuckDB would take [, * and ? for a pattern of names.

    Args:
        file: As it stands on the disk, or an address such as s3://..., which is left to DuckDB.

    >>> file_to_read("edges[1].csv"), file_to_read("it's.csv")
    ("'edges[[]1].csv'", "'it''s.csv'")
    """
    text = str(file)
    if "://" in text:
        return f"'{escaped(text)}'"
    if any(mark in text for mark in "[*?"):
        if "\\" in text:
            raise ValueError(f"{text} has both a backslash and one of [ * ? in its name; rename it to read it")
        if ".." in Path(text).parts:  # which DuckDB cannot follow behind a pattern
            text = str(Path(text).parent.resolve() / Path(text).name)
    return "'" + escaped(re.sub(r"[\[*?]", r"[\g<0>]", _absolute(text))) + "'"


def files_to_read(files: Iterable[str | Path]) -> str:
    """A list of such files."""
    return f"[{', '.join(file_to_read(file) for file in files)}]"


def file_to_write(file: str | Path) -> str:
    """A file's name between quotes in SQL that writes it."""
    return f"'{escaped(_absolute(str(file)))}'"


def _absolute(text: str) -> str:
    """The same path, where DuckDB would see the home folder in ~ or an address in file:."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{text!a} is not valid UTF-8, which DuckDB requires; rename it") from None
    return str(Path.cwd() / text) if text.startswith("~") or ":" in text.split("/")[0] else text


def packing(files: Iterable[str | Path]) -> str:
    """Option for DuckDB, which does not see what is packed in a name with a question mark."""
    names = [str(file) for file in files]
    kinds = {{".gz": "gzip", ".zst": "zstd"}.get(Path(name).suffix.lower(), "") for name in names}
    ambiguous = kinds in ({"gzip"}, {"zstd"}) and any("?" in name and "://" not in name for name in names)
    return f", compression = '{kinds.pop()}'" if ambiguous else ""
