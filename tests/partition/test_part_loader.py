"""The costs of all processes on parts add up to what one process has on the whole graph."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pytest
import torch

from ngm import EdgeLoader, open_partition, sampled_edges
from ngm.ordering import out_of_core
from ngm.partition.part_loader import PartLoader
from tests import part_programs
from tests.benchmark_modules import Forked
from tests.conftest import make_problem
from tests.ranks import in_ranks, run_ranks


def whole(name: str) -> np.ndarray:
    """The objective of one process on the whole graph."""
    scaling, alpha_uu, size = name.split()
    problem = make_problem()
    loss = part_programs.loss_of(scaling, float(alpha_uu))  # type: ignore[arg-type]
    loader = EdgeLoader(
        problem.x,
        problem.y,
        problem.graph,
        batch_size=int(size),
        kinds=loss.kinds,
        sample_weight=part_programs.SAMPLE_WEIGHT,
        dtype=torch.float64,
    )
    return np.append(part_programs.objective(loss, loader), [len(loader), loader.num_edges])


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("partition")
    part_programs.write_parts(folder)
    return folder


def test_one_process_over_all_parts_has_the_objective_of_the_whole(parts: Path) -> None:
    for name, found in part_programs.objectives(open_partition(parts / "classes")).items():
        np.testing.assert_allclose(found, whole(name), rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("world", [2, 4])
def test_processes_on_parts_measure_and_learn_what_one_does_on_the_whole(
    world: int, tmp_path: Path, server: Forked
) -> None:
    part_programs.write_parts(tmp_path)
    ended = run_ranks(server, in_ranks("train_and_measure", tmp_path, "part_programs"), world)
    assert ended.code == 0, ended.err
    alone = part_programs.learned_alone()
    for rank in range(world):
        found = np.load(tmp_path / f"rank{rank}.npz")
        for name in found:
            expected = alone[name] if name in alone else whole(name)
            np.testing.assert_allclose(found[name], expected, rtol=1e-5, atol=1e-5, err_msg=f"{name}, rank {rank}")
        assert set(alone) < set(found)


def test_a_run_on_parts_whose_rank_was_killed_goes_on_to_the_same_result(tmp_path: Path, server: Forked) -> None:
    part_programs.write_parts(tmp_path)
    for attempt, codes in (("0", {-signal.SIGKILL, -signal.SIGTERM, 1}), ("1", {0})):
        more = {"TORCHELASTIC_RESTART_COUNT": attempt}
        ended = run_ranks(server, in_ranks("killed", tmp_path, "part_programs"), 2, more=more)
        assert set(map(int, ended.err.splitlines()[-1].split())) <= codes, ended.err
        done = (tmp_path / "run" / "history.jsonl").read_text(encoding="utf-8").splitlines()
        assert len(done) == (2 if attempt == "0" else 4)
    for rank in range(2):
        resumed, expected = (np.load(tmp_path / f"{name}{rank}.npz") for name in ("resumed", "whole"))
        for name in expected:
            np.testing.assert_allclose(resumed[name], expected[name], rtol=1e-6, err_msg=f"{name}, rank {rank}")


def test_a_command_whose_rank_was_killed_ends_in_one_line_and_goes_on(tmp_path: Path, server: Forked) -> None:
    part_programs.write_parts(tmp_path)
    code = in_ranks("killed_command", tmp_path, "part_programs")
    for attempt, codes in (("0", {-signal.SIGKILL, 2}), ("1", {0})):
        ended = run_ranks(server, code, 2, more={"TORCHELASTIC_RESTART_COUNT": attempt}, patience=60)
        assert set(map(int, ended.err.splitlines()[-1].split())) == codes, ended.err
        assert ended.err.count("error: ") == (attempt == "0")
        assert ("the connection to another process was lost" in ended.err) == (attempt == "0")
        assert ended.out.count("Run folder: ") == (attempt == "1")
        assert (tmp_path / "run" / "weights.safetensors").exists() == (attempt == "1")
    done = (tmp_path / "run" / "history.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["epoch"] for line in done] == list(range(40))


def test_negative_pairs_are_no_neighbours_in_any_part(parts: Path) -> None:
    problem, partition = make_problem(), open_partition(parts / "classes")
    joined = {frozenset(edge) for edge in problem.graph.edges.tolist()}
    part = partition.local(0, 1)
    loader = PartLoader(part.x, part.y, part, batch_size=8, labeled=part.labeled, negatives=3.0)
    pairs = [part.nodes[batch.nodes[pair]].tolist() for batch in loader for pair in batch.negatives]
    assert len(pairs) > 100
    assert all(frozenset(pair) not in joined and pair[0] != pair[1] for pair in pairs)


def test_many_edges_of_a_part_are_cut_by_parts_and_the_cut_is_kept_in_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampled_edges, "LARGE_EDGES", 20)
    monkeypatch.setattr(out_of_core, "PART_EDGES", 16)
    part_programs.write_parts(tmp_path, parts=1)
    partition = open_partition(tmp_path / "classes")
    for name, found in part_programs.objectives(partition).items():
        np.testing.assert_allclose(found, whole(name), rtol=1e-6, err_msg=name)
    part = partition.local()
    assert part.graph.num_edges > 20
    assert part.graph.folder is not None
    assert list((part.graph.folder / "batches").glob("*.npy"))
    part_programs.write_parts(tmp_path / "again", parts=4)  # joined parts have no folder, and are cut in memory
    for name, found in part_programs.objectives(open_partition(tmp_path / "again" / "classes")).items():
        np.testing.assert_allclose(found, whole(name), rtol=1e-6, err_msg=name)
