"""The digits as examples and pages of the documentation load them in tests: fewer of them, and fewer epochs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ngm import datasets
from ngm.datasets import Dataset

POOL, NEW, MAX_EPOCHS = 300, 200, 5
_whole = datasets.load


def load(name: str, *given: object, **options: object) -> Dataset:
    """As `ngm.datasets.load`; of the digits, 300 of the pool to draw labels from, and 200 of those to score."""
    data = _whole(name, *given, **options)  # type: ignore[arg-type]
    return replace(data, train=data.train[:POOL], test=data.test[:NEW]) if name == "digits" else data


def install() -> None:
    """What imports `load` from now on gets fewer digits, and what `fit` trains learns for a short time.

    That is five epochs at most, after teachers with two folds, or two teachers of 30 steps where the recipe is strong.
    """
    from ngm.recipes import folds, strong_teachers  # torch, which few of those that load digits need
    from ngm.recipes.settings import Settings

    datasets.load, folds.FOLDS = load, 2
    whole, config = Settings.epochs_of, strong_teachers.TeacherConfig
    Settings.epochs_of = lambda self, batches: min(whole(self, batches), MAX_EPOCHS)
    strong_teachers.TeacherConfig = partial(config, walkers=1, embedders=1, steps=30, embedder_steps=30)
