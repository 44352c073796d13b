"""What `ngm predict` writes: every digit of a number, and cells that are no formulas to a spreadsheet."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ngm import NGMRegressor, load
from ngm.workflow.prediction_files import spreadsheet_cell
from tests.commands import Run, runner
from tests.predictions import SIZE, new_rows, read_parquet, rows_of, train

ODD = ["=1+1", "+cmd", "-x", "@SUM(A1)", "\tq", "-1.5", "+3e4", "a=b", " =2", "x;=3", "-2+3"]
SAFE = ["'=1+1", "'+cmd", "'-x", "'@SUM(A1)", "'\tq", "-1.5", "+3e4", "a=b", "' =2", "x;=3", "'-2+3"]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    new_rows().assign(key=ODD).to_csv("new.csv", index=False)
    return runner(monkeypatch, capsys)


def cells(file: str) -> list[list[str]]:
    with Path(file).open(encoding="utf-8", newline="") as opened:
        return list(csv.reader(opened))


@pytest.mark.parametrize("shift", [0.0, 1.7e9])
def test_numbers_are_read_back_to_the_last_bit(shift: float, run: Run) -> None:
    train("columns", NGMRegressor(hidden=(8,), epochs=5), y=3 * np.array(SIZE) + shift)
    expected = load("run").predict(rows_of("new.csv")).tolist()
    assert len(set(expected)) == 11
    for output in ("out.csv", "out.parquet", "out.jsonl"):
        assert run("predict", "run", "new.csv", "-o", output)[0] == 0
    assert [float(row[1]) for row in cells("out.csv")[1:]] == expected
    assert read_parquet("out.parquet")["prediction"] == expected
    lines = Path("out.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["prediction"] for line in lines] == expected


def test_cells_are_no_formulas_where_that_is_asked_for(run: Run) -> None:
    train("words", y=["=money", "-pets"] * 15)
    words = ("predict", "run", "new.csv", "--id", "key", "--all")
    assert run(*words, "-o", "plain.csv")[0] == 0
    assert run(*words, "-o", "safe.csv", "--spreadsheet-safe")[0] == 0
    plain, safe = cells("plain.csv"), cells("safe.csv")
    assert [row[0] for row in plain[1:]] == ODD
    assert [row[0] for row in safe[1:]] == SAFE
    assert {row[1] for row in safe[1:]} <= {"'=money", "'-pets"}
    assert [row[2:] for row in safe] == [row[2:] for row in plain]
    assert all(line.startswith('"') and line.endswith('"') for line in Path("safe.csv").read_text().splitlines())
    split = list(csv.reader(Path("safe.csv").read_text(encoding="utf-8").splitlines()[10:11], delimiter=";"))
    assert not any(cell.startswith("=") for cell in split[0])  # also in a country where ; stands between cells


def test_numbers_stay_numbers_in_a_file_for_spreadsheets(run: Run) -> None:
    train("columns", NGMRegressor(hidden=(8,), epochs=5), y=-np.array(SIZE) - 5)
    pd.read_csv("new.csv").assign(key=range(-11, 0)).to_csv("new.csv", index=False)
    assert run("predict", "run", "new.csv", "--id", "key", "-o", "safe.csv", "--spreadsheet-safe")[0] == 0
    rows = cells("safe.csv")[1:]
    assert [int(row[0]) for row in rows] == list(range(-11, 0))
    assert [float(row[1]) for row in rows] == load("run").predict(rows_of("new.csv")).tolist()


def test_a_header_is_made_safe_too_and_other_formats_refuse_the_option(run: Run) -> None:
    train("words")
    new_rows().rename(columns={"key": "=key"}).to_csv("new.csv", index=False)
    assert run("predict", "run", "new.csv", "--id", "=key", "-o", "safe.csv", "--spreadsheet-safe")[0] == 0
    assert cells("safe.csv")[0] == ["'=key", "class", "probability"]
    said = "error: --spreadsheet-safe is for .csv, and --output is 'a.jsonl'; leave it out"
    assert run("predict", "run", "new.csv", "-o", "a.jsonl", "--spreadsheet-safe") == (2, "", said)


@pytest.mark.parametrize("value", [None, 3, -2.5, float("-inf"), True, "", "'=1", "1-1", "x"])
def test_what_is_no_formula_is_left_alone(value: object) -> None:
    assert spreadsheet_cell(value) == value
