"""What was run: data, graph, settings, versions, and why it stopped."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import cast

from ngm.io.node_records import NodeRecords
from ngm.io.run_folder import JSON
from ngm.report.page import Cell, ReportTable, Section
from ngm.report.plotting import as_float, as_int, count
from ngm.report.run_reader import RunData

KEY, TITLE = "run", "What was run?"
NOT_COMPARED = ("folder", "resume")


def run_section(run: RunData) -> Section:
    """Answers with the sizes; tables of facts and settings."""
    metrics = run.metrics
    network = str(run.settings.get("network"))
    epochs, best = as_int(metrics["epochs"]), as_int(metrics["best_epoch"])
    answer = (
        f"{run.estimator} with the network {network} and the recipe {run.settings.get('recipe')}, {_data_text(run)}; "
        f"{count(epochs, 'epoch')} in {as_float(metrics['seconds']):.1f} seconds, stopped because "
        f"{_stop_reason(str(metrics['stopped']))}; epoch {best + 1} is kept."
    )
    facts = ReportTable(
        "facts", "The run", ("what", "value"), [[name, _group_digits(value)] for name, value in _facts(run)]
    )
    changed, all_rows = _settings(run)
    columns = ("setting", "given", "default", "used")
    tables = [facts, ReportTable("settings", f"All {len(all_rows)} settings", columns, all_rows)]
    if changed:
        tables.insert(1, ReportTable("changed", "Settings that differ from the defaults", columns, changed))
    notes = [] if changed else ["All settings are the defaults."]
    return Section(KEY, TITLE, answer, [*notes, *_notes(run)], tables=tables)


def _group_digits(value: Cell) -> Cell:
    return f"{value:,}" if isinstance(value, int) else value


def _stop_reason(stopped: str) -> str:
    texts = {
        "all epochs done": "all epochs were done",
        "no improvement": "validation no longer improved",
        "interrupted": "it was interrupted",
    }
    return texts.get(stopped, stopped)


def _data_text(run: RunData) -> str:
    labeled = run.num_labeled
    records = run.node_records
    rows = f"on {count(records.num_nodes, 'row')}, " if records is not None else "on "
    graph = "no graph" if not run.graphs_used else _graphs_text(run, records)
    labeled_text = f"{labeled:,} of them labelled" if records is not None else f"{count(labeled, 'labelled row')}"
    return f"{rows}{labeled_text}, and {graph}"


def _graphs_text(run: RunData, records: NodeRecords | None) -> str:
    graphs = len(run.graphs_used)
    graphs_text = "a graph" if graphs == 1 else f"{graphs} graphs"
    return graphs_text if records is None else f"{graphs_text} of {count(records.num_edges, 'edge')}"


def _facts(run: RunData) -> Iterator[tuple[str, Cell]]:
    metrics, data = run.metrics, run.data
    yield "run folder", str(run.folder)
    for name in ("source", "features", "label", "id", "task"):
        if data.get(name) is not None:
            yield f"data: {name}", as_cell(data[name])
    classes = run.classes
    if run.task != "numbers":
        yield "classes" if run.task == "classes" else "labels", _join_names(classes)
    yield "labelled rows trained on", run.num_labeled
    if run.strong and as_int(metrics["labeled"]) > run.num_labeled:
        yield "rows that the graph labelled", as_int(metrics["labeled"]) - run.num_labeled
    yield "validation rows", run.num_validation
    yield from _graph_facts(run, data)
    yield "epochs", as_int(metrics["epochs"])
    yield "kept epoch", as_int(metrics["best_epoch"]) + 1
    yield "stopped", str(metrics["stopped"])
    yield "seconds", round(as_float(metrics["seconds"]), 1)
    for name, version in cast("dict[str, JSON]", run.config.get("versions") or {}).items():
        if version is not None:
            yield f"version of {name}", str(version)
    if run.config.get("commit"):
        yield "commit", str(run.config["commit"])


def _graph_facts(run: RunData, data: dict[str, JSON]) -> Iterator[tuple[str, Cell]]:
    graph = data.get("graph")
    if isinstance(graph, dict) and graph.get("origin") is not None:
        yield "graph", as_cell(graph["origin"])
    if run.node_records is not None:
        yield "edges of the graph", run.node_records.num_edges
    edges = cast("dict[str, JSON]", run.metrics["edges"])
    yield "edges trained on", ", ".join(f"{as_int(number):,} {kind.upper()}" for kind, number in edges.items())
    if run.graphs_used and not all(run.graphs_used):
        yield "graphs left out", run.graphs_used.count(False)


def _notes(run: RunData) -> list[str]:
    notes = [str(note) for note in cast("list[JSON]", run.data.get("notes") or [])]
    records = run.node_records
    if records is not None and not records.whole:
        notes.append(
            f"{len(records):,} of the {records.num_nodes:,} nodes were kept for this report, with "
            f"{len(records.edges):,} of the {records.num_edges:,} edges: the labelled ones, then their neighbours. "
            "What follows is about these."
        )
    return notes


def _settings(run: RunData) -> tuple[list[Sequence[Cell]], list[Sequence[Cell]]]:
    """Rows of (setting, given, default, used): those that differ from the defaults, and all."""
    defaults, changed, all_rows = run.defaults(), [], []
    for name, value in run.settings.items():
        default = defaults.get(name)
        used = run.used.get(name, value)
        row: Sequence[Cell] = (name, as_cell(value), as_cell(default), as_cell(used))
        all_rows.append(row)
        if value != default and name not in NOT_COMPARED:
            changed.append(row)
    return changed, all_rows


def as_cell(value: JSON) -> Cell:
    """A value of JSON as a cell."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, list):
        return _join_names([str(v) for v in value])
    return json.dumps(value) if isinstance(value, dict) else value


def _join_names(names: Sequence[str], max_names: int = 12) -> str:
    total_text = f", ... ({len(names):,} in all)" if len(names) > max_names else ""
    return ", ".join(names[:max_names]) + total_text
