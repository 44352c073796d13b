"""Estimators to run folders and back."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError
from torch import nn

from ngm import Graph, NGMClassifier, NGMRegressor, Optimizer, load
from ngm.estimators.persistence import begin, settings_as_json
from ngm.io.run_folder import RunTarget
from ngm.io.run_writer import RunWriter
from ngm.networks import FFNN
from ngm.recipes.parameters import Parameters
from ngm.recipes.settings import RECIPES
from ngm.rows import Inputs

SMALL = {"hidden": (8,), "epochs": 2, "recipe": "paper"}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 4)).astype(np.float32)
GRAPH = Graph.from_edges(RNG.integers(20, size=(40, 2)), num_nodes=20)
WORDS = np.where(X[:, 0] > 0, "yes", "no").astype(object)
WORDS[12:] = None
LABELS = (X[:, :3] > 0).astype(int)
SHARES = np.where(X[:, :1] > 0, [0.2, 0.8], [0.7, 0.3])


class Tied(nn.Module):
    """A network with one weight under two names, buffers, and an output that is not the last in the list."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.output = nn.Linear(in_features, out_features)
        self.first, self.second = nn.Linear(in_features, in_features), nn.Linear(in_features, in_features)
        self.second.weight = self.first.weight
        self.norm = nn.BatchNorm1d(in_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.output(self.norm(self.second(torch.relu(self.first(x)))))
        return logits


class OfParts(nn.Module):
    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.hidden, self.output = nn.Linear(6, 5), nn.Linear(5, out_features)

    def forward(self, x: dict[str, torch.Tensor]) -> torch.Tensor:
        logits: torch.Tensor = self.output(torch.relu(self.hidden(torch.cat([x["a"], x["b"]], dim=1))))
        return logits


def files(folder: Path) -> dict[str, bytes]:
    return {f.relative_to(folder).as_posix(): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


CLASSIFIERS: dict[str, tuple[Inputs, ArrayLike, dict]] = {
    "words": (X, WORDS, {}),
    "word array": (X, np.where(X[:, 0] > 0, "yes", "no"), {}),
    "integers": (X, np.where(X[:, 0] > 0, 7, 3), {}),
    "booleans": (X, X[:, 0] > 0, {}),
    "floats": (X, np.where(X[:, 0] > 0, 1.0, np.where(X[:, 1] > 0, 2.0, np.nan)), {}),
    "several labels": (X, LABELS, {}),
    "shares": (X, SHARES, {}),
    "double": (X.astype(np.float64), WORDS, {}),
    "table": (pd.DataFrame(X, columns=list("abcd")), WORDS, {}),
    "images": (X.reshape(20, 1, 2, 2), WORDS, {"network": lambda a, b: nn.Sequential(nn.Flatten(), nn.Linear(4, b))}),
    "tied": (X, WORDS, {"network": Tied}),
    "mapping": ({"a": X, "b": X[:, :2]}, WORDS, {"network": OfParts}),
}


@pytest.mark.parametrize(("x", "y", "settings"), CLASSIFIERS.values(), ids=CLASSIFIERS)
@pytest.mark.parametrize("during", [True, False], ids=["by fit", "by save"])
def test_a_classifier_comes_back_with_the_same_predictions(
    x: Inputs, y: ArrayLike, settings: dict, during: bool, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    model = NGMClassifier(**SMALL, **settings).fit(x, y, graph=GRAPH, folder=folder if during else None)
    if not during:
        assert model.save(folder) == folder
    back = load(folder, network=settings.get("network"))
    assert not back.network_.training
    np.testing.assert_array_equal(back.predict_proba(x), model.predict_proba(x))
    np.testing.assert_array_equal(back.predict(x), model.predict(x))
    np.testing.assert_array_equal(back.transform(x), model.transform(x))
    np.testing.assert_array_equal(back.classes_, model.classes_)
    assert back.classes_.dtype == model.classes_.dtype
    assert (back.task_, back.dtype_) == (model.task_, model.dtype_)
    learned = ("history_", "n_iter_", "num_labeled_", "num_given_", "num_validation_", "edges_by_kind_")
    assert [getattr(back, name) for name in learned] == [getattr(model, name) for name in learned]
    assert getattr(back, "n_features_in_", None) == getattr(model, "n_features_in_", None)


@pytest.mark.parametrize("y", [X[:, 0], np.stack([X[:, 0], 100 * X[:, 1] + 7], axis=1)], ids=["one", "several"])
@pytest.mark.parametrize("network", ["ffnn", Tied])
def test_a_regressor_comes_back_with_the_same_predictions(
    y: NDArray[np.float32], network: str | Callable[..., nn.Module], tmp_path: Path
) -> None:
    model = NGMRegressor(**SMALL, network=network).fit(X, y, graph=GRAPH)
    model.save(tmp_path)
    back = load(tmp_path, network=None if network == "ffnn" else Tied)
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    assert back.predict(X).shape == y.shape


def test_settings_come_back(tmp_path: Path) -> None:
    settings = SMALL | {"alpha_uu": [0.5], "distance": "l1", "validation": [0, 1], "seed": 4}
    settings |= {"network": FFNN(dropout=0.2), "optimizer": Optimizer("sgd", clip=1.0)}
    model = NGMClassifier(**settings).fit(X, WORDS, graph=GRAPH)
    model.save(tmp_path)
    assert repr(load(tmp_path)) == repr(model)


def test_a_model_that_was_loaded_can_be_fitted_and_saved_again(tmp_path: Path) -> None:
    model = NGMClassifier(**SMALL).fit(X, WORDS, graph=GRAPH)
    back = load(model.save(tmp_path / "one"))
    back.save(tmp_path / "two")
    one, two = files(tmp_path / "one"), files(tmp_path / "two")
    assert one == two
    np.testing.assert_array_equal(back.fit(X, WORDS, graph=GRAPH).predict_proba(X), model.predict_proba(X))


def test_labels_that_were_given_are_counted_apart_from_those_of_the_graph(tmp_path: Path) -> None:
    y = np.where(np.arange(40) < 12, np.arange(40) % 2, -1)
    x = np.where(np.arange(40)[:, None] % 2, 1.0, -1.0) * np.ones((1, 3), dtype=np.float32)
    alike = Graph.from_edges([(i, i + 2) for i in range(38)], num_nodes=40)
    NGMClassifier(**SMALL | {"recipe": "strong"}, validation=[0, 1, 2]).fit(x, y, graph=alike, folder=tmp_path)
    metrics = json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8"))
    assert (metrics["labeled_given"], metrics["validation_rows"], metrics["labeled"]) == (9, 3, 40)


def test_a_folder_without_these_counts_still_comes_back_and_is_saved_as_it_was(tmp_path: Path) -> None:
    NGMClassifier(**SMALL).fit(X, WORDS, graph=GRAPH).save(tmp_path / "old")
    file = tmp_path / "old" / "metrics.json"
    metrics = json.loads(file.read_text(encoding="utf-8"))
    del metrics["labeled_given"], metrics["validation_rows"]
    file.write_text(json.dumps(metrics), encoding="utf-8")
    load(tmp_path / "old").save(tmp_path / "new")
    assert json.loads((tmp_path / "new" / "metrics.json").read_text(encoding="utf-8")) == metrics


def test_names_of_columns_come_back(tmp_path: Path) -> None:
    table = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    NGMClassifier(**SMALL).fit(table, WORDS).save(tmp_path)
    back = load(tmp_path)
    assert back.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match="The feature names should match those that were passed during fit"):
        back.predict(table[["b", "a", "c", "d"]])
    NGMClassifier(**SMALL).fit(X, WORDS).save(tmp_path, overwrite=True)
    assert not hasattr(load(tmp_path), "feature_names_in_")


def test_width_of_the_inputs_comes_back(tmp_path: Path) -> None:
    NGMClassifier(**SMALL).fit(X, WORDS).save(tmp_path)
    with pytest.raises(ValueError, match="X has 3 features, but NGMClassifier is expecting 4 features as input"):
        load(tmp_path).predict(X[:, :3])


def test_a_run_folder_holds_the_files_that_are_documented(tmp_path: Path) -> None:
    model = NGMClassifier(**SMALL, validation=0.3).fit(X, WORDS, graph=GRAPH, folder=tmp_path)
    assert set(files(tmp_path)) == {
        "config.json",
        "history.jsonl",
        "metrics.json",
        "model.json",
        "weights.safetensors",
        "checkpoint/state.safetensors",
        "evidence/evidence.json",
        "evidence/nodes.parquet",
        *(f"evidence/{name}.npy" for name in ("before", "edges", "graph", "hidden", "weight")),
    }
    metrics = json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8"))
    best = model.history_.epochs[model.history_.best_epoch]
    assert metrics == {
        "stopped": "all epochs done",
        "epochs": 2,
        "best_epoch": model.history_.best_epoch,
        "seconds": sum(epoch["seconds"] for epoch in model.history_.epochs),
        "validation": {"accuracy": best["validation_accuracy"], "cost": best["validation_cost"]},
        "labeled": 8,
        "labeled_given": 8,
        "validation_rows": 4,
        "edges": model.edges_by_kind_,
        "graphs_used": [True],
    }
    assert json.loads((tmp_path / "model.json").read_text(encoding="utf-8")) == {
        "dtype": "float32",
        "in_features": 4,
        "out_features": 2,
        "is_table": True,
        "feature_names": None,
        "settings": vars(model.settings_),
        "task": "classes",
        "classes": ["no", "yes"],
        "classes_type": "|O",
    }


def test_a_model_predicts_as_it_was_trained_whatever_its_recipe_says_by_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = NGMClassifier(**SMALL).fit(X, WORDS, graph=GRAPH)
    model.save(tmp_path / "run")
    later = dataclasses.replace(RECIPES["paper"], input_scaling="unit_rows")
    monkeypatch.setitem(RECIPES, "paper", later)
    np.testing.assert_array_equal(load(tmp_path / "run").predict_proba(X), model.predict_proba(X))


def test_settings_that_json_has_not_are_noted_by_name() -> None:
    def far(h_u: torch.Tensor, h_v: torch.Tensor) -> torch.Tensor:
        return (h_u - h_v).sum(dim=1)

    model = NGMClassifier(
        distance=far, network=Tied, validation=(X, WORDS), alpha_ll=np.float32(0.5),
        alpha_lu=np.array([0.5, 1]), hidden=(np.int64(3), 4),
    )  # fmt: skip
    noted = settings_as_json(model)
    assert (noted["distance"], noted["network"]) == ("function far", "function Tied")
    assert noted["validation"] == "given as tuple"
    assert (noted["alpha_ll"], noted["alpha_lu"], noted["hidden"]) == (0.5, [0.5, 1.0], [3, 4])
    json.dumps(noted)


# What is refused


def refused(call: Callable[[], object], text: str, kind: type[Exception] = ValueError) -> None:
    with pytest.raises(kind, match=f"^{re.escape(text)}$"):
        call()


def test_an_estimator_that_is_not_fitted_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        NGMClassifier().save(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_save_does_not_touch_a_folder_of_other_files(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine", encoding="utf-8")
    model = NGMClassifier(**SMALL).fit(X, WORDS)
    text = f"{tmp_path} holds other files and no run; name a new or empty folder"
    refused(lambda: model.save(tmp_path), text, FileExistsError)
    refused(lambda: NGMClassifier(**SMALL).fit(X, WORDS, folder=tmp_path), text, FileExistsError)
    assert files(tmp_path) == {"thesis.tex": b"mine"}


def test_a_network_of_ones_own_must_be_given_to_load(tmp_path: Path) -> None:
    NGMClassifier(network=Tied, epochs=1).fit(X, WORDS).save(tmp_path)
    refused(
        lambda: load(tmp_path),
        f"{tmp_path} was trained with a network of your own (Tied); call load(folder, network=Tied)",
    )


def test_weights_of_another_network_are_refused(tmp_path: Path) -> None:
    NGMClassifier(network=Tied, epochs=1).fit(X, WORDS).save(tmp_path)
    refused(
        lambda: load(tmp_path, network=lambda a, b: nn.Linear(a, b)),
        f'the weights in {tmp_path} do not fit the network (Missing key(s) in state_dict: "weight", "bias"); '
        "give the network and the data it had",
    )


def edit(file: Path, change: Callable[[dict], object]) -> None:
    content = json.loads(file.read_text(encoding="utf-8"))
    change(content)
    file.write_text(json.dumps(content), encoding="utf-8")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return NGMClassifier(**SMALL).fit(X, WORDS).save(tmp_path / "run")


def test_a_folder_of_a_newer_release_is_refused(saved: Path) -> None:
    edit(saved / "config.json", lambda c: c["settings"].update(wobble=1))
    refused(
        lambda: load(saved),
        f"{saved}/config.json has unknown settings wobble; was it written by a newer release?",
    )
    edit(saved / "config.json", lambda c: c.update(estimator="NGMRanker"))
    refused(lambda: load(saved), f"{saved} holds a 'NGMRanker'; this release loads NGMClassifier, NGMRegressor")
    edit(saved / "config.json", lambda c: c.update(version=2))
    refused(
        lambda: load(saved),
        f"{saved / 'config.json'} says format 'ngm-run' version 2; this release reads 'ngm-run' version 1",
    )


@pytest.mark.parametrize(
    ("name", "key", "why"),
    [
        ("config.json", "settings", "it lacks 'settings'"),
        ("config.json", "estimator", "it lacks 'estimator'"),
        ("metrics.json", "best_epoch", "it lacks 'best_epoch'"),
        ("model.json", "in_features", "it lacks 'in_features'"),
        ("model.json", "classes", "'classes' is wrong or not there"),
    ],
)
def test_a_file_that_lacks_an_entry_is_named(saved: Path, name: str, key: str, why: str) -> None:
    edit(saved / name, lambda c: c.pop(key))
    refused(lambda: load(saved), f"{saved / name} is damaged ({why}); train again")


@pytest.mark.parametrize("name", ["config.json", "model.json", "metrics.json", "weights.safetensors", "history.jsonl"])
def test_a_damaged_file_is_named_in_one_line(saved: Path, name: str) -> None:
    (saved / name).write_bytes(b"{ not what it was")
    with pytest.raises(ValueError, match=re.escape(f"{saved / name} is damaged (")) as caught:
        load(saved)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["model.json", "metrics.json", "weights.safetensors"])
def test_a_missing_file_means_that_training_did_not_get_that_far(saved: Path, name: str) -> None:
    (saved / name).unlink()
    with pytest.raises(FileNotFoundError, match=re.escape(f"{saved} has no {name}: training did not get that far")):
        load(saved)


def test_a_folder_that_is_no_run_is_not_loaded(tmp_path: Path) -> None:
    refused(lambda: load(tmp_path), f"{tmp_path} is not a run folder: it has no config.json", FileNotFoundError)


# Resuming


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"learning_rate": 0.5}, "learning_rate=None, now it is 0.5"),
        ({"hidden": (8, 8)}, "hidden=[8], now it is [8, 8]"),
        ({"network": Tied}, "network='ffnn', now it is 'function Tied'"),
        ({"seed": 1}, "seed=0, now it is 1"),
        ({"alpha_uu": [0.2]}, "alpha_uu=None, now it is [0.2]"),
    ],
)
def test_resume_with_another_setting_is_refused(changed: dict, said: str, tmp_path: Path) -> None:
    NGMClassifier(**SMALL).fit(X, WORDS, graph=GRAPH, folder=tmp_path)
    before = files(tmp_path)
    again = NGMClassifier(**SMALL | changed)
    refused(
        lambda: again.fit(X, WORDS, graph=GRAPH, folder=tmp_path, resume=True),
        f"{tmp_path} was trained with {said}; resume with the same settings, or train into a new folder",
    )
    assert files(tmp_path) == before


def test_resume_of_another_estimator_is_refused(tmp_path: Path) -> None:
    NGMClassifier(**SMALL).fit(X, WORDS, folder=tmp_path)
    refused(
        lambda: NGMRegressor(**SMALL).fit(X, X[:, 0], folder=tmp_path, resume=True),
        f"{tmp_path} was trained with estimator='NGMClassifier', now it is 'NGMRegressor'; resume with the same "
        "settings, or train into a new folder",
    )


def test_resume_from_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    NGMClassifier(**SMALL).fit(X, WORDS, folder=tmp_path)
    file = tmp_path / "checkpoint" / "state.safetensors"
    file.write_bytes(b"garbage")
    with pytest.raises(ValueError, match=re.escape(f"{file} is damaged (")):
        NGMClassifier(**SMALL).fit(X, WORDS, folder=tmp_path, resume=True)


def test_with_overwrite_a_folder_starts_anew(tmp_path: Path) -> None:
    NGMClassifier(**SMALL | {"epochs": 5}).fit(X, WORDS, folder=tmp_path)
    again = NGMClassifier(**SMALL).fit(X, WORDS, folder=tmp_path, overwrite=True)
    assert again.n_iter_ == 2
    assert len((tmp_path / "history.jsonl").read_text(encoding="utf-8").splitlines()) == 2
    np.testing.assert_array_equal(again.predict_proba(X), NGMClassifier(**SMALL).fit(X, WORDS).predict_proba(X))


def test_only_the_leading_process_writes(tmp_path: Path) -> None:
    target = RunTarget(tmp_path / "run")
    run = begin("NGMClassifier", Parameters(), target, {}, writer=None)
    assert run.folder == tmp_path / "run"
    assert not run.folder.exists()
    begin("NGMClassifier", Parameters(), target, {}, RunWriter())
    assert list(files(tmp_path / "run")) == ["config.json"]
