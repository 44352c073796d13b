"""Recipes at work: each turns a problem into the targets that the network is trained on, and says which graphs help.

`Paper` leaves the targets as they are. `Auto` and `Strong` add soft labels of teachers, combined by `stack_teachers`:
each has a preset, that is a set of teachers and how to weigh them. The settings that go with each are in `settings`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ngm._input_checks import one_graph
from ngm.distributed import from_first, rank_and_world
from ngm.networks.input_scaling import Table, stored_by_density
from ngm.networks.specifications import TextNetwork
from ngm.objective import NGMLoss
from ngm.partition.local_part import LocalPart
from ngm.recipes.auto import TaughtNodes, connected_nodes, predicted_numbers, soft_label_weights, soft_targets
from ngm.recipes.graph_screen import graphs_with_edges, informative_graphs
from ngm.recipes.label_matrix import Targets, check_class_prior
from ngm.recipes.node_views import Features, Floats, NodeViews
from ngm.recipes.number_teachers import NumberTargets
from ngm.recipes.parameters import Parameters, network_specification
from ngm.recipes.part_teachers import part_numbers, part_soft_targets
from ngm.recipes.problem import Problem
from ngm.recipes.settings import Settings
from ngm.recipes.stacking import AUTO, TeacherPreset, TeacherReport
from ngm.recipes.strong_teachers import strong_preset, unit_rows
from ngm.recipes.text_training import TEXT_PRESET, augmented_texts, own_views, text_views, word_vector_view
from ngm.rows import Inputs
from ngm.task import ClassTask, NumberTask
from ngm.text.readers import Reader, Texts


@dataclass(frozen=True, eq=False)
class Recipe:
    """How to prepare a problem for training.

    Args:
        parameters: As given to the estimator.
        settings: What the recipe made of them.
    """

    parameters: Parameters
    settings: Settings

    def training_inputs(self, inputs: Inputs, reader: Reader | None) -> Inputs:
        """Rows as the loader takes them: texts with other synonyms and crops in every epoch, or x as it is.

        Args:
            inputs: A row per node.
            reader: Has read them, if they are texts.
        """
        network = network_specification(self.parameters)
        if not isinstance(network, TextNetwork) or reader is None:
            return inputs
        texts, crop = cast(Texts, inputs), self.settings.crop
        return augmented_texts(texts, reader, network.thesaurus, crop, self.parameters.seed)

    def choose_graphs(self, problem: Problem, network: nn.Module, loss: NGMLoss, dtype: torch.dtype) -> Problem:
        """The problem with `graphs_used`: all graphs, or with `graph_screen` those that are informative.

        A graph in parts is used as it is.

        Args:
            problem: Has the graphs.
            network: Not trained yet.
            loss: To be trained with.
            dtype: Of the rows that the network takes.
        """
        if problem.part is not None or not self.parameters.graph_screen:
            return replace(problem, graphs_used=[True] * len(problem.graphs))
        seed, device = self.parameters.seed, self.parameters.device
        return replace(problem, graphs_used=informative_graphs(problem, network, loss.cost, seed, dtype, device))

    def prepare_targets(self, problem: Problem) -> Problem:
        """The problem with the targets, mask and weights to train on.

        Args:
            problem: As `choose_graphs` left it.
        """
        return problem


class Paper(Recipe):
    """Labels and edges as they are (Eq. 3)."""

    def choose_graphs(self, problem: Problem, network: nn.Module, loss: NGMLoss, dtype: torch.dtype) -> Problem:
        """As any recipe; without an edge term there is nothing to choose."""
        if not any(loss.kinds):
            return replace(problem, graphs_used=[True] * len(problem.graphs))
        return super().choose_graphs(problem, network, loss, dtype)


class Taught(Recipe):
    """Soft labels of teachers; which ones look at what is for each recipe to say."""

    def _nodes(self, problem: Problem) -> TaughtNodes:
        """What teachers look at."""
        raise NotImplementedError

    def _preset(self, problem: Problem) -> TeacherPreset:
        """Which teachers there are, and how they are combined."""
        raise NotImplementedError

    def _soft_labels(self, problem: Problem) -> tuple[Tensor, Tensor, TeacherReport | None]:
        """((n, C) targets of the teachers, (n,) mask of the nodes that have any, what the teachers were worth)."""
        task, labeled = problem.task, problem.labeled
        soft, mask, report = torch.zeros(len(labeled), task.out_features), torch.zeros_like(labeled), None
        if rank_and_world()[0] == 0:
            given = self._targets(problem, problem.targets, _weights(problem))
            nodes, preset = self._nodes(problem), self._preset(problem)
            labels, report = soft_targets(nodes, given, labeled.numpy(), self.parameters.seed, preset)
            soft, mask = torch.from_numpy(labels), torch.from_numpy(nodes.included)
        return from_first(soft), from_first(mask), report

    def _targets(self, problem: Problem, targets: Tensor, weight: Floats | None) -> Targets:
        """Labels as teachers take them."""
        values = targets if targets.ndim == 2 else F.one_hot(targets.clamp(min=0), problem.task.out_features)
        multilabel = problem.task.name == "labels"
        return Targets(values.numpy().astype(np.float32), multilabel, weight, self._class_prior(problem))

    def _class_prior(self, problem: Problem) -> Floats | None:
        prior = self.parameters.class_prior
        if prior is None:
            return None
        if problem.task.name == "labels":
            raise ValueError("class_prior is for one class per row; y has several labels per row, so leave it out")
        return check_class_prior(prior, cast(ClassTask, problem.task).classes)


class Auto(Taught):
    """Soft labels of teachers, each weighted by how well it predicts labels that it has not seen."""

    def training_inputs(self, inputs: Inputs, reader: Reader | None) -> Inputs:
        """As any recipe; rows scaled to length 1 are stored as their density asks for."""
        rows = super().training_inputs(inputs, reader)
        return stored_by_density(cast(Table, rows)) if self.settings.input_scaling == "unit_rows" else rows

    def choose_graphs(self, problem: Problem, network: nn.Module, loss: NGMLoss, dtype: torch.dtype) -> Problem:
        """All graphs with an edge: teachers weigh them themselves."""
        if problem.part is not None:
            return replace(problem, graphs_used=[problem.part.header.num_edges > 0])
        return replace(problem, graphs_used=graphs_with_edges(problem.graphs))

    def prepare_targets(self, problem: Problem) -> Problem:
        """Soft labels for all nodes with an edge or a label; without a graph, the labels as they are."""
        if not problem.used_graphs:
            return problem
        if problem.part is not None:
            return self._with_part_labels(problem, problem.part)
        labels, labeled, teachers = self._labels(problem)
        weight = soft_label_weights(problem.sample_weight, problem.labeled)
        labeled = _without_held_out_texts(problem, labeled)
        return replace(problem, targets=labels, labeled=labeled, sample_weight=weight, teachers=teachers)

    def _labels(self, problem: Problem) -> tuple[Tensor, Tensor, TeacherReport | None]:
        """As `_soft_labels`, whatever is to be predicted."""
        return self._numbers(problem) if problem.task.name == "numbers" else self._soft_labels(problem)

    def _nodes(self, problem: Problem) -> TaughtNodes:
        texts = problem.texts
        own = own_views(problem.inputs) if texts is None else text_views(texts.strings, texts.vectors)
        classes = 2 if problem.task.name == "numbers" else problem.task.out_features
        return connected_nodes({**own, **problem.views}, problem.used_graphs, problem.labeled.numpy(), classes)

    def _preset(self, problem: Problem) -> TeacherPreset:
        return AUTO

    def _numbers(self, problem: Problem) -> tuple[Tensor, Tensor, TeacherReport | None]:
        """The same for (n, T) numbers."""
        task, labeled = cast(NumberTask, problem.task), problem.labeled
        found, mask, report = torch.zeros_like(problem.targets), torch.zeros_like(labeled), None
        if rank_and_world()[0] == 0:
            given = _scaled_numbers(task, problem.targets, labeled, _weights(problem))
            nodes = self._nodes(problem)
            values, report = predicted_numbers(nodes, given, labeled.numpy(), self.parameters.seed)
            found = torch.from_numpy(values.astype(np.float64) * task.scale + task.mean)
            mask = torch.from_numpy(nodes.included)
        return from_first(found), from_first(mask), report

    def _with_part_labels(self, problem: Problem, part: LocalPart) -> Problem:
        """The problem with soft labels, or numbers, of the nodes of a part."""
        own, labeled, seed = slice(part.num_own), problem.labeled, self.parameters.seed
        weight = None if part.sample_weight is None else part.sample_weight[own].numpy()
        if isinstance(problem.task, NumberTask):
            numbers = _scaled_numbers(problem.task, problem.targets[own], labeled[own], weight)
            found = part_numbers(part, numbers, labeled, seed)
            values = found.values.double() * torch.from_numpy(problem.task.scale) + torch.from_numpy(problem.task.mean)
        else:
            found = part_soft_targets(part, self._targets(problem, problem.targets[own], weight), labeled, seed)
            values = found.values
        problem = replace(problem, targets=values, labeled=found.labeled, teachers=found.report)
        return replace(problem, sample_weight=found.sample_weight)


class Strong(Taught):
    """Soft labels of networks that see a node through its neighbourhood; of texts, by propagation."""

    def prepare_targets(self, problem: Problem) -> Problem:
        """Soft labels for all nodes with an edge or a label; without an informative graph, the labels as they are."""
        self._check(problem)
        targets, labeled, teachers = problem.targets, problem.labeled, None
        if problem.used_graphs:
            targets, labeled, teachers = self._soft_labels(problem)
        labeled = _without_held_out_texts(problem, labeled)
        return replace(problem, targets=targets, labeled=labeled, teachers=teachers)

    def _soft_labels(self, problem: Problem) -> tuple[Tensor, Tensor, TeacherReport | None]:
        """As any; texts without an edge stay as new as those to come, and those that no label reaches have none."""
        graph = one_graph(problem.used_graphs)
        if not bool((graph.weight > 0).any()):
            raise ValueError(f"recipe is 'strong', which learns from edges; {graph} has none with a weight above 0")
        soft, mask, report = super()._soft_labels(problem)
        return soft, mask & ((graph.degree > 0) | problem.labeled) & soft.any(dim=1), report

    def _nodes(self, problem: Problem) -> TaughtNodes:
        graph, labeled = one_graph(problem.used_graphs), problem.labeled.numpy()
        if problem.texts is not None:  # all texts: those without an edge have a say in when propagation stops
            view = word_vector_view(problem.texts.strings, problem.texts.vectors)
            return TaughtNodes(NodeViews(cast("dict[str, Features]", view), [graph]), np.ones_like(labeled))
        ordered = graph.subgraph(torch.arange(graph.num_nodes))  # pairs are drawn by the order of edges
        return connected_nodes({"features": cast(Table, problem.inputs)}, [ordered], labeled, scale=unit_rows)

    def _preset(self, problem: Problem) -> TeacherPreset:
        return strong_preset(self.parameters.seed) if problem.texts is None else TEXT_PRESET

    def _check(self, problem: Problem) -> None:
        strong, inputs, influence = "recipe is 'strong', which", problem.inputs, self.parameters.influence
        if problem.task.name == "numbers":
            raise ValueError(f"{strong} is for classes; NGMRegressor takes recipe='paper'")
        if problem.task.name == "labels":
            raise ValueError(f"{strong} takes one class per row; y has several labels per row, so set recipe='paper'")
        if not problem.graphs:
            raise ValueError(f"{strong} learns from a graph; give graph=, or set recipe='paper'")
        if influence != "both":
            raise ValueError(f"{strong} has no direction; influence is {influence!r}, set it to 'both'")
        if problem.sample_weight is not None:
            raise ValueError(f"{strong} takes no sample_weight; leave it out, or set recipe='paper'")
        if not isinstance(inputs, np.ndarray | Texts) and not sp.issparse(inputs):
            raise ValueError(
                f"{strong} averages rows of x, and x is a {type(inputs).__name__}; give a table, or use ngm.CoTraining"
            )


_KINDS: dict[str, type[Recipe]] = {"paper": Paper, "auto": Auto, "strong": Strong}


def recipe_for(parameters: Parameters, settings: Settings) -> Recipe:
    """The recipe that is followed.

    Args:
        parameters: As given to the estimator.
        settings: Has the name of the recipe.
    """
    return _KINDS[settings.recipe](parameters, settings)


def _scaled_numbers(task: NumberTask, targets: Tensor, labeled: Tensor, weight: Floats | None) -> NumberTargets:
    """Numbers as teachers take them: on one scale, 0 where there is none."""
    known = np.where(labeled[:, None].numpy(), task.scaled(targets).numpy(), 0.0)
    return NumberTargets(known.astype(np.float32), weight)


def _weights(problem: Problem) -> Floats | None:
    return None if problem.sample_weight is None else np.asarray(problem.sample_weight, dtype=np.float32)


def _without_held_out_texts(problem: Problem, labeled: Tensor) -> Tensor:
    """The mask without empty texts and validation texts, which stay as new as those to be predicted."""
    if problem.texts is None:
        return labeled
    return labeled & ~(problem.known & ~problem.held_out.labeled) & problem.texts.filled
