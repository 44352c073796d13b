"""Rows x made from columns of numbers, categories and lists of numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ngm import read_table
from ngm.features import Features, columns
from ngm.io.run_folder import Run
from ngm.io.tables.stream import open_stream
from tests.feature_tables import again, dense, exactly, table


def test_numbers_are_standardized_and_categories_one_hot_as_scikit_learn_does(empty_run: Run) -> None:
    train = pd.DataFrame({"size": [1.0, 2.0, 6.0], "count": [5, 7, 9], "shape": ["round", "square", "round"]})
    new = pd.DataFrame({"count": [1, 100], "shape": ["square", "round"], "size": [0.5, -3.0]})
    features, x = Features.fit(read_table(train), columns=["size", "shape", "count"], read="columns")
    scale = StandardScaler().fit(train[["size", "count"]])
    kinds = OneHotEncoder(sparse_output=False).fit(train[["shape"]])

    def expected(rows: pd.DataFrame) -> NDArray[np.float64]:
        numbers = scale.transform(rows[["size", "count"]])
        return np.column_stack([numbers[:, :1], kinds.transform(rows[["shape"]]), numbers[:, 1:]])

    np.testing.assert_allclose(dense(x), expected(train), rtol=1e-6, atol=1e-7)
    found = again(features, empty_run)
    np.testing.assert_allclose(dense(found.rows(read_table(new))), expected(new), rtol=1e-6)
    assert (found.width, dense(x).dtype) == (4, np.float32)
    assert found.holds == {"size": "number", "shape": "text", "count": "number"}


def test_numbers_far_from_zero_keep_their_differences() -> None:
    _, x = Features.fit(read_table({"t": [1.7e9, 1.7e9 + 1, 1.7e9 + 2]}), columns=["t"], read="columns")
    np.testing.assert_allclose(dense(x)[:, 0], [-np.sqrt(1.5), 0, np.sqrt(1.5)], rtol=1e-6)


def test_lists_of_numbers_stay_as_they_are(empty_run: Run, tmp_path: Path) -> None:
    file = tmp_path / "v.jsonl"
    file.write_text('{"v": [1.5, 2], "n": 1}\n{"v": [3, 4], "n": 3}\n', encoding="utf-8")
    features, x = Features.fit(read_table(file), columns=["v", "n"], read="columns")
    assert dense(x).tolist() == [[1.5, 2, -1], [3, 4, 1]]
    assert again(features, empty_run).holds == {"v": "numbers", "n": "number"}
    np.testing.assert_array_equal(dense(again(features, empty_run).rows(read_table(file))), dense(x))


def test_an_unknown_or_missing_category_is_zeros_and_warned_of(empty_run: Run) -> None:
    features, _ = Features.fit(read_table({"s": ["a", "b", "a"]}), columns=["s"], read="columns")
    with pytest.warns(UserWarning, match="categories") as said:
        x = again(features, empty_run).rows(read_table({"s": ["b", "new", None, "new"]}))
    assert dense(x).tolist() == [[0, 1], [0, 0], [0, 0], [0, 0]]
    assert [str(warning.message) for warning in said] == [
        "2 of 4 rows have a value in 's' that no training row has (rows 1, 3); they are none of its 2 categories",
        "1 of 4 rows have no value in 's' (row 2); they are none of its 2 categories",
    ]


def test_a_column_of_one_number_is_zeros_and_warned_of() -> None:
    with pytest.warns(
        UserWarning, match="column 'n' of the table has 3 in all rows, so it carries no information; leave it out"
    ):
        _, x = Features.fit(read_table({"n": [3, 3]}), columns=["n"], read="columns")
    assert dense(x).tolist() == [[0], [0]]


def test_too_many_categories_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "MAX_CATEGORIES", 3)
    message = (
        "column 'body' of the table holds 4 different texts, and at most 3 can be categories; leave it out, or read "
        "it as text"
    )
    with pytest.raises(ValueError, match=exactly(message)):
        Features.fit(table(), columns=["body"], read="columns")


WRONG_TRAINING = [
    (
        {"n": [1.0, None, 3.0]},
        "column 'n' of the table has no number in row 1; fill in what is missing, or drop such rows",
    ),
    ({"n": [1, None]}, "column 'n' of the table has no number in row 1; fill in what is missing, or drop such rows"),
    (
        {"n": [1.0, np.inf]},
        "column 'n' of the table has infinity or a gap in row 1; fill in what is missing, or drop such rows",
    ),
    (
        "SELECT * FROM (VALUES ([1, 2]), ([3])) AS t(n)",
        "column 'n' of the query holds [3] in row 1, which is not a number or a list of numbers as long as the "
        "others; choose another",
    ),
    (
        "SELECT DATE '2020-01-01' AS n",
        "column 'n' of the query holds 2020-01-01 00:00:00 in row 0, which is not a number or a list of "
        "numbers as long as the others; choose another",
    ),
]


@pytest.mark.parametrize(("source", "message"), WRONG_TRAINING, ids=[m[:45] for _, m in WRONG_TRAINING])
def test_what_cannot_be_a_column_of_x_is_refused(source: object, message: str) -> None:
    with pytest.raises(ValueError, match=exactly(message)):
        Features.fit(read_table(source), columns=["n"], read="columns")  # type: ignore[arg-type]


WRONG_NEW = [
    (
        {"n": [1.0, np.nan], "s": ["a", "a"], "v": [[1.0, 2.0]] * 2},
        "column 'n' of the table has no number in row 8; fill in what is missing, or drop such rows",
    ),
    (
        {"n": ["1", "big"], "s": ["a", "a"], "v": [[1.0, 2.0]] * 2},
        "column 'n' of the table holds '1' in row 7, which is not a number; it was that in training",
    ),
    (
        {"n": [1.0, 1.0], "s": [3, 4], "v": [[1.0, 2.0]] * 2},
        "column 's' of the table holds 3 in row 7, which is not a text; it was that in training",
    ),
    (
        {"n": [1.0, 1.0], "s": ["a", "a"], "v": [[1.0, 2.0], [1.0, 2.0, 3.0]]},
        "column 'v' of the table holds [1.0, 2.0, 3.0] in row 8, which is not a list of 2 numbers; it was that in "
        "training",
    ),
    (
        {"n": [1.0, 1.0], "s": ["a", "a"], "v": [1.0, 2.0]},
        "column 'v' of the table holds 1.0 in row 7, which is not a list of 2 numbers; it was that in training",
    ),
    (
        {"n": [[1.0, 2.0], [1.0, 3.0]], "s": ["a", "a"], "v": [[1.0, 2.0]] * 2},
        "column 'n' of the table holds [1.0, 2.0] in row 7, which is not a number; it was that in training",
    ),
    ({"n": [1.0], "s": ["a"]}, "the table has no column 'v'; its columns are n, s"),
]


@pytest.mark.parametrize(("source", "message"), WRONG_NEW, ids=[m[:60] for _, m in WRONG_NEW])
def test_new_rows_must_be_as_in_training(source: dict[str, list[object]], message: str) -> None:
    train = pd.DataFrame({"n": [1.0, 2.0], "s": ["a", "b"], "v": [[1.0, 2.0], [3.0, 4.0]]})
    features, _ = Features.fit(read_table(train), columns=["n", "s", "v"], read="columns")
    with pytest.raises(ValueError, match=exactly(message)):
        features.read(read_table(pd.DataFrame(source)), first=7)


def test_truth_is_read_alike_from_parquet_and_from_text(tmp_path: Path) -> None:
    flags = pd.DataFrame({"a": [1.0, 2.0, 3.0], "flag": [True, False, True]})
    flags.assign(flag=["true", "false", "true"]).to_csv(tmp_path / "flags.csv", index=False)
    numbers, x = Features.fit(read_table(flags), columns=["a", "flag"], read="columns")
    (piece,) = open_stream(tmp_path / "flags.csv").pieces(numbers.holds, 10)
    np.testing.assert_allclose(numbers.rows(piece), x)
    words, x = Features.fit(read_table(tmp_path / "flags.csv"), columns=["a", "flag"], read="columns")
    np.testing.assert_allclose(words.rows(read_table(flags)), x)
