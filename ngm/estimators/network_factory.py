"""The estimator's network: made from its settings, and tried on a row before training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from ngm._node_targets import node_weights
from ngm._processor import check_bfloat16
from ngm.choices import ScalingName
from ngm.graph import Graph
from ngm.networks import NETWORKS, WORD_NETWORKS
from ngm.networks.input_scaling import Standardize, Table, choose_input_scaling, column_scale
from ngm.parameters import PARAMETERS
from ngm.rows import Inputs, move_rows, take_rows
from ngm.text.readers import reads_texts
from ngm.text.word_vectors import WordVectors
from ngm.training import seeded

if TYPE_CHECKING:
    from ngm.estimators.base import NGMEstimator


def make_network(
    estimator: NGMEstimator, in_features: int, out_features: int, vectors: WordVectors | None = None
) -> nn.Module:
    """A new network, the same for the same seed.

    Args:
        estimator: Its `network` and settings say which.
        in_features: Width of a row; of texts, whatever.
        out_features: Classes, labels or targets.
        vectors: What a network of words starts from.
    """
    PARAMETERS["network"].check("network", estimator.network)
    with seeded(estimator.seed):
        if callable(estimator.network):
            made = _own(estimator, in_features, out_features)
        elif reads_texts(estimator.network):
            made = _of_texts(estimator, out_features, vectors)
        else:
            made = NETWORKS[estimator.network](
                in_features,
                out_features,
                hidden=tuple(estimator.hidden),
                dropout=estimator.settings_.dropout,
                input_dropout=estimator.settings_.input_dropout,
                input_scaling=estimator.settings_.input_scaling or "none",
            )
    return made.to(estimator.device, estimator.dtype_)


def input_scaling_of(estimator: NGMEstimator, inputs: Inputs) -> ScalingName:
    """How the network is to scale rows of x: as set, else by the kind of x; networks of one's own see x as it is."""
    wanted = estimator.settings_.input_scaling
    if estimator.network != "ffnn" or not (isinstance(inputs, np.ndarray) or sp.issparse(inputs)):
        return "none"
    return choose_input_scaling(cast(Table, inputs)) if wanted is None else wanted


def measure_inputs(
    network: nn.Module,
    inputs: Inputs,
    labeled: Tensor,
    graphs: Sequence[Graph],
    sample_weight: ArrayLike | None = None,
) -> None:
    """Gives the network the mean and the deviation of each column, where it standardises them.

    Args:
        network: That of the estimator.
        inputs: (n, d) a row per node.
        labeled: (n,) mask of the labelled rows.
        graphs: Rows without a label and without an edge in these take no part; all do where there is no graph.
        sample_weight: (n,) of the labelled rows, which count as their share of these; others count as 1.
    """
    scale = getattr(network, "scale", None)
    if not isinstance(scale, Standardize):
        return
    rows, part = cast(Table, inputs), torch.ones(len(labeled), dtype=torch.bool)
    if graphs:
        part = torch.stack([labeled, *(graph.degree > 0 for graph in graphs)]).any(dim=0)
        rows = rows if bool(part.all()) else rows[part.numpy()]
    weight = None
    if sample_weight is not None:
        own = node_weights(labeled, sample_weight)
        weight = torch.where(labeled, own / own[labeled].mean(), 1.0)[part].numpy()
    scale.set_scale(*column_scale(rows, weight))


def try_network(estimator: NGMEstimator, inputs: Inputs) -> None:
    """Runs a row through the network, so that what does not fit is said before training."""
    rows = take_rows(inputs, torch.arange(1), estimator.dtype_)
    what = f"a row of x, {_shape(rows)}," if not isinstance(rows, dict) else "a row of x"
    estimator.network_.eval()
    try:
        with torch.inference_mode(), seeded(estimator.seed):
            logits = estimator.network_(move_rows(rows, estimator.device))
    except (RuntimeError, TypeError, IndexError, AttributeError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"the network cannot take {what} ({reason}); give a network for such inputs, or x as float32"
        ) from error
    expected = (1, estimator._widths[1])
    if not isinstance(logits, Tensor) or tuple(logits.shape) != expected:
        found = _shape(logits) if isinstance(logits, Tensor) else f"a {type(logits).__name__}"
        raise ValueError(
            f"the network gives {found} for a row of x; return logits of shape {expected}, one per class or target"
        )


def dtype_of(wanted: str | None, inputs: Inputs, bfloat16: bool) -> torch.dtype:
    """As asked for; else as x is, if that is float64, and float32 for everything else."""
    PARAMETERS["dtype"].check("dtype", wanted)
    double = (wanted or str(getattr(inputs, "dtype", ""))) == "float64"
    if double and bfloat16:
        raise ValueError("bfloat16 is True, but float64 is never shortened to it; set dtype='float32'")
    if bfloat16:
        check_bfloat16()
    return torch.float64 if double else torch.float32


def _own(estimator: NGMEstimator, in_features: int, out_features: int) -> nn.Module:
    if isinstance(estimator.network, nn.Module):
        raise ValueError(
            f"network is a {type(estimator.network).__name__} that is made already; give a function "
            "(in_features, out_features) -> nn.Module, so that every fit starts afresh"
        )
    made = estimator.network(in_features, out_features)  # type: ignore[operator]
    if not isinstance(made, nn.Module):
        raise ValueError(f"network(in_features, out_features) returned a {type(made).__name__}; return an nn.Module")
    return made


def _of_texts(estimator: NGMEstimator, out_features: int, vectors: WordVectors | None) -> nn.Module:
    """Where dropout is None, the network's own is taken."""
    kind, reader, share = NETWORKS[str(estimator.network)], estimator.reader_, estimator.settings_.dropout
    dropout = {} if share is None else {"dropout": share}
    if estimator.network not in WORD_NETWORKS or reader.vocabulary is None:
        return kind(out_features, **dropout)
    table = None if vectors is None else reader.vocabulary.vectors(vectors, seed=estimator.seed)[0]
    return kind(len(reader.vocabulary), out_features, width=reader.width, vectors=table, **dropout)


def _shape(values: Tensor) -> str:
    return f"shape {tuple(values.shape)} and type {str(values.dtype).removeprefix('torch.')}"
