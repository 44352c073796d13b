"""Half a dozen processes killed with SIGKILL at random moments; `benchmarks/faults.py --kills 100` is the long form."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.benchmark_modules import Forked, Job, forked, kills

TARGETS = ("train columns paper", "train graph paper", "ingest", "build", "predict parquet", "report")


def test_whatever_is_killed_loads_or_is_not_there_and_a_rerun_leaves_the_bits_of_an_uninterrupted_run() -> None:
    targets = [target for target in kills.TARGETS if target.name in TARGETS]
    rows = kills.run(6, seed=1, targets=targets, say=lambda line: None)
    assert [wrong for row in rows for wrong in row.failures] == []
    total = kills.as_json(rows)["total"]
    assert total["kills"] == total["same"] == total["before"] + total["middle"] + total["after"] == 6
    assert total["middle"], "no kill came in the middle of anything: choose another seed"


def test_a_training_killed_before_its_end_is_not_predicted_with_but_resumed(tmp_path: Path, server: Forked) -> None:
    kills.write_tables(tmp_path)
    words = ("train", "rows.csv", "--columns", "a,b,c", "--label", "kind", "--hidden", "8", "--epochs", "40")
    words += ("--alpha", "0.1", "--control", "--no-report", "-o", "run")
    predict = ("predict", "run", "rows.csv")
    stop = forked.Signal(signal.SIGKILL, file="run/checkpoint/state.safetensors")  # after the first epoch
    assert server.run(Job(words, str(tmp_path), signals=[stop])).code == -signal.SIGKILL
    ended = server.run(Job(predict, str(tmp_path)))
    missing = "run has no model.json: training did not get that far; resume it or train again"
    assert (ended.code, ended.err) == (2, f"error: {missing}\n")
    assert server.run(Job((*words, "--resume"), str(tmp_path))).code == 0
    assert server.run(Job(predict, str(tmp_path))).code == 0
