"""Reproduced tables on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table as RichTable

from ngm.cli.terminal import out, spread
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
    shown = RichTable(title=f"{dataset}: test accuracy, ours beside the published", title_justify="left")
    columns = list(dict.fromkeys((row.setting, row.labels) for row in table.rows))
    shown.add_column("method")
    for setting, labels in columns:
        shown.add_column(_TITLES.get(setting, setting) if labels is None else f"{labels} labels", justify="right")
        if labels is None:
            shown.add_column("published", justify="right")
    for title in ("seeds", "seconds a seed"):
        shown.add_column(title, justify="right")
    for method in dict.fromkeys(row.method for row in table.rows):
        mine = {(row.setting, row.labels): row for row in table.rows if row.method == method}
        line = [method]
        for column in columns:
            row = mine.get(column)
            line.append("n/a" if row is None else spread(row))
            if column[1] is None:
                line.append("" if row is None or row.paper is None else f"{row.paper:.3f}")
        seconds = sum(row.seconds for row in mine.values()) / len(mine)
        shown.add_row(*line, str(max(row.seeds for row in mine.values())), f"{seconds:.1f}")
    out.print(shown)
    _notes(table)


def show_blogcatalog(table: ResultTable) -> None:
    """A table for each protocol, threshold and score that people ask for; a column per training share."""
    wanted = (
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
    for title, protocol, threshold, metric in wanted:
        key = (protocol, threshold, metric)
        out.print(_by_share(title, [r for r in table.rows if (r.protocol, r.threshold, r.metric) == key]))
    out.print("Micro-F1 and recall of independent decisions are in --json.", highlight=False)
    _notes(table)


def _by_share(title: str, rows: Sequence[Row]) -> RichTable:
    shown = RichTable(title=title, title_justify="left")
    shown.add_column("method")
    published = any(row.paper is not None for row in rows)
    for share in dict.fromkeys(row.setting for row in rows):
        shown.add_column(share.replace("=", " ").replace("%", " %"), justify="right")
        if published:
            shown.add_column("paper", justify="right")
    for column in ("splits", "seconds a split"):
        shown.add_column(column, justify="right")
    for method in dict.fromkeys(row.method for row in rows):
        mine = [row for row in rows if row.method == method]
        line = [method]
        for row in mine:
            line.append(spread(row))
            if published:
                line.append("" if row.paper is None else f"{row.paper:.3f}")
        seconds = sum(row.seconds for row in mine) / len(mine)
        shown.add_row(*line, str(mine[0].seeds), f"{seconds:.1f}")
    return shown


def _notes(table: ResultTable) -> None:
    for note in table.notes:
        out.print(f"- {note}", highlight=False)


def show_articles(table: ResultTable) -> None:
    """AG News: a line per method; a column per number of labels, or what it took where there is one number only."""
    by_metric = {metric: [row for row in table.rows if row.metric == metric] for metric in ("accuracy", "seconds")}
    columns = list(dict.fromkeys(row.labels for row in by_metric["accuracy"]))
    shown = RichTable(title="AG News: accuracy on test articles, which are not in the graph", title_justify="left")
    shown.add_column("method")
    titles = [f"{labels:,} labels" for labels in columns]
    for title in titles if len(columns) > 1 else ("accuracy", "paper", "seconds to best"):
        shown.add_column(title, justify="right")
    shown.add_column("seeds", justify="right")
    for method in dict.fromkeys(row.method for row in table.rows):
        mine = [row for row in by_metric["accuracy"] if row.method == method]
        line = [spread(row) if row.seeds > 1 else f"{row.mean:.3f}" for row in mine]
        if len(columns) == 1:
            taken = next(row for row in by_metric["seconds"] if row.method == method)
            line += ["" if mine[0].paper is None else f"{mine[0].paper:.3f}", f"{taken.mean:.0f}"]
        shown.add_row(method, *line, str(max(row.seeds for row in mine)))
    out.print(shown)
    _notes(table)


def show_intents(table: ResultTable) -> None:
    """Intents: for each data set and number of labels, a line per method; MRR with its standard error, and accuracy."""
    for dataset, labels in dict.fromkeys((row.dataset, row.labels) for row in table.rows):
        rows = [row for row in table.rows if (row.dataset, row.labels) == (dataset, labels)]
        label_count = "" if labels is None else f", {labels:,} labels"
        shown = RichTable(title=f"{dataset}{label_count}: test utterances", title_justify="left")
        for title, side in (("method", "left"), ("MRR", "right"), ("± standard error", "right"), ("paper", "right")):
            shown.add_column(title, justify="left" if side == "left" else "right")
        for title in ("accuracy", "seeds", "seconds a seed"):
            shown.add_column(title, justify="right")
        for method in dict.fromkeys(row.method for row in rows):
            mine = {row.metric: row for row in rows if row.method == method}
            mrr = mine["mrr"]
            line = [f"{mrr.mean:.3f}", f"{mrr.standard_error:.3f}", "" if mrr.paper is None else f"{mrr.paper:.3f}"]
            shown.add_row(method, *line, spread(mine["accuracy"]), str(mrr.seeds), f"{mrr.seconds:.1f}")
        out.print(shown)
    _notes(table)
