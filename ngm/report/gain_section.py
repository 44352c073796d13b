"""Did the graph help? With it and without it, on the same rows, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy import stats

from ngm.io.run_folder import JSON
from ngm.report.page import Figure, Section, Shown
from ngm.report.plotting import BLUE, GREY, RED, as_float, as_int, axis, capital, count, rounded
from ngm.report.run_reader import Told
from ngm.report.score_names import Score

KEY, TITLE = "gain", "Did the graph help?"
SURE = 0.95
VALIDATION_ROWS = "validation rows"
_NOTHING = 1e-12  # what is left of equal differences after rounding
_HOW = (
    "To know, train the same network without the graph beside it, on the same validation rows: the same ngm train "
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
        on: What these rows are.
        same_rows: Whether all seeds were scored on the same rows; else each drew its own.
    """

    score: Score
    mean: tuple[float, float]
    std: tuple[float, float]
    seeds: int
    scores: tuple[Sequence[float], Sequence[float]]
    rows: int | None
    on: str = VALIDATION_ROWS
    same_rows: bool = True

    @property
    def gain(self) -> float:
        """With the graph less without it."""
        return self.mean[0] - self.mean[1]

    @property
    def paired(self) -> bool:
        """Whether the scores of a seed, with and without, belong together."""
        return self.seeds > 1 and len(self.scores[0]) == len(self.scores[1]) == self.seeds

    @property
    def shares(self) -> tuple[float, float] | None:
        """Both shares of right answers with one right and one wrong row added, as Agresti and Caffo do.

        None where the score is no share of rows, or nobody knows how many there were.
        """
        if self.score.metric != "accuracy" or not self.rows:
            return None
        first, second = ((p * self.rows + 1) / (self.rows + 2) for p in self.mean)
        return first, second

    @property
    def standard_errors(self) -> tuple[float, float] | None:
        """Of these shares, as if every row were a throw of a coin; never 0."""
        if self.shares is None or not self.rows:
            return None
        first, second = (math.sqrt(p * (1 - p) / (self.rows + 2)) for p in self.shares)
        return first, second

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where the gain is 95 times in 100; None where nothing tells.

        Of one seed: that of Agresti and Caffo. It is wide, since both networks saw the same rows. Of several: around
        their gain, as wide as Student's t over the seeds makes it and, where they share their rows, the rows beside
        that; seeds that drew rows of their own have the error of the rows in their spread already. Never narrower than
        the step that one row makes: seeds that agree are no proof.
        """
        half = 0.0
        if self.standard_errors is not None:
            half = float(stats.norm.ppf(0.5 + SURE / 2)) * math.hypot(*self.standard_errors)
        if self.seeds > 1:
            apart = max(half / math.sqrt(self.seeds), self._half_by_seeds)
            middle, half = self.gain, math.hypot(half, self._half_by_seeds) if self.same_rows else apart
        elif self.shares is not None:
            middle = self.shares[0] - self.shares[1]
        else:
            return None
        most = math.inf if self.score.lower_is_better else 1.0
        if self.rows and not self.score.lower_is_better:
            half = max(half, 1 / self.rows)
        return None if half < _NOTHING else (max(middle - half, -most), min(middle + half, most))

    @property
    def _half_by_seeds(self) -> float:
        """Half an interval by Student's t: over the differences of the seeds, or both spreads if none are paired."""
        spread = float(np.std(np.subtract(*self.scores), ddof=1)) if self.paired else math.hypot(*self.std)
        return float(stats.t.ppf(0.5 + SURE / 2, self.seeds - 1)) * spread / math.sqrt(self.seeds)

    @property
    def verdict(self) -> str:
        """Good or bad where the interval lies on one side of 0, else open."""
        if self.interval is None:
            return "open"
        return "good" if self.interval[0] > 0 else "bad" if self.interval[1] < 0 else "open"


def gain_of(told: Told) -> Gain | None:
    """What the graph was worth; None where there is no control, or no graph was trained on."""
    return _control_of(told) if any(told.graphs_used) else None


def _control_of(told: Told) -> Gain | None:
    control = told.metrics.get("control")
    if not isinstance(control, dict) or not {"with_graph", "without_graph"} <= set(control):
        return None
    rows = [cast("dict[str, JSON]", control[name]) for name in ("with_graph", "without_graph")]
    scores = cast("dict[str, list[float]]", control.get("scores") or {})
    return Gain(
        score=Score(str(rows[0]["metric"])),
        mean=(as_float(rows[0]["mean"]), as_float(rows[1]["mean"])),
        std=(as_float(rows[0]["std"]), as_float(rows[1]["std"])),
        seeds=min(as_int(row["seeds"]) for row in rows),
        scores=(scores.get("with_graph", []), scores.get("without_graph", [])),
        rows=as_int(control["rows"]) if isinstance(control.get("rows"), int) else told.num_validation,
        on=str(control.get("on", VALIDATION_ROWS)),
        same_rows="rows" in control or not isinstance(told.settings.get("validation"), float),
    )


def gain_section(told: Told) -> Section:
    """The first section of a report."""
    used = told.graphs_used
    if not used:
        answer = "There was no graph: this is a plain network. Give it one, and this section tells what it adds."
        return Section(KEY, TITLE, answer)
    if not any(used):
        return _without_any(told)
    found = gain_of(told)
    notes = [] if all(used) else [_left_out(used)]
    if found is None:
        answer = "Nobody knows yet: this run has no control without the graph."
        return Section(KEY, TITLE, f"{answer} {_score_alone(told, 'With it')} {_HOW}", notes, verdict="open")
    notes += _notes(found)
    return Section(KEY, TITLE, _answer(found), notes, [_figure(found)], [_table(found)], verdict=found.verdict)


def _without_any(told: Told) -> Section:
    """Of a run that left out all its graphs: its control is a second training of the same kind."""
    left, found = _left_out(told.graphs_used), _control_of(told)
    if found is None:
        return Section(KEY, TITLE, f"{left} {_score_alone(told, 'Without it')}", verdict="open")
    own, other = (scores[0] for scores in found.scores) if found.paired else found.mean
    score = found.score
    answer = (
        f"{left} Both networks were trained without it, so what they differ by is chance: this run's is "
        f"{score.network_is(own)} {_rows(found.rows, found.on)}, its control {score.said(other)}."
    )
    notes = []
    if found.seeds > 1:
        notes = [
            f"Of the {found.seeds} seeds this is the first; whether the others left the graph out as well is not kept."
        ]
    return Section(KEY, TITLE, answer, notes, verdict="open")


def _left_out(used: Sequence[bool]) -> str:
    which = "The graph was" if len(used) == 1 else f"{used.count(False)} of the {len(used)} graphs were"
    return (
        f"{which} left out of training: what a briefly trained network predicts agreed across the edges no more than "
        "by chance. Give the alphas to use it all the same."
    )


def _score_alone(told: Told, how: str) -> str:
    scores = cast("dict[str, float]", told.metrics.get("validation") or {})
    name = next((name for name in scores if name != "cost"), None)
    if name is None:
        return "There are no validation rows either."
    return f"{how} the network is {Score(name).network_is(scores[name])} {_rows(told.num_validation)}."


def _rows(rows: int | None, on: str = VALIDATION_ROWS) -> str:
    return f"the {on}" if rows is None else count(rows, on.removesuffix("s"), on)


def _answer(found: Gain) -> str:
    start = {"good": "Yes: ", "bad": "No, it did harm: ", "open": "Not clear: "}[found.verdict]
    score = found.score
    graph = f"with the graph the network is {score.network_is(found.mean[0])} {_rows(found.rows, found.on)}"
    both = f"{graph}, without it {score.said(found.mean[1])}"
    seeds = f" (means of {found.seeds} seeds)" if found.seeds > 1 else ""
    sure = ""
    if found.interval is not None:
        low, high = (score.points(end) for end in found.interval)
        beyond = "outside" if found.verdict != "open" else "inside"
        sure = f"; 0 is {beyond} of the 95 % interval, {low} to {high}"
    return f"{start}{both}{seeds}, a gain of {score.points(found.gain)}{score.unit}{sure}."


def _notes(found: Gain) -> list[str]:
    errors = ""
    if found.standard_errors is not None:
        errors = " and ".join(found.score.points(error, sign=False) for error in found.standard_errors)
        errors = f"by the number of {found.on} alone, the two figures have standard errors of {errors} points"
    if found.seeds > 1:
        spread = " and ".join(found.score.points(s, sign=False) for s in found.std)
        how = "differences of the seeds" if found.paired else "spread of both"
        rows = f", and the chance of which rows were scored: {errors}" if errors else ""
        notes = [
            f"Spread over the {found.seeds} seeds (standard deviation): {spread}, with and without the graph. The "
            f"interval holds Student's t over the {how}{rows}."
        ]
        return [*notes, *_beside(found)]
    note = "There was one seed, so the spread from one training to the next is unknown: --seeds 3 shows it."
    if not errors:
        return [f"{note} One seed says nothing of chance here, so the verdict stays open.", *_beside(found)]
    beyond = "beyond" if found.verdict != "open" else "not beyond"
    notes = [f"{note} {capital(errors)}; the gain is {beyond} what these make likely by chance (95 in 100)."]
    return [*notes, *_beside(found)]


def _beside(found: Gain) -> list[str]:
    """Says so where other networks were scored than the one that the rest of the page is about."""
    if found.on == VALIDATION_ROWS:
        return []
    return [
        f"These scores are of {count(2 * found.seeds, 'network')} trained beside the one of this run, on "
        f"{_rows(found.rows, found.on)}. The sections below are about the one of this run."
    ]


def _table(found: Gain) -> Shown:
    names = ("with the graph", "without it")
    rows: list[Sequence[str | int | float | None]] = []
    for i, name in enumerate(names):
        error = None if found.standard_errors is None else found.standard_errors[i]
        rows.append(
            [
                name,
                found.score.shown(found.mean[i]),
                found.std[i] if found.seeds > 1 else None,
                error,
                found.seeds,
                found.rows,
            ]
        )
    columns = (
        "network",
        f"{found.score.name}, mean",
        "spread over seeds",
        "standard error by rows",
        "seeds",
        found.on,
    )
    return Shown("gain-table", f"Scores on {found.on}", columns, rows)


def _figure(found: Gain) -> Figure:
    """Both scores with bars of a standard error, and a line for every seed that was run with and without."""
    places: list[JSON] = ["without the graph", "with the graph"]
    data: list[dict[str, JSON]] = []
    if found.paired:
        for seed, (after, before) in enumerate(zip(*found.scores, strict=True)):
            data.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": f"seed {seed}",
                    "x": places,
                    "y": rounded([found.score.shown(v) for v in (before, after)]),
                    "line": {"color": GREY, "width": 1},
                    "marker": {"color": GREY, "size": 5},
                    "showlegend": False,
                }
            )
    errors = found.std if found.seeds > 1 else found.standard_errors or (0.0, 0.0)
    for i, (place, color) in enumerate(((places[1], BLUE), (places[0], RED))):
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": str(place),
                "x": [place],
                "y": rounded([found.score.shown(found.mean[i])]),
                "error_y": {"type": "data", "array": rounded([errors[i]]), "color": color, "thickness": 2},
                "marker": {"color": color, "size": 13, "symbol": "circle" if i == 0 else "diamond"},
                "showlegend": False,
            }
        )
    bars = "the spread over seeds" if found.seeds > 1 else "a standard error by the number of rows"
    without, with_ = (found.score.said(found.mean[i]) for i in (1, 0))
    sizes = " and ".join(found.score.points(errors[i], sign=False) for i in (1, 0))
    alt = f"Two points: {without} without the graph, {with_} with it; bars are {bars}: {sizes}."
    x: JSON = {"type": "category", "categoryarray": places, "range": [-0.6, 1.6]}
    layout: dict[str, JSON] = {"xaxis": x, "yaxis": axis(found.score.name), "height": 320}
    return Figure("gain", f"Score on {found.on}, without and with the graph", alt, data, layout)
