"""Where is it wrong? A confusion matrix and scores by class; scores by label; residuals of numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from ngm.io.node_records import LABELED, VALIDATION, Evidence, labels_in, writable
from ngm.io.run_folder import JSON
from ngm.report.class_names import brief
from ngm.report.page import Figure, Section, Shown
from ngm.report.plotting import BLUE, axis, count, percent
from ngm.report.residuals_section import numbers_section
from ngm.report.run_reader import Told, known

KEY, TITLE = "wrong", "Where is it wrong?"
NUMBERED = 20  # classes up to which the cells of the matrix have numbers, and all classes their names
_PAIRS = 20  # confusions shown
_TICK = 24  # characters of a name on an axis
_ON_TRAINING = (
    "There are no validation rows, so these are the rows that the network was trained on: it has seen their labels, "
    "and on new rows it will do worse. Give validation=0.2, or rows of your own."
)


def wrong_section(told: Told) -> Section:
    """By what is predicted: classes, several labels, or numbers."""
    kept = told.nodes
    chosen, on, notes = rows_to_judge(kept)
    if not chosen.any():
        return Section(KEY, TITLE, "No row with a known label was kept, so nothing can be compared.")
    if told.task == "numbers":
        return numbers_section(KEY, TITLE, told, chosen, on, notes)
    if told.task == "labels":
        return _labels_section(told, kept, chosen, on, notes)
    return _classes_section(told, kept, chosen, on, notes)


def rows_to_judge(evidence: Evidence) -> tuple[NDArray[np.bool_], str, list[str]]:
    """(mask of the rows to compare, what they are called, a warning where they were trained on)."""
    validation = (evidence.role == VALIDATION) & known(evidence)
    if validation.any():
        return validation, "validation row", []
    return (evidence.role == LABELED) & known(evidence), "training row", [_ON_TRAINING]


def _classes_section(told: Told, kept: Evidence, chosen: NDArray[np.bool_], on: str, notes: list[str]) -> Section:
    truth, said = kept.label[chosen].astype(str), kept.predicted[chosen].astype(str)
    names = [writable(name) for name in told.classes] or sorted({*truth, *said})
    matrix = confusion_matrix(truth, said, labels=names)
    right, total = int(np.trace(matrix)), int(matrix.sum())
    scores = by_class(truth, said, names)
    pairs = top_confusions(matrix, names)
    answer = f"{total - right:,} of {count(total, on)} are wrong, {percent(right / total)} are right."
    if pairs:
        first, second, number = pairs[0][:3]
        answer += f" Most often class {brief(first)} is taken for {brief(second)}: {count(number, 'time')}."
    scored = [row for row in scores if row[4]]
    if len(scored) > 1:
        worst = min(scored, key=lambda row: float(row[3]))
        answer += f" The weakest class is {brief(worst[0])}{_f1(worst)}."
    order = scores if len(names) <= NUMBERED else sorted(scores, key=lambda row: (not row[4], float(row[3])))
    columns = ("class", "precision", "recall", "F1", "rows")
    sorted_by = "" if order is scores else ", the weakest first"
    tables = [Shown("classes", f"Scores by class{sorted_by}", columns, order, download="scores-by-class.csv")]
    if pairs and len(names) > 2:
        title = "Most frequent confusions"
        tables.insert(0, Shown("confusions", title, ("true class", "predicted", "rows", "of the class"), pairs))
    return Section(KEY, TITLE, answer, notes, [_matrix_figure(matrix, names, on)], tables)


def by_class(truth: NDArray[np.str_], said: NDArray[np.str_], names: Sequence[str]) -> list[list[str | float | int]]:
    """Rows of (class, precision, recall, F1, number of rows)."""
    columns = precision_recall_fscore_support(truth, said, labels=list(names), zero_division=0.0)
    precision, recall, f1, support = (part.tolist() for part in columns)
    return [
        [name, round(p, 4), round(r, 4), round(f, 4), int(s)]
        for name, p, r, f, s in zip(names, precision, recall, f1, support, strict=True)
    ]


def top_confusions(matrix: NDArray[np.int64], names: Sequence[str]) -> list[tuple[str, str, int, str]]:
    """The cells off the diagonal with most rows: (true class, predicted class, rows, share of the true class)."""
    off = matrix.copy()
    np.fill_diagonal(off, 0)
    order = np.argsort(-off, axis=None, kind="stable")[:_PAIRS]
    cells = [divmod(int(cell), len(names)) for cell in order]
    totals = matrix.sum(axis=1)
    return [(names[i], names[j], int(off[i, j]), percent(off[i, j] / totals[i])) for i, j in cells if off[i, j] > 0]


def _matrix_figure(matrix: NDArray[np.int64], names: Sequence[str], on: str) -> Figure:
    """Colours are shares of the true class; numbers are rows, where they fit."""
    totals = matrix.sum(axis=1, keepdims=True)
    shares = np.round(matrix / np.maximum(totals, 1), 3)
    few = len(names) <= NUMBERED
    shown = [brief(name, _TICK) for name in names]
    trace: dict[str, JSON] = {
        "type": "heatmap",
        "x": list(names),
        "y": list(names),
        "z": shares.tolist(),
        "customdata": matrix.tolist(),
        "zmin": 0,
        "zmax": 1,
        "xgap": 1 if few else 0,
        "ygap": 1 if few else 0,
        "hovertemplate": "true %{y}, predicted %{x}: %{customdata} rows (%{z:.0%} of the class)<extra></extra>",
        "colorbar": {"title": {"text": "share of the class", "side": "right"}, "tickformat": ".0%"},
        "showscale": not few,  # cells that have numbers need no scale beside them
    }
    if few:
        trace |= {
            "text": [[str(cell) if cell else "" for cell in row] for row in matrix.tolist()],
            "texttemplate": "%{text}",
        }
    ticks: dict[str, JSON] = {"tickmode": "array", "tickvals": list(names), "ticktext": list(shown)}
    ticks |= {"type": "category", "showgrid": False, "zeroline": False, "automargin": True}
    if not few:
        ticks |= {"tickfont": {"size": 7}, "showticklabels": len(names) <= 3 * NUMBERED}
    side = 140 + 34 * len(names) if few else 640
    layout: dict[str, JSON] = {
        "xaxis": axis("predicted class", ticks | {"tickangle": -45 if max(map(len, shown)) > 3 else 0}),
        "yaxis": axis("true class", ticks | {"autorange": "reversed"}),
        "height": max(side, 320),
    }
    right = "; ".join(f"{brief(n)}: {int(matrix[i, i])} of {int(totals[i, 0])}" for i, n in enumerate(names[:NUMBERED]))
    more = f"; and {len(names) - NUMBERED} more classes, in the table" if not few else ""
    alt = f"Confusion matrix of {count(int(matrix.sum()), on)} in {len(names)} classes. Right: {right}{more}."
    return Figure("confusion", f"Confusion matrix of {count(int(matrix.sum()), on)}", alt, [trace], layout)


def _labels_section(told: Told, kept: Evidence, chosen: NDArray[np.bool_], on: str, notes: list[str]) -> Section:
    names = told.classes
    truth, said = (zeros_and_ones(column[chosen].tolist(), names) for column in (kept.label, kept.predicted))
    parts = precision_recall_fscore_support(truth, said, average=None, zero_division=0.0)
    precision, recall, f1, support = (part.tolist() for part in parts)
    rows = [
        [name, round(p, 4), round(r, 4), round(f, 4), int(s), int(told_)]
        for name, p, r, f, s, told_ in zip(
            names, precision, recall, f1, support, said.sum(axis=0).tolist(), strict=True
        )
    ]
    micro, macro = (
        float(precision_recall_fscore_support(truth, said, average=how, zero_division=0.0)[2])
        for how in ("micro", "macro")
    )
    exact = float((truth == said).all(axis=1).mean())
    answer = (
        f"Micro-F1 {micro:.3f} and macro-F1 {macro:.3f} over {count(len(names), 'label')} on {count(len(truth), on)}; "
        f"{percent(exact)} of the rows have all labels right."
    )
    there = [row for row in rows if row[4]]
    if there:
        worst = min(there, key=lambda row: float(row[3]))
        answer += f" The weakest label is {brief(worst[0])}{_f1(worst)}."
    columns = ("label", "precision", "recall", "F1", "rows that have it", "rows that are said to")
    table = Shown("labels", "Scores by label", columns, rows, download="scores-by-label.csv")
    return Section(KEY, TITLE, answer, notes, [_labels_figure(names, [float(row[3]) for row in rows])], [table])


def zeros_and_ones(words: Sequence[str], names: Sequence[str]) -> NDArray[np.int64]:
    """(n, L) from sets of labels as evidence keeps them."""
    place = {name: i for i, name in enumerate(names)}
    out = np.zeros((len(words), len(names)), dtype=np.int64)
    for row, labels in enumerate(words):
        for name in labels_in(labels):
            if name not in place:
                raise ValueError(
                    f"a kept node has the label {name!r}, which is none of {', '.join(map(brief, names))}; train again"
                )
            out[row, place[name]] = 1
    return out


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
    ticks["ticktext"] = [brief(names[i], _TICK) for i in order]
    alt = "F1 by label, the best first: " + ", ".join(f"{brief(names[i])} {f1[i]:.2f}" for i in order[:NUMBERED])
    layout: dict[str, JSON] = {
        "xaxis": axis("label", ticks | {"type": "category", "automargin": True}),
        "yaxis": axis("F1", {"range": [0, 1]}),
        "height": 340,
    }
    return Figure("labels", "F1 by label", alt + ".", [bars], layout)


def _f1(row: Sequence[str | float | int]) -> str:
    return f", with an F1 of {float(row[3]):.2f} on {count(int(row[4]), 'row')}"
