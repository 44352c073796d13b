from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from ngm.distributed import process_group, rank_and_world, sum_gradients, sum_over_ranks
from tests.conftest import run_ranks

FIT = """
import sys
import numpy as np
from ngm import NGMClassifier
from ngm.distributed import process_group
from tests.conftest import make_problem
problem = make_problem()
model = NGMClassifier(hidden=(8,), epochs=6, batch_size=16, validation=0.3, folder=sys.argv[1], seed=3)
model.fit(problem.x, problem.y, graph=problem.graph)
np.save(f"{sys.argv[1]}-{sys.argv[2]}.npy", model.predict_proba(problem.x))
"""


def test_two_processes_train_the_network_that_one_trains(tmp_path: Path) -> None:
    run_ranks(FIT, 1, str(tmp_path / "one"))
    run_ranks(FIT, 2, str(tmp_path / "two"))
    alone = np.load(tmp_path / "one-0.npy")
    for rank in range(2):
        np.testing.assert_allclose(np.load(tmp_path / f"two-{rank}.npy"), alone, atol=1e-5)
    files = sorted(path.name for path in (tmp_path / "two").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "one").iterdir())  # written once, by rank 0


def test_alone_there_is_one_rank_and_nothing_to_add(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with process_group() as found:
        assert found == rank_and_world() == (0, 1)
    layer = nn.Linear(2, 1)
    layer(torch.ones(1, 2)).sum().backward()
    before = layer.weight.grad.clone()
    sum_gradients(layer.parameters())
    assert torch.equal(layer.weight.grad, before)
    values = torch.tensor([1.0, 2.0])
    assert sum_over_ranks(values) is values
