"""How training went: cost terms, the validation score and the length of h, epoch by epoch."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ngm.io.run_folder import JSON
from ngm.report.page import Figure, Section
from ngm.report.plotting import RED, as_int, axis, capital, count, line, rounded
from ngm.report.run_reader import Told
from ngm.report.score_names import Score

KEY, TITLE = "curves", "How did training go?"
TERMS = {
    "total": "total",
    "supervised": "labels",
    "ll": "edges LL",
    "lu": "edges LU",
    "uu": "edges UU",
    "repulsion": "pairs held apart",
}
_MOST = 1000  # points of a curve
_VALIDATION = "validation_"


def curves_section(told: Told) -> Section:
    """Three plots: costs, the score, h."""
    history = told.history
    if not history:
        return Section(KEY, TITLE, "There is no epoch on record: training took none.")
    costs, score, hidden = cost_figure(told), score_figure(told), _hidden_figure(told)
    figures = [figure for figure in (costs, score, hidden) if figure is not None]
    best = as_int(told.metrics["best_epoch"])
    kept, score_ = f"the weights of epoch {best + 1} are kept", score_of(told)
    if score_ is not None and 0 <= best < len(history):
        reached = f"{score_.name} {score_.said(scores_of(told, score_)[best])}"
        kept = f"the score on validation rows was best after epoch {best + 1}: {reached}"
    answer, verdict = f"{_went(history)}; {kept}.{_fell(told)}", "bad" if best in _collapsed(told) else None
    return Section(KEY, TITLE, answer, _notes(told), figures, verdict=verdict)


def _went(history: Sequence[dict[str, float]]) -> str:
    first, last = history[0]["total"], history[-1]["total"]
    if len(history) == 1:
        return f"The total cost was {last:.4g} after the one epoch"
    took = f"in {count(len(history), 'epoch')}"
    if first == last:
        return f"The cost stayed at {last:.4g} {took}"
    return f"The total cost {'fell' if last < first else 'rose'} from {first:.4g} to {last:.4g} {took}"


def _fell(told: Told) -> str:
    """Whether h collapsed, and for how long."""
    collapsed = _collapsed(told)
    if not collapsed:
        return ""
    if len(collapsed) == len(told.history) - collapsed[0]:
        when = f"From epoch {collapsed[0] + 1} on"
    else:
        when = f"In {count(len(collapsed), 'epoch')} (first {collapsed[0] + 1})"
    then = (
        "Lower the alphas." if as_int(told.metrics["best_epoch"]) in collapsed else "The kept epoch is not among them."
    )
    return f" {when} h had collapsed: all nodes looked alike. {then}"


def score_of(told: Told) -> Score | None:
    """The validation score that chose the epoch; None without validation."""
    names = [name for name in (told.history[0] if told.history else {}) if name.startswith(_VALIDATION)]
    return Score(names[0].removeprefix(_VALIDATION)) if names else None


def scores_of(told: Told, score: Score) -> list[float]:
    """The score of every epoch, as it is kept."""
    return [record.get(_VALIDATION + score.metric, math.nan) for record in told.history]


def cost_figure(told: Told) -> Figure:
    """The cost terms, those left out that are always 0."""
    every, epochs = _epochs(told)
    there = [term for term in TERMS if any(record[term] != 0 for record in told.history)]
    if there == ["total", "supervised"]:
        there = ["supervised"]
    data = [
        line(TERMS[term], epochs, rounded([told.history[i][term] for i in every]), n) for n, term in enumerate(there)
    ]
    ends = "; ".join(f"{TERMS[t]} {told.history[0][t]:.4g} to {told.history[-1][t]:.4g}" for t in there)
    layout: dict[str, JSON] = {"xaxis": axis("epoch"), "yaxis": axis("cost"), "height": 360}
    return Figure("cost", "Cost by its terms", f"Cost from the first to the last epoch: {ends}.", data, layout)


def score_figure(told: Told) -> Figure | None:
    """The validation score with the kept epoch marked."""
    score = score_of(told)
    if score is None:
        return None
    words, scores = score.name, scores_of(told, score)
    every, epochs = _epochs(told)
    best = as_int(told.metrics["best_epoch"])
    data = [line(words, epochs, rounded([score.shown(scores[i]) for i in every]), 0)]
    if 0 <= best < len(scores):
        marker: JSON = {"color": RED, "size": 12, "symbol": "diamond"}
        where: dict[str, JSON] = {"x": [best + 1], "y": rounded([score.shown(scores[best])]), "marker": marker}
        data.append({"type": "scatter", "mode": "markers", "name": f"kept: epoch {best + 1}", **where})
    alt = (
        f"{capital(words)} on validation rows: {score.said(scores[0])} after the first epoch, "
        f"{score.said(scores[best])} at the kept epoch {best + 1}, {score.said(scores[-1])} after the last."
    )
    layout: dict[str, JSON] = {"xaxis": axis("epoch"), "yaxis": axis(words), "height": 320}
    return Figure("score", f"{capital(words)} on validation rows", alt, data, layout)


def _hidden_figure(told: Told) -> Figure | None:
    """Mean |h| and the spread of h; None where no edge was trained on, since h was not looked at."""
    every, epochs = _epochs(told)
    terms = {"h_norm": "mean |h|", "h_spread": "spread of h"}
    if not any(record[term] for record in told.history for term in terms):
        return None
    data = [
        line(words, epochs, rounded([told.history[i][t] for i in every]), n)
        for n, (t, words) in enumerate(terms.items())
    ]
    collapsed = _collapsed(told)
    if collapsed:
        spread = rounded([told.history[i]["h_spread"] for i in collapsed])
        marker: JSON = {"color": RED, "size": 9, "symbol": "x"}
        where: dict[str, JSON] = {"x": [i + 1 for i in collapsed], "y": spread, "marker": marker}
        data.append({"type": "scatter", "mode": "markers", "name": "collapsed", **where})
    first, last = told.history[0], told.history[-1]
    ends = "; ".join(f"{words} {first[t]:.4g} to {last[t]:.4g}" for t, words in terms.items())
    fell = f" Collapsed in {count(len(collapsed), 'epoch')}." if collapsed else " It did not collapse."
    layout: dict[str, JSON] = {"xaxis": axis("epoch"), "yaxis": axis("length", {"rangemode": "tozero"}), "height": 320}
    return Figure("hidden-length", "Length and spread of h", f"From first to last epoch: {ends}.{fell}", data, layout)


def _notes(told: Told) -> list[str]:
    notes = []
    if score_of(told) is None:
        notes.append("There were no validation rows, so the last epoch is kept: give validation=0.2 to keep the best.")
    if any(told.graphs_used) and told.strong:
        recipe = told.settings.get("recipe")
        notes.append(
            f"With the recipe {recipe} the graph works through the labels that it spreads, not through edge terms."
        )
    elif any(told.graphs_used) and not any(record[term] for record in told.history for term in ("ll", "lu", "uu")):
        notes.append("The edge terms are 0 throughout: no ends of edges were drawn together.")
    return notes


def _collapsed(told: Told) -> list[int]:
    return [i for i, record in enumerate(told.history) if record.get("collapsed")]


def _epochs(told: Told) -> tuple[Sequence[int], list[JSON]]:
    """Which records to draw, and the numbers of their epochs: all of them up to a thousand, else every so many."""
    step = -(-len(told.history) // _MOST)
    every = sorted({*range(0, len(told.history), step), len(told.history) - 1})
    return every, [i + 1 for i in every]
