"""Accuracy against the number of labels as a picture."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from ngm.experiments.table import ResultTable, Row
from ngm.io.files import file_written_whole

FORMATS = (".svg", ".png", ".pdf")
_STYLES = {
    "FFNN": ("#8a8f98", "o"),
    "tiny CNN": ("#8a8f98", "o"),
    "NGM-FFNN": ("#2a78d6", "s"),
    "tiny CNN + cuts": ("#3a9d5d", "^"),
    "NGM (ours)": ("#d1495b", "D"),
}
_OTHER_STYLES = (("#3a9d5d", "^"), ("#7b4fb5", "v"), ("#c98a1b", "P"))


def draw(table: ResultTable, file: Path) -> None:
    """Draws a table whose rows vary the number of labels: a line per method, bars of one standard deviation.

    Args:
        table: From `curve`.
        file: Where to; its ending says the format.
    """
    check_plot(file)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    other_styles = iter(_OTHER_STYLES)
    for method in dict.fromkeys(row.method for row in table.rows):
        rows = [row for row in table.rows if row.method == method]
        color, marker = _STYLES.get(method) or next(other_styles, ("#000000", "x"))
        counts, means = [row.labels or 0 for row in rows], [row.mean for row in rows]
        axes.errorbar(
            counts, means, yerr=[row.std for row in rows], color=color, marker=marker, capsize=3, label=method
        )
    ticks = sorted({row.labels or 0 for row in table.rows})
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("labelled articles" if table.name == "ag-news" else "labelled nodes")
    axes.set_ylabel(f"accuracy on test {'articles' if table.name == 'ag-news' else 'nodes'} out of the graph")
    axes.set_title(_title(table.rows[0]), loc="left")
    axes.grid(axis="y", color="#e3e5e8")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    with file_written_whole(file) as part:
        figure.savefig(part, format=file.suffix[1:], dpi=150)


def check_plot(file: Path) -> None:
    """Refuses what could not be drawn, before anything is computed for it."""
    if file.suffix not in FORMATS:
        raise ValueError(f"cannot draw {file}: its ending is {file.suffix!r}; choose from {', '.join(FORMATS)}")
    if importlib.util.find_spec("matplotlib") is None:
        raise ValueError("drawing needs matplotlib; pip install 'neural-graph-machines[plot]'")


def _title(row: Row) -> str:
    return f"{row.dataset}: accuracy against labels, mean and deviation of {row.seeds} seeds"
