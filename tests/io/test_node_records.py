"""What a run folder keeps of its nodes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch

import ngm
from ngm import Graph
from ngm.estimators import node_recorder
from ngm.io.node_records import (
    NodeRecords,
    edges_between,
    kept_nodes,
    labels_in,
    read_node_records,
    shortened,
    write_node_records,
)
from ngm.io.run_folder import Run
from ngm.networks import FFNN

PATH = Graph.from_edges([[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]], num_nodes=7)


def points(seed: int = 0) -> tuple[np.ndarray, np.ndarray, Graph]:
    """60 rows around two centres, of which six have a label, joined to their nearest."""
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.normal(-1, 0.6, (30, 3)), rng.normal(1, 0.6, (30, 3))]).astype(np.float32)
    y = np.full(60, -1)
    y[[0, 1, 2, 10]], y[[30, 31, 32, 40]] = 0, 1
    return x, y, ngm.knn_graph(x, k=3, metric="euclidean")


def node_records_of(folder: Path) -> NodeRecords:
    found = read_node_records(Run.open(folder))
    assert found is not None
    return found


def mask(*nodes: int) -> np.ndarray:
    return np.isin(np.arange(7), nodes)


def test_all_nodes_are_kept_where_they_are_few() -> None:
    assert kept_nodes([PATH], mask(3)).tolist() == [0, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(("most", "kept"), [(1, [3]), (3, [2, 3, 4]), (5, [1, 2, 3, 4, 5]), (6, [0, 1, 2, 3, 4, 5])])
def test_of_a_large_graph_what_is_nearest_to_a_label_is_kept(most: int, kept: list[int]) -> None:
    assert kept_nodes([PATH], mask(3), most=most).tolist() == kept


def test_neighbours_are_those_of_any_graph_in_any_direction() -> None:
    other = Graph.from_edges([[6, 3]], num_nodes=7, directed=True)
    assert kept_nodes([PATH, other], mask(3), most=4).tolist() == [2, 3, 4, 6]


def test_where_labels_are_too_many_some_of_them_are_kept_and_nothing_else() -> None:
    first = mask(0, 1, 2, 5)
    kept = kept_nodes([PATH], first, most=2, seed=1)
    assert len(kept) == 2
    assert first[kept].all()


def test_edges_between_kept_nodes_have_their_places_weights_and_graphs() -> None:
    second = Graph(7, torch.tensor([[1, 6], [0, 5]]), torch.tensor([0.5, 0.25]))
    edges, weight, graph = edges_between(np.array([0, 1, 5, 6]), [PATH, second])
    assert edges.tolist() == [[0, 1], [0, 2], [1, 3]] or edges.tolist() == [[0, 1], [1, 3], [0, 2]]
    assert sorted(weight.tolist()) == [0.25, 0.5, 1.0]
    assert graph.tolist() == [0, 1, 1]


def test_without_a_graph_there_are_no_edges() -> None:
    edges, weight, graph = edges_between(np.array([0, 1]), [])
    assert (edges.shape, weight.shape, graph.shape) == ((0, 2), (0,), (0,))


def test_training_into_a_folder_keeps_predictions_and_hidden_vectors(tmp_path: Path) -> None:
    x, y, graph = points()
    model = ngm.NGMClassifier(recipe="paper", epochs=20, validation=[10, 40]).fit(
        x, y, graph=graph, folder=tmp_path / "run"
    )
    found = node_records_of(tmp_path / "run")
    assert found.row.tolist() == list(range(60))
    assert found.whole
    assert [row for row in range(60) if found.role[row] == "validation"] == [10, 40]
    assert [row for row in range(60) if found.role[row] == "labelled"] == [0, 1, 2, 30, 31, 32]
    assert found.label.tolist() == [None if label < 0 else str(label) for label in y.tolist()]
    assert found.predicted.tolist() == [str(label) for label in model.predict(x).tolist()]
    shares = np.sort(model.predict_proba(x), axis=1)
    np.testing.assert_allclose(found.probability, shares[:, -1], atol=1e-6)
    np.testing.assert_allclose(found.margin, shares[:, -1] - shares[:, -2], atol=1e-6)
    np.testing.assert_array_equal(found.hidden, model.transform(x))
    np.testing.assert_array_equal(found.edges, graph.edges.numpy())
    assert (found.num_nodes, found.num_edges) == (60, graph.num_edges)


def test_hidden_vectors_before_training_are_those_of_the_new_network(tmp_path: Path) -> None:
    x, y, graph = points()
    new = ngm.NGMClassifier(recipe="paper", epochs=1, learning_rate=1e-12).fit(x, y, graph=graph)
    ngm.NGMClassifier(recipe="paper", epochs=20).fit(x, y, graph=graph, folder=tmp_path / "run")
    np.testing.assert_allclose(node_records_of(tmp_path / "run").before, new.transform(x), atol=1e-5)


def test_keeping_evidence_changes_no_bit_of_the_training(tmp_path: Path) -> None:
    x, y, graph = points()
    kept = ngm.NGMClassifier(recipe="paper", epochs=5, network=FFNN(dropout=0.5)).fit(
        x, y, graph=graph, folder=tmp_path / "run"
    )
    alone = ngm.NGMClassifier(recipe="paper", epochs=5, network=FFNN(dropout=0.5)).fit(x, y, graph=graph)
    np.testing.assert_array_equal(kept.predict_proba(x), alone.predict_proba(x))


def test_validation_rows_given_apart_are_below_the_nodes(tmp_path: Path) -> None:
    x, y, graph = points()
    pair = (x[:3] + 0.01, np.array([0, 0, 1]))
    model = ngm.NGMClassifier(recipe="paper", epochs=5, validation=pair).fit(x, y, graph=graph, folder=tmp_path / "run")
    found = node_records_of(tmp_path / "run")
    assert found.row[-4:].tolist() == [59, -1, -1, -1]
    assert found.role[-3:].tolist() == ["validation"] * 3
    assert found.label[-3:].tolist() == ["0", "0", "1"]
    assert found.predicted[-3:].tolist() == [str(label) for label in model.predict(pair[0]).tolist()]
    assert found.whole
    assert found.edges.max() < 60


def test_of_many_validation_rows_given_apart_a_sample_is_kept_with_its_labels_and_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_recorder, "MOST", 20)
    monkeypatch.setattr(node_recorder, "MIN_VALIDATION", 5)
    texts, y = [f"a {'good' if i % 2 else 'bad'} day {i}" for i in range(12)], np.array(["bad", "good"] * 6)
    new = [f"a {'good' if i % 2 else 'bad'} night {i}" for i in range(30)]
    kept = []
    for nodes, most in ((12, 8), (12, 8), (20, 5)):
        model = ngm.NGMClassifier(network="charcnn", epochs=1, validation=(new, np.array(["bad", "good"] * 15)))
        given = [*texts, *texts][:nodes]
        model.fit(given, np.array([*y, *y])[:nodes], folder=tmp_path / "run", overwrite=True)
        found = node_records_of(tmp_path / "run")
        assert found.texts is not None
        said = found.texts[found.row < 0].tolist()
        assert len(said) == most == len(set(said))
        assert found.label[found.row < 0].tolist() == [str(text).split()[1] for text in said]
        assert found.predicted[found.row < 0].tolist() == model.predict(said).tolist()
        assert (len(found.hidden), len(found.before), len(found.margin)) == (nodes + most,) * 3
        kept.append(said)
    assert kept[0] == kept[1]


def test_numbers_are_kept_on_their_own_scale(tmp_path: Path) -> None:
    x, _, graph = points()
    y = np.where(np.arange(60) < 10, 100 + 7 * x[:, 0], np.nan)
    model = ngm.NGMRegressor(epochs=20).fit(x, y, graph=graph, folder=tmp_path / "run")
    found = node_records_of(tmp_path / "run")
    np.testing.assert_allclose(found.predicted.astype(float), model.predict(x), rtol=1e-4)
    np.testing.assert_allclose(found.label[:10].astype(float), y[:10], rtol=1e-4)
    assert found.label[10:].tolist() == [None] * 50
    assert np.isnan(found.margin).all()


def test_several_labels_are_named_together(tmp_path: Path) -> None:
    x, _, graph = points()
    y = np.full((60, 3), -1)
    y[:4], y[30:34] = (1, 1, 0), (0, 0, 0)
    ngm.NGMClassifier(recipe="paper", epochs=30).fit(x, y, graph=graph, folder=tmp_path / "run")
    found = node_records_of(tmp_path / "run")
    assert found.label[[0, 30, 59]].tolist() == ['["0", "1"]', "[]", None]
    assert [labels_in(label) for label in found.label[[0, 30]]] == [["0", "1"], []]


@pytest.mark.parametrize("text", ["0; 1", "3", '"a"'])
def test_labels_that_are_no_list_are_named(text: str) -> None:
    said = f"a recorded node has the labels {text!r}, which are not a list; train again"
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        labels_in(text)


def test_half_an_emoji_is_kept_as_its_code_and_classes_that_differ_by_one_stay_two(tmp_path: Path) -> None:
    texts = [f"rain {i} \ud83d" if i % 2 else f"sun {i}" for i in range(12)]
    y = np.array(["a\ud83d", "a\ud83e"] * 6, dtype=object)
    ngm.NGMClassifier(network="charcnn", epochs=1).fit(texts, y, folder=tmp_path / "run")
    found = node_records_of(tmp_path / "run")
    assert found.texts is not None
    assert found.texts[1] == r"rain 1 \ud83d"
    assert found.label[:2].tolist() == [r"a\ud83d", r"a\ud83e"]
    write_node_records(Run.open(tmp_path / "run"), found.named(ids=["\udc00"] * 12))
    again = node_records_of(tmp_path / "run").ids
    assert again is not None
    assert again[0] == r"\udc00"
    assert r"a\ud83d" in ngm.write_report(tmp_path / "run").read_text(encoding="utf-8")


def test_texts_are_kept_with_their_nodes(tmp_path: Path) -> None:
    texts = [f"a  good day {i}" if i % 2 else f"a bad night {i}\nand rain" for i in range(12)]
    y = np.array(["bad", "good"] * 6, dtype=object)
    ngm.NGMClassifier(network="charcnn", epochs=1).fit(texts, y, folder=tmp_path / "run")
    found = node_records_of(tmp_path / "run")
    assert found.texts is not None
    assert found.texts[:2].tolist() == ["a bad night 0 and rain", "a good day 1"]


def test_names_are_given_by_row_and_kept(tmp_path: Path) -> None:
    x, y, graph = points()
    ngm.NGMClassifier(recipe="paper", epochs=2).fit(x, y, graph=graph, folder=tmp_path / "run")
    found = node_records_of(tmp_path / "run")
    assert (found.ids, found.texts) == (None, None)
    write_node_records(Run.open(tmp_path / "run"), found.named(np.arange(100, 160), [f"text {i}" for i in range(60)]))
    again = node_records_of(tmp_path / "run")
    assert again.ids is not None
    assert again.texts is not None
    assert again.ids[[0, 59]].tolist() == ["100", "159"]
    assert again.texts[[0, 59]].tolist() == ["text 0", "text 59"]
    np.testing.assert_array_equal(again.hidden, found.hidden)


def test_a_new_run_in_the_folder_leaves_nothing_of_the_old_one(tmp_path: Path) -> None:
    x, y, graph = points()
    model = ngm.NGMClassifier(recipe="paper", epochs=2).fit(x, y, graph=graph, folder=tmp_path / "run")
    (tmp_path / "run" / "report.html").write_text("old", encoding="utf-8")
    model.save(tmp_path / "run", overwrite=True)
    assert read_node_records(Run.open(tmp_path / "run")) is None
    assert not (tmp_path / "run" / "report.html").exists()


def test_damaged_evidence_is_named(tmp_path: Path) -> None:
    x, y, graph = points()
    ngm.NGMClassifier(recipe="paper", epochs=2).fit(x, y, graph=graph, folder=tmp_path / "run")
    (tmp_path / "run" / "evidence" / "hidden.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(ValueError, match=r"run/evidence is damaged \(.*\); train again"):
        node_records_of(tmp_path / "run")


def test_long_texts_are_shortened_to_300_characters() -> None:
    assert len(shortened("word " * 100)) <= 300
    assert shortened("word " * 100).endswith("...")
    assert shortened("a" * 300) == "a" * 300
