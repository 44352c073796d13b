"""What `NGMClassifier` and `NGMRegressor` share: fit, prediction in batches, saving and exporting."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal, TypeVar, cast

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from ngm.choices import Recipe as RecipeName
from ngm.distributed import process_group
from ngm.edge_batch import EdgeKind
from ngm.estimators import model_export, persistence
from ngm.estimators.checks import check_parameters, check_settings, warn_of_idle_graph
from ngm.estimators.fitted_network import FittedNetwork
from ngm.estimators.loader_factory import make_loader
from ngm.estimators.loss_factory import edge_loss
from ngm.estimators.network_factory import (
    dtype_of,
    expect_rows,
    input_scaling_of,
    make_network,
    measure_inputs,
    try_network,
)
from ngm.estimators.node_recorder import NodeRecorder
from ngm.estimators.part_problem import check_parts, part_problem
from ngm.estimators.preparation import prepare, with_targets
from ngm.estimators.trained_model import TrainedModel
from ngm.estimators.validation import validation_metrics
from ngm.graph import Graph
from ngm.io.run_folder import Run, RunTarget
from ngm.io.run_writer import RunWriter
from ngm.networks.input_scaling import Table
from ngm.objective import NGMLoss
from ngm.partition.local_part import LocalPart, Partition, open_partition
from ngm.recipes.optimizer import optimizer_of
from ngm.recipes.parameters import Parameters, network_specification, parameters_of
from ngm.recipes.problem import HeldOut, Problem
from ngm.recipes.recipe import Recipe, recipe_for
from ngm.recipes.settings import check_teachers, resolve
from ngm.rows import num_rows
from ngm.sampling import EdgeLoader
from ngm.targets import TaskName
from ngm.task import Task
from ngm.text.readers import Given
from ngm.training import Epoch, History, train

Estimator = TypeVar("Estimator", bound="NGMEstimator")


@dataclass(eq=False, repr=False)
class NGMEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, FittedNetwork, ABC):  # type: ignore[misc]
    """Settings of an NGM estimator; `ngm.parameters` declares what each means and may be."""

    run_writer = cast("RunWriter | None", None)  # set it to add to the run folder what `fit` does not know

    def fit(
        self,
        x: Given,
        y: ArrayLike,
        graph: Graph | Sequence[Graph] | None = None,
        sample_weight: ArrayLike | None = None,
        on_epoch: Callable[[Epoch], None] | None = None,
        views: Mapping[str, Table] | None = None,
        folder: str | Path | None = None,
        resume: bool = False,
        overwrite: bool = False,
    ) -> NGMEstimator:
        """Trains the network on labelled and unlabelled rows joined by the graph.

        Args:
            x: (n, d) dense or sparse, a row for every node; n texts where the network reads texts; for networks of
                one's own, whatever `take_rows` takes.
            y: Targets of the rows, unlabelled ones marked; see the class.
            graph: One graph over the rows, a list of graphs, or none for a plain network.
            sample_weight: (n,) weight of each labelled row.
            on_epoch: Called with each epoch's record: cost terms, |h|, validation metric, seconds.
            views: Name -> (n, d) table: further descriptions of the rows (sentence vectors, say) for the teachers of
                recipe "auto"; prediction does without them.
            folder: Run folder, written as training goes; a new or an empty one, but for the next two.
            resume: Go on from the checkpoint in the folder, on the same data and settings; other data is refused.
            overwrite: Replace a run that is in the folder.

        Returns:
            The estimator itself, fitted.
        """
        self.__dict__.pop("n_iter_", None)  # not fitted any more, should this fit fail
        parameters, target = parameters_of(self), RunTarget(folder, resume, overwrite)
        target.check()
        self._fit(parameters, target, self._prepare(parameters, x, y, graph, sample_weight, views), on_epoch)
        return self._fitted()

    def fit_parts(
        self,
        partition: Partition | str | Path,
        on_epoch: Callable[[Epoch], None] | None = None,
        folder: str | Path | None = None,
        resume: bool = False,
        overwrite: bool = False,
    ) -> NGMEstimator:
        """Trains on a graph in parts: each process of several on its own parts.

        The objective is that of `fit` on the whole graph. With recipe "auto" those teachers label the nodes that need
        not compare all of them with each other; recipe "paper" does not screen the graph.

        Args:
            partition: What `ngm.partition_graph` or `ngm partition` wrote; of its parts, a process opens its own.
            on_epoch: As for `fit`, like the next three.
            folder: Run folder.
            resume: Go on from the checkpoint in the folder, with as many processes as one likes.
            overwrite: Replace a run that is in the folder.

        Returns:
            The estimator itself, fitted.
        """
        self.__dict__.pop("n_iter_", None)
        parameters, target = parameters_of(self), RunTarget(folder, resume, overwrite)
        target.check()
        parts = partition if isinstance(partition, Partition) else open_partition(partition)
        with process_group() as (rank, world):
            self._fit(parameters, target, self._prepare_part(parameters, parts.local(rank, world)), on_epoch)
        return self._fitted()

    def _fitted(self: Estimator) -> Estimator:
        if self.history_.stopped == "interrupted":
            raise KeyboardInterrupt  # fitted and saved all the same
        return self

    def _fit(
        self,
        parameters: Parameters,
        target: RunTarget,
        problem: Problem,
        on_epoch: Callable[[Epoch], None] | None,
    ) -> None:
        """Makes the network, trains it and, in the first process, writes the run folder."""
        folder = target.folder
        recipe, loss = self._recipe(parameters), edge_loss(parameters, self.settings_, problem)
        self.network_ = self._make_network(parameters, problem)
        rows = recipe.training_inputs(problem.inputs, getattr(self, "reader_", None))
        with process_group() as (rank, world), persistence.lock(folder, rank):
            measure_inputs(self.network_, problem)
            loss.check_graphs(self.network_, [graph.directed for graph in problem.graphs])
            recorder, data = None, {}
            if folder is not None and rank == 0:
                recomputed = self._writer.recomputed
                data = persistence.checked_digests(type(self).__name__, parameters, target, problem, recomputed)
                recorder = NodeRecorder(self.network_, problem, self.layer, self.dtype_, self.device, self.seed)
            problem = with_targets(recipe, problem, self.network_, loss, self.dtype_)
            self.graphs_used_, self.teachers_ = list(problem.graphs_used), problem.teachers
            loss = edge_loss(parameters, self.settings_, problem)
            loader = make_loader(rows, problem, loss, parameters, self.settings_, self.dtype_, rank, world)
            warn_of_idle_graph(loader, loss, problem.graphs)
            with persistence.lock(folder, rank, create=True):
                run = None
                if folder is not None:
                    writer = self._writer if rank == 0 else None
                    run = persistence.begin(type(self).__name__, parameters, target, data, writer)
                self.history_ = self._train(loader, loss, problem.held_out, run, target.resume, on_epoch)
                self._finish(loader, run if rank == 0 else None, recorder)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_iter_")

    def save(self, folder: str | Path, overwrite: bool = False) -> Path:
        """Writes a run folder; `ngm.load` reads it back. The graph is not part of it: prediction needs none.

        Args:
            folder: A new or an empty one.
            overwrite: Whether a run that is in it may be replaced.
        """
        check_is_fitted(self)
        return persistence.save(trained_model(self), Path(folder), overwrite)

    def export(
        self, format: Literal["onnx", "torch"] = "onnx", file: str | Path | None = None, x: Given | None = None
    ) -> Path:
        """Writes the bare network for other programs to run; the file is run and compared before it is kept.

        Args:
            format: "onnx", or "torch" for `torch.export`.
            file: Ends in .onnx or .pt2; `model` with that ending in the current folder where not given.
            x: A few rows, as `predict` takes them, to compare on; made up where not given. A network of one's own
                needs them.

        Returns:
            The file.
        """
        check_is_fitted(self)
        inputs = None if x is None else self._read(x, reset=False)
        return model_export.export(trained_model(self), format, file, inputs).file

    # What classes and numbers differ in

    _any_task: ClassVar[TaskName]  # as far as it is known before y is read

    @abstractmethod
    def _read_targets(self, y: ArrayLike, rows: int) -> tuple[Task, Tensor, Tensor]:
        """(task, (n, ...) encoded targets, (n,) mask of the labelled rows)."""

    @property
    @abstractmethod
    def _task(self) -> Task:
        """What was fitted, from the attributes that tell it."""

    @abstractmethod
    def _set_task(self, task: Task) -> None:
        """Leaves the attributes behind from which `_task` is made."""

    # How the parts meet

    @property
    def _writer(self) -> RunWriter:
        """The writer that was set, or one that adds nothing."""
        return self.run_writer or RunWriter()

    def _prepare(
        self,
        parameters: Parameters,
        x: Given,
        y: ArrayLike,
        graph: Graph | Sequence[Graph] | None,
        sample_weight: ArrayLike | None,
        views: Mapping[str, Table] | None,
    ) -> Problem:
        """Checks settings and data, and settles the settings to train with."""
        check_parameters(parameters)
        check_settings(parameters, resolve(parameters, self._any_task))
        inputs = self._read(x, reset=True)
        self.dtype_ = dtype_of(self.dtype, inputs)
        targets = self._read_targets(y, num_rows(inputs))
        self._set_task(targets[0])
        reader = getattr(self, "reader_", None)
        problem = prepare(
            parameters,
            inputs,
            targets,
            graph,
            sample_weight,
            views,
            reader,
            self.dtype_,
            lambda x: self._read(x, False),
        )
        return self._settle(parameters, problem)

    def _prepare_part(self, parameters: Parameters, part: LocalPart) -> Problem:
        """The same for what this process has of a graph in parts."""
        check_parameters(parameters)
        check_parts(parameters, resolve(parameters, self._any_task), part, self._any_task)
        inputs = self._read(part.x, reset=True)
        self.dtype_ = dtype_of(self.dtype, inputs)
        return self._settle(parameters, part_problem(parameters, part, inputs, self.dtype_))

    def _settle(self, parameters: Parameters, problem: Problem) -> Problem:
        """Settles the settings to train with."""
        self._set_task(problem.task)
        self.num_validation_, self.num_given_ = problem.num_validation, problem.num_labeled
        settings = resolve(parameters, problem.task.name, problem.in_features, bool(problem.graphs))
        check_teachers(parameters, settings, len(problem.graphs), len(problem.views))
        scaling = input_scaling_of(network_specification(parameters), settings.input_scaling, problem)
        self.settings_ = replace(settings, input_scaling=scaling)
        return problem

    def _recipe(self, parameters: Parameters) -> Recipe:
        return recipe_for(parameters, self.settings_)

    def _make_network(self, parameters: Parameters, problem: Problem) -> nn.Module:
        """A new network, tried on a row."""
        self._widths = problem.in_features, problem.task.out_features
        reader, vectors = getattr(self, "reader_", None), getattr(problem.inputs, "vectors", None)
        network = make_network(parameters, self.settings_, self._widths, self.dtype_, reader, vectors)
        expect_rows(network, problem.inputs)
        try_network(network, problem.inputs, self._widths[1], self.dtype_, self.device, self.seed)
        return network

    def _train(
        self,
        loader: EdgeLoader,
        loss: NGMLoss,
        held_out: HeldOut,
        run: Run | None,
        resume: bool,
        on_epoch: Callable[[Epoch], None] | None,
    ) -> History:
        task = self._task
        truth = task.scaled(held_out.y)
        # decay over the nodes that are labelled, softly or not, or over all where no graph is used
        nodes = loader.sizes()["labelled rows" if any(self.graphs_used_) else "rows"]
        settings = self.settings_ = self.settings_.completed(len(loader), nodes)

        def evaluate(network: nn.Module) -> dict[str, float]:
            return validation_metrics(task, loss.cost, self._logits(held_out.x), truth, held_out.shared)

        return self._loop()(
            loader,
            loss,
            epochs=cast(int, settings.epochs),
            evaluate=evaluate if held_out.any else None,
            patience=self.patience,
            run=run,
            resume=resume,
            on_epoch=on_epoch,
        )

    def _loop(self) -> partial[History]:
        """The one loop, with this network and the optimizer of the settings."""
        optimizer = optimizer_of(self.optimizer)
        return partial(
            train,
            self.network_,
            seed=self.seed,
            optimizer=optimizer.name,
            learning_rate=self.settings_.learning_rate,
            weight_decay=cast(float, self.settings_.weight_decay),
            clip=optimizer.clip,
            bfloat16=self.dtype == "bfloat16",
            ema_decay=self.settings_.ema_decay,
        )

    def _finish(self, loader: EdgeLoader, run: Run | None, recorder: NodeRecorder | None = None) -> None:
        self.n_iter_, self.steps_per_epoch_ = len(self.history_.epochs), len(loader)
        counts = [n for n, used in zip(loader.totals.num_edges, self.graphs_used_, strict=False) if used]
        by_kind = [sum(graph[kind] for graph in counts) for kind in EdgeKind]
        self.edges_by_kind_ = dict(zip(("ll", "lu", "uu"), by_kind, strict=True))
        self.num_labeled_ = loader.sizes()["labelled rows"]
        self.network_.eval()
        if run is not None:
            records = None if recorder is None else recorder.node_records()
            self._writer.finish(run, persistence.trained_run(trained_model(self)), records)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def followed_recipe(estimator: NGMEstimator, with_graph: bool) -> RecipeName:
    """The recipe that `fit` would follow: "paper" where "auto" is to learn numbers without a graph."""
    return resolve(estimator, estimator._any_task, taught=with_graph).recipe


def trained_model(estimator: NGMEstimator) -> TrainedModel:
    """What a fitted estimator has learned, as run folders and exports take it."""
    return TrainedModel(
        estimator=type(estimator).__name__,
        parameters=parameters_of(estimator),
        settings=estimator.settings_,
        task=estimator._task,
        network=estimator.network_,
        widths=estimator._widths,
        dtype=estimator.dtype_,
        reader=getattr(estimator, "reader_", None),
        is_table=hasattr(estimator, "n_features_in_"),
        feature_names=getattr(estimator, "feature_names_in_", None),
        history=estimator.history_,
        num_labeled=estimator.num_labeled_,
        num_given=getattr(estimator, "num_given_", None),
        num_validation=getattr(estimator, "num_validation_", None),
        edges_by_kind=estimator.edges_by_kind_,
        graphs_used=estimator.graphs_used_,
        teachers=estimator.teachers_,
    )


def fitted_estimator(kind: type[Estimator], model: TrainedModel) -> Estimator:
    """An estimator that predicts as the one that `trained_model` was asked of."""
    estimator = kind(**{field.name: getattr(model.parameters, field.name) for field in fields(Parameters)})
    estimator._set_task(model.task)
    estimator._widths = model.widths
    estimator.settings_, estimator.network_, estimator.dtype_ = model.settings, model.network, model.dtype
    estimator.history_, estimator.n_iter_ = model.history, len(model.history.epochs)
    estimator.edges_by_kind_ = dict(model.edges_by_kind)
    estimator.graphs_used_, estimator.teachers_ = list(model.graphs_used), model.teachers
    where_known: dict[str, object] = {
        "num_labeled_": model.num_labeled,
        "num_given_": model.num_given,
        "num_validation_": model.num_validation,
        "n_features_in_": model.widths[0] if model.is_table else None,
        "feature_names_in_": model.feature_names,
        "reader_": model.reader,
        "vocabulary_": None if model.reader is None else model.reader.vocabulary,
    }
    for name, value in where_known.items():
        if value is not None:
            setattr(estimator, name, value)
    return estimator
