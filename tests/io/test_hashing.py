"""Digests are the same for the same data however it is laid out, and differ for any other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from ngm.io import hashing
from ngm.io.hashing import digest
from ngm.text.ragged import Ragged

X = np.random.default_rng(0).normal(size=(200, 7)).astype(np.float32)


def changed(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """The same but for the last bit of one number."""
    other = x.copy()
    other[150, 3] = np.nextafter(other[150, 3], np.float32(9))
    return other


@pytest.fixture(params=[None, 100], ids=["at once", "in pieces"], autouse=True)
def pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param is not None:
        monkeypatch.setattr(hashing, "_CHUNK_BYTES", request.param)


def test_layout_and_kind_of_container_do_not_matter(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    wide = np.zeros((200, 9), dtype=np.float32)
    wide[:, 1:8] = X
    same = [np.asfortranarray(X), wide[:, 1:8], np.load(tmp_path / "x.npy", mmap_mode="r"), torch.from_numpy(X)]
    assert {digest(x) for x in same} == {digest(X)}


def test_pieces_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest(X, sp.csr_array(X))
    monkeypatch.setattr(hashing, "_CHUNK_BYTES", 56)
    assert digest(X, sp.csr_array(X)) == before


@pytest.mark.parametrize(
    "other",
    [changed(X), X.astype(np.float64), X.reshape(100, 14), X[:199], X[::-1], X.view(np.int32), sp.csr_array(X), [X]],
    ids=["bit", "type", "shape", "rows", "order", "view", "sparse", "list"],
)
def test_other_values_types_and_shapes_differ(other: object) -> None:
    assert digest(other) != digest(X)


def test_sparse_matrices_are_told_apart_by_values_not_by_the_width_of_their_indices() -> None:
    rows = sp.random_array((50, 30), density=0.2, format="csr", rng=np.random.default_rng(0))
    long = rows.copy()
    long.indices, long.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    assert digest(long) == digest(rows)
    other = rows.copy()
    other.data[3] += 1
    moved = rows.copy()
    moved.indices[-1] = (moved.indices[-1] + 1) % 30
    assert len({digest(r) for r in (rows, other, moved)}) == 3


def test_texts_are_not_run_together() -> None:
    apart = [["ab", "c"], ["a", "bc"], ["abc"], ["abc", ""], ["c", "ab"], ["ab", None], "abc"]
    assert len({digest(texts) for texts in apart}) == len(apart)
    assert digest(np.array(["ab", "c"])) == digest(np.array(["ab", "c"], dtype=object))


def test_parts_of_a_mapping_have_names_and_no_order() -> None:
    ids, mask = np.arange(4), np.ones(4)
    assert digest({"ids": ids, "mask": mask}) == digest({"mask": mask, "ids": ids})
    assert digest({"ids": ids, "mask": mask}) != digest({"ids": mask, "mask": ids})


def test_tensors_of_any_type_and_ragged_rows() -> None:
    half = torch.from_numpy(X).bfloat16()
    assert digest(half) == digest(half.clone()) != digest(half.float())
    sparse = torch.eye(4).to_sparse()
    assert digest(sparse) == digest(sparse.clone()) != digest(torch.eye(4))
    rows = Ragged(torch.tensor([1, 2, 3]), torch.tensor([0, 1, 3]))
    assert digest(rows) == digest(Ragged(rows.values.clone(), rows.offsets.clone()))
    assert digest(rows) != digest(Ragged(rows.values, torch.tensor([0, 2, 3])))


def test_a_file_counts_by_its_bytes(tmp_path: Path) -> None:
    for name, text in (("a", "one"), ("b", "one"), ("c", "two")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert digest(tmp_path / "a") == digest(tmp_path / "b") != digest(tmp_path / "c")


class Own:
    """Rows of the user's own making."""

    def __init__(self, rows: torch.Tensor, noise: float = 0.0) -> None:
        self.rows, self.noise, self.seen = rows, noise, 0

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, nodes: torch.Tensor) -> torch.Tensor:
        self.seen += 1
        return self.rows[nodes] + self.noise * self.seen


def test_objects_of_ones_own_count_by_a_few_rows() -> None:
    rows = torch.from_numpy(X)
    assert digest(Own(rows)) == digest(Own(rows.clone())) != digest(Own(rows + 1))
    assert digest(Own(rows)) != digest(Own(rows[:-1]))
    assert digest(Own(rows, noise=1.0)) == digest(Own(rows, noise=2.0))  # never the same rows, so only the length


@dataclass
class Record:
    x: torch.Tensor
    name: str


def test_dataclasses_count_by_their_fields() -> None:
    assert digest(Record(torch.ones(2), "a")) == digest(Record(torch.ones(2), "a"))
    assert digest(Record(torch.ones(2), "a")) != digest(Record(torch.ones(2), "b"))
