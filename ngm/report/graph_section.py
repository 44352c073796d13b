"""The graph: how many edges nodes have, and whether it knows anything of the labels (`ngm.diagnose`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from ngm.diagnosis import Diagnosis, diagnose
from ngm.diagnosis.advice import advise
from ngm.diagnosis.records import Place
from ngm.graph import Graph
from ngm.io.node_records import LABELED, NodeRecords
from ngm.io.run_folder import JSON
from ngm.report.class_names import label_text, shorten_name
from ngm.report.errors_section import label_indicators
from ngm.report.page import Figure, ReportTable, Section
from ngm.report.plotting import BLUE, axis, count
from ngm.report.run_reader import RunData, ids_of

KEY, TITLE = "graph", "Is the graph any good?"
_MAX_PAIRS = 20
_VERDICTS = {"helps": "good", "hurts": "bad", "unclear": "open"}
_VERDICT_TEXTS = {
    "helps": "It should help",
    "hurts": "It will hurt",
    "unclear": "The training labels are not enough to tell",
}


def graph_section(run: RunData) -> Section:
    """Degrees for all; a diagnosis where classes or labels are predicted."""
    records = graph_nodes(run.nodes)
    if not len(records.edges):
        return Section(KEY, TITLE, "There is no graph, or none of its edges joins recorded nodes.")
    graph = records_graph(records)
    figures, hubs = [_degrees(graph)], _hubs(graph, records, run.task)
    degree = graph.degree.numpy()
    sizes = (
        f"{count(graph.num_nodes, 'node')}, {count(graph.num_edges, 'edge')}: a median of {np.median(degree):.0f} "
        f"edges at a node, {degree.max():,} at most; {count(int((degree == 0).sum()), 'node')} without any."
    )
    if run.task == "numbers":
        note = "Agreement of edges with numbers is not measured; see the distances across edges above."
        return Section(KEY, TITLE, sizes, [note, *_notes(records)], figures, [hubs])
    diagnosis = _with_input_rows(diagnose(graph, _training_labels(run, records)), records)
    reasons, advised = (
        [_shorten_names(text, run.classes) for text in texts] for texts in (diagnosis.reasons, diagnosis.advice)
    )
    notes = [*(_sentence(reason) for reason in reasons), *(f"Advice: {advice}." for advice in advised)]
    pairs = [table for table in (_pairs(diagnosis),) if table is not None]
    answer = f"{_VERDICT_TEXTS[diagnosis.verdict]}, by the training labels: {reasons[0]}. {sizes}"
    verdict = _VERDICTS[diagnosis.verdict]
    notes = [*notes[1:], *_names_of_rows(diagnosis, records), *_notes(records)]
    return Section(KEY, TITLE, answer, notes, figures, [*pairs, hubs], verdict=verdict)


def graph_nodes(records: NodeRecords) -> NodeRecords:
    """The node records without separate validation rows, which are in no graph."""
    node = records.row >= 0
    if node.all():
        return records
    new_index = np.cumsum(node) - 1
    per_node_fields = ("row", "role", "label", "predicted", "probability", "margin", "hidden", "before")
    columns = {name: getattr(records, name)[node] for name in per_node_fields}
    ids = None if records.ids is None else records.ids[node]
    texts = None if records.texts is None else records.texts[node]
    return replace(records, **columns, ids=ids, texts=texts, edges=new_index[records.edges])


def _with_input_rows(diagnosis: Diagnosis, records: NodeRecords) -> Diagnosis:
    """Replaces indices of node records by rows of x, in figures and advice."""

    def as_input_rows(places: tuple[Place, ...]) -> tuple[Place, ...]:
        return tuple(Place(int(records.row[place.row]), place.count) for place in places)

    old = diagnosis.shape
    shape = replace(
        old,
        isolated_seed_rows=tuple(int(records.row[index]) for index in old.isolated_seed_rows),
        unseeded_places=as_input_rows(old.unseeded_places),
        hubs=as_input_rows(old.hubs),
    )
    renamed = replace(diagnosis, shape=shape)
    return replace(renamed, advice=advise(renamed))


def _names_of_rows(diagnosis: Diagnosis, records: NodeRecords) -> list[str]:
    """Ids of the rows that the advice mentions."""
    if records.ids is None:
        return []
    index = {row: i for i, row in enumerate(records.row.tolist())}
    mentioned = {int(number) for advice in diagnosis.advice for number in re.findall(r"\d+", _row_numbers(advice))}
    id_texts = [f"row {row} is {records.ids[index[row]]}" for row in sorted(mentioned) if row in index]
    return [f"By their ids: {', '.join(id_texts)}."] if id_texts else []


def _row_numbers(advice: str) -> str:
    """The row numbers in an advice: what follows `row` or `rows`."""
    return " ".join(re.findall(r"\brows? (\d+(?:, \d+)*)", advice))


def records_graph(records: NodeRecords) -> Graph:
    """All edges between kept nodes as one undirected graph; a pair in several graphs is one edge."""
    return Graph.from_edges(torch.from_numpy(records.edges), torch.from_numpy(records.weight), num_nodes=len(records))


def _training_labels(run: RunData, records: NodeRecords) -> NDArray[np.generic]:
    """Training labels in the form that `diagnose` expects."""
    trained = records.role == LABELED
    if run.task == "classes":
        return np.array([label if on else None for label, on in zip(records.label, trained, strict=True)], dtype=object)
    label_sets = [
        str(label) if on else "[]" for label, on in zip(records.label.tolist(), trained.tolist(), strict=True)
    ]
    return np.where(trained[:, None], label_indicators(label_sets, run.classes), -1)


def _shorten_names(text: str, names: Sequence[str]) -> str:
    """A sentence with long names of classes cut."""
    for name in names:
        text = text.replace(name, shorten_name(name)) if shorten_name(name) != name else text
    return text


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _notes(records: NodeRecords) -> list[str]:
    notes = []
    if not records.whole:
        notes.append(f"This is about the {len(records):,} nodes that were kept; edges to others are not counted.")
    if len(graphs := np.unique(records.graph)) > 1:
        counts = ", ".join(f"{int((records.graph == g).sum()):,} of graph {g}" for g in graphs.tolist())
        notes.append(f"The {len(graphs)} graphs are taken together here: edges {counts}.")
    return notes


def _degrees(graph: Graph) -> Figure:
    degree = graph.degree.numpy()
    low, high = int(degree.min()), int(degree.max())
    if high - low < 40:
        bins = [(d, d) for d in range(low, high + 1)]
    else:  # they double
        starts = [0, *(2**i for i in range(high.bit_length()))]
        bins = [(a, b - 1) for a, b in zip(starts, [*starts[1:], 2 ** high.bit_length()], strict=True)]
    names = [f"{a:,}" if a == b else f"{a:,} to {b:,}" for a, b in bins]
    counts = [int(((degree >= a) & (degree <= b)).sum()) for a, b in bins]
    bars: dict[str, JSON] = {"type": "bar", "name": "nodes", "x": list(names), "y": list(counts)}
    bars["marker"] = {"color": BLUE}
    most_common = sorted(zip(counts, names, strict=True), key=lambda pair: -pair[0])[:5]
    alt = "Nodes by number of edges; most have " + ", ".join(
        f"{name} ({number:,} nodes)" for number, name in most_common
    )
    x: dict[str, JSON] = {"type": "category"}
    layout: dict[str, JSON] = {"xaxis": axis("edges at a node", x), "yaxis": axis("nodes"), "height": 320}
    return Figure("degrees", "Nodes by number of edges", alt + ".", [bars], layout)


def _hubs(graph: Graph, records: NodeRecords, task: str) -> ReportTable:
    degree, ids = graph.degree.numpy(), ids_of(records)
    top = np.argsort(-degree, kind="stable")[:10].tolist()
    rows = [
        [ids[i], int(degree[i]), label_text(records.label[i], task), label_text(records.predicted[i], task)]
        for i in top
    ]
    return ReportTable("hubs", "Nodes with most edges", ("id", "edges", "label", "predicted"), rows)


def _pairs(diagnosis: Diagnosis) -> ReportTable | None:
    """Labelled edges by pair of classes, against chance."""
    if diagnosis.agreement is None:
        return None
    edges = max(diagnosis.agreement.edges, 1)
    rows: list[Sequence[str | int | float | None]] = [
        [p.first, p.second, p.edges, f"{p.edges / edges:.1%}", f"{p.expected / edges:.1%}"]
        for p in diagnosis.agreement.pairs[:_MAX_PAIRS]
    ]
    limit_text = f", the {_MAX_PAIRS} with most" if len(diagnosis.agreement.pairs) > _MAX_PAIRS else ""
    columns = ("one end", "other end", "edges", "share", "by chance")
    return ReportTable("pairs", f"Labelled edges by pair of classes{limit_text}", columns, rows)
