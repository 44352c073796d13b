"""What a run keeps of its nodes for those who look at it later: predictions, hidden vectors and edges.

A report needs no data but this. Up to `MOST` nodes are kept: the labelled ones, then their neighbours, then theirs, so
that what is kept of a large graph hangs together.

evidence/evidence.json   how many nodes and edges there were, and how many are kept
evidence/nodes.parquet   a row per kept node: row, role, label, predicted, probability, margin, id, text; several
                         labels are a JSON list
evidence/hidden.npy      (n, d) h after training
evidence/before.npy      (n, d) h before training
evidence/edges.npy       (m, 2) edges between kept nodes, by their places in nodes.parquet
evidence/weight.npy      (m,) their weights
evidence/graph.npy       (m,) which graph they are of
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngm._arguments import reason
from ngm.graph import Graph
from ngm.io.files import DAMAGED, folder_written_whole, write_text
from ngm.io.graph_folder import load_array, save_array
from ngm.io.run_folder import Run

MOST = 20_000  # nodes
FOLDER = "evidence"
LABELED, VALIDATION, UNLABELED = "labelled", "validation", "unlabelled"
_MAX_TEXT_LENGTH = 300  # characters of a text
_ARRAYS = ("hidden", "before", "edges", "weight", "graph")
_COLUMNS = ("row", "role", "label", "predicted", "probability", "margin", "id", "text")


@dataclass(frozen=True, eq=False)
class NodeRecords:
    """The nodes that a run kept, each by its place 0 to n - 1.

    Args:
        row: (n,) number of the node's row in x; -1 for a validation row that was given apart from x.
        role: (n,) "labelled", "validation" (its label was hidden) or "unlabelled".
        label: (n,) the label in words, None where there is none; several labels as `label_set` writes them.
        predicted: (n,) what the network says, in words, likewise.
        probability: (n,) of what it says; NaN for numbers.
        margin: (n,) by how much it is more probable than the next; NaN for numbers.
        hidden: (n, d) h after training.
        before: (n, d) h before training.
        edges: (m, 2) places of the ends.
        weight: (m,) weights.
        graph: (m,) which graph an edge is of.
        num_nodes: Rows of x.
        num_edges: Edges of all graphs.
        ids: (n,) the users' names of the nodes, as text; row numbers where there are none.
        texts: (n,) what the nodes say, shortened, or None.
    """

    row: NDArray[np.int64]
    role: NDArray[np.object_]
    label: NDArray[np.object_]
    predicted: NDArray[np.object_]
    probability: NDArray[np.float64]
    margin: NDArray[np.float64]
    hidden: NDArray[np.float32]
    before: NDArray[np.float32]
    edges: NDArray[np.int64]
    weight: NDArray[np.float32]
    graph: NDArray[np.int64]
    num_nodes: int
    num_edges: int
    ids: NDArray[np.object_] | None = None
    texts: NDArray[np.object_] | None = None

    def __len__(self) -> int:
        """Number of kept nodes."""
        return len(self.row)

    @property
    def whole(self) -> bool:
        """Whether all nodes are kept."""
        return int((self.row >= 0).sum()) == self.num_nodes

    def named(self, ids: ArrayLike | None = None, texts: Sequence[str] | None = None) -> NodeRecords:
        """The same nodes with the users' names for them, and what they say.

        Args:
            ids: (num_nodes,) a name for every row of x.
            texts: A text for every row of x.
        """
        return replace(
            self,
            ids=self.ids if ids is None else self._of_rows(np.asarray(ids, dtype=object), str),
            texts=self.texts if texts is None else self._of_rows(np.array(texts, dtype=object), shortened),
        )

    def _of_rows(self, values: NDArray[np.object_], convert: Callable[[str], str]) -> NDArray[np.object_]:
        out = np.empty(len(self), dtype=object)
        out[:] = [convert(values[row]) if row >= 0 else None for row in self.row.tolist()]
        return out


def shortened(text: str) -> str:
    """The first part of a text, on one line.

    >>> shortened("two   words ")
    'two words'
    """
    line = " ".join(text.split())
    return line if len(line) <= _MAX_TEXT_LENGTH else line[: _MAX_TEXT_LENGTH - 3].rstrip() + "..."


def label_set(names: Sequence[str]) -> str:
    """Several labels as one text, whatever is in their names.

    >>> label_set(["a; b", "c"]), label_set([])
    ('["a; b", "c"]', '[]')
    """
    return json.dumps(list(names), ensure_ascii=False)


def labels_in(text: str) -> list[str]:
    """The labels that `label_set` wrote.

    >>> labels_in('["a; b", "c"]')
    ['a; b', 'c']
    """
    try:
        names = json.loads(text)
    except ValueError:
        names = None
    if not isinstance(names, list):
        raise ValueError(f"a recorded node has the labels {text!r}, which are not a list; train again")
    return [str(name) for name in names]


def writable(text: str) -> str:
    """A text that UTF-8 can hold: half an emoji, which it cannot, is written as its code.

    >>> len(writable("a" + chr(0xD83D)))
    7
    """
    return text.encode("utf-8", "backslashreplace").decode()


def kept_nodes(graphs: Sequence[Graph], first: NDArray[np.bool_], seed: int = 0, most: int = MOST) -> NDArray[np.int64]:
    """(k,) the nodes to keep, in order of their rows: some to begin with, then neighbours, then any.

    Args:
        graphs: Graphs over the same nodes; their direction does not matter here.
        first: (n,) mask of the nodes to begin with.
        seed: Decides between nodes that are equally near.
        most: How many to keep.
    """
    if len(first) <= most:
        return np.arange(len(first))
    rng = np.random.default_rng(seed)
    layers = np.full(len(first), len(first))  # hops from the first nodes
    layers[first] = 0
    for hops in range(1, len(first)):
        if (layers < hops).sum() >= most:
            break
        reached = np.zeros(len(first), dtype=bool)
        for graph in graphs:
            ends = graph.edges.numpy()
            at_front = layers[ends] == hops - 1
            reached[ends[at_front[:, 0], 1]] = True
            reached[ends[at_front[:, 1], 0]] = True
        newly_reached = reached & (layers > hops)
        if not newly_reached.any():
            break
        layers[newly_reached] = hops
    order = np.lexsort((rng.permutation(len(first)), layers))
    return np.sort(order[:most])


def edges_between(
    nodes: NDArray[np.int64], graphs: Sequence[Graph]
) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
    """Edges whose ends are both among some nodes: ((m, 2) places in `nodes`, (m,) weights, (m,) which graph).

    >>> import torch
    >>> graph = Graph(4, torch.tensor([[0, 1], [1, 3], [2, 3]]), torch.tensor([1.0, 2.0, 3.0]))
    >>> [part.tolist() for part in edges_between(np.array([1, 3]), [graph])]
    [[[0, 1]], [2.0], [0]]
    """
    parts = []
    for number, graph in enumerate(graphs):
        place = np.full(graph.num_nodes, -1)
        place[nodes] = np.arange(len(nodes))
        ends = place[graph.edges.numpy()]
        inside = (ends >= 0).all(axis=1)
        parts.append((ends[inside], graph.weight.numpy()[inside], np.full(int(inside.sum()), number)))
    if not parts:
        return np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=np.float32), np.empty(0, dtype=np.int64)
    edges, weight, graph_numbers = (np.concatenate([part[i] for part in parts]) for i in range(3))
    return edges.astype(np.int64), weight.astype(np.float32), graph_numbers.astype(np.int64)


def write_node_records(run: Run, records: NodeRecords) -> None:
    """Writes the folder `evidence` of a run, whole or not at all."""
    from ngm.io.tables import read_table  # DuckDB, which only runs with a folder need
    from ngm.io.tables.ingest import copy_to
    from ngm.io.tables.query import refusals

    with folder_written_whole(run.folder / FOLDER, marker="evidence.json") as part:
        for name in _ARRAYS:
            save_array(part / f"{name}.npy", getattr(records, name))
        columns: dict[str, ArrayLike] = {name: getattr(records, name) for name in _COLUMNS[:-2]}
        empty_column = np.full(len(records), None, dtype=object)
        columns["id"] = empty_column if records.ids is None else records.ids
        columns["text"] = empty_column if records.texts is None else records.texts
        for name in ("label", "predicted", "id", "text"):
            columns[name] = _writable(columns[name])
        table = read_table(columns)
        words = ", ".join(f'"{name}"::VARCHAR AS "{name}"' for name in ("label", "id", "text"))
        rows = f'SELECT "row", role, predicted, probability, margin, {words} {table.sql}'
        with refusals("the table of nodes"):
            table.connection.execute(copy_to(rows, part / "nodes.parquet"))
        counts = {
            "nodes": records.num_nodes,
            "edges": records.num_edges,
            "nodes_kept": len(records),
            "edges_kept": len(records.edges),
        }
        write_text(part / "evidence.json", json.dumps(counts, indent=2) + "\n")


def _writable(values: ArrayLike) -> NDArray[np.object_]:
    out = np.empty(len(words := np.asarray(values, dtype=object).tolist()), dtype=object)
    out[:] = [writable(word) if isinstance(word, str) else word for word in words]
    return out


def read_node_records(run: Run) -> NodeRecords | None:
    """What a run kept of its nodes; None where it kept nothing."""
    from ngm.io.tables import read_table

    folder = run.folder / FOLDER
    if not (folder / "evidence.json").exists():
        return None
    try:
        counts = json.loads((folder / "evidence.json").read_text(encoding="utf-8"))
        arrays = {name: load_array(folder / f"{name}.npy") for name in _ARRAYS}
        table = read_table(folder / "nodes.parquet")
        columns = {name: _as(name, table.column(name)) for name in _COLUMNS}
        text_columns = [columns.pop(name).astype(object) for name in ("id", "text")]
        ids, texts = (None if all(value is None for value in found.tolist()) else found for found in text_columns)
        found = NodeRecords(
            **columns,  # type: ignore[arg-type]
            **arrays,  # type: ignore[arg-type]
            num_nodes=int(counts["nodes"]),
            num_edges=int(counts["edges"]),
            ids=ids,
            texts=texts,
        )
        _check(found)
    except DAMAGED as error:
        raise ValueError(f"{folder} is damaged ({reason(error)}); train again") from None
    return found


def _check(records: NodeRecords) -> None:
    """Refuses arrays that do not belong together."""
    n, m = len(records), len(records.edges)
    for name, rows in (("hidden", n), ("before", n), ("edges", m), ("weight", m), ("graph", m)):
        array = getattr(records, name)
        if array.ndim != (1 if name in ("weight", "graph") else 2) or len(array) != rows:
            raise ValueError(f"{name}.npy has shape {array.shape} for {n} nodes and {m} edges")
        if array.dtype.kind != ("i" if name in ("edges", "graph") else "f"):
            raise ValueError(f"{name}.npy holds {array.dtype}")
        if not np.isfinite(array).all():
            raise ValueError(f"{name}.npy holds NaN or infinity")
    if m and records.edges.shape[1] != 2:
        raise ValueError(f"edges.npy has shape {records.edges.shape} for {m} edges")
    outside = records.edges[(records.edges < 0) | (records.edges >= n)]
    if len(outside):
        raise ValueError(f"edges.npy names node {outside[0]} of {n}")


def _as(name: str, values: NDArray[np.generic]) -> NDArray[np.generic]:
    kinds: dict[str, type] = {"row": np.int64, "probability": np.float64, "margin": np.float64}
    return values.astype(kinds.get(name, object))
