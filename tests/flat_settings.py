"""Settings of an estimator by flat names, as the command line has them."""

from __future__ import annotations

from ngm.parameters import PARAMETERS
from ngm.recipes.parameters import parameters_from_flat


def flat(**settings: object) -> dict[str, object]:
    """Arguments of an estimator; those of its network and optimizer are named like its own."""
    if all(PARAMETERS[name].of == "estimator" for name in settings):
        return settings
    return vars(parameters_from_flat(settings))
