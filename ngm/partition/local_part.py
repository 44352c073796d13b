"""What a process has of a partitioned graph: its parts, put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngm._arguments import as_path
from ngm._pair_keys import pair_keys
from ngm.graph import Graph
from ngm.networks.input_scaling import Table
from ngm.partition.part_folder import PartsHeader, part_path, read_array, read_rows

Ids = NDArray[np.int64]
_ROWS_AT_ONCE = 1 << 20  # pairs looked at together


@dataclass(frozen=True, eq=False)
class LocalPart:
    """The nodes, edges and rows that a process works on: its own nodes first, then those of the border.

    Args:
        header: Of the whole.
        numbers: Which parts these are.
        nodes: (n,) global ids.
        num_own: How many of the nodes are its own.
        owner: (b,) which rank owns each border node.
        place: (b,) its place among the nodes of that rank.
        graph: The edges that are carried here, over the n nodes.
        other_edges: (k, 2) edges between the n nodes that other ranks carry.
        x: (n, d) rows.
        y: (n, ...) encoded targets.
        labeled: (n,) mask of the labelled nodes.
        sample_weight: (n,) or None.
        validation: (n,) mask of the nodes that the user marked to validate on, or None.
        ids: (n,) the users' ids, or None.
        scale: (2, d) mean and deviation of the columns of x, over the whole.
    """

    header: PartsHeader
    numbers: tuple[int, ...]
    nodes: Ids
    num_own: int
    owner: Ids
    place: Ids
    graph: Graph
    other_edges: Tensor
    x: Table
    y: Tensor
    labeled: Tensor
    sample_weight: Tensor | None
    validation: Tensor | None
    ids: NDArray[np.generic] | None
    scale: NDArray[np.float64]

    @property
    def own(self) -> Tensor:
        """(n,) mask of the own nodes."""
        return torch.arange(len(self.nodes)) < self.num_own


@dataclass(frozen=True, eq=False)
class Partition:
    """A graph in parts, in a folder.

    Args:
        folder: Where it is.
        header: Sizes of the whole and of every part.
    """

    folder: Path
    header: PartsHeader

    def __len__(self) -> int:
        """Number of parts."""
        return len(self.header.parts)

    def __repr__(self) -> str:
        """`Partition(8 parts, 100 nodes, 300 edges, 12.0 % cut)`."""
        header = self.header
        sizes = f"{header.num_nodes:,} nodes, {header.num_edges:,} edges"
        return f"Partition({len(self)} parts, {sizes}, {100 * header.cut:.1f} % cut)"

    def local(self, rank: int = 0, world: int = 1) -> LocalPart:
        """What one of several processes has: every `world`-th part, or all of them where it is alone.

        Args:
            rank: Number of the process.
            world: Number of processes, at most that of the parts.
        """
        if not 0 <= rank < world:
            raise ValueError(f"rank is {rank} and world is {world}; the ranks of n processes are 0 to n - 1")
        if world > len(self):
            raise ValueError(
                f"{self.folder} has {len(self)} parts for {world} processes; start at most as many, or partition the "
                f"graph with --parts {world}"
            )
        numbers = tuple(range(rank, len(self), world))
        scale = cast("NDArray[np.float64]", read_array(self.folder / "scale.npy"))
        parts = [self._read(number, world, scale) for number in numbers]
        return parts[0] if len(parts) == 1 else _joined(parts, numbers, rank)

    def _read(self, number: int, world: int, scale: NDArray[np.float64]) -> LocalPart:
        folder, sizes = part_path(self.folder, number), self.header.parts
        graph = Graph.open(folder)
        there = {file.stem for file in folder.glob("*.npy")}

        def array(name: str) -> NDArray[np.generic]:
            return read_array(folder / f"{name}.npy")

        def tensor(name: str) -> Tensor | None:
            return torch.from_numpy(array(name)) if name in there else None

        of, place = array("border_part").astype(np.int64), cast(Ids, array("border_place"))
        first = np.zeros(len(sizes), dtype=np.int64)  # where the nodes of each part begin on its rank
        for rank in range(world):
            mine = np.arange(rank, len(sizes), world)
            first[mine] = np.cumsum([0, *(sizes[i].own for i in mine[:-1])])
        return LocalPart(
            header=self.header,
            numbers=(number,),
            nodes=cast(Ids, array("nodes")),
            num_own=sizes[number].own,
            owner=of % world,
            place=place + first[of],
            graph=graph,
            other_edges=torch.from_numpy(array("other_edges")),
            x=read_rows(folder, self.header.width),
            y=torch.from_numpy(array("y")),
            labeled=torch.from_numpy(array("labeled")),
            sample_weight=tensor("sample_weight"),
            validation=tensor("validation"),
            ids=array("ids") if "ids" in there else None,
            scale=scale,
        )


def open_partition(folder: str | Path) -> Partition:
    """Opens a folder that `partition_graph` or `ngm partition` wrote; its parts are read when they are asked for.

    Args:
        folder: With `parts.json` and at least those parts that are to be read.
    """
    path = as_path("folder", folder)
    return Partition(path, PartsHeader.read(path))


def _joined(parts: Sequence[LocalPart], numbers: tuple[int, ...], rank: int) -> LocalPart:
    """Several parts as one: each node once, edges between them inside."""
    own = np.concatenate([part.nodes[: part.num_own] for part in parts])
    border = np.concatenate([part.nodes[part.num_own :] for part in parts])
    away = np.concatenate([part.owner for part in parts]) != rank
    outside, first = np.unique(border[away], return_index=True)
    kept = np.flatnonzero(away)[first]  # of each border node, the first copy
    nodes = np.concatenate([own, outside])
    order = np.argsort(nodes)

    places = [order[np.searchsorted(nodes, part.nodes, sorter=order)] for part in parts]
    edges = _joined_pairs([part.graph.edges for part in parts], places)
    weight = torch.cat([part.graph.weight for part in parts])
    graph = Graph(len(nodes), torch.from_numpy(edges), weight, parts[0].header.directed)
    others = _joined_pairs([part.other_edges for part in parts], places)

    def rows(values: Sequence[Tensor]) -> Tensor:
        """The own rows of all parts, then one copy of each border row."""
        return torch.from_numpy(_joined_array([value.numpy() for value in values], parts, kept))

    weights = [part.sample_weight for part in parts if part.sample_weight is not None]
    marks = [part.validation for part in parts if part.validation is not None]
    ids = [part.ids for part in parts if part.ids is not None]
    return LocalPart(
        header=parts[0].header,
        numbers=numbers,
        nodes=nodes,
        num_own=len(own),
        owner=np.concatenate([part.owner for part in parts])[kept],
        place=np.concatenate([part.place for part in parts])[kept],
        graph=graph,
        other_edges=torch.from_numpy(_without(others, edges, len(nodes), parts[0].header.directed)),
        x=_joined_rows(parts, kept),
        y=rows([part.y for part in parts]),
        labeled=rows([part.labeled for part in parts]),
        sample_weight=rows(weights) if weights else None,
        validation=rows(marks) if marks else None,
        ids=_joined_array(ids, parts, kept) if ids else None,
        scale=parts[0].scale,
    )


def _joined_pairs(lists: Sequence[Tensor], places: Sequence[Ids]) -> Ids:
    """All pairs of nodes of several lists, each with its nodes at other places; nothing else is in memory whole."""
    joined, at = np.empty((sum(map(len, lists)), 2), dtype=np.int64), 0
    for pairs, place in zip(lists, places, strict=True):
        for start in range(0, len(pairs), _ROWS_AT_ONCE):
            part = pairs[start : start + _ROWS_AT_ONCE].numpy()
            joined[at : at + len(part)] = place[part]
            at += len(part)
    return joined


def _joined_array(arrays: Sequence[NDArray[np.generic]], parts: Sequence[LocalPart], kept: Ids) -> NDArray[np.generic]:
    own = [array[: part.num_own] for array, part in zip(arrays, parts, strict=True)]
    border = np.concatenate([array[part.num_own :] for array, part in zip(arrays, parts, strict=True)])
    return np.concatenate([*own, border[kept]])


def _joined_rows(parts: Sequence[LocalPart], kept: Ids) -> Table:
    if not sp.issparse(parts[0].x):
        return _joined_array([cast("NDArray[np.generic]", part.x) for part in parts], parts, kept)
    own = [part.x[: part.num_own] for part in parts]
    border = sp.csr_array(sp.vstack([part.x[part.num_own :] for part in parts], format="csr"))
    return sp.csr_array(sp.vstack([*own, border[kept]], format="csr"))


def _without(others: Ids, carried: Ids, n: int, directed: bool) -> Ids:
    """Edges that other parts carry, each once, without those that turn out to be carried here."""

    def keys_of(pairs: Ids) -> Ids:
        first, second = (pairs if directed else np.sort(pairs, axis=1)).T  # parts have an edge either way round
        return pair_keys(first, second, n)

    keys, first = np.unique(keys_of(others), return_index=True)
    away = np.ones(len(keys), dtype=bool)
    for start in range(0, len(carried) if len(keys) else 0, _ROWS_AT_ONCE):
        here = keys_of(carried[start : start + _ROWS_AT_ONCE])
        at = np.searchsorted(keys, here).clip(max=len(keys) - 1)
        away[at[keys[at] == here]] = False
    return others[first[away]]
