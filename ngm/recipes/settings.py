"""Recipes: settings that go together. A setting of the estimator that is None is as its recipe says."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

from ngm.choices import Recipe, ScalingName
from ngm.networks.input_scaling import FEW_COLUMNS
from ngm.networks.specifications import TextNetwork
from ngm.recipes.parameters import Parameters, alphas_given, flat_settings, network_specification
from ngm.targets import TaskName


@dataclass(frozen=True)
class Settings:
    """What a recipe decides where the estimator does not; see `NGMClassifier` for each.

    `recipe` is the one that is followed, which is "paper" where "auto" is to learn numbers without a graph.
    Where `epochs` is None, they are as many as make up `steps`, `most_epochs` at most. Where `weight_decay` is None, it
    is one over the number of labelled nodes, softly labelled ones among them. Where `dropout` is None, it is that of
    the network.
    """

    recipe: Recipe
    alpha_ll: float | list[float]
    alpha_lu: float | list[float]
    alpha_uu: float | list[float]
    dropout: float | None
    input_dropout: float
    input_scaling: ScalingName | None
    epochs: int | None
    learning_rate: float
    weight_decay: float | None
    ema_decay: float | None
    steps: int
    most_epochs: int
    batch_size: int = 512
    negatives: float = 0.0
    margin: float = 1.0
    crop: float = 0.0

    def epochs_of(self, batches: int) -> int:
        """How many epochs there are, if each has so many batches."""
        return self.epochs or min(self.most_epochs, math.ceil(self.steps / max(batches, 1)))

    def completed(self, batches: int, nodes: int) -> Settings:
        """The same with `epochs` and `weight_decay` where they are None.

        Args:
            batches: In an epoch.
            nodes: One over these is the weight decay.
        """
        decay = 1 / nodes if self.weight_decay is None else self.weight_decay
        return replace(self, epochs=self.epochs_of(batches), weight_decay=decay)


RECIPES: dict[str, Settings] = {
    "paper": Settings(
        recipe="paper",
        alpha_ll=0.2,
        alpha_lu=0.2,
        alpha_uu=0.2,
        dropout=0.0,
        input_dropout=0.0,
        input_scaling=None,
        epochs=None,
        learning_rate=1e-3,
        weight_decay=0.0,
        ema_decay=None,
        steps=1000,
        most_epochs=100,
        negatives=1.0,
        margin=3.0,
    ),
    "strong": Settings(
        recipe="strong",
        alpha_ll=0.0,
        alpha_lu=0.0,
        alpha_uu=0.0,
        dropout=0.5,
        input_dropout=0.5,
        input_scaling="unit_rows",
        epochs=None,
        learning_rate=5e-3,
        weight_decay=None,
        ema_decay=0.99,
        steps=500,
        most_epochs=500,
    ),
}
_AUTO = replace(RECIPES["strong"], recipe="auto", input_dropout=0.35, input_scaling=None, steps=350, most_epochs=350)
RECIPES = {"auto": _AUTO, **RECIPES}
TEXT_RECIPES: dict[str, Settings] = {
    "paper": replace(
        RECIPES["paper"],
        alpha_ll=0.1,
        alpha_lu=0.1,
        alpha_uu=0.1,
        dropout=None,
        learning_rate=2e-3,
        ema_decay=0.998,
        batch_size=128,
        steps=2000,
        most_epochs=200,
        negatives=0.0,  # a text more to read costs more, and attraction on texts did not collapse
    ),
    "strong": replace(
        RECIPES["strong"],
        dropout=None,
        input_dropout=0.0,
        input_scaling="none",
        learning_rate=2e-3,
        weight_decay=0.0,
        ema_decay=0.998,
        batch_size=128,
        steps=3000,
        crop=0.3,
    ),
}
TEXT_RECIPES = {"auto": replace(TEXT_RECIPES["strong"], recipe="auto"), **TEXT_RECIPES}
NUMBERS_INPUT_DROPOUT, NUMBERS_STEPS = 0.2, 200
EDGE_SETTINGS = ("influence", "distance", "scaling", "negatives")  # of the terms that edges with an alpha have


def resolve(parameters: Parameters, task: TaskName, columns: int | None = None, taught: bool = True) -> Settings:
    """The settings to train with: those that were given, and the recipe's where they are None.

    Args:
        parameters: As given, the recipe among them.
        task: What is to be predicted; any task of classes before y has been read.
        columns: Width of a row of x; None where that does not matter yet.
        taught: Whether there is a graph, and so teachers; numbers are learned as "paper" has it without.
    """
    names = [field.name for field in fields(Settings) if field.name not in ("recipe", "steps", "most_epochs")]
    network, given = network_specification(parameters), flat_settings(parameters)
    own = {name: given.get(name) for name in names}
    numbers, texts = task == "numbers", network.reads_texts
    followed = "paper" if parameters.recipe == "auto" and numbers and not taught else parameters.recipe
    recipe = (TEXT_RECIPES if texts else RECIPES)[followed]
    if followed == "auto" and not texts:
        if numbers:  # dropout of hidden units blurs them, that of inputs is of use among many columns
            recipe = replace(
                recipe, dropout=0.0, input_dropout=NUMBERS_INPUT_DROPOUT, steps=NUMBERS_STEPS, most_epochs=NUMBERS_STEPS
            )
        if task == "labels":  # many rare labels take longer to learn
            recipe = replace(recipe, steps=1000, most_epochs=1000, dropout=0.2, input_dropout=0.0)
        if columns is not None and columns <= FEW_COLUMNS:  # each of few columns is needed
            recipe = replace(recipe, input_dropout=0.0)
    if numbers:
        recipe = replace(recipe, negatives=0.0)  # numbers go on from one to the next: no two classes to hold apart
    if network.reads == "words":
        recipe = replace(recipe, crop=0.0)  # short texts of few words have none to spare
    return replace(recipe, **{name: value for name, value in own.items() if value is not None})  # type: ignore[arg-type]


def check_teachers(parameters: Parameters, settings: Settings, graphs: int, views: int) -> None:
    """Refuses what would do nothing: views or class shares that no teacher sees, edge settings without edge terms.

    Args:
        parameters: As given.
        settings: Has the recipe that is followed.
        graphs: How many were given.
        views: Likewise.
    """
    auto = settings.recipe == "auto"
    if not (auto and graphs):
        why = f"recipe {settings.recipe!r} has none" if not auto else "without a graph there are none"
        for name, given in (
            ("views", bool(views)),
            ("class_prior", parameters.class_prior is not None),
        ):
            if given:
                raise ValueError(f"{name} is for the teachers of recipe 'auto', and {why}; leave {name} out")
    network = network_specification(parameters)
    if auto and isinstance(network, TextNetwork) and network.reads != "words" and network.vectors and not graphs:
        raise ValueError(
            f"vectors is set, but network {network.name!r} reads characters, and without a graph there are no teachers "
            "to read them; give graph=, or use network LSTM"
        )
    if not auto or not graphs or alphas_given(parameters):
        return
    for name in EDGE_SETTINGS:
        value, default = getattr(parameters, name), getattr(Parameters, name)
        if value != default and not (name == "negatives" and value == 0):
            raise ValueError(
                f"{name} is {value!r}, which is about edge terms, and recipe 'auto' has none without alphas; set "
                "alpha_ll=, alpha_lu= and alpha_uu=, or recipe='paper'"
            )
