"""`diagnose`: figures about a graph, its labels and inputs, with a verdict and advice."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ngm._arguments import whole_number
from ngm.diagnosis.advice import advise, judge
from ngm.diagnosis.agreement import agreement
from ngm.diagnosis.checked_graph import CheckedGraph, WholeGraph
from ngm.diagnosis.edge_figures import count_kinds, labeled_edges, num_compared, ordered_weight
from ngm.diagnosis.held_out import held_out
from ngm.diagnosis.records import Diagnosis
from ngm.diagnosis.similarity import Inputs, read_inputs, similarity
from ngm.graph import Graph
from ngm.propagation.seeds import Seeds, read_seeds
from ngm.targets import as_array


def diagnose(
    graph: Graph,
    y: ArrayLike | Tensor | sp.csr_array,
    x: ArrayLike | Tensor | sp.spmatrix | sp.sparray | None = None,
    *,
    seed: int = 0,
) -> Diagnosis:
    """Checks whether a graph is informative about the labels, before anything is trained.

    Args:
        graph: Graph on n nodes. Directions are ignored; edges of weight 0 join nothing and are left out.
        y: (n,) classes, -1, None or NaN = unlabelled; (n, L) zeros and ones, a row of -1 = unlabelled, or sparse, where
            rows without an entry are unlabelled. Of shares that add up to 1, the largest is taken for the class.
        x: (n, d) inputs, dense or sparse, if there are any: then neighbours are compared by x, and x with the graph
            is compared with x alone.
        seed: Same seed, same figures; samples and folds are drawn with it.

    Returns:
        The figures, a verdict and advice; see `Diagnosis`.

    >>> graph = Graph.from_edges([[0, 1], [1, 2], [3, 4], [4, 5]])
    >>> figures = diagnose(graph, ["a", "a", None, "b", "b", None])
    >>> (figures.ll, figures.lu, figures.uu), figures.agreement.share.value, figures.verdict
    ((2, 2, 0), 1.0, 'unclear')
    """
    if not isinstance(graph, Graph):
        raise ValueError(f"graph is a {type(graph).__name__}; make a Graph of it with Graph.from_edges or the like")
    if graph.num_edges and ordered_weight(graph.weight.numpy(), 0) == 0:
        positive = graph.weight > 0
        graph = Graph(graph.num_nodes, graph.edges[positive], graph.weight[positive], graph.directed)
    seeds = _read_labels(graph, y)
    inputs = None if x is None else read_inputs(x, graph.num_nodes)
    return figures(WholeGraph(graph), graph, seeds, seeds, inputs, seed)


def figures(
    checked: CheckedGraph, graph: Graph, seeds: Seeds, at_ends: Seeds, x: Inputs | None, seed: int
) -> Diagnosis:
    """All figures with the verdict; of a graph in parts, all processes make theirs together.

    Args:
        checked: The graph as a whole.
        graph: The edges of this process, of weights above 0.
        seeds: Labels of the n nodes of this process, as zeros and ones.
        at_ends: Labels of the nodes of `graph`: the same, and on parts those of the border, too.
        x: (n, d) inputs, or None.
        seed: Same seed, same figures.
    """
    rng = np.random.default_rng([whole_number("seed", seed), 0xD1A6])
    total, own_kinds = checked.edges.total, count_kinds(graph, at_ends.labeled)
    uu, lu, ll = total(own_kinds).tolist()
    own_ll = int(own_kinds[2])
    compared = labeled_edges(graph, at_ends.labeled, own_ll, num_compared(own_ll, ll), seed)
    found = Diagnosis(
        verdict="unclear",
        reasons=[],
        advice=[],
        num_nodes=checked.nodes.count,
        num_edges=ll + lu + uu,
        directed=graph.directed,
        task="labels" if seeds.task == "labels" else "classes",
        classes=tuple(str(c) for c in seeds.classes.tolist()),
        seeds=tuple(total(np.asarray(seeds.values.sum(axis=0)).ravel()).astype(int).tolist()),
        labeled=int(total(seeds.labeled.sum()[None])[0]),
        ll=ll,
        lu=lu,
        uu=uu,
        agreement=agreement(compared, at_ends, rng, checked.edges),
        held_out=held_out(checked, seeds, x, rng, seed),
        similarity=None if x is None else similarity(checked.sampled_ends(), checked.sampled_rows(x), rng),
        shape=checked.shape(seeds.labeled),
    )
    verdict, reasons = judge(found)
    with_verdict = replace(found, verdict=verdict, reasons=reasons)
    return replace(with_verdict, advice=advise(with_verdict))


def _read_labels(graph: Graph, y: ArrayLike | Tensor | sp.csr_array) -> Seeds:
    """Labels of all nodes, checked."""
    if y is None:
        raise ValueError("y is None; give a label per node, -1 where unlabelled")
    labels = cast("NDArray[np.generic]", y if sp.issparse(y) else as_array(cast(ArrayLike, y)))
    rows = labels.shape[0] if labels.ndim else "no"
    if rows != graph.num_nodes:
        raise ValueError(f"the graph has {graph.num_nodes} nodes, y has {rows} rows; give a label or -1 per node")
    return single_labels(read_seeds(labels, graph.num_nodes))


def single_labels(seeds: Seeds) -> Seeds:
    """Labels as zeros and ones; of shares, the largest."""
    if seeds.task != "soft":
        return seeds
    nodes = np.flatnonzero(seeds.labeled)
    label = seeds.values[nodes].toarray().argmax(axis=1)
    one_hot: NDArray[np.float32] = np.ones(len(nodes), dtype=np.float32)
    values = sp.csr_array((one_hot, (nodes, label)), shape=seeds.values.shape)
    return replace(seeds, values=values, task="classes")
