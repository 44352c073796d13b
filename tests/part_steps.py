"""Sparse steps and label propagation that processes run on parts in tests; results of each rank as `rank0.npz`."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngm import Graph, LabelPropagation, Partition, open_partition, partition_graph, propagate_parts
from ngm.distributed import process_group
from ngm.partition.border import Border
from ngm.partition.part_shares import PartWeights, part_walk_shares
from ngm.recipes.node_views import spread_seeds
from tests.conftest import make_problem
from tests.part_programs import targets

# name -> (directed, edges, task, settings); with 45 edges there are components without a label
CASES: dict[str, tuple[bool, int, str, LabelPropagation]] = {
    "classes": (False, 110, "classes", LabelPropagation(tolerance=1e-7)),
    "components": (False, 45, "classes", LabelPropagation(mu1=float("inf"), mu3=0.0, tolerance=1e-7)),
    "jacobi": (False, 45, "classes", LabelPropagation(mu2=0.2, solver="jacobi", prior=[0.5, 0.3, 0.2], tolerance=1e-7)),
    "labels": (False, 110, "labels", LabelPropagation(tolerance=1e-7)),
    "both": (True, 110, "classes", LabelPropagation(tolerance=1e-7)),
    "source": (True, 60, "classes", LabelPropagation(influence="source", tolerance=1e-7)),
    "target": (True, 60, "classes", LabelPropagation(influence="target", mu3=0.0, mu1=3.0, tolerance=1e-7)),
}


def problem_graph(name: str) -> Graph:
    directed, num_edges, _, _ = CASES[name]
    return make_problem(directed, num_edges=num_edges).graph


def write_parts(folder: Path, parts: int = 4) -> None:
    """Cuts the graph of every case."""
    for name, (_, _, task, _) in CASES.items():
        partition_graph(folder / name, problem_graph(name), make_problem().x, targets(task), parts=parts)


def values(num_nodes: int = 40) -> Tensor:
    """(n, 3) float64 of the whole graph."""
    return torch.randn(num_nodes, 3, generator=torch.Generator().manual_seed(5), dtype=torch.float64)


def steps(partition: Partition, rank: int, world: int) -> dict[str, NDArray[np.generic]]:
    """What this rank has after a step of each kind over the values of all nodes."""
    part = partition.local(rank, world)
    border, weights = Border(part), PartWeights(part)
    own = values()[part.nodes[: part.num_own]]
    walk = part_walk_shares(weights)
    found = {
        "nodes": torch.from_numpy(part.nodes),
        "owned": torch.from_numpy(part.nodes[: part.num_own]),
        "fetched": border.fetch(own),
        "counted": border.add(torch.ones(len(part.nodes))),
        "sent": torch.tensor(border.rows_sent),
        "sums": weights @ own,
        "walk": walk @ own,
        "spread": torch.from_numpy(spread_seeds(walk, own.numpy().astype(np.float32), 0.9, 20)),
        "product": torch.tensor([walk.product(own, own), walk.largest(own)]),
    }
    return {name: value.numpy() for name, value in found.items()}


def propagations(folder: Path) -> dict[str, NDArray[np.generic]]:
    """Label distributions of the own nodes in every case."""
    found: dict[str, NDArray[np.generic]] = {}
    for name, (*_, settings) in CASES.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of nodes that no label reaches
            result = propagate_parts(folder / name, settings)
        found |= {f"{name} nodes": result.nodes, f"{name} reached": result.reached}
        found[f"{name} distributions"] = result.label_distributions
    return found


def run(folder: Path) -> None:
    """All of it, on one rank of several or alone."""
    with process_group() as (rank, world):
        found = steps(open_partition(folder / "classes"), rank, world) | propagations(folder)
        np.savez(folder / f"rank{rank}of{world}.npz", **found)
