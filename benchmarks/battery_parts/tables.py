"""The summary as tables: Markdown for docs/battery.md, and the same cells on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable

from battery_parts.methods import METHODS
from battery_parts.problems import DATASETS, MULTI_LABEL
from battery_parts.summary import UNRANKED

BEGIN, END = "<!-- battery: begin -->", "<!-- battery: end -->"
NOT_RUN = "The battery has not been run on this version yet."
Summary = Mapping[str, Any]
"""What `summarize` gives, as read from JSON."""


@dataclass(frozen=True)
class Table:
    """A title, the heads of the columns, and cells as text."""

    title: str
    columns: tuple[str, ...]
    rows: list[list[str]]


def tables(summary: Summary) -> list[Table]:
    """All tables, most important first."""
    found = [_ranks(summary), _worst(summary), _against_simple(summary)]
    datasets = [name for name in DATASETS if any(score["dataset"] == name for score in summary["scores"])]
    found += [_accuracies(summary, name) for name in datasets]
    return [table for table in found if table.rows]


def _share(value: float) -> str:
    """`.714`; a whole number before the point stays."""
    return f"{value:.3f}".removeprefix("0")


def _rows_of(summary: Summary, dataset: str | None = None) -> list[str]:
    present = {score["row"] for score in summary["scores"] if dataset in (None, score["dataset"])}
    return [row for row in METHODS if row in present]


def _heads(labels: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{count} label{'' if count == '1' else 's'} a class" for count in labels)


def _ranks(summary: Summary) -> Table:
    ranks = summary["mean_ranks"]
    rows = [row for row in _rows_of(summary) if row not in UNRANKED]
    best = {labels: min(table.values()) for labels, table in ranks.items()}
    cells = []
    for row in rows:
        shown = [
            _bold(f"{table[row]:.1f}", table[row] == best[labels]) if row in table else ""
            for labels, table in ranks.items()
        ]
        cells.append([METHODS[row].name, *shown])
    return Table("Mean rank over data sets (1 is best)", ("", *_heads(list(ranks))), cells if ranks else [])


def _worst(summary: Summary) -> Table:
    worst = summary["worst"]
    cells = []
    for row in (row for row in _rows_of(summary) if row not in UNRANKED):
        gaps = [table.get(row) for table in worst.values()]
        cells.append([METHODS[row].name, *(f"{gap['points']:+.1f} ({gap['dataset']})" if gap else "" for gap in gaps)])
    title = "Points from the best other row where a row does worst"
    return Table(title, ("", *_heads(list(worst))), cells if worst else [])


def _against_simple(summary: Summary) -> Table:
    gaps = [gap for gap in summary["default_against_simple"] if gap["metric"] in ("accuracy", "micro_f1")]
    single = [gap for gap in gaps if gap["dataset"] not in MULTI_LABEL]
    labels = sorted({gap["labels"] for gap in single})
    cells = []
    for dataset in dict.fromkeys(gap["dataset"] for gap in single):
        found = {gap["labels"]: gap for gap in single if gap["dataset"] == dataset}
        shown = [f"{found[n]['points']:+.1f} ({METHODS[found[n]['best']].name})" if n in found else "" for n in labels]
        cells.append([dataset, *shown])
    title = (
        "Default against the best of logistic regression, self-training, label spreading and plain network, in points"
    )
    return Table(title, ("", *_heads([str(count) for count in labels])), cells)


def _accuracies(summary: Summary, dataset: str) -> Table:
    scores = [score for score in summary["scores"] if score["dataset"] == dataset]
    columns = list(dict.fromkeys((score["labels"], score["metric"]) for score in scores))
    by_key = {(score["row"], score["labels"], score["metric"]): score for score in scores}
    best = {
        (labels, metric): max(
            s["mean"] for s in scores if (s["labels"], s["metric"]) == (labels, metric) and s["row"] not in UNRANKED
        )
        for labels, metric in columns
        if any((s["labels"], s["metric"]) == (labels, metric) and s["row"] not in UNRANKED for s in scores)
    }
    cells = []
    for row in _rows_of(summary, dataset):
        shown = []
        for column in columns:
            score = by_key.get((row, *column))
            is_best = score is not None and row not in UNRANKED and score["mean"] == best[column]
            shown.append(_bold(_mean(score), is_best) + _fewer(score, scores))
        seconds = [score["processor_seconds"] for score in scores if score["row"] == row]
        cells.append([METHODS[row].name, *shown, f"{max(seconds):.1f}"])
    return Table(dataset, ("", *(_column(dataset, *column) for column in columns), "seconds"), cells)


def _column(dataset: str, labels: int, metric: str) -> str:
    if dataset in MULTI_LABEL:
        return f"{labels} %, {metric.replace('_f1', '').capitalize()}-F1"
    return f"{labels} a class"


def _bold(text: str, bold: bool) -> str:
    return f"**{text}**" if bold and text else text


def markdown(summary: Summary | None) -> str:
    """What stands between the markers of the page."""
    if summary is None:
        return NOT_RUN
    draws = sorted({score["draws"] for score in summary["scores"]})
    count = str(draws[0]) if len(draws) == 1 else f"{draws[0]} to {draws[-1]}"
    drawn = f"{count} draw{'' if count == '1' else 's'}"
    blocks = [f"Scored on {summary['part']} nodes and texts, {drawn}: mean ± standard deviation, processor seconds."]
    if len(draws) > 1:
        blocks.append(
            "Scores of fewer draws than others of their table say so; ranks and distances take them as they are."
        )
    blocks.append("![Accuracy over labels a class, a panel per data set](images/battery.svg)")
    for table in tables(summary):
        level = "###" if table.title in DATASETS else "##"
        lines = [f"| {' | '.join(cells)} |" for cells in (table.columns, ["---"] * len(table.columns), *table.rows)]
        blocks.append("\n".join([f"{level} {table.title}", "", *lines]))
    return "\n\n".join(blocks)


README_ROWS = ("logistic-regression", "self-training", "plain", "paper", "default")
README_LABELS = 20


def readme_block(summary: Summary | None) -> str:
    """What stands between the markers of the README: a few rows, side by side, at 20 labels a class."""
    if summary is None:
        return NOT_RUN
    scores = {
        (score["dataset"], score["row"]): score
        for score in summary["scores"]
        if score["labels"] == README_LABELS and score["metric"] == "accuracy" and score["row"] in README_ROWS
    }
    rows = [row for row in README_ROWS if any(key[1] == row for key in scores)]
    cells = []
    for dataset in (name for name in DATASETS if (name, "default") in scores):
        found = {row: scores[dataset, row] for row in rows if (dataset, row) in scores}
        best = max(_share(score["mean"]) for score in found.values())
        shown = [_bold(_mean(found.get(row)), row in found and _share(found[row]["mean"]) == best) for row in rows]
        cells.append([dataset, *shown, f"{found['default']['processor_seconds']:.1f}"])
    heads = [METHODS[row].name if "recipe" not in METHODS[row].name else f"`{METHODS[row].name}`" for row in rows]
    lines = [("data set", *heads, "seconds"), ["---"] * (len(heads) + 2), *cells]
    return "\n".join([f"{_draws_of(scores.values())}:", "", *(f"| {' | '.join(line)} |" for line in lines)])


def _mean(score: Summary | None) -> str:
    return "" if score is None else f"{_share(score['mean'])} ± {_share(score['std'])}"


def _fewer(score: Summary | None, beside: Iterable[Summary]) -> str:
    """How many draws a score is of, where others of its table are of more."""
    if score is None or score["draws"] == max(other["draws"] for other in beside):
        return ""
    return f" ({score['draws']} draw{'' if score['draws'] == 1 else 's'})"


def _draws_of(scores: Iterable[Summary]) -> str:
    """`10 draws`, and the rows that have fewer."""
    of_row: dict[str, int] = {}
    for score in scores:
        of_row[score["row"]] = min(score["draws"], of_row.get(score["row"], score["draws"]))
    most = max(of_row.values())
    fewer = [f"{METHODS[row].name} {count}" for row, count in of_row.items() if count < most]
    return f"{most} draws" + (f" ({', '.join(fewer)})" if fewer else "")


def with_block(page: str, block: str) -> str:
    """The page with another block between its markers."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no lines {BEGIN!r} and {END!r}; put them where the tables go")
    return f"{before}{BEGIN}\n\n{block}\n\n{END}{after}"


def show(summary: Summary, console: Console) -> None:
    """Prints all tables."""
    for table in tables(summary):
        drawn = RichTable(title=table.title, title_justify="left", header_style="bold")
        for column in table.columns:
            drawn.add_column(column)
        for cells in table.rows:
            drawn.add_row(*(f"[bold]{cell.strip('*')}[/bold]" if cell.startswith("**") else cell for cell in cells))
        console.print(drawn)
