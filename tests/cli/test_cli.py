from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ngm.datasets import available
from ngm.experiments import demo
from tests import small_digits
from tests.benchmark_modules import Ended, Forked, Job
from tests.commands import Run, runner
from tests.conftest import needs

Ngm = Callable[..., Ended]


@pytest.fixture
def ngm(server: Forked, tmp_path: Path) -> Ngm:
    """Runs a command in a process of its own, in `tmp_path`."""

    def run(*words: str, **environment: str) -> Ended:
        code = f"import os\nos.environ.update({environment!r})\nfrom ngm.cli import main\nmain()"
        return server.run(Job(words, str(tmp_path), script=code))

    return run


@pytest.fixture
def small_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `ngm demo` in this process, in `tmp_path`, on fewer digits and for fewer epochs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "load", small_digits.load)
    monkeypatch.setattr(demo, "EPOCHS", 5)
    return runner(monkeypatch, capsys, "demo", joined=False)


def test_demo_prints_json_alone_and_leaves_a_run_folder(tmp_path: Path, small_demo: Run) -> None:
    code, out, err = small_demo("--seeds", "1", "--json")
    assert code == 0, err
    result = json.loads(out)
    assert [row["method"] for row in result["rows"]] == ["FFNN", "NGM-FFNN"] * 4
    assert [row["labels"] for row in result["rows"]] == [10, 10, 20, 20, 50, 50, 100, 100]
    metrics = json.loads((tmp_path / result["run"] / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["control"]["with_graph"]["mean"] == result["rows"][3]["mean"]
    assert metrics["control"]["without_graph"]["mean"] == result["rows"][2]["mean"]
    assert "Did the graph help?" in (tmp_path / result["report"]).read_text(encoding="utf-8")


def test_demo_shows_labels_accuracies_gain_and_where_the_run_is(small_demo: Run) -> None:
    code, out, err = small_demo("--seeds", "2", "--folder", "here")
    assert code == 0, err
    for part in ("labels per class", "without graph", "with graph", "gain", "points"):
        assert part in out
    assert "Run folder: here" in out
    assert "Report: here/report.html" in out
    assert "\x1b[" not in out  # colours only on a terminal


def test_datasets_lists_all_of_them_without_fetching(ngm: Ngm) -> None:
    done = ngm("datasets", NGM_OFFLINE="1")
    assert done.code == 0, done.err
    for record in available():
        assert record.name in done.out
    listed = json.loads(ngm("datasets", "--json").out)["datasets"]
    assert [entry["name"] for entry in listed] == [record.name for record in available()]


def test_every_command_has_help_with_an_example(ngm: Ngm) -> None:
    top = ngm("--help")
    commands = "build check datasets demo export ingest predict report reproduce train"
    for command in commands.split():
        assert command in top.out
        shown = ngm(command, "--help").out
        assert "Example:" in shown
        assert "--json" in shown


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path, ngm: Ngm) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep", encoding="utf-8")
    done = ngm("demo", "--seeds", "1", "--folder", "mine")
    assert done.code == 2
    assert done.err.strip() == "error: mine holds other files and no run; name a new or empty folder"
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]


def test_debug_shows_where_an_error_arose(ngm: Ngm) -> None:
    assert "Traceback" in ngm("reproduce", "pubmd", "--debug").err


def test_a_missing_data_set_is_one_line_when_offline(tmp_path: Path, ngm: Ngm) -> None:
    done = ngm("reproduce", "pubmed", NGM_OFFLINE="1", NGM_DATA=str(tmp_path), NGM_CACHE=str(tmp_path))
    assert done.code == 2
    assert len(done.err.strip().splitlines()) == 1
    assert done.err.startswith("error: cannot find PubMed")


@needs("pubmed")
def test_reproduce_prints_the_agreed_json_and_nothing_else(ngm: Ngm) -> None:
    done = ngm("reproduce", "pubmed", "--rows", "ffnn", "--quick", "--json")
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert result["table"] == "pubmed"
    row, other = result["rows"]
    assert (other["setting"], other["paper"]) == ("transductive", None)  # published is the inductive figure
    assert {"method", "setting", "metric", "mean", "std", "seeds", "paper", "seconds"} <= set(row)
    assert {"dataset", "protocol", "threshold", "labels"} <= set(row)
    assert (row["method"], row["setting"], row["metric"], row["seeds"]) == ("FFNN", "inductive", "accuracy", 2)
    assert row["paper"] == 0.709
