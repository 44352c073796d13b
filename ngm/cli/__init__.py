"""The command line: arguments to functions, results to tables or, with --json, to JSON on standard output.

A file for each command; `terminal` has what they share, `training` the parts of the largest.
"""

from __future__ import annotations

import errno
import sys

import typer
from rich.markup import escape

from ngm.cli import build, check, datasets, demo, export, ingest, partition, predict, report, reproduce, train
from ngm.cli.signals import exit_code, is_stop, stop_signals
from ngm.cli.streams import CLOSED_PIPE, drop_unwritten, prepare_streams, use_utf8
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
    "partition",
    "predict",
    "report",
    "reproduce",
    "train",
]


_STOPPED = 130  # by Ctrl-C, as shells say it
_USAGE: type[Exception] = typer.BadParameter.__bases__[0]  # every wrong option or argument; typer has no name for it


def main() -> None:
    """Runs a command; a user's mistake ends in one line on standard error and exit code 2."""
    use_utf8()
    prepare_streams()
    try:
        code = _run()
        if not code:  # an error has been printed else, that of a full disk among them
            sys.stdout.flush()
    except BrokenPipeError:  # ngm ... | head
        code = CLOSED_PIPE
    except OSError as error:
        code = _print_error(_described(error))
    drop_unwritten()
    raise SystemExit(code)


def _run() -> int:
    """Runs a command; gives its exit code."""
    try:
        with stop_signals():
            code = app(standalone_mode=False)
    except BrokenPipeError:
        raise
    except (ValueError, OSError, RuntimeError, ArithmeticError) as error:
        if is_stop(error):
            return _stopped()
        if "--debug" in sys.argv:
            raise
        return _print_error(_described(error))
    except (KeyboardInterrupt, typer.Abort):
        return _stopped()
    except _USAGE as error:
        message = error.format_message()  # type: ignore[attr-defined]
        if not message:  # no arguments at all: the help was shown
            return 2
        path = getattr(getattr(error, "ctx", None), "command_path", "ngm")
        return _print_error(f"{message.rstrip('.')}; see {path} --help")
    if code == _STOPPED:  # what the commands' library makes of Ctrl-C
        return _stopped()
    return code if isinstance(code, int) else 0


def _stopped() -> int:
    err.print("stopped")
    return exit_code()


def _described(error: Exception) -> str:
    """The error in words; writers of files name those that the disk has no room for, so others are standard output."""
    if isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None:
        return "the disk is full: standard output cannot be written; free some space, or send it elsewhere"
    return str(error)


def _print_error(message: str) -> int:
    err.print(f"[bold red]error:[/] {escape(' '.join(message.split()))}", highlight=False, soft_wrap=True)
    return 2
