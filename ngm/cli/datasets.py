"""`ngm datasets`."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer
from rich.markup import escape
from rich.table import Table as RichTable

from ngm.cli.terminal import AsJson, Debug, app, download, out, print_json

if TYPE_CHECKING:
    from ngm.datasets import Dataset
    from ngm.io.run_folder import JSON


@app.command("datasets")
def datasets_command(
    name: Annotated[str | None, typer.Argument(help="Data set to write as tables; without it, all are listed.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for the tables of NAME.", show_default="here")
    ] = None,
    fetch: Annotated[
        str | None, typer.Option(help="Name of a data set or encoder to fetch into the cache.", show_default=False)
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Lists the data sets and where they are; --fetch downloads one, NAME writes one as tables to try the commands on.

    Example:  ngm datasets messages -o .
    Example:  ngm datasets --fetch pubmed
    """
    if name is not None:
        _write(name, fetch, output or Path(), as_json)
        return
    if output is not None:
        raise ValueError("--output is for a data set that is written as tables; name one, such as messages")
    from ngm import datasets
    from ngm.text.encoders import minilm

    if fetch is not None:
        with download(quiet=as_json) as progress:
            if fetch in minilm.PRECISIONS:
                minilm.fetch(minilm.PRECISIONS[fetch], progress)
            else:
                datasets.load(fetch, progress)
    records = datasets.available()
    if as_json:
        print_json({"datasets": [asdict(record) for record in records], "encoders": cast("JSON", _encoders())})
        return
    table = RichTable()
    for column in ("name", "nodes", "edges", "features", "classes", "licence", "where"):
        table.add_column(column, justify="right" if column in ("nodes", "edges", "features", "classes") else "left")
    for r in records:
        nodes, edges, features, classes = (
            f"{count:,}" for count in (r.num_nodes, r.num_edges, r.num_features, r.num_classes)
        )
        table.add_row(r.name, nodes, edges, features if r.num_features else "texts", classes, r.license, r.where)
    out.print(table)
    for encoder in _encoders():
        line = f"encoder {encoder['name']}: {encoder['what']}, {encoder['license']}, {encoder['where']}"
        out.print(escape(line), highlight=False, soft_wrap=True)


def _encoders() -> list[dict[str, JSON]]:
    """Sentence encoders that have files, and where these are now."""
    from ngm.text.encoders import minilm

    models = {"float32": "all-MiniLM-L6-v2", "int8": "all-MiniLM-L6-v2 with weights of 8 bits"}
    return [
        {"name": name, "what": models[precision], "license": "Apache-2.0", "where": minilm.where(precision)}
        for name, precision in minilm.PRECISIONS.items()
    ]


def _write(name: str, fetch: str | None, output: Path, as_json: bool) -> None:
    if fetch is not None:
        raise ValueError(f"both {name} and --fetch {fetch} are given; a data set that is written is fetched anyway")
    if output.is_file():
        raise FileExistsError(f"--output is {str(output)!r}, which is a file; name a folder")
    from ngm import datasets

    with download(quiet=as_json) as progress:
        data = datasets.load(name, progress)
    files = _written(data, output)
    if as_json:
        print_json({"dataset": name, "files": [str(file) for file in files], "note": data.note})
        return
    for file in files:
        out.print(f"{escape(str(file))}   {file.stat().st_size / 1e3:,.0f} kB", highlight=False, soft_wrap=True)
    if data.note:
        out.print(escape(data.note), highlight=False, soft_wrap=True)


def _written(data: Dataset, folder: Path) -> list[Path]:
    """Writes the tables; refuses to replace files of the same names with other content."""
    from ngm.datasets import write_tables
    from ngm.io.files import file_written_whole

    with tempfile.TemporaryDirectory() as place:
        files = write_tables(data, place)
        for file in files:
            target = folder / file.name
            if target.exists() and (target.is_dir() or target.read_bytes() != file.read_bytes()):
                raise FileExistsError(f"{target} exists with other content; name another folder")
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            with file_written_whole(folder / file.name) as part:
                shutil.copy(file, part)
        return [folder / file.name for file in files]
