"""The objective of an estimator: a regularizer per graph, from the settings that its recipe filled in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ngm.choices import Scaling
from ngm.estimators.checks import per_graph
from ngm.objective import NGMLoss, Regularizer
from ngm.recipes.settings import Settings

ALPHAS = ("alpha_ll", "alpha_lu", "alpha_uu")
_IDLE = Regularizer(alpha_ll=0, alpha_lu=0, alpha_uu=0)


def edge_loss(
    settings: Settings, template: Regularizer, cost: str, scaling: Scaling, graphs: int, used: Sequence[bool] = ()
) -> NGMLoss:
    """A regularizer per graph, with alphas of 0 where the graph is not used.

    Args:
        settings: Has the alphas (a list has an entry per graph), negatives and margin.
        template: Has distance, layer and influence.
        cost: Supervised cost.
        scaling: Of the terms.
        graphs: How many there are.
        used: (graphs,) whether each is used; all of them where not given.
    """
    count = max(graphs, 1)
    per = [per_graph(name, getattr(settings, name), count) for name in ALPHAS]
    like = replace(template, negatives=settings.negatives, margin=settings.margin)
    made = [replace(like, alpha_ll=ll, alpha_lu=lu, alpha_uu=uu) for ll, lu, uu in zip(*per, strict=True)]
    kept = [r if u else _IDLE for r, u in zip(made, used or [True] * count, strict=True)]
    return NGMLoss(kept, cost=cost, scaling=scaling)
