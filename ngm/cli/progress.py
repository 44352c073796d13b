"""Progress of a training, on standard error."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichProgress
from rich.text import Text

from ngm.cli.terminal import err
from ngm.workflow.monitor import validation_metric

if TYPE_CHECKING:
    from ngm.estimators.base import NGMEstimator
    from ngm.training import Epoch

_LINE_INTERVAL = 10.0  # seconds between lines where there is no terminal
_METRICS = {
    "accuracy": "accuracy",
    "micro_f1": "micro F1",
    "negative_squared_error": "squared error of scaled numbers",
    "r_squared": "R²",
}


class TrainingProgress:
    """Shows each epoch: a bar on a terminal, else a line every ten seconds.

    Args:
        model: The estimator in training, which has the number of epochs.
        description: What is being done.
        quiet: Show nothing.
    """

    def __init__(self, model: NGMEstimator, description: str, quiet: bool) -> None:
        self.model, self.description, self.quiet = model, description, quiet
        self.bar = _Bar(console=err, transient=True, disable=quiet or not err.is_terminal)
        self.bar.line = f"{description}: getting ready"
        self.epoch_seconds: list[float] = []
        self.last_line = -_LINE_INTERVAL

    def __enter__(self) -> TrainingProgress:
        self.bar.start()
        self.task = self.bar.add_task("", total=None)
        return self

    def __exit__(self, *error: object) -> None:
        if not self.bar.disable:  # rich before 14.3 ends even a bar that was never shown with an empty line
            self.bar.stop()

    def __call__(self, epoch: Epoch) -> None:
        """Takes the record of an epoch."""
        done, epochs = int(epoch["epoch"]) + 1, int(self.model.settings_.epochs or 1)
        self.epoch_seconds.append(epoch["seconds"])
        line = f"{self.description}: {described(epoch)}"
        if not self.quiet and err.is_terminal:
            self.bar.line = line
            self.bar.update(self.task, completed=done, total=epochs)
            return
        now = time.monotonic()
        if not self.quiet and (now - self.last_line >= _LINE_INTERVAL or done == epochs):
            self.last_line = now
            left = sum(self.epoch_seconds) / len(self.epoch_seconds) * (epochs - done)
            err.print(f"epoch {done:,} of {epochs:,}, {line}, {left:.0f} s left", highlight=False, soft_wrap=True)


@contextmanager
def counted(description: str, noun: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Shows how many items are done: a bar on a terminal, else a line every ten seconds.

    Args:
        description: What is being done.
        noun: Plural noun of the items.
        quiet: Show nothing.
    """
    bar = _Bar(console=err, transient=True, disable=quiet or not err.is_terminal)
    bar.line = description
    last_line = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal last_line
        if not bar.disable:
            bar.update(task, completed=done, total=total)
        elif not quiet and time.monotonic() - last_line >= _LINE_INTERVAL:
            last_line = time.monotonic()
            err.print(f"{description}: {done:,} of {total:,} {noun}", highlight=False, soft_wrap=True)

    bar.start()
    task = bar.add_task("", total=None)
    try:
        yield report
    finally:
        if not bar.disable:
            bar.stop()


class _Bar(RichProgress):
    """A progress bar with a line of text below it, which fits a narrow terminal."""

    line = ""

    @classmethod
    def get_default_columns(cls) -> tuple[ProgressColumn, ...]:
        return BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()

    def get_renderables(self) -> Iterator[RenderableType]:
        yield from super().get_renderables()
        yield Text(self.line)


def described(epoch: Epoch) -> str:
    """The cost with its terms, and the metric on validation rows.

    >>> record = {"total": 0.75, "supervised": 0.5, "ll": 0.0, "lu": 0.1, "uu": 0.15, "repulsion": 0.0}
    >>> described({**record, "validation_accuracy": 0.9})
    'cost 0.750 (labels 0.500, LU 0.100, UU 0.150), accuracy 0.900'
    """
    names = {"labels": "supervised", "LL": "ll", "LU": "lu", "UU": "uu", "apart": "repulsion"}
    terms = ", ".join(f"{name} {epoch[term]:.3f}" for name, term in names.items() if epoch[term])
    parts = f" ({terms})" if "," in terms else ""
    metric = validation_metric(epoch)
    metric_text = "" if metric is None else f", {metric_name(metric[0])} {metric_value(*metric)}"
    return f"cost {epoch['total']:.3f}{parts}{metric_text}"


def metric_name(name: str) -> str:
    """The printed name of a metric.

    >>> metric_name("negative_squared_error")
    'squared error of scaled numbers'
    """
    return _METRICS.get(name, name)


def metric_value(name: str, value: float, std: float | None = None) -> str:
    """The value of a metric; errors have no sign.

    >>> metric_value("accuracy", 0.9), metric_value("negative_squared_error", -0.25, 0.01)
    ('0.900', '0.250 ± 0.010')
    """
    more = "" if std is None else f" ± {std:.3f}"
    return f"{abs(value) if name.startswith('negative') else value:.3f}{more}"
