"""Did the graph help? With it and without it, on the same rows, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy import stats

from ngm.io.run_folder import JSON
from ngm.report.page import Figure, ReportTable, Section
from ngm.report.plotting import BLUE, GREY, RED, as_float, as_int, axis, capitalize, count, round_significant
from ngm.report.run_reader import RunData
from ngm.report.score_names import MetricFormat

KEY, TITLE = "gain", "Did the graph help?"
CONFIDENCE = 0.95
VALIDATION_ROWS = "validation rows"
_ROUNDING_ERROR = 1e-12  # what is left of equal differences after rounding
_HOW_TO_COMPARE = (
    "To find out, train the same network without the graph as well, on the same validation rows: the same ngm train "
    "command with --control --seeds 3."
)


@dataclass(frozen=True)
class Gain:
    """Two scores and their difference, higher being better.

    Args:
        score: What was measured.
        mean: With and without the graph.
        std: Spread over the seeds, with and without.
        seeds: How many there were.
        scores: Score of each seed, with and without; empty where only the means are known.
        rows: Number of rows that were scored; None where nothing tells.
        row_kind: What these rows are.
        same_rows: Whether all seeds were scored on the same rows; else each drew its own.
    """

    score: MetricFormat
    mean: tuple[float, float]
    std: tuple[float, float]
    seeds: int
    scores: tuple[Sequence[float], Sequence[float]]
    rows: int | None
    row_kind: str = VALIDATION_ROWS
    same_rows: bool = True

    @property
    def difference(self) -> float:
        """With the graph less without it."""
        return self.mean[0] - self.mean[1]

    @property
    def paired(self) -> bool:
        """Whether the scores of a seed, with and without, belong together."""
        return self.seeds > 1 and len(self.scores[0]) == len(self.scores[1]) == self.seeds

    @property
    def shares(self) -> tuple[float, float] | None:
        """Both shares of right answers with one right and one wrong row added, as Agresti and Caffo do.

        None if the score is not an accuracy, or the number of rows is unknown.
        """
        if self.score.metric != "accuracy" or not self.rows:
            return None
        first, second = ((p * self.rows + 1) / (self.rows + 2) for p in self.mean)
        return first, second

    @property
    def standard_errors(self) -> tuple[float, float] | None:
        """Of these shares, as if rows were independent; never 0."""
        if self.shares is None or not self.rows:
            return None
        first, second = (math.sqrt(p * (1 - p) / (self.rows + 2)) for p in self.shares)
        return first, second

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of the gain; None if unknown.

        Of one seed: that of Agresti and Caffo. It is wide, since both networks saw the same rows. Of several: around
        their gain, as wide as Student's t over the seeds makes it and, where they share their rows, the rows beside
        that; seeds that drew rows of their own have the error of the rows in their spread already. Never narrower than
        the step that one row makes: agreement of a few seeds proves nothing.
        """
        half_width = 0.0
        if self.standard_errors is not None:
            half_width = float(stats.norm.ppf(0.5 + CONFIDENCE / 2)) * math.hypot(*self.standard_errors)
        if self.seeds > 1:
            separate_rows = max(half_width / math.sqrt(self.seeds), self._half_width_by_seeds)
            center, half_width = (
                self.difference,
                math.hypot(half_width, self._half_width_by_seeds) if self.same_rows else separate_rows,
            )
        elif self.shares is not None:
            center = self.shares[0] - self.shares[1]
        else:
            return None
        limit = math.inf if self.score.lower_is_better else 1.0
        if self.rows and not self.score.lower_is_better:
            half_width = max(half_width, 1 / self.rows)
        return (
            None
            if half_width < _ROUNDING_ERROR
            else (max(center - half_width, -limit), min(center + half_width, limit))
        )

    @property
    def _half_width_by_seeds(self) -> float:
        """Half an interval by Student's t: over the differences of the seeds, or both spreads if none are paired."""
        std = float(np.std(np.subtract(*self.scores), ddof=1)) if self.paired else math.hypot(*self.std)
        return float(stats.t.ppf(0.5 + CONFIDENCE / 2, self.seeds - 1)) * std / math.sqrt(self.seeds)

    @property
    def verdict(self) -> str:
        """Good or bad where the interval lies on one side of 0, else open."""
        if self.interval is None:
            return "open"
        return "good" if self.interval[0] > 0 else "bad" if self.interval[1] < 0 else "open"


def gain_of(run: RunData) -> Gain | None:
    """Gain of the graph over the control; None without a control, or if no graph was used."""
    return _control_of(run) if any(run.graphs_used) else None


def _control_of(run: RunData) -> Gain | None:
    control = run.metrics.get("control")
    if not isinstance(control, dict) or not {"with_graph", "without_graph"} <= set(control):
        return None
    rows = [cast("dict[str, JSON]", control[name]) for name in ("with_graph", "without_graph")]
    scores = cast("dict[str, list[float]]", control.get("scores") or {})
    return Gain(
        score=MetricFormat(str(rows[0]["metric"])),
        mean=(as_float(rows[0]["mean"]), as_float(rows[1]["mean"])),
        std=(as_float(rows[0]["std"]), as_float(rows[1]["std"])),
        seeds=min(as_int(row["seeds"]) for row in rows),
        scores=(scores.get("with_graph", []), scores.get("without_graph", [])),
        rows=as_int(control["rows"]) if isinstance(control.get("rows"), int) else run.num_validation,
        row_kind=str(control.get("on", VALIDATION_ROWS)),
        same_rows="rows" in control or not isinstance(run.settings.get("validation"), float),
    )


def gain_section(run: RunData) -> Section:
    """The first section of a report."""
    used = run.graphs_used
    if not used:
        answer = "There was no graph: this is a plain network. Train with a graph to see what it adds."
        return Section(KEY, TITLE, answer)
    if not any(used):
        return _unused_graphs_section(run)
    gain = gain_of(run)
    notes = [] if all(used) else [_unused_text(used)]
    if gain is None:
        answer = "Unknown: this run has no control without the graph."
        return Section(KEY, TITLE, f"{answer} {_score_alone(run, 'With it')} {_HOW_TO_COMPARE}", notes, verdict="open")
    notes += _notes(gain)
    return Section(KEY, TITLE, _answer(gain), notes, [_figure(gain)], [_table(gain)], verdict=gain.verdict)


def _unused_graphs_section(run: RunData) -> Section:
    """Of a run that left out all its graphs: its control is a second training of the same kind."""
    reason, control = _unused_text(run.graphs_used), _control_of(run)
    if control is None:
        return Section(KEY, TITLE, f"{reason} {_score_alone(run, 'Without it')}", verdict="open")
    run_score, control_score = (scores[0] for scores in control.scores) if control.paired else control.mean
    score = control.score
    answer = (
        f"{reason} Both networks were trained without it, so what they differ by is chance: this run's is "
        f"{score.describe(run_score)} {_rows_text(control.rows, control.row_kind)}, its control "
        f"{score.format(control_score)}."
    )
    notes = []
    if control.seeds > 1:
        notes = [
            f"Of the {control.seeds} seeds this is the first; whether the others left the graph out as well is not "
            "kept."
        ]
    return Section(KEY, TITLE, answer, notes, verdict="open")


def _unused_text(used: Sequence[bool]) -> str:
    subject = "The graph was" if len(used) == 1 else f"{used.count(False)} of the {len(used)} graphs were"
    return (
        f"{subject} left out of training: what a briefly trained network predicts agreed across the edges no more than "
        "by chance. Set graph_screen=False to use it anyway."
    )


def _score_alone(run: RunData, prefix: str) -> str:
    scores = cast("dict[str, float]", run.metrics.get("validation") or {})
    name = next((name for name in scores if name != "cost"), None)
    if name is None:
        return "There are no validation rows either."
    return f"{prefix} the network is {MetricFormat(name).describe(scores[name])} {_rows_text(run.num_validation)}."


def _rows_text(rows: int | None, row_kind: str = VALIDATION_ROWS) -> str:
    return f"the {row_kind}" if rows is None else count(rows, row_kind.removesuffix("s"), row_kind)


def _answer(gain: Gain) -> str:
    start = {"good": "Yes: ", "bad": "No, it did harm: ", "open": "Not clear: "}[gain.verdict]
    score = gain.score
    graph = f"with the graph the network is {score.describe(gain.mean[0])} {_rows_text(gain.rows, gain.row_kind)}"
    scores = f"{graph}, without it {score.format(gain.mean[1])}"
    seeds = f" (means of {gain.seeds} seeds)" if gain.seeds > 1 else ""
    interval_text = ""
    if gain.interval is not None:
        low, high = (score.format_difference(bound) for bound in gain.interval)
        position = "outside" if gain.verdict != "open" else "inside"
        interval_text = f"; 0 is {position} of the 95 % interval, {low} to {high}"
    return f"{start}{scores}{seeds}, a gain of {score.format_difference(gain.difference)}{score.unit}{interval_text}."


def _notes(gain: Gain) -> list[str]:
    errors = ""
    if gain.standard_errors is not None:
        errors = " and ".join(gain.score.format_difference(error, sign=False) for error in gain.standard_errors)
        errors = f"by the number of {gain.row_kind} alone, the two figures have standard errors of {errors} points"
    if gain.seeds > 1:
        stds = " and ".join(gain.score.format_difference(s, sign=False) for s in gain.std)
        spread_source = "differences of the seeds" if gain.paired else "spread of both"
        rows = f", and the chance of which rows were scored: {errors}" if errors else ""
        notes = [
            f"Spread over the {gain.seeds} seeds (standard deviation): {stds}, with and without the graph. The "
            f"interval holds Student's t over the {spread_source}{rows}."
        ]
        return [*notes, *_other_networks_note(gain)]
    note = "There was one seed, so the spread from one training to the next is unknown: --seeds 3 shows it."
    if not errors:
        return [f"{note} One seed cannot show the spread, so the verdict stays open.", *_other_networks_note(gain)]
    position = "beyond" if gain.verdict != "open" else "not beyond"
    notes = [f"{note} {capitalize(errors)}; the gain is {position} what these make likely by chance (95 in 100)."]
    return [*notes, *_other_networks_note(gain)]


def _other_networks_note(gain: Gain) -> list[str]:
    """A note if other networks were scored than the one that the page describes."""
    if gain.row_kind == VALIDATION_ROWS:
        return []
    return [
        f"These scores are of {count(2 * gain.seeds, 'network')} trained beside the one of this run, on "
        f"{_rows_text(gain.rows, gain.row_kind)}. The sections below are about the one of this run."
    ]


def _table(gain: Gain) -> ReportTable:
    names = ("with the graph", "without it")
    rows: list[Sequence[str | int | float | None]] = []
    for i, name in enumerate(names):
        error = None if gain.standard_errors is None else gain.standard_errors[i]
        rows.append(
            [
                name,
                gain.score.display_value(gain.mean[i]),
                gain.std[i] if gain.seeds > 1 else None,
                error,
                gain.seeds,
                gain.rows,
            ]
        )
    columns = (
        "network",
        f"{gain.score.name}, mean",
        "spread over seeds",
        "standard error by rows",
        "seeds",
        gain.row_kind,
    )
    return ReportTable("gain-table", f"Scores on {gain.row_kind}", columns, rows)


def _figure(gain: Gain) -> Figure:
    """Both scores with bars of a standard error, and a line for every seed that was run with and without."""
    categories: list[JSON] = ["without the graph", "with the graph"]
    data: list[dict[str, JSON]] = []
    if gain.paired:
        for seed, (with_graph, without_graph) in enumerate(zip(*gain.scores, strict=True)):
            data.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": f"seed {seed}",
                    "x": categories,
                    "y": round_significant([gain.score.display_value(v) for v in (without_graph, with_graph)]),
                    "line": {"color": GREY, "width": 1},
                    "marker": {"color": GREY, "size": 5},
                    "showlegend": False,
                }
            )
    errors = gain.std if gain.seeds > 1 else gain.standard_errors or (0.0, 0.0)
    for i, (category, color) in enumerate(((categories[1], BLUE), (categories[0], RED))):
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": str(category),
                "x": [category],
                "y": round_significant([gain.score.display_value(gain.mean[i])]),
                "error_y": {"type": "data", "array": round_significant([errors[i]]), "color": color, "thickness": 2},
                "marker": {"color": color, "size": 13, "symbol": "circle" if i == 0 else "diamond"},
                "showlegend": False,
            }
        )
    bars = "the spread over seeds" if gain.seeds > 1 else "a standard error by the number of rows"
    without, with_ = (gain.score.format(gain.mean[i]) for i in (1, 0))
    sizes = " and ".join(gain.score.format_difference(errors[i], sign=False) for i in (1, 0))
    alt = f"Two points: {without} without the graph, {with_} with it; bars are {bars}: {sizes}."
    x: JSON = {"type": "category", "categoryarray": categories, "range": [-0.6, 1.6]}
    layout: dict[str, JSON] = {"xaxis": x, "yaxis": axis(gain.score.name), "height": 320}
    return Figure("gain", f"Score on {gain.row_kind}, without and with the graph", alt, data, layout)
