"""The battery: what a method gets to see, cells that are run once, and the sums behind its tables."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

import battery
from battery_parts import cells, kept_cells, problems, summary, tables, texts
from battery_parts.cells import Cell, Result
from battery_parts.methods import METHODS, Method, scaled
from battery_parts.problems import Problem

from ngm import Graph
from ngm.datasets import Dataset, few_label_split, load

Patch = pytest.MonkeyPatch


@pytest.fixture
def digits(monkeypatch: Patch) -> Dataset:
    """Digits with a chain as their graph, so that it is plain which edges must be left."""
    data = load("digits")
    chain = Graph.from_edges([[i, i + 1] for i in range(len(data.y) - 1)])
    changed = Dataset("digits", data.x, data.y, chain, data.train, data.validation, data.test, data.classes)
    monkeypatch.setattr(problems, "load", lambda name: changed)
    problems._loaded.cache_clear()
    problems._without_scored.cache_clear()
    return changed


def test_scored_nodes_are_out_of_the_graph_and_labels_are_of_nodes_left(digits: Dataset, tmp_path: Path) -> None:
    drawn, validation, test = few_label_split(digits.y, 2, seed=3, validation=300, test=500)
    left = np.setdiff1d(np.arange(1797), np.concatenate([validation, test]))
    found = problems.problem("digits", 2, 3, "test", tmp_path)
    assert np.array_equal(found.x, digits.rows[left])
    assert left[found.labeled].tolist() == drawn.tolist()
    assert left[found.graph.edges.numpy()].tolist() == [[i, i + 1] for i in left.tolist() if i + 1 in left]
    assert np.array_equal(found.x_new, digits.rows[test])
    other = problems.problem("digits", 2, 3, "validation", tmp_path)
    assert np.array_equal(other.y_new, digits.y[validation])
    assert np.array_equal(other.x, found.x)


def test_a_method_sees_only_the_labels_drawn(digits: Dataset, tmp_path: Path) -> None:
    found = problems.problem("digits", 2, 0, "validation", tmp_path)
    assert np.flatnonzero(found.y_seen >= 0).tolist() == found.labeled.tolist()
    assert np.bincount(found.y_seen[found.labeled]).tolist() == [2] * 10


def test_text_parts_are_apart_and_hold_enough_of_each_class(monkeypatch: Patch) -> None:
    monkeypatch.setattr(problems, "_TRAIN_TEXTS", 120)
    monkeypatch.setattr(problems, "_VALIDATION_TEXTS", 40)
    y = np.array([0] * 400 + [1] * 40 + [-1] * 60 + [0] * 30 + [1] * 30)
    given, none = [f"text {i}" for i in range(len(y))], np.zeros(0, dtype=np.int64)
    data = Dataset("texts", given, y, None, np.arange(500), none, np.arange(500, 560), ("a", "b"))
    train, validation, test = problems.text_parts(data)
    assert (len(train), len(validation), len(test)) == (120, 40, 60)
    assert not set(train) & set(validation)
    assert (y[np.concatenate([train, validation])] >= 0).all()
    assert (y[train] == 1).sum() >= 25
    official = Dataset("texts", given, y, None, np.arange(440), np.arange(480, 500), np.arange(500, 560), ("a", "b"))
    assert problems.text_parts(official)[1].tolist() == list(range(480, 500))


def test_texts_are_encoded_once_and_graph_and_words_are_of_training_texts(tmp_path: Path, monkeypatch: Patch) -> None:
    encoded: list[int] = []

    class Lengths:
        def encode(self, given: list[str]) -> np.ndarray:  # type: ignore[type-arg]
            return np.array([[len(text), 1.0] for text in given], dtype=np.float32)

    def fit(name: str, given: list[str]) -> Lengths:
        encoded.append(len(given))
        return Lengths()

    monkeypatch.setattr(texts, "fit_encoder", fit)
    given = ["a", "bb", "ccc", "dddd", "eeeee"]
    for _ in range(2):
        rows, graph = texts.vectors_of("few", given, 3, 1, tmp_path)
        assert (rows.shape, graph.num_nodes) == ((5, 4), 3)
    assert encoded == [3, 3]  # two encoders, once each
    texts.vectors_of("few", [*given[:4], "other"], 3, 1, tmp_path)
    assert len(encoded) == 4


def test_counts_get_unit_rows_and_numbers_are_standardised_by_training_rows() -> None:
    counts = sp.csr_matrix(np.diag(np.arange(1.0, 201.0)).astype(np.float32))
    graph, y = Graph.from_edges([[0, 1]], num_nodes=200), np.zeros(200, dtype=np.int64)
    x, _ = scaled(Problem(counts, y, y[:1], graph, counts[:2], y[:2], 1))
    assert np.asarray(x.sum(axis=1)).ravel().tolist() == [1.0] * 200
    numbers = np.random.default_rng(0).normal(3, 5, (200, 4)).astype(np.float32)
    x, new = scaled(Problem(numbers, y, y[:1], graph, numbers[:3] + 100, y[:3], 1))
    np.testing.assert_allclose(x.std(axis=0), 1, rtol=1e-5)
    np.testing.assert_allclose(new - x[:3], 100 / numbers.std(axis=0)[None].repeat(3, axis=0), rtol=1e-4)


@pytest.mark.parametrize("row", METHODS)
def test_every_row_beats_chance_on_digits(row: str, digits: Dataset, tmp_path: Path, monkeypatch: Patch) -> None:
    if row in ("strong", "default", "minilm"):
        pytest.skip("has tests of its own and takes long, or wants texts")
    drawn = problems.problem("digits", 5, 0, "validation", tmp_path)
    if row in ("paper", "propagation-student"):
        drawn = Problem(drawn.x, drawn.y, drawn.labeled, _within_classes(drawn), drawn.x_new, drawn.y_new, 10)
    scores = METHODS[row].run(drawn, 0)
    assert scores.shape == (300, 10)
    assert (scores.argmax(axis=1) == drawn.y_new).mean() > 0.4


def _within_classes(drawn: Problem) -> Graph:
    """A ring through the nodes of each class."""
    rings = [np.flatnonzero(drawn.y == label) for label in range(10)]
    return Graph.from_edges(np.concatenate([np.stack([ring, np.roll(ring, 1)], axis=1) for ring in rings]))


def test_classes_without_a_label_get_a_column_too(digits: Dataset, tmp_path: Path) -> None:
    drawn = problems.problem("digits", 2, 0, "validation", tmp_path)
    few = drawn.labeled[drawn.y[drawn.labeled] != 4]
    some = Problem(drawn.x, drawn.y, few, drawn.graph, drawn.x_new, drawn.y_new, 10)
    scores = METHODS["logistic-regression"].run(some, 0)
    assert scores.shape == (300, 10)
    assert (scores[:, 4] == 0).all()


def test_rows_that_label_spreading_does_not_reach_are_no_class_in_particular() -> None:
    x = np.concatenate([np.full((30, 2), i * 100.0) + np.arange(30)[:, None] for i in range(3)]).astype(np.float32)
    y, graph = np.repeat([0, 1, 1], 30), Graph.from_edges([[0, 1]], num_nodes=90)
    scores = METHODS["label-spreading"].run(Problem(x, y, np.array([0, 30]), graph, x, y, 2), 0)
    assert (scores[:30].argmax(axis=1) == 0).all()
    assert (scores[30:60].argmax(axis=1) == 1).all()
    assert 0.2 < scores[60:].argmax(axis=1).mean() < 0.8


def test_rows_of_zeros_do_not_stand_between_the_others_in_label_spreading() -> None:
    x = np.zeros((90, 80), dtype=np.float32)
    for row in range(60):  # each shares a word with the next of its class
        x[row, [row % 30, (row + 1) % 30]] = 1
        x[row, 40 if row < 30 else 41] = 0.5
    y, graph = np.repeat([0, 1, 0], 30), Graph.from_edges([[0, 1]], num_nodes=90)
    some = sp.csr_matrix(x)
    scores = METHODS["label-spreading"].run(Problem(some, y, np.array([0, 30]), graph, some[:60], y[:60], 2), 0)
    assert (scores.argmax(axis=1) == y[:60]).mean() > 0.9


@pytest.fixture
def counted(monkeypatch: Patch, digits: Dataset) -> list[int]:
    """Seeds with which a row that says class 0 of everything was run."""
    seeds: list[int] = []

    def zero(problem: Problem, seed: int) -> np.ndarray:  # type: ignore[type-arg]
        seeds.append(seed)
        return np.eye(10)[np.zeros(len(problem.y_new), dtype=int)]

    monkeypatch.setitem(METHODS, "plain", Method("plain network", zero))
    return seeds


def test_a_cell_is_run_once_and_again_when_its_settings_change(
    counted: list[int], tmp_path: Path, monkeypatch: Patch
) -> None:
    wanted = cells.cells(["digits"], [1, 2], [], 2, ["plain"], "validation")
    assert len(wanted) == 4
    assert cells.run_all(cells.unfinished(wanted, tmp_path), tmp_path, workers=1) == []
    assert counted == [0, 0, 1, 1]
    assert cells.unfinished(wanted, tmp_path) == []
    found = cells.read_all(wanted, tmp_path)
    assert [result.cell for result in found] == wanted
    _, validation, _ = few_label_split(load("digits").y, 1, 0, 300, 500)
    assert found[0].metrics["accuracy"] == pytest.approx((load("digits").y[validation] == 0).mean())
    assert len(cells.unfinished(wanted, tmp_path, fresh=True)) == 4
    monkeypatch.setattr(cells, "code_digest", lambda: "changed")
    assert len(cells.unfinished(wanted, tmp_path, stale=True)) == 4
    assert cells.unfinished(wanted, tmp_path) == []
    monkeypatch.setitem(METHODS, "plain", Method("plain network", METHODS["plain"].run, version=2))
    assert len(cells.unfinished(wanted, tmp_path)) == 4


def test_other_parts_are_other_cells(tmp_path: Path) -> None:
    one, two = (cells.cells(["trec"], [1], [], 1, ["plain"], part)[0] for part in ("validation", "test"))
    assert one.file(tmp_path) != two.file(tmp_path)
    assert problems.columns("blogcatalog", [1, 2], [10]) == [10]
    rows = {cell.row for cell in cells.cells(["blogcatalog"], [1], [10], 1, list(METHODS), "test")}
    assert rows == {"logistic-regression", "plain", "paper", "default"}
    for dataset, there in (("trec", True), ("acm", False)):
        assert ("minilm" in {cell.row for cell in cells.cells([dataset], [1], [], 1, list(METHODS), "test")}) == there


def test_a_new_work_folder_goes_on_from_the_kept_cells(tmp_path: Path) -> None:
    done = [
        Result(Cell("acm", 5, 1, "plain", "test"), {"accuracy": 2 / 3}, 1.5, 2.5, "digest"),
        Result(Cell("blogcatalog", 10, 0, "plain", "test"), {"micro_f1": 0.1, "macro_f1": 0.2}, 1.0, 2.0, "digest"),
    ]
    file = tmp_path / "cells.csv"
    kept_cells.write_cells(done[::-1], file)
    other = file.read_text(encoding="utf-8").replace(f",plain,{done[1].cell.version},", ",plain,0.0,")
    assert kept_cells.restore_cells(file, tmp_path / "work") == 2
    assert cells.read_all([result.cell for result in done], tmp_path / "work") == done
    assert kept_cells.restore_cells(file, tmp_path / "work") == 0  # what is there stays
    file.write_text(other, encoding="utf-8")
    assert kept_cells.restore_cells(file, tmp_path / "again") == 0  # other settings, other figures
    assert kept_cells.restore_cells(tmp_path / "none.csv", tmp_path / "again") == 0


def test_a_row_that_fails_is_named_and_the_others_go_on(counted: list[int], tmp_path: Path, monkeypatch: Patch) -> None:
    def fail(problem: Problem, seed: int) -> np.ndarray:  # type: ignore[type-arg]
        raise ValueError("no such thing")

    monkeypatch.setitem(METHODS, "paper", Method("paper", fail))
    wanted = cells.cells(["digits"], [1], [], 1, ["paper", "plain"], "validation")
    failed = cells.run_all(wanted, tmp_path, workers=1)
    assert failed == ["digits 1 labels draw 0 paper: ValueError: no such thing"]
    assert counted == [0]
    assert cells.unfinished(wanted, tmp_path) == wanted[:1]


def result(dataset: str, labels: int, draw: int, row: str, accuracy: float, seconds: float = 1.0) -> Result:
    return Result(Cell(dataset, labels, draw, row, "test"), {"accuracy": accuracy}, seconds, 2 * seconds, "code")


RESULTS = [
    result("acm", 1, 0, "logistic-regression", 0.5),
    result("acm", 1, 1, "logistic-regression", 0.7, 3.0),
    result("acm", 1, 0, "plain", 0.55),
    result("acm", 1, 0, "default", 0.65),
    result("acm", 1, 0, "ceiling", 0.99),
    result("cora", 1, 0, "logistic-regression", 0.4),
    result("cora", 1, 0, "plain", 0.4),
    result("cora", 1, 0, "default", 0.3),
    result("trec", 1, 0, "default", 0.9),
]


def test_means_spread_and_seconds_are_over_draws() -> None:
    score = summary.scores_of(RESULTS)[0]
    assert (score.dataset, score.row, score.draws) == ("acm", "logistic-regression", 2)
    assert (score.mean, score.std) == (pytest.approx(0.6), pytest.approx(0.2 / 2**0.5))
    assert (score.processor_seconds, score.wall_seconds) == (2.0, 4.0)


def test_ranks_are_over_data_sets_that_have_every_row_and_leave_the_ceiling_out() -> None:
    ranks = summary.mean_ranks(summary.means_of(summary.scores_of(RESULTS)))
    assert ranks == {1: {"logistic-regression": (2 + 1.5) / 2, "plain": (3 + 1.5) / 2, "default": (1 + 3) / 2}}


def test_gaps_are_points_to_the_best_other_row() -> None:
    found = summary.summarize(RESULTS)
    worst = found["worst"]["1"]  # type: ignore[index]
    assert (worst["plain"]["dataset"], worst["plain"]["best"]) == ("acm", "default")
    assert worst["plain"]["points"] == pytest.approx(-10)
    assert worst["default"]["points"] == pytest.approx(-10)
    gaps = {gap["dataset"]: gap for gap in found["default_against_simple"]}  # type: ignore[attr-defined]
    assert gaps["acm"]["points"] == pytest.approx(5)
    assert gaps["cora"]["points"] == pytest.approx(-10)
    assert set(gaps) == {"acm", "cora"}


def test_tables_show_every_figure_and_the_best_in_bold() -> None:
    text = tables.markdown({"part": "test", **summary.summarize(RESULTS)})
    assert "Scored on test nodes and texts, 1 to 2 draws" in text
    assert f"(images/{battery.PICTURE.name})" in text
    assert "| logistic regression | .600 ± .141 | 2.0 |" in text
    assert "| default | **.650 ± .000** (1 draw) | 1.0 |" in text
    assert "| ceiling | .990 ± .000 (1 draw) | 1.0 |" in text
    assert "| acm | +5.0 (logistic regression) |" in text
    assert "| default | -10.0 (cora) |" in text


def test_the_table_of_the_readme_has_a_few_rows_and_says_which_have_fewer_draws() -> None:
    results = [result("acm", 20, draw, "default", 0.8) for draw in range(3)]
    results += [
        result("acm", 20, 0, "plain", 0.7),
        result("acm", 20, 0, "strong", 0.9),
        result("acm", 5, 0, "plain", 0.1),
    ]
    summed = {"part": "test", **summary.summarize(results)}
    assert "| plain network | **.100 ± .000** (1 draw) | .700 ± .000 (1 draw) | 1.0 |" in tables.markdown(summed)
    assert tables.readme_block(summed).splitlines() == [
        "3 draws (plain network 1):",
        "",
        "| data set | plain network | default | seconds |",
        "| --- | --- | --- | --- |",
        "| acm | .700 ± .000 | **.800 ± .000** | 1.0 |",
    ]


def test_the_pages_are_made_from_the_kept_results() -> None:
    page, readme = (file.read_text(encoding="utf-8") for file in (battery.PAGE, battery.README))
    assert tables.with_block(page, tables.markdown(battery.kept())) == page, "run: python benchmarks/battery.py --page"
    assert tables.with_block(readme, tables.readme_block(battery.kept())) == readme, "run the same"
    assert battery.PICTURE.exists() == battery.RESULTS.exists()
    with pytest.raises(ValueError, match="the page has no lines"):
        tables.with_block("no markers", "")


def test_the_picture_has_a_panel_for_each_data_set(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from battery_parts.picture import draw

    more = [result("acm", 5, 0, row, 0.8) for row in METHODS]
    draw({"part": "test", **summary.summarize([*RESULTS, *more])}, tmp_path / "battery.svg")
    drawn = (tmp_path / "battery.svg").read_text(encoding="utf-8")
    assert drawn.count('id="axes_') == 3


def test_words_that_are_wrong_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for words, text in (
        (["--datasets", "acn"], "there is no data set 'acn' (did you mean 'acm'?)"),
        (["--rows", "defaults"], "there is no row 'defaults' (did you mean 'default'?)"),
        (["--draws", "0"], "--draws is 0; give 1 or more"),
        (["--shares", "90"], "shares up to 80 %"),
    ):
        with pytest.raises(SystemExit):
            battery.arguments(words)
        assert text in capsys.readouterr().err
    assert battery.arguments([]).part == "validation"
    assert "strong" not in battery.arguments([]).rows


def test_json_is_one_object(
    counted: list[int], tmp_path: Path, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--datasets", "digits", "--labels", "1", "--draws", "1", "--rows", "plain", "--workers", "1", "--json"]
    monkeypatch.setattr(sys, "argv", ["battery.py", *words, "--work", str(tmp_path)])
    battery.main()
    found = json.loads(capsys.readouterr().out)
    assert (found["name"], found["part"], found["cells"]) == ("battery", "validation", 1)
    assert found["scores"][0]["row"] == "plain"
