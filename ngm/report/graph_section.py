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
from ngm.io.node_records import LABELED, Evidence
from ngm.io.run_folder import JSON
from ngm.report.class_names import brief, spoken
from ngm.report.errors_section import zeros_and_ones
from ngm.report.page import Figure, Section, Shown
from ngm.report.plotting import BLUE, axis, count
from ngm.report.run_reader import Told, ids_of

KEY, TITLE = "graph", "Is the graph any good?"
_PAIRS = 20
_VERDICTS = {"helps": "good", "hurts": "bad", "unclear": "open"}
_SAID = {
    "helps": "It should help",
    "hurts": "It will hurt",
    "unclear": "The training labels alone do not tell",
}


def graph_section(told: Told) -> Section:
    """Degrees for all; a diagnosis where classes or labels are predicted."""
    kept = only_nodes(told.nodes)
    if not len(kept.edges):
        return Section(KEY, TITLE, "There is no graph, or none of its edges joins kept nodes.")
    graph = kept_graph(kept)
    figures, hubs = [_degrees(graph)], _hubs(graph, kept, told.task)
    degree = graph.degree.numpy()
    sizes = (
        f"{count(graph.num_nodes, 'node')}, {count(graph.num_edges, 'edge')}: a median of {np.median(degree):.0f} "
        f"edges at a node, {degree.max():,} at most; {count(int((degree == 0).sum()), 'node')} without any."
    )
    if told.task == "numbers":
        note = "Whether edges agree with numbers is not judged here; the distances across edges above tell."
        return Section(KEY, TITLE, sizes, [note, *_notes(kept)], figures, [hubs])
    found = _by_row(diagnose(graph, _training_labels(told, kept)), kept)
    reasons, advised = ([_cut(words, told.classes) for words in said] for said in (found.reasons, found.advice))
    notes = [*(_sentence(reason) for reason in reasons), *(f"Advice: {advice}." for advice in advised)]
    pairs = [table for table in (_pairs(found),) if table is not None]
    answer = f"{_SAID[found.verdict]}, by the training labels: {reasons[0]}. {sizes}"
    verdict = _VERDICTS[found.verdict]
    notes = [*notes[1:], *_names_of_rows(found, kept), *_notes(kept)]
    return Section(KEY, TITLE, answer, notes, figures, [*pairs, hubs], verdict=verdict)


def only_nodes(kept: Evidence) -> Evidence:
    """The kept nodes without the validation rows that were given apart: these are in no graph."""
    node = kept.row >= 0
    if node.all():
        return kept
    place = np.cumsum(node) - 1
    each = ("row", "role", "label", "predicted", "probability", "margin", "hidden", "before")
    columns = {name: getattr(kept, name)[node] for name in each}
    ids = None if kept.ids is None else kept.ids[node]
    texts = None if kept.texts is None else kept.texts[node]
    return replace(kept, **columns, ids=ids, texts=texts, edges=place[kept.edges])


def _by_row(found: Diagnosis, kept: Evidence) -> Diagnosis:
    """With rows of x for places among the kept nodes, in figures and advice."""

    def places(old: tuple[Place, ...]) -> tuple[Place, ...]:
        return tuple(Place(int(kept.row[place.row]), place.count) for place in old)

    old = found.shape
    seeds = tuple(int(kept.row[place]) for place in old.isolated_seed_rows)
    shape = replace(old, isolated_seed_rows=seeds, unseeded_places=places(old.unseeded_places), hubs=places(old.hubs))
    named = replace(found, shape=shape)
    return replace(named, advice=advise(named))


def _names_of_rows(found: Diagnosis, kept: Evidence) -> list[str]:
    """What the users call the rows that the advice names."""
    if kept.ids is None:
        return []
    place = {row: i for i, row in enumerate(kept.row.tolist())}
    said = {int(number) for advice in found.advice for number in re.findall(r"\d+", _rows_said(advice))}
    named = [f"row {row} is {kept.ids[place[row]]}" for row in sorted(said) if row in place]
    return [f"By their ids: {', '.join(named)}."] if named else []


def _rows_said(advice: str) -> str:
    """The part of an advice that names rows: after `row` or `rows`, numbers and commas."""
    return " ".join(re.findall(r"\brows? (\d+(?:, \d+)*)", advice))


def kept_graph(kept: Evidence) -> Graph:
    """All edges between kept nodes as one undirected graph; a pair in several graphs is one edge."""
    return Graph.from_edges(torch.from_numpy(kept.edges), torch.from_numpy(kept.weight), num_nodes=len(kept))


def _training_labels(told: Told, kept: Evidence) -> NDArray[np.generic]:
    """Labels that training saw, as `diagnose` takes them."""
    trained = kept.role == LABELED
    if told.task == "classes":
        return np.array([label if on else None for label, on in zip(kept.label, trained, strict=True)], dtype=object)
    words = [str(label) if on else "[]" for label, on in zip(kept.label.tolist(), trained.tolist(), strict=True)]
    return np.where(trained[:, None], zeros_and_ones(words, told.classes), -1)


def _cut(words: str, names: Sequence[str]) -> str:
    """A sentence with long names of classes cut."""
    for name in names:
        words = words.replace(name, brief(name)) if brief(name) != name else words
    return words


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:] + "."


def _notes(kept: Evidence) -> list[str]:
    notes = []
    if not kept.whole:
        notes.append(f"This is about the {len(kept):,} nodes that were kept; edges to others are not counted.")
    if len(graphs := np.unique(kept.graph)) > 1:
        parts = ", ".join(f"{int((kept.graph == g).sum()):,} of graph {g}" for g in graphs.tolist())
        notes.append(f"The {len(graphs)} graphs are taken together here: edges {parts}.")
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
    most = sorted(zip(counts, names, strict=True), key=lambda pair: -pair[0])[:5]
    alt = "Nodes by number of edges; most have " + ", ".join(f"{name} ({number:,} nodes)" for number, name in most)
    x: dict[str, JSON] = {"type": "category"}
    layout: dict[str, JSON] = {"xaxis": axis("edges at a node", x), "yaxis": axis("nodes"), "height": 320}
    return Figure("degrees", "Nodes by number of edges", alt + ".", [bars], layout)


def _hubs(graph: Graph, kept: Evidence, task: str) -> Shown:
    degree, ids = graph.degree.numpy(), ids_of(kept)
    top = np.argsort(-degree, kind="stable")[:10].tolist()
    rows = [[ids[i], int(degree[i]), spoken(kept.label[i], task), spoken(kept.predicted[i], task)] for i in top]
    return Shown("hubs", "Nodes with most edges", ("id", "edges", "label", "predicted"), rows)


def _pairs(found: Diagnosis) -> Shown | None:
    """Labelled edges by pair of classes, against chance."""
    if found.agreement is None:
        return None
    edges = max(found.agreement.edges, 1)
    rows: list[Sequence[str | int | float | None]] = [
        [p.first, p.second, p.edges, f"{p.edges / edges:.1%}", f"{p.expected / edges:.1%}"]
        for p in found.agreement.pairs[:_PAIRS]
    ]
    more = f", the {_PAIRS} with most" if len(found.agreement.pairs) > _PAIRS else ""
    columns = ("one end", "other end", "edges", "share", "by chance")
    return Shown("pairs", f"Labelled edges by pair of classes{more}", columns, rows)
