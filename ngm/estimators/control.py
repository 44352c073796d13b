"""The control: the same network trained without the graph, so that what the graph adds can be told."""

from __future__ import annotations

from typing import TypeVar, cast

from numpy.typing import ArrayLike
from sklearn.base import clone, is_regressor
from sklearn.utils.validation import check_is_fitted

from ngm.estimators.base import NGMEstimator
from ngm.estimators.validation import automatic_share, chosen_rows, is_pair
from ngm.networks.specifications import Network
from ngm.recipes.optimizer import Optimizer, optimizer_of
from ngm.recipes.parameters import NetworkFunction, network_specification
from ngm.targets import as_array
from ngm.task import read_classes, read_numbers

Estimator = TypeVar("Estimator", bound=NGMEstimator)


def without_graph(model: Estimator, y: ArrayLike) -> Estimator:
    """The same estimator, not fitted yet, that is to be trained without the graph.

    It has the network, the settings and the seed of `model`, the same validation rows and as many steps: an epoch over
    the labelled rows alone is shorter than one over edges or softly labelled rows, so there are more of them.

    Args:
        model: Fitted with a graph.
        y: Its targets, as they were given to `fit`.

    Returns:
        An estimator to call `fit(x, y)` on; it writes no run folder.

    >>> import numpy as np
    >>> from ngm import Graph, NGMClassifier
    >>> x, y = np.eye(6, dtype=np.float32), [0, 1, -1, -1, -1, -1]
    >>> graph = Graph.from_edges([[0, 2], [2, 4], [1, 3], [3, 5]])
    >>> model = NGMClassifier(recipe="paper", epochs=5, batch_size=2).fit(x, y, graph=graph)
    >>> control = without_graph(model, y)  # 2 steps an epoch with the graph, 1 without
    >>> control.epochs, control.fit(x, y).edges_by_kind_
    (10, {'ll': 0, 'lu': 0, 'uu': 0})
    """
    check_is_fitted(model)
    if not hasattr(model, "steps_per_epoch_"):
        raise ValueError("the model was loaded, and its steps are not kept; give one that was just fitted")
    used, optimizer = model.settings_, optimizer_of(model.optimizer)
    longer = max(model.steps_per_epoch_ / -(-_labeled(model, y) // used.batch_size), 1.0)
    plain = clone(model).set_params(
        recipe="paper",
        alpha_ll=None,
        alpha_lu=None,
        alpha_uu=None,
        negatives=None,
        margin=None,
        learning_rate=used.learning_rate,
        optimizer=Optimizer(optimizer.name, used.weight_decay, used.ema_decay, optimizer.clip),
        network=_same_network(model),
        epochs=round(cast(int, used.epochs) * longer),
        patience=None if model.patience is None else round(model.patience * longer),
    )
    return cast(Estimator, plain)


def _same_network(model: NGMEstimator) -> Network | NetworkFunction:
    """The network with the settings that the recipe gave it, without word vectors that only teachers read."""
    network = network_specification(model)
    if not network.settings():
        return cast(NetworkFunction, model.network)
    completed = network.completed(vars(model.settings_))
    if network.reads == "characters":
        completed.set_params(vectors=None)
    return completed


def _labeled(model: NGMEstimator, y: ArrayLike) -> int:
    """How many rows have a label that is trained on: all that have one but the validation rows."""
    read = read_numbers if is_regressor(model) else read_classes
    task, targets, labeled = read(y, len(as_array(y)))
    count, wanted = int(labeled.sum()), model.validation
    if isinstance(wanted, str):
        wanted = automatic_share(labeled, task.out_features, task.name == "numbers", model.patience is not None)
    if wanted is None or is_pair(wanted):
        return max(count, 1)
    return max(count - len(chosen_rows(cast(float, wanted), targets, labeled, model.seed)), 1)
