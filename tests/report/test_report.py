"""What a report says, on run folders made by hand and by training."""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import ngm
from ngm.estimators.persistence import settings_as_json
from ngm.experiments import demo
from ngm.io.node_records import read_node_records
from ngm.io.run_folder import JSON, Run
from ngm.report import page_of, write_report
from ngm.report.gain_section import Gain
from ngm.report.page import Page, Section
from ngm.report.render import render
from ngm.report.score_names import MetricFormat
from tests import small_digits
from tests.runs_by_hand import ORDER, blobs, by_hand, epoch, make_run, objects, row, section, table

pytestmark = pytest.mark.usefixtures("few_places")


@pytest.fixture
def page(tmp_path: Path) -> Page:
    return page_of([make_run(tmp_path / "run", by_hand())])


def test_sections_come_in_the_order_in_which_people_ask(page: Page) -> None:
    assert [s.key for s in page.sections] == ORDER
    assert all(s.title.endswith("?") for s in page.sections)
    assert all(s.answer.endswith(".") for s in page.sections)


def test_every_plot_tells_its_figures_in_words_and_is_plain_json(page: Page) -> None:
    figures = [figure for s in page.sections for figure in s.figures]
    assert [f.key for f in figures] == ["cost", "score", "hidden-length", "confusion", "closeness", "degrees"]
    for figure in figures:
        assert re.search(r"\d", figure.alt)
        text = json.dumps([list(figure.data), dict(figure.layout)], allow_nan=False)
        assert not set(re.findall(r'"type": "([a-z]+)"', text)) - {"scatter", "bar", "heatmap", "scattergl", "category"}
        assert "#" not in text  # colours are the theme's


# Did the graph help?


def gain_of(page: Page) -> Section:
    return page.sections[0]


def test_without_a_control_it_says_how_to_get_one(page: Page) -> None:
    assert gain_of(page).verdict == "open"
    assert gain_of(page).answer == (
        "Unknown: this run has no control without the graph. With it the network is right on 50.0 % of 2 "
        "validation rows. To find out, train the same network without the graph as well, on the same validation rows: "
        "the same ngm train command with --control --seeds 3."
    )


@pytest.mark.parametrize(
    ("rows", "scores", "verdict"), [(100, (0.8, 0.7), "open"), (400, (0.8, 0.7), "good"), (400, (0.7, 0.8), "bad")]
)
def test_one_seed_is_judged_by_the_interval_of_agresti_and_caffo(
    tmp_path: Path, rows: int, scores: tuple[float, float], verdict: str
) -> None:
    control: JSON = {"with_graph": row(scores[0]), "without_graph": row(scores[1])}
    said = gain_of(page_of([make_run(tmp_path / "run", data={"validation_rows": rows}, control=control)]))
    assert said.verdict == verdict
    right = [round(s * rows) + 1 for s in scores]  # one more right, one more wrong
    errors = [math.sqrt(r * (rows + 2 - r) / (rows + 2) ** 3) for r in right]
    half = 1.959964 * math.sqrt(errors[0] ** 2 + errors[1] ** 2)
    ends = [100 * ((right[0] - right[1]) / (rows + 2) + side * half) for side in (-1, 1)]
    assert f"{ends[0]:+.1f} to {ends[1]:+.1f}" in said.answer
    assert f"a gain of {100 * (scores[0] - scores[1]):+.1f} points" in said.answer
    assert "the spread from one training to the next is unknown" in said.notes[0]
    assert f"standard errors of {100 * errors[0]:.1f} and {100 * errors[1]:.1f} points" in said.notes[0]
    assert f"the gain is {'not beyond' if verdict == 'open' else 'beyond'} what these" in said.notes[0]


def test_one_seed_that_is_always_right_is_not_certain() -> None:
    found = Gain(MetricFormat("accuracy"), (1.0, 1.0), (0.0, 0.0), 1, ([], []), 8)
    half = 1.959964 * math.sqrt(2 * 9 / 10**3)  # 9 of 10 right, twice
    np.testing.assert_allclose(found.interval, (-half, half), rtol=1e-6)
    assert replace(found, mean=(1.0, 0.0)).interval[1] == 1.0  # 0.8 and 0.263 more would be beyond all gains
    np.testing.assert_allclose(replace(found, rows=1).interval, (-1, 1))  # a row is the least step


def test_several_seeds_are_judged_by_a_paired_t_test_and_by_their_rows() -> None:
    rng = np.random.default_rng(0)
    first, second = (rng.normal(mean, 0.02, 5).tolist() for mean in (0.85, 0.8))
    means, stds = (np.mean(first), np.mean(second)), (np.std(first, ddof=1), np.std(second, ddof=1))
    found = Gain(MetricFormat("accuracy"), means, stds, 5, (first, second), None)
    expected = stats.ttest_rel(first, second).confidence_interval(0.95)
    np.testing.assert_allclose(found.interval, (expected.low, expected.high))
    alone = replace(found, scores=([], []))
    half = stats.t.ppf(0.975, 4) * math.sqrt((stds[0] ** 2 + stds[1] ** 2) / 5)
    np.testing.assert_allclose(alone.interval, (found.difference - half, found.difference + half))
    shares = [(50 * mean + 1) / 52 for mean in means]
    by_rows = 1.959964 * math.sqrt(sum(p * (1 - p) for p in shares) / 52)
    for one, by_seeds in ((found, (expected.high - expected.low) / 2), (alone, half)):
        both = math.sqrt(by_seeds**2 + by_rows**2)
        np.testing.assert_allclose(
            replace(one, rows=50).interval, (found.difference - both, found.difference + both), rtol=1e-6
        )


def test_seeds_that_agree_are_no_proof() -> None:
    scores = ([6 / 9, 7 / 9], [5 / 9, 6 / 9])
    found = Gain(MetricFormat("accuracy"), (6.5 / 9, 5.5 / 9), (0.08, 0.08), 2, scores, 9)
    half = 1.959964 * math.sqrt((7.5 * 3.5 + 6.5 * 4.5) / 11**3)
    np.testing.assert_allclose(found.interval, (1 / 9 - half, 1 / 9 + half), rtol=1e-6)
    assert found.verdict == "open"
    f1 = replace(found, score=MetricFormat("micro_f1"))
    np.testing.assert_allclose(f1.interval, (0, 2 / 9), atol=1e-12)  # one row is the least step
    for unknown in (replace(found, rows=None), replace(found, score=MetricFormat("negative_squared_error"))):
        assert (unknown.interval, unknown.verdict) == (None, "open")


def test_seeds_that_all_gain_as_much_on_two_rows_are_not_clear(tmp_path: Path) -> None:
    control: JSON = {
        "with_graph": row(0.85, 0.05, 3),
        "without_graph": row(0.75, 0.05, 3),
        "scores": {"with_graph": [0.875, 0.75, 0.925], "without_graph": [0.775, 0.65, 0.825]},
    }
    said = gain_of(page_of([make_run(tmp_path / "run", by_hand(), control=control)]))
    assert said.answer == (
        "Not clear: with the graph the network is right on 85.0 % of 2 validation rows, without it 75.0 % (means of 3 "
        "seeds), a gain of +10.0 points; 0 is inside of the 95 % interval, -56.0 to +76.0."
    )
    assert said.notes == [
        "Spread over the 3 seeds (standard deviation): 5.0 and 5.0, with and without the graph. The interval holds "
        "Student's t over the differences of the seeds, and the chance of which rows were scored: by the number of "
        "validation rows alone, the two figures have standard errors of 23.4 and 24.2 points."
    ]
    lines = [trace for trace in said.figures[0].data if trace["mode"] == "lines+markers"]
    assert [trace["y"] for trace in lines] == [[0.775, 0.875], [0.65, 0.75], [0.825, 0.925]]
    assert said.figures[0].alt == (
        "Two points: 75.0 % without the graph, 85.0 % with it; bars are the spread over seeds: 5.0 and 5.0."
    )


def test_an_error_is_shown_as_an_error_and_one_seed_of_it_decides_nothing(tmp_path: Path) -> None:
    metric = "negative_squared_error"
    control: JSON = {"with_graph": row(-0.25, metric=metric), "without_graph": row(-0.5, metric=metric)}
    said = gain_of(page_of([make_run(tmp_path / "run", control=control, data={"validation_rows": 9})]))
    assert said.verdict == "open"
    assert said.answer == (
        "Not clear: with the graph the network is at 0.250 (squared error of scaled numbers) on 9 validation "
        "rows, without it 0.500, a gain of +0.250."
    )
    assert table(page_of([tmp_path / "run"]), "gain-table").rows[0][1] == 0.25


def test_a_run_without_a_graph_and_one_that_left_it_out_say_so(tmp_path: Path) -> None:
    plain = gain_of(page_of([make_run(tmp_path / "plain", graphs_used=[])]))
    assert plain.answer.startswith("There was no graph: this is a plain network.")
    out = gain_of(page_of([make_run(tmp_path / "out", graphs_used=[False])]))
    assert out.answer.startswith("The graph was left out of training: what a briefly trained network predicts agreed")
    assert out.answer.endswith("Without it the network is right on 50.0 % of the validation rows.")
    some = gain_of(page_of([make_run(tmp_path / "some", graphs_used=[False, True])]))
    assert some.notes[0].startswith("1 of the 2 graphs were left out of training")


@pytest.mark.parametrize("seeds", [1, 3])
def test_a_control_of_a_run_that_left_the_graph_out_is_chance(tmp_path: Path, seeds: int) -> None:
    means = (0.85, 0.75) if seeds == 1 else (0.7, 0.6)
    control: JSON = {
        "with_graph": row(means[0], 0.05, seeds),
        "without_graph": row(means[1], 0.05, seeds),
        "scores": {"with_graph": [0.85, 0.65, 0.6][:seeds], "without_graph": [0.75, 0.55, 0.5][:seeds]},
    }
    folder = make_run(tmp_path / "run", graphs_used=[False], control=control, validation_rows=400)
    page = page_of([folder, make_run(tmp_path / "other")])
    said = page.sections[1]
    assert said.answer == (
        "The graph was left out of training: what a briefly trained network predicts agreed across the edges no more "
        "than by chance. Set graph_screen=False to use it anyway. Both networks were trained without it, so what they "
        "differ by is chance: this run's is right on 85.0 % of 400 validation rows, its control 75.0 %."
    )
    assert (said.verdict, said.figures, said.tables) == ("open", (), ())
    kept = "Of the 3 seeds this is the first; whether the others left the graph out as well is not kept."
    assert said.notes == ([kept] if seeds == 3 else [])
    assert table(page, "runs").rows[0][2] is None  # no gain over no graph


def test_a_control_tells_which_rows_it_was_scored_on(tmp_path: Path) -> None:
    control: JSON = {"with_graph": row(0.95), "without_graph": row(0.9), "rows": 597, "on": "new digits"}
    said = gain_of(page_of([make_run(tmp_path / "run", by_hand(), control=control, validation_rows=100)]))
    assert said.answer.startswith(
        "Yes: with the graph the network is right on 95.0 % of 597 new digits, without it 90.0 %, a gain of +5.0 points"
    )
    assert "By the number of new digits alone" in said.notes[0]
    assert said.notes[1] == (
        "These scores are of 2 networks trained beside the one of this run, on 597 new digits. The sections below are "
        "about the one of this run."
    )
    assert said.tables[0].caption == "Scores on new digits"
    assert (said.tables[0].columns[-1], said.tables[0].rows[0][-1]) == ("new digits", 597)
    assert said.figures[0].title == "Score on new digits, without and with the graph"


def test_the_demo_keeps_its_seeds_in_pairs_and_what_they_were_scored_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "load", small_digits.load)
    monkeypatch.setattr(demo, "EPOCHS", 5)
    done = demo.run(tmp_path / "run", seeds=2, labels_per_class=(2,)).comparisons[0]
    control = Run.open(tmp_path / "run").read("metrics.json")["control"]
    assert isinstance(control, dict)
    assert (control["rows"], control["on"]) == (small_digits.NEW, "new digits")
    assert control["scores"] == done.scores
    for name, mine in (("with_graph", done.with_graph), ("without_graph", done.without_graph)):
        assert mine.mean == pytest.approx(np.mean(done.scores[name]))
        assert mine.std == pytest.approx(np.std(done.scores[name], ddof=1))
    said = gain_of(page_of([tmp_path / "run"]))
    assert f"right on {100 * done.with_graph.mean:.1f} % of {small_digits.NEW} new digits" in said.answer
    assert "Student's t over the differences of the seeds" in said.notes[0]
    assert sum(trace["mode"] == "lines+markers" for trace in said.figures[0].data) == 2


# What was run, and how it went


def test_counts_are_those_of_the_run_whatever_was_kept_of_it(tmp_path: Path) -> None:
    counts: dict[str, JSON] = {"labeled": 50_000, "labeled_given": 30_000, "validation_rows": 7_000}
    found = replace(by_hand(), num_nodes=60_000)
    for recipe, taught in (("strong", "20,000"), ("paper", None)):
        page = page_of([make_run(tmp_path / recipe, found, settings={"recipe": recipe}, **counts)])
        assert "on 60,000 rows, 30,000 of them labelled" in section(page, "run").answer
        facts = dict(table(page, "facts").rows)
        assert (facts["labelled rows trained on"], facts["validation rows"]) == ("30,000", "7,000")
        assert facts.get("rows that the graph labelled") == taught


def test_without_counts_labelled_rows_are_those_trained_on_unless_the_graph_made_some(tmp_path: Path) -> None:
    for recipe, labelled, taught in (("paper", "9", None), ("strong", "2", "7")):
        page = page_of([make_run(tmp_path / recipe, by_hand(), settings={"recipe": recipe}, labeled=9)])
        facts = dict(table(page, "facts").rows)
        assert (facts["labelled rows trained on"], facts.get("rows that the graph labelled")) == (labelled, taught)


def test_what_was_run_is_said_in_a_sentence_and_settings_that_differ_are_listed(tmp_path: Path) -> None:
    used: JSON = {"alpha_uu": 0.2, "epochs": 3}
    model: dict[str, JSON] = {"task": "classes", "classes": ["a", "b"], "settings": used}
    page = page_of(
        [make_run(tmp_path / "run", by_hand(), model, {"distance": "l1", "hidden": [8, 4], "folder": "run"})]
    )
    assert section(page, "run").answer == (
        "NGMClassifier with the network ffnn and the recipe auto, on 6 rows, 2 of them labelled, and a graph of 4 "
        "edges; 3 epochs in 1.5 seconds, stopped because all epochs were done; epoch 2 is kept."
    )
    changed = {r[0]: r[1:] for r in table(page, "changed").rows}
    assert changed == {"hidden": ("8, 4", "250, 100", "8, 4"), "distance": ("l1", "l2", "l1")}
    every = {r[0]: r[1:] for r in table(page, "settings").rows}
    assert every["alpha_uu"] == ("none", "none", 0.2)
    assert len(every) == len(settings_as_json(ngm.NGMClassifier()))
    facts = dict(table(page, "facts").rows)
    assert facts["edges trained on"] == "1 LL, 2 LU, 1 UU"
    assert facts["validation rows"] == "2"


def test_curves_leave_out_terms_of_zero_and_mark_the_kept_epoch(page: Page) -> None:
    cost, score, _ = section(page, "curves").figures
    assert [trace["name"] for trace in cost.data] == ["total", "labels", "edges LU", "edges UU"]
    assert cost.data[0]["y"] == [1.5, 1.0, 0.75]
    assert (score.data[1]["x"], score.data[1]["y"]) == ([2], [0.5])
    assert section(page, "curves").answer == (
        "The total cost fell from 1.5 to 0.75 in 3 epochs; the score on validation rows was best after epoch 2: "
        "accuracy 50.0 %."
    )


def test_collapse_is_marked_and_bad(tmp_path: Path) -> None:
    history = [epoch(0, 1.0, 0.5), epoch(1, 0.9, 0.5, h_spread=0.001, collapsed=1.0), epoch(2, 0.8, 0.5, collapsed=1.0)]
    said = section(page_of([make_run(tmp_path / "run", history=history)]), "curves")
    assert said.verdict == "bad"
    assert "From epoch 2 on h had collapsed" in said.answer
    assert said.figures[2].data[2]["x"] == [2, 3]


def test_long_curves_are_thinned_out_and_keep_both_ends(tmp_path: Path) -> None:
    history = [epoch(i, 2.0 - i / 5000, 0.5) for i in range(4321)]
    cost = section(page_of([make_run(tmp_path / "run", history=history)]), "curves").figures[0]
    x = cost.data[0]["x"]
    assert isinstance(x, list)
    assert (x[0], x[-1]) == (1, 4321)
    assert len(x) <= 1001


# Less, more, and too much


def test_without_evidence_there_are_fewer_sections_and_the_way_to_get_them(tmp_path: Path) -> None:
    page = page_of([make_run(tmp_path / "run")])
    assert [s.key for s in page.sections] == [*ORDER[:3], "nodes"]
    assert "Train with folder= (or ngm train)" in page.sections[-1].answer


def test_a_run_without_edges_and_without_unlabelled_nodes_has_all_sections(tmp_path: Path) -> None:
    found = replace(by_hand(), edges=np.empty((0, 2), dtype=np.int64), weight=np.empty(0, dtype=np.float32))
    found = replace(found, graph=np.empty(0, dtype=np.int64), num_edges=0, role=objects(["labelled"] * 6))
    found = replace(found, label=objects(list("ababab")))
    page = page_of([make_run(tmp_path / "run", found, graphs_used=[])])
    assert [s.key for s in page.sections] == ORDER
    assert section(page, "next").answer == "All recorded nodes have a label: there is none left to label."


def test_several_runs_are_compared_first(tmp_path: Path) -> None:
    first = make_run(tmp_path / "one", by_hand(), settings={"alpha_uu": 0.1, "seed": 3})
    better = [epoch(0, 1.0, 0.6), epoch(1, 0.9, 0.75)]
    control: JSON = {"with_graph": row(0.8), "without_graph": row(0.7)}
    second = make_run(tmp_path / "two", settings={"alpha_uu": 0.5, "seed": 3}, history=better, control=control)
    page = page_of([first, second])
    assert [s.key for s in page.sections] == ["runs", *ORDER]
    assert page.sections[0].answer == "Of 2 runs two has the best accuracy on validation rows: 75.0 %."
    shown = table(page, "runs")
    assert shown.columns == ["run", "accuracy", "gain over no graph", "epochs", "kept epoch", "seconds", "alpha_uu"]
    assert shown.rows[0] == ["one", 0.5, None, 3, 2, 1.5, 0.1]
    assert shown.rows[1][:2] == ["two", 0.75]
    assert shown.rows[1][2] == pytest.approx(0.1)
    curves = page.sections[0].figures[0].data
    assert [(c["name"], c["y"]) for c in curves] == [("one", [0.4, 0.5, 0.25]), ("two", [0.6, 0.75])]
    assert curves[0]["line"] != curves[1]["line"]


def test_runs_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / where / "run") for where in ("a", "b")]
    assert [r[0] for r in table(page_of(runs), "runs").rows] == [str(run) for run in runs]


def test_runs_on_other_rows_or_classes_are_compared_with_a_warning(tmp_path: Path) -> None:
    first = make_run(tmp_path / "one", data={"validation_rows": 5})
    other = make_run(tmp_path / "two", model={"task": "classes", "classes": ["a", "c"]}, data={"validation_rows": 6})
    assert page_of([first, other]).sections[0].notes == [
        "The runs have the same settings.",
        "They were scored on different numbers of validation rows, so their scores are not comparable.",
        "They predict different classes, so their scores are not comparable.",
    ]


def test_runs_of_different_kinds_are_not_compared(tmp_path: Path) -> None:
    one = make_run(tmp_path / "one")
    numbers = make_run(tmp_path / "numbers", estimator=ngm.NGMRegressor)
    labels = make_run(tmp_path / "labels", model={"task": "labels", "classes": ["a", "b"]})
    for other, text in (
        (numbers, f"{one} holds a NGMClassifier, {numbers} a NGMRegressor; compare runs of one kind"),
        (labels, f"{one} predicts one class a row, {labels} several labels a row; compare runs of one kind"),
    ):
        with pytest.raises(ValueError, match=rf"\A{re.escape(text)}\Z"):
            page_of([one, other])


def test_a_page_of_twenty_thousand_nodes_stays_under_eight_megabytes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz     é"))
    texts = ["".join(row) for row in letters[rng.integers(len(letters), size=(20_000, 300))]]  # hard to compress
    found = blobs(20_000, 150).named(ids=[f"{i:036x}" for i in range(20_000)], texts=texts)
    model: dict[str, JSON] = {"task": "classes", "classes": [f"class {c}" for c in range(150)]}
    page = page_of([make_run(tmp_path / "run", found, model)])
    assert 1e6 < len(render(page).encode()) < 8e6
    space = section(page, "space").space
    assert space is not None
    assert (len(space.x), len(space.edges)) == (20_000, 40_000)


def test_a_report_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_run(tmp_path / "run", by_hand())
    write_report(folder).write_text("old", encoding="utf-8")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("no space")))
    with pytest.raises(OSError, match="no space"):
        write_report(folder)
    assert (folder / "report.html").read_text(encoding="utf-8") == "old"
    assert not list(folder.glob(".*"))


def test_a_trained_run_is_reported_as_it_was(tmp_path: Path) -> None:
    digits = ngm.datasets.load("digits")
    x, y = digits.x[:200], digits.y[:200].copy()
    y[100:] = -1
    model = ngm.NGMClassifier(recipe="paper", epochs=5, hidden=(16,), validation=0.3)
    model.fit(x, y, graph=ngm.knn_graph(x, k=4), folder=tmp_path / "run")
    page = page_of([tmp_path / "run"])
    best = model.history_.epochs[model.history_.best_epoch]["validation_accuracy"]
    assert f"{100 * best:.1f} % are right" in section(page, "wrong").answer
    assert f"accuracy {100 * best:.1f} %." in section(page, "curves").answer
    kept = read_node_records(Run.open(tmp_path / "run"))
    assert kept is not None
    h = model.transform(x)
    long = [float(w * np.linalg.norm(h[u] - h[v])) for (u, v), w in zip(kept.edges.tolist(), kept.weight, strict=True)]
    assert table(page, "expensive").rows[0][2] == pytest.approx(max(long), rel=1e-4)
    assert asdict(page)["sections"][0]["key"] == "gain"
