"""The parts of a report page: sections, each answering one question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ngm.io.run_folder import JSON

Cell: TypeAlias = "str | int | float | None"


@dataclass(frozen=True)
class Figure:
    """A plot.

    Args:
        key: Its name in file names and in the page; lower case, dashes.
        title: What it shows.
        alt: The plot in words, with the main figures, for readers who cannot see it.
        data: Traces, as plotly takes them.
        layout: Axes and margins for plotly. Colours of paper and text come from the page.
    """

    key: str
    title: str
    alt: str
    data: Sequence[Mapping[str, JSON]]
    layout: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True)
class ReportTable:
    """A table.

    Args:
        key: Its name.
        caption: What it holds.
        columns: Headings.
        rows: Cells: text, numbers or None. Numbers are right-aligned and written as `digits` says.
        digits: Decimals of numbers that are not whole.
        download: Name of the CSV file that the whole table can be taken as; None for no button.
        more: Further rows that are in the download and not shown.
    """

    key: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    digits: int = 3
    download: str | None = None
    more: Sequence[Sequence[Cell]] = ()


@dataclass(frozen=True)
class Space:
    """The hidden space in two dimensions; entry i of every list is node i.

    Args:
        ids: What the nodes are called.
        texts: What they say, or None.
        x: First coordinate.
        y: Second coordinate.
        classes: All names of classes.
        predicted: Number of the class that is predicted.
        label: Number of the class that is known, -1 where none is.
        role: 0 labelled, 1 validation, 2 unlabelled.
        probability: Of the predicted class, two decimals.
        edges: Pairs of nodes, flat: u0, v0, u1, v1, ...
        how: How the two dimensions were made, in words.
        kind: "classes", or "numbers" where `classes` are ranges of numbers: being in one is not being right.
    """

    ids: Sequence[str]
    texts: Sequence[str | None] | None
    x: Sequence[float]
    y: Sequence[float]
    classes: Sequence[str]
    predicted: Sequence[int]
    label: Sequence[int]
    role: Sequence[int]
    probability: Sequence[float | None]
    edges: Sequence[int]
    how: str
    kind: str = "classes"


@dataclass(frozen=True)
class Section:
    """An answer.

    Args:
        key: Name of the anchor.
        title: The question, short.
        answer: The answer in a sentence or two.
        notes: What else to know, a paragraph each.
        figures: Plots.
        tables: Tables.
        space: The hidden space, in the one section that shows it.
        verdict: "good", "bad" or "open" where the answer is one; colours it, never alone.
    """

    key: str
    title: str
    answer: str
    notes: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[ReportTable] = ()
    space: Space | None = None
    verdict: str | None = None


@dataclass(frozen=True)
class Page:
    """A whole report.

    Args:
        title: Names the run or the runs.
        subtitle: What it is about, in a line.
        sections: In the order in which they are read.
    """

    title: str
    subtitle: str
    sections: Sequence[Section]
