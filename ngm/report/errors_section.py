"""Where is it wrong? A confusion matrix and scores by class; scores by label; residuals of numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from ngm.io.node_records import LABELED, VALIDATION, NodeRecords, labels_in, writable
from ngm.io.run_folder import JSON
from ngm.report.class_names import shorten_name
from ngm.report.page import Figure, ReportTable, Section
from ngm.report.plotting import BLUE, axis, count, percent
from ngm.report.residuals_section import numbers_section
from ngm.report.run_reader import RunData, has_label

KEY, TITLE = "wrong", "Where is it wrong?"
MAX_NUMBERED_CLASSES = 20  # classes up to which the cells of the matrix have numbers, and all classes their names
_MAX_PAIRS = 20  # confusions shown
_TICK_LENGTH = 24  # characters of a name on an axis
_ON_TRAINING = (
    "There are no validation rows, so these are the rows that the network was trained on: it has seen their labels, "
    "and on new rows it will do worse. Give validation=0.2, or rows of your own."
)


def errors_section(run: RunData) -> Section:
    """By what is predicted: classes, several labels, or numbers."""
    records = run.nodes
    scored, row_kind, notes = scored_rows(records)
    if not scored.any():
        return Section(KEY, TITLE, "No recorded row has a label, so nothing can be compared.")
    if run.task == "numbers":
        return numbers_section(KEY, TITLE, run, scored, row_kind, notes)
    if run.task == "labels":
        return _labels_section(run, records, scored, row_kind, notes)
    return _classes_section(run, records, scored, row_kind, notes)


def scored_rows(records: NodeRecords) -> tuple[NDArray[np.bool_], str, list[str]]:
    """(mask of the rows to compare, what they are called, a warning where they were trained on)."""
    validation = (records.role == VALIDATION) & has_label(records)
    if validation.any():
        return validation, "validation row", []
    return (records.role == LABELED) & has_label(records), "training row", [_ON_TRAINING]


def _classes_section(
    run: RunData, records: NodeRecords, scored: NDArray[np.bool_], row_kind: str, notes: list[str]
) -> Section:
    y_true, y_pred = records.label[scored].astype(str), records.predicted[scored].astype(str)
    names = [writable(name) for name in run.classes] or sorted({*y_true, *y_pred})
    matrix = confusion_matrix(y_true, y_pred, labels=names)
    num_correct, total = int(np.trace(matrix)), int(matrix.sum())
    scores = scores_by_class(y_true, y_pred, names)
    pairs = top_confusions(matrix, names)
    answer = f"{total - num_correct:,} of {count(total, row_kind)} are wrong, {percent(num_correct / total)} are right."
    if pairs:
        first, second, number = pairs[0][:3]
        answer += (
            f" Most often class {shorten_name(first)} is taken for {shorten_name(second)}: {count(number, 'time')}."
        )
    with_rows = [row for row in scores if row[4]]
    if len(with_rows) > 1:
        weakest = min(with_rows, key=lambda row: float(row[3]))
        answer += f" The weakest class is {shorten_name(weakest[0])}{_f1(weakest)}."
    order = (
        scores if len(names) <= MAX_NUMBERED_CLASSES else sorted(scores, key=lambda row: (not row[4], float(row[3])))
    )
    columns = ("class", "precision", "recall", "F1", "rows")
    sorted_by = "" if order is scores else ", the weakest first"
    tables = [ReportTable("classes", f"Scores by class{sorted_by}", columns, order, download="scores-by-class.csv")]
    if pairs and len(names) > 2:
        title = "Most frequent confusions"
        tables.insert(0, ReportTable("confusions", title, ("true class", "predicted", "rows", "of the class"), pairs))
    return Section(KEY, TITLE, answer, notes, [_matrix_figure(matrix, names, row_kind)], tables)


def scores_by_class(
    y_true: NDArray[np.str_], y_pred: NDArray[np.str_], names: Sequence[str]
) -> list[list[str | float | int]]:
    """Rows of (class, precision, recall, F1, number of rows)."""
    columns = precision_recall_fscore_support(y_true, y_pred, labels=list(names), zero_division=0.0)
    precision, recall, f1, support = (column.tolist() for column in columns)
    return [
        [name, round(p, 4), round(r, 4), round(f, 4), int(s)]
        for name, p, r, f, s in zip(names, precision, recall, f1, support, strict=True)
    ]


def top_confusions(matrix: NDArray[np.int64], names: Sequence[str]) -> list[tuple[str, str, int, str]]:
    """The cells off the diagonal with most rows: (true class, predicted class, rows, share of the true class)."""
    off_diagonal = matrix.copy()
    np.fill_diagonal(off_diagonal, 0)
    order = np.argsort(-off_diagonal, axis=None, kind="stable")[:_MAX_PAIRS]
    cells = [divmod(int(cell), len(names)) for cell in order]
    totals = matrix.sum(axis=1)
    return [
        (names[i], names[j], int(off_diagonal[i, j]), percent(off_diagonal[i, j] / totals[i]))
        for i, j in cells
        if off_diagonal[i, j] > 0
    ]


def _matrix_figure(matrix: NDArray[np.int64], names: Sequence[str], row_kind: str) -> Figure:
    """Colours are shares of the true class; numbers are rows, where they fit."""
    totals = matrix.sum(axis=1, keepdims=True)
    shares = np.round(matrix / np.maximum(totals, 1), 3)
    numbered = len(names) <= MAX_NUMBERED_CLASSES
    short_names = [shorten_name(name, _TICK_LENGTH) for name in names]
    trace: dict[str, JSON] = {
        "type": "heatmap",
        "x": list(names),
        "y": list(names),
        "z": shares.tolist(),
        "customdata": matrix.tolist(),
        "zmin": 0,
        "zmax": 1,
        "xgap": 1 if numbered else 0,
        "ygap": 1 if numbered else 0,
        "hovertemplate": "true %{y}, predicted %{x}: %{customdata} rows (%{z:.0%} of the class)<extra></extra>",
        "colorbar": {"title": {"text": "share of the class", "side": "right"}, "tickformat": ".0%"},
        "showscale": not numbered,  # cells that have numbers need no scale beside them
    }
    if numbered:
        trace |= {
            "text": [[str(cell) if cell else "" for cell in row] for row in matrix.tolist()],
            "texttemplate": "%{text}",
        }
    ticks: dict[str, JSON] = {"tickmode": "array", "tickvals": list(names), "ticktext": list(short_names)}
    ticks |= {"type": "category", "showgrid": False, "zeroline": False, "automargin": True}
    if not numbered:
        ticks |= {"tickfont": {"size": 7}, "showticklabels": len(names) <= 3 * MAX_NUMBERED_CLASSES}
    height = 140 + 34 * len(names) if numbered else 640
    layout: dict[str, JSON] = {
        "xaxis": axis("predicted class", ticks | {"tickangle": -45 if max(map(len, short_names)) > 3 else 0}),
        "yaxis": axis("true class", ticks | {"autorange": "reversed"}),
        "height": max(height, 320),
    }
    correct_text = "; ".join(
        f"{shorten_name(n)}: {int(matrix[i, i])} of {int(totals[i, 0])}"
        for i, n in enumerate(names[:MAX_NUMBERED_CLASSES])
    )
    more_text = f"; and {len(names) - MAX_NUMBERED_CLASSES} more classes, in the table" if not numbered else ""
    alt = (
        f"Confusion matrix of {count(int(matrix.sum()), row_kind)} in {len(names)} classes. Right: "
        f"{correct_text}{more_text}."
    )
    return Figure("confusion", f"Confusion matrix of {count(int(matrix.sum()), row_kind)}", alt, [trace], layout)


def _labels_section(
    run: RunData, records: NodeRecords, scored: NDArray[np.bool_], row_kind: str, notes: list[str]
) -> Section:
    names = run.classes
    y_true, y_pred = (label_indicators(column[scored].tolist(), names) for column in (records.label, records.predicted))
    columns_by_label = precision_recall_fscore_support(y_true, y_pred, average=None, zero_division=0.0)
    precision, recall, f1, support = (column.tolist() for column in columns_by_label)
    rows = [
        [name, round(p, 4), round(r, 4), round(f, 4), int(s), int(num_predicted)]
        for name, p, r, f, s, num_predicted in zip(
            names, precision, recall, f1, support, y_pred.sum(axis=0).tolist(), strict=True
        )
    ]
    micro, macro = (
        float(precision_recall_fscore_support(y_true, y_pred, average=average, zero_division=0.0)[2])
        for average in ("micro", "macro")
    )
    exact = float((y_true == y_pred).all(axis=1).mean())
    answer = (
        f"Micro-F1 {micro:.3f} and macro-F1 {macro:.3f} over {count(len(names), 'label')} on "
        f"{count(len(y_true), row_kind)}; {percent(exact)} of the rows have all labels right."
    )
    with_rows = [row for row in rows if row[4]]
    if with_rows:
        weakest = min(with_rows, key=lambda row: float(row[3]))
        answer += f" The weakest label is {shorten_name(weakest[0])}{_f1(weakest)}."
    columns = ("label", "precision", "recall", "F1", "rows that have it", "rows predicted to")
    table = ReportTable("labels", "Scores by label", columns, rows, download="scores-by-label.csv")
    return Section(KEY, TITLE, answer, notes, [_labels_figure(names, [float(row[3]) for row in rows])], [table])


def label_indicators(label_sets: Sequence[str], names: Sequence[str]) -> NDArray[np.int64]:
    """(n, L) zeros and ones from sets of labels in the node records."""
    column = {name: i for i, name in enumerate(names)}
    indicators = np.zeros((len(label_sets), len(names)), dtype=np.int64)
    for row, labels in enumerate(label_sets):
        for name in labels_in(labels):
            if name not in column:
                raise ValueError(
                    f"a recorded node has the label {name!r}, which is not one of "
                    f"{', '.join(map(shorten_name, names))}; train again"
                )
            indicators[row, column[name]] = 1
    return indicators


def _labels_figure(names: Sequence[str], f1: Sequence[float]) -> Figure:
    order = sorted(range(len(names)), key=lambda i: -f1[i])
    bars: dict[str, JSON] = {
        "type": "bar",
        "x": [names[i] for i in order],
        "y": [f1[i] for i in order],
        "marker": {"color": BLUE},
        "name": "F1",
    }
    ticks: dict[str, JSON] = {"tickmode": "array", "tickvals": [names[i] for i in order]}
    ticks["ticktext"] = [shorten_name(names[i], _TICK_LENGTH) for i in order]
    alt = "F1 by label, the best first: " + ", ".join(
        f"{shorten_name(names[i])} {f1[i]:.2f}" for i in order[:MAX_NUMBERED_CLASSES]
    )
    layout: dict[str, JSON] = {
        "xaxis": axis("label", ticks | {"type": "category", "automargin": True}),
        "yaxis": axis("F1", {"range": [0, 1]}),
        "height": 340,
    }
    return Figure("labels", "F1 by label", alt + ".", [bars], layout)


def _f1(row: Sequence[str | float | int]) -> str:
    return f", with an F1 of {float(row[3]):.2f} on {count(int(row[4]), 'row')}"
