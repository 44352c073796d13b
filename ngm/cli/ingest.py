"""`ngm ingest`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer
from rich.markup import escape
from rich.table import Table as RichTable

from ngm.cli.terminal import AsJson, Debug, app, bar, out, print_json

if TYPE_CHECKING:
    from ngm.io.graph_data import GraphData
    from ngm.io.run_folder import JSON
    from ngm.io.tables.edge_files import Merge
    from ngm.io.tables.ingest import Counts, Dangling

_CLASSES_SHOWN = 8
_RULES = {"max": "the largest", "sum": "the sum", "mean": "the mean"}
_DELIMITERS = {"\\t": "\t", "tab": "\t", "space": " "}


@app.command("ingest")
def ingest_command(
    edges: Annotated[str, typer.Option(help="Table of edges: a file, a folder, a pattern or a DuckDB query.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the graph; an older graph is replaced.")],
    nodes: Annotated[str | None, typer.Option(help="Table of nodes, a row each; row i is node i.")] = None,
    id_column: Annotated[str | None, typer.Option("--id", help="Column of the nodes that holds their ids.")] = None,
    source: Annotated[str | None, typer.Option(help="Column of the edges: source node.")] = None,
    target: Annotated[str | None, typer.Option(help="Column of the edges: target node.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column of the edges: weight; 1 if there is none.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of the nodes that holds labels.")] = None,
    directed: Annotated[
        bool, typer.Option("--directed", help="Keep both directions of a pair as different edges.")
    ] = False,
    merge: Annotated[str, typer.Option(help="Weight of a repeated edge: max, sum, mean.")] = "max",
    dangling: Annotated[
        str, typer.Option(help="Edges to unknown nodes: error, drop (the edges), add (the nodes).")
    ] = "error",
    delimiter: Annotated[str | None, typer.Option(help="Field delimiter of the edges: ';', tab, space.")] = None,
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether the first row of the edges holds column names.")
    ] = None,
    memory_limit: Annotated[str | None, typer.Option(help="Memory for DuckDB, such as 4GB; beyond it, disk.")] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Reads tables of edges and nodes into a graph folder; ids may be of any type.

    Columns that are not named are found by their usual names (src, dst, weight, id, label, ...), else by position.

    Example:  ngm ingest --nodes nodes.parquet --edges edges.csv --label topic -o graph/
    """
    from ngm.io.graph_data import read_graph
    from ngm.io.tables.ingest import STEPS

    started = time.perf_counter()
    with bar(len(STEPS), quiet=as_json) as step:
        data = read_graph(
            edges,
            nodes,
            id=id_column,
            source=source,
            target=target,
            weight=weight,
            label=label,
            directed=directed,
            merge=cast("Merge", merge),
            dangling=cast("Dangling", dangling),
            delimiter=None if delimiter is None else _DELIMITERS.get(delimiter, delimiter),
            header=header,
            folder=output,
            memory_limit=memory_limit,
            on_step=step,
        )
    seconds = time.perf_counter() - started
    if as_json:
        counts = cast("dict[str, JSON]", dict(data.counts))
        print_json({"folder": str(output), "directed": directed, **counts, "seconds": round(seconds, 3)})
    else:
        _show(data, seconds, output)


def _show(data: GraphData, seconds: float, folder: Path) -> None:
    """Prints counts of the rows read, and the folder."""
    table = RichTable(title=escape(repr(data.graph)), title_justify="left", show_header=False)
    table.add_column()
    table.add_column(overflow="fold")
    for name, text in summary(data):
        table.add_row(name, escape(text))
    table.add_row("time", f"{seconds:.1f} s")
    out.print(table, highlight=False)
    folder_text = escape(f"Graph folder: {folder}   (open it: ngm.open_graph({str(folder)!r}))")
    out.print(folder_text, highlight=False, soft_wrap=True)


def summary(data: GraphData) -> list[tuple[str, str]]:
    """Lines of the table: (what, how many and which)."""
    counts, graph = data.counts, data.graph
    lines = [
        ("nodes", _nodes(counts)),
        ("edges", f"{graph.num_edges:,} {'directed' if graph.directed else 'undirected'}"),
        ("rows of edges", f"{counts['edge_rows']:,}"),
        ("columns", _columns(counts)),
        ("duplicates merged", f"{counts['duplicates']:,} (weight: {_RULES[counts['merge']]})"),
        ("self loops dropped", f"{counts['self_loops']:,}"),
    ]
    if counts["dangling"] is not None:
        lines.append(("dangling ends", _dangling(counts)))
    lines.append(("bad rows", _with_examples(counts["bad_rows"], counts["bad_examples"])))
    if counts["comments"]:
        lines.append(("comments", f"{counts['comments']:,} lines above the rows of edges"))
    if counts["node_rows"] is not None:
        lines.append(("bad rows of nodes", _with_examples(counts["bad_node_rows"], counts["bad_node_examples"])))
    if "labels" in counts:
        lines.append(("labels", _labels(counts)))
    return lines


def _nodes(counts: Counts) -> str:
    if counts["node_rows"] is None:
        return f"{counts['nodes']:,} (the ids that edges have, sorted)"
    added = counts["added_nodes"]
    return f"{counts['nodes']:,}" + (f" ({added:,} of them added, since only edges have them)" if added else "")


def _columns(counts: Counts) -> str:
    named = {key: name for key, name in counts["columns"].items() if name is not None}
    texts = [f"{key} {name}{' (guessed)' if key in counts['guessed'] else ''}" for key, name in named.items()]
    return ", ".join(texts) + ("; no header" if counts["header"] is False else "")


def _dangling(counts: Counts) -> str:
    if not counts["dangling_ids"]:
        return "0"
    return (
        f"{counts['dangling_rows']:,} edges dropped to {counts['dangling_ids']:,} ids that are not among the nodes: "
        f"{', '.join(counts['dangling_examples'])}"
    )


def _with_examples(count: int, examples: list[str]) -> str:
    return f"{count:,}: {'; '.join(examples)}" + ("; ..." if count > len(examples) else "") if count else "0"


def _labels(counts: Counts) -> str:
    texts = [f"{name} {count:,}" for name, count in list(counts["labels"].items())[:_CLASSES_SHOWN]]
    if counts["classes"] > _CLASSES_SHOWN:
        texts.append(f"... ({counts['classes']:,} classes)")
    return ", ".join([*texts, f"none {counts['unlabeled']:,}"])
