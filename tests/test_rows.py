"""Rows of the inputs for a batch of nodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from ngm.rows import move_rows, num_rows, slice_rows, take_rows

NODES = torch.tensor([3, 0, 3])
DENSE = np.arange(12, dtype=np.float64).reshape(4, 3) / 4
EXPECTED = torch.tensor([[2.25, 2.5, 2.75], [0.0, 0.25, 0.5], [2.25, 2.5, 2.75]])


def dense(rows: object) -> Tensor:
    assert isinstance(rows, Tensor)
    return rows


def read_only() -> np.ndarray:
    array = DENSE.copy()
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "x",
    [DENSE, DENSE.astype(np.float16), np.asfortranarray(DENSE), read_only(), torch.from_numpy(DENSE)],
    ids=["float64", "float16", "fortran", "read-only", "torch"],
)
def test_dense_rows_come_in_the_order_of_the_nodes(x: np.ndarray | Tensor) -> None:
    rows = dense(take_rows(x, NODES))
    assert rows.dtype == torch.float32
    assert torch.equal(rows, EXPECTED)
    assert num_rows(x) == 4


def test_fractions_take_the_type_asked_for() -> None:
    assert dense(take_rows(DENSE, NODES, torch.float64)).dtype == torch.float64
    assert dense(take_rows(torch.from_numpy(DENSE), NODES, torch.bfloat16)).dtype == torch.bfloat16
    assert dense(take_rows(sp.csr_array(DENSE), NODES, torch.float64)).dtype == torch.float64


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8, np.bool_])
def test_whole_numbers_stay_as_they_are(kind: type[np.generic]) -> None:
    tokens = np.array([[1, 0], [0, 0], [0, 1], [1, 1]]).astype(kind)
    for x in (tokens, torch.from_numpy(tokens)):
        rows = dense(take_rows(x, NODES))
        assert rows.dtype == torch.from_numpy(tokens).dtype
        assert rows.tolist() == tokens[[3, 0, 3]].tolist()


def test_rows_of_any_shape_are_taken() -> None:
    images = torch.arange(4 * 2 * 5).reshape(4, 2, 5).float()
    assert torch.equal(dense(take_rows(images, NODES)), torch.stack([images[3], images[0], images[3]]))


def test_a_memory_map_is_read_by_rows_and_never_written(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", DENSE.astype(np.float32))
    x = np.load(tmp_path / "x.npy", mmap_mode="r")
    rows = dense(take_rows(x, NODES))
    assert torch.equal(rows, EXPECTED)
    rows.zero_()
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), DENSE.astype(np.float32))


@pytest.mark.parametrize("form", [sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("kind", [np.float64, np.int32, np.bool_])
def test_sparse_rows_stay_sparse_and_hold_the_same_numbers(form: type, kind: type[np.generic]) -> None:
    rng = np.random.default_rng(0)
    matrix = np.where(rng.random((4, 6)) < 0.4, rng.integers(1, 9, (4, 6)), 0).astype(kind)
    matrix[0] = 0  # a row without entries
    x = form(matrix)
    rows = dense(take_rows(x, NODES))
    assert rows.layout == torch.sparse_csr
    assert rows.dtype == torch.float32
    assert rows.values().numel() == np.count_nonzero(matrix[[3, 0, 3]])
    np.testing.assert_array_equal(rows.to_dense().numpy(), matrix[[3, 0, 3]].astype(np.float32))
    assert num_rows(x) == 4


def test_a_sparse_matrix_without_quick_rows_is_refused() -> None:
    message = r"^x is a sparse matrix in 'coo' form, which has no fast row access; give x.tocsr\(\)$"
    with pytest.raises(ValueError, match=message):
        take_rows(sp.coo_array(DENSE), NODES)


def test_a_mapping_gives_its_parts_by_name() -> None:
    x = {"ids": np.arange(8).reshape(4, 2), "more": {"x": sp.csr_array(DENSE)}}
    rows = take_rows(x, NODES)
    assert isinstance(rows, dict)
    assert dense(rows["ids"]).tolist() == [[6, 7], [0, 1], [6, 7]]
    assert isinstance(rows["more"], dict)
    assert torch.equal(dense(rows["more"]["x"]).to_dense(), EXPECTED)
    assert num_rows(x) == 4


def test_parts_of_different_lengths_are_refused() -> None:
    message = r"^x has parts of different lengths \{'a': 4, 'b': 3\}; give a row per node in each$"
    with pytest.raises(ValueError, match=message):
        num_rows({"a": DENSE, "b": DENSE[:3]})


def test_an_object_of_ones_own_is_asked_for_its_rows() -> None:
    class Squares:
        def __getitem__(self, nodes: Tensor) -> Tensor:
            return nodes.square()[:, None]

        def __len__(self) -> int:
            return 4

    assert dense(take_rows(Squares(), NODES)).tolist() == [[9], [0], [9]]
    assert num_rows(Squares()) == 4


def test_no_nodes_give_no_rows() -> None:
    none = torch.zeros(0, dtype=torch.int64)
    assert dense(take_rows(DENSE, none)).shape == (0, 3)
    assert dense(take_rows(sp.csr_array(DENSE), none)).shape == (0, 3)


def test_slices_are_the_rows_that_are_taken_one_by_one() -> None:
    locked = DENSE.copy()
    locked.flags.writeable = False
    for x in (DENSE, locked, DENSE.T.copy().T, torch.from_numpy(DENSE), sp.csr_array(DENSE), {"a": DENSE}):
        taken, sliced = take_rows(x, torch.tensor([1, 2, 3])), slice_rows(x, 1, 9)
        if isinstance(taken, dict) and isinstance(sliced, dict):
            taken, sliced = taken["a"], sliced["a"]
        assert dense(sliced).dtype == torch.float32
        assert torch.equal(dense(sliced).to_dense(), dense(taken).to_dense())


def test_slices_of_rows_in_memory_are_no_copies() -> None:
    x = DENSE.astype(np.float32)
    assert np.shares_memory(dense(slice_rows(x, 1, 3)).numpy(), x)


def test_rows_move_to_another_device_part_by_part() -> None:
    moved = move_rows({"a": torch.ones(2), "b": {"c": torch.ones(3)}}, "meta")
    assert isinstance(moved, dict)
    assert isinstance(moved["b"], dict)
    assert dense(moved["a"]).device.type == dense(moved["b"]["c"]).device.type == "meta"
