from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from ngm.distributed import process_group, rank_and_world, sum_gradients, sum_over_ranks
from tests.benchmark_modules import Forked
from tests.rank_programs import classifier, fit, many_fits, outcome
from tests.ranks import in_ranks, run_ranks


def test_two_processes_fit_again_and_again_as_one_process_does(tmp_path: Path, server: Forked) -> None:
    fit(classifier(epochs=3), tmp_path / "resumed")
    ended = run_ranks(server, in_ranks("fits", tmp_path), 2, ("SLURM_PROCID", "SLURM_NTASKS"))
    assert ended.code == 0, ended.err
    alone = many_fits() | {"resumed": fit(classifier(), tmp_path / "whole")}
    for rank in range(2):
        found = np.load(tmp_path / f"rank{rank}.npz")
        assert set(found) == set(alone)
        for name, expected in alone.items():
            np.testing.assert_allclose(found[name], expected, atol=1e-5, err_msg=f"{name}, rank {rank}")
    files = sorted(path.name for path in (tmp_path / "resumed").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "whole").iterdir())  # written once, by rank 0
    begun = fit(classifier(), tmp_path / "begun")  # by two processes, and ended by one
    np.testing.assert_allclose(begun, alone["resumed"], atol=1e-5)


def test_what_goes_wrong_on_one_rank_ends_all_of_them(tmp_path: Path, server: Forked) -> None:
    ended = run_ranks(server, in_ranks("faults", tmp_path), 2)
    assert ended.code == 0, ended.err
    first, second = (json.loads((tmp_path / f"rank{rank}.json").read_text(encoding="utf-8")) for rank in range(2))
    assert first["explodes"]["error"] == second["explodes"]["error"]
    assert first["explodes"]["error"].startswith("NonFiniteCostError: epoch 0, batch 2, rank 1 of 2: supervised is nan")
    assert second["raises"]["error"] == "ValueError: row 7 is odd"
    assert first["raises"]["error"] == "RankError: rank 1 of 2 stopped: ValueError: row 7 is odd"
    assert first["disk"]["error"] == "OSError: [Errno 28] No space left on device"
    assert second["disk"]["error"] == f"RankError: rank 0 of 2 stopped: {first['disk']['error']}"
    assert "ValueError: labelled rows differ: 15 on rank 1, 13 on rank 0" in first["odd data"]["error"]
    for both in (first, second):
        assert both["interrupted"]["error"] == "KeyboardInterrupt: "
        assert (both["interrupted"]["epochs"], both["interrupted"]["stopped"]) == (2, "interrupted")
        later = [both[name]["seconds"] for name in ("raises", "disk", "interrupted", "odd data")]
        assert max(later) < 20  # not the half hour that torch waits
        for name in ("disagrees", "sound"):  # decided as rank 0 finds, which is what one process finds
            assert both[name] | {"seconds": 0} == outcome(name) | {"seconds": 0}


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


@pytest.mark.parametrize(("rank", "world"), [("2", "2"), ("-1", "2"), ("0", "0"), ("one", "2")])
def test_an_impossible_environment_is_refused(monkeypatch: pytest.MonkeyPatch, rank: str, world: str) -> None:
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setenv("WORLD_SIZE", world)
    with pytest.raises(ValueError, match=f"RANK is '{rank}' and WORLD_SIZE is '{world}'"), process_group():
        pass
