"""Checks of x and of graphs as users hand them over."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import cast

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngm.graph import Graph
from ngm.rows import Indexable, Inputs

_ROWS_AT_ONCE = 65_536


def check_names(x: object) -> None:
    """Refuses tables in which a column is not the only one of its name."""
    names = [name for name in getattr(x, "columns", ()) if isinstance(name, Hashable)]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"x has {names.count(twice)} columns called {twice!r}; give each a different name")


def check_graphs(graph: Graph | Sequence[Graph] | None) -> list[Graph]:
    """The graphs as a list."""
    graphs = [] if graph is None else list(graph) if isinstance(graph, list | tuple) else [graph]
    for given in graphs:
        if not isinstance(given, Graph):
            raise ValueError(
                f"graph is a {type(given).__name__}; make a Graph of it with Graph.from_edges, from_scipy, "
                "from_networkx or from_pyg"
            )
    return cast("list[Graph]", graphs)


def check_graph_sizes(graphs: Sequence[Graph], rows: int) -> None:
    """Refuses graphs that have not one node per row of x."""
    for i, graph in enumerate(graphs):
        if graph.num_nodes != rows:
            which = f"graph {i}" if len(graphs) > 1 else "graph"
            raise ValueError(f"{which} has {graph.num_nodes} nodes, x has {rows} rows; a node is a row of x")


def one_graph(graphs: Sequence[Graph]) -> Graph:
    """All edges of several graphs over the same nodes, direction aside; an edge in several has its largest weight."""
    if len(graphs) == 1:
        return graphs[0]
    edges, weight = torch.cat([g.edges for g in graphs]), torch.cat([g.weight for g in graphs])
    return Graph.from_edges(edges, weight, graphs[0].num_nodes)


def is_array_like(x: object) -> bool:
    """Whether scikit-learn can make an array of it (and should say so if it cannot)."""
    if isinstance(x, Mapping) and not sp.issparse(x):  # scipy's dictionary of keys is both
        return False
    return (
        not isinstance(x, Indexable)
        or isinstance(x, np.ndarray | list | tuple)
        or hasattr(x, "dtype")
        or (hasattr(x, "iloc") or sp.issparse(x) or hasattr(x, "__array__"))
    )


def as_dense(x: object) -> object:
    """A tensor as scikit-learn takes it; anything else as it is."""
    return _as_numpy(x) if isinstance(x, Tensor) else x


def _as_numpy(x: Tensor) -> NDArray[np.generic]:
    kept = x.detach().cpu()
    if kept.layout != torch.strided:
        raise ValueError(f"x is a sparse tensor ({kept.layout}); give a scipy sparse matrix, or x.to_dense()")
    out: NDArray[np.generic] = (kept.float() if kept.dtype == torch.bfloat16 else kept).numpy()
    return out


def check_parts(x: Inputs) -> None:
    """Looks for NaN in the arrays of a mapping; what else the user's own inputs hold is theirs."""
    for part in x.values() if isinstance(x, Mapping) else ():
        if isinstance(part, Mapping):
            check_parts(part)
        elif isinstance(part, np.ndarray | Tensor) or sp.issparse(part):
            check_finite(_as_numpy(part) if isinstance(part, Tensor) else part)


def check_finite(x: NDArray[np.generic] | sp.csr_matrix) -> None:
    """Names the first NaN or infinity, reading memory maps piece by piece."""
    if sp.issparse(x):
        sparse = cast(sp.csr_matrix, x)
        bad = np.flatnonzero(~np.isfinite(sparse.data))
        if len(bad):
            row = int((sparse.indptr <= bad[0]).sum()) - 1
            raise _not_finite((row, int(sparse.indices[bad[0]])), float(sparse.data[bad[0]]))
        return
    if not np.issubdtype(x.dtype, np.floating):
        return
    for start in range(0, len(x), _ROWS_AT_ONCE):
        part = x[start : start + _ROWS_AT_ONCE]
        if np.isfinite(_total(part)):  # one pass; only a part that is suspicious is looked at
            continue
        where = np.argwhere(~np.isfinite(part))
        if len(where):
            first = tuple(int(i) for i in where[0])
            raise _not_finite((first[0] + start, *first[1:]), float(part[first]))


def _total(part: NDArray[np.generic]) -> float:
    """The sum, in the type of the array, which is fastest; by torch where it can, since that uses all threads."""
    if part.dtype in (np.float32, np.float64) and part.flags.c_contiguous and part.flags.writeable:
        return float(torch.from_numpy(part).sum())
    with np.errstate(all="ignore"):
        return float(np.sum(part, dtype=np.float32 if part.dtype == np.float16 else None))


def _not_finite(place: tuple[int, ...], value: float) -> ValueError:
    name = "NaN" if value != value else "infinity (inf)"
    return ValueError(f"x{list(place)} is {name}; fill in or drop such values before fit and predict")
