"""What functions are handed instead of numbers, arrays and paths is refused by name; benchmarks/fuzz.py found these."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import ngm
from ngm._arguments import as_array, as_numbers, as_path, flag, real_number, short_repr, whole_number
from ngm.io.node_records import read_node_records
from ngm.io.run_folder import Run
from tests.runs_by_hand import by_hand, make_run

X = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
Y = [0, 1, 0, 1, -1, -1]
PATH = ngm.Graph.from_edges([[0, 1], [1, 2]], num_nodes=6)


def test_whole_numbers_of_every_library_are_taken() -> None:
    for five in (5, np.int8(5), np.array(5), torch.tensor(5)):
        assert whole_number("k", five, least=1) == 5
    for odd in (0, 5.0, "5", None, np.array([1, 2]), torch.tensor(5.0), 2**63):
        with pytest.raises(ValueError, match=r"^k is .*; it must be a whole number of at least 1$"):
            whole_number("k", odd, least=1)


def test_numbers_flags_and_paths_are_told_from_others() -> None:
    assert real_number("p", np.float32(0.5), lambda p: 0 < p < 1, "lie between 0 and 1") == 0.5
    for odd in ("0.5", None, float("nan"), 1j, np.array([0.5, 0.5]), 10**400):
        with pytest.raises(ValueError, match=r"^p is .*; it must lie between 0 and 1$"):
            real_number("p", odd, lambda p: 0 < p < 1, "lie between 0 and 1")
    assert (flag("f", np.bool_(True)), flag("f", 0)) == (True, False)
    with pytest.raises(ValueError, match=r"^f is 2; it must be True or False$"):
        flag("f", 2)
    assert as_path("folder", "a/b") == Path("a/b")
    assert short_repr("x" * 100) == "'" + "x" * 36 + "..."


def test_arrays_of_any_byte_order_and_width_become_the_same_tensor() -> None:
    wanted = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    for dtype in (">f8", "g", "f8"):
        given = np.array([3.0, 2.0, 1.0], dtype=dtype)[::-1]
        torch.testing.assert_close(as_numbers("x", given, "give numbers"), wanted)
    assert as_numbers("x", np.array([[7]], dtype=np.ulonglong)[::-1], "give numbers").tolist() == [[7]]
    assert as_array("x", range(3), "give numbers").tolist() == [0, 1, 2]


def test_rows_of_another_byte_order_have_the_same_neighbors() -> None:
    expected = ngm.knn_graph(X.astype(np.float64), k=2).edges
    for dtype in (">f8", "g"):
        assert torch.equal(ngm.knn_graph(X.astype(dtype), k=2).edges, expected)


def test_propagation_fitted_on_dense_rows_predicts_sparse_ones() -> None:
    method = ngm.LabelPropagation(k=2).fit(X, Y)
    assert method.predict(sp.csr_array(X)).tolist() == method.predict(X).tolist()


@pytest.mark.parametrize(("entry", "value"), [("edges", None), ("best_epoch", "x"), ("seconds", []), ("stopped", 3)])
def test_an_entry_of_another_kind_in_the_files_of_a_run_is_named(entry: str, value: object, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", by_hand(), **{entry: value})
    with pytest.raises(ValueError, match=rf"metrics.json is damaged \({entry} is .*\); train again"):
        ngm.write_report(folder)


def test_an_epoch_that_is_no_record_of_numbers_is_named(tmp_path: Path) -> None:
    run = Run(make_run(tmp_path / "run"))
    (run.folder / "history.jsonl").write_text(json.dumps({"epoch": 0, "total": {}}) + "\n", encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"history.jsonl is damaged \(line 1 is not a record of numbers\); train again"
    ):
        run.read_history()


@pytest.mark.parametrize(
    ("name", "array"),
    [("hidden", np.full((6, 2), np.nan)), ("before", np.ones((5, 2))), ("edges", np.full((4, 2), 9)), ("weight", [1])],
)
def test_kept_nodes_whose_arrays_do_not_belong_together_are_damaged(
    name: str, array: np.ndarray, tmp_path: Path
) -> None:
    run = Run(make_run(tmp_path / "run", by_hand()))
    np.save(run.folder / "evidence" / f"{name}.npy", array)
    with pytest.raises(ValueError, match=rf"evidence is damaged \({name}.npy .*\); train again"):
        read_node_records(run)
