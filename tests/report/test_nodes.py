"""What a report says of the nodes: errors, the hidden space, edges, and what to label next."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import f1_score, mean_squared_error, r2_score
from threadpoolctl import threadpool_limits

import ngm
from ngm.io.run_folder import JSON
from ngm.report import hidden_section as hidden
from ngm.report import page_of, write_report
from ngm.report.distances_section import distances, fraction_shorter
from ngm.report.errors_section import top_confusions
from ngm.report.hidden_section import project_to_2d
from ngm.report.lists_section import skip_neighbors
from ngm.report.page import Page
from tests.runs_by_hand import ORDER, blobs, by_hand, make_run, objects, section, table

pytestmark = pytest.mark.usefixtures("few_places")


@pytest.fixture
def page(tmp_path: Path) -> Page:
    return page_of([make_run(tmp_path / "run", by_hand())])


# Where is it wrong?


def test_confusion_and_scores_by_class_are_right(page: Page) -> None:
    """Of the two validation rows a is taken for a and b for a."""
    said = section(page, "wrong")
    assert said.figures[0].data[0]["customdata"] == [[1, 0], [1, 0]]
    assert table(page, "classes").rows == [["a", 0.5, 1.0, 0.6667, 1], ["b", 0.0, 0.0, 0.0, 1]]
    assert said.answer == (
        "1 of 2 validation rows are wrong, 50.0 % are right. Most often class b is taken for a: 1 time. The weakest "
        "class is b, with an F1 of 0.00 on 1 row."
    )
    assert not said.notes


def test_without_validation_rows_training_rows_are_used_with_a_warning(tmp_path: Path) -> None:
    role = objects(["labelled"] * 4 + ["unlabelled"] * 2)
    said = section(page_of([make_run(tmp_path / "run", replace(by_hand(), role=role))]), "wrong")
    assert said.answer.startswith("1 of 4 training rows are wrong, 75.0 % are right.")
    assert said.notes[0].startswith(
        "There are no validation rows, so these are the rows that the network was trained on"
    )


def test_confusions_are_listed_by_how_often_they_happen() -> None:
    matrix = np.array([[5, 0, 2], [1, 4, 0], [3, 0, 9]])
    assert top_confusions(matrix, ["x", "y", "z"]) == [
        ("z", "x", 3, "25.0 %"),
        ("x", "z", 2, "28.6 %"),
        ("y", "x", 1, "20.0 %"),
    ]


def test_a_hundred_and_fifty_classes_stay_readable(tmp_path: Path) -> None:
    names = [f"class {c}" for c in range(150)]
    model: dict[str, JSON] = {"task": "classes", "classes": list(names)}
    page = page_of([make_run(tmp_path / "run", blobs(900, 150), model)])
    heatmap = section(page, "wrong").figures[0]
    assert "text" not in heatmap.data[0]
    assert np.shape(heatmap.data[0]["z"]) == (150, 150)
    assert heatmap.alt.endswith("and 130 more classes, in the table.")
    assert len(table(page, "confusions").rows) == 20
    rows = table(page, "classes").rows
    f1 = [float(r[3] or 0) for r in rows if r[4]]
    assert f1 == sorted(f1)  # the weakest first
    assert len(rows) == 150
    assert len(dict(table(page, "facts").rows)["classes"]) < 200  # type: ignore[arg-type]


def test_several_labels_have_a_score_each(tmp_path: Path) -> None:
    x, truth = ngm.datasets.load("digits").x[:200], ngm.datasets.load("digits").y[:200]
    y = np.stack([truth % 2 == 0, truth > 4, truth % 3 == 0], axis=1).astype(int)
    shown = np.where(np.arange(200)[:, None] < 150, y, -1)
    ids = np.arange(100, 150)
    model = ngm.NGMClassifier(recipe="paper", epochs=3, hidden=(16,), validation=ids)
    model.fit(x, shown, graph=[ngm.knn_graph(x, k=3), ngm.knn_graph(x, k=1)], folder=tmp_path / "run")
    page = page_of([tmp_path / "run"])
    predicted = model.predict(x[ids])
    micro, macro = (f1_score(y[ids], predicted, average=how, zero_division=0) for how in ("micro", "macro"))
    assert f"Micro-F1 {micro:.3f} and macro-F1 {macro:.3f} over 3 labels on 50 validation rows" in (
        section(page, "wrong").answer
    )
    each = f1_score(y[ids], predicted, average=None, zero_division=0)
    assert [r[3] for r in table(page, "labels").rows] == [round(v, 4) for v in each.tolist()]
    assert [r[0] for r in table(page, "closeness").rows][-3:] == ["graph 0", "graph 1", "random pairs"]
    assert [s.key for s in page.sections] == ORDER


def test_several_labels_go_by_the_names_that_the_user_gave(tmp_path: Path) -> None:
    label = objects(['["red", "big"]', "[]", '["red"]', '["big"]', None, None])
    said = objects(['["red", "big"]', "[]", '["red", "big"]', "[]", '["red"]', "[]"])
    found = replace(by_hand(), label=label, predicted=said)
    model: dict[str, JSON] = {"task": "labels", "classes": [0, 1]}
    page = page_of([make_run(tmp_path / "run", found, model, data={"label_names": ["big", "red"]})])
    assert [r[:4] for r in table(page, "labels").rows] == [["big", 0, 0, 0], ["red", 1, 1, 1]]
    assert dict(table(page, "facts").rows)["labels"] == "big, red"
    make_run(tmp_path / "run", found, model)
    with pytest.raises(
        ValueError,
        match=(
            r"\Aa recorded node has the label 'red', which is not one of 0, 1; train "
            r"again\Z"
        ),
    ):
        page_of([tmp_path / "run"])


def test_numbers_are_judged_by_their_residuals(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 4)).astype(np.float32)
    y = 10 + 3 * x[:, 0]
    ids = np.arange(20, 40)
    model = ngm.NGMRegressor(epochs=20, hidden=(16,), validation=ids)
    model.fit(x, np.where(np.arange(90) < 40, y, np.nan), graph=ngm.knn_graph(x, k=3), folder=tmp_path / "run")
    page = page_of([tmp_path / "run"])
    predicted = model.predict(x[ids])
    rmse, r2 = math.sqrt(mean_squared_error(y[ids], predicted)), r2_score(y[ids], predicted)
    said = section(page, "wrong").answer
    assert f"off by {rmse:.3g}" in said or f"off by {rmse:.4g}" in said
    assert f"R squared is {r2:.3f}." in said
    worst = table(page, "worst").rows[0]
    furthest = int(ids[np.abs(predicted - y[ids]).argmax()])
    assert worst[0] == str(furthest)
    h = model.transform(x)
    far = np.array([np.linalg.norm(h[:20] - h[i], axis=1).min() for i in range(40, 90)])
    assert table(page, "uncertain").rows[0][0] == str(40 + int(far.argmax()))
    assert [s.key for s in page.sections] == [*ORDER[:2], "teachers", *ORDER[2:]]
    space = section(page, "space").space
    assert space is not None
    assert len(space.classes) == 5
    assert space.kind == "numbers"
    assert section(page, "graph").verdict is None


# The hidden space


def test_the_space_has_every_kept_node_once(page: Page) -> None:
    space = section(page, "space").space
    assert space is not None
    assert space.ids == ["0", "1", "2", "3", "4", "5"]
    assert list(space.label) == [0, 1, 0, 1, -1, -1]
    assert list(space.predicted) == [0, 1, 0, 0, 1, 0]
    assert list(space.role) == [0, 0, 1, 1, 2, 2]
    assert list(space.edges) == [0, 1, 0, 2, 1, 4, 2, 3]
    assert list(space.probability) == [1.0, 0.9, 0.8, 0.7, 0.55, 0.6]
    assert max(max(space.x) - min(space.x), max(space.y) - min(space.y)) == 200


def test_neighbours_stay_together_in_two_dimensions_whether_laid_out_or_placed_between(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hidden, "MAX_TSNE_NODES", 200)
    found = blobs(600, 8)
    places, how = project_to_2d(found.hidden)
    assert "It laid out 200 nodes" in how
    own = np.array([int(str(label).split()[1]) if label else -1 for label in found.label])
    gaps = np.linalg.norm(places[:, None] - places[None], axis=2) + np.where(np.eye(600), np.inf, 0)
    known = own >= 0
    nearest = own[known][gaps[np.ix_(known, known)].argmin(axis=1)]
    assert (nearest == own[known]).mean() > 0.95


def test_the_same_vectors_give_the_same_picture_on_any_number_of_threads() -> None:
    h = blobs(120, 4).hidden
    with threadpool_limits(1):
        first = project_to_2d(h)[0]
    with threadpool_limits(4):
        second = project_to_2d(h)[0]
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("h", [np.zeros((30, 5)), np.arange(30.0)[:, None], np.ones((2, 3))])
def test_vectors_without_two_dimensions_are_drawn_as_they_are(h: NDArray[np.float64]) -> None:
    places, how = project_to_2d(h.astype(np.float32))
    assert how == "Two dimensions of h as they are."
    assert np.isfinite(places).all()


# Edges


def test_medians_across_edges_are_those_worked_out_by_hand(page: Page) -> None:
    rows = {r[0]: r[1:4] for r in table(page, "closeness").rows}
    assert rows["all edges"] == [4, 2.5, 3.0]
    assert rows["edges LL"] == [1, 1.0, 5.0]
    assert rows["edges LU"] == [2, 3.0, 3.0]
    assert rows["edges UU"] == [1, 3.0, 1.0]  # validation nodes were unlabelled in training


def test_share_of_shorter_edges_is_that_of_a_plain_loop() -> None:
    rng = np.random.default_rng(0)
    edges, pairs = rng.integers(6, size=40).astype(float), rng.integers(6, size=30).astype(float)
    wins = sum(1.0 if a < b else 0.5 if a == b else 0.0 for a in edges for b in pairs)
    assert fraction_shorter(edges, pairs) == pytest.approx(wins / (40 * 30))


def test_random_pairs_know_nothing_of_random_edges(tmp_path: Path) -> None:
    model: dict[str, JSON] = {"task": "classes", "classes": [f"class {c}" for c in range(4)]}
    page = page_of([make_run(tmp_path / "run", blobs(1500, 4), model)])
    shares = [float(str(cell).removesuffix(" %")) for cell in table(page, "closeness").rows[0][4:]]
    assert shares == pytest.approx([50, 50], abs=2)


def test_edges_within_four_far_classes_are_shorter_seven_times_in_eight(tmp_path: Path) -> None:
    """Three of four random pairs join two classes and are longer; of the fourth, within a class, half are."""
    found = blobs(1200, 4)
    own = np.array([i % 4 for i in range(1200)])
    far = 50 * np.eye(4, 20)[own] + np.random.default_rng(0).normal(size=(1200, 20))
    near = np.array([[i, (i + 4 * step) % 1200] for i in range(1200) for step in (7, 90)])
    found = replace(found, hidden=far.astype(np.float32), edges=near, weight=np.ones(2400, dtype=np.float32))
    found = replace(found, graph=np.zeros(2400, dtype=np.int64))
    model: dict[str, JSON] = {"task": "classes", "classes": [f"class {c}" for c in range(4)]}
    page = page_of([make_run(tmp_path / "run", found, model)])
    before, after = (float(str(cell).removesuffix(" %")) for cell in table(page, "closeness").rows[0][4:])
    assert before == pytest.approx(50, abs=2)
    assert after == pytest.approx(87.5, abs=2)
    assert section(page, "closer").verdict == "good"


@pytest.mark.parametrize(
    ("distance", "layer", "used"),
    [("l1", None, "l1"), ("js", None, "l2"), ("js", "output", "js"), ("function own", None, "l2")],
)
def test_the_distance_is_the_runs_own_where_it_fits_hidden_vectors(
    tmp_path: Path, distance: str, layer: str | None, used: str
) -> None:
    page = page_of([make_run(tmp_path / "run", by_hand(), settings={"distance": distance, "layer": layer})])
    assert table(page, "closeness").caption.startswith(f"Distances ({used}) of hidden vectors")
    expected = distances(by_hand().hidden, by_hand().edges, used)
    assert table(page, "closeness").rows[0][3] == pytest.approx(float(np.median(expected)))
    assert len(section(page, "closer").notes) == (1 if used == distance else 2)


def test_the_most_expensive_edges_come_first(page: Page) -> None:
    """Costs by hand: 1 x 5, 2 x 1, 0.5 x 5, 1 x 1."""
    rows = table(page, "expensive").rows
    assert [[*r[:3], *r[7:]] for r in rows] == [
        ["0", "1", 5.0, "LL", 1.0, 5.0],
        ["1", "4", 2.5, "LU", 0.5, 5.0],
        ["0", "2", 2.0, "LU", 2.0, 1.0],
        ["2", "3", 1.0, "UU", 1.0, 1.0],
    ]
    assert rows[1][3:7] == ["b", "b", "b", None]
    assert section(page, "edges").answer == (
        "The most expensive edge joins nodes 0 and 1 (weight 1, distance 5); the dearest 1 % of 4 edges make up 48% of "
        "all cost. In 1 of the 4 below the two ends have different predictions."
    )


def test_fifty_edges_are_shown_and_a_thousand_can_be_taken(tmp_path: Path) -> None:
    names: list[JSON] = [f"class {c}" for c in range(4)]
    page = page_of([make_run(tmp_path / "run", blobs(1500, 4), {"task": "classes", "classes": names})])
    dear = table(page, "expensive")
    assert (len(dear.rows), len(dear.more), dear.download) == (50, 950, "expensive-edges.csv")
    cost = [float(r[2] or 0) for r in (*dear.rows, *dear.more)]
    assert cost == sorted(cost, reverse=True)
    unsure = table(page, "uncertain")
    assert (len(unsure.rows), unsure.download) == (50, "label-next.csv")


def test_a_collapsed_run_says_so_instead_of_dividing_by_zero(tmp_path: Path) -> None:
    flat = replace(by_hand(), hidden=np.zeros((6, 2), dtype=np.float32))
    page = page_of([make_run(tmp_path / "run", flat)])
    assert section(page, "closer").answer.startswith("Unknown: after training all nodes have the same")
    assert section(page, "edges").answer.startswith("None costs anything")
    assert write_report(tmp_path / "run") == tmp_path / "run" / "report.html"
    assert "Unknown: after training" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


def test_degrees_and_the_diagnosis_are_those_of_the_kept_graph(page: Page) -> None:
    said = section(page, "graph")
    assert "6 nodes, 4 edges: a median of 2 edges at a node, 2 at most; 1 node without any." in said.answer
    assert (said.figures[0].data[0]["x"], said.figures[0].data[0]["y"]) == (["0", "1", "2"], [1, 2, 3])
    graph = ngm.Graph.from_edges([[0, 1], [0, 2], [1, 4], [2, 3]], [1.0, 2.0, 0.5, 1.0], num_nodes=6)
    found = ngm.diagnose(graph, ["a", "b", None, None, None, None])
    assert said.verdict == {"helps": "good", "unclear": "open", "hurts": "bad"}[found.verdict]
    assert all(f"Advice: {advice}." in said.notes for advice in found.advice)
    assert table(page, "pairs").rows == [["a", "b", 1, "100.0%", "50.0%"]]


# What to label next


def test_the_least_certain_unlabelled_node_comes_first(page: Page) -> None:
    assert table(page, "uncertain").rows == [["4", "b", 0.55, 0.1], ["5", "a", 0.6, 0.2]]
    assert section(page, "next").answer == (
        "Start with node 4: the network says b, with a margin of 0.100. Of 2 unlabelled nodes 0 have a margin "
        "below 0.1."
    )


def test_neighbours_of_a_listed_node_are_left_out() -> None:
    graph = ngm.Graph.from_edges([[0, 1], [1, 2], [2, 3], [3, 4]])
    assert skip_neighbors(np.array([2, 1, 3, 4, 0]), graph, 10) == [2, 4, 0]
    assert skip_neighbors(np.array([2, 1, 3, 4, 0]), graph, 2) == [2, 4]


def test_users_names_and_texts_are_in_the_lists(tmp_path: Path) -> None:
    make_run(tmp_path / "run", by_hand().named(ids=list("uvwxyz"), texts=["a text " * 100] + ["short"] * 5))
    page = page_of([tmp_path / "run"])
    assert table(page, "uncertain").rows[0] == ["y", "b", 0.55, 0.1, "short"]
    dear = table(page, "expensive")
    assert list(dear.columns)[5:7] == ["u text", "v text"]
    assert 150 < len(str(dear.rows[0][5])) <= 160
