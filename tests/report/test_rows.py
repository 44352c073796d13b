"""What a report calls rows, classes and epochs: the users' rows and names, no more of a name than can be read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ngm
from ngm.io.node_records import NodeRecords, label_set
from ngm.io.run_folder import JSON
from ngm.report import page_of
from ngm.report.graph_section import graph_nodes
from ngm.report.page import Page, Section
from ngm.report.render import render
from tests.browser import made_up_space, needs_browser, opened, point_at, show, text, wait
from tests.runs_by_hand import by_hand, epoch, make_run, objects, section, table

DIFFERENT = (
    "They were scored on different validation rows, as a different seed draws them, so part of the difference is "
    "chance: give the same rows as validation."
)


pytestmark = pytest.mark.usefixtures("few_places")


def with_apart(found: NodeRecords) -> NodeRecords:
    """The same with a validation row given apart, before the nodes: places are then no longer rows."""
    columns = ("role", "label", "predicted", "probability", "margin", "hidden", "before")
    more = {name: np.concatenate([getattr(found, name)[2:3], getattr(found, name)]) for name in columns}
    return replace(found, row=np.concatenate([[-1], found.row]), **more, edges=found.edges + 1)


# Rows


def test_validation_rows_given_apart_are_no_nodes_without_edges(tmp_path: Path) -> None:
    plain = page_of([make_run(tmp_path / "plain", by_hand())])
    apart = page_of([make_run(tmp_path / "apart", with_apart(by_hand()))])
    assert section(apart, "graph").answer == section(plain, "graph").answer
    assert "6 nodes, 4 edges" in section(apart, "graph").answer
    assert "1 node without any" in section(apart, "graph").answer
    assert section(apart, "graph").figures == section(plain, "graph").figures
    assert table(apart, "hubs") == table(plain, "hubs")
    assert section(apart, "space").answer.startswith("Every point is one of 6 nodes or of 1 validation row given apart")
    assert graph_nodes(with_apart(by_hand())).edges.tolist() == by_hand().edges.tolist()


def test_advice_names_rows_of_the_users_table_and_their_ids(tmp_path: Path) -> None:
    """Node 5 is alone and, here, labelled; it is row 50 of 60."""
    found = replace(by_hand(), row=10 * np.arange(6), num_nodes=60)
    found = replace(found, role=objects([*found.role[:5], "labelled"]), label=objects([*found.label[:5], "a"]))
    notes = section(page_of([make_run(tmp_path / "run", found)]), "graph").notes
    assert any(note.startswith("Advice: 1 of 3 labelled nodes has no edge, row 50: the graph") for note in notes)
    assert not any("By their ids" in note for note in notes)
    named = found.named(ids=[f"n{row}" for row in range(60)])
    assert "By their ids: row 50 is n50." in section(page_of([make_run(tmp_path / "run", named)]), "graph").notes


def test_runs_scored_on_other_rows_are_compared_with_a_warning(tmp_path: Path) -> None:
    first = make_run(tmp_path / "one", by_hand())
    other = replace(by_hand(), role=objects(["validation", "labelled", "labelled", "validation", *["unlabelled"] * 2]))
    some = replace(by_hand(), row=np.array([0, 1, 2, 13, 14, 15]), num_nodes=20)  # rows that both kept have one role
    for found, differ in ((by_hand(), False), (other, True), (some, False), (None, False)):
        second = make_run(tmp_path / "two", found)
        assert (DIFFERENT in page_of([first, second]).sections[0].notes) == differ


def test_runs_with_other_seeds_draw_other_rows(tmp_path: Path) -> None:
    x, y = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32), np.arange(60) % 2
    for seed in (0, 1):
        ngm.NGMClassifier(epochs=1, validation=0.2, seed=seed).fit(x, y, folder=tmp_path / str(seed))
    assert DIFFERENT in page_of([tmp_path / "0", tmp_path / "1"]).sections[0].notes


# Names


def test_sets_of_labels_are_joined_for_the_reader_and_told_apart_by_the_report(tmp_path: Path) -> None:
    one, two = label_set(["a; b"]), label_set(["a", "b"])
    found = replace(by_hand(), label=objects([one, two, one, two, None, None]), predicted=objects([one, two] * 3))
    model: dict[str, JSON] = {"task": "labels", "classes": [0, 1, 2]}
    page = page_of([make_run(tmp_path / "run", found, model, data={"label_names": ["a", "b", "a; b"]})])
    assert [row[0:4] for row in table(page, "labels").rows] == [["a", 1, 1, 1], ["b", 1, 1, 1], ["a; b", 1, 1, 1]]
    space = section(page, "space").space
    assert space is not None
    assert (list(space.classes), list(space.predicted)) == (["a; b", "a; b"], [1, 0] * 3)
    assert table(page, "uncertain").rows[0][1] == "a; b"
    assert table(page, "hubs").rows[0][2:] == ["a; b", "a; b"]
    assert table(page, "expensive").rows[0][3:7] == ["a; b"] * 4


def test_long_names_are_whole_in_tables_alone(tmp_path: Path) -> None:
    long = [letter * 3000 for letter in "ab"]
    words = dict(zip("ab", long, strict=True)) | {None: None}
    found = replace(
        by_hand(), label=objects([words[v] for v in by_hand().label]), predicted=objects([words[v] for v in "abaaba"])
    )
    page = page_of([make_run(tmp_path / "run", found, {"task": "classes", "classes": list(long)})])
    cut = "b" * 59 + "…"
    assert f"Most often class {cut} is taken for {'a' * 59}…: 1 time. The weakest class is {cut}" in (
        section(page, "wrong").answer
    )
    for key in ("wrong", "space", "graph", "edges", "next"):
        said = section(page, key)
        assert all("a" * 61 not in text for text in (said.answer, *said.notes, *(f.alt for f in said.figures)))
    assert f"('{'a' * 59}…', '{cut}')" in " ".join(section(page, "graph").notes)  # a single labelled node of each
    assert table(page, "classes").rows[0][0] == long[0]


def test_labels_with_the_same_beginning_have_a_bar_each(tmp_path: Path) -> None:
    names = ["x" * 30 + end for end in "ab"]
    found = replace(by_hand(), label=objects([*[label_set([names[i % 2]]) for i in range(4)], None, None]))
    found = replace(found, predicted=objects([label_set(names)] * 6))
    model: dict[str, JSON] = {"task": "labels", "classes": [0, 1]}
    page = page_of([make_run(tmp_path / "run", found, model, data={"label_names": list(names)})])
    bars = section(page, "wrong").figures[0]
    assert bars.data[0]["x"] == names
    assert bars.layout["xaxis"]["ticktext"] == ["x" * 23 + "…"] * 2  # type: ignore[index,call-overload]


# The map


@needs_browser
def test_the_map_of_numbers_judges_none_and_cuts_long_names(tmp_path: Path) -> None:
    modes = "[...document.querySelectorAll('[data-part=modes] label')].map((l) => l.textContent)"
    names = "[...document.querySelectorAll('.legend button')].map((b) => [b.children[1].textContent, b.title])"
    space = made_up_space(40)
    seen, tips = {}, {}
    node = next(i for i, label in enumerate(space.label) if label > 0)
    with opened(tmp_path) as browser:
        for kind in ("classes", "numbers"):
            shown = replace(space, kind=kind, classes=["y" * 100, *list(space.classes)[1:]])
            file = tmp_path / f"{kind}.html"
            page = Page("A run", "in a line", [Section("space", "What?", "This.", space=shown)])
            file.write_text(render(page), encoding="utf-8")
            show(browser, file)
            seen[kind] = browser.execute_script(f"return {modes}")
            point_at(browser, node)
            wait(browser, "return !document.querySelector('.tip').hidden")
            tips[kind] = text(browser, ".tip")
            assert ["y" * 59 + "…", "y" * 100] in browser.execute_script(f"return {names}")
    assert seen["classes"] == ["Predicted class", "Known class", "Right or wrong", "Labelled or not"]
    assert seen["numbers"] == ["Predicted range", "Known number", "Labelled or not"]
    known = space.classes[space.label[node]]
    assert f"Known class: {known} – predicted" in tips["classes"]
    assert f"Known number: {known}Role" in tips["numbers"]


# Epochs


@pytest.mark.parametrize(
    ("marked", "said", "verdict"),
    [
        ([1, 2, 3], "From epoch 2 on h had collapsed: all nodes looked alike. Lower the alphas.", "bad"),
        ([2, 3], "From epoch 3 on h had collapsed: all nodes looked alike. The kept epoch is not among them.", None),
        ([0, 1], "In 2 epochs (first 1) h had collapsed: all nodes looked alike. Lower the alphas.", "bad"),
        ([2], "In 1 epoch (first 3) h had collapsed: all nodes looked alike. The kept epoch is not among them.", None),
    ],
)
def test_a_collapse_is_bad_only_where_the_kept_epoch_is_in_it(
    tmp_path: Path, marked: list[int], said: str, verdict: str | None
) -> None:
    history = [epoch(i, 1.0, 0.5, **({"collapsed": 1.0} if i in marked else {})) for i in range(4)]
    curves = section(page_of([make_run(tmp_path / "run", history=history)]), "curves")
    assert curves.answer.endswith(f". {said}")
    assert curves.verdict == verdict


def test_a_single_epoch_is_drawn_as_a_point(tmp_path: Path) -> None:
    said = section(page_of([make_run(tmp_path / "run", history=[epoch(0, 1.5, 0.4)], best_epoch=0)]), "curves")
    assert said.answer.startswith("The total cost was 1.5 after the one epoch; ")
    assert {trace["mode"] for figure in said.figures for trace in figure.data} == {"lines+markers", "markers"}
