"""Networks run over many rows, a batch at a time."""

from __future__ import annotations

import weakref

import numpy as np
import pytest
import torch
from torch import Tensor

from ngm.estimators import batch_prediction
from ngm.estimators.batch_prediction import in_batches


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("rows", [1, 10, 11, 95])
def test_batches_come_to_their_places_and_none_is_kept(
    shared: bool, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_prediction, "PREDICTED_AT_ONCE", 10)
    x = np.arange(2.0 * rows, dtype=np.float32).reshape(rows, 2)
    given: list[weakref.ref[Tensor]] = []
    alive: list[int] = []

    def read(batch: Tensor) -> Tensor:
        alive.append(sum(part() is not None for part in given))
        result = 3 * batch
        given.append(weakref.ref(result))
        return result

    found = in_batches(x, read, torch.float32, "cpu", shared=shared)
    assert np.array_equal(found.numpy(), 3 * x)
    assert len(given) == -(-rows // 10)
    assert max(alive) <= 1  # small pieces between large ones that are given back leave holes in memory


def test_rows_that_are_asked_for_come_in_the_order_of_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_prediction, "PREDICTED_AT_ONCE", 3)
    x, only = np.arange(20.0, dtype=np.float32)[:, None], torch.tensor([7, 3, 19, 0, 4, 4, 11])
    found = in_batches(x, lambda batch: 2 * batch, torch.float32, "cpu", only)
    assert found[:, 0].tolist() == [14, 6, 38, 0, 8, 8, 22]
