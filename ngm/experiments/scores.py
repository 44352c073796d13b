"""Scores kept as they come: a table that was interrupted goes on where it stopped, also within a seed."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, cast

from ngm.io.files import remove_folder
from ngm.io.run_folder import JSON


@dataclass(frozen=True)
class Score:
    """One seed of one cell of a table.

    Args:
        value: The metric; the first, where there are several.
        seconds: What it took.
        chosen: The settings that validation chose, where there was a choice.
        metrics: All of them by name, where there are several.
    """

    value: float
    seconds: float
    chosen: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)


class Measurable(Protocol):
    """A cell of a table."""

    def prepare(self) -> None:
        """What is done once for all seeds, and is not part of the time of a seed."""

    def score(self, seed: int) -> tuple[float | Mapping[str, float], str]:
        """(value, or values by name; settings in words)."""


@dataclass
class Scores:
    """Remembers scores by what they are of; in a file, a line of JSON for each, if one is given.

    Args:
        file: Where to keep them; None remembers nothing beyond this run.
    """

    file: Path | None = None
    _cache: dict[str, Score] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.file is None or not self.file.exists():
            return
        text = self.file.read_text(encoding="utf-8")
        complete = text[: text.rfind("\n") + 1]  # a last line without an end was interrupted
        if complete != text:
            self.file.write_text(complete, encoding="utf-8")
        for number, line in enumerate(complete.splitlines(), start=1):
            try:
                entry = cast("dict[str, JSON]", json.loads(line))
                key_fields, score = cast("dict[str, JSON]", entry["of"]), cast("dict[str, JSON]", entry["score"])
                self._cache[_key(key_fields)] = Score(**score)  # type: ignore[arg-type]
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(
                    f"line {number} of {self.file} is not a score ({error}); give a file that this command wrote, or a "
                    "new name"
                ) from None

    def unfinished(self, key_fields: Mapping[str, JSON]) -> Path | None:
        """Folder for what a seed has done so far, beside the file; `get` removes it when the score is kept.

        Args:
            key_fields: As for `get`.
        """
        if self.file is None:
            return None
        name = hashlib.sha256(_key(key_fields).encode()).hexdigest()[:12]
        return self.file.with_name(f"{self.file.name}.unfinished") / name

    def get(self, key_fields: Mapping[str, JSON], cell: Measurable, seed: int) -> Score:
        """The score that is known of this, or a new one, which is kept.

        Args:
            key_fields: What tells it from others: table, method, setting, seed, version.
            cell: Gives (value, chosen settings) for a seed.
            seed: Which.
        """
        key = _key(key_fields)
        if key not in self._cache:
            cell.prepare()
            started = time.perf_counter()
            value, chosen = cell.score(seed)
            metrics = dict(value) if isinstance(value, Mapping) else {}
            main_value = next(iter(value.values())) if isinstance(value, Mapping) else value
            self._cache[key] = Score(main_value, time.perf_counter() - started, chosen, metrics)
            if self.file is not None:
                self.file.parent.mkdir(parents=True, exist_ok=True)
                with self.file.open("a", encoding="utf-8") as stream:
                    score = self._cache[key]
                    stream.write(json.dumps({"of": dict(key_fields), "score": vars(score)}) + "\n")
        folder = self.unfinished(key_fields)
        if folder is not None and folder.exists():
            remove_folder(folder)
        return self._cache[key]


def _key(key_fields: Mapping[str, JSON]) -> str:
    return json.dumps(dict(key_fields), sort_keys=True)
