"""The control: the same network trained without the graph, so that what the graph adds can be told."""

from __future__ import annotations

from typing import TypeVar, cast

from numpy.typing import ArrayLike
from sklearn.base import clone, is_regressor
from sklearn.utils.validation import check_is_fitted

from ngm.estimators.base import NGMEstimator
from ngm.estimators.validation import chosen_rows, is_pair
from ngm.networks import WORD_NETWORKS
from ngm.targets import as_array
from ngm.task import read_classes, read_numbers
from ngm.text.readers import reads_texts

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
    used = model.settings_
    longer = max(model.steps_per_epoch_ / -(-_labeled(model, y) // used.batch_size), 1.0)
    plain = clone(model).set_params(
        recipe="paper",
        alpha_ll=None,
        alpha_lu=None,
        alpha_uu=None,
        negatives=None,
        margin=None,
        learning_rate=used.learning_rate,
        weight_decay=used.weight_decay,
        average=used.average,
        cut=used.cut if reads_texts(model.network) else model.cut,
        epochs=round(cast(int, used.epochs) * longer),
        patience=None if model.patience is None else round(model.patience * longer),
        word_vectors=model.word_vectors if model.network in WORD_NETWORKS else None,
        folder=None,
        resume=False,
        overwrite=False,
    )
    if model.network == "ffnn":
        plain.set_params(dropout=used.dropout, input_dropout=used.input_dropout, input_scaling=used.input_scaling)
    return cast(Estimator, plain)


def _labeled(model: NGMEstimator, y: ArrayLike) -> int:
    """How many rows have a label that is trained on: all that have one but the validation rows."""
    read = read_numbers if is_regressor(model) else read_classes
    _, targets, labeled = read(y, len(as_array(y)))
    count, wanted = int(labeled.sum()), model.validation
    if wanted is None or is_pair(wanted):
        return max(count, 1)
    return max(count - len(chosen_rows(cast(float, wanted), targets, labeled, model.seed)), 1)
