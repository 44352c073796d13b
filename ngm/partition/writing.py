"""`partition_graph`: a graph with rows and labels, written as parts that processes open on their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, cast

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ngm._arguments import as_path, short_repr
from ngm._input_checks import as_dense, check_finite, check_graph_sizes
from ngm._node_targets import node_weights
from ngm.choices import PartitionMethod
from ngm.graph import Graph
from ngm.io.files import folder_written_whole
from ngm.io.hashing import digest
from ngm.io.run_folder import JSON
from ngm.networks.input_scaling import Table, choose_input_scaling, column_scale
from ngm.partition.assignment import assign_nodes
from ngm.partition.local_part import Partition, open_partition
from ngm.partition.part_arrays import PartArrays, part_arrays
from ngm.partition.part_folder import (
    HEADER,
    PartsHeader,
    PartSizes,
    part_path,
    task_as_json,
    write_arrays,
    write_rows,
)
from ngm.task import read_classes, read_numbers

OnPart = Callable[[str], object]


def partition_graph(
    folder: str | Path,
    graph: Graph,
    x: ArrayLike | Tensor | sp.csr_array | sp.csr_matrix,
    y: ArrayLike,
    parts: int,
    *,
    task: Literal["classes", "numbers"] = "classes",
    sample_weight: ArrayLike | None = None,
    validation: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    method: PartitionMethod = "streaming",
    seed: int = 0,
    data: Mapping[str, JSON] | None = None,
    also: Callable[[Path], None] | None = None,
    on_step: OnPart | None = None,
) -> Partition:
    """Cuts a graph into parts and writes each into a folder of its own, with the rows and labels of its nodes.

    A part has its own nodes, the edges that it carries (every edge is in exactly one part) and the rows of the border:
    the nodes of other parts at these edges. `NGMClassifier.fit_parts` trains on the result, each process on its parts.

    Args:
        folder: New or empty, or an older partition, which is replaced.
        graph: The whole graph.
        x: (n, d) dense (a memory map stays on disk) or sparse; a row per node.
        y: Targets as `fit` takes them, unlabelled ones marked.
        parts: How many; at least as many as there will be processes.
        task: "numbers" for `NGMRegressor`.
        sample_weight: (n,) weight of each labelled node.
        validation: (v,) labelled nodes to validate on, by their ids or as a mask (n,); else training draws its own.
        ids: (n,) the users' ids, for predictions.
        method: "streaming", or "metis", which needs pymetis; see `assign_nodes`.
        seed: Same seed, same parts.
        data: Anything worth keeping about the data; must be JSON.
        also: Called with the new folder, to write more into it.
        on_step: Called with what is done next: once to cut, and once for each part.

    Returns:
        What `open_partition` gives.
    """
    path, rows = as_path("folder", folder), _table(x)
    check_graph_sizes([graph], rows.shape[0])
    read, targets, labeled = (read_numbers if task == "numbers" else read_classes)(y, rows.shape[0])
    weight = None if sample_weight is None else node_weights(labeled, sample_weight).numpy()
    marked = _marked(validation, labeled)
    report = on_step or (lambda step: None)
    report("cutting the graph")
    assignment = assign_nodes(graph, parts, method, seed)
    arrays: dict[str, NDArray[np.generic] | None] = {
        "y": targets.numpy(),
        "labeled": labeled.numpy(),
        "sample_weight": weight,
        "validation": marked,
        "ids": None if ids is None else _names(ids, rows.shape[0]),
    }
    sizes = []
    with folder_written_whole(path, marker=HEADER) as new:
        for number, part in enumerate(part_arrays(graph, assignment)):
            report(f"writing part {number + 1} of {parts}")
            _write_part(part_path(new, number), graph, part, rows, arrays)
            own = part.nodes[: part.num_own]
            border = len(part.nodes) - part.num_own
            sizes.append(PartSizes(part.num_own, border, len(part.edges), int(labeled.numpy()[own].sum())))
        write_arrays(new, {"scale": _column_scale(rows, graph, labeled, weight)})
        PartsHeader(
            num_nodes=graph.num_nodes,
            num_edges=graph.num_edges,
            directed=graph.directed,
            parts=sizes,
            task=task_as_json(read),
            width=int(rows.shape[1]),
            input_scaling=choose_input_scaling(rows),
            cut=assignment.cut,
            method=method,
            digests={
                "x": digest(rows),
                "y": digest(targets[labeled], labeled, getattr(read, "classes", None)),
                "sample_weight": None if sample_weight is None else digest(np.asarray(sample_weight)),
                "graph": digest(graph.num_nodes, graph.directed, graph.edges, graph.weight),
            },
            data=dict(data or {}),
        ).write(new)
        if also is not None:
            also(new)
    return open_partition(path)


def _write_part(
    folder: Path,
    graph: Graph,
    part: PartArrays,
    x: Table,
    arrays: Mapping[str, NDArray[np.generic] | None],
) -> None:
    edges, weight = torch.from_numpy(part.edges), graph.weight[torch.from_numpy(part.edge_ids)]
    Graph(len(part.nodes), edges, weight, graph.directed).save(folder)
    own = {name: getattr(part, name) for name in ("nodes", "border_part", "border_place", "other_edges")}
    write_arrays(folder, own | {name: None if a is None else a[part.nodes] for name, a in arrays.items()})
    write_rows(folder, x, part.nodes)


def _table(x: object) -> Table:
    """X as an array or a sparse matrix of finite numbers; memory maps stay what they are."""
    rows = as_dense(x)
    rows = cast(sp.csr_array, rows).tocsr() if sp.issparse(rows) else np.asanyarray(rows)
    table = cast(Table, rows)
    if len(table.shape) != 2 or table.dtype.kind not in "fiub":
        raise ValueError(f"x is {short_repr(x)}; give a table of numbers (n, d), dense or sparse")
    if table.dtype.kind != "f":
        table = table.astype(np.float32)
    check_finite(cast("NDArray[np.generic]", table))
    return table


def _marked(validation: ArrayLike | None, labeled: Tensor) -> NDArray[np.bool_] | None:
    if validation is None:
        return None
    given = np.asarray(validation)
    mask = np.zeros(len(labeled), dtype=bool)
    if given.ndim != 1 or given.dtype.kind not in "iub" or (given.dtype.kind == "b" and len(given) != len(mask)):
        raise ValueError(f"validation is {short_repr(validation)}; give ids of labelled nodes, or a mask (n,)")
    rows = np.flatnonzero(given) if given.dtype.kind == "b" else given
    outside = rows[(rows < 0) | (rows >= len(mask))]
    if len(outside):
        raise ValueError(f"validation names node {outside[0]}; give ids between 0 and {len(mask) - 1}")
    mask[rows] = True
    bare = np.flatnonzero(mask & ~labeled.numpy())
    if len(bare):
        raise ValueError(f"validation node {bare[0]} has no label; give nodes whose y is known")
    return mask


def _names(ids: ArrayLike, rows: int) -> NDArray[np.generic]:
    names = np.asarray(ids)
    if names.shape != (rows,):
        raise ValueError(f"ids has shape {names.shape} for {rows} nodes; give one per node")
    return names if names.dtype.kind in "iu" else np.array([str(name) for name in names.tolist()])


def _column_scale(x: Table, graph: Graph, labeled: Tensor, weight: NDArray[np.generic] | None) -> NDArray[np.float64]:
    """(2, d) mean and deviation of the nodes with a label or an edge, as `fit` measures them."""
    part = (labeled | (graph.degree > 0)).numpy()
    share = None
    if weight is not None:
        own = torch.from_numpy(np.asarray(weight, dtype=np.float32))
        share = torch.where(labeled, own / own[labeled].mean(), 1.0).numpy()[part]
    return np.stack(column_scale(x if part.all() else x[part], share))
