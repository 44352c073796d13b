"""Colours of the report and its plots, light and dark."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ngm.io.run_folder import JSON

Colors: TypeAlias = Mapping[str, str]

# Text on `page`, `card` and the tints has a contrast of at least 4.5 to 1, marks on `card` of at least 3 to 1.
LIGHT: Colors = {
    "page": "#f6f5f1",
    "card": "#ffffff",
    "ink": "#1c2430",
    "muted": "#566070",
    "line": "#dbdcd8",
    "edge": "#9aa3b0",
    "accent": "#1d5bb5",
    "tint": "#e9f0fa",
    "good": "#1c6b41",
    "good-tint": "#e4f3ea",
    "bad": "#a8323f",
    "bad-tint": "#fbe9ea",
    "open": "#7a5408",
    "open-tint": "#faf0d9",
    "mark": "#111111",
    "heat": "#2468c9",
    "shade": "#00000038",
    "series-1": "#2468c9",
    "series-2": "#cc4a35",
    "series-3": "#2b8a57",
    "series-4": "#b27a10",
    "series-5": "#7a4fbf",
    "series-6": "#0d8596",
    "series-7": "#bf4f8d",
    "series-8": "#6a7482",
    "series-9": "#8d5b36",
    "series-10": "#5d7d1c",
}
DARK: Colors = {
    "page": "#12161d",
    "card": "#1a202a",
    "ink": "#e8ebf0",
    "muted": "#a4aebc",
    "line": "#323b49",
    "edge": "#5c6879",
    "accent": "#86b6ff",
    "tint": "#1f2d44",
    "good": "#7fd6a4",
    "good-tint": "#16301f",
    "bad": "#ff9aa2",
    "bad-tint": "#3a1d22",
    "open": "#ecc46c",
    "open-tint": "#33290f",
    "mark": "#ffffff",
    "heat": "#3a6fc0",
    "shade": "#000000b0",
    "series-1": "#6ea6ff",
    "series-2": "#ff8a70",
    "series-3": "#5ecb92",
    "series-4": "#e6b34a",
    "series-5": "#b795f2",
    "series-6": "#45c3d2",
    "series-7": "#f08cc1",
    "series-8": "#a3adbb",
    "series-9": "#d39d74",
    "series-10": "#a9cf58",
}
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif"
HEIGHT = 340  # of a plot that does not say, in pixels
_VARIABLE = re.compile(r"var\(--([a-z0-9-]+)\)")


def css(colors: Colors) -> str:
    """The colours as declarations of a style sheet.

    >>> css({"ink": "#111111"})
    '--ink: #111111;'
    """
    return " ".join(f"--{name}: {value};" for name, value in colors.items())


def resolve_colors(value: JSON, colors: Colors) -> JSON:
    """The same, with every text of the form `var(--name)` as the colour of that name.

    >>> resolve_colors({"color": "var(--ink)", "size": 3}, {"ink": "#111111"})
    {'color': '#111111', 'size': 3}
    """
    if isinstance(value, str):
        match = _VARIABLE.fullmatch(value)
        if match is None:
            return value
        if match[1] not in colors:
            raise ValueError(f"there is no colour {value!r}; the colours are {', '.join(colors)}")
        return colors[match[1]]
    if isinstance(value, list):
        return [resolve_colors(v, colors) for v in value]
    if isinstance(value, dict):
        return {k: resolve_colors(v, colors) for k, v in value.items()}
    return value


def plotly_template(colors: Colors) -> dict[str, JSON]:
    """Defaults of plotly figures: colours, fonts, grids, margins, legend above the plot."""
    scale: Sequence[str] = (colors["card"], colors["heat"])
    axis: dict[str, JSON] = {
        "automargin": True,
        "gridcolor": colors["line"],
        "linecolor": colors["line"],
        "zerolinecolor": colors["line"],
        "zerolinewidth": 1,
        "ticks": "outside",
        "ticklen": 6,
        "tickcolor": colors["card"],
        "title": {"standoff": 12, "font": {"size": 13, "color": colors["muted"]}},
        "tickfont": {"color": colors["muted"]},
    }
    heatmap: dict[str, JSON] = {
        "colorscale": [[i, color] for i, color in enumerate(scale)],
        "colorbar": {"outlinewidth": 0, "thickness": 12, "tickfont": {"color": colors["muted"]}},
        "xgap": 1,
        "ygap": 1,
    }
    return {
        "data": {"heatmap": [heatmap]},
        "layout": {
            "paper_bgcolor": colors["card"],
            "plot_bgcolor": colors["card"],
            "colorway": [colors[f"series-{i}"] for i in range(1, 11)],
            "font": {"family": FONT, "size": 13, "color": colors["ink"]},
            "hoverlabel": {
                "bgcolor": colors["card"],
                "bordercolor": colors["muted"],
                "font": {"family": FONT, "size": 13, "color": colors["ink"]},
                "align": "left",
            },
            "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"},
            "margin": {"l": 8, "r": 16, "t": 28, "b": 8},
            "bargap": 0.35,
            "modebar": {"bgcolor": colors["card"], "color": colors["muted"], "activecolor": colors["accent"]},
            "xaxis": axis,
            "yaxis": axis,
        },
    }
