"""The plots of a report as PNG or SVG files, drawn by a browser from the same figures."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from ngm._spelling import nearest
from ngm.io.files import file_written_whole
from ngm.io.run_folder import JSON
from ngm.report.page import Figure, Page, Space
from ngm.report.plotting import GREY, PALETTE, count
from ngm.report.render import plotly_figure

ImageFormat = Literal["png", "svg"]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
SYMBOLS = ("circle", "square", "diamond", "cross", "triangle-up", "x")
_WIDTH, _HEIGHT = 900, 480
_SPACE_SIZE = 820  # of the hidden space
_MAX_LEGEND_CLASSES = 20  # classes, at most, in a legend


def write_images(page: Page, folder: str | Path, form: str = "png") -> list[Path]:
    """Writes every plot of a page, and the hidden space, into a folder.

    Args:
        page: From `page_of`.
        folder: Made where it is not there; files of the same names are replaced.
        form: "png" or "svg".

    Returns:
        The files, by the order of the page; each is named after its plot.
    """
    check_images(folder, form)
    browser = find_browser()
    figures = figures_of(page)
    import kaleido

    with tempfile.TemporaryDirectory() as name:
        drawn_files = [Path(name) / f"{figure.key}.{form}" for figure in figures]
        specs = [_kaleido_spec(figure, file, form) for figure, file in zip(figures, drawn_files, strict=True)]
        errors = kaleido.write_fig_from_object_sync(specs, kopts={"path": browser, "mathjax": False})
        if errors:
            raise RuntimeError(f"{browser} could not draw a plot: {errors[0]}")
        files = []
        for file in drawn_files:
            with file_written_whole(Path(folder) / file.name) as temporary:
                shutil.copyfile(file, temporary)
            files.append(Path(folder) / file.name)
    return files


def check_images(folder: str | Path, form: str) -> None:
    """Checks format, folder and browser before anything is drawn."""
    if form not in get_args(ImageFormat):
        choices = get_args(ImageFormat)
        raise ValueError(f"the format is {form!r}{nearest(form, choices)}; choose from {', '.join(choices)}")
    if Path(folder).is_file():
        raise FileExistsError(f"{folder} is a file; name a folder for the plots")
    try:
        import kaleido  # noqa: F401
    except ImportError:
        raise ValueError(
            "plots as files are drawn by kaleido, which is not installed: pip install 'neural-graph-machines[images]'"
        ) from None
    find_browser()


def find_browser() -> str:
    """A browser to draw with: the one that BROWSER_PATH names, else one by its usual name."""
    browser_path = os.environ.get("BROWSER_PATH")
    if browser_path:
        if not Path(browser_path).is_file():
            raise ValueError(f"BROWSER_PATH is {browser_path}, where there is no file; name a Chromium or Chrome")
        return browser_path
    browser = next((path for path in map(shutil.which, BROWSERS) if path), None) or _find_kaleido_browser()
    if browser is None:
        raise ValueError(
            f"plots as files are drawn by Chromium or Chrome, and none was found (looked for {', '.join(BROWSERS)}); "
            "install one, or name it in BROWSER_PATH"
        )
    return browser


def _find_kaleido_browser() -> str | None:
    """Finds a browser where the drawing library looks: folders of applications, and its own download."""
    from choreographer.browsers.chromium import Chromium

    browser = Chromium.find_browser(skip_local=False)
    return None if not browser else str(browser)


def figures_of(page: Page) -> list[Figure]:
    """All plots of a page in order, the hidden space among them."""
    figures: list[Figure] = []
    for section in page.sections:
        figures += section.figures
        if section.space is not None:
            figures.append(space_figure(section.space))
    return figures


def space_figure(space: Space) -> Figure:
    """The hidden space as a plot: edges, and a colour and a shape for every predicted class."""
    x, y, y_pred = np.asarray(space.x), np.asarray(space.y), np.asarray(space.predicted)
    data: list[dict[str, JSON]] = []
    if len(space.edges):
        data.append(_edges(space))
    present = [k for k in range(len(space.classes)) if bool((y_pred == k).any())]
    for k in present:
        trace: dict[str, JSON] = {
            "type": "scatter",
            "mode": "markers",
            "name": space.classes[k],
            "x": x[y_pred == k].tolist(),
            "y": y[y_pred == k].tolist(),
            "marker": {
                "color": PALETTE[k % len(PALETTE)],
                "size": 5,
                "symbol": SYMBOLS[k // len(PALETTE) % len(SYMBOLS)],
            },
            "showlegend": len(present) <= _MAX_LEGEND_CLASSES,
        }
        data.append(trace)
    hidden: JSON = {"visible": False}
    y_axis: JSON = {"visible": False, "scaleanchor": "x"}
    layout: dict[str, JSON] = {"xaxis": hidden, "yaxis": y_axis, "height": _SPACE_SIZE, "width": _SPACE_SIZE}
    alt = f"{count(len(space.ids), 'node')} in two dimensions, coloured by predicted class."
    return Figure("space", "The hidden space", alt, data, layout)


def _edges(space: Space) -> dict[str, JSON]:
    """All edges as one broken line."""

    def broken(values: Sequence[float]) -> list[JSON]:
        ends = space.edges
        segments = [[values[u], values[v], None] for u, v in zip(ends[::2], ends[1::2], strict=True)]
        return [value for segment in segments for value in segment]

    style: JSON = {"color": GREY, "width": 0.4}
    coordinates: dict[str, JSON] = {"x": broken(space.x), "y": broken(space.y)}
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "edges",
        "line": style,
        "opacity": 0.35,
        "showlegend": False,
        **coordinates,
    }


def _kaleido_spec(figure: Figure, file: Path, form: str) -> dict[str, object]:
    plot = plotly_figure(figure)
    layout = plot["layout"]
    assert isinstance(layout, dict)
    layout |= {"title": {"text": figure.title, "x": 0.02}, "margin": {"t": 60, "l": 60, "r": 30, "b": 60}}
    layout |= {"legend": {"orientation": "v", "x": 1.02, "xanchor": "left", "y": 1, "yanchor": "top"}}
    size = {
        "width": layout.get("width", _WIDTH),
        "height": layout.get("height", _HEIGHT),
        "scale": 2 if form == "png" else 1,
    }
    return {"fig": plot, "path": str(file), "opts": {"format": form, **size}}
