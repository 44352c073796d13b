"""Bad input for every command: one line on standard error, exit code 2, nothing on standard output."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from ngm.cli import app, main

COMMANDS = sorted(str(command.name) for command in app.registered_commands)

# What typer finds out itself, in words that change with its version.
WRONG_WORDS = {
    "nope": "ngm",
    "build": "ngm build",
    "build texts.csv --text text -k many": "ngm build",
    "check": "ngm check",
    "demo --seeds 0": "ngm demo",
    "ingest": "ngm ingest",
    "predict nowhere": "ngm predict",
    "report": "ngm report",
    **{f"{command} --nope": f"ngm {command}" for command in COMMANDS},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "texts.csv").write_text("id,text,topic\n1,a b,x\n2,b c,\n3,c d,y\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that a command ends with."""
    monkeypatch.setattr(sys, "argv", ["ngm", *words.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    shown = capsys.readouterr()
    assert ended.value.code == 2, shown.err
    assert shown.out == ""
    (line,) = shown.err.splitlines()
    return line


@pytest.mark.parametrize("words", WRONG_WORDS)
def test_wrong_words_are_said_in_a_line_that_names_the_help(
    words: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = said(words, monkeypatch, capsys)
    assert line.startswith("error: ")
    assert line.endswith(f"; see {WRONG_WORDS[words]} --help")


def test_the_version_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["ngm", "--version"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"ngm {metadata.version('neural-graph-machines')}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_there_for_the_shell(shell: str) -> None:
    environment = os.environ | {"_NGM_COMPLETE": f"complete_{shell}", "OMP_NUM_THREADS": "1"}
    environment |= {"COMP_WORDS": "ngm tr", "COMP_CWORD": "1", "_TYPER_COMPLETE_ARGS": "ngm tr"}
    environment |= {"_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    done = subprocess.run(
        [sys.executable, "-c", "from ngm.cli import main; main()"], env=environment, capture_output=True, text=True
    )
    assert "train" in done.stdout, done.stderr
