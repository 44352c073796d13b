"""SIGTERM and Ctrl-C end a training with a whole run folder; a second signal ends it at once."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ngm import load
from ngm.cli.signals import exit_code, is_stop, stop_signals, stopped_again
from tests.benchmark_modules import Ended, Forked, Job
from tests.commands import Run, runner

TRAIN = ("train", "rows.csv", "--columns", "a,b", "--label", "kind", "--hidden", "8", "-k", "3", "--batch-size", "16")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in this process, in a folder with a small table."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = {"a": rng.normal(size=80), "b": rng.normal(size=80), "kind": ["x", "y"] * 40}
    pd.DataFrame(rows).to_csv("rows.csv", index=False)
    return runner(monkeypatch, capsys)


def run_after(code: str, folder: Path, server: Forked, *words: str) -> Ended:
    """Runs a command in a process of its own in a folder, after some code."""
    return server.run(Job(words, str(folder), script=f"{code}\nfrom ngm.cli import main\nmain()"))


def temporary(folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob(".*")]


ONCE = """
import os
import ngm.io.run_folder
def appended(run, epoch):
    write_history(run, epoch)
    if epoch["epoch"] == 3:
        os.kill(os.getpid(), {number})
write_history = ngm.io.run_folder.Run.append_history
ngm.io.run_folder.Run.append_history = appended
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_training_with_a_whole_run_that_resumes(
    number: signal.Signals, tmp_path: Path, here: Run, server: Forked
) -> None:
    run = tmp_path / "run"
    code = ONCE.replace("{number}", str(int(number)))
    ended = run_after(code, tmp_path, server, *TRAIN, "--epochs", "100000", "--no-report")
    said = ended.err
    assert ended.code == 128 + number
    assert said.endswith("the same command with --resume goes on\nstopped\n")
    assert "Traceback" not in said
    done = load(run).n_iter_
    assert done == 4
    assert json.loads((run / "metrics.json").read_text(encoding="utf-8"))["stopped"] == "interrupted"
    assert temporary(tmp_path) == []
    assert here(*TRAIN, "--epochs", str(done + 1), "--no-report", "--resume")[0] == 0
    assert load(run).n_iter_ == done + 1


AGAIN = """
import os, signal
from ngm.io import files
write = files.write_text
def interrupted(path, text):  # the first signal after the second epoch; another while {name} is being written
    if path.name == "{name}":
        with files.file_written_whole(path) as part:
            part.write_text(text[:5], encoding="utf-8")
            os.kill(os.getpid(), signal.SIGINT)
    write(path, text)
import ngm.io.run_folder
def appended(run, epoch):
    write_history(run, epoch)
    if epoch["epoch"] == 1:
        ngm.io.run_folder.write_text = interrupted
        os.kill(os.getpid(), signal.SIGINT)
write_history = ngm.io.run_folder.Run.append_history
ngm.io.run_folder.Run.append_history = appended
"""


@pytest.mark.parametrize("name", ["model.json", "features.json"])
def test_a_second_signal_ends_at_once_and_leaves_nothing_half_written(
    name: str, tmp_path: Path, here: Run, server: Forked
) -> None:
    ended = run_after(AGAIN.replace("{name}", name), tmp_path, server, *TRAIN, "--epochs", "9")
    assert (ended.code, ended.err.splitlines()[-1]) == (130, "stopped")
    assert "Traceback" not in ended.err
    run = tmp_path / "run"
    assert temporary(tmp_path) == []
    assert not (run / name).exists()
    assert not (run / "report.html").exists()
    assert here(*TRAIN, "--epochs", "3", "--no-report", "--resume")[0] == 0
    assert load(run).n_iter_ == 3


def test_signals_are_counted_and_their_handlers_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with stop_signals():
        assert (stopped_again(), exit_code()) == (False, 130)
        for again in (False, True):
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGTERM)
            assert (stopped_again(), exit_code()) == (again, 143)
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_what_a_library_makes_of_the_signal_is_a_stop_and_other_errors_are_not() -> None:
    interrupted = RuntimeError("Query interrupted")  # DuckDB's, where the signal comes while it works
    with stop_signals():
        assert not is_stop(interrupted)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        assert is_stop(interrupted)
        assert not is_stop(ValueError("rows.csv has no column 'kind'"))


def test_one_of_several_ranks_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with stop_signals():
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_who_ignores_a_signal_goes_on_ignoring_it() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with stop_signals():
            os.kill(os.getpid(), signal.SIGTERM)
            assert not stopped_again()
    finally:
        signal.signal(signal.SIGTERM, before)
