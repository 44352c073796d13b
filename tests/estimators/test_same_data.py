"""Resuming goes on with the same data or not at all; a run is replaced only on request, and has one writer."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Thread

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import cross_val_score
from torch import nn

from ngm import Graph, NGMClassifier, NGMRegressor, load
from ngm.io.locks import FolderInUseError, folder_lock
from ngm.networks import LSTM, CharCNN
from ngm.text.thesaurus import Thesaurus
from tests.fits import SMALL, same_bits, stop_after, weights

REMEDY = "resume with the same data, or train anew: overwrite=True (--overwrite), or another folder"


def files(folder: Path) -> dict[str, bytes]:
    return {f.relative_to(folder).as_posix(): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


def refused(call: Callable[[], object], text: str) -> None:
    with pytest.raises(ValueError, match=rf"\A{re.escape(text)}\Z"):
        call()


def test_folds_do_not_resume_each_other(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 5)).astype(np.float32), rng.integers(2, size=40)
    model, into = NGMClassifier(**SMALL), {"folder": tmp_path / "run", "resume": True}
    with pytest.warns(FitFailedWarning, match="was trained on other inputs"):
        scores = cross_val_score(model, x, y, cv=4, params=into)
    assert np.isnan(scores).tolist() == [False, True, True, True]
    with pytest.raises(ValueError, match="was trained on other inputs"):
        cross_val_score(model, x, y, cv=4, params=into, error_score="raise")


def other_edges(graph: Graph) -> Graph:
    edges = graph.edges.clone()
    edges[0, 1] = next(i for i in range(1, 30) if i > edges[0, 0] and [int(edges[0, 0]), i] not in edges.tolist())
    return Graph(graph.num_nodes, edges, graph.weight)


CHANGED = {
    "x": ("other inputs (x)", lambda x, y, g: (x + 1, y, g)),
    "half of the rows": ("30 rows, now there are 20", lambda x, y, g: (x[:20], y[:20], g[range(20)])),
    "columns": ("other inputs (x)", lambda x, y, g: (x[:, :4], y, g)),
    "float64": ("other inputs (x)", lambda x, y, g: (x.astype(np.float64), y, g)),
    "sparse": ("other inputs (x)", lambda x, y, g: (sp.csr_array(x), y, g)),
    "labels": ("other labels (y)", lambda x, y, g: (x, np.where(y >= 0, 1 - y, -1), g)),
    "classes": ("other labels (y)", lambda x, y, g: (x, np.where(y == 1, 2, y), g)),
    "labelled rows": ("other labels (y)", lambda x, y, g: (x, np.where(np.arange(30) == 3, -1, y), g)),
    "edges": ("another graph (edges, weights or direction differ)", lambda x, y, g: (x, y, other_edges(g))),
    "weights": (
        "another graph (edges, weights or direction differ)",
        lambda x, y, g: (x, y, Graph(30, g.edges, g.weight * 2)),
    ),
    "direction": (
        "another graph (edges, weights or direction differ)",
        lambda x, y, g: (x, y, Graph(30, g.edges, g.weight, directed=True)),
    ),
    "fewer edges": (
        "a graph with {m} edges, now it has 9",
        lambda x, y, g: (x, y, Graph(30, g.edges[:9], g.weight[:9])),
    ),
    "no graph": ("1 graphs, now there are 0", lambda x, y, g: (x, y, None)),
    "two graphs": ("1 graphs, now there are 2", lambda x, y, g: (x, y, [g, g])),
}


@pytest.mark.parametrize("name", CHANGED)
def test_other_data_is_refused_by_the_part_that_differs(data, name: str, tmp_path: Path) -> None:
    x, y, graph = data
    NGMClassifier(**SMALL | {"epochs": 2}).fit(x, y, graph=graph, folder=tmp_path)
    before = files(tmp_path)
    said, change = CHANGED[name]
    x, y, other = change(x, y, graph)
    again = NGMClassifier(**SMALL)
    text = f"{tmp_path} was trained on {said.format(m=graph.num_edges)}; {REMEDY}"
    refused(lambda: again.fit(x, y, graph=other, folder=tmp_path, resume=True), text)
    assert files(tmp_path) == before


def test_other_weights_of_rows_and_other_validation_rows_are_refused(data, tmp_path: Path) -> None:
    x, y, graph = data
    weight = np.linspace(1, 2, 30)

    def fit(held_out: object, weight: object, **settings: object) -> None:
        model = NGMClassifier(**SMALL | {"epochs": 2, "validation": held_out})
        model.fit(x, y, graph=graph, sample_weight=weight, folder=tmp_path, **settings)

    fit((x[:4], y[:4]), weight)
    fit((x[:4], y[:4]), weight.tolist(), resume=True)
    refused(
        lambda: fit((x[:4], y[:4]), weight + 1, resume=True),
        f"{tmp_path} was trained on another sample_weight; {REMEDY}",
    )
    refused(
        lambda: fit((x[:4], y[:4]), None, resume=True), f"{tmp_path} was trained on another sample_weight; {REMEDY}"
    )
    refused(
        lambda: fit((x[:4] + 1, y[:4]), weight, resume=True),
        f"{tmp_path} was trained on other validation rows; {REMEDY}",
    )


def test_other_targets_of_a_regression_are_refused(data, tmp_path: Path) -> None:
    x, _, graph = data
    y = x[:, 0].astype(np.float64)
    y[20:] = np.nan
    NGMRegressor(hidden=(8,), epochs=1).fit(x, y, graph=graph, folder=tmp_path)
    NGMRegressor(hidden=(8,), epochs=2).fit(x, y.tolist(), graph=graph, folder=tmp_path, resume=True)
    again = NGMRegressor(hidden=(8,), epochs=3)
    fit = partial(again.fit, x, y + 1, graph=graph, folder=tmp_path, resume=True)
    refused(fit, f"{tmp_path} was trained on other labels (y); {REMEDY}")


TEXTS = [f"{word} {i}" for i in range(6) for word in ("good", "bad")]


@pytest.mark.parametrize("network", [CharCNN, LSTM])
def test_other_texts_and_another_thesaurus_are_refused(network: type, tmp_path: Path) -> None:
    def fit(texts: object, synonyms: str, **settings: object) -> None:
        thesaurus = Thesaurus({"good": [synonyms]})
        model = NGMClassifier(network=network(thesaurus=thesaurus), epochs=1)
        model.fit(texts, [0, 1] * 6, folder=tmp_path, **settings)

    fit(TEXTS, "fine")
    fit(pd.Series(TEXTS), "fine", resume=True)
    other = [*TEXTS[:-1], "bad 6"]
    refused(lambda: fit(other, "fine", resume=True), f"{tmp_path} was trained on other inputs (x); {REMEDY}")
    refused(lambda: fit(TEXTS, "well", resume=True), f"{tmp_path} was trained on another thesaurus; {REMEDY}")


class Own(nn.Module):
    """A network that takes a mapping."""

    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        self.words, self.out = nn.Embedding(9, 4), nn.Linear(4, classes)

    def forward(self, rows: dict[str, torch.Tensor]) -> torch.Tensor:
        return self.out(self.words(rows["ids"]).mean(dim=1) * rows["scale"])


def test_other_parts_of_a_mapping_are_refused(tmp_path: Path) -> None:
    x = {"ids": torch.arange(24).reshape(12, 2) % 9, "scale": np.ones((12, 1), dtype=np.float32)}
    settings = {"network": Own, "epochs": 1, "layer": "words"}
    NGMClassifier(**settings).fit(x, [0, 1] * 6, folder=tmp_path)
    NGMClassifier(**settings).fit(x, [0, 1] * 6, folder=tmp_path, resume=True)
    other = x | {"scale": np.full((12, 1), 2, dtype=np.float32)}
    again = partial(NGMClassifier(**settings).fit, other, [0, 1] * 6, folder=tmp_path, resume=True)
    refused(again, f"{tmp_path} was trained on other inputs (x); {REMEDY}")


def test_the_same_data_may_come_in_another_form(data, tmp_path: Path) -> None:
    x, y, graph = data
    words = np.array(["no", "yes"], dtype=object)[np.clip(y, 0, 1)]
    words[y < 0] = None
    whole = NGMClassifier(**SMALL).fit(x, words, graph=graph)
    NGMClassifier(**SMALL | {"epochs": 2}).fit(x, words, graph=graph, folder=tmp_path)
    np.save(tmp_path / "x.npy", x)
    again, other = NGMClassifier(**SMALL), Graph(30, graph.edges, graph.weight)
    rows = np.load(tmp_path / "x.npy", mmap_mode="r")
    again.fit(rows, words.tolist(), graph=[other], folder=tmp_path, resume=True)
    assert same_bits(weights(again), weights(whole))


def test_a_run_without_digests_loads_and_resumes_with_a_warning(data, tmp_path: Path) -> None:
    x, y, graph = data
    NGMClassifier(**SMALL | {"epochs": 2}).fit(x, y, graph=graph, folder=tmp_path)
    file = tmp_path / "config.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    for old in ({}, {"data": {"rows": 30, "labels": "0", "x": "0"}}):  # of Python, and of the command
        file.write_text(json.dumps({k: v for k, v in config.items() if k != "data"} | old), encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            load(tmp_path)
        with pytest.warns(UserWarning, match="kept no digests of its data"):
            NGMClassifier(**SMALL).fit(x, y, graph=graph, folder=tmp_path, resume=True)
    assert json.loads(file.read_text(encoding="utf-8"))["data"] == config["data"]


def test_digests_change_no_bit_and_are_the_same_in_every_run(data, tmp_path: Path) -> None:
    x, y, graph = data
    plain = NGMClassifier(**SMALL).fit(x, y, graph=graph)
    kept = [NGMClassifier(**SMALL).fit(x, y, graph=graph, folder=tmp_path / name) for name in ("a", "b")]
    assert all(same_bits(weights(model), weights(plain)) for model in kept)
    configs = [json.loads((tmp_path / name / "config.json").read_text(encoding="utf-8")) for name in ("a", "b")]
    assert configs[0]["data"] == configs[1]["data"]


def test_a_run_is_replaced_only_on_request(data, tmp_path: Path) -> None:
    x, y, graph = data
    model = NGMClassifier(**SMALL).fit(x, y, graph=graph, folder=tmp_path)
    before = files(tmp_path)
    for replace in (lambda: model.save(tmp_path), lambda: model.fit(x, y, graph=graph, folder=tmp_path)):
        with pytest.raises(
            FileExistsError, match=r"holds a trained run; set overwrite=True \(--overwrite\) to replace"
        ):
            replace()
    assert files(tmp_path) == before
    again = NGMClassifier(**SMALL | {"epochs": 1}).fit(x, y, graph=graph, folder=tmp_path, overwrite=True)
    assert load(tmp_path).n_iter_ == 1
    again.save(tmp_path, overwrite=True)
    assert not (tmp_path / "checkpoint").exists()


def test_an_unfinished_run_is_replaced_only_on_request(data, tmp_path: Path) -> None:
    x, y, graph = data
    with pytest.raises(RuntimeError):
        NGMClassifier(**SMALL).fit(x, y, graph=graph, on_epoch=stop_after(1, RuntimeError()), folder=tmp_path)
    before = files(tmp_path)
    said = (
        f"{tmp_path} holds a run that has begun; set overwrite=True (--overwrite) to replace it, resume=True (--resume)"
    )
    with pytest.raises(FileExistsError, match=re.escape(said)):
        NGMClassifier(**SMALL).fit(x, y, graph=graph, folder=tmp_path)
    assert files(tmp_path) == before
    NGMClassifier(**SMALL).fit(x, y, graph=graph, folder=tmp_path, overwrite=True)


def test_what_save_wrote_cannot_be_resumed(data, tmp_path: Path) -> None:
    x, y, graph = data
    NGMClassifier(**SMALL).fit(x, y, graph=graph).save(tmp_path)
    before = files(tmp_path)
    with pytest.raises(ValueError, match="has weights but no checkpoint"):
        NGMClassifier(**SMALL).fit(x, y, graph=graph, folder=tmp_path, resume=True)
    assert files(tmp_path) == before


def test_settings_that_contradict_each_other_are_refused(data) -> None:
    x, y, _ = data
    with pytest.raises(ValueError, match="overwrite is True, but no folder is given"):
        NGMClassifier().fit(x, y, overwrite=True)
    with pytest.raises(ValueError, match="resume and overwrite are both True"):
        NGMClassifier().fit(x, y, folder="run", resume=True, overwrite=True)


@pytest.mark.parametrize("settings", [{}, {"resume": True}, {"overwrite": True}], ids=str)
def test_a_second_training_in_the_folder_is_refused(data, settings: dict, tmp_path: Path) -> None:
    x, y, graph = data
    said: list[str] = []

    def second(folder: Path) -> None:
        try:
            NGMClassifier(**SMALL).fit(x, y, graph=graph, folder=folder, **settings)
        except OSError as error:
            said.append(f"{type(error).__name__}: {error}")

    def at_first(epoch: dict[str, float]) -> None:
        if epoch["epoch"] == 0:
            thread = Thread(target=second, args=(tmp_path / "run",))
            thread.start()
            thread.join()

    first = NGMClassifier(**SMALL).fit(x, y, graph=graph, on_epoch=at_first, folder=tmp_path / "run")
    assert [text.split(" is being")[0] for text in said] == [f"{FolderInUseError.__name__}: {tmp_path / 'run'}"]
    assert same_bits(weights(first), weights(NGMClassifier(**SMALL).fit(x, y, graph=graph)))
    with folder_lock(tmp_path / "run"):  # free again
        pass
