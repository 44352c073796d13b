"""Targets as users write them: what counts as unlabelled, and which classes come out."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from numpy.typing import ArrayLike

from ngm import CoTraining, Graph, LabeledKFold, LabelPropagation, NGMClassifier, SelfTraining, diagnose
from ngm.comparators.linear import LinearSoftmax
from ngm.targets import UnlabeledStringWarning, as_array, check_length, encode_classes, unlabeled_rows

WAYS = {
    "list of integers": [2, 5, -1, 2],
    "integers": np.array([2, 5, -1, 2]),
    "small integers": np.array([2, 5, -1, 2], dtype=np.int8),
    "floats with NaN": np.array([2.0, 5.0, np.nan, 2.0]),
    "floats with -1": np.array([2.0, 5.0, -1.0, 2.0], dtype=np.float32),
    "objects with None": np.array([2, 5, None, 2], dtype=object),
    "objects with numpy's -1": np.array([2, 5, np.int64(-1), 2], dtype=object),
    "tensor": torch.tensor([2, 5, -1, 2]),
    "series": pd.Series([2, 5, -1, 2], index=[9, 8, 7, 6]),
    "series with NA": pd.Series([2, 5, None, 2], dtype="Int64"),
    "objects with NA": np.array([2, 5, pd.NA, 2], dtype=object),
    "categorical": pd.Categorical([2, 5, None, 2]),
    "masked": np.ma.array([2, 5, 7, 2], mask=[False, False, True, False]),
    "bfloat16": torch.tensor([2, 5, -1, 2], dtype=torch.bfloat16),
    "polars": pl.Series([2, 5, None, 2]),
}


@pytest.mark.parametrize("y", WAYS.values(), ids=WAYS)
def test_numbers_are_read_alike_however_they_are_written(y: ArrayLike) -> None:
    encoded = encode_classes(y, 4)
    assert encoded.task == "classes"
    assert encoded.classes.tolist() == [2, 5]
    assert encoded.targets.tolist() == [0, 1, -1, 0]
    assert encoded.labeled.tolist() == [True, True, False, True]


WORDS = {
    "list with None": ["dog", "cat", None, "dog"],
    "list with -1": ["dog", "cat", -1, "dog"],
    "list with NaN": ["dog", "cat", float("nan"), "dog"],
    "tuple with NaN": ("dog", "cat", np.nan, "dog"),
    "objects with None": np.array(["dog", "cat", None, "dog"], dtype=object),
    "objects with NaN": np.array(["dog", "cat", np.nan, "dog"], dtype=object),
    "series": pd.Series(["dog", "cat", None, "dog"]),
    "string series": pd.Series(["dog", "cat", None, "dog"], dtype="string"),
    "categorical series": pd.Series(["dog", "cat", None, "dog"], dtype="category"),
    "objects with NaT": np.array(["dog", "cat", pd.NaT, "dog"], dtype=object),
    "polars": pl.Series(["dog", "cat", None, "dog"]),
    "polars categories": pl.Series(["dog", "cat", None, "dog"], dtype=pl.Categorical),
    "masked": np.ma.array(["dog", "cat", "owl", "dog"], mask=[False, False, True, False]),
    "strings with -1": np.array(["dog", "cat", -1, "dog"]),
    "strings with -1.0": np.array(["dog", "cat", -1.0, "dog"]),
    "strings with NaN": np.array(["dog", "cat", np.nan, "dog"]),
    "strings with NA": np.array(["dog", "cat", pd.NA, "dog"], dtype=object).astype(str),
    "strings with NaT": np.array(["dog", "cat", pd.NaT, "dog"], dtype=object).astype(str),
}


@pytest.mark.parametrize("y", WORDS.values(), ids=WORDS)
def test_words_are_read_alike_however_they_are_written(y: ArrayLike) -> None:
    encoded = encode_classes(y, 4)
    assert encoded.classes.tolist() == ["cat", "dog"]
    assert encoded.targets.tolist() == [1, 0, -1, 1]
    assert encoded.labeled.tolist() == [True, True, False, True]


WRITTEN = {
    "list": ["dog", "cat", "-1", "dog"],
    "objects": np.array(["dog", "cat", "-1", "dog"], dtype=object),
    "series": pd.Series(["dog", "cat", "nan", "dog"]),
    "categorical": pd.Categorical(["dog", "cat", "<NA>", "dog"]),
    "polars": pl.Series(["dog", "cat", "NaT", "dog"]),
    "strings with None": np.array(["dog", "cat", None, "dog"], dtype=object).astype(str),
}
if hasattr(np.dtypes, "StringDType"):  # numpy 2
    WRITTEN["strings of any length"] = np.array(["dog", "cat", "-1", "dog"], dtype=np.dtypes.StringDType())


@pytest.mark.parametrize("y", WRITTEN.values(), ids=WRITTEN)
def test_marks_that_a_user_wrote_as_strings_are_unlabelled_with_a_warning(y: ArrayLike) -> None:
    mark = str(as_array(y)[2])
    with pytest.warns(UnlabeledStringWarning, match=re.escape(f"read as unlabelled: {mark!r} (1 rows)")):
        encoded = encode_classes(y, 4)
    assert encoded.classes.tolist() == ["cat", "dog"]
    assert encoded.targets.tolist() == [1, 0, -1, 1]


def test_words_that_only_contain_a_mark_are_classes() -> None:
    assert encode_classes(np.array(["-10", "nano", "none", "NaN"]), 4).labeled.all()


def test_no_estimator_learns_a_class_from_marks_in_an_array_of_strings() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 3)).astype(np.float32)
    graph = Graph.from_edges(rng.integers(40, size=(120, 2)), num_nodes=40)
    truth = np.where(x[:, 0] > 0, "ham", "spam")
    y = np.array([name if i < 20 else -1 for i, name in enumerate(truth)])
    assert y.dtype.kind == "U"
    small = NGMClassifier(recipe="paper", hidden=(4,), epochs=2, alpha_ll=0.1, alpha_lu=0.1, alpha_uu=0.1)
    models = [
        small.fit(x, y, graph=graph),
        SelfTraining(small, rounds=1).fit(x, y, graph=graph),
        CoTraining(small, rounds=1).fit(x, y, graph=graph),
        LabelPropagation().fit(None, y, graph=graph),
        LinearSoftmax().fit(x, y),
    ]
    for model in models:
        assert model.classes_.tolist() == ["ham", "spam"], type(model)
    assert models[0].num_labeled_ == 20
    assert models[0].score(x, y) == models[0].score(x[:20], y[:20])
    assert diagnose(graph, y).classes == ("ham", "spam")
    assert sorted(i for _, test in LabeledKFold(4).split(x, y) for i in test) == list(range(20))


def test_words_all_of_which_are_labels_need_no_objects() -> None:
    encoded = encode_classes(np.array(["dog", "cat"]), 2)
    assert (encoded.classes.dtype.kind, encoded.classes.tolist()) == ("U", ["cat", "dog"])


def test_booleans_are_two_classes() -> None:
    encoded = encode_classes(np.array([True, False, True]), 3)
    assert (encoded.classes.tolist(), encoded.targets.tolist()) == ([False, True], [1, 0, 1])


def test_rows_of_zeros_and_ones_are_several_labels() -> None:
    encoded = encode_classes([[1, 0, 1], [-1, -1, -1], [0, 0, 0], [0, 1, 0]], 4)
    assert (encoded.task, encoded.classes.tolist()) == ("labels", [0, 1, 2])
    assert encoded.labeled.tolist() == [True, False, True, True]
    assert encoded.targets[encoded.labeled].tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize("missing", [-1.0, np.nan])
def test_rows_of_shares_are_soft_labels(missing: float) -> None:
    encoded = encode_classes([[0.25, 0.75], [missing, missing], [1.0, 0.0]], 3)
    assert (encoded.task, encoded.classes.tolist()) == ("soft", [0, 1])
    assert encoded.labeled.tolist() == [True, False, True]
    assert encoded.targets[encoded.labeled].tolist() == [[0.25, 0.75], [1, 0]]


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ([0.5, 0.6], "[0.5, 0.6]"),
        ([1.0, 1.0], "[1.0, 1.0]"),
        ([1.5, -0.5], "[1.5, -0.5]"),
        ([-1.0, 1.0], "[-1.0, 1.0]"),
        ([0.5, np.nan], "[0.5, nan]"),
    ],
)
def test_rows_that_are_neither_labels_nor_shares_are_refused(row: list[float], shown: str) -> None:
    with pytest.raises(ValueError, match="neither zeros and ones") as caught:
        encode_classes([[0.5, 0.5], row], 2)
    assert str(caught.value) == (
        f"y[1] is {shown}, neither zeros and ones (several labels) nor shares that add up to 1 (soft labels); "
        "a row of -1 is unlabelled"
    )


def test_known_classes_are_kept_in_their_order() -> None:
    encoded = encode_classes(["cat", "cat"], 2, classes=np.array(["ant", "cat", "dog"]))
    assert (encoded.classes.tolist(), encoded.targets.tolist()) == (["ant", "cat", "dog"], [1, 1])


def test_a_class_that_is_not_known_is_named() -> None:
    with pytest.raises(ValueError, match="class") as caught:
        encode_classes(["cat", "owl"], 2, classes=np.array(["cat", "dog"]))
    assert str(caught.value) == (
        "class 'owl' of the validation y is not among the training classes ['cat', 'dog']; leave such rows out, or "
        "label rows of that class"
    )


@pytest.mark.parametrize(
    ("y", "text"),
    [
        (None, "fit requires y to be passed, but the target y is None; mark unlabelled rows with -1"),
        ([0, 1], "x has 3 rows, y has 2; give a target per row, -1 or NaN where unlabelled"),
        (5, "x has 3 rows, y has no; give a target per row, -1 or NaN where unlabelled"),
        ([-1, None, np.nan], "none of the 3 rows has a label (-1, None and NaN mean unlabelled); label some rows"),
        ([[-1, -1]] * 3, "none of the 3 rows has a label (a row of -1 or NaN is unlabelled); label some"),
        ([4, -1, 4], "y holds one class only (4); a classifier needs labelled rows of at least two"),
        (["a", None, "a"], "y holds one class only ('a'); a classifier needs labelled rows of at least two"),
        ([0, np.inf, 1], "y[1] is infinity (Input y contains infinity); give classes, or NaN where unlabelled"),
    ],
)
def test_targets_that_cannot_be_learned_are_refused(y: ArrayLike, text: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        encode_classes(y, 3)


def test_numbers_with_fractions_are_no_classes() -> None:
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        encode_classes([0.5, 1.5, 2.5], 3)


def test_a_row_is_unlabelled_only_if_nothing_in_it_is_known() -> None:
    assert unlabeled_rows(np.array([[-1, 0], [-1, -1], [1, 0]])).tolist() == [False, True, False]
    assert unlabeled_rows(np.array([[np.nan, -1], [np.nan, 1]])).tolist() == [True, False]
    assert unlabeled_rows(np.array([[None, None], [None, 1]], dtype=object)).tolist() == [True, False]
    assert unlabeled_rows(np.array([0, 255], dtype=np.uint8)).tolist() == [False, False]


def test_arrays_are_taken_as_they_are() -> None:
    given = np.array([1, 2])
    assert as_array(given) is given
    assert check_length(given, 2) is given
    assert as_array(torch.tensor([1.0], requires_grad=True)).tolist() == [1.0]
