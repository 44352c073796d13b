from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from ngm.experiments.scores import Scores


class Counted:
    """A cell that counts how often it is run."""

    def __init__(self) -> None:
        self.runs: list[int] = []
        self.prepared = 0

    def prepare(self) -> None:
        self.prepared += 1

    def score(self, seed: int) -> tuple[float, str]:
        self.runs.append(seed)
        return seed / 10, "c = 1"


def test_a_score_that_is_kept_in_a_file_is_not_run_again(tmp_path: Path) -> None:
    cell, file = Counted(), tmp_path / "deep" / "scores.jsonl"
    first = Scores(file).get({"method": "a", "seed": 3}, cell, 3)
    again = Scores(file).get({"seed": 3, "method": "a"}, cell, 3)
    assert first == again
    assert (again.value, again.chosen, cell.runs) == (0.3, "c = 1", [3])
    (line,) = file.read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["of"] == {"method": "a", "seed": 3}


def test_scores_of_something_else_are_run(tmp_path: Path) -> None:
    cell, scores = Counted(), Scores(tmp_path / "scores.jsonl")
    scores.get({"method": "a", "seed": 1}, cell, 1)
    scores.get({"method": "b", "seed": 1}, cell, 1)
    scores.get({"method": "a", "seed": 2}, cell, 2)
    assert cell.runs == [1, 1, 2]


def test_a_line_that_was_interrupted_is_run_again_and_the_others_stay(tmp_path: Path) -> None:
    cell, file = Counted(), tmp_path / "scores.jsonl"
    for seed in (1, 2):
        Scores(file).get({"seed": seed}, cell, seed)
    whole = file.read_text(encoding="utf-8")
    file.write_text(whole[:-20], encoding="utf-8")
    again = Scores(file)
    again.get({"seed": 1}, cell, 1)
    again.get({"seed": 2}, cell, 2)
    assert cell.runs == [1, 2, 2]
    assert [json.loads(line)["of"]["seed"] for line in file.read_text(encoding="utf-8").splitlines()] == [1, 2]


def test_what_is_prepared_for_all_seeds_is_not_part_of_the_time_of_one() -> None:
    class Slow(Counted):
        def prepare(self) -> None:
            time.sleep(0.2)

    assert Scores().get({"seed": 1}, Slow(), 1).seconds < 0.1


def test_without_a_file_scores_last_as_long_as_the_run(tmp_path: Path) -> None:
    cell, scores = Counted(), Scores()
    scores.get({"seed": 1}, cell, 1)
    scores.get({"seed": 1}, cell, 1)
    Scores().get({"seed": 1}, cell, 1)
    assert cell.runs == [1, 1]


@pytest.mark.parametrize("line", ["not json", '{"of": {}}', '{"of": {}, "score": {"value": 1, "more": 2}}'])
def test_a_file_that_holds_something_else_is_refused(tmp_path: Path, line: str) -> None:
    file = tmp_path / "scores.jsonl"
    file.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"^line 1 of .*scores.jsonl is not a score \(.*\); give a file that this command"
    ):
        Scores(file)
