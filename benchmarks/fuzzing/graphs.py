"""`Graph` and what can be done with one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import scipy.sparse as sp
import torch

import ngm
from fuzzing import values
from fuzzing.values import odd

N = 6


def make(rng: Random, folder: Path) -> Callable[[], object]:
    """One case."""
    kinds = [_from_edges, _from_edges, _from_scipy, _from_networkx, _from_pyg, _plain, _used, _loader]
    return rng.choice(kinds)(rng, folder)


def _edges(rng: Random) -> object:
    good = values.edges(rng, N)
    if rng.random() < 0.4:
        return good
    shapes = [
        good.T,
        good.tolist(),
        torch.from_numpy(good),
        good.astype(rng.choice(["f4", "f8", "i4", "u1", "u8", ">i8", "O", "U3", "c8", "?", "i1"])),
        good + 0.5,
        -good,
        good * 2**40,
        good + (2**63 - 9),
        pd.DataFrame(good),
        pd.DataFrame(good.astype(str)),
        [*good.tolist(), [1]],
        [[0, "a"]],
        [["a", "b"]],
        [[0, None]],
        [[0.0, float("nan")]],
        [[0, float("inf")]],
        [[2**63, 1]],
        [[2**70, 1]],
        [],
        [[]],
        [[], []],
        None,
        3,
        "word",
        "01",
        {},
        {(0, 1)},
        [(0, 1), (1, 2)],
        iter([(0, 1)]),
        np.zeros((0, 2)),
        np.zeros((0, 3)),
        np.zeros((2, 0)),
        np.zeros(2),
        np.zeros((2, 2, 2)),
        torch.zeros(3, 2),
        torch.zeros(3, 2, dtype=torch.bool),
        torch.zeros(3, 2, dtype=torch.complex64),
        good[::-1],
        torch.tensor([[0, 1]]).to_sparse(),
        torch.zeros(2, 2, requires_grad=True),
        [[True, False]],
        np.ma.masked_equal(good, 0),
        [[1e300, 1.0]],
        np.array([["2020-01-01", "2020-01-02"]], dtype="M8[D]"),
        [[0, 1, 2]],
        [[b"0", b"1"]],
        np.array([[1, 2]], dtype=[("a", "i8")]),
    ]
    return rng.choice(shapes)


def _weight(rng: Random) -> object:
    m = rng.choice([1, 10, 30, 3])
    good = values.numpy_rng(rng).random(m)
    if rng.random() < 0.3:
        return good
    shapes = [
        good.astype(rng.choice(values.DTYPES[:14])),
        -good,
        good * 1e300,
        good * 1e-300,
        good * np.nan,
        good[:, None],
        good.tolist(),
        torch.from_numpy(good),
        np.where(good < 0.5, np.inf, 1),
        [],
        None,
        3,
        2.0,
        "word",
        ["a"] * m,
        [None] * m,
        [[1]] * m,
        np.ones((m, 2)),
        pd.Series(good),
        {},
        iter(good),
        torch.ones(m, dtype=torch.bool),
        torch.ones(m, requires_grad=True),
        torch.ones(m, dtype=torch.complex64),
        [2**70] * m,
        ["1"] * m,
        np.ma.masked_less(good, 0.5),
    ]
    return rng.choice(shapes)


def _from_edges(rng: Random, folder: Path) -> Callable[[], object]:
    edges = _edges(rng)
    weight = _weight(rng) if rng.random() < 0.5 else None
    if weight is not None and hasattr(edges, "__len__") and rng.random() < 0.7:
        weight = values.numpy_rng(rng).random(len(edges))
    num_nodes = rng.choice([None, None, N, N]) if rng.random() < 0.6 else odd(rng, [0, N, 2**40, 2**31])
    directed, merge = odd(rng, [False, True], 0.1), odd(rng, ["max", "sum", "mean"], 0.1)
    return lambda: _look(ngm.Graph.from_edges(edges, weight, num_nodes, directed, merge))


def _from_scipy(rng: Random, folder: Path) -> Callable[[], object]:
    plain = [
        sp.eye_array(N),
        np.eye(N),
        None,
        3,
        "word",
        [[0, 1], [1, 0]],
        sp.csr_array((N, N + 1)),
        sp.csr_array((0, 0)),
        sp.coo_array(np.ones(N)),
        torch.eye(N),
        nx.path_graph(3),
    ]
    adjacency = rng.choice(plain) if rng.random() < 0.4 else values.sparse(rng, rng.choice([3, 8, N]))
    directed, merge = odd(rng, [False, True], 0.1), odd(rng, ["max", "sum", "mean"], 0.1)
    return lambda: _look(ngm.Graph.from_scipy(adjacency, directed, merge))


def _from_networkx(rng: Random, folder: Path) -> Callable[[], object]:
    kind = rng.choice([nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
    graph = kind()
    names = rng.choice(
        [list(range(N)), list("abcdef"), [0, "a", (1, 2), None if False else 1.5, True, 9], list(range(N))[::-1]]
    )
    graph.add_nodes_from(names)
    for u, v in values.edges(rng, N).tolist():
        graph.add_edge(names[u], names[v], **rng.choice([{}, {"weight": 2}, {"weight": odd(rng, [1.0])}, {"w": 1}]))
    given = rng.choice([graph] * 9 + [None, 3, "word", np.eye(3), {}])
    weight = odd(rng, ["weight", "w"], 0.1)
    return lambda: _look(ngm.Graph.from_networkx(given, weight))


def _from_pyg(rng: Random, folder: Path) -> Callable[[], object]:
    good = torch.from_numpy(values.edges(rng, N)).t()
    index = rng.choice([good, good, good, good.t(), good.float(), None, good.numpy(), [[0], [1]], torch.zeros(2, 0)])
    weight = rng.choice([None, None, torch.ones(good.shape[1]), torch.ones(good.shape[1], 2), _weight(rng)])
    count = odd(rng, [N], 0.2)
    data = SimpleNamespace(
        edge_index=index, num_nodes=count, edge_weight=weight, is_directed=lambda: rng.random() < 0.5
    )
    given = rng.choice([data] * 9 + [None, 3, SimpleNamespace()])
    directed = odd(rng, [None, True, False], 0.1)
    return lambda: _look(ngm.Graph.from_pyg(given, directed))


def _plain(rng: Random, folder: Path) -> Callable[[], object]:
    edges: object = torch.tensor([[0, 1], [1, 2], [2, 4]])
    weight: object = torch.ones(3)
    edges = rng.choice([edges, edges, _edges(rng), torch.tensor([[0, 1], [1, 0], [0, 1]])])
    weight = rng.choice([weight, weight, _weight(rng)])
    num_nodes, directed = odd(rng, [N], 0.3), odd(rng, [False, True], 0.2)
    return lambda: _look(ngm.Graph(num_nodes, edges, weight, directed))


def _used(rng: Random, folder: Path) -> Callable[[], object]:
    graph, other = values.good_graph(rng, N), values.good_graph(rng, rng.choice([N, N, 3]))
    nodes = [
        [0, 1],
        [1, 1],
        [],
        [7],
        [-1],
        [0.5],
        [True] * N,
        [True] * 3,
        np.ones(N, dtype=bool),
        "word",
        None,
        3,
        [[0, 1]],
        ["a"],
        {0, 1},
        range(3),
        slice(0, 2),
        torch.tensor([1, 2]),
        torch.tensor(1),
        [2**63],
        [None],
        np.array([0, 1], dtype="u1"),
        np.array([0, 1], dtype="u8"),
        pd.Series([0, 1]),
        iter([1]),
        [0, float("nan")],
        [0j],
    ]
    some, node = rng.choice(nodes), odd(rng, [0, 1], 0.5)
    how = odd(rng, ["max", "sum", "mean"], 0.3)
    joined = rng.choice([other, other, None, 3, "word"])
    name = odd(rng, ["out", folder / "out", "a/b"], 0.2, ["", ".", "\x00", "x" * 300, 3, None, folder, "out\n1"])
    kinds: list[Callable[[], object]] = [
        lambda: _look(graph.subgraph(some)),
        lambda: _look(graph[some]),
        lambda: _look(graph.without(some)),
        lambda: _look(graph.merge(joined, how)),
        lambda: graph.neighbors(node),
        lambda: _look(ngm.Graph.open(graph.save(name))),
    ]
    return rng.choice(kinds)


def _loader(rng: Random, folder: Path) -> Callable[[], object]:
    x = values.numpy_rng(rng).normal(size=(N, 3)).astype(np.float32)
    given = rng.choice([x, x, x, values.inputs(rng, N)])
    y = torch.tensor([0, 1, -1, -1, 0, 1]) if rng.random() < 0.5 else values.targets(rng, N)
    graph = values.graph(rng, N)
    good = {
        "batch_size": [1, 4, 512],
        "seed": [0, 1],
        "sample_weight": [None, np.ones(N), [0.0] * N],
        "labeled": [None, torch.tensor([True] * 3 + [False] * 3)],
        "sampling": ["plain", "edges", "balanced"],
        "order": ["neighborhood", "random"],
        "rank": [0, 1],
        "world": [1, 2],
        "kinds": [None, [ngm.EdgeKind.LL], []],
        "dtype": [torch.float32, torch.float64],
    }
    settings = {name: odd(rng, choices, 0.3) for name, choices in good.items() if rng.random() < 0.2}

    def call() -> object:
        loader = ngm.EdgeLoader(given, y, graph, **settings)
        return len(loader), [batch.label_share for _, batch in zip(range(20), loader, strict=False)]

    return call


def _look(graph: ngm.Graph) -> object:
    """Everything that can be read off a graph of few nodes."""
    if graph.num_nodes > 1000:
        return repr(graph), graph.num_edges
    return repr(graph), graph.degree, graph.csr, graph.components(), graph.to_scipy(), graph.to_networkx()
