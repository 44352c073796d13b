"""A report page as one HTML text that needs nothing else: no network, no other file.

What a reader without JavaScript needs is plain HTML: answers, tables, and plots in words. What is drawn travels in the
page as compressed JSON, together with plotly, which draws it.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from ngm.io.node_records import writable
from ngm.io.run_folder import JSON
from ngm.report.class_names import shorten_name
from ngm.report.page import Figure, Page, ReportTable, Section, Space
from ngm.report.table_cells import format_table
from ngm.report.theme import DARK, HEIGHT, LIGHT, css, plotly_template, resolve_colors

# The word says what the colour says.
VERDICTS: Mapping[str, str] = {"good": "Positive", "bad": "Negative", "open": "Undecided"}
MAX_DATA = 4_500_000  # characters of compressed data in a page; with plotly that stays well under 8 MB
MAX_OPEN_ROWS = 20  # rows; longer tables are folded
_SCRIPTS = ("theme.js", "tables.js", "figures.js", "groups.js", "space.js", "search.js", "start.js")
_TEXT_LENGTHS = (400, 240, 160, 100, 60, 30, 0)  # of a text in the hidden space, until the page is small enough
_UNESCAPED_KEYS = ("hovertemplate", "texttemplate")  # written by the report itself, with plotly's own marks in them


def render(page: Page) -> str:
    """The page as HTML.

    Args:
        page: Titles, texts, ids and names of classes in it may be anybody's: they are shown as they are written, and
            none of it is taken for HTML.

    Returns:
        A whole document: style, scripts, plotly and data are in it.
    """
    _check(page)
    environment = Environment(
        loader=PackageLoader("ngm", "report"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        verdicts=VERDICTS, height=_height, in_words=describe_space, table=format_table, folded=MAX_OPEN_ROWS
    )
    first_script, script = _read_file("first.js"), _page_script()
    text = environment.get_template("page.html").render(
        page=page,
        policy=Markup(policy(first_script, script, _plotly_script(), with_map=_has_map(page))),
        light=Markup(css(LIGHT)),
        dark=Markup(css(DARK)),
        style=Markup(_read_file("page.css")),
        first_script=Markup(first_script),
        script=Markup(script),
        data=Markup(_data(page)),
        plotly=Markup(_plotly()),
    )
    return writable(text) + "\n"


def policy(*scripts: str, with_map: bool) -> str:
    """The content security policy: only these scripts run, and nothing is loaded.

    Args:
        scripts: Texts of the scripts, as they stand between their tags.
        with_map: Whether plotly draws a map by WebGL, for which it makes functions out of text of its own.

    Returns:
        A content security policy. Styles may stand anywhere, since plotly writes them at every element it draws.
    """
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in scripts)
    directives = (
        "default-src 'none'",
        f"script-src {hashes}" + (" 'unsafe-eval'" if with_map else ""),
        "script-src-attr 'none'",
        "style-src 'unsafe-inline'",
        "img-src data: blob:",
        "connect-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(directives)


def plotly_figure(figure: Figure, dark: bool = False) -> dict[str, JSON]:
    """A figure as plotly is to draw it: names escaped, in the colours of the page.

    Returns:
        `data` and `layout`, as `plotly.io` takes them.

    >>> bars = Figure("sizes", "Sizes", "a is larger.", [{"type": "bar", "x": ["a<b", "c"], "y": [2, 1]}])
    >>> plotly_figure(bars)["data"]
    [{'type': 'bar', 'x': ['a&lt;b', 'c'], 'y': [2, 1]}]
    """
    colors = DARK if dark else LIGHT
    layout = resolve_colors(_escaped_json(dict(figure.layout)), colors)
    assert isinstance(layout, dict)
    return {
        "data": resolve_colors(_escaped_json(list(figure.data)), colors),
        "layout": {"height": HEIGHT, **layout, "template": plotly_template(colors)},
    }


def describe_space(space: Space) -> str:
    """Describes the hidden space in words, for readers who cannot see it.

    >>> describe_space(Space(["a", "b"], None, [0, 1], [0, 1], ["x", "y"], [0, 1], [0, -1], [0, 2], [1, 0.6], [0, 1],
    ... "PCA"))
    '2 nodes and 1 edge; 1 labelled, 0 for validation, 1 unlabelled. Predicted: x (1), y (1).'
    """
    roles = Counter(space.role)
    nodes, edges = len(space.ids), len(space.edges) // 2
    sentences = [
        f"{nodes:,} {'node' if nodes == 1 else 'nodes'} and {edges:,} {'edge' if edges == 1 else 'edges'}; "
        f"{roles[0]:,} labelled, {roles[1]:,} for validation, {roles[2]:,} unlabelled."
    ]
    counts = [(k, count) for k, count in Counter(space.predicted).most_common() if 0 <= k < len(space.classes)]
    if counts:
        class_counts = ", ".join(f"{shorten_name(space.classes[k])} ({count:,})" for k, count in counts[:8])
        more_text = f" and {len(counts) - 8} more classes" if len(counts) > 8 else ""
        sentences.append(f"Predicted: {class_counts}{more_text}.")
    checked = [(p, y) for p, y, role in zip(space.predicted, space.label, space.role, strict=True) if role == 1]
    if checked and space.kind != "numbers":
        num_correct = sum(p == y for p, y in checked)
        sentences.append(f"Of the nodes for validation {num_correct:,} of {len(checked):,} are predicted right.")
    return " ".join(sentences)


def _check(page: Page) -> None:
    """Raises if the page cannot be rendered."""
    tables = [table for section in page.sections for table in section.tables]
    figures = [figure for section in page.sections for figure in section.figures]
    kinds: Mapping[str, Sequence[Section | Figure | ReportTable]] = {
        "sections": page.sections,
        "figures": figures,
        "tables": tables,
    }
    for kind, items in kinds.items():
        for key, count in Counter(item.key for item in items).items():
            if count > 1:
                raise ValueError(f"{count} {kind} have the key {key!r}; give each a different key")
    for section in page.sections:
        if section.verdict is not None and section.verdict not in VERDICTS:
            raise ValueError(
                f"section {section.key!r} has the verdict {section.verdict!r}; it is {', '.join(VERDICTS)} or None"
            )
        if section.space is not None:
            _check_space(section.space)
    for table in tables:
        for row in (*table.rows, *table.more):
            if len(row) != len(table.columns):
                raise ValueError(
                    f"table {table.key!r} has {len(table.columns)} columns and a row of {len(row)} cells; "
                    "give one cell per column"
                )


def _check_space(space: Space) -> None:
    names = ("x", "y", "predicted", "label", "role", "probability", *(["texts"] if space.texts is not None else []))
    for name in names:
        if len(getattr(space, name)) != len(space.ids):
            raise ValueError(
                f"the hidden space has {len(space.ids)} ids and {len(getattr(space, name))} entries of {name}; "
                "give one per node"
            )


def _data(page: Page) -> str:
    """Everything that scripts draw, compressed; texts of nodes are cut until it is small enough."""
    figures = {
        figure.key: {
            "data": _escaped_json(list(figure.data)),
            "layout": _escaped_json(dict(figure.layout)),
            "title": figure.title,
        }
        for section in page.sections
        for figure in section.figures
    }
    tables = {
        table.key: {"file": table.download, "columns": list(table.columns), "rows": [*table.rows, *table.more]}
        for section in page.sections
        for table in section.tables
        if table.download is not None
    }
    themes = {
        name: {"colors": dict(colors), "template": plotly_template(colors)}
        for name, colors in (("light", LIGHT), ("dark", DARK))
    }
    packed = ""
    for max_length in _TEXT_LENGTHS:
        spaces = {s.key: _space_json(s.space, max_length) for s in page.sections if s.space is not None}
        content = {"figures": figures, "tables": tables, "themes": themes, "height": HEIGHT, "spaces": spaces}
        packed = _compress(json.dumps(_finite(content), ensure_ascii=False, allow_nan=False, separators=(",", ":")))
        if len(packed) <= MAX_DATA or not spaces:
            break
    return packed


def _space_json(space: Space, max_length: int) -> dict[str, JSON]:
    texts = None
    if space.texts is not None and max_length:
        texts = [t if t is None or len(t) <= max_length else t[: max_length - 1].rstrip() + "…" for t in space.texts]
    return {
        "ids": [str(name) for name in space.ids],
        "texts": texts,  # type: ignore[dict-item]
        "x": [_round_five(v) for v in space.x],
        "y": [_round_five(v) for v in space.y],
        "classes": [str(name) for name in space.classes],
        "predicted": [int(v) for v in space.predicted],
        "label": [int(v) for v in space.label],
        "role": [int(v) for v in space.role],
        "probability": [None if v is None else _round_five(v) for v in space.probability],
        "edges": [int(v) for v in space.edges],
        "kind": space.kind,
    }


def _round_five(value: float) -> float:
    """Rounds to five significant digits."""
    return float(f"{value:.5g}")


def _escaped_json(value: object, name: str = "") -> JSON:
    """JSON of what plotly is given, with texts escaped: plotly takes some HTML in them, and ids may look like it."""
    if isinstance(value, str):
        return value if name in _UNESCAPED_KEYS else html.escape(value, quote=False)
    if isinstance(value, Mapping):
        return {str(k): _escaped_json(v, str(k)) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_escaped_json(v, name) for v in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int):
        return value
    raise TypeError(f"a figure holds {value!r}, which is not JSON; give numbers, texts, lists and dicts")


def _finite(value: object) -> object:
    """The same, with None for numbers that JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {k: _finite(v) for k, v in value.items()}
    return [_finite(v) for v in value] if isinstance(value, list | tuple) else value


def _compress(text: str) -> str:
    return base64.b64encode(gzip.compress(writable(text).encode(), compresslevel=6, mtime=0)).decode()


def _page_script() -> str:
    """What the page does, in a scope of its own."""
    return "\n".join(['"use strict";', "(() => {", *(_read_file(name) for name in _SCRIPTS), "})();"])


def _has_map(page: Page) -> bool:
    return any(section.space is not None for section in page.sections)


@lru_cache(maxsize=1)
def _plotly_script() -> str:
    from plotly.offline import get_plotlyjs  # slow to import, and only pages need it

    return writable(str(get_plotlyjs()))


@lru_cache(maxsize=1)
def _plotly() -> str:
    return _compress(_plotly_script())


def _read_file(name: str) -> str:
    return resources.files("ngm.report").joinpath(name).read_text(encoding="utf-8")


def _height(figure: Figure) -> int:
    height = figure.layout.get("height", HEIGHT)
    return int(height) if isinstance(height, int | float) else HEIGHT
