"""`read_table`, `read_graph`, `save_graph`: files, tables in memory and queries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd

import ngm
from fuzzing import values
from fuzzing.files import FIELDS, NAMES, ODD_NAMES, table_file

DELIMITERS = (None, None, None, ",", ";", "tab", "space", "\t", "", "::", ",,,,,", "\n", '"', "é", "\x00", 3)
QUERIES = (
    "SELECT 1 AS id",
    "select i as id, i % 3 as label from range(6) t(i)",
    "SELECT",
    "SELECT 1; SELECT 2",
    "from nowhere",
    "select * from 'table.csv'",
    "values (1, 2), (2, 3)",
    "select 1 as a, 2 as a",
    "with t as (select 1) select * from t",
    "select i src, i + 1 dst from range(5) t(i)",
    "SELECT 1/0 AS x, 'a'::INT AS y",
    "select 1 where false",
    "set threads = 1",
    "select unnest([1, 2]) as src, unnest([2, 3]) as dst, 'w' as weight",
    "select '" + "x" * 300 + "' as a",
)


def make(rng: Random, folder: Path) -> Callable[[], object]:
    """One case."""
    return rng.choice([_table, _graph, _graph, _saved])(rng, folder)


def _source(rng: Random, folder: Path, stem: str) -> object:
    kind = rng.random()
    if kind < 0.65:
        file = table_file(rng, folder, stem)
        return rng.choice([file, str(file), file.name])
    if kind < 0.8:
        return {rng.choice(ODD_NAMES): _column(rng) for _ in range(rng.randint(0, 4))}
    if kind < 0.9:
        return values.frame(rng, 6)
    if kind < 0.95:
        return rng.choice(QUERIES)
    odd = [
        "",
        " ",
        "none.csv",
        folder,
        Path(),
        "*.csv",
        "[",
        "\x00",
        "a\nb",
        "x" * 300,
        None,
        3,
        [],
        [[1, 2]],
        np.eye(2),
        "http://",
        pd.Series([1]),
    ]
    return rng.choice(odd)


def _column(rng: Random) -> object:
    rows = rng.choice([6] * 8 + [5, 0])
    kinds: list[Callable[[], object]] = [
        lambda: [rng.randint(0, 5) for _ in range(rows)],
        lambda: [rng.choice(FIELDS) for _ in range(rows)],
        lambda: [rng.choice([1, 2.5, None, "a", float("nan"), b"b", 2**70, [1], {}]) for _ in range(rows)],
        lambda: values.array(rng, rows),
        lambda: rng.choice(
            [
                None,
                3,
                "word",
                [[1], [1, 2]],
                pd.Series([1, None, 3, 4, 5, 6], dtype="Int64"),
                range(6),
                np.array(["a"] * 6, dtype="S1"),
            ]
        ),
    ]
    return rng.choice(kinds[:2] if rng.random() < 0.6 else kinds)()


def _table(rng: Random, folder: Path) -> Callable[[], object]:
    source = _source(rng, folder, "table")
    delimiter, header = rng.choice([None] * 15 + list(DELIMITERS)), rng.choice([None] * 6 + [True, False])
    if not isinstance(source, str | Path) and rng.random() < 0.9:
        delimiter = header = None

    def call() -> object:
        table = ngm.read_table(source, delimiter, header)
        return repr(table), [table.column(name) for name in table.columns]

    return call


def _graph(rng: Random, folder: Path) -> Callable[[], object]:
    edges = _source(rng, folder, "edges")
    nodes = _source(rng, folder, "nodes") if rng.random() < 0.5 else None
    options: dict[str, object] = {}
    for name in ("id", "source", "target", "weight", "label"):
        if rng.random() < 0.06:
            options[name] = rng.choice(NAMES if rng.random() < 0.8 else (*ODD_NAMES, 3, None))
    if rng.random() < 0.3:
        options["merge"] = rng.choice(["max", "sum", "mean", "sum", "mean", "min", None])
    if rng.random() < 0.5 and nodes is not None:
        options["dangling"] = rng.choice(["drop", "add", "drop", "add", "error", "keep", None])
    if rng.random() < 0.2:
        options["directed"] = rng.choice([True, True, 1, None])
    if rng.random() < 0.1:
        options["delimiter"] = rng.choice(DELIMITERS)
    if rng.random() < 0.1:
        options["header"] = rng.choice([True, False])
    if rng.random() < 0.05:
        options["memory_limit"] = rng.choice(["1GB", "much", "", "0", "-1GB", "1", 3])
    if rng.random() < 0.5:
        options["folder"] = rng.choice(
            [folder / "out", "out", "out", "out", "out", "a/b/c", "out [1]", folder, "", ".", "x" * 300, "\x00"]
        )

    def call() -> object:
        data = ngm.read_graph(edges, nodes, **options)
        return repr(data), data.ids, data.y, data.graph.csr, [data.column(name) for name in data.columns]

    return call


def _saved(rng: Random, folder: Path) -> Callable[[], object]:
    graph = values.good_graph(rng, 6)
    nodes = _source(rng, folder, "nodes") if rng.random() < 0.8 else None
    id_, label = (rng.choice([None, None, rng.choice(ODD_NAMES), 3]) for _ in range(2))
    counts = rng.choice([None, {}, {"a": 1}, {"a": {1}}, {"a": float("nan")}, {1: 2}, 3, "word"])

    def call() -> object:
        data = ngm.save_graph("out", graph, nodes, id_, label, counts)
        ids = data.ids
        return repr(data), data.rows(ids[:2]), data.y

    return call
