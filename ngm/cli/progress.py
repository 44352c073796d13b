"""How a training goes, and what there is to note of it, on standard error."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from rich.markup import escape

from ngm.cli.terminal import Step, bar, err
from ngm.methods.classifier import NGMClassifier
from ngm.training import Epoch

_EVERY = 10.0  # seconds between lines where there is no terminal


class Progress:
    """Shows each epoch: a bar on a terminal, else a line now and then.

    Args:
        model: Is being trained; knows how many epochs there will be.
        what: Is being done.
        quiet: Show nothing.
    """

    def __init__(self, model: NGMClassifier, what: str, quiet: bool) -> None:
        self.model, self.what, self.quiet = model, what, quiet
        self.stack = ExitStack()
        self.spent: list[float] = []
        self.said = -_EVERY

    def __enter__(self) -> Progress:
        self.step: Step = self.stack.enter_context(bar(1, self.quiet))
        return self

    def __exit__(self, *error: object) -> None:
        self.stack.close()

    def __call__(self, epoch: Epoch) -> None:
        """Takes the record of an epoch."""
        done, epochs = int(epoch["epoch"]) + 1, int(self.model.settings_.epochs or 1)
        self.spent.append(epoch["seconds"])
        line = f"{self.what}: {described(epoch)}"
        if not self.quiet and err.is_terminal:
            self.step.bar.update(self.step.task, completed=done, total=epochs, description=line)
            return
        now = time.monotonic()
        if not self.quiet and (now - self.said >= _EVERY or done == epochs):
            self.said = now
            left = sum(self.spent) / len(self.spent) * (epochs - done)
            err.print(f"epoch {done:,} of {epochs:,}, {line}, {left:.0f} s left", highlight=False, soft_wrap=True)


def described(epoch: Epoch) -> str:
    """The cost with its terms, and the accuracy on validation texts.

    >>> record = {"total": 0.75, "supervised": 0.5, "ll": 0.0, "lu": 0.1, "uu": 0.15, "validation_accuracy": 0.9}
    >>> described(record)
    'cost 0.750 (labels 0.500, LU 0.100, UU 0.150), accuracy 0.900'
    """
    names = {"labels": "supervised", "LL": "ll", "LU": "lu", "UU": "uu"}
    terms = ", ".join(f"{name} {epoch[term]:.3f}" for name, term in names.items() if epoch[term])
    parts = f" ({terms})" if "," in terms else ""
    accuracy = epoch.get("validation_accuracy")
    return f"cost {epoch['total']:.3f}{parts}" + ("" if accuracy is None else f", accuracy {accuracy:.3f}")


@contextmanager
def noted(quiet: bool) -> Iterator[list[str]]:
    """Shows warnings of the library as notes, each in a line, and collects them."""
    notes: list[str] = []

    def note(message: Warning | str, *where: object) -> None:
        notes.append(" ".join(str(message).split()))
        if not quiet:
            err.print(f"[yellow]note:[/] {escape(notes[-1])}", highlight=False, soft_wrap=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = note  # type: ignore[assignment]
        yield notes
