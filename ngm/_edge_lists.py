"""Lists of edges as tensors: read from anything array-like, checked, repeated ones found."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ngm._arguments import as_numbers, short_repr, whole_number
from ngm._pair_keys import MAX_KEYED_NODES, sorted_pair_keys, unique_pairs

_ROWS_AT_ONCE = 1 << 20  # edges looked at together, so that a memory map is never in memory whole


def as_edges(edges: ArrayLike | Tensor) -> Tensor:
    """(m, 2) int64 from anything array-like, refusing fractions."""
    raw = as_numbers("edges", edges, "give (m, 2), one row of two node ids per edge")
    if raw.numel() == 0:
        return torch.zeros(0, 2, dtype=torch.int64)
    if raw.ndim != 2 or raw.shape[1] != 2:
        raise ValueError(f"edges has shape {tuple(raw.shape)}; give (m, 2), one row of two node ids per edge")
    pairs = raw.long()
    if raw.is_floating_point():
        fraction = (raw != pairs).any(dim=1).nonzero()
        if len(fraction):
            row = int(fraction[0, 0])
            raise ValueError(f"edge {row} is {raw[row].tolist()}; node ids must be whole numbers")
    return pairs.contiguous()


def as_weight(weight: ArrayLike | Tensor) -> Tensor:
    """(m,) float32 from anything array-like."""
    return as_numbers("weight", weight, "give one number per edge").float().reshape(-1)


def distinct_pairs(pairs: Tensor, num_nodes: int) -> tuple[Tensor, Tensor]:
    """((k, 2) distinct pairs, sorted, (m,) which of them each pair is)."""
    if num_nodes <= MAX_KEYED_NODES:
        keys, group = torch.unique(pairs[:, 0] * num_nodes + pairs[:, 1], return_inverse=True)
        return torch.stack([keys // max(num_nodes, 1), keys % max(num_nodes, 1)], dim=1), group
    u, v = pairs.numpy().T
    low, high, index = unique_pairs(u, v, num_nodes)
    return torch.from_numpy(np.stack([low, high], axis=1)), torch.from_numpy(index)


def refuse_self_loops(edges: Tensor) -> None:
    """Names the first edge from a node to itself."""
    for start in range(0, len(edges), _ROWS_AT_ONCE):
        part = edges[start : start + _ROWS_AT_ONCE]
        loops = (part[:, 0] == part[:, 1]).nonzero()
        if len(loops):
            row = start + int(loops[0, 0])
            raise ValueError(f"edge {row} is {edges[row].tolist()}, a self loop; Graph.from_edges drops these")


def refuse_repeated(edges: Tensor, num_nodes: int, directed: bool) -> None:
    """Names the first edge that was there before; edges that are sorted, as ours are, take one pass."""
    if _ascending(edges, directed):
        return
    if num_nodes <= MAX_KEYED_NODES:
        keys = sorted_pair_keys([edges], num_nodes, directed)
        if not any((part[1:] == part[:-1]).any() for part in _overlapping(keys)):
            return
    pairs = edges if directed else edges.sort(dim=1).values
    ends, group = distinct_pairs(pairs, num_nodes)
    if len(ends) == len(edges):
        return
    first = torch.full((len(ends),), len(edges)).scatter_reduce(0, group, torch.arange(len(edges)), "amin")
    row = int((first[group] != torch.arange(len(edges))).nonzero()[0, 0])
    before = int(first[group[row]])
    raise ValueError(
        f"edge {row} is {edges[row].tolist()}, and edge {before} is {edges[before].tolist()}, the same; give each edge "
        "once, or use Graph.from_edges, which merges them"
    )


def _overlapping(keys: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Parts of an array; each begins with the last entry of the one before."""
    for start in range(0, len(keys), _ROWS_AT_ONCE):
        yield keys[max(start - 1, 0) : start + _ROWS_AT_ONCE]


def _ascending(edges: Tensor, directed: bool) -> bool:
    """Whether each edge is behind the one before it; where undirected, whether each is from its smaller end too."""
    for start in range(0, len(edges), _ROWS_AT_ONCE):
        u, v = edges[start : start + _ROWS_AT_ONCE + 1].unbind(dim=1)  # one more, to compare with the next part
        if not directed and not bool((u < v).all()):
            return False
        if not bool(((u[1:] > u[:-1]) | ((u[1:] == u[:-1]) & (v[1:] > v[:-1]))).all()):
            return False
    return True


def check_edges(edges: Tensor, weight: Tensor, num_nodes: int) -> None:
    """Names the first edge that is not right."""
    num_nodes = whole_number("num_nodes", num_nodes)
    for name, given in (("edges", edges), ("weight", weight)):
        if not isinstance(given, Tensor) or given.layout != torch.strided:
            raise ValueError(f"{name} is {short_repr(given)}; give a dense tensor, or use Graph.from_edges")
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype != torch.int64:
        raise ValueError(f"edges has shape {tuple(edges.shape)} and type {edges.dtype}; give (m, 2) int64")
    if weight.ndim != 1 or weight.dtype != torch.float32:
        raise ValueError(f"weight has shape {tuple(weight.shape)} and type {weight.dtype}; give (m,) float32")
    if len(weight) != len(edges):
        raise ValueError(f"weight has {len(weight)} entries, edges has {len(edges)}; give one weight per edge")
    if not len(edges):
        return
    low, high = edges.aminmax()
    if low < 0 or high >= num_nodes:
        row = int(((edges < 0) | (edges >= num_nodes)).any(dim=1).nonzero()[0, 0])
        raise ValueError(
            f"edge {row} is {edges[row].tolist()}; node ids run from 0 to {num_nodes - 1}, "
            "so drop the edge or raise num_nodes"
        )
    for start in range(0, len(weight), _ROWS_AT_ONCE):
        part = weight[start : start + _ROWS_AT_ONCE]
        wrong = ~(torch.isfinite(part) & (part >= 0))
        if not bool(wrong.any()):
            continue
        row = start + int(wrong.nonzero()[0, 0])
        raise ValueError(
            f"edge {row} ({edges[row].tolist()}) has weight {float(weight[row])}; weights must be finite and at least 0"
        )
