"""Processes that search together find what one finds, to the bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ngm.build import row_shares
from ngm.build.row_shares import share_of
from tests import build_ranks
from tests.benchmark_modules import Forked
from tests.ranks import in_ranks, run_ranks


@pytest.mark.parametrize(("rows", "chunk"), [(0, 8), (1, 8), (5, 8), (64, 8), (70, 8), (7, 3)])
@pytest.mark.parametrize("world", [1, 2, 3, 4])
def test_shares_are_whole_chunks_and_together_all_rows(
    rows: int, chunk: int, world: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = []
    for rank in range(world):
        monkeypatch.setattr(row_shares, "rank_and_world", lambda rank=rank: (rank, world))
        shares.append(share_of(torch.arange(rows), chunk).tolist())
    assert [row for share in shares for row in share] == list(range(rows))
    if rows >= chunk * world:
        assert all(share[0] % chunk == 0 for share in shares)
        assert max(map(len, shares)) - min(map(len, shares)) <= 2 * chunk


@pytest.fixture(scope="module", params=[2, 4])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, server: Forked) -> list[Path]:
    folder, world = tmp_path_factory.mktemp("neighbors"), int(request.param)
    ended = run_ranks(server, in_ranks("run", folder, "build_ranks"), world)
    assert ended.code == 0, ended.err
    return [folder / f"neighbors{rank}of{world}.npz" for rank in range(world)]


@pytest.mark.parametrize("case", build_ranks.CASES)
def test_ranks_find_what_one_process_finds(case: str, found: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, rows in build_ranks.SIZES:
        monkeypatch.setattr(module, name, rows)
    expected = build_ranks.search(case, over_ranks=False)
    for file in found:
        rank = np.load(file)
        np.testing.assert_array_equal(rank[f"{case} neighbor"], expected.neighbor.numpy())
        np.testing.assert_array_equal(rank[f"{case} similarity"], expected.similarity.numpy())
        assert float(rank[f"{case} recall"]) == expected.recall
