"""Graph folders with tables: kept whole, opened again, refused where they are damaged."""

from __future__ import annotations

import gc
import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from ngm import Graph
from ngm.io.graph_data import GraphData, open_graph, read_graph, save_graph
from ngm.io.tables import ingest, read_table
from tests.edge_tables import EDGES, NODES, assert_same

# Kept


@pytest.fixture
def edges_file(tmp_path: Path) -> Path:
    (tmp_path / "edges.csv").write_text(EDGES, encoding="utf-8")
    return tmp_path / "edges.csv"


def test_a_folder_holds_all_and_opens_again(tmp_path: Path, edges_file: Path) -> None:
    steps: list[str] = []
    data = read_graph(edges_file, NODES, dangling="drop", folder=tmp_path / "graph", on_step=steps.append)
    assert steps == list(ingest.STEPS)
    assert sorted(p.name for p in (tmp_path / "graph").iterdir()) == [
        "edges.npy",
        "graph.json",
        "nodes.parquet",
        "tables.json",
        "weight.npy",
    ]
    opened = open_graph(tmp_path / "graph")
    assert_same(opened.graph, data.graph)
    assert torch.equal(Graph.open(tmp_path / "graph").edges, data.graph.edges)
    assert opened.ids.tolist() == NODES["id"]
    assert opened.counts == data.counts
    assert (opened.folder, data.folder) == (tmp_path / "graph", tmp_path / "graph")
    assert repr(opened) == "GraphData(4 nodes, 2 undirected edges; columns id, topic)"


def test_graph_open_needs_the_edges_alone_and_open_graph_what_is_known_of_the_nodes(tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    save_graph(folder, Graph.from_edges([[0, 1], [1, 2]]), {"name": ["a", "b", "c"]}, id="name")
    (folder / "nodes.parquet").unlink()
    assert len(Graph.open(folder)) == 3
    with pytest.raises(ValueError, match=r"has no column 'name', which tables\.json names"):
        open_graph(folder)


def test_without_a_folder_nothing_is_left_once_the_data_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    data: GraphData | None = read_graph({"u": ["a", "b"], "v": ["b", "c"]})
    assert data is not None
    assert data.folder is None
    assert len(list(tmp_path.iterdir())) == 1
    graph = data.graph
    assert data.ids.tolist() == ["a", "b", "c"]
    data = None
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    with pytest.raises(ValueError, match="not among the nodes"):
        read_graph({"u": ["a"], "v": ["b"]}, {"id": ["a"]})
    assert list(tmp_path.iterdir()) == []


def test_a_graph_is_saved_with_a_row_of_a_table_for_each_node(tmp_path: Path) -> None:
    graph = Graph.from_edges([[0, 1], [1, 2]])
    nodes = {"name": ["p", "q", "r"], "class": [1, None, 0], "vector": [0.5, 1.5, 2.5]}
    for table in (nodes, read_table(nodes), pd.DataFrame(nodes)):
        data = save_graph(tmp_path / "graph", graph, table, id="name", label="class", counts={"k": 5})  # type: ignore[arg-type]
        assert_same(data.graph, graph)
        assert data.ids.tolist() == ["p", "q", "r"]
        assert data.columns == ("name", "class", "vector")
        assert data.column("vector").tolist() == [0.5, 1.5, 2.5]
        assert data.y is not None
        assert [v for v in data.y.tolist() if v == v] in ([1, None, 0], [1.0, 0.0])
        assert dict(data.counts) == {"k": 5}
    again = save_graph(data.folder or "", data.graph, data.nodes, id="name")  # over the folder it is read from
    assert again.ids.tolist() == ["p", "q", "r"]
    assert again.y is None


def test_arrays_are_those_that_numpy_would_save(tmp_path: Path) -> None:
    for edges in ([[0, 1], [1, 2]], []):
        graph = Graph.from_edges(torch.tensor(edges, dtype=torch.int64).reshape(-1, 2), num_nodes=3)
        graph.save(tmp_path / "graph")
        for name, array in (("edges", graph.edges.numpy()), ("weight", graph.weight.numpy())):
            np.save(tmp_path / "by_numpy.npy", array)
            assert (tmp_path / "graph" / f"{name}.npy").read_bytes() == (tmp_path / "by_numpy.npy").read_bytes()


def test_a_graph_saved_by_itself_has_its_rows_for_ids(tmp_path: Path) -> None:
    data = open_graph(Graph.from_edges([[0, 1], [1, 2]]).save(tmp_path / "graph"))
    assert data.ids.tolist() == [0, 1, 2]
    assert data.rows([2, 0]).tolist() == [2, 0]
    assert (data.y, data.columns, data.counts) == (None, (), {})
    with pytest.raises(ValueError, match=r"^the graph has no column 'topic'; it has no table of nodes$"):
        data.column("topic")
    bare = save_graph(tmp_path / "bare", data.graph)
    assert bare.ids.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes": {"id": ["a"]}}, "nodes has 1 rows, the graph has 2 nodes; give one row per node"),
        ({"id": "key"}, "nodes has no column 'key' for id; its columns are id, topic"),
        ({"label": "topc"}, "nodes has no column 'topc' for label (did you mean 'topic'?); its columns are id, topic"),
        (
            {"nodes": {"id": ["a", "a"]}},
            "nodes has 1 ids in column 'id' that name several rows: 'a'; keep one row of each",
        ),
        ({"nodes": {"id": ["a", None]}}, "nodes has 1 rows without an id in column 'id'; fill them in or drop them"),
        ({"nodes": None}, "id is 'id' and there are no nodes; give the table that has this column"),
    ],
)
def test_nodes_that_do_not_go_with_the_graph_are_refused(
    change: dict[str, object], message: str, tmp_path: Path
) -> None:
    given = {"nodes": {"id": ["a", "b"], "topic": ["x", "y"]}, "id": "id"} | change
    with pytest.raises(ValueError, match=rf"\A{re.escape(message)}\Z"):
        save_graph(tmp_path / "graph", Graph.from_edges([[0, 1]]), **given)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def change(folder: Path, file: str, **changes: object) -> None:
    content = json.loads((folder / file).read_text(encoding="utf-8")) | changes
    (folder / file).write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda f: (f / "tables.json").write_text("{", encoding="utf-8"),
            r"{f}/tables.json is damaged \(.+\); save the graph again",
        ),
        (
            lambda f: change(f, "tables.json", id="x"),
            r"{f}/nodes.parquet has no column 'x', which tables.json names; save the graph again",
        ),
        (
            lambda f: change(f, "tables.json", version=2),
            r"{f}/tables.json says format 'ngm-tables' version 2; this release reads 'ngm-tables' version 1",
        ),
        (
            lambda f: change(f, "graph.json", num_nodes=4),
            r"{f}/nodes.parquet has 2 rows, graph.json says 4 nodes; save the graph again",
        ),
        (
            lambda f: (f / "nodes.parquet").unlink(),
            r"{f}/nodes.parquet has no column 'id', which tables.json names; save the graph again",
        ),
        (lambda f: (f / "nodes.parquet").write_text("no", encoding="utf-8"), r"{f}/nodes.parquet cannot be read: .*"),
    ],
)
def test_damaged_folders_are_refused_in_one_line(
    damage: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    folder = tmp_path / "graph"
    read_graph({"u": ["a"], "v": ["b"]}, folder=folder)
    damage(folder)
    with pytest.raises(ValueError, match=rf"\A{message.replace('{f}', re.escape(str(folder)))}\Z"):
        open_graph(folder)
