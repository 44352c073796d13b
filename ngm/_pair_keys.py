"""One number per pair of nodes, for sorting and looking up pairs; pairs of more nodes than int64 has room for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Ids = NDArray[np.int64]
_ROWS_AT_ONCE = 1 << 20  # pairs looked at together, so that a memory map is never in memory whole
MAX_KEYED_NODES = math.isqrt(2**63)  # 3,037,000,499: u * n + v fits into int64 for all u, v below n


def pair_keys(first: Ids, second: Ids, num_nodes: int) -> Ids:
    """(m,) `first * num_nodes + second`, the same number for the same pair and no other.

    Args:
        first: (m,) node ids.
        second: (m,) node ids.
        num_nodes: Number of nodes, `MAX_KEYED_NODES` at most: the numbers would overflow.
    """
    if num_nodes > MAX_KEYED_NODES:
        raise ValueError(f"there are {num_nodes:,} nodes; pairs of {MAX_KEYED_NODES:,} at most can be looked up")
    return cast(Ids, first * num_nodes + second)


def sorted_pair_keys(lists: Sequence[Tensor], num_nodes: int, directed: bool) -> Ids:
    """(m,) the numbers of all pairs of some lists, ascending; they are all that is in memory, 8 bytes a pair.

    Args:
        lists: Each (k, 2) node ids.
        num_nodes: Number of nodes, `MAX_KEYED_NODES` at most.
        directed: Whether (u, v) and (v, u) are two different pairs.

    >>> import torch
    >>> sorted_pair_keys([torch.tensor([[3, 1]]), torch.tensor([[0, 2], [1, 3]])], 4, directed=False).tolist()
    [2, 7, 7]
    """
    keys, at = np.empty(sum(map(len, lists)), dtype=np.int64), 0
    for pairs in lists:
        for start in range(0, len(pairs), _ROWS_AT_ONCE):
            part = pairs[start : start + _ROWS_AT_ONCE].numpy()
            first, second = part.T if directed else np.sort(part, axis=1).T
            keys[at : at + len(part)] = pair_keys(first, second, num_nodes)
            at += len(part)
    keys.sort()
    return keys


def unique_pairs(first: Ids, second: Ids, num_nodes: int) -> tuple[Ids, Ids, Ids]:
    """Distinct pairs, sorted, of any number of nodes.

    Args:
        first: (m,) node ids.
        second: (m,) node ids.
        num_nodes: Number of nodes.

    Returns:
        (k,) first and (k,) second ends of the distinct pairs, and (m,) which of them each pair is.

    >>> [part.tolist() for part in unique_pairs(np.array([3, 0, 3]), np.array([1, 2, 1]), 4)]
    [[0, 3], [2, 1], [1, 0, 1]]
    """
    if num_nodes <= MAX_KEYED_NODES:
        keys, index = np.unique(first * num_nodes + second, return_inverse=True)
        low, high = np.divmod(keys, max(num_nodes, 1))
        return low, high, index
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    index = np.empty(len(order), dtype=np.int64)
    index[order] = np.cumsum(new) - 1
    return first[new], second[new], index
