"""On parts, any number of processes has the soft labels of one process with the same teachers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from ngm import open_partition
from ngm.recipes.label_matrix import Targets
from ngm.recipes.node_views import NodeViews, scaled_features
from ngm.recipes.number_stacking import stack_number_teachers
from ngm.recipes.number_teachers import NumberTargets
from ngm.recipes.stacking import Stack, stack_teachers
from tests import part_teachers
from tests.benchmark_modules import Forked
from tests.part_teachers import CASES, GRAPH, KNOWN, rows_of, target_of, weight_of
from tests.ranks import in_ranks, run_ranks
from tests.three_classes import N, X

Found = list[dict[str, NDArray[np.generic]]]
TAKE_PART = np.arange(N) < N - part_teachers.ISOLATED


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("teachers")
    part_teachers.write_parts(made)
    part_teachers.run(made)
    return made


@pytest.fixture(scope="module", params=[1, 2, 4])
def found(request: pytest.FixtureRequest, folder: Path, server: Forked) -> Found:
    world = int(request.param)
    if world > 1:
        ended = run_ranks(server, in_ranks("run", folder, "part_teachers"), world)
        assert ended.code == 0, ended.err
    return [dict(np.load(folder / f"teachers{rank}of{world}.npz")) for rank in range(world)]


def whole(case: str, folder: Path) -> Stack:
    """The same teachers in one process, on the nodes that take part and with columns on the scale of the parts."""
    ids, (mean, deviation) = np.flatnonzero(TAKE_PART), np.load(folder / case / "scale.npy")
    scaling = open_partition(folder / case).header.input_scaling
    features = scaled_features(rows_of(case)[ids], scaling, (mean, deviation))
    y, weight = target_of(case), weight_of(case)
    values = y if y.ndim == 2 else np.eye(3)[y]
    targets = Targets(values.astype(np.float32), y.ndim == 2, None if weight is None else weight.astype(np.float32))
    views = NodeViews({"features": features}, [GRAPH.subgraph(torch.from_numpy(ids))], 3, whole=False)
    return stack_teachers(views, targets.take(ids), KNOWN[ids], seed=0)


def whole_numbers(folder: Path) -> Stack:
    """The same for numbers."""
    ids, (mean, deviation) = np.flatnonzero(TAKE_PART), np.load(folder / "numbers" / "scale.npy")
    scaling = open_partition(folder / "numbers").header.input_scaling
    features = scaled_features(X[ids], scaling, (mean, deviation))
    views = NodeViews({"features": features}, [GRAPH.subgraph(torch.from_numpy(ids))], whole=False)
    targets = NumberTargets(part_teachers.NUMBERS, part_teachers.number_weight().astype(np.float32))
    return stack_number_teachers(views, targets.take(ids), KNOWN[ids], seed=0)


@pytest.mark.parametrize("case", [*CASES, "numbers"])
def test_soft_labels_are_those_of_one_process(case: str, folder: Path, found: Found) -> None:
    expected = whole_numbers(folder) if case == "numbers" else whole(case, folder)
    for rank in found:
        nodes, labeled = rank[f"{case} nodes"], rank[f"{case} labeled"]
        np.testing.assert_array_equal(labeled, TAKE_PART[nodes])
        at = nodes[labeled]
        np.testing.assert_allclose(rank[f"{case} values"][labeled], expected.soft_labels[at], atol=1e-4)  # of a kernel
        report = expected.report
        assert rank[f"{case} names"].tolist() == list(report.weights)
        np.testing.assert_allclose(rank[f"{case} weights"], list(report.weights.values()), atol=1e-5)
        scores = [*report.scores.values(), report.score, *report.assortativity]
        np.testing.assert_allclose(rank[f"{case} scores"], scores, atol=1e-5)


def test_unlabelled_nodes_weigh_as_the_mean_label_of_all_ranks(found: Found) -> None:
    weight = weight_of("weighted")
    assert weight is not None
    expected = np.where(KNOWN, weight, weight[KNOWN].mean())
    for rank in found:
        np.testing.assert_allclose(rank["weighted sample_weight"], expected[rank["weighted nodes"]], rtol=1e-5)


def test_every_rank_trains_the_network_that_one_trains(folder: Path, found: Found) -> None:
    alone = np.load(folder / "teachers0of1.npz")["proba"]
    assert (alone.argmax(axis=1) == part_teachers.CLASS).mean() > 0.4
    for rank in found:
        np.testing.assert_allclose(rank["proba"], alone, atol=1e-5)
    assert alone.shape == (len(X), 3)


def test_every_rank_predicts_the_numbers_that_one_predicts(folder: Path, found: Found) -> None:
    alone = np.load(folder / "teachers0of1.npz")["predicted"]
    assert alone.shape == (len(X), 2)
    assert (alone.std(axis=0) > 0.01).all()  # else any network would do
    for rank in found:
        np.testing.assert_allclose(rank["predicted"], alone, atol=1e-5)


def test_networks_are_trained_on_what_the_teachers_say(found: Found) -> None:
    for rank in found:
        assert rank["trained on"].tolist() == [TAKE_PART.sum()] * 2
        assert rank["proba teachers"].tolist() == rank["weighted names"].tolist()
        assert rank["predicted teachers"].tolist() == rank["numbers names"].tolist()
