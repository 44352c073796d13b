"""The settings of an estimator as one value; `ngm.parameters` declares what each means and may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import nn

from ngm.choices import Influence, Labels, OptimizerName, Precision, Recipe, Sampling, Scaling, ScalingName
from ngm.distances import Distance
from ngm.rows import Inputs
from ngm.text.thesaurus import Thesaurus
from ngm.text.word_vectors import WordVectors

Network: TypeAlias = "str | Callable[[int, int], nn.Module]"
ValidationPair: TypeAlias = tuple[Inputs | Sequence[str], ArrayLike]
Validation: TypeAlias = "float | Sequence[int] | NDArray[np.int64] | NDArray[np.bool_] | ValidationPair | None"


@dataclass(eq=False, repr=False)
class Parameters:
    """Settings of an NGM estimator; the estimators inherit these fields, helpers take them as a value."""

    hidden: Sequence[int] = (250, 100)
    alpha_ll: float | Sequence[float] | None = None
    alpha_lu: float | Sequence[float] | None = None
    alpha_uu: float | Sequence[float] | None = None
    distance: str | Distance = "l2"
    layer: str | None = None
    influence: Influence = "both"
    negatives: float | None = None
    margin: float | None = None
    scaling: Scaling = "mean"
    network: Network = "ffnn"
    recipe: Recipe = "auto"
    class_prior: Mapping[str, float] | Mapping[int, float] | Sequence[float] | None = None
    dropout: float | None = None
    input_dropout: float | None = None
    input_scaling: ScalingName | None = None
    word_vectors: str | Path | WordVectors | None = None
    max_words: int = 20_000
    thesaurus: str | Path | Thesaurus | None = None
    cut: float | None = None
    epochs: int | None = None
    batch_size: int | None = None
    sampling: Sampling = "plain"
    labels: Labels = "every_batch"
    optimizer: OptimizerName = "adam"
    learning_rate: float | None = None
    weight_decay: float | None = None
    average: float | None = None
    clip: float | None = None
    bfloat16: bool = False
    dtype: Precision | None = None
    validation: Validation = None
    patience: int | None = None
    seed: int = 0
    device: str = "cpu"
    folder: str | Path | None = None
    resume: bool = False
    overwrite: bool = False


def parameters_of(estimator: Parameters) -> Parameters:
    """The settings of an estimator by themselves."""
    return Parameters(**{field.name: getattr(estimator, field.name) for field in fields(Parameters)})


def alphas_given(parameters: Parameters) -> bool:
    """Whether any of the three alphas is set."""
    return any(alpha is not None for alpha in (parameters.alpha_ll, parameters.alpha_lu, parameters.alpha_uu))
