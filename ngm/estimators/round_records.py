"""The records of rounds: what each training was told and came to, which is the best, and their file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import cast

import numpy as np

from ngm.io.run_folder import JSON, Run
from ngm.recipes.stacking import TeacherReport


@dataclass(frozen=True)
class RoundTeachers:
    """Which teachers labelled nodes for a round.

    Args:
        weights: Of each, adding up to 1.
        score: Of those together that were scored by held-out seeds, on these; None where none was held out.
    """

    weights: Mapping[str, float]
    score: float | None

    @classmethod
    def of(cls, report: TeacherReport) -> RoundTeachers:
        """What a round keeps of a report."""
        return cls(dict(report.weights), None if math.isnan(report.score) else report.score)

    @classmethod
    def from_json(cls, record: JSON) -> RoundTeachers | None:
        """Takes back what `asdict` gave; None where there were none."""
        if not isinstance(record, dict):
            return None
        return cls(cast("dict[str, float]", record["weights"]), cast("float | None", record["score"]))


@dataclass(frozen=True)
class Round:
    """One training of several.

    Args:
        round: 0 is on the seeds alone.
        labeled: Nodes with a label in this training.
        added: Those that were labelled since the one before.
        right: Share of the added whose label is true; None where the truth is not known or none was added.
        right_in_all: The same for all nodes that were not seeds.
        validation: Score on the validation rows; None where there are none.
        teachers: Which labelled nodes for this training; None where it was on the seeds alone.
    """

    round: int
    labeled: int
    added: int
    right: float | None
    right_in_all: float | None
    validation: float | None
    teachers: RoundTeachers | None = None

    @classmethod
    def from_json(cls, record: Mapping[str, JSON]) -> Round:
        """Takes back what `asdict` gave."""
        whole = {**record, "teachers": RoundTeachers.from_json(record.get("teachers"))}
        return cls(**whole)  # type: ignore[arg-type]


def best_round(history: Sequence[Round]) -> int:
    """The round with the best validation score, the earliest of equals; the last one where nothing was validated."""
    scores = [r.validation for r in history]
    if scores[-1] is None:
        return len(history) - 1
    return int(np.argmax(np.array(scores, dtype=np.float64)))


def write_rounds(run: Run, history: Sequence[Round], best: int, stopped: str) -> None:
    """Writes `rounds.json` into the run folder of the best round."""
    rounds: list[JSON] = [asdict(record) for record in history]
    run.write("rounds.json", {"rounds": rounds, "best_round": best, "stopped": stopped})
