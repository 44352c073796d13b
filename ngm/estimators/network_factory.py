"""The network of an estimator: made from settings, and tried on a row before training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from ngm._node_targets import node_weights
from ngm._processor import check_bfloat16
from ngm.choices import ScalingName
from ngm.graph import Graph
from ngm.networks import NETWORKS
from ngm.networks.input_scaling import Standardize, Table, choose_input_scaling, column_scale
from ngm.parameters import PARAMETERS
from ngm.recipes.parameters import Network, Parameters
from ngm.recipes.settings import Settings
from ngm.rows import Inputs, move_rows, take_rows
from ngm.text.readers import Reader
from ngm.text.word_vectors import WordVectors
from ngm.training import seeded


def make_network(
    parameters: Parameters,
    settings: Settings,
    widths: tuple[int, int],
    dtype: torch.dtype,
    reader: Reader | None = None,
    vectors: WordVectors | None = None,
) -> nn.Module:
    """A new network, the same for the same seed.

    Args:
        parameters: Say which.
        settings: What the recipe made of them.
        widths: (width of a row, number of outputs); of texts, the first does not matter.
        dtype: Of its weights.
        reader: Reads the texts that it takes; None for a network that takes numbers.
        vectors: What a network of words starts from.
    """
    network, (in_features, out_features) = parameters.network, widths
    PARAMETERS["network"].check("network", network)
    with seeded(parameters.seed):
        if callable(network):
            made = _own(network, in_features, out_features)
        elif reader is not None:
            made = _of_texts(network, out_features, settings.dropout, reader, vectors, parameters.seed)
        else:
            made = NETWORKS[network](
                in_features,
                out_features,
                hidden=tuple(parameters.hidden),
                dropout=settings.dropout,
                input_dropout=settings.input_dropout,
                input_scaling=settings.input_scaling or "none",
            )
    return made.to(parameters.device, dtype)


def input_scaling_of(network: Network, wanted: ScalingName | None, inputs: Inputs) -> ScalingName:
    """How the network is to scale rows of x: as set, else by the kind of x; networks of one's own see x as it is."""
    if network != "ffnn" or not (isinstance(inputs, np.ndarray) or sp.issparse(inputs)):
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


def try_network(
    network: nn.Module, inputs: Inputs, out_features: int, dtype: torch.dtype, device: str, seed: int
) -> None:
    """Runs a row through the network, so that what does not fit is said before training.

    Args:
        network: Not trained yet.
        inputs: A row per node.
        out_features: Number of outputs that it must have.
        dtype: Of the rows.
        device: Where the network is.
        seed: For networks that draw random numbers.
    """
    rows = take_rows(inputs, torch.arange(1), dtype)
    what = f"a row of x, {_shape(rows)}," if not isinstance(rows, dict) else "a row of x"
    network.eval()
    try:
        with torch.inference_mode(), seeded(seed):
            logits = network(move_rows(rows, device))
    except (RuntimeError, TypeError, IndexError, AttributeError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"the network cannot take {what} ({reason}); give a network for such inputs, or x as float32"
        ) from error
    expected = (1, out_features)
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


def _own(network: Callable[[int, int], nn.Module], in_features: int, out_features: int) -> nn.Module:
    if isinstance(network, nn.Module):
        raise ValueError(
            f"network is a {type(network).__name__} that is made already; give a function "
            "(in_features, out_features) -> nn.Module, so that every fit starts afresh"
        )
    made = network(in_features, out_features)
    if not isinstance(made, nn.Module):
        raise ValueError(f"network(in_features, out_features) returned a {type(made).__name__}; return an nn.Module")
    return made


def _of_texts(
    network: str, out_features: int, dropout: float | None, reader: Reader, vectors: WordVectors | None, seed: int
) -> nn.Module:
    """Where dropout is None, the network's own is taken."""
    kind, given = NETWORKS[network], {} if dropout is None else {"dropout": dropout}
    if reader.vocabulary is None:
        return kind(out_features, **given)
    table = None if vectors is None else reader.vocabulary.vectors(vectors, seed=seed)[0]
    return kind(len(reader.vocabulary), out_features, width=reader.width, vectors=table, **given)


def _shape(values: Tensor) -> str:
    return f"shape {tuple(values.shape)} and type {str(values.dtype).removeprefix('torch.')}"
