"""Runs `ngm` in this process, for tests of commands."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ngm.cli import main
from ngm.text.encoders.choice import MINILM_UNAVAILABLE

Run = Callable[..., tuple[int, str, str]]
NO_ENCODER = f"texts are compared by their words alone: {MINILM_UNAVAILABLE}"
NO_CACHE = "/nowhere/ngm"  # so that no sentence encoder is found, whichever machine the tests run on


def runner(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *first: str,
    joined: bool = True,
    lacking: bool = False,
) -> Run:
    """What runs a command on 200 columns, without a network or a cache, and gives (exit code, output, errors).

    Args:
        monkeypatch: Sets the arguments.
        capsys: Has what is printed.
        first: Words that every call begins with.
        joined: Put the errors on one line.
        lacking: Leave the note in that there is no sentence encoder.
    """
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NGM_OFFLINE", "1")
    monkeypatch.setenv("NGM_CACHE", NO_CACHE)

    def command(*words: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["ngm", *first, *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        errors = told.err if lacking else told.err.replace(f"note: {NO_ENCODER}\n", "")
        return int(ended.value.code or 0), told.out, " ".join(errors.split()) if joined else errors

    return command
