"""The sections of a report, in reading order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ngm.report.comparison_section import comparison_section
from ngm.report.curves_section import curves_section
from ngm.report.distances_section import distances_section
from ngm.report.errors_section import errors_section
from ngm.report.gain_section import gain_section
from ngm.report.graph_section import graph_section
from ngm.report.hidden_section import hidden_section
from ngm.report.lists_section import edges_section, label_next_section
from ngm.report.page import Page, Section
from ngm.report.plotting import count
from ngm.report.run_reader import RunData, read_run
from ngm.report.run_section import run_section
from ngm.report.teachers_section import teachers_section

RUN_SECTIONS: tuple[Callable[[RunData], Section | None], ...] = (
    gain_section,
    run_section,
    teachers_section,
    curves_section,
)
NODE_SECTIONS: tuple[Callable[[RunData], Section], ...] = (
    errors_section,
    hidden_section,
    distances_section,
    graph_section,
    edges_section,
    label_next_section,
)


def page_of(folders: Sequence[str | Path]) -> Page:
    """Makes a page of run folders: of several, a comparison, then the first.

    Args:
        folders: Written by `fit` with `folder=`, `save` or `ngm train`.
    """
    if not folders:
        raise ValueError("no run folder given; name at least one")
    runs = [read_run(folder) for folder in folders]
    comparison = [comparison_section(runs)] if len(runs) > 1 else []
    first = runs[0]
    title = _title(first) if len(runs) == 1 else f"{count(len(runs), 'run')}: {', '.join(r.name for r in runs)}"
    sections = [content for section in RUN_SECTIONS if (content := section(first)) is not None]
    sections += [_no_records_section()] if first.node_records is None else [section(first) for section in NODE_SECTIONS]
    return Page(title, _subtitle(first, len(runs)), [*comparison, *sections])


def _no_records_section() -> Section:
    answer = (
        "This run has no node records: it was written by save(), or by an older release. Train with folder= (or "
        "ngm train), and what follows here is: where it is wrong, the hidden space, whether neighbours came closer, "
        "the graph, the most expensive edges, and what to label next."
    )
    return Section("nodes", "What happened to the nodes?", answer)


def _title(run: RunData) -> str:
    """Label and source of a run of `ngm train`; else the folder's name."""
    label, source = run.data.get("label"), run.data.get("source")
    return f"{label} from {source}" if label and source else run.name


def _subtitle(run: RunData, num_runs: int) -> str:
    records = run.node_records
    sizes = "" if records is None else f", {count(records.num_nodes, 'node')}, {count(records.num_edges, 'edge')}"
    about = f"Run folder {run.name}: " if num_runs == 1 else f"A comparison, then {run.name} by itself. "
    return f"{about}{run.estimator}, network {run.settings.get('network')}{sizes}"
