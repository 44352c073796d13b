"""Graphs from tables: equal to `Graph.from_edges`, every row accounted for, and read back by the users' ids."""

from __future__ import annotations

import random
import uuid
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

from ngm import Graph
from ngm.graph import Merge
from ngm.io import graph_data
from ngm.io.graph_data import read_graph
from ngm.io.tables import edge_files, ingest, read_table
from tests.edge_tables import EDGES, NODES, assert_same

Id = str | int
Rows = list[tuple[Id, Id, float]]
KINDS: dict[str, Callable[[int], Id]] = {
    "text": lambda i: f"node {i * 7919 % 1000:03d}",
    "long text": lambda i: f"https://example.org/things/{i * 7919 % 1000}",
    "numbers": lambda i: i * 7919 % 1000 - 500,
    "zeros in front": lambda i: f"{i:03d}",
}


def random_rows(name: Callable[[int], Id], seed: int = 0, nodes: int = 40, count: int = 400) -> Rows:
    rng = np.random.default_rng(seed)
    pairs, weight = rng.integers(nodes, size=(count, 2)), rng.integers(1, 64, count) / 8
    return [(name(u), name(v), float(w)) for (u, v), w in zip(pairs.tolist(), weight.tolist(), strict=True)]


def write_edges(file: Path, rows: Rows) -> Path:
    file.write_text("src,dst,w\n" + "".join(f"{u},{v},{w}\n" for u, v, w in rows), encoding="utf-8")
    return file


def by_loop(rows: Rows, directed: bool, merge: Merge) -> tuple[list[Id], dict[tuple[int, int], float], int, int]:
    """(ids, weight of each edge, self loops, duplicates) in plain Python."""
    ids = sorted({end for row in rows for end in row[:2]})  # type: ignore[type-var]
    place = {name: i for i, name in enumerate(ids)}
    found: dict[tuple[int, int], list[float]] = defaultdict(list)
    loops = 0
    for u, v, w in rows:
        i, j = place[u], place[v]
        loops += i == j
        if i != j:
            found[(i, j) if directed or i < j else (j, i)].append(w)
    rule = {"max": max, "sum": sum, "mean": lambda ws: sum(ws) / len(ws)}[merge]
    edges = {pair: rule(found[pair]) for pair in sorted(found)}
    return ids, edges, loops, sum(len(ws) - 1 for ws in found.values())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("directed", "merge"), [(False, "max"), (True, "max"), (False, "sum"), (True, "mean")])
def test_the_graph_is_what_a_plain_loop_and_from_edges_make(
    kind: str, directed: bool, merge: Merge, tmp_path: Path
) -> None:
    rows = random_rows(KINDS[kind])
    data = read_graph(write_edges(tmp_path / "edges.csv", rows), directed=directed, merge=merge)
    ids, edges, loops, duplicates = by_loop(rows, directed, merge)
    assert data.ids.tolist() == ids
    assert [tuple(e) for e in data.graph.edges.tolist()] == list(edges)
    assert data.graph.weight.tolist() == pytest.approx(list(edges.values()), rel=1e-6)
    assert (data.counts["self_loops"], data.counts["duplicates"]) == (loops, duplicates)
    place = {name: i for i, name in enumerate(ids)}
    pairs = [[place[u], place[v]] for u, v, _ in rows]
    assert_same(data.graph, Graph.from_edges(pairs, [w for *_, w in rows], len(ids), directed, merge))


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_those_of_the_nodes_table(kind: str, tmp_path: Path) -> None:
    name = KINDS[kind]
    rows = random_rows(name)
    names = [name(i) for i in range(45)]  # five of them without an edge
    random.Random(1).shuffle(names)
    nodes = pd.DataFrame({"id": names, "place": range(45)})
    data = read_graph(write_edges(tmp_path / "edges.csv", rows), nodes)
    place = {n: i for i, n in enumerate(names)}
    pairs = [[place[u], place[v]] for u, v, _ in rows]
    assert_same(data.graph, Graph.from_edges(pairs, [w for *_, w in rows], 45))
    assert data.ids.tolist() == names
    assert data.column("place").tolist() == list(range(45))
    assert data.rows(names[::-3]).tolist() == list(range(45))[::-3]


@pytest.mark.parametrize("merge", ["max", "sum", "mean"])
def test_a_graph_written_in_pieces_is_the_same(merge: Merge, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = random_rows(KINDS["text"], nodes=6)
    table = {"u": [r[0] for r in rows], "v": [r[1] for r in rows], "w": [r[2] for r in rows]}
    whole = read_graph(table, merge=merge).graph
    assert len(whole.edges) == 15  # so an edge has 20 or more rows
    for piece in (1, 7, 100):
        monkeypatch.setattr(edge_files, "_CHUNK_EDGES", piece)
        assert_same(read_graph(table, merge=merge).graph, whole)


@pytest.mark.parametrize(("merge", "weights"), [("max", [1, 1]), ("sum", [3, 1]), ("mean", [1, 1])])
def test_without_weights_each_row_counts_one(merge: Merge, weights: list[float]) -> None:
    data = read_graph({"source": ["a", "b", "a", "b"], "target": ["b", "a", "b", "c"]}, merge=merge)
    assert data.graph.weight.tolist() == weights
    assert data.counts["columns"]["weight"] is None


def test_text_is_looked_up_by_itself_where_hashes_would_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = random_rows(KINDS["long text"])
    table = {"u": [r[0] for r in rows], "v": [r[1] for r in rows], "w": [r[2] for r in rows]}
    by_hash = read_graph(table)
    number = ingest.number_ids
    answers: list[bool] = []

    def never(*args: object) -> bool:
        answers.append(number(*args))  # type: ignore[arg-type]
        return False

    monkeypatch.setattr(ingest, "number_ids", never)
    assert_same(read_graph(table).graph, by_hash.graph)
    assert answers == [True]


def test_what_does_not_fit_into_memory_goes_to_disk_and_gives_the_same_graph(tmp_path: Path) -> None:
    table = (
        "SELECT 'user ' || hash(i) % 50000 AS src, 'user ' || hash(i + 1000000) % 50000 AS dst, hash(i) % 97 / 7 AS w "
        "FROM range(400000) t(i)"
    )
    roomy = read_graph(table)
    tight = read_graph(table, folder=tmp_path / "graph", memory_limit="40MB")
    assert_same(tight.graph, roomy.graph)
    assert tight.ids.tolist() == roomy.ids.tolist() == sorted(roomy.ids.tolist())
    assert [p.name for p in tmp_path.iterdir()] == ["graph"]


def test_a_query_is_asked_once_since_it_might_answer_otherwise() -> None:
    data = read_graph("SELECT random()::VARCHAR AS u, random()::VARCHAR AS v FROM range(50)")
    assert data.graph.degree.tolist() == [1] * 100
    assert data.counts["dangling_rows"] == 0


def test_what_waits_on_disk_is_gone_when_reading_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(connection: duckdb.DuckDBPyConnection, *args: object) -> None:
        spill = Path(connection.execute("SELECT current_setting('temp_directory')").fetchall()[0][0])
        assert spill.parent == tmp_path
        spill.mkdir()
        (spill / "block").write_text("waiting", encoding="utf-8")
        raise KeyboardInterrupt

    monkeypatch.setattr(graph_data, "ingest", stopped)
    with pytest.raises(KeyboardInterrupt):
        read_graph({"u": ["a"], "v": ["b"]}, folder=tmp_path / "graph")
    assert list(tmp_path.iterdir()) == []


# Ids


def test_ids_that_edges_have_are_sorted_as_numbers_where_all_are_whole_numbers() -> None:
    assert read_graph({"u": ["10", "9"], "v": ["9", "-1"]}).ids.tolist() == [-1, 9, 10]
    assert read_graph({"u": ["10", "9"], "v": ["9", "x"]}).ids.tolist() == ["10", "9", "x"]
    assert read_graph({"u": ["10", "09"], "v": ["09", "9"]}).ids.tolist() == ["09", "10", "9"]


def test_ids_of_any_type_are_numbered() -> None:
    names = [uuid.UUID(int=i) for i in (5, 3, 4)]
    frame = pd.DataFrame({"u": names[:2], "v": names[1:]})
    assert read_graph(frame).graph.edges.tolist() == [[0, 1], [0, 2]]  # 3-4 and 3-5
    days = pd.DataFrame({"u": pd.to_datetime(["2024-01-02", "2024-01-01"]), "v": pd.to_datetime(["2024-01-03"] * 2)})
    assert read_graph(days).graph.edges.tolist() == [[0, 2], [1, 2]]
    assert read_graph({"u": [1.0, np.nan], "v": [2.0, 3.0]}).ids.tolist() == [1, 2]


@pytest.mark.parametrize("ids", [[1, 2, 3], ["1", "2", "3"], [1.0, 2.0, 3.0]])
@pytest.mark.parametrize("ends", [([1, 3], [2, 2]), (["1", "3"], ["2", "2"]), ([1.0, 3.0], [2.0, 2.0])])
def test_the_same_id_is_found_whatever_type_each_table_keeps_it_in(ids: list[Id], ends: tuple[list[Id], ...]) -> None:
    data = read_graph({"u": ends[0], "v": ends[1]}, {"id": ids})
    assert data.graph.edges.tolist() == [[0, 1], [1, 2]]
    assert data.ids.tolist() == ids


def test_rows_of_ids_that_are_not_there_are_refused() -> None:
    data = read_graph({"u": ["a"], "v": ["b"]})
    assert data.rows(["b", "a", "b"]).tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match=r"^4 of 5 ids are not in the graph: 'q', 'r', 's', \.\.\.$"):
        data.rows(["q", "a", "r", "s", "t"])


# What is counted


@pytest.fixture
def edges_file(tmp_path: Path) -> Path:
    (tmp_path / "edges.csv").write_text(EDGES, encoding="utf-8")
    return tmp_path / "edges.csv"


def test_every_row_is_an_edge_or_counted_with_its_reason(edges_file: Path) -> None:
    data = read_graph(edges_file, NODES, dangling="drop")
    counts = data.counts
    assert data.graph.edges.tolist() == [[0, 1], [2, 3]]
    assert data.graph.weight.tolist() == [3.0, 0.0]
    assert (counts["edge_rows"], counts["edges"], counts["duplicates"], counts["self_loops"]) == (13, 2, 1, 1)
    assert (counts["dangling_rows"], counts["dangling_ids"], counts["dangling_examples"]) == (2, 2, ["q", "r"])
    assert counts["bad_rows"] == 7
    assert counts["bad_examples"] == [
        "line 14: 'broken' (fewer than 3 fields)",
        "', b, 1' (no source)",
        "'a, , 1' (no target)",
    ]
    assert counts["labels"] == {"x": 2, "y": 1}
    assert (counts["classes"], counts["unlabeled"]) == (2, 1)
    assert counts["columns"] == {"source": "u", "target": "v", "weight": "w", "id": "id", "label": "topic"}
    assert counts["guessed"] == ["source", "target", "weight", "id", "label"]
    assert data.y is not None
    assert data.y.tolist() == ["x", None, "y", "x"]


@pytest.mark.parametrize(
    ("value", "why"),
    [("", "no weight"), ("word", "weight is no finite number"), ("-1", "weight is below 0"), ("1e39", None)],
)
def test_a_weight_that_is_none_is_shown_with_the_reason(value: str, why: str | None, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(f"u,v,w\na,b,1\nb,c,{value}\n", encoding="utf-8")
    counts = read_graph(tmp_path / "e.csv", weight="w").counts
    assert counts["bad_examples"] == [f"'b, c, {value}' ({why or 'weight is no finite number'})"]


@pytest.mark.parametrize("seed", range(3))
def test_the_counts_add_up_to_the_rows_read(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    lines = []
    for _ in range(300):
        fields = [rng.choice("abcdefgh") if rng.random() < 0.95 else "" for _ in range(2)]
        fields.append(rng.choice(["1", "2", "0.5", "x", "-1", "nan"]))
        lines.append(",".join(fields if rng.random() < 0.95 else fields[:2]))
    (tmp_path / "e.csv").write_text("src,dst,w\n" + "\n".join(lines) + "\n", encoding="utf-8")
    counts = read_graph(tmp_path / "e.csv", {"id": list("abcdef")}, dangling="drop").counts
    parts = [counts[k] for k in ("edges", "duplicates", "self_loops", "dangling_rows", "bad_rows")]  # type: ignore[literal-required]
    assert min(parts) > 0
    assert sum(parts) == counts["edge_rows"] == 300


def test_nodes_that_only_edges_have_are_added_below_the_others_sorted(edges_file: Path) -> None:
    data = read_graph(edges_file, NODES, dangling="add")
    assert data.ids.tolist() == ["a", "b", "c", "d", "q", "r"]
    assert data.graph.edges.tolist() == [[0, 1], [0, 4], [2, 3], [4, 5]]
    assert data.column("topic").tolist() == ["x", None, "y", "x", None, None]
    assert (data.counts["added_nodes"], data.counts["unlabeled"]) == (2, 3)
    assert data.counts["dangling_rows"] == 0
    mixed = read_graph({"u": ["1", "x"], "v": ["2", "2"]}, {"id": [2, 1]}, dangling="add")
    assert mixed.ids.tolist() == ["2", "1", "x"]


def test_nodes_of_a_table_that_was_read_may_be_handed_over(tmp_path: Path) -> None:
    (tmp_path / "nodes.txt").write_text("id topic\na x\nb y\n", encoding="utf-8")
    nodes = read_table(tmp_path / "nodes.txt", delimiter=" ")
    data = read_graph(read_table({"u": ["a"], "v": ["b"]}), nodes, label="topic")
    assert data.y is not None
    assert data.y.tolist() == ["x", "y"]


# Which column is which


@pytest.mark.parametrize(
    ("content", "columns", "edges"),
    [
        ("a\tb\t0.5\nb\tc\t1.0\n", ("column0", "column1", "column2"), [[0, 1], [1, 2]]),  # NSL
        ("a\tb\nb\tc\n", ("column0", "column1", None), [[0, 1], [1, 2]]),
        ("a\tb\tlikes\nb\tc\tknows\n", ("column0", "column1", None), [[0, 1], [1, 2]]),
        ("src\tdst\nb\tc\n", ("src", "dst", None), [[0, 1]]),
        ("Weight\tTo\tFrom\n1\tb\tc\n", ("From", "To", "Weight"), [[0, 1]]),
        ("kind\tto\tciting\nx\tb\tc\n", ("kind", "to", None), [[0, 1]]),
        ("to\tciting\nb\tc\n", ("citing", "to", None), [[0, 1]]),
        ("paper\tcites\tyear\nb\tc\t2001\n", ("paper", "cites", None), [[0, 1]]),
    ],
)
def test_columns_are_found_by_name_else_by_position(
    content: str, columns: tuple[str | None, ...], edges: list[list[int]], tmp_path: Path
) -> None:
    (tmp_path / "e.tsv").write_text(content, encoding="utf-8")
    data = read_graph(tmp_path / "e.tsv")
    assert tuple(data.counts["columns"][k] for k in ("source", "target", "weight")) == columns
    assert data.graph.edges.tolist() == edges
    assert data.counts["header"] is (columns[0] != "column0")


def test_named_columns_are_taken_and_not_called_guessed() -> None:
    table = {"src": [1], "dst": [2], "w": [1.0], "p": ["a"], "q": ["b"], "r": [7]}
    counts = read_graph(table, source="p", target="q", weight="r").counts
    assert counts["columns"] == {"source": "p", "target": "q", "weight": "r", "id": None, "label": None}
    assert counts["guessed"] == []
