"""How training went: cost terms, the validation score and the length of h, epoch by epoch."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ngm.io.run_folder import JSON
from ngm.report.page import Figure, Section
from ngm.report.plotting import RED, as_int, axis, capitalize, count, line, round_significant
from ngm.report.run_reader import RunData
from ngm.report.score_names import MetricFormat

KEY, TITLE = "curves", "How did training go?"
TERMS = {
    "total": "total",
    "supervised": "labels",
    "ll": "edges LL",
    "lu": "edges LU",
    "uu": "edges UU",
    "repulsion": "pairs held apart",
}
_MAX_POINTS = 1000  # points of a curve
_VALIDATION = "validation_"


def curves_section(run: RunData) -> Section:
    """Three plots: costs, the score, h."""
    history = run.history
    if not history:
        return Section(KEY, TITLE, "The history is empty: training ran no epoch.")
    costs, score, hidden = cost_figure(run), score_figure(run), _hidden_figure(run)
    figures = [figure for figure in (costs, score, hidden) if figure is not None]
    best = as_int(run.metrics["best_epoch"])
    best_epoch_text, metric = f"the weights of epoch {best + 1} are kept", validation_metric(run)
    if metric is not None and 0 <= best < len(history):
        best_score = f"{metric.name} {metric.format(validation_scores(run, metric)[best])}"
        best_epoch_text = f"the score on validation rows was best after epoch {best + 1}: {best_score}"
    answer, verdict = (
        f"{_cost_trend(history)}; {best_epoch_text}.{_collapse_text(run)}",
        "bad" if best in _collapsed_epochs(run) else None,
    )
    return Section(KEY, TITLE, answer, _notes(run), figures, verdict=verdict)


def _cost_trend(history: Sequence[dict[str, float]]) -> str:
    first, last = history[0]["total"], history[-1]["total"]
    if len(history) == 1:
        return f"The total cost was {last:.4g} after the one epoch"
    took = f"in {count(len(history), 'epoch')}"
    if first == last:
        return f"The cost stayed at {last:.4g} {took}"
    return f"The total cost {'fell' if last < first else 'rose'} from {first:.4g} to {last:.4g} {took}"


def _collapse_text(run: RunData) -> str:
    """Whether h collapsed, and for how long."""
    collapsed = _collapsed_epochs(run)
    if not collapsed:
        return ""
    if len(collapsed) == len(run.history) - collapsed[0]:
        epochs_text = f"From epoch {collapsed[0] + 1} on"
    else:
        epochs_text = f"In {count(len(collapsed), 'epoch')} (first {collapsed[0] + 1})"
    remedy = (
        "Lower the alphas." if as_int(run.metrics["best_epoch"]) in collapsed else "The kept epoch is not among them."
    )
    return f" {epochs_text} h had collapsed: all nodes looked alike. {remedy}"


def validation_metric(run: RunData) -> MetricFormat | None:
    """The validation score that chose the epoch; None without validation."""
    names = [name for name in (run.history[0] if run.history else {}) if name.startswith(_VALIDATION)]
    return MetricFormat(names[0].removeprefix(_VALIDATION)) if names else None


def validation_scores(run: RunData, score: MetricFormat) -> list[float]:
    """The score of every epoch, as it is kept."""
    return [record.get(_VALIDATION + score.metric, math.nan) for record in run.history]


def cost_figure(run: RunData) -> Figure:
    """The cost terms that are not always 0."""
    indices, epochs = _epochs(run)
    terms = [term for term in TERMS if any(record[term] != 0 for record in run.history)]
    if terms == ["total", "supervised"]:
        terms = ["supervised"]
    data = [
        line(TERMS[term], epochs, round_significant([run.history[i][term] for i in indices]), n)
        for n, term in enumerate(terms)
    ]
    ranges = "; ".join(f"{TERMS[t]} {run.history[0][t]:.4g} to {run.history[-1][t]:.4g}" for t in terms)
    layout: dict[str, JSON] = {"xaxis": axis("epoch"), "yaxis": axis("cost"), "height": 360}
    return Figure("cost", "Cost by its terms", f"Cost from the first to the last epoch: {ranges}.", data, layout)


def score_figure(run: RunData) -> Figure | None:
    """The validation score with the kept epoch marked."""
    metric = validation_metric(run)
    if metric is None:
        return None
    name, scores = metric.name, validation_scores(run, metric)
    indices, epochs = _epochs(run)
    best = as_int(run.metrics["best_epoch"])
    data = [line(name, epochs, round_significant([metric.display_value(scores[i]) for i in indices]), 0)]
    if 0 <= best < len(scores):
        marker: JSON = {"color": RED, "size": 12, "symbol": "diamond"}
        point: dict[str, JSON] = {
            "x": [best + 1],
            "y": round_significant([metric.display_value(scores[best])]),
            "marker": marker,
        }
        data.append({"type": "scatter", "mode": "markers", "name": f"kept: epoch {best + 1}", **point})
    alt = (
        f"{capitalize(name)} on validation rows: {metric.format(scores[0])} after the first epoch, "
        f"{metric.format(scores[best])} at the kept epoch {best + 1}, {metric.format(scores[-1])} after the last."
    )
    layout: dict[str, JSON] = {"xaxis": axis("epoch"), "yaxis": axis(name), "height": 320}
    return Figure("score", f"{capitalize(name)} on validation rows", alt, data, layout)


def _hidden_figure(run: RunData) -> Figure | None:
    """Mean |h| and the spread of h; None where no edge was trained on, since h was not looked at."""
    indices, epochs = _epochs(run)
    terms = {"h_norm": "mean |h|", "h_spread": "spread of h"}
    if not any(record[term] for record in run.history for term in terms):
        return None
    data = [
        line(name, epochs, round_significant([run.history[i][t] for i in indices]), n)
        for n, (t, name) in enumerate(terms.items())
    ]
    collapsed = _collapsed_epochs(run)
    if collapsed:
        spread = round_significant([run.history[i]["h_spread"] for i in collapsed])
        marker: JSON = {"color": RED, "size": 9, "symbol": "x"}
        points: dict[str, JSON] = {"x": [i + 1 for i in collapsed], "y": spread, "marker": marker}
        data.append({"type": "scatter", "mode": "markers", "name": "collapsed", **points})
    first, last = run.history[0], run.history[-1]
    ranges = "; ".join(f"{name} {first[t]:.4g} to {last[t]:.4g}" for t, name in terms.items())
    collapse_text = f" Collapsed in {count(len(collapsed), 'epoch')}." if collapsed else " It did not collapse."
    layout: dict[str, JSON] = {"xaxis": axis("epoch"), "yaxis": axis("length", {"rangemode": "tozero"}), "height": 320}
    return Figure(
        "hidden-length", "Length and spread of h", f"From first to last epoch: {ranges}.{collapse_text}", data, layout
    )


def _notes(run: RunData) -> list[str]:
    notes = []
    if validation_metric(run) is None:
        notes.append("There were no validation rows, so the last epoch is kept: give validation=0.2 to keep the best.")
    if any(run.graphs_used) and run.strong:
        recipe = run.settings.get("recipe")
        notes.append(
            f"With the recipe {recipe} the graph works through the labels that it spreads, not through edge terms."
        )
    elif any(run.graphs_used) and not any(record[term] for record in run.history for term in ("ll", "lu", "uu")):
        notes.append("The edge terms are 0 throughout: no ends of edges were drawn together.")
    return notes


def _collapsed_epochs(run: RunData) -> list[int]:
    return [i for i, record in enumerate(run.history) if record.get("collapsed")]


def _epochs(run: RunData) -> tuple[Sequence[int], list[JSON]]:
    """Which records to draw, and the numbers of their epochs: all up to a thousand, else an even sample."""
    step = -(-len(run.history) // _MAX_POINTS)
    indices = sorted({*range(0, len(run.history), step), len(run.history) - 1})
    return indices, [i + 1 for i in indices]
