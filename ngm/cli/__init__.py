"""The command line: arguments to functions, results to tables or, with --json, to JSON on standard output.

A file for each command; `terminal` has what they share.
"""

from __future__ import annotations

import sys

from rich.markup import escape

from ngm.cli import build, check, datasets, demo, ingest, predict, reproduce, train
from ngm.cli.terminal import app, err

__all__ = ["app", "build", "check", "datasets", "demo", "ingest", "main", "predict", "reproduce", "train"]


def main() -> None:
    """Runs a command; a user's mistake ends in one line on standard error and exit code 2."""
    try:
        app()
    except (ValueError, OSError, RuntimeError, ArithmeticError) as error:
        if "--debug" in sys.argv:
            raise
        message = " ".join(str(error).split())
        err.print(f"[bold red]error:[/] {escape(message)}", highlight=False, soft_wrap=True)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        err.print("stopped")
        raise SystemExit(130) from None
