"""Checks at the door of `fit` and `predict`: what is wrong, the value, and what would be right."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import cast

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from ngm._arguments import flag, short_repr
from ngm._input_checks import as_dense, check_finite, check_names, check_parts, is_array_like
from ngm.graph import Graph
from ngm.networks.specifications import FFNN, HIDDEN, Network, TextNetwork, network_of
from ngm.objective import NGMLoss
from ngm.parameters import PARAMETERS
from ngm.recipes.optimizer import optimizer_of
from ngm.recipes.parameters import Parameters
from ngm.recipes.settings import Settings
from ngm.rows import Inputs, check_rows
from ngm.sampling import EdgeLoader
from ngm.text.readers import Given, refuse_texts
from ngm.text.thesaurus import Thesaurus
from ngm.text.word_vectors import WordVectors


def check_device(device: str) -> None:
    """Refuses a device that is not here."""
    try:
        torch.zeros(1, device=device).tolist()
    except (RuntimeError, AssertionError, NotImplementedError, TypeError, ValueError) as error:
        raise ValueError(f"device is {device!r}, which cannot be used here; 'cpu' always can") from error


def check_parameters(parameters: Parameters) -> None:
    """Refuses settings that are out of the range, or none of the words, that `ngm.parameters` declares."""
    PARAMETERS["network"].check("network", parameters.network)
    PARAMETERS["optimizer"].check("optimizer", parameters.optimizer)
    settings: dict[str, object] = {name: getattr(parameters, name) for name in vars(parameters)}
    settings |= network_of(parameters.network).settings() | optimizer_of(parameters.optimizer).get_params()
    for name, parameter in PARAMETERS.items():
        if name not in settings or name in ("network", "optimizer", "hidden"):
            continue
        value = settings[name]
        parameter.check(name, value)
        if parameter.kind is bool:
            flag(name, value)
    _check_hidden(parameters.hidden)
    network = network_of(parameters.network)
    if isinstance(network, FFNN) and network.hidden is not None:
        _check_hidden(network.hidden)
        if tuple(parameters.hidden) not in (HIDDEN, tuple(network.hidden)):
            raise ValueError(
                f"hidden is {tuple(parameters.hidden)}, and that of the network is {tuple(network.hidden)}; set one"
            )
    if network.reads != "any" and "hidden" not in network.settings() and tuple(parameters.hidden) != HIDDEN:
        raise ValueError(f"hidden is set, but it is for network 'ffnn'; leave it out with network {network.name!r}")


def check_settings(parameters: Parameters, settings: Settings) -> None:
    """Refuses settings that do not go together, or that this machine cannot do."""
    if parameters.margin is not None and settings.negatives == 0:
        raise ValueError(f"margin is {parameters.margin}, but there are no pairs to hold apart; set negatives= as well")
    check_device(parameters.device)
    _check_text_settings(parameters, teachers=settings.recipe != "paper")
    if parameters.patience is not None and parameters.validation is None:
        raise ValueError(f"patience is {parameters.patience}, but nothing is validated on; patience needs validation=")
    if isinstance(parameters.validation, str) and parameters.validation != "auto":
        raise ValueError(
            f"validation is {parameters.validation!r}; give 'auto', a share, ids, a mask, or a pair (x, y)"
        )


def _check_text_settings(parameters: Parameters, teachers: bool) -> None:
    """Refuses settings that would do nothing with the network, or cannot be.

    Args:
        parameters: As given.
        teachers: Whether the recipe has teachers, which read word vectors.
    """
    network = network_of(parameters.network)
    if not isinstance(network, TextNetwork):
        return
    for name, kind in (("vectors", WordVectors), ("thesaurus", Thesaurus)):
        value = getattr(network, name)
        if value is not None and not isinstance(value, str | Path | kind):
            raise ValueError(f"{name} is a {type(value).__name__}; give a file or a {kind.__name__}")
    if network.vectors is not None and not teachers and network.reads != "words":
        raise ValueError(
            f"vectors is set, but network {network.name!r} reads characters; use network LSTM, or recipe='auto', whose "
            "teachers read them"
        )


def _check_hidden(hidden: object) -> None:
    if not isinstance(hidden, Sequence | np.ndarray) or np.ndim(hidden) == 0:
        raise ValueError(f"hidden is {hidden!r}; give the width of every hidden layer, such as (250, 100)")
    if not all(PARAMETERS["hidden"].admits(width) for width in hidden):
        raise ValueError(f"hidden is {tuple(hidden)}; every width is a whole number of at least 1")


def check_features(record: BaseEstimator, x: Given, network: Network, reset: bool) -> Inputs:
    """X as rows that can be taken by node id: float array or sparse matrix, without a copy where possible.

    Args:
        record: Remembers the number and the names of the columns, as scikit-learn's `validate_data` wants it.
        x: Array, data frame, sparse matrix, tensor; a mapping or an `Indexable` of the user's own goes through.
        network: What is to take the rows; not one that reads texts.
        reset: True in `fit`, False in `predict`.
    """
    custom = network.reads == "any"
    refuse_texts(network.name, custom, x)
    raw = as_dense(x)
    if not is_array_like(raw):
        if not reset and isinstance(x, Mapping) and not custom:
            raise ValueError(f"x is {short_repr(x)}, and network {network.name!r} takes a table of numbers; give one")
        check_rows(cast(Inputs, x))
        check_parts(cast(Inputs, x))
        return cast(Inputs, raw)
    check_names(raw)
    checked = validate_data(
        record,
        raw,
        reset=reset,
        accept_sparse="csr",
        dtype=[np.float32, np.float64, np.float16] if not custom else None,
        ensure_all_finite=False,
        allow_nd=custom,
    )
    check_finite(checked)
    return cast(Inputs, checked)


def warn_of_idle_graph(loader: EdgeLoader, loss: NGMLoss, graphs: Sequence[Graph]) -> None:
    """A graph whose edges are all of kinds with alpha = 0, or that has none, would quietly do nothing."""
    for i, (graph, kinds, counts) in enumerate(zip(graphs, loss.kinds, loader.totals.num_edges, strict=False)):
        weightless = bool(graph.num_edges) and not bool(graph.weight.any())
        if not kinds or (any(counts) and not weightless):
            continue
        which = "the graph" if len(graphs) == 1 else f"graph {i}"
        wanted = ", ".join(kind.name for kind in sorted(kinds))
        reason = (
            "all its edges have weight 0; give some of them a weight"
            if weightless
            else f"alpha is above 0 for {wanted} edges, and of its {graph.num_edges:,} edges none is of such a kind; "
            "set another alpha, or check which nodes are labelled"
        )
        warnings.warn(f"{which} does nothing: {reason}", UserWarning, stacklevel=3)


def per_graph(name: str, value: float | Sequence[float], graphs: int) -> list[float]:
    """One alpha for each graph."""
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        if len(value) != graphs:
            raise ValueError(f"{name} has {len(value)} entries for {graphs} graphs; give one number, or one per graph")
        return [float(v) for v in value]
    if not isinstance(value, Real):
        raise ValueError(f"{name} is {value!r}; give a number of at least 0, or a list with one per graph")
    return [float(value)] * graphs
