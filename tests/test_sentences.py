"""The catalogue of sentences: what is said of a mistake, word for word, each in one place.

The tables are in `sentences_of_*.py`; to reword a message is to edit one of them. Other tests look at the type of an
error and at the values in it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from ngm import NGMClassifier
from ngm.cli import app
from ngm.estimators.base import NGMEstimator
from tests import (
    sentences_of_arguments,
    sentences_of_commands,
    sentences_of_fit,
    sentences_of_predict,
    sentences_of_propagation,
    sentences_of_tables,
    sentences_of_texts,
    sentences_of_train,
)
from tests.commands import runner
from tests.sentences_of_arguments import RefusedCall
from tests.sentences_of_fit import GRAPH, NUMBERS, SMALL, RefusedFit, X, Y

Words = tuple[str, ...]
Scene = Callable[[str], Path]
# What writes the files that a table needs: once, for a mistake changes no file.
FILES = {
    "no files": lambda: None,
    "tables": sentences_of_tables.write_files,
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
CALLS: dict[str, list[RefusedCall]] = {
    "no files": [*sentences_of_arguments.CALLS, *sentences_of_propagation.CALLS],
    "tables": sentences_of_tables.CALLS,
}
FITS: list[tuple[type[NGMEstimator], RefusedFit]] = [
    (kind, case) for case in [*sentences_of_fit.FITS, *sentences_of_texts.FITS] for kind in case.kinds
]


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


@pytest.mark.parametrize(
    ("name", "case"),
    [(name, case) for name, cases in CALLS.items() for case in cases],
    ids=[case.sentence[:60] for cases in CALLS.values() for case in cases],
)
def test_a_call_is_refused_with_the_sentence_and_writes_nothing(
    name: str, case: RefusedCall, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = scene(name)
    monkeypatch.chdir(folder)
    before = contents(folder)
    with pytest.raises(case.error) as caught:
        case.call()
    assert str(caught.value) == case.sentence
    assert contents(folder) == before


@pytest.fixture(scope="module")
def old_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder of a small classifier."""
    folder = tmp_path_factory.mktemp("runs") / "old"
    NGMClassifier(**SMALL).fit(X, Y, folder=folder)
    return folder


@pytest.mark.parametrize(("kind", "case"), FITS, ids=[f"{kind.__name__} {case.sentence[:60]}" for kind, case in FITS])
def test_a_fit_is_refused_with_the_sentence_and_leaves_run_folders_alone(
    kind: type[NGMEstimator], case: RefusedFit, old_run: Path, tmp_path: Path
) -> None:
    given = {"y": Y if kind is NGMClassifier else NUMBERS, "graph": GRAPH} | case.given
    before = contents(old_run)
    for folder in (tmp_path / "new", old_run):
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - all of its text is compared
            kind(**case.settings).fit(case.x, **given, folder=folder, overwrite=True)
        assert str(caught.value) == case.sentence
    assert not (tmp_path / "new").exists()
    assert contents(old_run) == before
