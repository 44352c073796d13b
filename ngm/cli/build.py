"""`ngm build`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import dropwhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer
from rich.bar import Bar as RichBar
from rich.markup import escape
from rich.table import Table as RichTable

from ngm._spelling import nearest
from ngm.choices import Metric, Search, Weight
from ngm.cli.terminal import AsJson, Debug, Delimiter, Header, Step, app, bar, err, out, print_json

if TYPE_CHECKING:
    from ngm.build.summary import Summary
    from ngm.build.text import TextRows
    from ngm.build.weights import Join
    from ngm.io.tables import Table

_PERCENT = 100
_RECALL, _SEED = 0.98, 0  # where not given


def _words(choice: object) -> str:
    return ", ".join(get_args(choice))


@app.command("build")
def build_command(
    source: Annotated[
        str, typer.Argument(help="A table (CSV, TSV, Parquet, JSON lines, a DuckDB query) or a matrix (.npy, .npz).")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the graph.")] = Path("graph"),
    k: Annotated[int, typer.Option("-k", help="Number of neighbours that each row chooses.")] = 5,
    text: Annotated[str | None, typer.Option(help="Column of texts; several as title,body.")] = None,
    columns: Annotated[str | None, typer.Option(help="Columns of numbers: f1,f2.")] = None,
    vectors: Annotated[Path | None, typer.Option(help="Word vectors for --text: GloVe, word2vec or .npz.")] = None,
    idf: Annotated[bool, typer.Option("--idf", help="With --vectors: rare words count more.")] = False,
    metric: Annotated[str, typer.Option(help=f"Similarity of rows: {_words(Metric)}.")] = "cosine",
    weight: Annotated[str, typer.Option(help=f"Edge weights: {_words(Weight)}.")] = "similarity",
    mutual: Annotated[bool, typer.Option("--mutual", help="Join two rows only where each chose the other.")] = False,
    max_degree: Annotated[int | None, typer.Option(help="Maximum number of edges per node.")] = None,
    search: Annotated[str, typer.Option(help=f"Neighbour search: {_words(Search)}.")] = "auto",
    recall: Annotated[
        float | None,
        typer.Option(help="Target recall of an approximate search.", show_default=str(_RECALL)),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the approximate search.", show_default=str(_SEED))] = None,
    id_column: Annotated[str | None, typer.Option("--id", help="Column of ids.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of labels.")] = None,
    header: Header = None,
    delimiter: Delimiter = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Joins each row of a table or matrix to its most similar rows, and writes a graph folder.

    Texts are compared by TF-IDF, or with --vectors by the mean of their word vectors. The table goes with the graph.
    Each of several processes looks for the neighbours of its share of the rows, and the first one writes the graph.

    Example:  ngm build texts.csv --text body -k 5 --id id --label topic -o graph/

    Example:  torchrun --nproc-per-node 2 -m ngm build rows.parquet --columns vector -o graph/
    """
    start = time.perf_counter()
    _check(metric, weight, search, output)
    import scipy.sparse as sp

    from ngm.build.summary import summarize
    from ngm.build.text import TextRows, rows_graph
    from ngm.build.weights import check_edge_options
    from ngm.distributed import process_group
    from ngm.io.files import check_writable
    from ngm.io.graph_data import save_graph
    from ngm.io.table_columns import MATRICES, read_matrix
    from ngm.io.tables import read_table
    from ngm.io.tables.output_overlap import check_folder_apart

    check_folder_apart(output, [source, *([] if vectors is None else [vectors])])
    with process_group() as (rank, _):
        if rank == 0:
            check_writable(output)
        join: Join = "mutual" if mutual else "union"
        check_edge_options(metric, join, weight, max_degree)
        search_options = {"--recall": recall, "--seed": seed}
        if search == "exact":
            _refuse(search_options, "an approximate search, and --search is exact")
        table = None if Path(source).suffix in MATRICES else read_table(source, delimiter, header)
        if table is None:
            column_options = {
                "--text": text,
                "--columns": columns,
                "--id": id_column,
                "--label": label,
                "--vectors": vectors,
            }
            format_options = {"--idf": idf or None, "--header": header, "--delimiter": delimiter}
            _refuse({**column_options, **format_options}, f"tables, and {source} is a matrix")
            rows = TextRows(read_matrix(Path(source)))
        else:
            rows = _rows_of(table, text, columns, vectors, idf)
            _check_columns(table, id_column, label)
        if sp.issparse(rows.x):
            _refuse(
                search_options, "an approximate search, and sparse rows, such as TF-IDF, are always searched exactly"
            )
        with bar(_PERCENT, quiet=as_json or rank > 0) as step:
            built = rows_graph(
                rows,
                k,
                metric=cast("Metric", metric),
                join=join,
                weight=cast("Weight", weight),
                max_degree=max_degree,
                search=cast("Search", search),
                recall=_RECALL if recall is None else recall,
                seed=_SEED if seed is None else seed,
                on_step=_Percent(step),
                over_ranks=True,
            )
        if rank > 0:
            return
        notes = rows.skipped_texts() + ([] if table is None else _bad_lines(table))
        summary = summarize(built.graph, built.recall, time.perf_counter() - start, built.sampled)
        words = {} if rows.coverage is None else {"coverage": rows.coverage}
        save_graph(output, built.graph, table, id_column, label, {"source": source, "k": k, **words})
        if as_json:
            print_json({"graph": str(output), **asdict(summary), **words, "notes": list(notes)})
        else:
            _show(summary, rows.coverage, notes, output)


def _check(metric: str, weight: str, search: str, output: Path) -> None:
    """Checks options before anything is read."""
    for option, value, choice in (("metric", metric, Metric), ("weight", weight, Weight), ("search", search, Search)):
        if value not in get_args(choice):
            raise ValueError(f"--{option} is {value!r}{nearest(value, get_args(choice))}; choose from {_words(choice)}")
    if output.exists() and not (output / "graph.json").exists() and (output.is_file() or any(output.iterdir())):
        raise FileExistsError(f"{output} exists and has no graph.json; name a new or empty folder")


class _Percent:
    """Moves a bar of a hundred on as rows are done."""

    def __init__(self, step: Step) -> None:
        self.step, self.percent = step, 0

    def __call__(self, done: int, total: int) -> None:
        while self.percent < _PERCENT * done // total:
            self.percent += 1
            self.step("joining rows")


def _refuse(options: Mapping[str, object], purpose: str) -> None:
    """Refuses options that would have no effect."""
    for option, value in options.items():
        if value is not None:
            raise ValueError(f"{option} is for {purpose}; leave it out")


def _rows_of(table: Table, text: str | None, columns: str | None, vectors: Path | None, idf: bool) -> TextRows:
    """The rows to compare, from the columns that were named."""
    from ngm.build.text import TextRows, text_rows
    from ngm.io.table_columns import column_rows, column_texts

    if text is None and columns is None:
        raise ValueError(f"give --text or --columns; the columns of {table.name} are {', '.join(table.columns)}")
    if text is not None and columns is not None:
        raise ValueError("both --text and --columns are given; choose what rows are compared by")
    if text is not None:
        return text_rows(column_texts(table, _names(text, table)), vectors=vectors, idf=idf)
    if vectors is not None or idf:
        raise ValueError(f"{'--idf' if vectors is None else '--vectors'} is for texts; give --text")
    return TextRows(column_rows(table, _names(columns or "", table)))


def _names(names: str, table: Table) -> list[str]:
    return [names] if names in table.columns else [name.strip() for name in names.split(",")]


def _check_columns(table: Table, id_column: str | None, label: str | None) -> None:
    """Checks that ids and labels exist before the graph is built."""
    from ngm.io.table_columns import distinct_ids

    if id_column is not None:
        distinct_ids(table, id_column)
    if label is not None:
        table.column(label)


def _bad_lines(table: Table) -> list[str]:
    if not table.bad.count:
        return []
    return [f"{table.bad.count:,} lines of {table.name} did not fit and were left out: {'; '.join(table.bad.examples)}"]


def _show(summary: Summary, coverage: float | None, notes: Sequence[str], output: Path) -> None:
    facts = RichTable(show_header=False, box=None, pad_edge=False)
    for name, value in _facts(summary, coverage).items():
        facts.add_row(name, value)
    out.print(facts, highlight=False)
    degrees = RichTable(box=None, pad_edge=False)
    degrees.add_column("edges at a node", justify="right")
    degrees.add_column("nodes", justify="right")
    degrees.add_column("")
    max_nodes = max(row.nodes for row in summary.degrees)
    for row in dropwhile(lambda row: not row.nodes, summary.degrees):
        degrees.add_row(row.name, f"{row.nodes:,}", RichBar(max_nodes, 0, row.nodes, width=40))
    out.print(degrees, highlight=False)
    for note in notes:
        err.print(f"[yellow]note:[/] {escape(note)}", highlight=False, soft_wrap=True)
    folder_text = escape(str(output))
    out.print(f"Graph folder: {folder_text}   (next: ngm check {folder_text})", highlight=False, soft_wrap=True)


def _facts(summary: Summary, coverage: float | None) -> dict[str, str]:
    """What the table above the bars says."""
    facts = {
        "nodes": f"{summary.nodes:,}",
        "edges": f"{summary.edges:,} ({summary.mean_degree:.1f} at a node, at most {summary.max_degree:,})",
        "components": f"{summary.components:,} (the largest has {summary.largest:,} nodes)",
        "without edges": f"{summary.isolated:,}",
    }
    if summary.weights is not None:
        low, middle, high = summary.weights
        facts["weights"] = f"{low:.3g} to {high:.3g}, median {middle:.3g}"
    if coverage is not None:
        facts["words known"] = f"{100 * coverage:.1f} %"
    estimate = f"{100 * (summary.recall or 0):.1f} % (recall on {summary.sampled:,} rows searched exactly)"
    facts["neighbours found"] = estimate if summary.sampled else "all"
    facts["seconds"] = f"{summary.seconds or 0:.1f}"
    return facts
