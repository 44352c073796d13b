from __future__ import annotations

import json
from pathlib import Path

import pytest

from ngm.reproduce.scores import Scores


class Counted:
    """A cell that counts how often it is run."""

    def __init__(self) -> None:
        self.runs: list[int] = []

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
