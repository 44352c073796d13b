"""`Predictor` by itself: what a worker of Ray Data does with a batch of columns. No Ray is started."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ngm
from ngm.ray import Predictor
from tests.conftest import make_problem
from tests.rank_programs import classifier
from tests.texts import QUICK, TEXTS, Y


def test_a_column_of_vectors_is_x(tmp_path: Path) -> None:
    problem = make_problem()
    x = problem.x.numpy()
    model = classifier().fit(x, problem.y)
    predict = Predictor(model.save(tmp_path / "run"), "x", all_classes=True)
    for column in (x, pd.Series(list(x)), np.array([*x, None], dtype=object)[:-1]):
        found = predict({"id": np.arange(40), "x": column})
        assert list(found) == ["id", "x", "class", "probability", "p_0", "p_1", "p_2"]
        assert found["class"].tolist() == model.predict(x).tolist()
        shares = np.stack([found[f"p_{c}"] for c in range(3)], axis=1)
        np.testing.assert_allclose(shares, model.predict_proba(x), atol=1e-6)
        np.testing.assert_array_equal(found["probability"], shares.max(axis=1))


def test_columns_of_numbers_are_put_side_by_side_or_taken_by_their_names(tmp_path: Path) -> None:
    problem = make_problem()
    frame = pd.DataFrame(problem.x.numpy(), columns=list("abcdef"))
    plain, named = classifier().fit(frame.to_numpy(), problem.y), classifier().fit(frame, problem.y)
    expected = plain.predict(frame.to_numpy()).tolist()
    by_place = Predictor(plain.save(tmp_path / "plain"), list("abcdef"))
    by_name = Predictor(named.save(tmp_path / "named"))
    for predict in (by_place, by_name):
        assert predict(frame[list("fedcba")])["class"].tolist() == expected
        assert predict({name: frame[name].to_numpy() for name in frame})["class"].tolist() == expected


def test_a_column_of_texts_is_x_for_a_network_that_reads_texts(tmp_path: Path) -> None:
    model = ngm.NGMClassifier(network="lstm", **QUICK).fit(TEXTS, Y)
    found = Predictor(model.save(tmp_path / "run"), "text")({"text": np.array(TEXTS, dtype=object)})
    assert found["class"].tolist() == model.predict(TEXTS).tolist()


def test_numbers_are_predicted_as_numbers(tmp_path: Path) -> None:
    problem = make_problem()
    x = problem.x.numpy()
    model = ngm.NGMRegressor(hidden=(4,), epochs=2, recipe="paper").fit(x, x[:, 0])
    found = Predictor(model.save(tmp_path / "run"), "x")({"x": x})
    np.testing.assert_array_equal(found["prediction"], model.predict(x))


def test_a_batch_without_the_column_or_with_that_of_the_predictions_is_refused(tmp_path: Path) -> None:
    problem = make_problem()
    folder = classifier().fit(problem.x, problem.y).save(tmp_path / "run")
    with pytest.raises(ValueError, match=f"{folder} was trained in Python; give columns="):
        Predictor(folder)
    predict = Predictor(folder, "vector")
    with pytest.raises(ValueError, match=r"^there is no column 'vector' .*'vectors'.*; there are vectors, id$"):
        predict({"vectors": problem.x.numpy(), "id": np.arange(40)})
    with pytest.raises(ValueError, match="there is a column 'class' already"):
        predict({"vector": problem.x.numpy(), "class": np.arange(40)})


def test_a_run_of_ngm_train_knows_its_columns(tmp_path: Path) -> None:
    pd.DataFrame({"text": TEXTS, "topic": Y}).to_csv(tmp_path / "texts.csv", index=False)
    settings = {"hidden": (4,), "epochs": 2, "recipe": "paper"}
    result = ngm.workflow.train(
        tmp_path / "texts.csv", text="text", label="topic", encoder="tfidf", settings=settings, output=tmp_path / "run"
    )
    found = Predictor(tmp_path / "run")(pd.DataFrame({"text": TEXTS}))
    assert found["class"].tolist() == result.model.predict(result.data.x).tolist()
    with pytest.raises(ValueError, match=r"^columns is 'text', but .* reads text; leave columns out"):
        Predictor(tmp_path / "run", "text")


def test_without_ray_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    problem = make_problem()
    request = ngm.workflow.TrainRequest(ngm.workflow.TrainOptions("rows.csv", columns="a", label="b"))
    remedy = r" needs ray: pip install 'neural-graph-machines\[ray\]'$"
    with pytest.raises(ImportError, match="^ngm.ray.fit" + remedy):
        ngm.ray.fit(classifier(), problem.x, problem.y, folder=tmp_path / "run")
    with pytest.raises(ImportError, match="^ngm.ray.train" + remedy):
        ngm.ray.train(request)
    with pytest.raises(ImportError, match="^ngm.ray.predict" + remedy):
        ngm.ray.predict(None, tmp_path / "run")


def test_what_is_no_estimator_of_ours_is_refused(tmp_path: Path) -> None:
    problem = make_problem()
    with pytest.raises(TypeError, match="estimator is a SelfTraining; give an NGMClassifier or an NGMRegressor"):
        ngm.ray.fit(ngm.SelfTraining(classifier()), problem.x, problem.y, folder=tmp_path / "run")
