"""What the benchmarks are held to: for each figure where it is kept, and the target that it meets or not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

RESULTS = Path(__file__).parent.parent / "results"
Result = Mapping[str, Any]
"""One file of benchmarks/results."""
Values = Callable[[Result], dict[str, float]]
"""Figures of a result by what they are about; "" for the only one."""


@dataclass(frozen=True)
class Goal:
    """A row of the table, or several where a result has several such figures.

    Args:
        work: What is measured.
        file: Name of the result, without its ending.
        values: Reads the figures; a `KeyError` means that they are not there.
        at: Whether a figure should be at least or at most `limit`; None for figures without a target.
        limit: The target.
        unit: Of the figure.
        command: Measures and keeps it.
    """

    work: str
    file: str
    values: Values
    command: str
    at: Literal["least", "most"] | None = None
    limit: float = 0.0
    unit: str = "times"

    @property
    def target(self) -> str:
        """In words."""
        return "" if self.at is None else f"at {self.at} {self.limit:g} {self.unit}".removesuffix(" times")


@dataclass(frozen=True)
class Line:
    """A figure beside its target; no value where it was not measured, `met` None where there is no target."""

    work: str
    value: float | None
    unit: str
    target: str
    met: bool | None
    command: str

    @property
    def outcome(self) -> str:
        """In words."""
        if self.value is None:
            return "not measured"
        return "" if self.met is None else "met" if self.met else "not met"


def ratios(pattern: str) -> Values:
    """All ratios of a result whose name matches from beginning to end; the part in brackets, if any, is shown."""

    def values(result: Result) -> dict[str, float]:
        found = {name: re.fullmatch(pattern, name) for name in result["ratios"]}
        return {"".join(m.groups("")): float(result["ratios"][name]) for name, m in found.items() if m}

    return values


def of_largest(*path: str, scale: float = 1.0, least: int = 0) -> Values:
    """A figure of the row with the most nodes or edges, if that is no smaller than `least`."""

    def values(result: Result) -> dict[str, float]:
        size = max(result["rows"], key=int)
        if int(size) < least:
            return {}
        value: Any = result["rows"][size]
        for key in path:
            value = value[key]
        return {f"{int(size):,}": scale * float(value)}

    return values


def _growth(result: Result) -> dict[str, float]:
    sizes = sorted(result["rows"], key=int)
    if len(sizes) < 2:
        return {}
    small, large = (result["rows"][size]["memory-mapped"]["anonymous_gib"] for size in (sizes[0], sizes[-1]))
    return {f"{int(sizes[-1]):,} against {int(sizes[0]):,} nodes": large / small}


def _billion(key: str) -> Values:
    return lambda result: {"": float(result["billion"][key])} if result.get("billion") else {}


def _default_at_2_million(key: str, scale: float = 1.0) -> Values:
    def values(result: Result) -> dict[str, float]:
        found = [scale * float(row[key]) for row in result["sizes"] if row["nodes"] == 2_000_000]
        return {"": found[0]} if found else {}

    return values


_PEERS, _KNN = "python benchmarks/epoch_peers.py --keep", "python benchmarks/knn.py --vectors FILE --keep"
_MEMORY = "python benchmarks/training_memory.py --nodes 200000 2000000 --keep"
_INGEST = "python benchmarks/ingest.py --edges 50_000_000 100_000_000 --keep"
_LARGE = "python benchmarks/propagation_large.py --keep"
_TIME = "python benchmarks/time_to_accuracy.py --keep"
_DEFAULT = "python benchmarks/large_default.py --keep"
_EPOCH, _PREDICTION = "python benchmarks/epoch.py --keep", "python benchmarks/prediction.py --keep"
_CHARACTERS = "python benchmarks/characters.py --keep"
_BEYOND, _SCALE = "python benchmarks/larger_than_memory.py --keep", "python benchmarks/scale.py --keep"
GOALS: tuple[Goal, ...] = (
    Goal("NGM epoch / plain epoch, PubMed", "epoch", ratios("ngm_over_plain(.*)"), _EPOCH, "most", 1.5),
    Goal("edges/s, ngm / NSL, PubMed", "epoch-peers", ratios("PubMed, ngm / NSL"), _PEERS, "least", 10),
    Goal("edges/s, ngm / NSL, BlogCatalog", "epoch-peers", ratios("BlogCatalog, ngm / NSL"), _PEERS, "least", 50),
    Goal("edges/s, ngm / NSL packed in its favour", "epoch-peers", ratios("(.*), ngm / NSL, .*"), _PEERS),
    Goal("edges/s, ngm / PyG link loader", "epoch-peers", ratios("(.*), ngm / PyG"), _PEERS, "least", 3),
    Goal(
        "seconds to validation accuracy, PubMed, fastest peer / ngm",
        "time-to-accuracy",
        ratios("(.*), fastest peer / ours"),
        _TIME,
        "least",
        1,
    ),
    Goal("kNN graph, fastest peer / ngm", "knn", ratios("(.*), fastest peer / knn_graph"), _KNN, "least", 1),
    Goal("exact neighbours, ngm / faiss flat", "knn", ratios("(.*), exact / faiss flat"), _KNN, "most", 0.5),
    Goal(
        "random walks, ngm / fastest peer",
        "walks",
        ratios("(.*): ngm / fastest peer"),
        "python benchmarks/walks.py --keep",
        "least",
        3,
    ),
    Goal(
        "label propagation, 175 M edges, beside the graph",
        "propagation-large",
        of_largest("gib_beside_graph", least=10_000_000),
        _LARGE,
        "most",
        4,
        "GiB",
    ),
    Goal(
        "label propagation, 175 M edges",
        "propagation-large",
        of_largest("seconds", scale=1 / 60, least=10_000_000),
        _LARGE,
        "most",
        60,
        "minutes",
    ),
    Goal(
        "ingest of 50 M edges",
        "ingest",
        lambda result: {"": result["rows"]["50000000"]["ours"]["seconds"]},
        _INGEST,
        "most",
        30,
        "s",
    ),
    Goal(
        "ingest of 50 M edges, memory",
        "ingest",
        lambda result: {"": result["rows"]["50000000"]["ours"]["peak_gib"]},
        _INGEST,
        "most",
        1.8,
        "GiB",
    ),
    Goal("ingest of 1 bn edges, extrapolated", "ingest", _billion("seconds"), _INGEST, unit="s"),
    Goal("ingest of 1 bn edges, memory, extrapolated", "ingest", _billion("peak_gib"), _INGEST, unit="GiB"),
    Goal(
        "training, rows in memory, nodes",
        "training-memory",
        of_largest("in memory", "bytes_an_edge", least=2_000_000),
        _MEMORY,
        "most",
        32,
        "bytes an edge",
    ),
    Goal("training, memory-mapped, memory of", "training-memory", _growth, _MEMORY, "most", 1.2),
    Goal("prediction / bare module", "prediction", ratios("(.*)"), _PREDICTION, "most", 1.05),
    Goal(
        "default recipe, 18 M edges, 2 M nodes",
        "large-default",
        _default_at_2_million("seconds", 1 / 60),
        _DEFAULT,
        "most",
        10,
        "minutes",
    ),
    Goal(
        "default recipe, 18 M edges, 2 M nodes, memory",
        "large-default",
        _default_at_2_million("gib_peak"),
        _DEFAULT,
        "most",
        6,
        "GiB",
    ),
    Goal(
        "default recipe / 200 epochs of PyG's GCN of 16 units",
        "default-time",
        ratios("(.*)_sparse_over_gcn_16"),
        "python benchmarks/default_time.py --keep",
        "most",
        3,
    ),
    Goal("character networks", "characters", ratios("(.*)"), _CHARACTERS),
    Goal("larger than memory", "larger-than-memory", ratios("(.*throughput.*)"), _BEYOND, "least", 0.5),
    Goal("many processes", "scale", ratios("(.*)"), _SCALE),
)


def read_results(folder: Path = RESULTS) -> dict[str, Result]:
    """The kept results that goals look into, by name."""
    found: dict[str, Result] = {}
    for name in dict.fromkeys(goal.file for goal in GOALS):
        for file in (folder / f"{name}.json", folder / f"{name.replace('-', '_')}.json"):
            if file.exists():
                found[name] = json.loads(file.read_text(encoding="utf-8"))
                break
    return found


def lines_of(results: Mapping[str, Result], goals: Sequence[Goal] = GOALS) -> list[Line]:
    """All rows of the table; a goal without a figure has one row that says so."""
    found: list[Line] = []
    for goal in goals:
        try:
            values = goal.values(results[goal.file])
        except (KeyError, ValueError):  # no such result, or one of another form
            values = {}
        if not values:
            found.append(Line(goal.work, None, goal.unit, goal.target, None, goal.command))
        for name, value in values.items():
            met = None if goal.at is None else value >= goal.limit if goal.at == "least" else value <= goal.limit
            work = f"{goal.work}, {name.strip(' ,_').replace('_', ' ')}" if name.strip(" ,_") else goal.work
            found.append(Line(work, value, goal.unit, goal.target, met, goal.command))
    return found
