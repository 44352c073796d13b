"""Runs `ngm` in this process, for tests of commands."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ngm.cli import main

Run = Callable[..., tuple[int, str, str]]


def runner(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *first: str, joined: bool = True
) -> Run:
    """What runs a command on 200 columns, and gives (exit code, output, errors).

    Args:
        monkeypatch: Sets the arguments.
        capsys: Has what is printed.
        first: Words that every call begins with.
        joined: Put the errors on one line.
    """
    monkeypatch.setenv("COLUMNS", "200")

    def command(*words: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["ngm", *first, *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, " ".join(told.err.split()) if joined else told.err

    return command
