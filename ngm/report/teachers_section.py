"""What taught the network: the weight of each teacher of recipe "auto", and its score on labels held out from it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ngm.io.run_folder import JSON
from ngm.recipes.stacking import TeacherReport
from ngm.report.class_names import brief
from ngm.report.page import Figure, Section, Shown
from ngm.report.plotting import BLUE, PALETTE, axis, count, percent, rounded
from ngm.report.run_reader import Told
from ngm.report.score_names import Score

KEY, TITLE = "teachers", "What taught this network?"
MAX_BARS = 20  # further teachers are in the table only
_MARGIN = 0.05  # difference of weights that is worth a word
Cell = str | int | float | None


def teachers_section(told: Told) -> Section | None:
    """Weights and held-out scores of the teachers; None where the network had none."""
    found = told.teachers
    if found is None:
        return None
    score = Score("micro_f1" if told.task == "labels" else "accuracy")
    names = sorted(found.weights, key=lambda name: -found.weights[name])
    answer = f"{_held_out(found, score)} {_share_of_graph(found)}"
    notes = [*_best(found, score), *_assortativity(found), _about(found, told.task)]
    tables = [_table(found, names, score), *_graphs(found)]
    return Section(KEY, TITLE, answer, notes, [_figure(found, names, score)], tables)


def _held_out(found: TeacherReport, score: Score) -> str:
    """The score of all teachers together, or why there is none."""
    if not found.num_held_out:
        return (
            "Teachers labelled the rows that it learned from. No label could be held out from them (a class needs two "
            "for that), so their weights are those that they start with."
        )
    low, high = (score.said(end) for end in found.interval)
    what = "row" if score.metric == "micro_f1" else "label"
    return (
        f"Teachers, weighed by labels that they had not seen: together they are {score.network_is(found.score)} "
        f"{count(found.num_held_out, f'held-out {what}')} (95 % interval {low} to {high})."
    )


def _share_of_graph(found: TeacherReport) -> str:
    """How much of the weight is the graph's, and what that says."""
    share = found.weight_of_graphs
    graphs = "the graph" if len(found.assortativity) < 2 else "a graph"
    if len(found.graphs) == len(found.weights):
        return f"All of them use {graphs}: there was nothing else to learn from."
    words = f"Those that use {graphs} have {100 * share:.0f} % of the weight"
    if not found.num_held_out:
        return f"{words}: that rests on assortativity alone."
    first = sum(weight for name, weight in found.prior.items() if name in found.graphs)
    before = f"than before any label was held out ({100 * first:.0f} %)"
    if share >= first + _MARGIN:
        return f"{words}, more {before}: held-out labels speak for the graph."
    if share > first - _MARGIN:
        return f"{words}, about as much as before any label was held out."
    if share >= 0.1:
        return f"{words}, less {before}: a row by itself tells more than the graph promised."
    return f"{words}: neighbours add next to nothing to what a row tells by itself."


def _best(found: TeacherReport, score: Score) -> list[str]:
    """The best single teachers, without a graph and with one."""
    if not found.num_held_out:
        return []
    said = []
    for of_graph, words in ((True, "with a graph"), (False, "without one")):
        names = [name for name in found.scores if (name in found.graphs) == of_graph]
        if names:
            best = max(names, key=lambda name: found.scores[name])
            said.append(f'{words} it is "{brief(best)}" ({score.said(found.scores[best])})')
    return [f"The best single teacher: {', '.join(said)}."]


def _assortativity(found: TeacherReport) -> list[str]:
    """What the graphs look like before any label is held out; nothing where there was only the graph to look at."""
    if not found.assortativity or len(found.graphs) == len(found.weights):
        return []
    figures = " and ".join(f"{value:.2f}" for value in found.assortativity)
    whose = "The graph's assortativity is" if len(found.assortativity) == 1 else "The graphs' assortativities are"
    return [
        f"{whose} {figures}: how much more alike the two ends of an edge are than by chance (0; at most 1) in what is "
        "predicted from their own rows. Near 0, teachers that use a graph start with little weight, "
        "and only held-out labels can give them more."
    ]


def _about(found: TeacherReport, task: str) -> str:
    scored = "Each teacher was scored on labels that were held out from it. " if found.num_held_out else ""
    how = "Micro-F1 counts as many labels of a row as it truly has. " if scored and task == "labels" else ""
    return (
        f"{scored}{how}The scores are the teachers' own; the network learned from all labels and from what the "
        "teachers say of the other rows, and reads a row without the graph."
    )


def _table(found: TeacherReport, names: Sequence[str], score: Score) -> Shown:
    rows: list[list[Cell]] = [
        [
            name,
            percent(found.weights[name]),
            None if math.isnan(found.scores[name]) else score.said(found.scores[name]),
            "yes" if name in found.graphs else "no",
            found.descriptions[name],
        ]
        for name in names
    ]
    columns = ("teacher", "weight", f"held-out {score.name}", "uses a graph", "what it does")
    return Shown("teachers", "The teachers, by weight", columns, rows, download="teachers.csv")


def _graphs(found: TeacherReport) -> list[Shown]:
    """Of several graphs, what each is worth."""
    if len(found.assortativity) < 2:
        return []
    shares = [0.0] * len(found.assortativity)
    for name, weight in found.weights.items():
        if name in found.graphs:
            shares[found.graphs[name]] += weight
    rows: list[list[Cell]] = [
        [f"graph {i}", percent(share), value]
        for i, (share, value) in enumerate(zip(shares, found.assortativity, strict=True))
    ]
    columns = ("graph", "weight of the teachers that use it", "assortativity")
    return [Shown("teacher-graphs", "The graphs", columns, rows, 2)]


def _figure(found: TeacherReport, names: Sequence[str], score: Score) -> Figure:
    shown = names[:MAX_BARS]
    data = [
        _bars(found, [name for name in shown if (name in found.graphs) == of_graph], score, of_graph)
        for of_graph in (True, False)
    ]
    top = "; ".join(f"{brief(name)} {percent(found.weights[name])}" for name in names[:5])
    more = f" (the {MAX_BARS} largest of {len(names)})" if len(names) > MAX_BARS else ""
    rest = f"; {len(names) - 5} others less" if len(names) > 5 else ""
    order: dict[str, JSON] = {
        "type": "category",
        "categoryorder": "array",
        "categoryarray": [brief(name, 40) for name in reversed(shown)],
    }
    layout: dict[str, JSON] = {
        "xaxis": axis("weight", {"tickformat": ".0%", "rangemode": "tozero"}),
        "yaxis": order,
        "height": 120 + 28 * len(shown),
        "barmode": "overlay",
    }
    alt = f"Weights of the teachers, which add up to 100 %{more}: {top}{rest}."
    return Figure("teachers", "Weights of the teachers", alt, [bars for bars in data if bars["y"]], layout)


def _bars(found: TeacherReport, names: Sequence[str], score: Score, of_graph: bool) -> dict[str, JSON]:
    """The teachers with or without a graph; they differ in pattern as well as in colour."""
    scores = [found.scores[name] for name in names]
    said: list[JSON] = ["not scored" if math.isnan(value) else score.said(value) for value in scores]
    return {
        "type": "bar",
        "orientation": "h",
        "name": "uses a graph" if of_graph else "reads the row by itself",
        "x": rounded([found.weights[name] for name in names]),
        "y": [brief(name, 40) for name in names],
        "customdata": said,
        "hovertemplate": f"%{{y}}<br>weight %{{x:.1%}}<br>held-out {score.name}: %{{customdata}}<extra></extra>",
        "marker": {"color": BLUE if of_graph else PALETTE[3], "pattern": {"shape": "" if of_graph else "/"}},
        "showlegend": True,
    }
