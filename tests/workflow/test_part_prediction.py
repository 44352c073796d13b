"""Several processes write the predictions that one writes, in the order of the nodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ngm
from ngm.workflow import part_prediction, predict
from tests import part_programs
from tests.benchmark_modules import Forked
from tests.conftest import make_problem
from tests.ranks import in_ranks, run_ranks


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Parts and runs of all tasks."""
    made = tmp_path_factory.mktemp("predictions")
    part_programs.write_parts(made)
    for task in part_programs.TASKS:
        part_programs.fitted(task, epochs=1).save(made / f"run of {task}")
    return made


def test_any_number_of_processes_writes_the_same_bytes(
    folder: Path, server: Forked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_prediction, "BATCH_SIZE", 3)  # restored, whatever the program sets
    monkeypatch.setattr(part_prediction, "WINDOW", 7)
    part_programs.predictions(folder)
    for world in (2, 4):
        ended = run_ranks(server, in_ranks("predictions", folder, "part_programs"), world)
        assert ended.code == 0, ended.err
        for task in part_programs.TASKS:
            assert (folder / f"{task}{world}.csv").read_bytes() == (folder / f"{task}1.csv").read_bytes()
            found, alone = (ngm.read_table(folder / f"{task}{count}.parquet") for count in (world, 1))
            assert [found.column(name).tolist() for name in found.columns] == [
                alone.column(name).tolist() for name in alone.columns
            ]


def test_each_node_has_what_the_network_says_of_its_row(folder: Path) -> None:
    x = make_problem().x.numpy()
    result = predict(folder / "run of classes", folder / "classes", folder / "out.csv", all_classes=True)
    assert (result.count, result.noun) == (40, "nodes")
    lines = (folder / "out.csv").read_text(encoding="utf-8").splitlines()
    proba = ngm.load(folder / "run of classes").predict_proba(x)  # type: ignore[attr-defined]
    assert lines[0] == "node,class,probability,p_0,p_1,p_2"
    for node, line in enumerate(lines[1:]):
        name, label, *shares = line.split(",")
        assert (name, int(label)) == (f"node {node}", int(proba[node].argmax()))
        np.testing.assert_allclose([float(share) for share in shares[1:]], proba[node], atol=1e-6)
    predict(folder / "run of numbers", folder / "numbers", folder / "numbers.csv")
    numbers = np.loadtxt(folder / "numbers.csv", delimiter=",", skiprows=1)
    np.testing.assert_array_equal(numbers[:, 0], np.arange(40))
    np.testing.assert_allclose(numbers[:, 1], ngm.load(folder / "run of numbers").predict(x), rtol=1e-9)


def test_options_of_tables_and_parts_of_another_width_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"--label is given, and .* has rows and ids in parts already"):
        predict(folder / "run of classes", folder / "classes", tmp_path / "out.csv", label="kind")
    problem = make_problem()
    ngm.partition_graph(tmp_path / "narrow", problem.graph, problem.x[:, :2], problem.y, parts=2)
    with pytest.raises(ValueError, match=r"reads rows of 6 numbers, and .* has rows of 2 numbers"):
        predict(folder / "run of classes", tmp_path / "narrow", tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
