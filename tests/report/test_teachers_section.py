"""What taught the network: a section of the report, and the summary on the terminal."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ngm
from ngm.cli.training.summary_table import _teachers
from ngm.estimators.persistence import teachers_as_json
from ngm.io.run_folder import JSON
from ngm.recipes.label_matrix import Targets
from ngm.recipes.node_views import NodeViews
from ngm.recipes.stacking import TeacherReport
from ngm.recipes.teachers import predict_all
from ngm.report import page_of
from ngm.report.page import Page
from ngm.report.render import render
from tests.runs_by_hand import ORDER, by_hand, make_run, section, table

NAN = float("nan")
LABELS: dict[str, JSON] = {"task": "labels", "classes": ["a", "b"]}
WEIGHTS = {"x": 0.02, "spreading": 0.18, "x around": 0.8}
SCORES = {"x": 0.5, "spreading": 0.6, "x around": 0.75}


def report_of(
    weights: dict[str, float],
    scores: dict[str, float],
    score: float,
    num_held_out: int,
    assortativity: list[float],
    graphs: dict[str, int] | None = None,
    prior: dict[str, float] | None = None,
) -> TeacherReport:
    """A report in which all teachers but "x" use the only graph, and started alike, unless it is said otherwise."""
    described = {name: f"what {name} does" for name in weights}
    used = {name: 0 for name in weights if name != "x"} if graphs is None else graphs
    first = prior or dict.fromkeys(weights, 1 / len(weights))
    return TeacherReport(described, used, first, weights, scores, score, num_held_out, assortativity)


ONE = report_of(WEIGHTS, SCORES, 0.8, 100, [0.42])


def page_with(folder: Path, report: TeacherReport, model: dict[str, JSON] | None = None) -> Page:
    nodes = by_hand() if model is None else None
    return page_of([make_run(folder / "run", nodes, model=model, teachers=teachers_as_json(report))])


def test_it_comes_after_what_was_run_and_only_where_there_were_teachers(tmp_path: Path) -> None:
    keys = [s.key for s in page_with(tmp_path, ONE).sections]
    assert keys == [*ORDER[:2], "teachers", *ORDER[2:]]
    assert "teachers" not in [s.key for s in page_of([make_run(tmp_path / "paper", by_hand())]).sections]


def test_it_tells_the_score_its_interval_and_the_weight_of_the_graph(tmp_path: Path) -> None:
    said = section(page_with(tmp_path, ONE), "teachers")
    assert said.answer == (
        "Teachers, weighed by labels that they had not seen: together they are right on 80.0 % of 100 held-out labels "
        "(95 % interval 71.1 % to 86.7 %). Those that use the graph have 98 % of the weight, more than before any "
        "label was held out (67 %): held-out labels support the graph."
    )
    assert said.notes[0] == (
        'The best single teacher: with a graph it is "x around" (75.0 %), without one it is "x" (50.0 %).'
    )
    assert said.notes[1].startswith("The graph's assortativity is 0.42: ")


@pytest.mark.parametrize(
    ("alone", "words"),
    [
        (0.3, "70 % of the weight, about as much as before any label was held out."),
        (0.7, "30 % of the weight, less than before any label was held out (67 %): rows alone predict more"),
        (0.95, "5 % of the weight: neighbours add almost nothing to the rows."),
    ],
)
def test_what_to_make_of_the_weights_depends_on_their_number(tmp_path: Path, alone: float, words: str) -> None:
    weights = {"x": alone, "spreading": 0.0, "x around": 1 - alone}
    report = report_of(weights, SCORES, 0.8, 100, [0.42])
    assert words in section(page_with(tmp_path, report), "teachers").answer


def test_teachers_stand_by_weight_in_table_and_plot_with_their_scores(tmp_path: Path) -> None:
    page = page_with(tmp_path, ONE)
    assert [row[:4] for row in table(page, "teachers").rows] == [
        ["x around", "80.0 %", "75.0 %", "yes"],
        ["spreading", "18.0 %", "60.0 %", "yes"],
        ["x", "2.0 %", "50.0 %", "no"],
    ]
    (figure,) = section(page, "teachers").figures
    with_graph, alone = figure.data
    assert (with_graph["y"], with_graph["x"]) == (["x around", "spreading"], [0.8, 0.18])
    assert (alone["y"], alone["customdata"]) == (["x"], ["50.0 %"])
    assert with_graph["marker"] != alone["marker"]
    assert figure.layout["yaxis"]["categoryarray"] == ["x", "spreading", "x around"]  # type: ignore[index, call-overload]
    assert figure.alt == "Weights of the teachers, which add up to 100 %: x around 80.0 %; spreading 18.0 %; x 2.0 %."


def test_without_held_out_labels_no_score_is_made_up(tmp_path: Path) -> None:
    page = page_with(tmp_path, report_of(WEIGHTS, dict.fromkeys(WEIGHTS, NAN), NAN, 0, [0.42]))
    said = section(page, "teachers")
    assert said.answer == (
        "Teachers labelled the rows that it learned from. No label could be held out from them (a class needs two for "
        "that), so their weights are those that they start with. Those that use the graph have 98 % of the weight: "
        "that rests on assortativity alone."
    )
    assert [row[2] for row in table(page, "teachers").rows] == [None, None, None]
    assert "nan" not in json.dumps([said.answer, *said.notes, *(f.alt for f in said.figures)]).lower()


def test_teachers_of_fixed_weights_are_said_to_have_no_scores(tmp_path: Path) -> None:
    weights = {"walkers": 0.5, "embedders": 0.5}
    report = replace(report_of(weights, dict.fromkeys(weights, NAN), NAN, 0, [1.0]), scored=False)
    said = section(page_with(tmp_path, report), "teachers")
    assert said.answer == (
        "Teachers labelled the rows that it learned from. Their weights are fixed: no label was held out from them. "
        "All of them use the graph."
    )
    assert [row[:3] for row in table(page_with(tmp_path / "again", report), "teachers").rows] == [
        ["walkers", "50.0 %", None],
        ["embedders", "50.0 %", None],
    ]
    assert "score" not in " ".join(said.notes)
    assert _teachers(report, "accuracy") == (
        "weights are fixed, no label was held out; 100% of the weight uses the graph; weights: walkers 50%; embedders "
        "50%"
    )


def test_label_sets_are_scored_by_micro_f1(tmp_path: Path) -> None:
    page = page_with(tmp_path, ONE, LABELS)
    assert "at a micro-F1 of 0.800 on 100 held-out rows (95 % interval 0.711 to 0.867)" in (
        section(page, "teachers").answer
    )
    assert table(page, "teachers").columns[2] == "held-out micro-F1"


def test_of_several_graphs_each_has_its_weight_and_assortativity(tmp_path: Path) -> None:
    weights = {"x": 0.1, "spreading 0": 0.2, "x around 1": 0.3, "x around smoothed 1": 0.4}
    page = page_with(
        tmp_path,
        report_of(
            weights,
            dict.fromkeys(weights, 0.5),
            0.5,
            10,
            [0.1, 0.9],
            {"spreading 0": 0, "x around 1": 1, "x around smoothed 1": 1},
        ),
    )
    assert table(page, "teacher-graphs").rows == [["graph 0", "20.0 %", 0.1], ["graph 1", "70.0 %", 0.9]]
    assert "assortativities are 0.10 and 0.90" in section(page, "teachers").notes[1]


def test_of_a_graph_alone_nothing_is_said_of_rows(tmp_path: Path) -> None:
    said = section(page_with(tmp_path, report_of({"spreading": 1.0}, {"spreading": 0.5}, 0.5, 10, [1.0])), "teachers")
    assert said.answer.endswith("All of them use the graph: there were no other inputs.")
    assert not any("assortativity" in note for note in said.notes)
    assert len(said.figures[0].data) == 1


def test_many_teachers_are_drawn_up_to_a_number_and_all_in_the_table(tmp_path: Path) -> None:
    names = [f"view {i}" for i in range(30)]
    page = page_with(tmp_path, report_of(dict.fromkeys(names, 1 / 30), dict.fromkeys(names, 0.5), 0.5, 10, [0.3]))
    assert sum(len(trace["y"]) for trace in section(page, "teachers").figures[0].data) == 20  # type: ignore[arg-type]
    assert len(table(page, "teachers").rows) == 30


def test_names_of_views_are_shown_as_they_are_written(tmp_path: Path) -> None:
    report = report_of(
        {"<b>x</b>": 0.5, "spreading": 0.5}, {"<b>x</b>": 0.5, "spreading": 0.5}, 0.5, 10, [0.3], {"spreading": 0}
    )
    assert "<b>x</b>" not in render(page_with(tmp_path, report))


@pytest.mark.parametrize("key", ["descriptions", "graphs", "prior", "weights", "scores", "held_out", "assortativity"])
def test_damaged_teachers_are_told_by_file_and_key(tmp_path: Path, key: str) -> None:
    content = teachers_as_json(ONE)
    del content[key]
    folder = make_run(tmp_path / "run", by_hand(), teachers=content)
    with pytest.raises(ValueError, match=rf"metrics\.json is damaged \(its teachers lack '{key}'\); train again"):
        page_of([folder])


def test_a_teacher_without_its_score_is_damage(tmp_path: Path) -> None:
    content: dict[str, JSON] = teachers_as_json(ONE) | {"scores": {"x": 0.5}}
    with pytest.raises(ValueError, match="have not one weight and one score each"):
        page_of([make_run(tmp_path / "run", by_hand(), teachers=content)])


def test_every_teacher_says_what_it_does_and_which_graph_it_uses() -> None:
    rng = np.random.default_rng(0)
    views = {"x": rng.random((6, 3), dtype=np.float32), "words": rng.random((6, 2), dtype=np.float32)}
    graph = ngm.Graph.from_edges([[0, 1], [2, 3], [4, 5]])
    targets = Targets(np.eye(2, dtype=np.float32)[[0, 1, 0, 1, 0, 1]])
    for graphs in ([graph], [graph, graph]):
        found = list(predict_all(NodeViews(views, graphs), targets, np.ones(6, dtype=bool)))
        assert len({one.name for one in found}) == len(found)
        assert {one.graph for one in found} == {None, *range(len(graphs))}
        assert len({(one.description, one.graph) for one in found}) == len(found)


def test_a_real_run_has_the_section_and_its_figures(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    label = np.arange(40) % 2
    x = label[:, None] + rng.normal(size=(40, 3))
    edges = [[i, j] for i in range(40) for j in range(i + 2, min(i + 6, 40), 2)]
    y = np.where(np.arange(40) < 12, label, -1)
    model = ngm.NGMClassifier(recipe="auto", epochs=2)
    model.fit(x, y, graph=ngm.Graph.from_edges(edges), folder=tmp_path / "run")
    page = page_of([tmp_path / "run"])
    assert model.teachers_ is not None
    assert "12 held-out labels" in section(page, "teachers").answer
    assert {row[0] for row in table(page, "teachers").rows} == set(model.teachers_.weights)
    facts = {row[0]: row[1] for row in table(page, "facts").rows}
    assert (facts["labelled rows trained on"], facts["rows that the graph labelled"]) == ("12", "28")


def test_the_terminal_tells_score_interval_and_largest_weights() -> None:
    weights = {"x": 0.1, "spreading": 0.2, "x around": 0.3, "x by hops": 0.4}
    report = report_of(weights, dict.fromkeys(weights, 0.5), 0.8, 100, [0.42])
    assert _teachers(report, "accuracy") == (
        "accuracy 0.800 (95 % interval 0.711 to 0.867) on 100 labels held out from them; 90% of the weight uses the "
        "graph; largest of 4 weights: x by hops 40%; x around 30%; spreading 20%"
    )
    assert _teachers(report, "micro_f1").startswith("micro F1 0.800 (95 % interval 0.711 to 0.867) on 100 rows held")
    none = report_of(WEIGHTS, dict.fromkeys(WEIGHTS, NAN), NAN, 0, [0.42])
    assert _teachers(none, "accuracy") == (
        "no label could be held out; 98% of the weight uses the graph; weights: x around 80%; spreading 18%; x 2%"
    )


def test_teachers_without_a_score_are_neither_the_best_nor_part_of_the_start(tmp_path: Path) -> None:
    """The scored ones started at 1/2 with the graph and have 9/10 of what is left to them now."""
    weights = {"x": 0.05, "spreading": 0.45, "x relearned": 0.05, "x around relearned": 0.45}
    prior = {"x": 0.25, "spreading": 0.25, "x relearned": 0.05, "x around relearned": 0.45}
    graphs = {"spreading": 0, "x around relearned": 0}
    scores = {"x relearned": NAN, "x around relearned": NAN, "x": 0.5, "spreading": 0.6}
    found = report_of(weights, scores, 0.8, 100, [0.42], graphs, prior)
    said = section(page_with(tmp_path, found), "teachers")
    assert "90 % of the weight, more than before any label was held out (50 %)" in said.answer
    assert 'with a graph it is "spreading" (60.0 %), without one it is "x" (50.0 %)' in said.notes[0]
    assert "from all teachers have no score" in said.notes[-1]
