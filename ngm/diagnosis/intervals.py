"""Intervals for means over edges, which are not independent: edges at one node are correlated.

The variance of a mean over edges adds up the products of deviations over all pairs of edges that have a node in common
(Fafchamps and Gubert 2007; Aronow, Samii and Assenova 2015). Summed by node, that takes one pass over the edges.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from ngm.diagnosis.edge_set import ALL_EDGES, EdgeSet
from ngm.diagnosis.records import Estimate

_LEVEL = 0.95

Floats = NDArray[np.floating]
Ids = NDArray[np.int64]


def mean_variance(deviation: Floats, ends: Ids, over: EdgeSet = ALL_EDGES) -> float:
    """Variance of a mean over edges, edges with a node in common taken as dependent.

    Never below that of independent edges: a negative sum of products is chance.

    Args:
        deviation: (m,) each edge's value less the mean.
        ends: (m, 2) node ids.
        over: Where the edges are.
    """
    by_node = over.at_nodes(deviation, ends)  # (nodes,)
    own = np.array([len(deviation), deviation @ deviation, by_node @ by_node], dtype=np.float64)
    count, independent, squares = over.total(own).tolist()
    return float(max(squares - independent, independent) / count**2)  # an edge with itself is in it once per end


def effective_nodes(ends: Ids, over: EdgeSet = ALL_EDGES) -> float:
    """How many nodes of equal degree would give as much: (sum of degrees)^2 / sum of squared degrees."""
    degree = over.at_nodes(np.ones(len(ends)), ends)
    total, squares = over.total(np.array([degree.sum(), degree @ degree])).tolist()
    return float(total**2 / squares)


def edge_fraction(agree: Floats, deviation: Floats, ends: Ids, over: EdgeSet = ALL_EDGES) -> Estimate:
    """Share of edges that agree, by Wilson's interval with as many independent edges as the variance amounts to.

    Args:
        agree: (m,) zeros and ones.
        deviation: (m,) what each edge adds to the error of the figure; `agree` less its mean, or more.
        ends: (m, 2) node ids.
        over: Where the edges are.
    """
    num_agreeing, num_edges = over.total(np.array([agree.sum(), len(agree)], dtype=np.float64)).tolist()
    fraction, nodes = num_agreeing / num_edges, effective_nodes(ends, over)
    variance = mean_variance(deviation, ends, over)
    variance_of_one = fraction * (1 - fraction)
    count = min(
        num_edges, nodes / 2 if variance_of_one == 0 else variance_of_one / variance
    )  # all alike: no spread to go by
    return wilson(fraction, count, degrees=max(nodes - 1, 1.0))


def wilson(fraction: float, count: float, degrees: float = math.inf) -> Estimate:
    """Wilson's interval of a share of `count` independent trials.

    Args:
        fraction: Between 0 and 1.
        count: Number of trials, which may be a fraction.
        degrees: Of freedom, where the spread itself is estimated from few.

    >>> print(wilson(0.5, 10))
    0.50 (0.24 to 0.76)
    """
    z2 = quantile(degrees) ** 2
    center = (fraction + z2 / (2 * count)) / (1 + z2 / count)
    half_width = math.sqrt(z2 * fraction * (1 - fraction) / count + z2**2 / (4 * count**2)) / (1 + z2 / count)
    return Estimate(
        fraction, max(0.0, min(fraction, center - half_width)), min(1.0, max(fraction, center + half_width))
    )


def paired_gain(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> Estimate:
    """Share right in `second` less that in `first`, both on the same rows.

    The interval adds half a row to each of the four cases (Agresti and Min 2005), so that a few rows without a
    difference are no proof.
    """
    gain = float(second.mean() - first.mean())
    num_gained, num_lost = float((second & ~first).sum()) + 0.5, float((first & ~second).sum()) + 0.5
    count = len(first) + 2
    center = (num_gained - num_lost) / count
    half_width = quantile() * math.sqrt((num_gained + num_lost - (num_gained - num_lost) ** 2 / count) / count**2)
    return Estimate(gain, min(gain, max(-1.0, center - half_width)), max(gain, min(1.0, center + half_width)))


def quantile(degrees: float = math.inf) -> float:
    """1.96 for many degrees of freedom, more for few."""
    return float(t.ppf(0.5 + _LEVEL / 2, degrees))
