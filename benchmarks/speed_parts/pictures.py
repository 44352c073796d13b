"""The plots of docs/speed.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ngm.io.files import file_written_whole
from speed_parts.goals import Result

_COLORS = {
    "ngm": "#d1495b",
    "ngm, paper": "#e88a95",
    "ngm, default": "#d1495b",
    "ngm knn_graph": "#d1495b",
    "NSL": "#c98a1b",
    "NSL, packed in its favour": "#e3bd74",
    "PyG": "#2a78d6",
    "PyG GCN": "#2a78d6",
    "pynndescent": "#7b4fb5",
    "faiss IVF": "#2a78d6",
    "faiss HNSW": "#17a2a2",
    "hnswlib": "#3a9d5d",
    "usearch": "#c98a1b",
    "faiss flat": "#8a8f98",
    "ngm exact": "#e88a95",
}


def draw(name: str, result: Result, file: Path) -> None:
    """Draws the plot of a result.

    Args:
        name: Of the result.
        result: As kept.
        file: Where to; its ending says the format.
    """
    figure = _PLOTS[name](result)
    with file_written_whole(file) as part:
        figure.savefig(part, format=file.suffix[1:], dpi=150)


def _figure(panels: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    every = list(figure.subplots(1, panels, squeeze=False).flat)
    for axes in every:
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    return figure, every


def _epoch(result: Result) -> Figure:
    rows: dict[str, Any] = result["rows"]
    figure, panels = _figure(len(rows), 4.6 * len(rows), 2.2)
    for axes, (data, row) in zip(panels, rows.items(), strict=True):
        names = list(row["contenders"])
        rates = [row["contenders"][name]["edges_per_second"] for name in names]
        bars = axes.barh(names, rates, color=[_COLORS[name] for name in names], height=0.6)
        axes.bar_label(bars, [f"{rate:,}" for rate in rates], padding=3, fontsize=8)
        axes.invert_yaxis()
        axes.set_xlim(0, 1.25 * max(rates))
        axes.set_title(data, loc="left", fontsize=10)
        axes.set_xlabel("edges per second", fontsize=9)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:,.0f}k")
        axes.xaxis.set_major_locator(_few_ticks())
    return figure


def _few_ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(4)


def _accuracy(result: Result) -> Figure:
    figure, (axes,) = _figure(1, 6.4, 3.6)
    for name, by_seed in result["curves"].items():
        for i, curve in enumerate(by_seed.values()):
            best, points = 0.0, []
            for seconds, accuracy in curve:
                best = max(best, accuracy)
                points.append((seconds, best))
            label = name if i == 0 else None
            axes.step(*zip(*points, strict=True), where="post", color=_COLORS[name], label=label, linewidth=1.3)
    axes.set_xscale("log")
    axes.set_ylim(bottom=0.6)
    axes.set_xlabel("seconds, a line for each seed", fontsize=9)
    axes.set_ylabel("best validation accuracy so far", fontsize=9)
    axes.grid(axis="y", color="#e3e5e8")
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    return figure


def _knn(result: Result) -> Figure:
    figure, (axes,) = _figure(1, 6.4, 3.6)
    lines = [line for line in result["lines"] if "build" in line]
    sizes = sorted({line["rows"] for line in lines})
    for name in dict.fromkeys(line["library"] for line in lines):
        mine = sorted((line["rows"], line["seconds"]) for line in lines if line["library"] == name)
        width = 2.4 if name.startswith("ngm") else 1.3
        axes.plot(*zip(*mine, strict=True), marker="o", markersize=4, color=_COLORS[name], label=name, linewidth=width)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("rows", fontsize=9)
    axes.set_ylabel("seconds", fontsize=9)
    axes.grid(axis="y", color="#e3e5e8")
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


_PLOTS: dict[str, Callable[[Result], Figure]] = {"epoch-peers": _epoch, "time-to-accuracy": _accuracy, "knn": _knn}
