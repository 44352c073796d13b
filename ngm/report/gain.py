"""Did the graph help? With it and without it, on validation rows, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy import stats

from ngm.report.drawing import BLUE, GREY, RED, as_float, as_int, axis, count, rounded
from ngm.report.page import Figure, Section, Shown
from ngm.report.scores import Score
from ngm.report.told import Told
from ngm.run import JSON

KEY, TITLE = "gain", "Did the graph help?"
SURE = 0.95
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
        rows: Number of validation rows; None where nothing tells.
    """

    score: Score
    mean: tuple[float, float]
    std: tuple[float, float]
    seeds: int
    scores: tuple[Sequence[float], Sequence[float]]
    rows: int | None

    @property
    def gain(self) -> float:
        """With the graph less without it."""
        return self.mean[0] - self.mean[1]

    @property
    def paired(self) -> bool:
        """Whether the scores of a seed, with and without, belong together."""
        return self.seeds > 1 and len(self.scores[0]) == len(self.scores[1]) == self.seeds

    @property
    def standard_errors(self) -> tuple[float, float] | None:
        """Of each share of right answers, as if every row were a throw of a coin; None where that has no sense."""
        if self.score.metric != "accuracy" or not self.rows:
            return None
        first, second = (math.sqrt(p * (1 - p) / self.rows) for p in self.mean)
        return first, second

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where the gain is 95 times in 100; None where one seed alone tells nothing of that.

        Of several seeds: Student's t over the differences of the seeds, or over both spreads where scores are not
        paired. Of one: the two standard errors together, which is wide, since both networks saw the same rows.
        """
        if self.seeds > 1:
            if self.paired:
                error = float(np.std(np.subtract(*self.scores), ddof=1)) / math.sqrt(self.seeds)
            else:
                error = math.hypot(*self.std) / math.sqrt(self.seeds)
            half = float(stats.t.ppf(0.5 + SURE / 2, self.seeds - 1)) * error
        elif self.standard_errors is not None:
            half = float(stats.norm.ppf(0.5 + SURE / 2)) * math.hypot(*self.standard_errors)
        else:
            return None
        return self.gain - half, self.gain + half

    @property
    def verdict(self) -> str:
        """Good or bad where the interval lies on one side of 0, else open."""
        if self.interval is None:
            return "open"
        return "good" if self.interval[0] > 0 else "bad" if self.interval[1] < 0 else "open"


def gain_of(told: Told) -> Gain | None:
    """The control of a run; None where there is none."""
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
        rows=told.num_validation,
    )


def gain_section(told: Told) -> Section:
    """The first section of a report."""
    used = told.graphs_used
    if not used:
        answer = "There was no graph: this is a plain network. Give it one, and this section tells what it adds."
        return Section(KEY, TITLE, answer)
    found = gain_of(told)
    start = "" if any(used) else f"{_left_out(used)} "
    notes = [_left_out(used)] if any(used) and not all(used) else []
    if found is None and start:
        return Section(KEY, TITLE, f"{start}{_score_alone(told, 'Without it')}", verdict="open")
    if found is None:
        answer = "Nobody knows yet: this run has no control without the graph."
        return Section(KEY, TITLE, f"{answer} {_score_alone(told, 'With it')} {_HOW}", notes, verdict="open")
    answer = f"{start}{_answer(found)}"
    notes += _notes(found)
    return Section(KEY, TITLE, answer, notes, [_figure(found)], [_table(found)], verdict=found.verdict)


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


def _rows(rows: int | None) -> str:
    return "the validation rows" if rows is None else count(rows, "validation row")


def _answer(found: Gain) -> str:
    start = {"good": "Yes: ", "bad": "No, it did harm: ", "open": "Not clear: "}[found.verdict]
    score = found.score
    graph = f"with the graph the network is {score.network_is(found.mean[0])} {_rows(found.rows)}"
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
        errors = f"by the number of validation rows alone, the two figures have standard errors of {errors} points"
    if found.seeds > 1:
        spread = " and ".join(found.score.points(s, sign=False) for s in found.std)
        how = "differences of the seeds" if found.paired else "spread of both"
        return [
            f"Spread over the {found.seeds} seeds (standard deviation): {spread}, with and without the graph. The "
            f"interval is Student's t over the {how}." + (f" Beside that, {errors}." if errors else "")
        ]
    note = "There was one seed, so the spread from one training to the next is unknown: --seeds 3 shows it."
    if not errors:
        return [f"{note} One seed says nothing of chance here, so the verdict stays open."]
    beyond = "beyond" if found.verdict != "open" else "not beyond"
    return [
        f"{note} {errors[:1].upper()}{errors[1:]}; the gain is {beyond} what these make likely by chance (95 in 100)."
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
        "validation rows",
    )
    return Shown("gain-table", "Scores on validation rows", columns, rows)


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
    return Figure("gain", "Score on validation rows, without and with the graph", alt, data, layout)
