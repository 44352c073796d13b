"""Data sets as plain tables, and the made-up messages."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

import ngm
from ngm.cli import app
from ngm.datasets import Dataset, available, load, write_tables

SMALL = Dataset(
    name="small",
    x=np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0], [8.0, 9.0]], dtype=np.float32),
    y=np.array([0, 1, 0, 1, 1]),
    graph=ngm.Graph.from_edges([[0, 1], [1, 4], [3, 4], [2, 3], [0, 2]]),
    train=np.array([0]),
    validation=np.array([1]),
    test=np.array([3, 4]),
    classes=("no", "yes"),
)


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def test_a_learner_sees_labels_of_training_and_validation_and_no_test_row(tmp_path: Path) -> None:
    files = write_tables(SMALL, tmp_path / "out")
    assert [file.name for file in files] == [
        "small.parquet",
        "new_small.parquet",
        "small_edges.csv",
        "new_small_edges.csv",
    ]
    seen = ngm.read_table(files[0])
    assert seen.column("id").tolist() == [0, 1, 2]
    assert seen.column("label").tolist() == ["no", "yes", None]
    assert seen.column("split").tolist() == ["train", "validation", "unlabelled"]
    assert [row.tolist() for row in seen.column("x")] == [[0, 1], [2, 3], [4, 5]]
    new = ngm.read_table(files[1])
    assert new.column("label").tolist() == ["yes", "yes"]


def test_edges_of_new_rows_lead_from_them_to_those_that_are_known(tmp_path: Path) -> None:
    files = write_tables(SMALL, tmp_path)
    assert sorted((r["source"], r["target"]) for r in rows(files[2])) in (
        [("0", "1"), ("0", "2")],
        [("1", "0"), ("2", "0")],
        [("0", "1"), ("2", "0")],
        [("0", "2"), ("1", "0")],
    )
    assert sorted((r["source"], r["target"]) for r in rows(files[3])) == [("3", "2"), ("4", "1")]


def test_texts_become_a_csv_that_reads_back(tmp_path: Path) -> None:
    texts = replace(SMALL, x=['say "hi", you', "two\nlines", "é", "", "5"], graph=None)
    seen, new = write_tables(texts, tmp_path)
    assert [row["text"] for row in rows(seen)] == ['say "hi", you', "two\nlines", "é"]
    assert [row["label"] for row in rows(seen)] == ["no", "yes", ""]
    assert [row["text"] for row in rows(new)] == ["", "5"]


def test_several_labels_are_joined_and_adjacency_rows_left_out(tmp_path: Path) -> None:
    several = np.array([[1, 1], [0, 1], [0, 0], [1, 0], [0, 0]])
    files = write_tables(replace(SMALL, y=several, x=sp.csr_array(np.eye(5, dtype=np.float32))), tmp_path)
    table = ngm.read_table(files[0])
    assert table.columns == ("id", "label", "split")
    assert table.column("label").tolist() == ["no;yes", "yes", None]


def test_messages_are_the_same_every_time_with_sixteen_labels_a_topic() -> None:
    data, again = load("messages"), load("messages")
    assert data.texts == again.texts
    assert np.bincount(data.y[data.train]).tolist() == [16] * 5
    assert len(data.texts) == 1200
    assert data.train.max() < 900
    assert data.test.tolist() == list(range(900, 1200))
    assert len(set(data.texts)) > 1000


def test_the_command_writes_the_messages(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["datasets", "messages", "-o", str(tmp_path / "here"), "--json"])
    assert done.exit_code == 0, done.output
    files = [Path(file) for file in json.loads(done.stdout)["files"]]
    assert [file.name for file in files] == ["messages.csv", "new_messages.csv"]
    assert sum(bool(row["label"]) for row in rows(files[0])) == 80
    assert len(rows(files[1])) == 300


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["mesages"],
            "there is no data set 'mesages' (did you mean 'messages'?); the names are "
            + ", ".join(record.name for record in available()),
        ),
        (
            ["messages", "--fetch", "cora"],
            "both messages and --fetch cora are given; a data set that is written is fetched anyway",
        ),
    ],
)
def test_a_wrong_request_is_said_in_a_line(words: list[str], message: str) -> None:
    done = CliRunner().invoke(app, ["datasets", *words])
    assert str(done.exception) == message


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine", encoding="utf-8")
    done = CliRunner().invoke(app, ["datasets", "messages", "-o", str(tmp_path / "taken")])
    assert str(done.exception) == f"--output is '{tmp_path / 'taken'}', which is a file; name a folder"


def test_a_file_of_the_same_name_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "messages.csv").write_text("mine", encoding="utf-8")
    done = CliRunner().invoke(app, ["datasets", "messages", "-o", str(tmp_path)])
    said = f"{tmp_path / 'messages.csv'} exists with other content; name another folder"
    assert str(done.exception) == said
    assert (tmp_path / "messages.csv").read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / "new_messages.csv").exists()


def test_tables_are_written_again_where_they_are_the_same(tmp_path: Path) -> None:
    for _ in range(2):
        assert CliRunner().invoke(app, ["datasets", "messages", "-o", str(tmp_path)]).exit_code == 0


def test_a_folder_without_a_name_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["datasets", "-o", str(tmp_path)])
    assert str(done.exception) == ("--output is for a data set that is written as tables; name one, such as messages")
