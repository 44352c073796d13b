"""The command line: arguments to functions, results to tables or, with --json, to JSON on standard output.

A file for each command; `terminal` has what they share, `training` and `prediction` the parts of the two large ones.
"""

from __future__ import annotations

import sys
from typing import NoReturn

import typer
from rich.markup import escape

from ngm.cli import build, check, datasets, demo, export, ingest, predict, report, reproduce, train
from ngm.cli.signals import exit_code, stop_signals
from ngm.cli.terminal import app, err

__all__ = [
    "app",
    "build",
    "check",
    "datasets",
    "demo",
    "export",
    "ingest",
    "main",
    "predict",
    "report",
    "reproduce",
    "train",
]


_STOPPED = 130  # by Ctrl-C, as shells say it
_USAGE: type[Exception] = typer.BadParameter.__bases__[0]  # every wrong option or argument; typer has no name for it


def main() -> None:
    """Runs a command; a user's mistake ends in one line on standard error and exit code 2."""
    try:
        with stop_signals():
            code = app(standalone_mode=False)
    except (ValueError, OSError, RuntimeError, ArithmeticError) as error:
        if "--debug" in sys.argv:
            raise
        _say(str(error))
    except (KeyboardInterrupt, typer.Abort):
        err.print("stopped")
        raise SystemExit(exit_code()) from None
    except _USAGE as error:
        wrong = error.format_message()  # type: ignore[attr-defined]
        if not wrong:  # no arguments at all: the help was shown
            raise SystemExit(2) from None
        path = getattr(getattr(error, "ctx", None), "command_path", "ngm")
        _say(f"{wrong.rstrip('.')}; see {path} --help")
    if code == _STOPPED:  # what the commands' library makes of Ctrl-C
        err.print("stopped")
        raise SystemExit(exit_code())
    raise SystemExit(code if isinstance(code, int) else 0)


def _say(wrong: str) -> NoReturn:
    err.print(f"[bold red]error:[/] {escape(' '.join(wrong.split()))}", highlight=False, soft_wrap=True)
    raise SystemExit(2) from None
