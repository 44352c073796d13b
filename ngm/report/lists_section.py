"""Lists to work through: the most expensive edges, and the nodes to label next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from ngm.graph import Graph
from ngm.io.node_records import LABELED, UNLABELED, Evidence
from ngm.report.class_names import brief, spoken
from ngm.report.distances_section import KINDS, distance_of, distances
from ngm.report.graph_section import kept_graph
from ngm.report.page import Section, Shown
from ngm.report.plotting import count, shown_text
from ngm.report.run_reader import Told, edge_kinds, ids_of

SHOWN, TAKEN = 50, 1_000  # rows on the page, rows in the download
EDGES_KEY, EDGES_TITLE = "edges", "Which edges cost most?"
NEXT_KEY, NEXT_TITLE = "next", "What to label next?"
_AT_ONCE = 1_024  # nodes
_MARGIN = "The margin is by how much the best class is more probable than the second"
_MARGIN_OF_LABELS = "The margin is how far the least certain label of a node is from one half, from 0 to 1"
_APART = "A node joined to one further up is left out, since one label tells of both."
Cell = str | int | float | None


def edges_section(told: Told) -> Section:
    """The edges with the largest weight times distance: candidates for errors in the graph."""
    kept = told.nodes
    if not len(kept.edges):
        return Section(EDGES_KEY, EDGES_TITLE, "There is no edge between kept nodes.")
    name, notes = distance_of(told)
    apart = distances(kept.hidden, kept.edges, name)
    cost = kept.weight.astype(np.float64) * apart
    if not cost.max() > 0:
        answer = "None costs anything: the two ends of every edge have the same hidden vector."
        return Section(EDGES_KEY, EDGES_TITLE, answer, notes)
    top = np.argsort(-cost, kind="stable")[:TAKEN]
    first, dearest = int(top[0]), np.sort(cost)[-max(1, len(cost) // 100) :]
    u, v = (ids_of(kept)[end] for end in kept.edges[first].tolist())
    answer = (
        f"The most expensive edge joins nodes {u} and {v} (weight {kept.weight[first]:.3g}, distance "
        f"{apart[first]:.3g}); the dearest 1 % of {count(len(cost), 'edge')} make up "
        f"{dearest.sum() / cost.sum():.0%} of all cost."
    )
    if told.task != "numbers":
        ends = kept.predicted[kept.edges[top[:SHOWN]]]  # (50, 2)
        disagree = int((ends[:, 0] != ends[:, 1]).sum())
        answer += f" In {disagree} of the {len(ends)} below the network takes the two ends for different."
    notes.append(
        "Such edges are worth a look: they may be wrong, or join what only seems alike. Cost is weight times distance."
    )
    return Section(EDGES_KEY, EDGES_TITLE, answer, notes, tables=[_edges_table(told, name, top, cost, apart)])


def _edges_table(
    told: Told, name: str, top: NDArray[np.int64], cost: NDArray[np.float64], apart: NDArray[np.float64]
) -> Shown:
    """What tells most comes first, since the table is wide: the texts of both ends before the figures."""
    kept = told.nodes
    ids, kinds, several = ids_of(kept), edge_kinds(kept), len(np.unique(kept.graph)) > 1
    columns = ["u", "v", "cost", *_both("predicted")] + ([] if kept.texts is None else _both("text"))
    columns += [*_both("label"), "kind", "weight", f"distance ({name})"] + (["graph"] if several else [])
    rows: list[list[Cell]] = []
    for edge in top.tolist():
        ends = kept.edges[edge].tolist()
        price, weight, length = (float(f"{x:.5g}") for x in (cost[edge], kept.weight[edge], apart[edge]))
        row: list[Cell] = [*(ids[i] for i in ends), price, *(spoken(kept.predicted[i], told.task) for i in ends)]
        row += [text for i in ends for text in _text(kept, i)]
        row += [*(spoken(kept.label[i], told.task) for i in ends), KINDS[kinds[edge]], weight, length]
        rows.append(row + ([int(kept.graph[edge])] if several else []))
    caption = "Most expensive edges, from u to v"
    return Shown("expensive", caption, columns, rows[:SHOWN], 4, "expensive-edges.csv", rows[SHOWN:])


def _both(what: str) -> list[str]:
    return [f"u {what}", f"v {what}"]


def next_section(told: Told) -> Section:
    """Unlabelled nodes that the network is least sure of; of numbers, those least like any labelled one."""
    kept = told.nodes
    if not (kept.role == UNLABELED).any():
        return Section(NEXT_KEY, NEXT_TITLE, "All kept nodes have a label: there is none to ask for.")
    numbers = told.task == "numbers"
    order = np.argsort(-_far_from_labels(kept) if numbers else kept.margin, kind="stable")
    candidates = order[(kept.role == UNLABELED)[order]]
    chosen = spread_out(candidates, kept_graph(kept), TAKEN)
    if numbers:
        return _next_numbers(kept, chosen)
    ids = ids_of(kept)
    rows: list[list[Cell]] = [
        [
            ids[i],
            spoken(kept.predicted[i], told.task),
            round(float(kept.probability[i]), 4),
            round(float(kept.margin[i]), 4),
            *_text(kept, i),
        ]
        for i in chosen
    ]
    unsure = int((kept.margin[kept.role == UNLABELED] < 0.1).sum())
    answer = (
        f"Start with node {rows[0][0]}: the network says {_said(rows[0][1])}, with a margin of {rows[0][3]:.3f}. Of "
        f"{count(int((kept.role == UNLABELED).sum()), 'unlabelled node')} {unsure:,} have a margin below 0.1."
    )
    margin = _MARGIN_OF_LABELS if told.task == "labels" else _MARGIN
    notes = [f"{margin}: where it is small, a label settles what the network does not know yet. {_APART}"]
    columns = ["id", "predicted", "probability", "margin"] + ([] if kept.texts is None else ["text"])
    table = Shown("uncertain", "Least certain nodes", columns, rows[:SHOWN], 3, "label-next.csv", rows[SHOWN:])
    return Section(NEXT_KEY, NEXT_TITLE, answer, notes, tables=[table])


def _text(kept: Evidence, node: int) -> list[Cell]:
    return [] if kept.texts is None else [shown_text(kept.texts[node])]


def _said(words: Cell) -> str:
    return brief(words) or "no label"


def _next_numbers(kept: Evidence, chosen: Sequence[int]) -> Section:
    far, ids = _far_from_labels(kept), ids_of(kept)
    rows: list[list[Cell]] = [[ids[i], str(kept.predicted[i]), float(f"{far[i]:.4g}"), *_text(kept, i)] for i in chosen]
    away = f"{rows[0][2]:.3g} away from the nearest"
    answer = f"Start with node {rows[0][0]}, which is least like any labelled node: {away} (l2 of h)."
    note = (
        "Numbers come without a margin, so these are the nodes whose hidden vector is furthest from all labelled ones."
    )
    columns = ["id", "predicted", "distance"] + ([] if kept.texts is None else ["text"])
    table = Shown("uncertain", "Least like any labelled node", columns, rows[:SHOWN], 3, "label-next.csv", rows[SHOWN:])
    return Section(NEXT_KEY, NEXT_TITLE, answer, [note], tables=[table])


def _far_from_labels(kept: Evidence) -> NDArray[np.float64]:
    """(n,) l2 distance of h to the nearest node that was trained on."""
    h = torch.from_numpy(np.ascontiguousarray(kept.hidden)).double()
    labeled = h[torch.from_numpy(kept.role == LABELED)]
    far = [torch.cdist(part, labeled).min(dim=1).values for part in torch.split(h, _AT_ONCE)]
    found: NDArray[np.float64] = torch.cat(far).numpy()
    return found


def spread_out(candidates: NDArray[np.int64], graph: Graph, most: int) -> list[int]:
    """The first candidates in order, without those that are joined to one before them.

    >>> graph = Graph.from_edges([[0, 1], [1, 2]], num_nodes=4)
    >>> spread_out(np.array([1, 0, 3, 2]), graph, 3)
    [1, 3]
    """
    chosen: list[int] = []
    near: set[int] = set()
    for node in candidates.tolist():
        if node not in near:
            chosen.append(node)
            near.update(graph.neighbors(node).tolist())
            if len(chosen) == most:
                break
    return chosen
