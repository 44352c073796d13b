"""The network of an estimator: made from settings, and tried on a row before training."""

from __future__ import annotations

from typing import cast

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from ngm._node_targets import node_weights
from ngm._processor import check_bfloat16
from ngm.choices import Precision, ScalingName
from ngm.networks.ffnn import FFNNModule
from ngm.networks.input_scaling import Standardize, Table, choose_input_scaling, column_scale
from ngm.networks.specifications import Network, TextNetwork
from ngm.parameters import PARAMETERS
from ngm.recipes.parameters import Parameters, network_specification
from ngm.recipes.problem import Problem
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
    network = network_specification(parameters).completed(vars(settings))
    with seeded(parameters.seed):
        if isinstance(network, TextNetwork) and reader is not None:
            made = network.for_texts(reader, widths[1], vectors, parameters.seed)
        else:
            made = network(*widths)
    return made.to(parameters.device, dtype)


def input_scaling_of(network: Network, wanted: ScalingName | None, problem: Problem) -> ScalingName:
    """How the network is to scale rows of x: as set, else by the kind of x; custom networks see x as it is."""
    inputs, part = problem.inputs, problem.part
    if network.reads != "numbers" or not (isinstance(inputs, np.ndarray) or sp.issparse(inputs)):
        return "none"
    if wanted is not None:
        return wanted
    return choose_input_scaling(cast(Table, inputs)) if part is None else part.header.input_scaling


def measure_inputs(network: nn.Module, problem: Problem) -> None:
    """Gives the network the mean and the deviation of each column, where it standardises them.

    Rows without a label and without an edge take no part; all do where there is no graph. Labelled rows count as their
    share of the sample weights, others as 1. Of a graph in parts, both were measured when it was cut.

    Args:
        network: That of the estimator.
        problem: Has the rows, before a recipe gives it other targets.
    """
    scale = getattr(network, "scale", None)
    if not isinstance(scale, Standardize):
        return
    if problem.part is not None:
        scale.set_scale(*problem.part.scale)
        return
    rows, labeled = cast(Table, problem.inputs), problem.known
    part = torch.ones(len(labeled), dtype=torch.bool)
    if problem.graphs:
        part = torch.stack([labeled, *(graph.degree > 0 for graph in problem.graphs)]).any(dim=0)
        rows = rows if bool(part.all()) else rows[part.numpy()]
    weight = None
    if problem.sample_weight is not None:
        own = node_weights(labeled, problem.sample_weight)
        weight = torch.where(labeled, own / own[labeled].mean(), 1.0)[part].numpy()
    scale.set_scale(*column_scale(rows, weight))


def expect_rows(network: nn.Module, inputs: Inputs) -> None:
    """Makes a new network fast on the rows that it will be trained on."""
    if isinstance(network, FFNNModule) and sp.issparse(inputs):
        network.expect_sparse_rows()


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


def dtype_of(precision: Precision | None, inputs: Inputs) -> torch.dtype:
    """Of the weights: as set, float32 for bfloat16; else float64 where x is float64, and float32 for all else."""
    PARAMETERS["dtype"].check("dtype", precision)
    if precision == "bfloat16":
        check_bfloat16()
    double = (precision or str(getattr(inputs, "dtype", ""))) == "float64"
    return torch.float64 if double else torch.float32


def _shape(values: Tensor) -> str:
    return f"shape {tuple(values.shape)} and type {str(values.dtype).removeprefix('torch.')}"
