"""Label propagation against scikit-learn, PyTorch Geometric and scikit-network on one graph, and on ten million edges.

    python benchmarks/propagation.py [--json] [--keep]

scikit-learn's LabelSpreading and PyTorch Geometric's LabelPropagation repeat F <- a S F + (1 - a) Y with the
symmetrically normalised adjacency S; scikit-network's DiffusionClassifier repeats F <- P F with the seeds clamped. Each
is run against this library's kernel on the very same system: per step (the difference between many and few steps, so
that preparation does not count), and from the labels to the same residual (the largest change that one more step would
make), preparation from an adjacency matrix included. None of the three has a stopping rule by residual, so each is told
how many steps it needs, which its users would not know.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
import psutil
import scipy.sparse as sp
import torch
from bench import arguments, report
from numpy.typing import NDArray
from sklearn.semi_supervised import LabelSpreading
from sknetwork.classification import DiffusionClassifier
from torch_geometric.nn import LabelPropagation as PyG

from ngm import Graph, LabelPropagation
from ngm.choices import Solver
from ngm.propagation.kernel import Shares, pull, solve

NODES, EDGES, LABELS = 100_000, 1_000_000, 20
ALPHA, TOLERANCE = 0.95, 1e-4
Steps = Callable[[int], object]


def planted(nodes: int, edges: int, labels: int, seed: int = 0) -> tuple[Graph, NDArray[np.int64]]:
    """A graph whose edges join nodes of one class four times in five, and y with one label in a hundred."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(labels, size=nodes)
    members = np.argsort(truth, kind="stable")
    start, count = np.searchsorted(truth[members], np.arange(labels)), np.bincount(truth, minlength=labels)
    u, v = rng.integers(nodes, size=edges), rng.integers(nodes, size=edges)
    alike = rng.random(edges) < 0.8
    v[alike] = members[start[truth[u]] + (rng.random(edges) * count[truth[u]]).astype(np.int64)][alike]
    y = np.where(rng.random(nodes) < 0.01, truth, -1)
    return Graph.from_edges(np.stack([u, v], axis=1), num_nodes=nodes), y


def spreading(
    weight: sp.csr_array, y: NDArray[np.int64], solver: Solver, steps: int, tolerance: float
) -> tuple[int, float]:
    """F = a S F + (1 - a) Y by this library's kernel; returns (steps, residual)."""
    root = 1 / np.sqrt(np.maximum(np.asarray(weight.sum(axis=1)).ravel(), 1e-12))
    scaled = sp.csr_array(
        (
            ALPHA * weight.data * np.repeat(root, np.diff(weight.indptr)) * root[weight.indices],
            weight.indices,
            weight.indptr,
        ),
        shape=weight.shape,
        dtype=np.float32,
    )
    anchor = torch.zeros(len(y), LABELS)
    known = np.flatnonzero(y >= 0)
    anchor[known, y[known]] = 1 - ALPHA
    shares = Shares(scaled, np.ones(len(y), dtype=np.float32))
    done = solve(shares, anchor, anchor.clone(), solver=solver, max_steps=steps, tolerance=tolerance)
    return done.steps, done.residual


def peers(graph: Graph, y: NDArray[np.int64]) -> dict[str, Steps]:
    """Each peer as a function of the number of steps; an adjacency of their own form is made beforehand."""
    adjacency = sp.csr_matrix(graph.to_scipy(), dtype=np.float64)
    ids = np.arange(len(y))[:, None].astype(np.float64)
    both = torch.cat([graph.edges, graph.edges.flip(1)]).t().contiguous()
    truth = torch.from_numpy(np.where(y >= 0, y, 0))
    mask = torch.from_numpy(y >= 0)
    csr = torch.sparse_csr_tensor(
        torch.from_numpy(adjacency.indptr.astype(np.int64)),
        torch.from_numpy(adjacency.indices.astype(np.int64)),
        torch.from_numpy(adjacency.data.astype(np.float32)),
        adjacency.shape,
    )
    return {
        "scikit-learn LabelSpreading": lambda k: LabelSpreading(
            kernel=lambda a, b: adjacency, alpha=ALPHA, max_iter=k, tol=0
        ).fit(ids, y),
        "PyG LabelPropagation, edge index": lambda k: PyG(k, ALPHA)(truth, both, mask, post_step=lambda t: t),
        "PyG LabelPropagation, sparse matrix": lambda k: PyG(k, ALPHA)(truth, csr, mask, post_step=lambda t: t),
        "scikit-network DiffusionClassifier": lambda k: DiffusionClassifier(n_iter=k).fit(adjacency, y),
    }


def ours(graph: Graph, y: NDArray[np.int64]) -> dict[str, Steps]:
    """This library on the two systems, as functions of the number of steps; the adjacency is made beforehand too."""
    weight = pull(graph)
    return {
        "ngm, spreading": lambda k: spreading(weight, y, "jacobi", k, 0.0),
        "ngm, clamped": lambda k: LabelPropagation(
            mu1=math.inf, mu3=0, solver="jacobi", max_steps=k, tolerance=0.0
        ).fit(None, y, graph=graph),
    }


def seconds_of(job: Callable[[], object], repeats: int) -> float:
    best = math.inf
    for _ in range(repeats):
        started = time.perf_counter()
        job()
        best = min(best, time.perf_counter() - started)
    return best


def seconds_a_step(run: Steps, few: int, many: int, repeats: int) -> float:
    """What a step costs, without what comes before the first."""
    return (seconds_of(lambda: run(many), repeats) - seconds_of(lambda: run(few), repeats)) / (many - few)


def large() -> dict[str, float]:
    """Ten million edges and a hundred labels, default settings."""
    graph, y = planted(1_000_000, 10_000_000, 100)
    started = time.perf_counter()
    model = LabelPropagation().fit(None, y, graph=graph)
    took = time.perf_counter() - started
    peak = psutil.Process().memory_info().rss / 2**30
    return {"edges": graph.num_edges, "labels": 100, "seconds": took, "steps": model.n_iter_, "memory_gib_after": peak}


def main() -> None:
    options = arguments(__doc__)
    warnings.simplefilter("ignore")
    graph, y = planted(NODES, EDGES, LABELS)
    every = ours(graph, y) | peers(graph, y)
    few, many = 10, 30
    step = {name: seconds_a_step(run, few, many, options.repeats) for name, run in every.items()}
    weight = pull(graph)
    needed = spreading(weight, y, "jacobi", 10_000, TOLERANCE)[0]
    clamped = LabelPropagation(mu1=math.inf, mu3=0, solver="jacobi", tolerance=TOLERANCE).fit(None, y, graph=graph)
    whole: dict[str, Callable[[], object]] = {
        "ngm, spreading": lambda: spreading(weight, y, "conjugate_gradient", 10_000, TOLERANCE),
        "ngm, clamped": lambda: LabelPropagation(mu1=math.inf, mu3=0, tolerance=TOLERANCE).fit(None, y, graph=graph),
    }
    for name, run in peers(graph, y).items():
        whole[name] = partial(run, clamped.n_iter_ if "network" in name else needed)
    to_residual = {name: seconds_of(job, options.repeats) for name, job in whole.items()}
    mine = {name: "ngm, clamped" if "network" in name else "ngm, spreading" for name in peers(graph, y)}
    ratios = {f"{name}, a step": step[name] / step[own] for name, own in mine.items()}
    ratios |= {f"{name}, to residual": to_residual[name] / to_residual[own] for name, own in mine.items()}
    seconds = {f"{name}, a step": value for name, value in step.items()}
    seconds |= {f"{name}, to residual": value for name, value in to_residual.items()}
    report(
        "propagation",
        ratios,
        seconds,
        options,
        graph={"nodes": graph.num_nodes, "edges": graph.num_edges, "labels": LABELS},
        steps={"spreading": needed, "clamped": clamped.n_iter_, "tolerance": TOLERANCE},
        large=large(),
    )


if __name__ == "__main__":
    main()
