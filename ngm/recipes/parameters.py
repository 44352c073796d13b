"""The settings of an estimator as one value; `ngm.parameters` declares what each means and may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import nn

from ngm.choices import Influence, NetworkName, OptimizerName, Precision, Recipe, Sampling, Scaling
from ngm.distances import Distance
from ngm.networks.specifications import FFNN, HIDDEN, NETWORK_SETTINGS, Network, named_network, network_of
from ngm.parameters import PARAMETERS
from ngm.recipes.optimizer import Optimizer, optimizer_of
from ngm.rows import Inputs

NetworkFunction: TypeAlias = Callable[[int, int], nn.Module]
ValidationPair: TypeAlias = tuple[Inputs | Sequence[str], ArrayLike]
ValidationRows: TypeAlias = "Sequence[int] | NDArray[np.int64] | NDArray[np.bool_] | ValidationPair"
Validation: TypeAlias = Literal["auto"] | float | ValidationRows | None
OPTIMIZER_SETTINGS = tuple(f.name for f in fields(Optimizer) if f.name != "name")


@dataclass(eq=False, repr=False)
class Parameters:
    """Settings of an NGM estimator; the estimators inherit these fields, helpers take them as a value."""

    hidden: Sequence[int] = HIDDEN
    alpha_ll: float | Sequence[float] | None = None
    alpha_lu: float | Sequence[float] | None = None
    alpha_uu: float | Sequence[float] | None = None
    distance: str | Distance = "l2"
    layer: str | None = None
    influence: Influence = "both"
    negatives: float | None = None
    margin: float | None = None
    scaling: Scaling = "mean"
    network: NetworkName | Network | NetworkFunction = "ffnn"
    recipe: Recipe = "auto"
    class_prior: Mapping[str, float] | Mapping[int, float] | Sequence[float] | None = None
    graph_screen: bool = True
    epochs: int | None = None
    batch_size: int | None = None
    sampling: Sampling = "plain"
    optimizer: OptimizerName | Optimizer = "adam"
    learning_rate: float | None = None
    dtype: Precision | None = None
    validation: Validation = "auto"
    patience: int | None = None
    seed: int = 0
    device: str = "cpu"


def parameters_of(estimator: Parameters) -> Parameters:
    """The settings of an estimator by themselves."""
    return Parameters(**{field.name: getattr(estimator, field.name) for field in fields(Parameters)})


def network_specification(parameters: Parameters) -> Network:
    """The network with its settings; `hidden` of the estimator where the network does not say."""
    network = network_of(parameters.network)
    if isinstance(network, FFNN) and network.hidden is None:
        return FFNN(**{**network.settings(), "hidden": parameters.hidden})  # type: ignore[arg-type]
    return network


def alphas_given(parameters: Parameters) -> bool:
    """Whether any of the three alphas is set."""
    return any(alpha is not None for alpha in (parameters.alpha_ll, parameters.alpha_lu, parameters.alpha_uu))


def flat_settings(parameters: Parameters) -> dict[str, object]:
    """Every setting by name, those of the network and of the optimizer among them; both of these as their names.

    A function stands for itself in the place of the network's name.
    """
    network, optimizer = network_specification(parameters), optimizer_of(parameters.optimizer)
    own = {field.name: getattr(parameters, field.name) for field in fields(Parameters)}
    name = network.name if network.settings() else parameters.network
    of_network = {setting: value for setting, value in network.settings().items() if setting != "size"}
    of_optimizer = {setting: getattr(optimizer, setting) for setting in OPTIMIZER_SETTINGS}
    return {**own, **of_network, **of_optimizer, "network": name, "optimizer": optimizer.name}


def parameters_from_flat(settings: Mapping[str, object]) -> Parameters:
    """Takes back what `flat_settings` gave; a setting that is not there has its default.

    A function in the place of the network's name has no settings: those of networks are left out.
    """
    of_network = {name: settings[name] for name in NETWORK_SETTINGS if name in settings and name != "hidden"}
    of_optimizer = {name: settings[name] for name in OPTIMIZER_SETTINGS if name in settings}
    own = {name: v for name, v in settings.items() if name not in of_network and name not in of_optimizer}
    parameters = Parameters(**own)  # type: ignore[arg-type]
    if isinstance(parameters.network, str):
        PARAMETERS["network"].check("network", parameters.network)
        if any(not _is_default(name, value) for name, value in of_network.items()):
            parameters = replace(parameters, network=named_network(parameters.network, of_network))
    if any(value is not None for value in of_optimizer.values()):
        optimizer = Optimizer(cast(OptimizerName, parameters.optimizer), **of_optimizer)  # type: ignore[arg-type]
        parameters = replace(parameters, optimizer=optimizer)
    return parameters


def _is_default(name: str, value: object) -> bool:
    default = PARAMETERS[name].default
    return value is None or (default is not None and value == default)
