"""`ngm train --dry-run`: everything but the training, of which a few steps are timed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import cast

import torch
from torch import Tensor

from ngm.cli.training.data import Data
from ngm.estimators.base import NGMEstimator
from ngm.estimators.classifier import NGMClassifier
from ngm.estimators.problem import Problem
from ngm.estimators.regressor import NGMRegressor
from ngm.estimators.validation import HeldOut
from ngm.io.run_folder import Run
from ngm.objective import NGMLoss
from ngm.sampling import EdgeLoader
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
    def _teach(self, problem: Problem, some: bool) -> tuple[Tensor, Tensor]:
        return self._labelled_alike(problem.targets) if problem.graphs else (problem.targets, problem.labeled)

    def _soft_targets(self, problem: Problem) -> tuple[Tensor, Tensor]:
        return self._labelled_alike(problem.targets)

    def _labelled_alike(self, targets: Tensor) -> tuple[Tensor, Tensor]:
        """As if the teachers had labelled every node: what they say has no bearing on time."""
        count = len(self.classes_)
        return torch.full((len(targets), count), 1 / count), torch.ones(len(targets), dtype=torch.bool)
