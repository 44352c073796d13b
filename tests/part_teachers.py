"""Teachers that processes ask on parts in tests; results of each rank as `teachers0of2.npz`."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from ngm import Graph, NGMClassifier, NGMRegressor, open_partition, partition_graph
from ngm.distributed import process_group
from ngm.networks import FFNN
from ngm.recipes.label_matrix import Targets
from ngm.recipes.number_teachers import NumberTargets
from ngm.recipes.part_teachers import PartTargets, part_numbers, part_soft_targets
from ngm.task import ClassTask
from tests.three_classes import CLASS, EDGES, N, X

NETWORK = FFNN(hidden=(8,), dropout=0.0, input_dropout=0.0)
ISOLATED = 1  # nodes without an edge, at the end
RNG = np.random.default_rng(4)
JOINED = np.vstack([EDGES, RNG.integers(N, size=(40, 2))])  # within classes, and some at random
JOINED = JOINED[(N - ISOLATED > JOINED).all(axis=1)]
GRAPH = Graph.from_edges(JOINED, RNG.random(len(JOINED)) + 0.5, num_nodes=N)
KNOWN = np.arange(N) % 8 == 0
CASES = ("classes", "labels", "sparse", "weighted")
NUMBERS = (np.stack([CLASS - 1.0, X[:, 0]], axis=1) + RNG.normal(0, 0.2, (N, 2))).astype(np.float32)


def target_of(case: str) -> NDArray[np.int64]:
    """(n,) classes or (n, 3) zeros and ones, -1 where not known."""
    if case == "labels":
        several = np.stack([CLASS == 0, CLASS >= 1, X[:, 0] > 0.3], axis=1).astype(np.int64)
        several[~KNOWN] = -1
        return several
    return np.where(KNOWN, CLASS, -1)


def rows_of(case: str) -> NDArray[np.float32] | sp.csr_array:
    """(n, d) rows."""
    return sp.csr_array(np.where(X > 0.5, X, 0)) if case == "sparse" else X


def weight_of(case: str) -> NDArray[np.float64] | None:
    """(n,) weights, or None."""
    return np.linspace(0.5, 2.0, N) if case == "weighted" else None


def number_weight() -> NDArray[np.float64]:
    """(n,) weights of the numbers."""
    return np.linspace(2.0, 0.5, N)


def write_parts(folder: Path, parts: int = 4) -> None:
    """Cuts the graph of every case, and with numbers to learn."""
    numbers = np.where(KNOWN[:, None], NUMBERS, np.nan)
    partition_graph(folder / "numbers", GRAPH, X, numbers, parts, task="numbers", sample_weight=number_weight())
    for case in CASES:
        weight = weight_of(case)
        partition_graph(folder / case, GRAPH, rows_of(case), target_of(case), parts=parts, sample_weight=weight)


def classifier() -> NGMClassifier:
    """The default recipe, without dropout, which each rank would draw for itself; an epoch is one batch."""
    return NGMClassifier(network=NETWORK, epochs=3, batch_size=1000, seed=1)


def run(folder: Path) -> None:
    """Asks the teachers of every case, and trains on what they say in the first."""
    found: dict[str, NDArray[np.generic]] = {}
    with process_group() as (rank, world):
        for case in CASES:
            part = open_partition(folder / case).local(rank, world)
            own, task = slice(part.num_own), cast(ClassTask, part.header.read_task())
            values = part.y[own] if part.y.ndim == 2 else torch.eye(3)[part.y[own].clamp(min=0)]
            weight = None if part.sample_weight is None else part.sample_weight[own].numpy()
            targets = Targets(values.numpy().astype(np.float32), task.name == "labels", weight)
            labels = part_soft_targets(part, targets, part.labeled, seed=0)
            found |= _as_arrays(case, part.nodes, labels)
        part = open_partition(folder / "numbers").local(rank, world)
        own = slice(part.num_own)
        weight = cast(torch.Tensor, part.sample_weight)[own].numpy()
        numbers = NumberTargets(np.nan_to_num(part.y[own].numpy().astype(np.float32)), weight)
        found |= _as_arrays("numbers", part.nodes, part_numbers(part, numbers, part.labeled, seed=0))
        model = classifier().fit_parts(folder / "weighted")
        found["proba"] = cast(NGMClassifier, model).predict_proba(X)
        found["proba teachers"] = np.array(list(model.teachers_.weights))
        regressor = NGMRegressor(network=NETWORK, epochs=3, batch_size=1000, seed=1).fit_parts(folder / "numbers")
        found["predicted"] = cast(NGMRegressor, regressor).predict(X)
        found["predicted teachers"] = np.array(list(regressor.teachers_.weights))
        found["trained on"] = np.array([model.num_labeled_, regressor.num_labeled_])
    np.savez(folder / f"teachers{rank}of{world}.npz", **found)


def _as_arrays(case: str, nodes: NDArray[np.int64], labels: PartTargets) -> dict[str, NDArray[np.generic]]:
    """Everything that teachers gave, by name."""
    report = labels.report
    found: dict[str, NDArray[np.generic]] = {f"{case} nodes": nodes, f"{case} labeled": labels.labeled.numpy()}
    found |= {f"{case} values": labels.values.numpy(), f"{case} names": np.array(list(report.weights))}
    found[f"{case} weights"] = np.array(list(report.weights.values()))
    found[f"{case} scores"] = np.array([*report.scores.values(), report.score, *report.assortativity])
    if labels.sample_weight is not None:
        found[f"{case} sample_weight"] = labels.sample_weight.numpy()
    return found
