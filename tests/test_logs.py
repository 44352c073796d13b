from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ngm import Graph, NGMClassifier
from ngm.logs import csv_log, tensorboard_log
from ngm.training import TERMS, Epoch

Data = tuple[NDArray[np.float32], NDArray[np.int64], Graph]


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def curves_of(folder: Path) -> dict[str, dict[int, float]]:
    """{curve: {epoch: value}} as TensorBoard itself reads the folder."""
    reading = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator", reason="tensorboard is not installed"
    )
    found = reading.EventAccumulator(str(folder))
    found.Reload()
    curves = {}
    for name in found.Tags()["scalars"]:
        events = found.Scalars(name)
        assert len({event.step for event in events}) == len(events)  # no epoch is there twice
        curves[name] = {event.step: event.value for event in events}
    return curves


def record(epoch: int, total: float = 0.5, **more: float) -> Epoch:
    return {"epoch": epoch, "total": total, **more, "seconds": 0.25}


def test_the_csv_file_has_the_history_to_the_bit(data: Data, tmp_path: Path) -> None:
    x, y, graph = data
    file = tmp_path / "logs" / "log.csv"
    model = NGMClassifier(recipe="paper", epochs=4, validation=0.25).fit(x, y, graph=graph, on_epoch=csv_log(file))
    rows = rows_of(file)
    assert list(rows[0]) == [
        "epoch",
        *TERMS,
        "h_zero",
        "validation_accuracy",
        "validation_cost",
        "seconds",
        "collapsed",
    ]
    assert [{name: float(value) for name, value in row.items()} for row in rows] == [
        {name: epoch.get(name, 0.0) for name in rows[0]} for epoch in model.history_.epochs
    ]


def test_a_file_begun_before_there_was_so_much_of_h_goes_on_with_its_columns(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    csv_log(file)({"epoch": 0, "total": 1.0, "h_norm": 2.0, "seconds": 0.5})
    csv_log(file)({"epoch": 1, "total": 0.5, "h_norm": 2.5, "h_zero": 0.25, "seconds": 0.5})
    assert file.read_text(encoding="utf-8").splitlines() == [
        "epoch,total,h_norm,seconds,collapsed",
        "0,1,2,0.5,0",
        "1,0.5,2.5,0.5,0",
    ]


def test_a_resumed_run_goes_on_in_the_same_file_as_if_never_interrupted(data: Data, tmp_path: Path) -> None:
    x, y, graph = data
    settings, folder = {"validation": 0.25, "recipe": "paper"}, tmp_path / "run"
    log = folder / "log.csv"
    NGMClassifier(epochs=3, **settings).fit(x, y, graph=graph, on_epoch=csv_log(log), folder=folder)
    first = log.read_text(encoding="utf-8")
    NGMClassifier(epochs=5, **settings).fit(x, y, graph=graph, on_epoch=csv_log(log), folder=folder, resume=True)
    assert log.read_text(encoding="utf-8").startswith(first)
    at_once = NGMClassifier(recipe="paper", epochs=5, validation=0.25).fit(x, y, graph=graph).history_.epochs
    assert [float(row["total"]) for row in rows_of(log)] == [epoch["total"] for epoch in at_once]


def test_epochs_done_again_replace_what_a_crash_left_behind(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    log = csv_log(file)
    for epoch in range(4):
        log(record(epoch, total=1.0))
    with file.open("a", encoding="utf-8") as opened:
        opened.write("4,1.0,0.2")  # cut short
    again = csv_log(file)
    again(record(2, total=2.0))
    again(record(3, total=2.0))
    assert file.read_text(encoding="utf-8").splitlines() == [
        "epoch,total,seconds,collapsed",
        "0,1,0.25,0",
        "1,1,0.25,0",
        "2,2,0.25,0",
        "3,2,0.25,0",
    ]


def test_a_second_fit_with_the_same_log_takes_the_place_of_the_first(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    log = csv_log(file)
    for epoch, total in ((0, 1.0), (1, 1.0), (0, 2.0)):
        log(record(epoch, total))
    assert [row["total"] for row in rows_of(file)] == ["2"]


def test_a_last_line_without_its_end_is_dropped(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("epoch,total,seconds,collapsed\n0,1,0.25,0\n1,1,0.2", encoding="utf-8")
    csv_log(file)(record(2))
    assert [row["epoch"] for row in rows_of(file)] == ["0", "2"]


def test_a_new_run_begins_the_file_anew_with_its_own_columns(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    csv_log(file)(record(0))
    csv_log(file)(record(0, validation_accuracy=0.75))
    assert file.read_text(encoding="utf-8") == (
        "epoch,total,validation_accuracy,seconds,collapsed\n0,0.5,0.75,0.25,0\n"
    )


def test_columns_stay_where_h_collapses_in_any_epoch(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    log = csv_log(file)
    log(record(0, collapsed=1.0))
    log(record(1))
    log(record(2, collapsed=1.0))
    assert [row["collapsed"] for row in rows_of(file)] == ["1", "0", "1"]
    assert file.read_text(encoding="utf-8").count("epoch") == 1


def test_a_file_of_somebody_else_is_refused_before_training_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "sales.csv"
    file.write_text("month,sales\n1,20\n", encoding="utf-8")
    with pytest.raises(FileExistsError) as error:
        csv_log(file)
    assert str(error.value) == f"{file} exists and is not a log of epochs; name a new file"
    assert file.read_text(encoding="utf-8") == "month,sales\n1,20\n"


def test_an_epoch_with_a_new_column_says_which(tmp_path: Path) -> None:
    log = csv_log(tmp_path / "log.csv")
    log(record(0))
    with pytest.raises(ValueError, match="epoch 1") as error:
        log(record(1, validation_accuracy=0.5))
    assert str(error.value) == (
        f"epoch 1 has 'validation_accuracy', and {tmp_path / 'log.csv'} has columns epoch, total, seconds, collapsed; "
        "log it into a new file"
    )


def test_tensorboard_reads_back_the_history_in_groups(data: Data, tmp_path: Path) -> None:
    x, y, graph = data
    model = NGMClassifier(recipe="paper", epochs=3, validation=0.25)
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    model.fit(x, y, graph=graph, on_epoch=tensorboard_log(tmp_path / "board"))
    curves = curves_of(tmp_path / "board")
    assert sorted(curves) == [
        "cost/ll",
        "cost/lu",
        "cost/repulsion",
        "cost/supervised",
        "cost/total",
        "cost/uu",
        "h/norm",
        "h/spread",
        "h/zero",
        "time/seconds",
        "validation/accuracy",
        "validation/cost",
    ]
    places = {"cost/total": "total", "h/norm": "h_norm", "validation/cost": "validation_cost"}
    for curve, name in places.items():
        wanted = {int(epoch["epoch"]): np.float32(epoch[name]) for epoch in model.history_.epochs}
        assert curves[curve] == wanted


def test_tensorboard_shows_each_epoch_of_a_resumed_run_once(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    for first, last, total in ((0, 4, 1.0), (2, 5, 2.0)):
        log = tensorboard_log(tmp_path)
        for epoch in range(first, last):
            log(record(epoch, total))
    assert curves_of(tmp_path)["cost/total"] == {0: 1.0, 1: 1.0, 2: 2.0, 3: 2.0, 4: 2.0}


def test_tensorboard_is_asked_for_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(ImportError) as error:
        tensorboard_log(tmp_path)
    assert str(error.value) == "tensorboard_log needs tensorboard: pip install 'neural-graph-machines[logging]'"


def test_a_file_is_no_folder_for_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    (tmp_path / "board").write_text("", encoding="utf-8")
    with pytest.raises(FileExistsError) as error:
        tensorboard_log(tmp_path / "board")
    assert str(error.value) == f"{tmp_path / 'board'} is a file; name a folder for tensorboard_log"


def test_processes_other_than_the_first_write_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    logs = csv_log(tmp_path / "log.csv"), tensorboard_log(tmp_path / "board")
    monkeypatch.setattr("ngm.logs.rank_and_world", lambda: (1, 2))
    for log in logs:
        log(record(0))
    assert list(tmp_path.iterdir()) == []
