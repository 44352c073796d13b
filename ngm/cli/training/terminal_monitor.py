"""Shows on standard error how a training goes: bars or lines, notes, downloads."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from rich.markup import escape

from ngm.cli.progress import TrainingProgress, counted
from ngm.cli.signals import stopped_again
from ngm.cli.terminal import download, err
from ngm.estimators.base import NGMEstimator
from ngm.workflow.monitor import Monitor


class TerminalMonitor(Monitor):
    """Prints what it is told of.

    Args:
        quiet: Print nothing but messages about an interrupted run.
    """

    shows_notes = True

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self._download = download(quiet)
        self._fetch = self._download.__enter__()

    def note(self, text: str) -> None:
        """Prints a warning."""
        if not self.quiet:
            err.print(f"[yellow]note:[/] {escape(text)}", highlight=False, soft_wrap=True)

    def message(self, text: str) -> None:
        """Prints a message."""
        err.print(escape(text), highlight=False)

    def fetch(self, name: str, done: int, total: int) -> None:
        """Names each file that is downloaded."""
        self._fetch(name, done, total)

    def reading(self, description: str) -> AbstractContextManager[Callable[[int, int], None]]:
        """Counts texts."""
        return counted(description, "texts", self.quiet)

    def fitting(self, model: NGMEstimator, description: str) -> AbstractContextManager[TrainingProgress]:
        """Shows each epoch."""
        return TrainingProgress(model, description, self.quiet)

    def stopped_again(self) -> bool:
        """Whether there was a second signal."""
        return stopped_again()
