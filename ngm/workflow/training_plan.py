"""What a training would do and how long it would take: everything is checked, and a few of its steps are timed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import cast

import torch
from torch import nn

from ngm.estimators.base import NGMEstimator
from ngm.estimators.classifier import NGMClassifier
from ngm.estimators.regressor import NGMRegressor
from ngm.io.run_folder import Run
from ngm.objective import NGMLoss
from ngm.recipes.parameters import Parameters
from ngm.recipes.problem import HeldOut, Problem
from ngm.recipes.recipe import Recipe
from ngm.rows import Inputs
from ngm.sampling import EdgeLoader
from ngm.text.readers import Reader
from ngm.training import Epoch, History
from ngm.workflow.training_data import TrainingData

_TIMED = 3  # steps, after one that is not timed


@dataclass(frozen=True)
class TrainingPlan:
    """What a training would do.

    Args:
        weights: Of the network.
        edges: LL, LU and UU edges that would be trained on.
        taught: Whether teachers would label all rows first, which takes time of its own.
        validation: Rows to validate on.
        batch_size: Edges or rows in a step.
        steps: In an epoch.
        epochs: At most.
        seconds: For all steps, roughly.
    """

    weights: int
    edges: dict[str, int]
    taught: bool
    validation: int
    batch_size: int
    steps: int
    epochs: int
    seconds: float


def plan_training(model: NGMEstimator, data: TrainingData) -> TrainingPlan:
    """Checks all that `fit` checks and times a few steps; nothing is written.

    Args:
        model: Not fitted; it stays as it is.
        data: What it would be fitted to.
    """
    kind = _Numbers if isinstance(model, NGMRegressor) else _Classes
    tried = kind(**{f.name: getattr(model, f.name) for f in fields(model)})
    tried.fit(data.x, data.target.y, graph=data.graph)  # views are for teachers, which are left out
    return TrainingPlan(
        weights=sum(p.numel() for p in tried.network_.parameters()),
        edges=dict(tried.edges_by_kind_),
        taught=tried.settings_.recipe != "paper" and any(tried.graphs_used_) and all(tried.graphs_used_),
        validation=tried.num_validation_,
        batch_size=tried.settings_.batch_size,
        steps=tried.num_steps,
        epochs=cast(int, tried.settings_.epochs),
        seconds=tried.seconds_per_epoch * cast(int, tried.settings_.epochs),
    )


class _DryRun(NGMEstimator):
    """An estimator that trains for a few steps only, and times them."""

    num_steps: int
    seconds_per_epoch: float

    def _recipe(self, parameters: Parameters) -> Recipe:
        return _Untaught(parameters, self.settings_, super()._recipe(parameters))

    def _train(
        self,
        loader: EdgeLoader,
        loss: NGMLoss,
        held_out: HeldOut,
        run: Run | None,
        resume: bool,
        on_epoch: Callable[[Epoch], None] | None,
    ) -> History:
        self.num_steps = len(loader)
        self.settings_ = self.settings_.completed(self.num_steps, len(loader.labeled))
        history = self._loop()(loader, loss, epochs=1, max_steps=1)  # the first step takes longer than others
        if history.stopped != "interrupted":
            history = self._loop()(loader, loss, epochs=1, max_steps=_TIMED)
        seconds = sum(epoch["seconds"] for epoch in history.epochs)
        self.seconds_per_epoch = seconds / max(min(_TIMED, self.num_steps), 1) * self.num_steps
        if held_out.any:
            started = time.perf_counter()
            self._logits(held_out.x)
            self.seconds_per_epoch += time.perf_counter() - started
        return history


class _Numbers(_DryRun, NGMRegressor):
    pass


class _Classes(_DryRun, NGMClassifier):
    pass


@dataclass(frozen=True, eq=False)
class _Untaught(Recipe):
    """A recipe whose teachers label every node alike: what they say has no bearing on time."""

    recipe: Recipe

    def training_inputs(self, inputs: Inputs, reader: Reader | None) -> Inputs:
        return self.recipe.training_inputs(inputs, reader)

    def choose_graphs(self, problem: Problem, network: nn.Module, loss: NGMLoss, dtype: torch.dtype) -> Problem:
        return self.recipe.choose_graphs(problem, network, loss, dtype)

    def prepare_targets(self, problem: Problem) -> Problem:
        if self.settings.recipe == "paper" or not problem.used_graphs:
            return problem
        rows, count = len(problem.targets), problem.task.out_features
        targets, labeled = torch.full((rows, count), 1 / count), torch.ones(rows, dtype=torch.bool)
        return replace(problem, targets=targets, labeled=labeled)
