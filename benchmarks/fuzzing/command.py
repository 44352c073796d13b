"""Runs an `ngm` command in this process, and holds it to what commands promise."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from fuzzing.judge import CommandError, RefusedError
from ngm.cli import main


def command(*words: object, output: Path | None = None) -> Callable[[], object]:
    """What runs the command: it returns on exit code 0, raises the error behind exit code 2, or a `CommandError`.

    Args:
        words: After `ngm`.
        output: What the command writes; it must not be there after a refusal.
    """

    def call() -> object:
        before = sys.argv
        sys.argv = ["ngm", *map(str, words)]
        out, err = io.StringIO(), io.StringIO()
        try:
            with redirect_stdout(out), redirect_stderr(err):
                main()
        except SystemExit as ended:
            return _check(ended, str(words[0]), out.getvalue(), err.getvalue(), output)
        finally:
            sys.argv = before
        raise CommandError("main returned without an exit code")

    return call


def _check(ended: SystemExit, name: str, out: str, err: str, output: Path | None) -> object:
    allowed = (0, 1, 2) if name == "check" else (0, 2)
    if ended.code not in allowed or "Traceback" in err:
        raise CommandError(f"exit code {ended.code!r}, errors {err[-300:]!r}")
    if ended.code != 2:
        return out
    lines = err.strip().splitlines()
    if not lines or not lines[-1].startswith("error: ") or len(lines[-1]) < 15:
        raise CommandError(f"exit code 2 without one clear line: {err[-300:]!r}")
    if output is not None and output.exists():
        raise CommandError(f"{output.name} is there although the command refused: {lines[-1][:200]}")
    cause = ended.__context__
    if isinstance(cause, ValueError | OSError | RuntimeError | ArithmeticError):
        raise cause
    raise RefusedError(lines[-1])  # a wrong option
