"""Whether an output would replace what is read: no command writes over its own input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import duckdb

from ngm.io.files import path_exists
from ngm.io.tables.query import connect
from ngm.io.tables.sources import files_of, is_query
from ngm.io.tables.statements import parse_sql, quoted_names, referenced_files, statements_of


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
            description = (
                "the table itself" if _is_same_file(source, output) else (f"which is read from {_source_name(source)}")
            )
            raise ValueError(f"--output is {str(output)!r}, {description}; name another file")
        if unsure:
            raise ValueError(
                f"--output is {str(output)!r}, which exists, and it is unknown whether the query reads it; name a "
                "new file"
            )


def check_folder_apart(output: Path, sources: Iterable[str | Path]) -> None:
    """Refuses an output folder that holds a source, which would be deleted with the folder; see `check_file_apart`."""
    if not output.is_dir():
        return
    resolved = output.resolve()
    for source in sources:
        inside = next((file for file in input_files(source)[0] if resolved in file.resolve().parents), None)
        if inside is not None:
            raise ValueError(f"{output} holds the input {inside.name}, and would be replaced; name another folder")


def input_files(source: str | Path) -> tuple[list[Path], bool]:
    """(files on this machine that a source is read from, whether there may be others)."""
    with connect() as connection:
        if isinstance(source, str) and is_query(source):
            return _query_files(connection, source)
        path = Path(source)
        if path_exists(path) and path.is_dir():
            return [file for file in path.rglob("*") if file.is_file()], False
        return [Path(file) for file in files_of(connection, source) if "://" not in file], False


def _query_files(connection: duckdb.DuckDBPyConnection, text: str) -> tuple[list[Path], bool]:
    *preparing, query = statements_of(connection, text)
    names, unsure = referenced_files(parse_sql(connection, query.query))
    names += [name for statement in preparing for name in quoted_names(statement.query)]
    return [file for name in names for file in _matches(connection, name)], unsure or bool(preparing)


def _matches(connection: duckdb.DuckDBPyConnection, name: str) -> Iterator[Path]:
    """Files that DuckDB may read by a name: the file, those of a folder, those of a pattern."""
    text = name[5:] if name.lower().startswith("file:") else name
    text = text.removeprefix("//localhost") if text.startswith("//localhost/") else text
    path = Path(text or ".").expanduser() if text.startswith("~") else Path(text)
    if text and path_exists(path):
        yield from (file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    if any(mark in text for mark in "*?[") and "://" not in text:
        try:
            matches = connection.execute("SELECT file FROM glob(?)", [text]).fetchall()
        except duckdb.Error:  # a text that is no pattern of files
            matches = []
        yield from (Path(str(file)) for (file,) in matches if path_exists(str(file)))


def _is_same_file(source: str | Path, output: Path) -> bool:
    return path_exists(source) and output.samefile(source)


def _source_name(source: str | Path) -> str:
    return "the query" if isinstance(source, str) and is_query(source) else str(source)
