"""Estimators on lists of strings: reading, training, saving, and what they refuse."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from torch import nn

from ngm import (
    CoTraining,
    EdgeLoader,
    Graph,
    LabeledKFold,
    NGMClassifier,
    NGMRegressor,
    Optimizer,
    SelfTraining,
    load,
    text_graph,
)
from ngm.choices import TEXT_NETWORKS
from ngm.networks import LSTM, NETWORKS, CharCNN
from ngm.networks.specifications import network_of
from ngm.recipes.label_matrix import Targets
from ngm.recipes.node_views import NodeViews
from ngm.recipes.settings import TEXT_RECIPES
from ngm.recipes.text_training import propagated_labels
from ngm.text import readers
from ngm.text.characters import quantize
from ngm.text.readers import Texts
from ngm.text.synonym_augmentation import SynonymTexts
from ngm.text.tokens import Vocabulary
from ngm.text.word_vectors import WordVectors
from tests.fits import same_bits, stop_after, timeless, weights
from tests.texts import COMMON, QUICK, SYNONYMS, TEXTS, TOPICS, TRUTH, VECTORS, Y, make_texts

GRAPH = text_graph(TEXTS, k=3)


# Reading


@pytest.mark.parametrize("network", ["charcnn", "lstm"])
def test_texts_may_be_a_list_tuple_series_or_array(network: str) -> None:
    given = [
        TEXTS,
        tuple(TEXTS),
        pd.Series(TEXTS),
        pd.Series(TEXTS, dtype="string"),
        np.array(TEXTS),
        np.array(TEXTS, object),
    ]
    models = [NGMClassifier(network=network, **QUICK | {"epochs": 1}).fit(x, Y, graph=GRAPH) for x in given]
    expected = models[0].predict_proba(TEXTS)
    for model, x in zip(models, given, strict=True):
        np.testing.assert_array_equal(model.predict_proba(x), expected)
        assert not hasattr(model, "n_features_in_")


def test_every_text_network_goes_by_its_name() -> None:
    assert set(TEXT_NETWORKS) == set(NETWORKS) - {"ffnn"}
    sizes = {name: NETWORKS[name]().size for name in TEXT_NETWORKS if name != "lstm"}
    assert sizes == {"charcnn": "tiny", "charcnn-small": "small", "charcnn-large": "large"}
    model = NGMClassifier(network="charcnn-small", epochs=1, batch_size=4).fit(TEXTS[:4], [0, 1, 0, 1])
    assert model.network_.output.in_features == 1024


@pytest.mark.parametrize("network", ["charcnn", "lstm"])
def test_predictions_do_not_depend_on_pieces_or_order(network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = NGMClassifier(network=network, **QUICK).fit(TEXTS, Y)
    mixed = ["dog", *TEXTS[:5], TEXTS[0] + " " + TEXTS[1], "bank share"]
    whole = model.predict_proba(mixed)
    monkeypatch.setattr(readers, "_POSITIONS", 50)
    np.testing.assert_allclose(model.predict_proba(mixed), whole, atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(mixed[::-1])[::-1], whole, atol=1e-5)
    alone = np.concatenate([model.predict_proba([text]) for text in mixed])
    np.testing.assert_allclose(alone, whole, atol=1e-5)


def test_pieces_hold_each_row_once_and_stay_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "_POSITIONS", 512)
    rows = quantize(["a" * length for length in (200, 1, 3, 900, 1, 250, 2)])
    pieces = Texts([""] * 7, rows).batches(torch.arange(7))
    assert [rows.lengths[p].tolist() for p in pieces] == [[1, 1, 2, 3], [200, 250], [900]]  # short ones count as 128
    assert sorted(torch.cat(pieces).tolist()) == list(range(7))


def test_the_vocabulary_is_that_of_all_training_texts_labelled_or_not() -> None:
    model = NGMClassifier(**QUICK, network=LSTM(max_words=9)).fit(TEXTS, Y)
    assert model.vocabulary_ == Vocabulary.of(TEXTS, 9)
    assert model.vocabulary_ != Vocabulary.of(TEXTS[:12], 9)
    assert model.network_.words.num_embeddings == 11
    assert len(NGMClassifier(network="lstm", **QUICK).fit(TEXTS, Y).vocabulary_.words) > 9


def test_hidden_vectors_and_their_names() -> None:
    model = NGMClassifier(network="lstm", **QUICK).fit(TEXTS, Y)
    assert model.transform(TEXTS[:3]).shape == (3, 100)
    assert len(model.get_feature_names_out()) == 100
    np.testing.assert_allclose(
        model.network_.output(torch.from_numpy(model.transform(TEXTS[:3]))).softmax(1).detach().numpy(),
        model.predict_proba(TEXTS[:3]),
        atol=1e-6,
    )


def test_a_table_after_texts_forgets_them() -> None:
    model = NGMClassifier(network="lstm", **QUICK).fit(TEXTS, Y)
    model.set_params(network="ffnn", hidden=(4,)).fit(np.eye(24, dtype=np.float32), Y)
    assert not hasattr(model, "vocabulary_")
    assert model.n_features_in_ == 24


# Training


def test_words_start_from_the_word_vectors(tmp_path: Path) -> None:
    np.savez(tmp_path / "words.npz", words=np.array(VECTORS.words), vectors=VECTORS.vectors)
    for given in (VECTORS, tmp_path / "words.npz", str(tmp_path / "words.npz")):
        model = NGMClassifier(epochs=1, learning_rate=1e-9, network=LSTM(vectors=given)).fit(TEXTS, Y)
        table = model.network_.words.weight.detach().numpy()
        for word in VECTORS.words:
            np.testing.assert_allclose(
                table[model.vocabulary_.index[word]], VECTORS.vectors[VECTORS.index[word]], atol=1e-6
            )
        assert table.shape == (len(model.vocabulary_), 3)


@pytest.mark.parametrize(("network", "own"), [(CharCNN, 0.5), (LSTM, 0.0)])
def test_dropout_is_the_networks_own_where_none_is_given(network: type, own: float) -> None:
    for given, expected in ((None, own), (0.25, 0.25), (0.0, 0.0)):
        model = NGMClassifier(network=network(dropout=given), **QUICK | {"epochs": 1}).fit(TEXTS, Y)
        assert model.network_.dropout.p == expected


def test_settings_that_are_none_are_those_for_texts() -> None:
    model = NGMClassifier(network="lstm", batch_size=None, epochs=1).fit(TEXTS, Y)
    assert model.settings_.batch_size == 128
    assert model.settings_.learning_rate == 0.002
    taken = model.settings_
    assert (taken.steps, taken.most_epochs) == (TEXT_RECIPES["auto"].steps, TEXT_RECIPES["auto"].most_epochs)
    assert NGMClassifier(batch_size=None, epochs=1).fit(np.eye(24, dtype=np.float32), Y).settings_.batch_size == 512


def test_a_thesaurus_rewrites_training_texts_in_every_epoch(loaders: list[EdgeLoader]) -> None:
    seen: list[list[str]] = []
    model = NGMClassifier(**QUICK | {"epochs": 3}, validation=[0, 1], network=LSTM(thesaurus=SYNONYMS))
    model.fit(TEXTS, Y, graph=GRAPH, on_epoch=lambda epoch: seen.append(loaders[0].x.texts()))
    assert isinstance(loaders[0].x, SynonymTexts)
    expected = SynonymTexts(TEXTS, SYNONYMS, model.vocabulary_.read, seed=0)
    for epoch, texts in enumerate(seen):
        expected.set_epoch(epoch)
        assert texts == expected.texts()
    assert len({tuple(texts) for texts in seen}) == 3
    assert not any("feline" in word or "hound" in word for word in model.vocabulary_.words)  # read as unknown words


def test_validation_and_prediction_see_texts_as_they_are() -> None:
    scores: list[float] = []
    model = NGMClassifier(**QUICK | {"epochs": 1}, validation=[0, 1, 2, 3], network=CharCNN(thesaurus=SYNONYMS))
    model.fit(TEXTS, Y, on_epoch=lambda epoch: scores.append(epoch["validation_cost"]))
    shares = model.predict_proba(TEXTS[:4])
    classes = [model.classes_.tolist().index(c) for c in Y[:4]]
    assert scores[0] == pytest.approx(float(-np.log(shares[np.arange(4), classes]).mean()), rel=1e-5)


def test_the_loader_tells_x_which_epoch_it_is() -> None:
    x = SynonymTexts(TEXTS, SYNONYMS, quantize, seed=0)
    loader = EdgeLoader(x, np.zeros(24, dtype=int), GRAPH, batch_size=8)
    for expected in range(2):
        for _ in loader:
            assert x.epoch == expected
    loader.set_epoch(7)
    assert x.epoch == 7


def test_a_network_of_ones_own_takes_texts_that_were_read() -> None:
    words = Vocabulary.of(TEXTS)

    class Bag(nn.Module):
        def __init__(self, in_features: int, out_features: int) -> None:
            super().__init__()
            self.words = nn.EmbeddingBag(len(words), 8, padding_idx=0)
            self.output = nn.Linear(8, out_features)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            logits: torch.Tensor = self.output(self.words(x.long()))
            return logits

    model = NGMClassifier(recipe="paper", network=Bag, epochs=30, batch_size=16, learning_rate=0.02).fit(
        words.read(TEXTS), Y, graph=GRAPH
    )
    assert model.score(words.read(TEXTS), TRUTH) > 0.8


def test_a_regressor_reads_texts() -> None:
    numbers = np.where(TRUTH == "pets", 1.0, -1.0)
    numbers[16:] = np.nan
    model = NGMRegressor(network="lstm", epochs=60, batch_size=16, learning_rate=0.01).fit(TEXTS, numbers, graph=GRAPH)
    assert np.corrcoef(model.predict(TEXTS), TRUTH == "pets")[0, 1] > 0.5


# The strong recipe


@pytest.mark.parametrize(("vectors", "seeds"), [(False, 3), (True, 1)], ids=["propagation", "teachers"])
def test_with_few_labels_the_strong_recipe_beats_the_network_alone(vectors: bool, seeds: int) -> None:
    words = [*TOPICS["pets"], *TOPICS["money"], *COMMON]
    made = np.random.default_rng(5).normal(size=(len(words), 40))
    gains = []
    for seed in range(seeds):
        texts, y = make_texts(64, seed)
        y[4:] = None
        graph = text_graph(texts, k=5)
        settings = {"network": "lstm", "batch_size": 16, "learning_rate": 0.01, "seed": seed}
        if vectors:
            settings["network"] = LSTM(vectors=WordVectors(words, made))
        strong = NGMClassifier(recipe="strong", epochs=10, **settings, optimizer=Optimizer(ema_decay=0.9)).fit(
            texts, y, graph=graph
        )
        plain = NGMClassifier(recipe="paper", epochs=40, **settings).fit(
            texts, y
        )  # as many steps: 4 an epoch there, 1 here
        new, right = make_texts(200, seed + 100)
        gains.append(strong.score(new, right) - plain.score(new, right))
        assert strong.num_labeled_ > 60
    assert min(gains) > 0
    assert np.mean(gains) > 0.1


def test_propagated_targets_are_halfway_between_two_labels() -> None:
    path = Graph.from_edges([[0, 1], [1, 2], [3, 4]], num_nodes=6)
    targets = Targets(np.eye(3, dtype=np.float32)[[0, 0, 2, 0, 0, 1]])
    (found,) = propagated_labels(NodeViews({}, [path]), targets, np.isin(np.arange(6), [0, 2, 5]))
    shares, told = torch.from_numpy(found.values), found.values.any(axis=1)
    # Eq. 2 with mu1 = 8: a label has 8/9 + 1/18 = 17/18 of its own node, squared and scaled 289/290
    assert torch.allclose(shares[:3], torch.tensor([[289, 0, 1], [145, 0, 145], [1, 0, 289]]) / 290, atol=1e-3)
    assert told.tolist() == [True, True, True, False, False, True]  # 3 and 4 are joined to no label
    assert shares[5].tolist() == [0, 1, 0]


def test_propagated_targets_of_soft_labels_lie_between_them_with_no_share_for_other_classes() -> None:
    path = Graph.from_edges([[0, 1], [1, 2]], num_nodes=3)
    soft = np.array([[0.9, 0.1, 0.0, 0.0], [0.0] * 4, [0.0, 0.2, 0.0, 0.8]], dtype=np.float32)
    (found,) = propagated_labels(NodeViews({}, [path]), Targets(soft), np.array([True, False, True]))
    shares = torch.from_numpy(found.values)
    middle = torch.tensor([0.45, 0.15, 0.0, 0.40]).square()
    assert torch.allclose(shares[1], middle / middle.sum(), atol=1e-3)
    assert float(shares[:, 2].max()) < 1e-12


def test_the_strong_recipe_does_not_train_on_validation_texts() -> None:
    texts, truth = make_texts(40)
    graph, rows = text_graph(texts, k=5), [1, 2, 3]
    settings = {"network": "lstm", "recipe": "strong", "epochs": 1}
    whole = NGMClassifier(**settings).fit(texts, truth, graph=graph)
    part = NGMClassifier(**settings, validation=rows).fit(texts, truth, graph=graph)
    assert (whole.num_labeled_, part.num_labeled_) == (40, 37)


def test_a_graph_that_tells_nothing_about_the_texts_is_left_out() -> None:
    texts, truth = make_texts(260)
    graph = text_graph(texts, k=8)
    assert graph.num_edges >= 1000  # fewer are never judged
    settings = {"network": "lstm", "recipe": "paper", "epochs": 1, "batch_size": 1024}
    assert NGMClassifier(**settings).fit(texts, truth, graph=graph).graphs_used_ == [True]
    renamed = torch.from_numpy(np.random.default_rng(0).permutation(260))
    shuffled = Graph.from_edges(renamed[graph.edges], graph.weight, 260)
    with pytest.warns(UserWarning, match=r"^graph ignored: "):
        assert NGMClassifier(**settings).fit(texts, truth, graph=shuffled).graphs_used_ == [False]


# Saving


SAVED: dict[str, dict[str, object]] = {
    "charcnn": {"network": "charcnn"},
    "lstm": {"network": "lstm"},
    "vectors": {"network": LSTM(vectors=VECTORS, thesaurus=SYNONYMS)},
}


@pytest.mark.parametrize("settings", SAVED.values(), ids=SAVED)
@pytest.mark.parametrize("during", [True, False], ids=["by fit", "by save"])
def test_a_text_classifier_comes_back_with_the_same_predictions(settings: dict, during: bool, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    model = NGMClassifier(**QUICK, **settings).fit(TEXTS, Y, graph=GRAPH, folder=folder if during else None)
    if not during:
        model.save(folder)
    back = load(folder)
    np.testing.assert_array_equal(back.predict_proba(TEXTS), model.predict_proba(TEXTS))
    assert getattr(back, "vocabulary_", None) == getattr(model, "vocabulary_", None)
    assert not hasattr(back, "n_features_in_")
    assert not any(file.suffix in (".pkl", ".pt") for file in folder.rglob("*"))


def test_a_run_folder_needs_no_file_of_word_vectors(tmp_path: Path) -> None:
    np.savez(tmp_path / "words.npz", words=np.array(VECTORS.words), vectors=VECTORS.vectors)
    model = NGMClassifier(**QUICK, network=LSTM(vectors=tmp_path / "words.npz")).fit(TEXTS, Y)
    model.save(tmp_path / "run")
    (tmp_path / "words.npz").unlink()
    back = load(tmp_path / "run")
    np.testing.assert_array_equal(back.predict_proba(TEXTS), model.predict_proba(TEXTS))
    assert back.network.vectors == str(tmp_path / "words.npz")


def test_word_vectors_in_memory_are_noted_by_their_size_and_not_kept(tmp_path: Path) -> None:
    NGMClassifier(**QUICK, **SAVED["vectors"]).fit(TEXTS, Y).save(tmp_path)
    settings = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))["settings"]
    noted = ("in memory: WordVectors(3 words, 3 wide)", "in memory: Thesaurus(4 words)")
    assert (settings["vectors"], settings["thesaurus"]) == noted
    assert load(tmp_path).get_params().get("network__vectors") is None
    text = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))["text"]
    assert text["words"] == Vocabulary.of(TEXTS).words
    assert text["width"] == 3
    assert (text["vectors"], text["thesaurus"]) == ("WordVectors(3 words, 3 wide)", "Thesaurus(4 words)")


@pytest.mark.parametrize("text", [None, {}, {"words": None, "width": 3}, {"words": ["a", "a"], "width": 3}])
def test_a_damaged_vocabulary_is_named(text: object, tmp_path: Path) -> None:
    NGMClassifier(network="lstm", **QUICK).fit(TEXTS, Y).save(tmp_path)
    model = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    (tmp_path / "model.json").write_text(json.dumps(model | {"text": text}), encoding="utf-8")
    with pytest.raises(ValueError, match=r"model\.json is damaged \(.* is wrong or not there\); train again$"):
        load(tmp_path)


@pytest.mark.parametrize("settings", SAVED.values(), ids=SAVED)
def test_resumed_training_ends_in_the_same_bits(settings: dict, tmp_path: Path) -> None:
    network = clone(network_of(settings["network"])).set_params(dropout=0.3, thesaurus=SYNONYMS)
    settings = QUICK | {"network": network, "epochs": 4, "validation": 0.25}
    whole = NGMClassifier(**settings).fit(TEXTS, Y, graph=GRAPH)
    with pytest.raises(KeyboardInterrupt):
        NGMClassifier(**settings).fit(
            TEXTS, Y, graph=GRAPH, on_epoch=stop_after(1, KeyboardInterrupt()), folder=tmp_path
        )
    parts = NGMClassifier(**settings).fit(TEXTS, Y, graph=GRAPH, folder=tmp_path, resume=True)
    assert same_bits(weights(parts), weights(whole))
    assert timeless(parts.history_) == timeless(whole.history_)


# With scikit-learn, and in rounds


def test_clones_searches_and_folds_take_lists_of_texts() -> None:
    model = NGMClassifier(**QUICK | {"epochs": 1}, network=LSTM(vectors=VECTORS, thesaurus=SYNONYMS))
    assert clone(model).get_params().keys() == model.get_params().keys()
    labels = np.where(Y == None, -1, Y == "pets").astype(int)  # noqa: E711
    plain = NGMClassifier(network="lstm", **QUICK | {"epochs": 1})
    for x in (TEXTS, tuple(TEXTS)):
        scores = cross_val_score(plain, x, labels, cv=LabeledKFold(2), params={"graph": GRAPH})
        assert scores.shape == (2,)
    search = GridSearchCV(plain, {"alpha_uu": [0.0, 0.1]}, cv=LabeledKFold(2)).fit(TEXTS, labels, graph=GRAPH)
    assert search.predict(TEXTS).shape == (24,)


@pytest.mark.filterwarnings("ignore:.*text:UserWarning")
@pytest.mark.parametrize("method", [CoTraining, SelfTraining])
def test_in_rounds_empty_texts_are_never_labelled(method: type[CoTraining] | type[SelfTraining]) -> None:
    texts, labels = list(TEXTS), list(Y)
    texts[20], labels[20] = " ", None
    model = method(NGMClassifier(network="lstm", **QUICK), rounds=3).fit(texts, labels, graph=GRAPH)
    assert len(model.history_) > 1


@pytest.mark.parametrize("form", [list, tuple, np.array, pd.Series])
def test_training_in_rounds_takes_texts_in_any_form(form: Callable[[list[str]], Sequence[str]]) -> None:
    network = NGMClassifier(network="lstm", **QUICK, validation=0.25)
    model = CoTraining(network, rounds=2).fit(form(TEXTS), Y, graph=GRAPH)
    assert model.predict(TEXTS).shape == (24,)
    assert all(record.validation is not None for record in model.history_)
