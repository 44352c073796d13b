"""Rounds that were interrupted go on to the bits of a training that was not, and nothing else is accepted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

import ngm
from ngm import CoTraining, Graph, NGMClassifier, SelfTraining
from ngm.estimators.round_records import Round
from ngm.networks import FFNN, FFNNModule
from tests.benchmark_modules import Forked, Job
from tests.ranks import ROOT, run_ranks

SMALL = {"hidden": (4,), "epochs": 2, "batch_size": 16, "network": FFNN(dropout=0.3), "recipe": "paper"}
each = pytest.mark.parametrize("method", [SelfTraining, CoTraining])
Data = tuple[NDArray[np.float32], NDArray[np.int64], Graph]


def estimator(**settings: object) -> NGMClassifier:
    return NGMClassifier(**SMALL | settings)


def stop_after(number: int, error: BaseException):
    def stop(record: Round) -> None:
        if record.round == number:
            raise error

    return stop


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def assert_same(one: SelfTraining | CoTraining, other: SelfTraining | CoTraining, x: NDArray[np.float32]) -> None:
    np.testing.assert_array_equal(one.predict_proba(x), other.predict_proba(x))
    assert (one.history_, one.best_round_, one.stopped_) == (other.history_, other.best_round_, other.stopped_)
    taught = "labels_" if isinstance(one, SelfTraining) else "targets_"
    np.testing.assert_array_equal(getattr(one, taught), getattr(other, taught))
    np.testing.assert_array_equal(one.classes_, other.estimator_.classes_)
    assert one.estimator_.settings_ == other.estimator_.settings_


@pytest.mark.parametrize(("method", "step"), [("SelfTraining", 67), ("CoTraining", 31)])
def test_rounds_killed_at_any_moment_go_on_to_the_same_bits(
    method: str, step: int, tmp_path: Path, server: Forked
) -> None:
    code = "import runpy\nrunpy.run_module('tests.killed_rounds', run_name='__main__')"
    done = server.run(Job((method, str(tmp_path), str(step)), str(ROOT), script=code))
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["kills"] >= 4
    assert told["other"] == []
    assert told["left"] == []
    (names_of_a_run,) = told["folders"]  # the same in all of them, and no folders of rounds
    assert "rounds" not in names_of_a_run


@each
@pytest.mark.parametrize(("validation", "after"), [(None, 1), (0.3, 0), (0.3, 2)])
def test_rounds_that_broke_off_between_two_go_on_to_the_same_bits(
    method: type, validation: float | None, after: int, data: Data, tmp_path: Path
) -> None:
    x, y, graph = data
    words = np.array(["no", "yes", None], dtype=object)[y]
    whole = method(estimator(validation=validation), rounds=3).fit(x, words, graph=graph)
    with pytest.raises(RuntimeError, match="power cut"):
        method(estimator(validation=validation), rounds=3).fit(
            x, words, graph=graph, on_round=stop_after(after, RuntimeError("power cut")), folder=tmp_path
        )
    seen: list[Round] = []
    parts = method(estimator(validation=validation), rounds=3)
    parts.fit(x, words, graph=graph, on_round=seen.append, folder=tmp_path, resume=True)
    assert [r.round for r in seen] == [r.round for r in whole.history_][after + 1 :]
    assert_same(parts, whole, x)
    np.testing.assert_array_equal(ngm.load(tmp_path).predict(x), whole.predict(x))


@each
def test_a_round_that_broke_off_in_the_middle_goes_on_from_its_last_epoch(
    method: type, data: Data, tmp_path: Path
) -> None:
    x, y, graph = data
    passes, until = [0], [-1]  # forward passes in training, and at which of them to break off

    class Interrupted(FFNNModule):
        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            passes[0] += self.training
            if self.training and passes[0] == until[0]:
                raise KeyboardInterrupt
            return super().forward(rows)

    def made(width: int, classes: int) -> nn.Module:
        return Interrupted(width, classes, hidden=(4,))

    settings = {"network": made, "epochs": 5, "hidden": (250, 100)}
    whole = method(estimator(**settings), rounds=2).fit(x, y, graph=graph)
    alone, passes[0] = passes[0], 0
    until[0] = alone * 3 // 4  # in the last round, after its first epoch
    broken = method(estimator(**settings), rounds=2)
    with pytest.raises(KeyboardInterrupt, match=rf"finished rounds?, kept in {tmp_path}; to go on, fit again with"):
        broken.fit(x, y, graph=graph, folder=tmp_path)
    assert broken.stopped_ == "interrupted"
    np.testing.assert_array_equal(broken.predict(x), broken.estimator_.predict(x))
    parts = method(estimator(**settings), rounds=2).fit(x, y, graph=graph, folder=tmp_path, resume=True)
    epoch = alone // (5 * len(whole.history_))
    assert alone < passes[0] <= alone + epoch  # no more was done twice than an epoch
    assert_same(parts, whole, x)


@each
def test_a_training_in_rounds_that_is_done_is_not_trained_again(method: type, data: Data, tmp_path: Path) -> None:
    x, y, graph = data
    done = method(estimator(validation=0.3), rounds=2).fit(x, y, graph=graph, folder=tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    seen: list[Round] = []
    again = method(estimator(validation=0.3), rounds=2)
    again.fit(x, y, graph=graph, on_round=seen.append, folder=tmp_path, resume=True)
    assert seen == []
    assert_same(again, done, x)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert again.estimator_.get_params(deep=False).keys() == done.estimator_.get_params(deep=False).keys()


@each
def test_ctrl_c_without_a_folder_says_how_to_be_able_to_go_on(method: type, data: Data) -> None:
    x, y, graph = data
    text = "interrupted after 1 finished round; fit with folder= to be able to go on after that"
    with pytest.raises(KeyboardInterrupt, match=re.escape(text)):
        method(estimator(), rounds=3).fit(x, y, graph=graph, on_round=stop_after(0, KeyboardInterrupt()))


def broken_off(method: type, data: Data, folder: Path) -> None:
    x, y, graph = data
    with pytest.raises(RuntimeError, match="power cut"):
        method(estimator(), rounds=3).fit(
            x, y, graph=graph, truth=y, on_round=stop_after(1, RuntimeError("power cut")), folder=folder
        )


@each
def test_other_data_and_other_settings_are_refused_by_name(method: type, data: Data, tmp_path: Path) -> None:
    x, y, graph = data
    broken_off(method, data, tmp_path)
    fewer = Graph(graph.num_nodes, graph.edges[1:], graph.weight[1:])
    swapped = np.where(y >= 0, 1 - y, y)
    wrong = [
        ({"x": x + 1}, {}, {}, "other inputs"),
        ({"y": swapped}, {}, {}, "other labels"),
        ({"graph": fewer}, {}, {}, "edges"),
        ({"truth": swapped}, {}, {}, "truth="),
        ({}, {"confidence": 0.5}, {}, "confidence=0.0, now it is 0.5"),
        ({}, {}, {"seed": 1}, "seed=0, now it is 1"),
        ({}, {}, {"epochs": 3}, "estimator__epochs=2, now it is 3"),
    ]
    for given, settings, own, text in wrong:
        with pytest.raises(ValueError, match=text):
            method(estimator(**own), rounds=3, **settings).fit(
                **{"x": x, "y": y, "graph": graph, "truth": y} | given, folder=tmp_path, resume=True
            )
    parts = method(estimator(), rounds=3)
    parts.fit(x, y, graph=graph, truth=y, folder=tmp_path, resume=True)  # none of them has spoilt it
    np.testing.assert_array_equal(
        parts.predict_proba(x), method(estimator(), rounds=3).fit(x, y, graph=graph).predict_proba(x)
    )


@each
def test_a_begun_training_is_not_replaced_without_asking(method: type, data: Data, tmp_path: Path) -> None:
    x, y, graph = data
    broken_off(method, data, tmp_path)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        method(estimator(), rounds=3).fit(x, y, graph=graph, folder=tmp_path)
    anew = method(estimator(seed=1), rounds=3).fit(x, y, graph=graph, folder=tmp_path, overwrite=True)
    assert [r.round for r in anew.history_] == list(range(len(anew.history_)))
    assert "rounds" not in names(tmp_path)


def test_one_method_does_not_go_on_with_another_nor_with_a_plain_run(data: Data, tmp_path: Path) -> None:
    x, y, graph = data
    broken_off(SelfTraining, data, tmp_path / "rounds")
    with pytest.raises(ValueError, match="method='SelfTraining', now it is 'CoTraining'"):
        CoTraining(estimator(), rounds=3).fit(x, y, graph=graph, folder=tmp_path / "rounds", resume=True)
    estimator().fit(x, y, graph=graph, folder=tmp_path / "plain")
    with pytest.raises(ValueError, match="holds a run without rounds"):
        SelfTraining(estimator(), rounds=3).fit(x, y, graph=graph, folder=tmp_path / "plain", resume=True)


def test_a_plain_run_that_replaces_rounds_leaves_none_of_them(data: Data, tmp_path: Path) -> None:
    x, y, graph = data
    broken_off(SelfTraining, data, tmp_path)
    assert "rounds" in names(tmp_path)
    estimator().fit(x, y, graph=graph, folder=tmp_path, overwrite=True)
    assert "rounds" not in names(tmp_path)


def test_several_processes_go_on_with_the_same_rounds(tmp_path: Path, server: Forked) -> None:
    ended = run_ranks(server, RANKS.replace("{root}", str(tmp_path)), 2)
    assert ended.code == 0, ended.err
    first, second = (np.load(tmp_path / f"rank{rank}.npz") for rank in range(2))
    for name in ("SelfTraining", "CoTraining"):
        np.testing.assert_array_equal(first[name], first[f"{name} whole"])
        np.testing.assert_array_equal(first[name], second[name])
    assert names(tmp_path) == ["CoTraining", "SelfTraining", "rank0.npz", "rank1.npz"]
    assert "rounds" not in names(tmp_path / "CoTraining")


RANKS = """
import os
from pathlib import Path
import numpy as np
from ngm import CoTraining, NGMClassifier, SelfTraining
from tests.killed_rounds import problem
x, y, truth, graph = problem()
root, found = Path("{root}"), {}

def stop(record):
    if record.round == 1:
        raise RuntimeError("power cut")

for method in (SelfTraining, CoTraining):
    def fit(on_round=None, **into):
        model = method(NGMClassifier(hidden=(4,), epochs=2, batch_size=16, validation=0.25), rounds=3)
        return model.fit(x, y, graph=graph, on_round=on_round, **into).predict_proba(x)
    name = method.__name__
    found[name + " whole"] = fit()
    try:
        fit(stop, folder=root / name, resume=True)
    except RuntimeError:
        pass
    found[name] = fit(folder=root / name, resume=True)
np.savez(root / f"rank{os.environ['RANK']}.npz", **found)
"""
