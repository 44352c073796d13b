"""The catalogue of sentences: what is said of a mistake, word for word, each in one place.

The tables are in `sentences_of_*.py`; to reword a message is to edit one of them. Other tests look at the type of an
error and at the values in it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from ngm.cli import app
from tests import sentences_of_commands, sentences_of_predict, sentences_of_train
from tests.commands import runner

Words = tuple[str, ...]
Scene = Callable[[str], Path]
# Mistakes of commands, each with what writes the files that they need: written once, for a mistake changes no file.
FILES = {
    "commands": sentences_of_commands.write_files,
    "build": sentences_of_commands.write_files_of_build,
    "train": sentences_of_train.write_files,
    "predict": sentences_of_predict.write_files,
}
COMMANDS: dict[str, list[tuple[Words, str]]] = {
    "commands": sentences_of_commands.MISTAKES,
    "build": sentences_of_commands.BUILD,
    "train": sentences_of_train.MISTAKES,
    "predict": sentences_of_predict.MISTAKES,
}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """The folder of a table of mistakes, made when it is first asked for."""

    @cache
    def folder(name: str) -> Path:
        path = tmp_path_factory.mktemp(name)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(path)
            FILES[name]()
        return path

    return folder


def contents(folder: Path) -> dict[str, float]:
    """Every file and folder, and when it was last written."""
    return {str(path): path.stat().st_mtime_ns for path in sorted(folder.rglob("*"))}


@pytest.mark.parametrize(
    ("name", "words", "sentence"),
    [(name, *mistake) for name, mistakes in COMMANDS.items() for mistake in mistakes],
    ids=[" ".join(words) for mistakes in COMMANDS.values() for words, _ in mistakes],
)
def test_a_command_ends_in_the_sentence_and_exit_code_2_and_writes_nothing(
    name: str,
    words: Words,
    sentence: str,
    scene: Scene,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = scene(name)
    monkeypatch.chdir(folder)
    before = contents(folder)
    assert runner(monkeypatch, capsys)(*words) == (2, "", f"error: {sentence}")
    assert contents(folder) == before


def test_every_command_has_a_mistake_in_the_catalogue() -> None:
    known = {words[0] for mistakes in COMMANDS.values() for words, _ in mistakes}
    assert known == {str(command.name) for command in app.registered_commands}
