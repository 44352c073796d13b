from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ngm.datasets import available
from tests.conftest import needs


def ngm(*words: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; from ngm.cli import main; sys.argv[0] = 'ngm'; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "200"} | environment,
        capture_output=True,
        text=True,
    )


def test_demo_prints_json_alone_and_leaves_a_run_folder(tmp_path: Path) -> None:
    done = ngm("demo", "--seeds", "1", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert [row["method"] for row in result["rows"]] == ["FFNN", "NGM-FFNN"] * 4
    assert [row["labels"] for row in result["rows"]] == [10, 10, 20, 20, 50, 50, 100, 100]
    metrics = json.loads((tmp_path / result["run"] / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["control"]["with_graph"]["mean"] == result["rows"][3]["mean"]
    assert metrics["control"]["without_graph"]["mean"] == result["rows"][2]["mean"]
    assert "Did the graph help?" in (tmp_path / result["report"]).read_text(encoding="utf-8")


def test_demo_shows_labels_accuracies_gain_and_where_the_run_is(tmp_path: Path) -> None:
    done = ngm("demo", "--seeds", "2", "--folder", "here", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for part in ("labels per class", "without graph", "with graph", "gain", "points"):
        assert part in done.stdout
    assert "Run folder: here" in done.stdout
    assert "Report: here/report.html" in done.stdout
    assert "\x1b[" not in done.stdout  # colours only on a terminal


def test_datasets_lists_all_of_them_without_fetching(tmp_path: Path) -> None:
    done = ngm("datasets", folder=tmp_path, NGM_OFFLINE="1")
    assert done.returncode == 0, done.stderr
    for record in available():
        assert record.name in done.stdout
    listed = json.loads(ngm("datasets", "--json", folder=tmp_path).stdout)["datasets"]
    assert [entry["name"] for entry in listed] == [record.name for record in available()]


def test_every_command_has_help_with_an_example(tmp_path: Path) -> None:
    top = ngm("--help", folder=tmp_path)
    commands = "build check datasets demo export ingest predict report reproduce train"
    for command in commands.split():
        assert command in top.stdout
        shown = ngm(command, "--help", folder=tmp_path).stdout
        assert "Example:" in shown
        assert "--json" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("reproduce", "pubmd"),
            "error: unknown table 'pubmd' (did you mean 'pubmed'?); choose from ag-news, blogcatalog, intents, pubmed",
        ),
        (
            ("reproduce", "pub[/med]"),
            "error: unknown table 'pub[/med]' (did you mean 'pubmed'?); choose from ag-news, blogcatalog, intents, "
            "pubmed",
        ),
        (
            ("reproduce", "pubmed", "--rows", "fnn"),
            "error: unknown row 'fnn' (did you mean 'ffnn'?); choose from linear, semi-embedding, manifold, tsvm, "
            "label-propagation, graph-embedding, planetoid-i, planetoid-g, planetoid-t, gcn, ffnn, ngm, ngm-repulsion, "
            "ngm-self, ours, default, ceiling",
        ),
        (
            ("reproduce", "pubmed", "--dataset", "coro"),
            "error: unknown data set 'coro' (did you mean 'cora'?); choose from pubmed, cora, citeseer",
        ),
        (
            ("reproduce", "pubmed", "--setting", "out"),
            "error: setting is 'out'; choose from inductive, transductive, both",
        ),
        (
            ("reproduce", "pubmed", "--plot", "a.svg"),
            "error: --plot a.svg has nothing to draw; give --curve as well",
        ),
        (
            ("reproduce", "pubmed", "--curve", "--plot", "a.gif"),
            "error: cannot draw a.gif: its ending is '.gif'; choose from .svg, .png, .pdf",
        ),
        (
            ("reproduce", "pubmed", "--curve", "--setting", "transductive"),
            "error: --curve is of the inductive setting; leave out --setting transductive",
        ),
        (
            ("reproduce", "pubmed", "--rows", "gcn", "--setting", "inductive"),
            "error: none of the rows gcn can be run in the inductive setting; choose another",
        ),
        (
            ("reproduce", "pubmed", "--curve", "--rows", "gcn"),
            "error: row 'gcn' cannot predict nodes outside the graph; leave it out of the curve",
        ),
        (
            ("datasets", "--fetch", "cra"),
            "error: there is no data set 'cra' (did you mean 'cora'?); the names are "
            + ", ".join(record.name for record in available()),
        ),
    ],
)
def test_a_mistake_ends_in_one_line_and_exit_code_2(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = ngm(*words, folder=tmp_path)
    assert (done.returncode, done.stderr.strip(), done.stdout) == (2, message, "")


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep", encoding="utf-8")
    done = ngm("demo", "--seeds", "1", "--folder", "mine", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.strip() == "error: mine holds other files and no run; name a new or empty folder"
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]


def test_debug_shows_where_an_error_arose(tmp_path: Path) -> None:
    assert "Traceback" in ngm("reproduce", "pubmd", "--debug", folder=tmp_path).stderr


def test_a_missing_data_set_is_one_line_when_offline(tmp_path: Path) -> None:
    done = ngm("reproduce", "pubmed", folder=tmp_path, NGM_OFFLINE="1", NGM_DATA=str(tmp_path), NGM_CACHE=str(tmp_path))
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stderr.startswith("error: cannot find PubMed")


@needs("pubmed")
def test_reproduce_prints_the_agreed_json_and_nothing_else(tmp_path: Path) -> None:
    done = ngm("reproduce", "pubmed", "--rows", "ffnn", "--quick", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["table"] == "pubmed"
    row, other = result["rows"]
    assert (other["setting"], other["paper"]) == ("transductive", None)  # published is the inductive figure
    assert {"method", "setting", "metric", "mean", "std", "seeds", "paper", "seconds"} <= set(row)
    assert {"dataset", "protocol", "threshold", "labels"} <= set(row)
    assert (row["method"], row["setting"], row["metric"], row["seeds"]) == ("FFNN", "inductive", "accuracy", 2)
    assert row["paper"] == 0.709


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ["blogcatalog", "--train", "half"],
            "--train is 'half'; give whole numbers between 1 and 99, such as 20,50,80",
        ),
        (["blogcatalog", "--train", "0"], "training share is 0 %; give whole numbers between 1 and 99"),
        (["blogcatalog", "--quick", "--seeds", "7"], "--seeds is 7 and --quick means 2; leave out one of them"),
        (["blogcatalog", "--curve"], "--curve is not for blogcatalog, which has --train; leave it out"),
        (["pubmed", "--train", "50"], "--train is not for pubmed, which has --dataset, --setting, --curve, --plot;"),
    ],
)
def test_options_of_another_table_are_refused_in_one_line(words: list[str], line: str, tmp_path: Path) -> None:
    done = ngm("reproduce", *words, folder=tmp_path)
    assert done.returncode == 2
    assert line in done.stderr
    assert done.stderr.count("\n") == 1
