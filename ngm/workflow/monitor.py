"""What a training reports while it runs, and the warnings that it collects."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from ngm.estimators.base import NGMEstimator
    from ngm.training import Epoch

_VALIDATION = "validation_"


class Monitor:
    """Is told how a training goes; this one shows nothing, and leaves warnings to Python.

    `ngm train` overrides these methods to draw bars and print notes.
    """

    shows_notes = False
    """Whether `note` shows warnings, so that Python does not have to."""
    on_every_rank = False
    """Whether all processes of a training tell a monitor like this one, not the first alone."""

    def note(self, text: str) -> None:
        """A warning, each text once."""

    def message(self, text: str) -> None:
        """Something that the user should know of an interrupted or resumed run."""

    def fetch(self, name: str, done: int, total: int) -> None:
        """`done` of `total` bytes of a file have been downloaded."""

    def reading(self, description: str) -> AbstractContextManager[Callable[[int, int], None]]:
        """Entered while texts are encoded; gives a function to call with (texts done, texts in all)."""
        return nullcontext(lambda done, total: None)

    def fitting(self, model: NGMEstimator, description: str) -> AbstractContextManager[Callable[[Epoch], None]]:
        """Entered while `model` is fitted; gives a function to call with the record of each epoch."""
        return nullcontext(lambda epoch: None)

    def stopped_again(self) -> bool:
        """Whether the user asked twice to stop: then nothing more is written."""
        return False


class SilentMonitor(Monitor):
    """Shows nothing, warnings neither: for all processes but the first."""

    shows_notes = True


@contextmanager
def collected_notes(monitor: Monitor) -> Iterator[list[str]]:
    """Collects the texts of warnings, each once, and hands them to the monitor as they come."""
    notes: list[str] = []
    with warnings.catch_warnings():
        show = warnings.showwarning
        warnings.simplefilter("always", UserWarning)

        def note(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            text = " ".join(str(message).split())
            if text in notes:  # of another seed, or of the control
                return
            notes.append(text)
            if monitor.shows_notes:
                monitor.note(text)
            else:
                show(message, category, filename, lineno, file, line)

        warnings.showwarning = note
        yield notes


def validation_metric(epoch: Epoch) -> tuple[str, float] | None:
    """(name, value) of the first validation metric, which decides between epochs; None where there is none.

    >>> validation_metric({"total": 1.0, "validation_micro_f1": 0.5, "validation_cost": 2.0})
    ('micro_f1', 0.5)
    """
    metrics = [(k.removeprefix(_VALIDATION), v) for k, v in epoch.items() if k.startswith(_VALIDATION)]
    return metrics[0] if metrics else None
