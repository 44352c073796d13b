"""The optimizer of an estimator as a specification with settings of its own."""

from __future__ import annotations

from dataclasses import dataclass

from sklearn.base import BaseEstimator

from ngm.choices import OptimizerName
from ngm.parameters import PARAMETERS, with_settings


@with_settings
@dataclass(eq=False, repr=False)
class Optimizer(BaseEstimator):  # type: ignore[misc]
    """How the weights are updated; `NGMClassifier(optimizer="adam")` is short for `optimizer=Optimizer("adam")`.

    Where a setting is None, the recipe of the estimator decides. The learning rate is a setting of the estimator.

    Args:
        name: "adam", "adamw" or "sgd" (momentum .9).
        {settings}

    >>> from ngm import NGMClassifier
    >>> NGMClassifier(optimizer=Optimizer("sgd", clip=1.0)).get_params()["optimizer__clip"]
    1.0
    """

    name: OptimizerName = "adam"
    weight_decay: float | None = None
    ema_decay: float | None = None
    clip: float | None = None


def optimizer_of(optimizer: OptimizerName | Optimizer) -> Optimizer:
    """The specification of what was given as `optimizer`: a name, or a specification."""
    if isinstance(optimizer, Optimizer):
        return optimizer
    PARAMETERS["optimizer"].check("optimizer", optimizer)
    return Optimizer(optimizer)
