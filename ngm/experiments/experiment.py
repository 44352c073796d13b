"""What all experiments have in common: what may be chosen of them, and how they are planned and run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a command lists its experiments without loading them
    from ngm.experiments.scores import Scores
    from ngm.experiments.table import ResultTable
    from ngm.io.fetch import Progress


@dataclass(frozen=True)
class Choices:
    """What is to be run; `Experiment.options` says which of these an experiment takes.

    Args:
        seeds: Per row.
        rows: Keys of the experiment's methods; its own choice where not given.
        quick: Two seeds, and whatever else makes it short.
        dataset: One of `Experiment.datasets`; the experiment's own choice where not given.
        setting: A column of the table, or "both".
        curve: Accuracy against the number of labels instead of the table.
        shares: Percent of the nodes to train on.
        steps: Of the optimizer for each seed, at most; the experiment's own choice where not given.
    """

    seeds: int
    rows: Sequence[str] | None = None
    quick: bool = False
    dataset: str | None = None
    setting: str = "both"
    curve: bool = False
    shares: Sequence[int] | None = None
    steps: int | None = None


@dataclass(frozen=True)
class Plan:
    """Choices that were checked, ready to run.

    Args:
        total: How often the function that is called after each seed will be called, at most.
        run: From (progress of downloads, called with the row's name after each seed, where finished seeds are kept).
    """

    total: int
    run: Callable[[Progress | None, Callable[[str], None], Scores], ResultTable]


@dataclass(frozen=True)
class Experiment:
    """A table of the paper.

    Args:
        plan: Checks choices.
        seeds: Per row, where not chosen.
        options: Of the command, beyond those that all experiments take.
        datasets: Names to choose from, where there are several.
    """

    plan: Callable[[Choices], Plan]
    seeds: int
    options: tuple[str, ...]
    datasets: tuple[str, ...] = ()
