"""`ngm demo`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table as RichTable

from ngm.cli.terminal import AsJson, Debug, app, bar, mean_and_std, out, print_json


@app.command("demo")
def demo_command(
    seeds: Annotated[int, typer.Option(min=1, help="Number of draws of the labelled digits.")] = 5,
    folder: Annotated[Path, typer.Option(help="Run folder to write.")] = Path("runs/demo"),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run in the folder.")] = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Trains on handwritten digits with and without the graph; needs no network.

    Example:  ngm demo --seeds 3
    """
    from ngm.experiments import demo
    from ngm.report import write_report

    total = 2 * seeds * len(demo.LABELS_PER_CLASS) + 1
    with bar(total, quiet=as_json) as step:
        result = demo.run(folder, seeds, on_fit=lambda: step("training"), overwrite=overwrite)
        page = write_report(folder)
    if as_json:
        rows = [row for c in result.comparisons for row in (c.without_graph, c.with_graph)]
        labels = [10 * c.labels_per_class for c in result.comparisons for _ in range(2)]
        print_json(
            {
                "table": "demo",
                "rows": [asdict(row) | {"labels": count} for row, count in zip(rows, labels, strict=True)],
                "run": str(result.folder),
                "report": str(page),
            }
        )
        return
    table = RichTable(
        title=f"Accuracy on 597 new digits, {seeds} {'seed' if seeds == 1 else 'seeds'}", title_justify="left"
    )
    for column in ("labels per class", "without graph", "with graph", "gain"):
        table.add_column(column, justify="right")
    for c in result.comparisons:
        gain = f"{100 * c.gain:+.1f} points"
        table.add_row(str(c.labels_per_class), mean_and_std(c.without_graph), mean_and_std(c.with_graph), gain)
    out.print(table)
    nodes, edges = result.graph.num_nodes, result.graph.num_edges
    out.print(f"Graph: {nodes:,} digits, {edges:,} edges to the {demo.NEIGHBORS} nearest neighbours.", highlight=False)
    folder_text = escape(f"Run folder: {result.folder}   (read it back: ngm.load({str(result.folder)!r}))")
    out.print(folder_text, highlight=False, soft_wrap=True)
    out.print(f"Report: {escape(str(page))}   (open it in a browser)", highlight=False, soft_wrap=True)
