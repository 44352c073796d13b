"""Graphs with features and classes: read from a tiny file made here, and drawn into parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from ngm import datasets
from ngm.datasets import DamagedFileError, DatasetUnavailableError, few_label_split, node_classification
from tests.conftest import needs

Patch = pytest.MonkeyPatch
Arrays = dict[str, NDArray[np.generic]]


def arrays(width: int = 80) -> Arrays:
    """Ten nodes on a path, classes in turn; node i has feature i, thrice where there is data."""
    return {
        "num_nodes": np.array(10),
        "edges": np.array([[i, i + 1] for i in range(9)], dtype=np.int32),
        "x_indptr": np.arange(11, dtype=np.int32),
        "x_indices": (np.arange(10, dtype=np.int32) % width).astype(np.int32),
        "x_shape": np.array([10, width]),
        "labels": (np.arange(10) % 2).astype(np.int16),
    }


def written(folder: Path, content: Arrays) -> Path:
    file = folder / "battery" / "acm.npz"
    file.parent.mkdir(exist_ok=True)
    np.savez(file, **content)  # type: ignore[arg-type]
    return file


def read(file: Path) -> datasets.Dataset:
    return node_classification.read(file, "tiny", labels_per_class=1, validation=2, test=3)


def test_features_are_ones_unless_the_file_has_their_values(tmp_path: Path) -> None:
    data = read(written(tmp_path, arrays()))
    assert sp.issparse(data.x)
    assert data.x[[3]].toarray()[0].nonzero()[0].tolist() == [3]
    assert data.x.sum() == 10
    weighted = read(written(tmp_path, {**arrays(), "x_data": np.full(10, 3.0)}))
    assert weighted.x.sum() == 30
    assert data.x.dtype == weighted.x.dtype == np.float32


def test_narrow_features_are_dense(tmp_path: Path) -> None:
    data = read(written(tmp_path, arrays(width=4)))
    assert isinstance(data.x, np.ndarray)
    assert data.x[5].tolist() == [0.0, 1.0, 0.0, 0.0]


def test_graph_classes_and_parts_are_those_of_the_file(tmp_path: Path) -> None:
    data = read(written(tmp_path, arrays()))
    assert data.graph is not None
    assert data.graph.neighbors(4).tolist() == [3, 5]
    assert data.classes == ("class 0", "class 1")
    assert data.y.tolist() == [0, 1] * 5
    parts = few_label_split(data.y, 1, seed=0, validation=2, test=3)
    assert [data.train.tolist(), data.validation.tolist(), data.test.tolist()] == [part.tolist() for part in parts]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"labels": None}, "lacks labels"),
        ({"labels": np.zeros(9, dtype=np.int16)}, r"labels of shape \(9,\)"),
        ({"labels": np.full(10, -1)}, "the least -1"),
        ({"x_shape": np.array([11, 80]), "x_indptr": np.arange(12).clip(0, 10)}, "11 rows of features for 10 nodes"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, change: dict[str, NDArray[np.generic] | None], text: str) -> None:
    content = {key: value for key, value in {**arrays(), **change}.items() if value is not None}
    with pytest.raises(ValueError, match=text):
        read(written(tmp_path, content))


def test_a_file_of_pickles_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"acm\.npz cannot be read"):
        read(written(tmp_path, {**arrays(), "labels": np.array([{"a": 1}] * 10, dtype=object)}))
    (tmp_path / "battery" / "acm.npz").write_bytes(b"no archive")
    with pytest.raises(ValueError, match=r"acm\.npz cannot be read"):
        read(tmp_path / "battery" / "acm.npz")


def test_a_graph_that_is_not_here_says_where_it_comes_from(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("NGM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("NGM_DATA", raising=False)
    with pytest.raises(
        DatasetUnavailableError, match=r"GraphData, datasets/acm\.npz.*; put a copy .* battery/acm\.npz"
    ):
        datasets.load("acm")
    written(tmp_path, arrays())
    monkeypatch.setenv("NGM_DATA", str(tmp_path))
    with pytest.raises(DamagedFileError, match=r"acm\.npz has sha256 .*, expected 5a1d335547b5"):
        datasets.load("acm")
    with pytest.raises(ValueError, match="there is no graph 'acn'; choose acm, amazon_cs"):
        node_classification.node_classification("acn")  # type: ignore[arg-type]


def test_more_labels_hold_those_of_fewer_and_the_scored_nodes_stay() -> None:
    y = np.repeat([0, 1, 2, -1], 30)
    few, many = (few_label_split(y, count, seed=3, validation=10, test=20) for count in (2, 5))
    assert set(few[0]) < set(many[0])
    assert np.bincount(y[many[0]]).tolist() == [5, 5, 5]
    assert [part.tolist() for part in few[1:]] == [part.tolist() for part in many[1:]]
    drawn = np.concatenate(many)
    assert len(np.unique(drawn)) == len(drawn) == 15 + 10 + 20
    assert (y[drawn] >= 0).all()
    assert few_label_split(y, 2, seed=4, validation=10, test=20)[2].tolist() != few[2].tolist()


def test_parts_do_not_follow_data_that_was_made_by_the_same_seed() -> None:
    y = np.zeros(10_000, dtype=np.int64)
    y[np.random.default_rng(0).permutation(10_000)[:2_000]] = 1  # as minesweeper has its mines
    for seed in range(3):
        _, validation, test = few_label_split(y, 5, seed)
        assert 0.1 < y[validation].mean() < 0.3
        assert 0.15 < y[test].mean() < 0.25


def test_a_class_with_too_few_nodes_is_named() -> None:
    y = np.array([0] * 20 + [7] * 2)
    with pytest.raises(ValueError, match=r"class 7 has \d nodes beside 3 test .* labels_per_class is 3; draw fewer"):
        few_label_split(y, 3, seed=0, validation=2, test=3)


@pytest.mark.parametrize("name", [pytest.param(name, marks=needs(name)) for name in node_classification.RECORDS])
def test_graphs_have_the_recorded_counts(name: node_classification.Name) -> None:
    data, record = datasets.load(name), node_classification.RECORDS[name]
    assert data.graph is not None
    assert (data.graph.num_nodes, data.graph.num_edges) == (record.num_nodes, record.num_edges)
    assert (data.graph.self_loops, data.graph.duplicates) == (0, 0)
    assert data.rows.shape == (record.num_nodes, record.num_features)
    assert np.bincount(data.y[data.train]).tolist() == [20] * record.num_classes
    assert (len(data.validation), len(data.test)) == (500, 1_000)
