"""The objective of an estimator: a regularizer per graph, from the settings that its recipe filled in."""

from __future__ import annotations

from dataclasses import replace

from ngm.estimators.checks import per_graph
from ngm.objective import NGMLoss, Regularizer
from ngm.recipes.parameters import Parameters
from ngm.recipes.problem import Problem
from ngm.recipes.settings import Settings

ALPHAS = ("alpha_ll", "alpha_lu", "alpha_uu")
_IDLE = Regularizer(alpha_ll=0, alpha_lu=0, alpha_uu=0)


def edge_loss(parameters: Parameters, settings: Settings, problem: Problem) -> NGMLoss:
    """A regularizer per graph, with alphas of 0 where the graph is not used.

    Args:
        parameters: Have distance, layer, influence and scaling.
        settings: Has the alphas (a list has an entry per graph), negatives and margin.
        problem: Has the task and the graphs; as long as it is not known which are used, all are.
    """
    count = max(len(problem.graphs), 1)
    per = [per_graph(name, getattr(settings, name), count) for name in ALPHAS]
    like = Regularizer(
        distance=parameters.distance,
        layer=parameters.layer,
        influence=parameters.influence,
        negatives=settings.negatives,
        margin=settings.margin,
    )
    every = [replace(like, alpha_ll=ll, alpha_lu=lu, alpha_uu=uu) for ll, lu, uu in zip(*per, strict=True)]
    chosen = [r if u else _IDLE for r, u in zip(every, problem.graphs_used or [True] * count, strict=True)]
    return NGMLoss(chosen, cost=problem.task.cost, scaling=parameters.scaling)
