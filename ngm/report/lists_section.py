"""Lists to work through: the most expensive edges, and the nodes to label next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from ngm.graph import Graph
from ngm.io.node_records import LABELED, UNLABELED, NodeRecords
from ngm.report.class_names import label_text, shorten_name
from ngm.report.distances_section import KINDS, distance_of, distances
from ngm.report.graph_section import records_graph
from ngm.report.page import Cell, ReportTable, Section
from ngm.report.plotting import count, shorten_text
from ngm.report.run_reader import RunData, edge_kinds, ids_of

MAX_SHOWN, MAX_DOWNLOADED = 50, 1_000  # rows on the page, rows in the download
EDGES_KEY, EDGES_TITLE = "edges", "Which edges cost most?"
NEXT_KEY, NEXT_TITLE = "next", "What to label next?"
_CHUNK_NODES = 1_024  # nodes
_MARGIN_NOTE = "The margin is by how much the best class is more probable than the second"
_LABEL_SETS_MARGIN_NOTE = "The margin is how far the least certain label of a node is from one half, from 0 to 1"
_SKIPPED_NOTE = "A node joined to one further up is left out, since one label serves both."


def edges_section(run: RunData) -> Section:
    """The edges with the largest weight times distance: candidates for errors in the graph."""
    records = run.nodes
    if not len(records.edges):
        return Section(EDGES_KEY, EDGES_TITLE, "There is no edge between recorded nodes.")
    name, notes = distance_of(run)
    distance = distances(records.hidden, records.edges, name)
    cost = records.weight.astype(np.float64) * distance
    if not cost.max() > 0:
        answer = "None costs anything: the two ends of every edge have the same hidden vector."
        return Section(EDGES_KEY, EDGES_TITLE, answer, notes)
    top = np.argsort(-cost, kind="stable")[:MAX_DOWNLOADED]
    top_edge, top_costs = int(top[0]), np.sort(cost)[-max(1, len(cost) // 100) :]
    u, v = (ids_of(records)[node] for node in records.edges[top_edge].tolist())
    answer = (
        f"The most expensive edge joins nodes {u} and {v} (weight {records.weight[top_edge]:.3g}, distance "
        f"{distance[top_edge]:.3g}); the dearest 1 % of {count(len(cost), 'edge')} make up "
        f"{top_costs.sum() / cost.sum():.0%} of all cost."
    )
    if run.task != "numbers":
        ends = records.predicted[records.edges[top[:MAX_SHOWN]]]  # (50, 2)
        disagree = int((ends[:, 0] != ends[:, 1]).sum())
        answer += f" In {disagree} of the {len(ends)} below the two ends have different predictions."
    notes.append(
        "Such edges are worth a look: they may be wrong, or join what only seems alike. Cost is weight times distance."
    )
    return Section(EDGES_KEY, EDGES_TITLE, answer, notes, tables=[_edges_table(run, name, top, cost, distance)])


def _edges_table(
    run: RunData, name: str, top: NDArray[np.int64], cost: NDArray[np.float64], distance: NDArray[np.float64]
) -> ReportTable:
    """The most useful columns come first, since the table is wide: texts before figures."""
    records = run.nodes
    ids, kinds, several = ids_of(records), edge_kinds(records), len(np.unique(records.graph)) > 1
    columns = ["u", "v", "cost", *_both("predicted")] + ([] if records.texts is None else _both("text"))
    columns += [*_both("label"), "kind", "weight", f"distance ({name})"] + (["graph"] if several else [])
    rows: list[list[Cell]] = []
    for edge in top.tolist():
        ends = records.edges[edge].tolist()
        price, weight, length = (float(f"{x:.5g}") for x in (cost[edge], records.weight[edge], distance[edge]))
        row: list[Cell] = [*(ids[i] for i in ends), price, *(label_text(records.predicted[i], run.task) for i in ends)]
        row += [text for i in ends for text in _text(records, i)]
        row += [*(label_text(records.label[i], run.task) for i in ends), KINDS[kinds[edge]], weight, length]
        rows.append(row + ([int(records.graph[edge])] if several else []))
    caption = "Most expensive edges, from u to v"
    return ReportTable("expensive", caption, columns, rows[:MAX_SHOWN], 4, "expensive-edges.csv", rows[MAX_SHOWN:])


def _both(name: str) -> list[str]:
    return [f"u {name}", f"v {name}"]


def label_next_section(run: RunData) -> Section:
    """Unlabelled nodes that the network is least sure of; of numbers, those least like any labelled one."""
    records = run.nodes
    if not (records.role == UNLABELED).any():
        return Section(NEXT_KEY, NEXT_TITLE, "All recorded nodes have a label: there is none left to label.")
    numbers = run.task == "numbers"
    order = np.argsort(-_distance_to_labeled(records) if numbers else records.margin, kind="stable")
    candidates = order[(records.role == UNLABELED)[order]]
    selected = skip_neighbors(candidates, records_graph(records), MAX_DOWNLOADED)
    if numbers:
        return _next_numbers(records, selected)
    ids = ids_of(records)
    rows: list[list[Cell]] = [
        [
            ids[i],
            label_text(records.predicted[i], run.task),
            round(float(records.probability[i]), 4),
            round(float(records.margin[i]), 4),
            *_text(records, i),
        ]
        for i in selected
    ]
    unsure = int((records.margin[records.role == UNLABELED] < 0.1).sum())
    answer = (
        f"Start with node {rows[0][0]}: the network says {_label_or_none(rows[0][1])}, with a margin of "
        f"{rows[0][3]:.3f}. Of {count(int((records.role == UNLABELED).sum()), 'unlabelled node')} {unsure:,} have a "
        "margin below 0.1."
    )
    margin = _LABEL_SETS_MARGIN_NOTE if run.task == "labels" else _MARGIN_NOTE
    notes = [f"{margin}: where it is small, a label settles what the network does not know yet. {_SKIPPED_NOTE}"]
    columns = ["id", "predicted", "probability", "margin"] + ([] if records.texts is None else ["text"])
    table = ReportTable(
        "uncertain", "Least certain nodes", columns, rows[:MAX_SHOWN], 3, "label-next.csv", rows[MAX_SHOWN:]
    )
    return Section(NEXT_KEY, NEXT_TITLE, answer, notes, tables=[table])


def _text(records: NodeRecords, node: int) -> list[Cell]:
    return [] if records.texts is None else [shorten_text(records.texts[node])]


def _label_or_none(cell: Cell) -> str:
    return shorten_name(cell) or "no label"


def _next_numbers(records: NodeRecords, selected: Sequence[int]) -> Section:
    distance, ids = _distance_to_labeled(records), ids_of(records)
    rows: list[list[Cell]] = [
        [ids[i], str(records.predicted[i]), float(f"{distance[i]:.4g}"), *_text(records, i)] for i in selected
    ]
    distance_text = f"{rows[0][2]:.3g} away from the nearest"
    answer = f"Start with node {rows[0][0]}, which is least like any labelled node: {distance_text} (l2 of h)."
    note = (
        "Numbers come without a margin, so these are the nodes whose hidden vector is furthest from all labelled ones."
    )
    columns = ["id", "predicted", "distance"] + ([] if records.texts is None else ["text"])
    table = ReportTable(
        "uncertain", "Least like any labelled node", columns, rows[:MAX_SHOWN], 3, "label-next.csv", rows[MAX_SHOWN:]
    )
    return Section(NEXT_KEY, NEXT_TITLE, answer, [note], tables=[table])


def _distance_to_labeled(records: NodeRecords) -> NDArray[np.float64]:
    """(n,) l2 distance of h to the nearest node that was trained on."""
    h = torch.from_numpy(np.ascontiguousarray(records.hidden)).double()
    labeled = h[torch.from_numpy(records.role == LABELED)]
    nearest = [torch.cdist(chunk, labeled).min(dim=1).values for chunk in torch.split(h, _CHUNK_NODES)]
    result: NDArray[np.float64] = torch.cat(nearest).numpy()
    return result


def skip_neighbors(candidates: NDArray[np.int64], graph: Graph, max_nodes: int) -> list[int]:
    """The first candidates in order, without those that are joined to one before them.

    >>> graph = Graph.from_edges([[0, 1], [1, 2]], num_nodes=4)
    >>> skip_neighbors(np.array([1, 0, 3, 2]), graph, 3)
    [1, 3]
    """
    selected: list[int] = []
    excluded: set[int] = set()
    for node in candidates.tolist():
        if node not in excluded:
            selected.append(node)
            excluded.update(graph.neighbors(node).tolist())
            if len(selected) == max_nodes:
                break
    return selected
