"""Random walks on a graph, and node vectors learned from them.

DeepWalk (Perozzi, Al-Rfou and Skiena, 2014) learns them from plain walks, node2vec (Grover and Leskovec, 2016) from
walks that may favor going back (small p) or going far (small q). How a step is taken is in `ngm.inputs.walk_steps`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from ngm._splitmix import streams
from ngm.graph import Graph, Nodes
from ngm.inputs.walk_steps import Steps


def random_walks(
    graph: Graph,
    length: int,
    walks_per_node: int,
    seed: int,
    nodes: Nodes | None = None,
    p: float = 1.0,
    q: float = 1.0,
) -> NDArray[np.int64]:
    """Walks at random from every node, along an edge with probability in proportion to its weight.

    With p or q other than 1, the weight counts 1/p times for the edge back to the node before, once for an edge to a
    node that the node before is joined to (where directed: that it points to), and 1/q times for any other.

    Args:
        graph: Edges are walked both ways, or along their direction where the graph is directed.
        length: Steps in a walk.
        walks_per_node: Walks that start at each node.
        seed: Same seed, same walks, whatever the number of threads, with or without numba.
        nodes: (b,) node ids to start from (a node may be there several times), or an (n,) mask; all nodes where not
            given.
        p: Above 1, walks seldom go straight back; below 1, often.
        q: Above 1, walks stay near the node before; below 1, they go far.

    Returns:
        (b * walks_per_node, length + 1) node ids. Row i starts at `nodes[i % b]`. A node without a way out is
        repeated to the end of the walk.

    >>> random_walks(Graph.from_edges([[0, 1]], num_nodes=3), length=3, walks_per_node=1, seed=0).tolist()
    [[0, 1, 0, 1], [1, 0, 1, 0], [2, 2, 2, 2]]
    """
    _at_least("length", length, 0)
    _at_least("walks_per_node", walks_per_node, 1)
    _check_bias(p, q)
    starts = _starts(graph, nodes)
    walks = np.empty((len(starts) * walks_per_node, length + 1), dtype=np.int64)
    walks[:, 0] = np.tile(starts, walks_per_node)
    Steps(graph).walk(walks, streams(seed, len(walks)), p, q)
    return walks


def deepwalk(
    graph: Graph,
    dimensions: int = 128,
    length: int = 40,
    walks_per_node: int = 10,
    window: int = 10,
    seed: int = 0,
    epochs: int = 1,
) -> NDArray[np.float32]:
    """Learns a vector for every node: nodes that come near each other on random walks get similar vectors.

    This is `node2vec` with p = q = 1, by default on walks half as long.

    Args:
        graph: See `random_walks`.
        dimensions: Width of a vector.
        length: Steps in a walk.
        walks_per_node: Walks that start at each node.
        window: Largest number of steps between two nodes that count as near.
        seed: Same seed, same bits.
        epochs: Passes over the walks.

    Returns:
        (n, dimensions) float32.
    """
    return node2vec(graph, dimensions, 1.0, 1.0, length, walks_per_node, window, seed, epochs)


def node2vec(
    graph: Graph,
    dimensions: int = 128,
    p: float = 1.0,
    q: float = 1.0,
    length: int = 80,
    walks_per_node: int = 10,
    window: int = 10,
    seed: int = 0,
    epochs: int = 1,
    negatives: int = 5,
) -> NDArray[np.float32]:
    """Learns a vector for every node from walks that favor going back (p < 1), staying near (q > 1) or far (q < 1).

    Skip-gram with negative samples, by gensim on one thread: more threads would be faster, but never twice the same.

    Args:
        graph: See `random_walks`, as for p and q.
        dimensions: Width of a vector.
        p: Above 1, walks seldom go straight back.
        q: Above 1, walks stay near the node before.
        length: Steps in a walk.
        walks_per_node: Walks that start at each node.
        window: Largest number of steps between two nodes that count as near.
        seed: Same seed, same bits.
        epochs: Passes over the walks.
        negatives: Nodes drawn at random for each pair of near ones.

    Returns:
        (n, dimensions) float32.
    """
    settings = {"dimensions": dimensions, "length": length, "window": window, "epochs": epochs, "negatives": negatives}
    for name, value in settings.items():
        _at_least(name, value, 1)
    _check_bias(p, q)
    try:
        from gensim.models import Word2Vec
    except ImportError:
        raise ImportError("deepwalk and node2vec need gensim: pip install 'neural-graph-machines[walks]'") from None

    if graph.num_nodes == 0:
        return np.zeros((0, dimensions), dtype=np.float32)
    walk_seed, vector_seed = np.random.SeedSequence(seed).generate_state(2)
    walks = random_walks(graph, length, walks_per_node, int(walk_seed), p=p, q=q)
    walks = np.random.default_rng(walk_seed).permutation(walks)  # the learning rate falls: no node should be last
    model = Word2Vec(
        vector_size=dimensions,
        window=window,
        sg=1,
        negative=negatives,
        sample=0,
        min_count=1,
        workers=1,
        seed=int(vector_seed),
    )
    names = [str(node) for node in range(graph.num_nodes)]
    # gensim would count the words in the order of the walks; told the counts, it numbers the nodes the same each time
    counts = np.bincount(walks.ravel(), minlength=graph.num_nodes)
    model.build_vocab_from_freq(dict(zip(names, counts.tolist(), strict=True)), corpus_count=len(walks))
    sentences = _Sentences(walks, names)
    model.train(sentences, total_examples=len(walks), total_words=walks.size, epochs=epochs)
    vectors: NDArray[np.float32] = model.wv[names]
    return vectors


class _Sentences:
    """Walks as gensim reads them: lists of words, as often as asked for."""

    def __init__(self, walks: NDArray[np.int64], names: list[str]) -> None:
        self.walks, self.names = walks, np.array(names, dtype=object)

    def __iter__(self) -> Iterator[list[str]]:
        for walk in self.walks:
            yield self.names[walk].tolist()


def _starts(graph: Graph, nodes: Nodes | None) -> NDArray[np.int64]:
    if nodes is None:
        return np.arange(graph.num_nodes)
    ids = torch.as_tensor(nodes)
    if ids.dtype == torch.bool and ids.shape == (graph.num_nodes,):
        ids = ids.nonzero()[:, 0]
    if ids.ndim != 1 or ids.dtype == torch.bool or (ids.is_floating_point() and len(ids)):
        raise ValueError(
            f"nodes has shape {tuple(ids.shape)} and type {ids.dtype}; give (b,) node ids or a mask of "
            f"{graph.num_nodes} entries"
        )
    outside = ids[(ids < 0) | (ids >= graph.num_nodes)]
    if len(outside):
        raise ValueError(f"node {int(outside[0])} is not in the graph; ids run from 0 to {graph.num_nodes - 1}")
    starts: NDArray[np.int64] = ids.long().numpy()
    return starts


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise ValueError(f"{name} is {value}; it must be at least {least}")


def _check_bias(p: float, q: float) -> None:
    """The bounds keep the number of refused proposals in hand, whatever the graph."""
    for name, value in {"p": p, "q": q}.items():
        if not (math.isfinite(value) and 1e-3 <= value <= 1e3):
            raise ValueError(f"{name} is {value}; give a number from 0.001 to 1000 (1 favors nothing)")
