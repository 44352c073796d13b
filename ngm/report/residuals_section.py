"""Numbers: predicted against true values, and residuals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score

from ngm.io.run_folder import JSON
from ngm.report.page import Figure, ReportTable, Section
from ngm.report.plotting import BLUE, GREY, RED, axis, count, round_significant
from ngm.report.run_reader import RunData, ids_of

_MAX_POINTS = 2_000  # points of a scatter
_MAX_ROWS = 20  # rows shown
_BINS = 40


def numbers_section(
    key: str, title: str, run: RunData, scored: NDArray[np.bool_], row_kind: str, notes: list[str]
) -> Section:
    """Root mean squared error, R squared, residuals, and the rows that are furthest off; of several numbers, each."""
    records = run.nodes
    indices = np.flatnonzero(scored)
    y_true, y_pred = (parse_numbers(column[indices]) for column in (records.label, records.predicted))  # (n, T)
    error = y_pred - y_true
    rows = [_scores(t, y_true[:, t], y_pred[:, t]) for t in range(y_true.shape[1])]
    rmse, baseline = float(np.sqrt((error**2).mean())), float(np.sqrt(((y_true - y_true.mean(axis=0)) ** 2).mean()))
    answer = (
        f"On {count(len(indices), row_kind)} the predictions are off by {rmse:.4g} (root mean squared error); "
        f"predicting the mean would be off by {baseline:.4g}."
    )
    if len(indices) > 1 and baseline > 0:
        answer += f" R squared is {1 - (rmse / baseline) ** 2:.3f}."
    ids = ids_of(records)
    furthest = np.argsort(-np.abs(error).max(axis=1), kind="stable")[:_MAX_ROWS]
    worst = [
        [
            ids[indices[i]],
            str(records.label[indices[i]]),
            str(records.predicted[indices[i]]),
            round(float(np.abs(error[i]).max()), 6),
        ]
        for i in furthest.tolist()
    ]
    tables = [ReportTable("worst", "Furthest off", ("id", "true", "predicted", "off by"), worst, 4)]
    if len(rows) > 1:
        columns = ("number", "root mean squared error", "R squared", "mean error")
        tables.insert(0, ReportTable("numbers", "Scores by number", columns, rows, 4))
    figures = [_scatter(y_true, y_pred, row_kind), _residuals(error, row_kind)]
    return Section(key, title, answer, notes, figures, tables)


def parse_numbers(values: NDArray[np.object_]) -> NDArray[np.float64]:
    """(n, T) from numbers written as `1.5; 2`."""
    return np.array(
        [[float(number) for number in str(value).split("; ")] for value in values.tolist()], dtype=np.float64
    )


def _scores(number: int, y_true: NDArray[np.float64], y_pred: NDArray[np.float64]) -> list[str | int | float | None]:
    r2 = float(r2_score(y_true, y_pred)) if len(y_true) > 1 and np.ptp(y_true) > 0 else None
    return [number, float(np.sqrt(((y_pred - y_true) ** 2).mean())), r2, float((y_pred - y_true).mean())]


def _scatter(y_true: NDArray[np.float64], y_pred: NDArray[np.float64], row_kind: str) -> Figure:
    sampled = np.linspace(0, len(y_true) - 1, min(len(y_true), _MAX_POINTS)).astype(int)
    x, y = y_true[sampled].ravel(), y_pred[sampled].ravel()
    diagonal = round_significant([y_true.min(), y_true.max()])
    data: list[dict[str, JSON]] = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "rows",
            "x": round_significant(x),
            "y": round_significant(y),
            "marker": {"color": BLUE, "size": 6, "opacity": 0.6},
        },
        {
            "type": "scatter",
            "mode": "lines",
            "name": "all right",
            "x": diagonal,
            "y": diagonal,
            "line": {"color": RED, "dash": "dash", "width": 2},
        },
    ]
    correlation = (
        float(np.corrcoef(y_true.ravel(), y_pred.ravel())[0, 1]) if np.ptp(y_true) and np.ptp(y_pred) else float("nan")
    )
    alt = (
        f"{count(len(y_true), row_kind)}: true numbers from {y_true.min():.4g} to {y_true.max():.4g}, predictions from "
        + (f"{y_pred.min():.4g} to {y_pred.max():.4g}, correlation {correlation:.2f}.")
    )
    layout: dict[str, JSON] = {"xaxis": axis("true number"), "yaxis": axis("predicted number"), "height": 420}
    return Figure("predicted", "Predicted against true numbers", alt, data, layout)


def _residuals(error: NDArray[np.float64], row_kind: str) -> Figure:
    counts, edges = np.histogram(error.ravel(), bins=min(_BINS, max(5, error.size // 3)))
    middles = (edges[1:] + edges[:-1]) / 2
    bars: dict[str, JSON] = {
        "type": "bar",
        "name": "rows",
        "x": round_significant(middles),
        "y": counts.tolist(),
        "width": round_significant(np.diff(edges)),
        "marker": {"color": BLUE, "line": {"color": GREY, "width": 1}},
    }
    low, middle, high = (float(q) for q in np.quantile(error, (0.05, 0.5, 0.95)))
    central_range = f"90 % from {low:.4g} to {high:.4g}"
    alt = f"Predicted less true number on {count(len(error), row_kind)}: median {middle:.4g}, {central_range}."
    layout: dict[str, JSON] = {"xaxis": axis("predicted less true"), "yaxis": axis("rows"), "height": 320}
    return Figure("residuals", "Residuals", alt, [bars], layout)
