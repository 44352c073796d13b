"""Numbers: predicted against true ones, and what is left over."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score

from ngm.io.run_folder import JSON
from ngm.report.page import Figure, Section, Shown
from ngm.report.plotting import BLUE, GREY, RED, axis, count, rounded
from ngm.report.run_reader import Told, ids_of

_MOST = 2_000  # points of a scatter
_WORST = 20  # rows shown
_BINS = 40


def numbers_section(key: str, title: str, told: Told, chosen: NDArray[np.bool_], on: str, notes: list[str]) -> Section:
    """Root mean squared error, R squared, residuals, and the rows that are furthest off; of several numbers, each."""
    kept = told.nodes
    places = np.flatnonzero(chosen)
    truth, said = (as_numbers(column[places]) for column in (kept.label, kept.predicted))  # (n, T)
    error = said - truth
    rows = [_scores(t, truth[:, t], said[:, t]) for t in range(truth.shape[1])]
    rmse, baseline = float(np.sqrt((error**2).mean())), float(np.sqrt(((truth - truth.mean(axis=0)) ** 2).mean()))
    answer = (
        f"On {count(len(places), on)} the predictions are off by {rmse:.4g} (root mean squared error); always saying "
        f"the mean would be off by {baseline:.4g}."
    )
    if len(places) > 1 and baseline > 0:
        answer += f" R squared is {1 - (rmse / baseline) ** 2:.3f}."
    ids = ids_of(kept)
    far = np.argsort(-np.abs(error).max(axis=1), kind="stable")[:_WORST]
    worst = [
        [
            ids[places[i]],
            str(kept.label[places[i]]),
            str(kept.predicted[places[i]]),
            round(float(np.abs(error[i]).max()), 6),
        ]
        for i in far.tolist()
    ]
    tables = [Shown("worst", "Furthest off", ("id", "true", "predicted", "off by"), worst, 4)]
    if len(rows) > 1:
        columns = ("number", "root mean squared error", "R squared", "mean error")
        tables.insert(0, Shown("numbers", "Scores by number", columns, rows, 4))
    figures = [_scatter(truth, said, on), _residuals(error, on)]
    return Section(key, title, answer, notes, figures, tables)


def as_numbers(words: NDArray[np.object_]) -> NDArray[np.float64]:
    """(n, T) from numbers written as `1.5; 2`."""
    return np.array([[float(part) for part in str(word).split("; ")] for word in words.tolist()], dtype=np.float64)


def _scores(number: int, truth: NDArray[np.float64], said: NDArray[np.float64]) -> list[str | int | float | None]:
    r2 = float(r2_score(truth, said)) if len(truth) > 1 and np.ptp(truth) > 0 else None
    return [number, float(np.sqrt(((said - truth) ** 2).mean())), r2, float((said - truth).mean())]


def _scatter(truth: NDArray[np.float64], said: NDArray[np.float64], on: str) -> Figure:
    some = np.linspace(0, len(truth) - 1, min(len(truth), _MOST)).astype(int)
    x, y = truth[some].ravel(), said[some].ravel()
    ends = rounded([truth.min(), truth.max()])
    data: list[dict[str, JSON]] = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "rows",
            "x": rounded(x),
            "y": rounded(y),
            "marker": {"color": BLUE, "size": 6, "opacity": 0.6},
        },
        {
            "type": "scatter",
            "mode": "lines",
            "name": "all right",
            "x": ends,
            "y": ends,
            "line": {"color": RED, "dash": "dash", "width": 2},
        },
    ]
    both = float(np.corrcoef(truth.ravel(), said.ravel())[0, 1]) if np.ptp(truth) and np.ptp(said) else float("nan")
    alt = f"{count(len(truth), on)}: true numbers from {truth.min():.4g} to {truth.max():.4g}, predictions from " + (
        f"{said.min():.4g} to {said.max():.4g}, correlation {both:.2f}."
    )
    layout: dict[str, JSON] = {"xaxis": axis("true number"), "yaxis": axis("predicted number"), "height": 420}
    return Figure("predicted", "Predicted against true numbers", alt, data, layout)


def _residuals(error: NDArray[np.float64], on: str) -> Figure:
    counts, edges = np.histogram(error.ravel(), bins=min(_BINS, max(5, error.size // 3)))
    middles = (edges[1:] + edges[:-1]) / 2
    bars: dict[str, JSON] = {
        "type": "bar",
        "name": "rows",
        "x": rounded(middles),
        "y": counts.tolist(),
        "width": rounded(np.diff(edges)),
        "marker": {"color": BLUE, "line": {"color": GREY, "width": 1}},
    }
    low, middle, high = (float(q) for q in np.quantile(error, (0.05, 0.5, 0.95)))
    most = f"90 % from {low:.4g} to {high:.4g}"
    alt = f"Predicted less true number on {count(len(error), on)}: median {middle:.4g}, {most}."
    layout: dict[str, JSON] = {"xaxis": axis("predicted less true"), "yaxis": axis("rows"), "height": 320}
    return Figure("residuals", "What is left over", alt, [bars], layout)
