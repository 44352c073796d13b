"""How a training goes, on standard error."""

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

_EVERY = 10.0  # seconds between lines where there is no terminal
_METRICS = {
    "accuracy": "accuracy",
    "micro_f1": "micro F1",
    "negative_squared_error": "squared error of scaled numbers",
}


class TrainingProgress:
    """Shows each epoch: a bar on a terminal, else a line now and then.

    Args:
        model: Is being trained; knows how many epochs there will be.
        what: Is being done.
        quiet: Show nothing.
    """

    def __init__(self, model: NGMEstimator, what: str, quiet: bool) -> None:
        self.model, self.what, self.quiet = model, what, quiet
        self.bar = _Bar(console=err, transient=True, disable=quiet or not err.is_terminal)
        self.bar.line = f"{what}: getting ready"
        self.spent: list[float] = []
        self.said = -_EVERY

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
        self.spent.append(epoch["seconds"])
        line = f"{self.what}: {described(epoch)}"
        if not self.quiet and err.is_terminal:
            self.bar.line = line
            self.bar.update(self.task, completed=done, total=epochs)
            return
        now = time.monotonic()
        if not self.quiet and (now - self.said >= _EVERY or done == epochs):
            self.said = now
            left = sum(self.spent) / len(self.spent) * (epochs - done)
            err.print(f"epoch {done:,} of {epochs:,}, {line}, {left:.0f} s left", highlight=False, soft_wrap=True)


@contextmanager
def counted(what: str, things: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Shows how many things are done: a bar on a terminal, else a line now and then.

    Args:
        what: Is being done.
        things: That are counted.
        quiet: Show nothing.
    """
    bar = _Bar(console=err, transient=True, disable=quiet or not err.is_terminal)
    bar.line = what
    said = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal said
        if not bar.disable:
            bar.update(task, completed=done, total=total)
        elif not quiet and time.monotonic() - said >= _EVERY:
            said = time.monotonic()
            err.print(f"{what}: {done:,} of {total:,} {things}", highlight=False, soft_wrap=True)

    bar.start()
    task = bar.add_task("", total=None)
    try:
        yield report
    finally:
        if not bar.disable:
            bar.stop()


class _Bar(RichProgress):
    """A bar with a line below it, since both beside each other do not fit into a narrow terminal."""

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
    said = "" if metric is None else f", {metric_name(metric[0])} {metric_value(*metric)}"
    return f"cost {epoch['total']:.3f}{parts}{said}"


def metric_name(name: str) -> str:
    """What a metric is called.

    >>> metric_name("negative_squared_error")
    'squared error of scaled numbers'
    """
    return _METRICS.get(name, name)


def metric_value(name: str, value: float, spread: float | None = None) -> str:
    """The value of a metric; errors have no sign.

    >>> metric_value("accuracy", 0.9), metric_value("negative_squared_error", -0.25, 0.01)
    ('0.900', '0.250 ± 0.010')
    """
    more = "" if spread is None else f" ± {spread:.3f}"
    return f"{abs(value) if name.startswith('negative') else value:.3f}{more}"
