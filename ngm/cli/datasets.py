"""`ngm datasets`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table as Shown

from ngm import datasets
from ngm.cli.terminal import AsJson, Debug, app, download, out, print_json


@app.command("datasets")
def datasets_command(
    fetch: Annotated[str | None, typer.Option(help="Name of a data set to fetch into the cache.")] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Lists the data sets and where they are; --fetch NAME brings one here.

    Example:  ngm datasets --fetch pubmed
    """
    if fetch is not None:
        with download(quiet=as_json) as progress:
            datasets.load(fetch, progress)
    records = datasets.available()
    if as_json:
        print_json({"datasets": [asdict(record) for record in records]})
        return
    shown = Shown()
    for column in ("name", "nodes", "edges", "features", "classes", "licence", "where"):
        shown.add_column(column, justify="right" if column in ("nodes", "edges", "features", "classes") else "left")
    for r in records:
        nodes, edges, features, classes = (
            f"{count:,}" for count in (r.num_nodes, r.num_edges, r.num_features, r.num_classes)
        )
        shown.add_row(r.name, nodes, edges, features if r.num_features else "texts", classes, r.license, r.where)
    out.print(shown)
