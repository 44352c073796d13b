"""Graphs on disk: saved, opened, damaged, interrupted."""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from ngm import Graph
from ngm.io import graph_folder
from tests.graphs import PATH, random_graph, weights

# Saved and opened


def test_a_saved_graph_opens_as_it_was(tmp_path: Path) -> None:
    for directed in (False, True):
        graph = random_graph(7, directed)
        opened = Graph.open(graph.save(tmp_path / "deep" / "graph"))
        assert torch.equal(opened.edges, graph.edges)
        assert torch.equal(opened.weight, graph.weight)
        assert (opened.num_nodes, opened.directed) == (graph.num_nodes, directed)
    assert sorted(p.name for p in (tmp_path / "deep").iterdir()) == ["graph"]
    assert sorted(p.name for p in (tmp_path / "deep" / "graph").iterdir()) == ["edges.npy", "graph.json", "weight.npy"]
    header = json.loads((tmp_path / "deep" / "graph" / "graph.json").read_text(encoding="utf-8"))
    assert header == {
        "format": "ngm-graph",
        "version": 1,
        "num_nodes": graph.num_nodes,
        "num_edges": graph.num_edges,
        "directed": True,
    }


def test_opened_arrays_are_memory_maps_that_never_write_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = PATH.save(tmp_path / "graph")
    loaded: list[object] = []
    plain = np.load

    def noted(*args: object, **kwargs: object) -> object:
        loaded.append(plain(*args, **kwargs))  # type: ignore[arg-type]
        return loaded[-1]

    monkeypatch.setattr(np, "load", noted)
    opened = Graph.open(folder)
    edges, weight = loaded
    assert isinstance(edges, np.memmap)
    assert isinstance(weight, np.memmap)
    assert opened.edges.data_ptr() == edges.ctypes.data  # no copy in between
    assert opened.weight.data_ptr() == weight.ctypes.data
    opened.weight[0] = 99.0
    assert Graph.open(folder).weight[0] == 1.0


def test_a_graph_may_be_saved_over_the_folder_it_was_opened_from(tmp_path: Path) -> None:
    folder = PATH.save(tmp_path / "graph")
    opened = Graph.open(folder)
    opened.save(folder)
    assert weights(opened) == weights(Graph.open(folder)) == weights(PATH)


def test_a_folder_of_somebody_elses_files_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "chapter1.txt").write_text("ten years of work", encoding="utf-8")
    message = f"^{re.escape(str(folder))} exists and has no graph.json; name a new or empty folder$"
    with pytest.raises(FileExistsError, match=message):
        PATH.save(folder)
    assert [p.name for p in folder.iterdir()] == ["chapter1.txt"]


def test_a_write_that_fails_leaves_the_old_graph_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = PATH.save(tmp_path / "graph")
    calls: list[Path] = []
    plain = graph_folder.save_array

    def full_disk(file: Path, array: np.ndarray) -> None:
        calls.append(file)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        plain(file, array)

    monkeypatch.setattr(graph_folder, "save_array", full_disk)
    with pytest.raises(OSError, match="the disk is full"):
        Graph.from_edges([[0, 1]]).save(folder)
    assert [p.name for p in tmp_path.iterdir()] == ["graph"]
    assert weights(Graph.open(folder)) == weights(PATH)
    calls.clear()
    with pytest.raises(OSError, match="the disk is full"):
        PATH.save(tmp_path / "new")
    assert [p.name for p in tmp_path.iterdir()] == ["graph"]


def _cut(file: str, size: int) -> Callable[[Path], None]:
    return lambda folder: (folder / file).write_bytes((folder / file).read_bytes()[:size]) and None


def _text(file: str, text: str) -> Callable[[Path], None]:
    return lambda folder: (folder / file).write_text(text, encoding="utf-8") and None


def _header(**changes: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        header = json.loads((folder / "graph.json").read_text(encoding="utf-8")) | changes
        (folder / "graph.json").write_text(json.dumps(header), encoding="utf-8")

    return change


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "graph.json").unlink(), r"{folder} is not a graph folder: it has no graph.json"),
        (_cut("graph.json", 20), r"{folder}/graph.json is damaged \(.+\); save the graph again"),
        (_text("graph.json", "[1]"), r"{folder}/graph.json is damaged \(it holds no table\); save the graph again"),
        (
            _text("graph.json", '{"format": "ngm-graph", "version": 1, "num_nodes": 4, "num_edges": 3}'),
            r"{folder}/graph.json is damaged \(it lacks 'directed'\); save the graph again",
        ),
        (
            _header(format="other"),
            r"{folder}/graph.json says format 'other' version 1; this release reads 'ngm-graph' version 1",
        ),
        (
            _header(version=2),
            r"{folder}/graph.json says format 'ngm-graph' version 2; this release reads 'ngm-graph' version 1",
        ),
        (_text("graph.json", "{}"), r"{folder}/graph.json says format None version None; this release reads .*"),
        (lambda f: (f / "edges.npy").unlink(), r"{folder}/edges.npy cannot be read \(.+\); save the graph again"),
        (_cut("edges.npy", 150), r"{folder}/edges.npy cannot be read \(.+\); save the graph again"),
        (_cut("weight.npy", 0), r"{folder}/weight.npy cannot be read \(.+\); save the graph again"),
        (_text("weight.npy", "1,2,3"), r"{folder}/weight.npy cannot be read \(.+\); save the graph again"),
        (
            lambda f: np.save(f / "weight.npy", np.ones(3)),
            r"{folder}/weight.npy holds float64 \(3,\), graph.json says float32 \(3,\); save the graph again",
        ),
        (
            _header(num_edges=2),
            r"{folder}/edges.npy holds int64 \(3, 2\), graph.json says int64 \(2, 2\); save the graph again",
        ),
        (
            lambda f: np.save(f / "edges.npy", np.array([None, "pickled"]), allow_pickle=True),
            r"{folder}/edges.npy cannot be read \(.+\); save the graph again",
        ),
        (
            lambda f: (np.savez(f / "two.npz", a=np.ones(1), b=np.ones(1)), (f / "two.npz").replace(f / "edges.npy")),
            r"{folder}/edges.npy cannot be read \(it holds several arrays\); save the graph again",
        ),
        (_header(num_nodes=3), r"edge 2 is \[2, 3\]; node ids run from 0 to 2, so drop the edge or raise num_nodes"),
    ],
)
def test_damaged_and_foreign_files_are_refused_in_one_line(
    tmp_path: Path, damage: Callable[[Path], object], message: str
) -> None:
    folder = PATH.save(tmp_path / "graph")
    damage(folder)
    with pytest.raises((ValueError, FileNotFoundError)) as caught:
        Graph.open(folder)
    assert re.fullmatch(message.replace("{folder}", re.escape(str(folder))), str(caught.value)), str(caught.value)


def test_opening_a_folder_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere is not a graph folder: it has no graph.json$"):
        Graph.open(tmp_path / "nowhere")
