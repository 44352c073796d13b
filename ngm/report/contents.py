"""What a report says, in the order people ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ngm.report.comparison_section import comparison_section
from ngm.report.curves_section import curves_section
from ngm.report.distances_section import closer_section
from ngm.report.errors_section import wrong_section
from ngm.report.gain_section import gain_section
from ngm.report.graph_section import graph_section
from ngm.report.hidden_section import space_section
from ngm.report.lists_section import edges_section, next_section
from ngm.report.page import Page, Section
from ngm.report.plotting import count
from ngm.report.run_reader import Told, read_run
from ngm.report.run_section import ran_section
from ngm.report.teachers_section import teachers_section

OF_RUN: tuple[Callable[[Told], Section | None], ...] = (gain_section, ran_section, teachers_section, curves_section)
OF_NODES: tuple[Callable[[Told], Section], ...] = (
    wrong_section,
    space_section,
    closer_section,
    graph_section,
    edges_section,
    next_section,
)


def page_of(folders: Sequence[str | Path]) -> Page:
    """Makes a page of run folders: of several, a comparison, then the first.

    Args:
        folders: Written by `fit` with `folder=`, `save` or `ngm train`.
    """
    if not folders:
        raise ValueError("no run folder is given; name one")
    runs = [read_run(folder) for folder in folders]
    compared = [comparison_section(runs)] if len(runs) > 1 else []
    first = runs[0]
    title = _title(first) if len(runs) == 1 else f"{count(len(runs), 'run')}: {', '.join(r.name for r in runs)}"
    sections = [made for section in OF_RUN if (made := section(first)) is not None]
    sections += [_no_nodes()] if first.evidence is None else [section(first) for section in OF_NODES]
    return Page(title, _subtitle(first, len(runs)), [*compared, *sections])


def _no_nodes() -> Section:
    answer = (
        "This run kept nothing of its nodes: it was written by save(), or by an older release. Train with folder= (or "
        "ngm train), and what follows here is: where it is wrong, the hidden space, whether neighbours came closer, "
        "the graph, the most expensive edges, and what to label next."
    )
    return Section("nodes", "What became of the nodes?", answer)


def _title(told: Told) -> str:
    """What is learned from what, where `ngm train` was told; else the folder's name."""
    label, source = told.data.get("label"), told.data.get("source")
    return f"{label} from {source}" if label and source else told.name


def _subtitle(told: Told, runs: int) -> str:
    kept = told.evidence
    sizes = "" if kept is None else f", {count(kept.num_nodes, 'node')}, {count(kept.num_edges, 'edge')}"
    about = f"Run folder {told.name}: " if runs == 1 else f"A comparison, then {told.name} by itself. "
    return f"{about}{told.estimator}, network {told.settings.get('network')}{sizes}"
