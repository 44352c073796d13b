"""`ngm report`: the page, the report for machines, plots as files, and what it refuses."""

from __future__ import annotations

import json
import shutil
import struct
import sys
import webbrowser
from pathlib import Path

import numpy as np
import pytest

import ngm
from ngm.report import images, page_of
from ngm.report.page import Page, Section, Space
from tests.commands import Run, runner
from tests.runs_by_hand import ORDER, by_hand, make_run

BROWSER = next((path for path in map(shutil.which, images.BROWSERS) if path), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on this machine")


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `ngm report` here; gives (exit code, standard output, standard error)."""
    return runner(monkeypatch, capsys, "report", joined=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run", by_hand())


def test_the_page_is_written_into_the_run_folder_and_every_answer_is_said(report: Run, folder: Path) -> None:
    code, said, err = report(folder)
    assert (code, err) == (0, "")
    page = page_of([folder])
    lines = said.splitlines()
    assert lines[1:10] == [f"{s.title} {s.answer}" for s in page.sections]
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "Did the graph help?" in text
    size = len(text.encode()) / 1e6
    assert lines[-1] == f"Report: {folder / 'report.html'} ({size:.1f} MB)   (next: open it in a browser)"


def test_a_second_report_replaces_the_first_and_is_the_same(report: Run, folder: Path) -> None:
    report(folder)
    first = (folder / "report.html").read_bytes()
    assert report(folder)[0] == 0
    assert (folder / "report.html").read_bytes() == first


def test_json_has_all_answers_and_whole_tables(report: Run, tmp_path: Path) -> None:
    first = make_run(tmp_path / "run", by_hand())
    second = make_run(tmp_path / "other", by_hand(), settings={"seed": 7})
    code, said, err = report(first, second, "--json", "-o", tmp_path / "both.html")
    assert (code, err) == (0, "")
    found = json.loads(said)
    assert found["report"] == str(tmp_path / "both.html")
    assert found["plots"] == []
    assert [s["key"] for s in found["sections"]] == ["runs", *ORDER]
    page = page_of([first, second])
    assert [s["answer"] for s in found["sections"]] == [s.answer for s in page.sections]
    shown = {t["key"]: t for s in found["sections"] for t in s["tables"]}
    assert shown["uncertain"]["rows"] == [["4", "b", 0.55, 0.1], ["5", "a", 0.6, 0.2]]
    assert [row[0] for row in shown["runs"]["rows"]] == ["run", "other"]
    assert not (first / "report.html").exists()


def test_json_has_the_rows_that_the_page_only_offers_as_a_file(report: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(150, 3)).astype(np.float32)
    y = np.where(np.arange(150) < 20, x[:, 0] > 0, -1).astype(int)
    ngm.NGMClassifier(recipe="paper", epochs=1, hidden=(4,)).fit(
        x, y, graph=ngm.knn_graph(x, k=2), folder=tmp_path / "run"
    )
    found = json.loads(report(tmp_path / "run", "--json")[1])
    edges = next(t for s in found["sections"] for t in s["tables"] if t["key"] == "expensive")
    assert len(edges["rows"]) == ngm.knn_graph(x, k=2).num_edges > 50


def test_open_shows_the_page_and_says_so_where_it_cannot(
    report: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or len(opened) == 1)
    assert report(folder, "--open")[2] == ""
    assert opened == [(folder / "report.html").resolve().as_uri()]
    assert report(folder, "--open")[2] == f"note: no browser could be started; open {folder / 'report.html'}\n"


def test_help_has_examples(report: Run) -> None:
    code, said, _ = report("--help")
    assert code == 0
    for example in (
        "ngm report run/ --open",
        "ngm report run/ other/ -o both.html",
        "ngm report run/ --plots plots/ --format svg",
    ):
        assert example in said


@needs_browser
def test_every_plot_and_the_space_become_files(report: Run, folder: Path, tmp_path: Path) -> None:
    code, said, err = report(folder, "--plots", tmp_path / "plots")
    assert (code, err) == (0, "")
    names = ["cost", "score", "hidden-length", "confusion", "space", "closeness", "degrees"]
    assert sorted(f.name for f in (tmp_path / "plots").iterdir()) == sorted(f"{name}.png" for name in names)
    assert f"Plots: 7 files in {tmp_path / 'plots'}" in said.splitlines()
    for name in names:
        content = (tmp_path / "plots" / f"{name}.png").read_bytes()
        assert content[:8] == b"\x89PNG\r\n\x1a\n"
        width, height = struct.unpack(">II", content[16:24])
        assert width == (1640 if name == "space" else 1800)
        assert height > 600


@needs_browser
def test_plots_are_vectors_where_asked_and_listed_for_machines(report: Run, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")  # without evidence, so with fewer plots
    code, said, _ = report(folder, "--plots", tmp_path / "plots", "--format", "svg", "--json")
    assert code == 0
    files = json.loads(said)["plots"]
    assert [Path(f).name for f in files] == ["cost.svg", "score.svg", "hidden-length.svg"]
    drawn = (tmp_path / "plots" / "cost.svg").read_text(encoding="utf-8")
    assert drawn.startswith("<svg")
    assert "Cost by its terms" in drawn


def test_the_space_is_drawn_with_a_mark_for_every_class() -> None:
    space = Space(
        ids=["a", "b", "c"],
        texts=None,
        x=[0.0, 1.0, 2.0],
        y=[0.0, 1.0, 0.0],
        classes=["x", "y", "z"],
        predicted=[0, 2, 0],
        label=[0, -1, -1],
        role=[0, 2, 2],
        probability=[1.0, 0.5, 0.5],
        edges=[0, 1, 1, 2],
        how="",
    )
    (drawn,) = images.figures_of(Page("", "", [Section("space", "", "", space=space)]))
    edges, first, second = drawn.data
    assert edges["x"] == [0.0, 1.0, None, 1.0, 2.0, None]
    assert edges["y"] == [0.0, 1.0, None, 1.0, 0.0, None]
    assert (first["name"], first["x"], second["name"], second["x"]) == ("x", [0.0, 2.0], "z", [1.0])
    assert first["marker"] != second["marker"]


# What it refuses, word for word


def refused(report: Run, text: str, *words: str | Path) -> None:
    code, said, err = report(*words)
    assert (code, said, err) == (2, "", f"error: {text}\n")


def test_what_is_no_run_folder_is_refused(report: Run, tmp_path: Path) -> None:
    missing = tmp_path / "nothing"
    refused(report, f"{missing} is not a run folder: it has no config.json", missing)
    assert not missing.exists()
    (tmp_path / "file").write_text("", encoding="utf-8")
    refused(report, f"{tmp_path / 'file'} is not a run folder: it has no config.json", tmp_path / "file")


def test_an_unfinished_run_is_refused(report: Run, folder: Path) -> None:
    (folder / "metrics.json").unlink()
    text = f"{folder} has no metrics.json: training did not get that far; resume it or train again"
    refused(report, text, folder)
    assert not (folder / "report.html").exists()


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        (
            "model.json",
            "{",
            "model.json is damaged (Expecting property name enclosed in double quotes: line 1 column 2",
        ),
        ("model.json", "{}", "model.json is damaged (it lacks 'in_features'); train again"),
        ("history.jsonl", '{"epoch": 0}\n', "history.jsonl is damaged (line 1 lacks 'supervised'); train again"),
        ("history.jsonl", "nonsense\n", "history.jsonl is damaged (Expecting value: line 1 column 1 (char 0)); train"),
    ],
)
def test_damaged_files_are_named(report: Run, folder: Path, name: str, content: str, text: str) -> None:
    (folder / name).write_text(content, encoding="utf-8")
    code, said, err = report(folder)
    assert (code, said) == (2, "")
    assert err.startswith(f"error: {folder}/{text}")
    assert err.count("\n") == 1


def test_damaged_evidence_is_named(report: Run, folder: Path) -> None:
    np.save(folder / "evidence" / "edges.npy", np.array([[0, 1], [0, 9], [1, 2], [2, 3]]))
    refused(report, f"{folder / 'evidence'} is damaged (edges.npy names node 9 of 6); train again", folder)
    np.save(folder / "evidence" / "hidden.npy", np.zeros((4, 2), dtype=np.float32))
    refused(
        report,
        f"{folder / 'evidence'} is damaged (hidden.npy has shape (4, 2) for 6 nodes and 4 edges); train again",
        folder,
    )
    (folder / "evidence" / "nodes.parquet").unlink()
    code, _, err = report(folder)
    assert code == 2
    assert err.startswith(f"error: {folder / 'evidence'} is damaged (")


def test_a_damaged_control_is_named(report: Run, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", control={"with_graph": {"metric": "accuracy"}, "without_graph": {}})
    text = f"{folder / 'metrics.json'} is damaged (its control lacks 'mean' with graph); train again"
    refused(report, text, folder)


def test_an_unknown_estimator_is_refused(report: Run, folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config | {"estimator": "Other"}), encoding="utf-8")
    text = f"{folder} holds a 'Other'; a report is made of NGMClassifier and NGMRegressor"
    refused(report, text, folder)


def test_a_run_of_another_kind_is_refused(report: Run, folder: Path, tmp_path: Path) -> None:
    other = make_run(tmp_path / "numbers", estimator=ngm.NGMRegressor)
    text = f"{folder} holds a NGMClassifier, {other} a NGMRegressor; compare runs of one kind"
    refused(report, text, folder, other)


def test_a_page_that_is_no_page_is_refused_before_anything_is_read(report: Run, tmp_path: Path) -> None:
    nothing = tmp_path / "nothing"
    text = f"{tmp_path / 'out.pdf'} does not end in .html; name the page, such as report.html"
    refused(report, text, nothing, "-o", tmp_path / "out.pdf")
    (tmp_path / "pages.html").mkdir()
    where = tmp_path / "pages.html"
    refused(report, f"{where} is a folder; name a file, such as {where / 'report.html'}", nothing, "-o", where)


def test_formats_without_plots_and_unknown_ones_are_refused(report: Run, folder: Path, tmp_path: Path) -> None:
    text = "--format is for plots as files, and --plots is not given; give a folder, or leave it out"
    refused(report, text, folder, "--format", "svg")
    text = "the format is 'sgv' (did you mean 'svg'?); choose from png, svg"
    refused(report, text, folder, "--plots", tmp_path / "plots", "--format", "sgv")
    (tmp_path / "plots").write_text("", encoding="utf-8")
    text = f"{tmp_path / 'plots'} is a file; name a folder for the plots"
    refused(report, text, folder, "--plots", tmp_path / "plots")
    assert not (folder / "report.html").exists()


def test_plots_without_kaleido_or_a_browser_are_refused(
    report: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("kaleido")
    monkeypatch.delenv("BROWSER_PATH", raising=False)
    monkeypatch.setattr(images.shutil, "which", lambda _: None)
    monkeypatch.setattr(images, "_find_kaleido_browser", lambda: None)
    text = (
        "plots as files are drawn by Chromium or Chrome, and none was found (looked for chromium, chromium-browser, "
        "google-chrome, google-chrome-stable, chrome, msedge); install one, or name it in BROWSER_PATH"
    )
    refused(report, text, folder, "--plots", tmp_path / "plots")
    monkeypatch.setenv("BROWSER_PATH", "/no/browser")
    text = "BROWSER_PATH is /no/browser, where there is no file; name a Chromium or Chrome"
    refused(report, text, folder, "--plots", tmp_path / "plots")
    monkeypatch.setitem(sys.modules, "kaleido", None)
    text = "plots as files are drawn by kaleido, which is not installed: pip install 'neural-graph-machines[images]'"
    refused(report, text, folder, "--plots", tmp_path / "plots")
    assert not (tmp_path / "plots").exists()
