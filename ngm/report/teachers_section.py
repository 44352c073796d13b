"""Teachers of the network: the weight of each teacher of recipe "auto", and its score on labels held out from it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ngm.io.run_folder import JSON
from ngm.recipes.stacking import TeacherReport
from ngm.report.class_names import shorten_name
from ngm.report.page import Cell, Figure, ReportTable, Section
from ngm.report.plotting import BLUE, PALETTE, axis, count, percent, round_significant
from ngm.report.run_reader import RunData
from ngm.report.score_names import MetricFormat

KEY, TITLE = "teachers", "Which teachers labelled the data?"
MAX_BARS = 20  # further teachers are in the table only
_MARGIN = 0.05  # difference of weights that is worth a word


def teachers_section(run: RunData) -> Section | None:
    """Weights and held-out scores of the teachers; None where the network had none."""
    report = run.teachers
    if report is None:
        return None
    metric = MetricFormat({"labels": "micro_f1", "numbers": "r_squared"}.get(run.task, "accuracy"))
    names = sorted(report.weights, key=lambda name: -report.weights[name])
    answer = f"{_held_out_text(report, metric)} {_graph_weight_text(report)}"
    notes = [*_best_teachers_note(report, metric), *_assortativity(report), _about_note(report, run.task)]
    tables = [_table(report, names, metric), *_graphs(report)]
    return Section(KEY, TITLE, answer, notes, [_figure(report, names, metric)], tables)


def _held_out_text(report: TeacherReport, metric: MetricFormat) -> str:
    """The score of all teachers together, or why there is none."""
    if not report.scored:
        return (
            "Teachers labelled the rows that it learned from. Their weights are fixed: no label was held out from them."
        )
    if not report.num_held_out:
        return (
            "Teachers labelled the rows that it learned from. No label could be held out from them (a class needs two "
            "for that), so their weights are those that they start with."
        )
    low, high = (metric.format(bound) for bound in report.interval)
    unit = "row" if metric.metric == "micro_f1" else "label"
    return (
        f"Teachers, weighed by labels that they had not seen: together they are {metric.describe(report.score)} "
        f"{count(report.num_held_out, f'held-out {unit}')} (95 % interval {low} to {high})."
    )


def _graph_weight_text(report: TeacherReport) -> str:
    """How much of the weight the graph's teachers have."""
    graph_weight = report.weight_of_graphs
    graphs = "the graph" if len(report.assortativity) < 2 else "a graph"
    if len(report.graphs) == len(report.weights):
        return f"All of them use {graphs}{': there were no other inputs' if report.scored else ''}."
    weight_text = f"Those that use {graphs} have {100 * graph_weight:.0f} % of the weight"
    if not report.num_held_out:
        return f"{weight_text}: that rests on assortativity alone."
    prior = {name: report.prior[name] for name in _scored(report) or report.prior}  # of others it follows from weights
    prior_weight = sum(weight for name, weight in prior.items() if name in report.graphs) / sum(prior.values())
    prior_text = f"than before any label was held out ({100 * prior_weight:.0f} %)"
    if graph_weight >= prior_weight + _MARGIN:
        return f"{weight_text}, more {prior_text}: held-out labels support the graph."
    if graph_weight > prior_weight - _MARGIN:
        return f"{weight_text}, about as much as before any label was held out."
    if graph_weight >= 0.1:
        return f"{weight_text}, less {prior_text}: rows alone predict more than the graph."
    return f"{weight_text}: neighbours add almost nothing to the rows."


def _scored(report: TeacherReport) -> list[str]:
    """Names of the teachers that labels were held out from."""
    return [name for name, score in report.scores.items() if not math.isnan(score)]


def _best_teachers_note(report: TeacherReport, metric: MetricFormat) -> list[str]:
    """The best single teachers, without a graph and with one."""
    if not report.num_held_out:
        return []
    texts = []
    for of_graph, condition in ((True, "with a graph"), (False, "without one")):
        names = [name for name in _scored(report) if (name in report.graphs) == of_graph]
        if names:
            best = max(names, key=lambda name: report.scores[name])
            texts.append(f'{condition} it is "{shorten_name(best)}" ({metric.format(report.scores[best])})')
    return [f"The best single teacher: {', '.join(texts)}."]


def _assortativity(report: TeacherReport) -> list[str]:
    """Assortativity of the graphs; empty where all teachers use a graph."""
    if not report.assortativity or len(report.graphs) == len(report.weights):
        return []
    figures = " and ".join(f"{value:.2f}" for value in report.assortativity)
    subject = "The graph's assortativity is" if len(report.assortativity) == 1 else "The graphs' assortativities are"
    return [
        f"{subject} {figures}: how much more alike the two ends of an edge are than by chance (0; at most 1) in what "
        "is predicted from their own rows. Near 0, teachers that use a graph start with little weight, "
        "and only held-out labels can give them more."
    ]


def _about_note(report: TeacherReport, task: str) -> str:
    scored_text = "Each teacher was scored on labels that were held out from it. " if report.num_held_out else ""
    if report.num_held_out and len(_scored(report)) < len(report.scores):
        scored_text += "Those that learned from all labels or from all teachers have no score. "
    metric_text = (
        "Micro-F1 counts as many labels of a row as it truly has. " if scored_text and task == "labels" else ""
    )
    own_text = "The scores are the teachers' own; the" if report.scored else "The"
    return (
        f"{scored_text}{metric_text}{own_text} network learned from all labels and from the teachers' soft labels of "
        "the other rows, and needs no graph to predict."
    )


def _table(report: TeacherReport, names: Sequence[str], metric: MetricFormat) -> ReportTable:
    rows: list[list[Cell]] = [
        [
            name,
            percent(report.weights[name]),
            None if math.isnan(report.scores[name]) else metric.format(report.scores[name]),
            "yes" if name in report.graphs else "no",
            report.descriptions[name],
        ]
        for name in names
    ]
    columns = ("teacher", "weight", f"held-out {metric.name}", "uses a graph", "what it does")
    return ReportTable("teachers", "The teachers, by weight", columns, rows, download="teachers.csv")


def _graphs(report: TeacherReport) -> list[ReportTable]:
    """Of several graphs, what each is worth."""
    if len(report.assortativity) < 2:
        return []
    weights = [0.0] * len(report.assortativity)
    for name, weight in report.weights.items():
        if name in report.graphs:
            weights[report.graphs[name]] += weight
    rows: list[list[Cell]] = [
        [f"graph {i}", percent(weight_), value]
        for i, (weight_, value) in enumerate(zip(weights, report.assortativity, strict=True))
    ]
    columns = ("graph", "weight of the teachers that use it", "assortativity")
    return [ReportTable("teacher-graphs", "The graphs", columns, rows, 2)]


def _figure(report: TeacherReport, names: Sequence[str], metric: MetricFormat) -> Figure:
    largest = names[:MAX_BARS]
    data = [
        _bars(report, [name for name in largest if (name in report.graphs) == of_graph], metric, of_graph)
        for of_graph in (True, False)
    ]
    top = "; ".join(f"{shorten_name(name)} {percent(report.weights[name])}" for name in names[:5])
    limit_text = f" (the {MAX_BARS} largest of {len(names)})" if len(names) > MAX_BARS else ""
    others_text = f"; {len(names) - 5} others less" if len(names) > 5 else ""
    order: dict[str, JSON] = {
        "type": "category",
        "categoryorder": "array",
        "categoryarray": [shorten_name(name, 40) for name in reversed(largest)],
    }
    layout: dict[str, JSON] = {
        "xaxis": axis("weight", {"tickformat": ".0%", "rangemode": "tozero"}),
        "yaxis": order,
        "height": 120 + 28 * len(largest),
        "barmode": "overlay",
    }
    alt = f"Weights of the teachers, which add up to 100 %{limit_text}: {top}{others_text}."
    return Figure("teachers", "Weights of the teachers", alt, [bars for bars in data if bars["y"]], layout)


def _bars(report: TeacherReport, names: Sequence[str], metric: MetricFormat, of_graph: bool) -> dict[str, JSON]:
    """The teachers with or without a graph; they differ in pattern as well as in colour."""
    scores = [report.scores[name] for name in names]
    score_texts: list[JSON] = ["not scored" if math.isnan(value) else metric.format(value) for value in scores]
    return {
        "type": "bar",
        "orientation": "h",
        "name": "uses a graph" if of_graph else "reads the row by itself",
        "x": round_significant([report.weights[name] for name in names]),
        "y": [shorten_name(name, 40) for name in names],
        "customdata": score_texts,
        "hovertemplate": f"%{{y}}<br>weight %{{x:.1%}}<br>held-out {metric.name}: %{{customdata}}<extra></extra>",
        "marker": {"color": BLUE if of_graph else PALETTE[3], "pattern": {"shape": "" if of_graph else "/"}},
        "showlegend": True,
    }
