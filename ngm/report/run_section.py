"""What was run: data, graph, settings, versions, and why it stopped."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import cast

from ngm.io.node_records import Evidence
from ngm.io.run_folder import JSON
from ngm.report.page import Section, Shown
from ngm.report.plotting import as_float, as_int, count
from ngm.report.run_reader import Told

KEY, TITLE = "run", "What was run?"
NOT_COMPARED = ("folder", "resume")
Cell = str | int | float | None


def ran_section(told: Told) -> Section:
    """Answers with the sizes; tables of facts and settings."""
    metrics = told.metrics
    network = str(told.settings.get("network"))
    epochs, best = as_int(metrics["epochs"]), as_int(metrics["best_epoch"])
    answer = (
        f"{told.estimator} with the network {network} and the recipe {told.settings.get('recipe')}, {_data(told)}; "
        f"{count(epochs, 'epoch')} in {as_float(metrics['seconds']):.1f} seconds, stopped because "
        f"{_stopped(str(metrics['stopped']))}; epoch {best + 1} is kept."
    )
    facts = Shown("facts", "The run", ("what", "value"), [[name, _written(value)] for name, value in _facts(told)])
    changed, every = _settings(told)
    columns = ("setting", "given", "default", "used")
    tables = [facts, Shown("settings", f"All {len(every)} settings", columns, every)]
    if changed:
        tables.insert(1, Shown("changed", "Settings that differ from the defaults", columns, changed))
    notes = [] if changed else ["All settings are the defaults."]
    return Section(KEY, TITLE, answer, [*notes, *_notes(told)], tables=tables)


def _written(value: Cell) -> Cell:
    return f"{value:,}" if isinstance(value, int) else value


def _stopped(why: str) -> str:
    words = {
        "all epochs done": "all epochs were done",
        "no improvement": "validation no longer improved",
        "interrupted": "it was interrupted",
    }
    return words.get(why, why)


def _data(told: Told) -> str:
    labeled = told.num_labeled
    kept = told.evidence
    rows = f"on {count(kept.num_nodes, 'row')}, " if kept is not None else "on "
    graph = "no graph" if not told.graphs_used else _graphs(told, kept)
    own = f"{labeled:,} of them labelled" if kept is not None else f"{count(labeled, 'labelled row')}"
    return f"{rows}{own}, and {graph}"


def _graphs(told: Told, kept: Evidence | None) -> str:
    graphs = len(told.graphs_used)
    what = "a graph" if graphs == 1 else f"{graphs} graphs"
    return what if kept is None else f"{what} of {count(kept.num_edges, 'edge')}"


def _facts(told: Told) -> Iterator[tuple[str, Cell]]:
    metrics, data = told.metrics, told.data
    yield "run folder", str(told.folder)
    for name in ("source", "features", "label", "id", "task"):
        if data.get(name) is not None:
            yield f"data: {name}", plain(data[name])
    classes = told.classes
    if told.task != "numbers":
        yield "classes" if told.task == "classes" else "labels", _some(classes)
    yield "labelled rows trained on", told.num_labeled
    if told.strong and as_int(metrics["labeled"]) > told.num_labeled:
        yield "rows that the graph labelled", as_int(metrics["labeled"]) - told.num_labeled
    yield "validation rows", told.num_validation
    yield from _graph_facts(told, data)
    yield "epochs", as_int(metrics["epochs"])
    yield "kept epoch", as_int(metrics["best_epoch"]) + 1
    yield "stopped", str(metrics["stopped"])
    yield "seconds", round(as_float(metrics["seconds"]), 1)
    for name, version in cast("dict[str, JSON]", told.config.get("versions") or {}).items():
        if version is not None:
            yield f"version of {name}", str(version)
    if told.config.get("commit"):
        yield "commit", str(told.config["commit"])


def _graph_facts(told: Told, data: dict[str, JSON]) -> Iterator[tuple[str, Cell]]:
    graph = data.get("graph")
    if isinstance(graph, dict) and graph.get("origin") is not None:
        yield "graph", plain(graph["origin"])
    if told.evidence is not None:
        yield "edges of the graph", told.evidence.num_edges
    edges = cast("dict[str, JSON]", told.metrics["edges"])
    yield "edges trained on", ", ".join(f"{as_int(number):,} {kind.upper()}" for kind, number in edges.items())
    if told.graphs_used and not all(told.graphs_used):
        yield "graphs left out", told.graphs_used.count(False)


def _notes(told: Told) -> list[str]:
    notes = [str(note) for note in cast("list[JSON]", told.data.get("notes") or [])]
    kept = told.evidence
    if kept is not None and not kept.whole:
        notes.append(
            f"{len(kept):,} of the {kept.num_nodes:,} nodes were kept for this report, with {len(kept.edges):,} of the "
            f"{kept.num_edges:,} edges: the labelled ones, then their neighbours. What follows is about these."
        )
    return notes


def _settings(told: Told) -> tuple[list[Sequence[Cell]], list[Sequence[Cell]]]:
    """Rows of (setting, given, default, used): those that differ from the defaults, and all."""
    defaults, changed, every = told.defaults(), [], []
    for name, value in told.settings.items():
        default = defaults.get(name)
        used = told.used.get(name, value)
        row: Sequence[Cell] = (name, plain(value), plain(default), plain(used))
        every.append(row)
        if value != default and name not in NOT_COMPARED:
            changed.append(row)
    return changed, every


def plain(value: JSON) -> Cell:
    """A value of JSON as a cell."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, list):
        return _some([str(v) for v in value])
    return json.dumps(value) if isinstance(value, dict) else value


def _some(names: Sequence[str], most: int = 12) -> str:
    more = f", ... ({len(names):,} in all)" if len(names) > most else ""
    return ", ".join(names[:most]) + more
