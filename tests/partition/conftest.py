"""What ranks find on parts, for all tests that compare it with one process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests import part_steps
from tests.benchmark_modules import Forked
from tests.ranks import in_ranks, run_ranks

Found = list[dict[str, NDArray[np.generic]]]


@pytest.fixture(scope="session")
def part_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("steps")
    part_steps.write_parts(folder)
    return folder


@pytest.fixture(scope="session", params=[1, 2, 4])
def found(request: pytest.FixtureRequest, part_folder: Path, server: Forked) -> Found:
    """What each of 1, 2 and 4 ranks has after `part_steps.run`."""
    world = int(request.param)
    if world == 1:
        part_steps.run(part_folder)
    else:
        ended = run_ranks(server, in_ranks("run", part_folder, "part_steps"), world)
        assert ended.code == 0, ended.err
    return [dict(np.load(part_folder / f"rank{rank}of{world}.npz")) for rank in range(world)]
