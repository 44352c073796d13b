"""Reproduced tables on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table as RichTable

from ngm.cli.terminal import mean_and_std, out
from ngm.experiments.table import ResultTable, Row

_TITLES = {"inductive": "test nodes out", "transductive": "test nodes in"}


def show(name: str, table: ResultTable, dataset: str | None = None) -> None:
    """Prints a table.

    Args:
        name: Of the experiment, a key of `EXPERIMENTS`.
        table: What came out.
        dataset: The one that was chosen.
    """
    if name == "pubmed":
        show_citations(table, dataset or name)
    else:
        {"ag-news": show_articles, "blogcatalog": show_blogcatalog, "intents": show_intents}[name](table)


def show_citations(table: ResultTable, dataset: str) -> None:
    """A line per method; a column per setting, or per number of labels, with the published figure beside it."""
    terminal_table = RichTable(title=f"{dataset}: test accuracy, ours beside the published", title_justify="left")
    columns = list(dict.fromkeys((row.setting, row.labels) for row in table.rows))
    terminal_table.add_column("method")
    for setting, labels in columns:
        terminal_table.add_column(
            _TITLES.get(setting, setting) if labels is None else f"{labels} labels", justify="right"
        )
        if labels is None:
            terminal_table.add_column("published", justify="right")
    for title in ("seeds", "seconds a seed"):
        terminal_table.add_column(title, justify="right")
    for method in dict.fromkeys(row.method for row in table.rows):
        method_rows = {(row.setting, row.labels): row for row in table.rows if row.method == method}
        line = [method]
        for column in columns:
            row = method_rows.get(column)
            line.append("n/a" if row is None else mean_and_std(row))
            if column[1] is None:
                line.append("" if row is None or row.paper is None else f"{row.paper:.3f}")
        seconds = sum(row.seconds for row in method_rows.values()) / len(method_rows)
        terminal_table.add_row(*line, str(max(row.seeds for row in method_rows.values())), f"{seconds:.1f}")
    out.print(terminal_table)
    _notes(table)


def show_blogcatalog(table: ResultTable) -> None:
    """A table for each protocol, threshold and score that people ask for; a column per training share."""
    tables = (
        (
            "Macro-F1, independent decisions, threshold fixed at one half (the paper's)",
            "independent",
            "fixed",
            "macro_f1",
        ),
        ("Macro-F1, independent decisions, thresholds chosen on validation", "independent", "chosen", "macro_f1"),
        ("Macro-F1, top k: number of labels given away (not comparable)", "top_k", None, "macro_f1"),
        ("Micro-F1, top k", "top_k", None, "micro_f1"),
    )
    for title, protocol, threshold, metric in tables:
        key = (protocol, threshold, metric)
        out.print(_by_share(title, [r for r in table.rows if (r.protocol, r.threshold, r.metric) == key]))
    out.print("Micro-F1 and recall of independent decisions are in --json.", highlight=False)
    _notes(table)


def _by_share(title: str, rows: Sequence[Row]) -> RichTable:
    terminal_table = RichTable(title=title, title_justify="left")
    terminal_table.add_column("method")
    published = any(row.paper is not None for row in rows)
    for share in dict.fromkeys(row.setting for row in rows):
        terminal_table.add_column(share.replace("=", " ").replace("%", " %"), justify="right")
        if published:
            terminal_table.add_column("paper", justify="right")
    for column in ("splits", "seconds a split"):
        terminal_table.add_column(column, justify="right")
    for method in dict.fromkeys(row.method for row in rows):
        method_rows = [row for row in rows if row.method == method]
        line = [method]
        for row in method_rows:
            line.append(mean_and_std(row))
            if published:
                line.append("" if row.paper is None else f"{row.paper:.3f}")
        seconds = sum(row.seconds for row in method_rows) / len(method_rows)
        terminal_table.add_row(*line, str(method_rows[0].seeds), f"{seconds:.1f}")
    return terminal_table


def _notes(table: ResultTable) -> None:
    for note in table.notes:
        out.print(f"- {note}", highlight=False)


def show_articles(table: ResultTable) -> None:
    """AG News: a line per method; a column per number of labels, or what it took where there is one number only."""
    by_metric = {metric: [row for row in table.rows if row.metric == metric] for metric in ("accuracy", "seconds")}
    columns = list(dict.fromkeys(row.labels for row in by_metric["accuracy"]))
    terminal_table = RichTable(
        title="AG News: accuracy on test articles, which are not in the graph", title_justify="left"
    )
    terminal_table.add_column("method")
    titles = [f"{labels:,} labels" for labels in columns]
    for title in titles if len(columns) > 1 else ("accuracy", "paper", "seconds to best"):
        terminal_table.add_column(title, justify="right")
    terminal_table.add_column("seeds", justify="right")
    for method in dict.fromkeys(row.method for row in table.rows):
        method_rows = [row for row in by_metric["accuracy"] if row.method == method]
        line = [mean_and_std(row) if row.seeds > 1 else f"{row.mean:.3f}" for row in method_rows]
        if len(columns) == 1:
            seconds_row = next(row for row in by_metric["seconds"] if row.method == method)
            line += ["" if method_rows[0].paper is None else f"{method_rows[0].paper:.3f}", f"{seconds_row.mean:.0f}"]
        terminal_table.add_row(method, *line, str(max(row.seeds for row in method_rows)))
    out.print(terminal_table)
    _notes(table)


def show_intents(table: ResultTable) -> None:
    """Intents: for each data set and number of labels, a line per method; MRR with its standard error, and accuracy."""
    for dataset, labels in dict.fromkeys((row.dataset, row.labels) for row in table.rows):
        rows = [row for row in table.rows if (row.dataset, row.labels) == (dataset, labels)]
        label_count = "" if labels is None else f", {labels:,} labels"
        terminal_table = RichTable(title=f"{dataset}{label_count}: test utterances", title_justify="left")
        for title, side in (("method", "left"), ("MRR", "right"), ("± standard error", "right"), ("paper", "right")):
            terminal_table.add_column(title, justify="left" if side == "left" else "right")
        for title in ("accuracy", "seeds", "seconds a seed"):
            terminal_table.add_column(title, justify="right")
        for method in dict.fromkeys(row.method for row in rows):
            rows_by_metric = {row.metric: row for row in rows if row.method == method}
            mrr = rows_by_metric["mrr"]
            line = [f"{mrr.mean:.3f}", f"{mrr.standard_error:.3f}", "" if mrr.paper is None else f"{mrr.paper:.3f}"]
            terminal_table.add_row(
                method, *line, mean_and_std(rows_by_metric["accuracy"]), str(mrr.seeds), f"{mrr.seconds:.1f}"
            )
        out.print(terminal_table)
    _notes(table)
