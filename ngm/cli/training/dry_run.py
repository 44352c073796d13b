"""`ngm train --dry-run`: everything but the training, of which a few steps are timed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import cast

import torch
from torch import nn

from ngm.cli.training.data import Data
from ngm.estimators.base import NGMEstimator
from ngm.estimators.classifier import NGMClassifier
from ngm.estimators.parameters import Parameters
from ngm.estimators.regressor import NGMRegressor
from ngm.io.run_folder import Run
from ngm.objective import NGMLoss
from ngm.recipes.problem import HeldOut, Problem
from ngm.recipes.recipe import Recipe
from ngm.rows import Inputs
from ngm.sampling import EdgeLoader
from ngm.text.readers import Reader
from ngm.training import Epoch, History, seeded

_TIMED = 3  # steps, after one to warm up


@dataclass(frozen=True)
class Plan:
    """What a training would do.

    Args:
        weights: Of the network.
        edges: LL, LU and UU edges that would be trained on.
        taught: Whether teachers would label all rows first, which takes its own time.
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


def rehearsed(model: NGMEstimator, data: Data) -> Plan:
    """Checks all that `fit` checks and times a few steps; nothing is written.

    Args:
        model: Not fitted; it stays as it is.
        data: What it would be fitted to.
    """
    kind = _Numbers if isinstance(model, NGMRegressor) else _Classes
    given = {f.name: getattr(model, f.name) for f in fields(model)} | {
        "folder": None,
        "resume": False,
        "overwrite": False,
    }
    tried = kind(**given)
    tried.fit(data.x, data.target.y, graph=data.graph)  # views are for teachers, which are not rehearsed
    return Plan(
        weights=sum(p.numel() for p in tried.network_.parameters()),
        edges=dict(tried.edges_by_kind_),
        taught=tried.settings_.recipe != "paper" and any(tried.graphs_used_) and all(tried.graphs_used_),
        validation=tried.num_validation_,
        batch_size=tried.settings_.batch_size,
        steps=tried.steps,
        epochs=cast(int, tried.settings_.epochs),
        seconds=tried.seconds_an_epoch * cast(int, tried.settings_.epochs),
    )


class _Rehearsal(NGMEstimator):
    """An estimator that times a few steps where others train."""

    steps: int
    seconds_an_epoch: float

    def _recipe(self, parameters: Parameters) -> Recipe:
        return _Untaught(parameters, self.settings_, super()._recipe(parameters))

    def _train(
        self,
        loader: EdgeLoader,
        loss: NGMLoss,
        held_out: HeldOut,
        run: Run | None,
        on_epoch: Callable[[Epoch], None] | None,
    ) -> History:
        self.steps = len(loader)
        self.settings_ = replace(self.settings_, epochs=self.settings_.epochs_of(self.steps))
        self.network_.train()
        walked = torch.optim.Adam(self.network_.parameters(), fused=True)
        spent, started = [], time.perf_counter()
        with seeded(self.seed):
            for batch in islice(loader, _TIMED + 1):
                cost = loss(self.network_, batch.to(self.device)).total
                if cost.requires_grad:
                    cost.backward()
                walked.step()
                spent.append(time.perf_counter() - started)
                started = time.perf_counter()
        if held_out.any:
            self._logits(held_out.x)
        self.seconds_an_epoch = sum(spent[1:] or spent) / max(len(spent[1:]), 1) * self.steps
        self.seconds_an_epoch += time.perf_counter() - started
        return History()


class _Numbers(_Rehearsal, NGMRegressor):
    pass


class _Classes(_Rehearsal, NGMClassifier):
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
