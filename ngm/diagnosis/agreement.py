"""Do labelled edges join nodes of the same class, more often than by chance?"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ngm.diagnosis.edge_set import ALL_EDGES, EdgeSet
from ngm.diagnosis.intervals import Floats, Ids, edge_fraction
from ngm.diagnosis.records import Agreement, Estimate, Pair
from ngm.propagation.seeds import Seeds

_MAX_PAIRS = 200
_MAX_SETS = 4096  # distinct sets of labels that all are compared with
_MAX_CELLS = 16_000_000


def agreement(ends: Ids, seeds: Seeds, rng: np.random.Generator, over: EdgeSet = ALL_EDGES) -> Agreement | None:
    """Share of labelled edges that agree, against chance, by pair of classes; None where there is no such edge.

    Args:
        ends: (m, 2) node ids of the labelled edges.
        seeds: Labels of all nodes, as zeros and ones.
        rng: Draws label sets to compare with, where there are thousands of different ones.
        over: Where the edges are.
    """
    count = int(over.total(np.array([len(ends)]))[0])
    if not count:
        return None
    sets, code = _label_sets(seeds, ends, over)  # (k, L), (m, 2)
    first, second = sets[code[:, 0]], sets[code[:, 1]]
    agree = (np.asarray(first.multiply(second).sum(axis=1)).ravel() > 0).astype(np.float64)
    end_share = over.total(np.bincount(code.ravel(), minlength=sets.shape[0])) / (2 * count)
    chance_by_set = _chance_by_set(sets, end_share, rng)  # (k,)
    share, chance = float(over.total(agree.sum()[None])[0] / count), float(end_share @ chance_by_set)
    deviation = agree - share
    adjusted = None
    if chance < 1 - 1e-9:
        # chance is a figure of the same edges: (share - chance) / (1 - chance) moves with both
        chance_deviation = chance_by_set[code].sum(axis=1) - 2 * chance
        interval = edge_fraction(agree, deviation - chance_deviation * (1 - share) / (1 - chance), ends, over)
        low, high = ((bound - chance) / (1 - chance) for bound in (interval.low, interval.high))
        adjusted = Estimate((share - chance) / (1 - chance), low, high)
    pairs = _pairs(first, second, count, seeds.classes, over)
    return Agreement(count, edge_fraction(agree, deviation, ends, over), chance, adjusted, pairs)


def _label_sets(seeds: Seeds, ends: Ids, over: EdgeSet) -> tuple[sp.csr_array, Ids]:
    """(k, L) the different sets of labels at the ends of all edges, and (m, 2) which of them each end has."""
    num_labels = seeds.values.shape[1]
    if seeds.task == "classes":
        label = np.zeros(len(seeds.labeled), dtype=np.int64)
        label[seeds.labeled] = seeds.values.indices  # one a row
        return sp.eye_array(num_labels, format="csr", dtype=np.float32), label[ends]
    nodes, inverse = np.unique(ends, return_inverse=True)
    rows = np.packbits(seeds.values[nodes].toarray() > 0, axis=1)
    packed = np.unique(over.gather(np.unique(rows, axis=0)), axis=0)
    _, code = np.unique(np.vstack([packed, rows]), axis=0, return_inverse=True)
    sets = np.unpackbits(packed, axis=1, count=num_labels).astype(np.float32)
    return sp.csr_array(sets), code.ravel()[len(packed) :][inverse].reshape(-1, 2)


def _chance_by_set(sets: sp.csr_array, end_share: Floats, rng: np.random.Generator) -> Floats:
    """(k,) the chance that a random end of these edges has a label in common with each set."""
    if (np.diff(sets.indptr) == 1).all() and sets.shape[0] <= sets.shape[1]:  # classes: only the same one agrees
        return end_share
    others, weight = sets, end_share
    if sets.shape[0] > _MAX_SETS:
        others = sets[rng.choice(sets.shape[0], _MAX_SETS, p=end_share)]
        weight = np.full(_MAX_SETS, 1 / _MAX_SETS)
    against = others.toarray().T  # (L, at most _MOST_SETS)
    rows = max(1, _MAX_CELLS // against.shape[1])
    chances = [(sets[i : i + rows] @ against > 0) @ weight for i in range(0, sets.shape[0], rows)]
    return np.concatenate(chances)


def _pairs(
    first: sp.csr_array, second: sp.csr_array, num_edges: int, classes: NDArray[np.generic], over: EdgeSet
) -> tuple[Pair, ...]:
    """Edges by pair of classes, beside what chance would give."""
    here = (first.T @ second).tocoo()
    row, col, edges = over.gather(np.stack([here.row, here.col, here.data], axis=1, dtype=np.float64)).T
    count = sp.csr_array((edges, (row.astype(np.int64), col.astype(np.int64))), shape=here.shape)
    count = (count + count.T).tocoo()  # both directions; the diagonal twice
    end_share = over.total(np.asarray((first + second).sum(axis=0)).ravel()) / (2 * num_edges)
    upper = count.row <= count.col
    row, col, edges = count.row[upper], count.col[upper], count.data[upper]
    edges = np.where(row == col, edges / 2, edges)
    expected = num_edges * end_share[row] * end_share[col] * np.where(row == col, 1, 2)
    order = np.lexsort((col, row, -edges))[:_MAX_PAIRS]
    names = [str(c) for c in classes.tolist()]
    return tuple(Pair(names[row[i]], names[col[i]], int(edges[i]), float(expected[i])) for i in order)
