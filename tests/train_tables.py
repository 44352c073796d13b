"""Texts, labels and words for tests of `ngm train`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.texts import make_texts

TEXTS, TRUTH = make_texts(30)
TRAIN = (
    *("train", "texts.csv", "--text", "body", "--label", "topic", "--no-report"),
    *("--epochs", "2", "--network", "lstm"),
)


def labels() -> list[str | None]:
    return [topic if row < 20 else None for row, topic in enumerate(TRUTH)]


def config(folder: str) -> dict[str, dict[str, object]]:
    return json.loads(Path(folder, "config.json").read_text(encoding="utf-8"))
