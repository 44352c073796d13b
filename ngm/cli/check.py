"""`ngm check`."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table as RichTable

from ngm.cli.terminal import AsJson, Debug, app, err, out, print_json

if TYPE_CHECKING:
    from ngm.diagnosis.records import Agreement, Diagnosis
    from ngm.workflow.graph_check import CheckResult

_PAIRS_SHOWN = 10
_BAR = 30  # characters
_COLORS = {"helps": "green", "unclear": "yellow", "hurts": "red"}


@app.command("check")
def check_command(
    folder: Annotated[
        Path,
        typer.Argument(help="Graph folder, from ngm ingest, ngm build or Graph.save; or parts from ngm partition."),
    ],
    label: Annotated[str | None, typer.Option(help="Column of labels, if not that of the graph folder.")] = None,
    columns: Annotated[str | None, typer.Option(help="Columns of numbers to use as x: age,income or vector.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of samples and folds.")] = 0,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Checks whether a graph is informative about its labels, before training.

    A graph in parts has its labels and rows, which are used as x. Each of several processes looks at its own parts, and
    the first one prints.

    Example:  ngm check graph/ --label topic --columns vector

    Example:  torchrun --nproc-per-node 2 -m ngm check parts/
    """
    from ngm.distributed import process_group
    from ngm.workflow.graph_check import check_graph

    with process_group() as (rank, _):
        with _status("checking the graph", quiet=as_json or rank > 0):
            result = check_graph(folder, label, None if columns is None else columns.split(","), seed)
        if rank == 0 and as_json:
            print_json({"folder": str(folder), **result.diagnosis.as_json()})
        elif rank == 0:
            _show(result)


def _status(words: str, quiet: bool) -> AbstractContextManager[object]:
    return nullcontext() if quiet or not err.is_terminal else err.status(words)


def _show(result: CheckResult) -> None:
    diagnosis = result.diagnosis
    _titled(f"{diagnosis.num_nodes:,} nodes, {diagnosis.num_edges:,} edges", _counts(diagnosis))
    if diagnosis.agreement is not None:
        pairs = len(diagnosis.agreement.pairs)
        more = f": the {_PAIRS_SHOWN} with most of {pairs}" if pairs > _PAIRS_SHOWN else ""
        _titled(f"Labelled edges by pair of classes{more}", _pairs(diagnosis.agreement))
    unlabeled = diagnosis.num_nodes - diagnosis.labeled
    if unlabeled:
        hops = {
            f"within {i} hop{'s' if i > 1 else ''}": share for i, share in enumerate(diagnosis.shape.within_hops, 1)
        }
        near = {name: f"{round(share * unlabeled):,}" for name, share in hops.items()}
        _titled("Unlabelled nodes near a labelled one", _bars(hops, near))
    sizes = {f"{b.low:,}" if b.low == b.high else f"{b.low:,} to {b.high:,}": b.nodes for b in diagnosis.shape.degrees}
    shares = {name: count / max(diagnosis.num_nodes, 1) for name, count in sizes.items()}
    _titled("Nodes by number of edges", _bars(shares, {name: f"{count:,}" for name, count in sizes.items()}))
    out.print(f"[bold]This graph: [{_COLORS[diagnosis.verdict]}]{diagnosis.verdict}[/][/]")
    for line in diagnosis.reasons:
        out.print(f"  {escape(line)}", highlight=False, soft_wrap=True)
    out.print("[bold]Advice[/]")
    for line in diagnosis.advice:
        out.print(f"- {escape(line)}", highlight=False, soft_wrap=True)
    if result.id_column is not None and result.names:
        named = ", ".join(f"{row} is {name}" for row, name in result.names.items())
        out.print(f"Rows by {escape(result.id_column)}: {escape(named)}", highlight=False, soft_wrap=True)


def _titled(title: str, table: RichTable) -> None:
    out.print(f"[bold]{title}[/]", highlight=False)  # a table's own title breaks at the table's width
    out.print(table, highlight=False)


def _counts(diagnosis: Diagnosis) -> RichTable:
    shape, nodes = diagnosis.shape, max(diagnosis.num_nodes, 1)
    table = RichTable(show_header=False)
    table.add_row(
        "labelled nodes",
        f"{diagnosis.labeled:,} ({diagnosis.labeled / nodes:.1%}) of {len(diagnosis.classes):,} classes",
    )
    table.add_row("edges LL / LU / UU", f"{diagnosis.ll:,} / {diagnosis.lu:,} / {diagnosis.uu:,}")
    table.add_row("without an edge", f"{shape.isolated:,} nodes, {shape.isolated_seeds:,} of them labelled")
    table.add_row("components", f"{shape.components:,}, the largest of {shape.largest:,} nodes")
    table.add_row("components without a label", f"{shape.unseeded:,}, of {shape.unseeded_nodes:,} nodes")
    top = ", ".join(f"{hub.count:,} (row {hub.row})" for hub in shape.hubs[:3])
    table.add_row("most edges", f"{top or 'none'}; top 1% of nodes: {shape.hub_share:.0%} of edges")
    if shape.weights is not None:
        w = shape.weights
        table.add_row("weights", f"{w.low:.3g} to {w.high:.3g}, median {w.median:.3g}; {w.at_floor:.1%} at the floor")
    return table


def _pairs(agreement: Agreement) -> RichTable:
    """The pairs of classes with most labelled edges; those of two different classes are dim."""
    table = RichTable()
    for name in ("class", "class", "edges", "share", "by chance"):
        table.add_column(name, justify="left" if name == "class" else "right")
    for pair in agreement.pairs[:_PAIRS_SHOWN]:
        share, chance = pair.edges / agreement.edges, pair.expected / agreement.edges
        style = None if pair.first == pair.second else "dim"
        names = escape(pair.first), escape(pair.second)
        table.add_row(*names, f"{pair.edges:,}", f"{share:.1%}", f"{chance:.1%}", style=style)
    return table


def _bars(shares: dict[str, float], counts: dict[str, str]) -> RichTable:
    block = "#" if out.options.ascii_only else "█"
    table = RichTable(show_header=False)
    for justify in ("right", "right", "right", "left"):
        table.add_column(justify=justify)
    for name, share in shares.items():
        length = round(_BAR * share)
        table.add_row(name, counts[name], f"{share:.1%}", block * max(length, 1 if share else 0))
    return table
