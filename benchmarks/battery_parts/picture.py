"""The battery as a picture: a panel per data set, accuracy over labels a class, a line per row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from battery_parts.methods import METHODS
from battery_parts.problems import DATASETS, MULTI_LABEL
from battery_parts.tables import Summary
from ngm.io.files import file_written_whole

_COLUMNS = 4
_LOOKS: dict[str, dict[str, Any]] = {
    "logistic-regression": {"color": "#8a8f98", "marker": "o"},
    "minilm": {"color": "#a0653a", "marker": "1", "linestyle": "--"},
    "self-training": {"color": "#3a9d5d", "marker": "^"},
    "label-spreading": {"color": "#c98a1b", "marker": "v"},
    "plain": {"color": "#5c6470", "marker": "x", "linestyle": "--"},
    "propagation-student": {"color": "#7b4fb5", "marker": "P"},
    "paper": {"color": "#2a78d6", "marker": "s"},
    "strong": {"color": "#17a2a2", "marker": "*"},
    "default": {"color": "#d1495b", "marker": "D", "linewidth": 2.4, "zorder": 5},
    "default-attraction": {"color": "#d1495b", "marker": ".", "linestyle": "--"},
    "default-shares": {"color": "#d1495b", "marker": "+", "linestyle": ":"},
    "ceiling": {"color": "#9aa0a8", "linestyle": ":"},
}


def draw(summary: Summary, file: Path) -> None:
    """Draws the summary.

    Args:
        summary: What `summarize` gives.
        file: Where to; its ending says the format.
    """
    scores = [score for score in summary["scores"] if score["dataset"] not in MULTI_LABEL]
    names = [name for name in DATASETS if any(score["dataset"] == name for score in scores)]
    columns = min(_COLUMNS, len(names))
    lines = -(-len(names) // columns)
    figure = Figure(figsize=(2.9 * columns, 2.3 * lines + 0.9), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(lines, columns, squeeze=False)
    handles: dict[str, Any] = {}
    for axes, name in zip(grid.flat, names, strict=False):
        _panel(axes, name, [score for score in scores if score["dataset"] == name], handles)
    for axes in grid.flat[len(names) :]:
        axes.set_visible(False)
    for axes in grid.flat[max(len(names) - columns, 0) : len(names)]:  # the lowest of each column
        axes.set_xlabel("labels a class", fontsize=9)
    ordered = [row for row in METHODS if row in handles]
    figure.legend(
        [handles[row] for row in ordered],
        [METHODS[row].name for row in ordered],
        loc="outside lower center",
        ncols=min(len(ordered), 2 * columns if columns < _COLUMNS else 5),
        frameon=False,
    )
    figure.supylabel(f"accuracy on new {summary['part']} nodes and texts", fontsize=10)
    with file_written_whole(file) as part:
        figure.savefig(part, format=file.suffix[1:], dpi=150)


def _panel(axes: Axes, name: str, scores: list[dict[str, Any]], handles: dict[str, Any]) -> None:
    for row in METHODS:
        line = sorted((score for score in scores if score["row"] == row), key=lambda score: score["labels"])
        if line:
            labels, means = [score["labels"] for score in line], [score["mean"] for score in line]
            (handles[row],) = axes.plot(labels, means, markersize=4, **{"linewidth": 1.3, **_LOOKS[row]})
    ticks = sorted({score["labels"] for score in scores})
    axes.set_xscale("log")
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_title(name, loc="left", fontsize=10)
    axes.tick_params(labelsize=8)
    axes.grid(axis="y", color="#e3e5e8")
    axes.spines[["top", "right"]].set_visible(False)
