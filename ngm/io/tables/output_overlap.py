"""Whether an output would replace what is read: no command writes over its own input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import duckdb

from ngm.io.files import is_there
from ngm.io.tables.query import connect
from ngm.io.tables.sources import files_of, is_query
from ngm.io.tables.statements import files_named, parsed, quoted_names, statements_of


def check_file_apart(output: Path, sources: Iterable[str | Path]) -> None:
    """Refuses an output file that a source is read from, by whatever name or link.

    Args:
        output: File that would be replaced; one that is not there yet replaces nothing.
        sources: Files, folders, patterns and queries.
    """
    if not output.exists():
        return
    for source in sources:
        files, unsure = input_files(source)
        if any(output.samefile(file) for file in files):
            said = "the table itself" if _is(source, output) else f"which is read from {_named(source)}"
            raise ValueError(f"--output is {str(output)!r}, {said}; name another file")
        if unsure:
            raise ValueError(
                f"--output is {str(output)!r}, which exists, and nobody can tell whether the query reads it; name a "
                "new file"
            )


def check_folder_apart(output: Path, sources: Iterable[str | Path]) -> None:
    """Refuses an output folder that a source is in, since it would go with what was in the folder before.

    Args:
        output: Folder that would be replaced; one that is not there yet replaces nothing.
        sources: Files, folders, patterns and queries.
    """
    if not output.is_dir():
        return
    whole = output.resolve()
    for source in sources:
        inside = next((file for file in input_files(source)[0] if whole in file.resolve().parents), None)
        if inside is not None:
            raise ValueError(f"{output} holds the input {inside.name}, and would be replaced; name another folder")


def input_files(source: str | Path) -> tuple[list[Path], bool]:
    """(files on this machine that a source is read from, whether there may be others)."""
    with connect() as connection:
        if isinstance(source, str) and is_query(source):
            return _of_query(connection, source)
        path = Path(source)
        if is_there(path) and path.is_dir():
            return [file for file in path.rglob("*") if file.is_file()], False
        return [Path(file) for file in files_of(connection, source) if "://" not in file], False


def _of_query(connection: duckdb.DuckDBPyConnection, text: str) -> tuple[list[Path], bool]:
    *before, last = statements_of(connection, text)
    names, unsure = files_named(parsed(connection, last.query))
    names += [name for statement in before for name in quoted_names(statement.query)]
    return [file for name in names for file in _matches(connection, name)], unsure or bool(before)


def _matches(connection: duckdb.DuckDBPyConnection, name: str) -> Iterator[Path]:
    """Files that DuckDB may read by a name: the file, those of a folder, those of a pattern."""
    plain = name[5:] if name.lower().startswith("file:") else name
    plain = plain.removeprefix("//localhost") if plain.startswith("//localhost/") else plain
    path = Path(plain or ".").expanduser() if plain.startswith("~") else Path(plain)
    if plain and is_there(path):
        yield from (file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    if any(mark in plain for mark in "*?[") and "://" not in plain:
        try:
            found = connection.execute("SELECT file FROM glob(?)", [plain]).fetchall()
        except duckdb.Error:  # a text that is no pattern of files
            found = []
        yield from (Path(str(file)) for (file,) in found if is_there(str(file)))


def _is(source: str | Path, output: Path) -> bool:
    return is_there(source) and output.samefile(source)


def _named(source: str | Path) -> str:
    return "the query" if isinstance(source, str) and is_query(source) else str(source)
