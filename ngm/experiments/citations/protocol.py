"""Section 4.4, document classification with 20 labels a class: PubMed as in the paper, Cora and Citeseer by its rules.

In the inductive setting the test nodes and all their edges are absent while training, as in the paper's own two rows;
in the transductive one they are unlabelled nodes of the graph. Settings, epochs and rounds are chosen on the 500
validation nodes, whose labels no method trains on; the test nodes are scored once.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ngm._spelling import nearest
from ngm.datasets import Dataset, Progress, load
from ngm.experiments.citations import DATASETS
from ngm.experiments.citations.methods import METHODS, CitationMethod, Setting
from ngm.experiments.citations.splits import CitationCell, view
from ngm.experiments.code_digest import code_digest
from ngm.experiments.experiment import Choices, Plan
from ngm.experiments.scores import Score, Scores
from ngm.experiments.table import ResultTable, Row, summary
from ngm.graph import Graph
from ngm.io.run_folder import JSON

__all__ = ["CURVE", "DATASETS", "METHODS", "SETTINGS", "check", "count", "curve", "inductive", "plan", "run"]
SETTINGS: tuple[Setting, ...] = ("inductive", "transductive")
LABELS_PER_CLASS = (1, 2, 5, 10, 20)
CURVE = ("ffnn", "ngm", "ours")


def run(
    rows: Sequence[str] = tuple(METHODS),
    seeds: int = 10,
    quick: bool = False,
    progress: Progress | None = None,
    on_seed: Callable[[str], None] = lambda method: None,
    dataset: str = "pubmed",
    scores: Scores | None = None,
    settings: Sequence[Setting] = SETTINGS,
) -> ResultTable:
    """Runs rows of the table.

    Args:
        rows: Keys of `METHODS`.
        seeds: Seeds per row; the split is the public one, a seed sets initial weights, walks and batches.
        quick: Two seeds.
        progress: Called while data is fetched.
        on_seed: Called with the row's name after each seed.
        dataset: One of `DATASETS`.
        scores: Where finished seeds are kept.
        settings: Columns to fill.

    Returns:
        Test accuracies.
    """
    check(rows, dataset)
    data, cache = load(dataset, progress), scores or Scores()
    table_rows, notes = [], _notes(data)
    for key, setting in cells(rows, settings):
        method, cell = METHODS[key], CitationCell(METHODS[key], data, setting)
        if method.package and importlib.util.find_spec(method.package) is None:
            notes.append(f"{method.name} is left out: it needs {method.package} (pip install {method.package})")
            continue
        cell_scores = []
        for seed in seed_numbers(method, seeds, quick):
            cell_scores.append(cache.get(_cache_key("pubmed", dataset, key, setting, seed), cell, seed))
            on_seed(method.name)
        table_rows.append(_row(method, setting, cell_scores, dataset))
        if len(method.candidates) > 1:
            notes.append(f"{method.name}, {setting}: of its candidates validation chose {cell_scores[0].chosen}")
    notes += _differences(rows, table_rows, dataset)
    return ResultTable("pubmed", table_rows, notes)


def curve(
    rows: Sequence[str] = CURVE,
    seeds: int = 10,
    quick: bool = False,
    progress: Progress | None = None,
    on_seed: Callable[[str], None] = lambda method: None,
    dataset: str = "pubmed",
    scores: Scores | None = None,
) -> ResultTable:
    """Accuracy against the number of labels: 1, 2, 5, 10 and 20 a class, test nodes out of the graph.

    Args:
        rows: Keys of `METHODS`.
        seeds: A seed draws the labels too.
        quick: See `run`, as for the rest.
        progress: See `run`.
        on_seed: See `run`.
        dataset: See `run`.
        scores: See `run`.
    """
    check(rows, dataset)
    for key in rows:
        if "inductive" not in METHODS[key].settings:
            raise ValueError(f"row {key!r} cannot predict nodes outside the graph; leave it out of the curve")
    data, cache, table_rows = load(dataset, progress), scores or Scores(), []
    for key in rows:
        method = METHODS[key]
        for number in LABELS_PER_CLASS:
            cell_scores = []
            for seed in range(2 if quick else seeds):
                cell = CitationCell(method, data, "inductive", number, draw=seed)
                cell_scores.append(cache.get(_cache_key("pubmed-curve", dataset, key, str(number), seed), cell, seed))
                on_seed(method.name)
            table_rows.append(_row(method, "inductive", cell_scores, dataset, labels=number * len(data.classes)))
    notes = [
        f"{dataset}, test nodes out of the graph; labels per class {', '.join(map(str, LABELS_PER_CLASS))}, drawn from "
        "the public seeds, a new draw for every seed, the same for every method",
        "the 500 validation nodes keep their role, which is generous where labels are few, and the same for all rows",
    ]
    return ResultTable("pubmed-curve", table_rows, notes)


def plan(choices: Choices) -> Plan:
    """Checks choices of rows, seeds, data set, setting and the curve."""
    seeds, quick, setting, dataset = choices.seeds, choices.quick, choices.setting, choices.dataset or DATASETS[0]
    if setting not in (*SETTINGS, "both"):
        raise ValueError(f"setting is {setting!r}; choose from {', '.join(SETTINGS)}, both")
    if choices.curve and setting == "transductive":
        raise ValueError("--curve is of the inductive setting; leave out --setting transductive")
    rows = choices.rows or list(CURVE if choices.curve else METHODS)
    check(rows, dataset)
    settings = [s for s in SETTINGS if setting in (s, "both")]
    if not choices.curve and not list(cells(rows, settings)):
        raise ValueError(f"none of the rows {', '.join(rows)} can be run in the {setting} setting; choose another")
    return Plan(
        count(rows, seeds, quick, settings, choices.curve),
        lambda progress, on_seed, scores: (
            curve(rows, seeds, quick, progress, on_seed, dataset, scores)
            if choices.curve
            else run(rows, seeds, quick, progress, on_seed, dataset, scores, settings)
        ),
    )


def check(rows: Sequence[str], dataset: str) -> None:
    """Refuses unknown names."""
    for key in rows:
        if key not in METHODS:
            raise ValueError(f"unknown row {key!r}{nearest(key, METHODS)}; choose from {', '.join(METHODS)}")
    if dataset not in DATASETS:
        raise ValueError(f"unknown data set {dataset!r}{nearest(dataset, DATASETS)}; choose from {', '.join(DATASETS)}")


def count(rows: Sequence[str], seeds: int, quick: bool, settings: Sequence[Setting], curve: bool) -> int:
    """How many times `on_seed` will be called."""
    if curve:
        return len(rows) * len(LABELS_PER_CLASS) * (2 if quick else seeds)
    return sum(len(seed_numbers(METHODS[key], seeds, quick)) for key, _ in cells(rows, settings))


def cells(rows: Sequence[str], settings: Sequence[Setting]) -> Iterator[tuple[str, Setting]]:
    """(key, setting) of every cell that exists."""
    for key in rows:
        for setting in settings:
            if setting in METHODS[key].settings:
                yield key, setting


def seed_numbers(method: CitationMethod, seeds: int, quick: bool) -> range:
    """Seeds to run; one where chance plays no part."""
    return range(1 if not method.chance else 2 if quick else seeds)


def inductive(data: Dataset) -> tuple[Graph, NDArray[np.int64]]:
    """The graph without the test nodes, and y with -1 for all but seeds and validation nodes."""
    if data.graph is None:
        raise ValueError(f"data set {data.name!r} has no graph")
    y = np.full(len(data.y), -1)
    for labeled_nodes in (data.train, data.validation):
        y[labeled_nodes] = data.y[labeled_nodes]
    return data.graph.without(data.test), y


def _cache_key(table: str, dataset: str, method: str, setting: str, seed: int) -> dict[str, JSON]:
    """What tells a score from others."""
    names = {"table": table, "dataset": dataset, "method": method, "setting": setting}
    return {**names, "seed": seed, "code": code_digest(__name__)}


def _row(
    method: CitationMethod, setting: Setting, cell_scores: list[Score], dataset: str, labels: int | None = None
) -> Row:
    published = method.published.get(dataset) if setting == method.column and labels is None else None
    return summary(cell_scores, method=method.name, setting=setting, paper=published, dataset=dataset, labels=labels)


def _notes(data: Dataset) -> list[str]:
    inductive_view = view(data, "inductive")
    kinds = np.bincount(2 - (inductive_view.y >= 0)[inductive_view.graph.edges.numpy()].sum(axis=1), minlength=3)
    return [
        f"inductive: test nodes and their edges are absent, which leaves {kinds[0]:,} LL, {kinds[1]:,} LU and "
        f"{kinds[2]:,} UU edges; transductive: they are unlabelled nodes of the graph",
        "settings, epochs and rounds are chosen on the 500 validation nodes; the test nodes are scored once. To choose "
        "settings in the inductive setting, the validation nodes are out of the graph too; the rows FFNN, NGM-FFNN and "
        "NGM-FFNN, self-trained, stop by them and so have them in it, unlabelled",
        "rows without chance in them have one seed; published figures of other data sets than PubMed are those of Yang "
        "et al. (2016), of GCN those of Kipf and Welling (2017)",
    ]


def _differences(rows: Sequence[str], table_rows: Sequence[Row], dataset: str) -> list[str]:
    """Why a figure is more than 2 points from the published one."""
    reasons = {METHODS[key].name: METHODS[key].why for key in rows}
    unknown = "the reason is not known"
    return [
        f"{row.method}, {100 * (row.mean - row.paper):+.1f} points against the published: "
        f"{reasons[row.method].get(dataset, unknown)}"
        for row in table_rows
        if row.paper is not None and abs(row.mean - row.paper) > 0.02
    ]
