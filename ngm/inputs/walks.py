"""Random walks on a graph, and node vectors learned from them (DeepWalk of Perozzi, Al-Rfou and Skiena, 2014).

All walks take a step at the same time, so a step costs one search in one sorted array. What decides a step is
`_Steps.take`; a walk that also looks back at the node it came from (node2vec) needs another such class only.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from ngm.graph import Graph, Nodes


def random_walks(
    graph: Graph, length: int, walks_per_node: int, seed: int, nodes: Nodes | None = None
) -> NDArray[np.int64]:
    """Walks at random from every node, along an edge with probability in proportion to its weight.

    Args:
        graph: Edges are walked both ways, or along their direction where the graph is directed.
        length: Steps in a walk.
        walks_per_node: Walks that start at each node.
        seed: Same seed, same walks.
        nodes: (b,) node ids to start from (a node may be there several times), or an (n,) mask; all nodes where not
            given.

    Returns:
        (b * walks_per_node, length + 1) node ids. Row i starts at `nodes[i % b]`. A node without a way out is
        repeated to the end of the walk.

    >>> random_walks(Graph.from_edges([[0, 1]], num_nodes=3), length=3, walks_per_node=1, seed=0).tolist()
    [[0, 1, 0, 1], [1, 0, 1, 0], [2, 2, 2, 2]]
    """
    _at_least("length", length, 0)
    _at_least("walks_per_node", walks_per_node, 1)
    starts = _starts(graph, nodes)
    rng = np.random.default_rng(seed)
    steps = _Steps(graph)
    walks = np.empty((length + 1, len(starts) * walks_per_node), dtype=np.int64)  # a row per step: written in one go
    walks[0] = np.tile(starts, walks_per_node)
    for i in range(length):
        walks[i + 1] = steps.take(walks[i], rng)
    return np.ascontiguousarray(walks.T)


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

    Skip-gram with five negatives, by gensim on one thread: more threads would be faster, but never twice the same.

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
    for name, value in {"dimensions": dimensions, "length": length, "window": window, "epochs": epochs}.items():
        _at_least(name, value, 1)
    try:
        from gensim.models import Word2Vec
    except ImportError:
        raise ImportError("deepwalk needs gensim: pip install 'neural-graph-machines[walks]'") from None

    if graph.num_nodes == 0:
        return np.zeros((0, dimensions), dtype=np.float32)
    walk_seed, vector_seed = np.random.SeedSequence(seed).generate_state(2)
    walks = random_walks(graph, length, walks_per_node, int(walk_seed))
    walks = np.random.default_rng(walk_seed).permutation(walks)  # the learning rate falls: no node should be last
    model = Word2Vec(
        vector_size=dimensions, window=window, sg=1, negative=5, sample=0, min_count=1, workers=1, seed=int(vector_seed)
    )
    names = [str(node) for node in range(graph.num_nodes)]
    # gensim would count the words in the order of the walks; told the counts, it numbers the nodes the same each time
    counts = np.bincount(walks.ravel(), minlength=graph.num_nodes)
    model.build_vocab_from_freq(dict(zip(names, counts.tolist(), strict=True)), corpus_count=len(walks))
    sentences = _Sentences(walks, names)
    model.train(sentences, total_examples=len(walks), total_words=walks.size, epochs=epochs)
    vectors: NDArray[np.float32] = model.wv[names]
    return vectors


class _Steps:
    """Takes one step of many walks at once."""

    def __init__(self, graph: Graph) -> None:
        offsets, neighbors, edge = (part.numpy() for part in graph.csr)
        weight = graph.weight.numpy().astype(np.float64)[edge]
        source = np.repeat(np.arange(graph.num_nodes), np.diff(offsets))
        total = np.bincount(source, weight, minlength=graph.num_nodes)
        # shares, not weights, are summed up: every node gets a stretch of length 1, however small its weights
        share = np.divide(weight, total[source], out=np.zeros_like(weight), where=total[source] > 0)
        summed = np.concatenate([[0.0], np.cumsum(share)])
        self.neighbors = neighbors
        self.ends = summed[1:]  # where on the line the stretch of each entry ends
        self.first, self.last = summed[offsets[:-1]], summed[offsets[1:]]  # (n,) the stretch of each node

    def take(self, at: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """(b,) where walks go that are at nodes `at` (b,)."""
        first, last = self.first[at], self.last[at]
        point = first + rng.random(len(at)) * (last - first)
        point = np.minimum(point, np.nextafter(last, -np.inf))  # rounding must not lead into the next node's stretch
        stuck = last <= first
        entry = np.searchsorted(self.ends, point, side="right")  # right: an edge of weight 0 is never taken
        entry[stuck] = 0
        if not len(self.neighbors):
            return at
        return np.where(stuck, at, self.neighbors[entry])


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
