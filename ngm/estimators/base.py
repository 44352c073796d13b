"""What `NGMClassifier` and `NGMRegressor` share: settings, checks, validation split, fit, prediction in batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias, cast

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from ngm._input_checks import check_graphs
from ngm.choices import Influence, Labels, OptimizerName, Precision, Recipe, Sampling, Scaling, ScalingName
from ngm.distances import Distance
from ngm.distributed import process_group
from ngm.edge_batch import EdgeKind
from ngm.estimators import model_export, persistence
from ngm.estimators.batch_prediction import in_batches
from ngm.estimators.checks import check_features, check_parameters, check_settings, warn_of_idle_graph
from ngm.estimators.loss_factory import edge_loss
from ngm.estimators.network_factory import dtype_of, input_scaling_of, make_network, measure_inputs, try_network
from ngm.estimators.node_recorder import Witness
from ngm.estimators.problem import Problem
from ngm.estimators.validation import HeldOut, Validation, hold_out
from ngm.graph import Graph
from ngm.io.run_folder import JSON, Run
from ngm.io.run_writer import RunWriter
from ngm.networks.input_scaling import Table, stored_by_density
from ngm.networks.tap import LAST_HIDDEN, tap
from ngm.objective import NGMLoss, Regularizer
from ngm.recipes.auto import check_views, weight_of_taught
from ngm.recipes.graph_screen import useful_graphs
from ngm.recipes.settings import check_teachers, resolve
from ngm.recipes.stacking import TeacherReport
from ngm.recipes.text_training import shown_texts
from ngm.rows import Inputs, Rows, num_rows
from ngm.sampling import EdgeLoader
from ngm.text.readers import Given, Texts, check_texts
from ngm.text.thesaurus import Thesaurus
from ngm.text.word_vectors import WordVectors
from ngm.training import Epoch, History, train

Network: TypeAlias = "str | Callable[[int, int], nn.Module]"


@dataclass(eq=False, repr=False)
class NGMEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Settings of an NGM estimator; `ngm.parameters` declares what each means and may be."""

    hidden: Sequence[int] = (250, 100)
    alpha_ll: float | Sequence[float] | None = None
    alpha_lu: float | Sequence[float] | None = None
    alpha_uu: float | Sequence[float] | None = None
    distance: str | Distance = "l2"
    layer: str | None = None
    influence: Influence = "both"
    negatives: float | None = None
    margin: float | None = None
    scaling: Scaling = "mean"
    network: Network = "ffnn"
    recipe: Recipe = "auto"
    class_prior: Mapping[str, float] | Mapping[int, float] | Sequence[float] | None = None
    dropout: float | None = None
    input_dropout: float | None = None
    input_scaling: ScalingName | None = None
    word_vectors: str | Path | WordVectors | None = None
    max_words: int = 20_000
    thesaurus: str | Path | Thesaurus | None = None
    cut: float | None = None
    epochs: int | None = None
    batch_size: int | None = None
    sampling: Sampling = "plain"
    labels: Labels = "every_batch"
    optimizer: OptimizerName = "adam"
    learning_rate: float | None = None
    weight_decay: float | None = None
    average: float | None = None
    clip: float | None = None
    bfloat16: bool = False
    dtype: Precision | None = None
    validation: Validation = None
    patience: int | None = None
    seed: int = 0
    device: str = "cpu"
    folder: str | Path | None = None
    resume: bool = False
    overwrite: bool = False

    _run_writer = cast("RunWriter | None", None)  # no field; see `persistence.set_run_writer`

    def fit(
        self,
        x: Given,
        y: ArrayLike,
        graph: Graph | Sequence[Graph] | None = None,
        sample_weight: ArrayLike | None = None,
        on_epoch: Callable[[Epoch], None] | None = None,
        views: Mapping[str, Table] | None = None,
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

        Returns:
            The estimator itself, fitted.
        """
        self.__dict__.pop("n_iter_", None)  # not fitted any more, should this fit fail
        check_parameters(self)
        self.settings_ = resolve(self)
        check_settings(self, self.settings_)
        inputs = check_features(self, x, reset=True)
        self.dtype_ = dtype_of(self.dtype, inputs, self.bfloat16)
        targets, labeled = self._encode(y, num_rows(inputs))
        self.settings_ = resolve(self, getattr(self, "task_", None) == "labels", self._in_features(inputs))
        if isinstance(inputs, Texts):
            check_texts(inputs, labeled, self.reader_)
        graphs = check_graphs(graph)
        further = check_views(views, num_rows(inputs))
        held_out = hold_out(self, inputs, targets, labeled)
        self.num_validation_, self.num_given_ = len(held_out.y), int(held_out.labeled.sum())
        self._measure(targets, held_out.labeled, sample_weight)
        loss = self._loss(len(graphs))
        check_teachers(self, self.settings_, len(graphs), len(further))
        self._widths = self._in_features(inputs), self._out_features(targets)
        self.settings_ = replace(self.settings_, input_scaling=input_scaling_of(self, inputs))
        self.network_ = self._make_network(*self._widths, getattr(inputs, "vectors", None))
        try_network(self, inputs)
        shown = shown_texts(inputs, getattr(self, "reader_", None), self.thesaurus, self.settings_.cut, self.seed)
        if self.settings_.recipe == "auto" and self.settings_.input_scaling == "unit_rows":
            shown = stored_by_density(cast(Table, shown))
        with process_group() as (rank, world), persistence.lock(self, rank):
            told = held_out.labeled
            loader = self._loader(shown, targets, told, graphs, sample_weight, loss, rank, world)
            measure_inputs(self.network_, inputs, labeled, graphs, sample_weight)
            loss.check(self.network_, loader.totals)
            kept = self.folder is not None and rank == 0
            y_known = targets[labeled], labeled, getattr(self, "classes_", None)
            data = (
                persistence.checked_digests(self, inputs, y_known, held_out, sample_weight, graphs, further)
                if kept
                else {}
            )
            witness = Witness(self, inputs, targets, labeled, held_out, graphs) if kept else None
            self.graphs_used_ = useful_graphs(self, inputs, targets, told, graphs, loss)
            self.teachers_: TeacherReport | None = None
            useful = [g for g, used in zip(graphs, self.graphs_used_, strict=True) if used]
            recipe = self.settings_.recipe
            if recipe == "strong" or (recipe == "auto" and useful):
                problem = Problem(inputs, targets, told, useful, further, sample_weight)
                if recipe == "strong":
                    targets, told = self._teach(problem, bool(graphs))
                else:
                    sample_weight = weight_of_taught(sample_weight, told)
                    targets, told = self._soft_targets(problem)
                if isinstance(inputs, Texts):  # validation texts stay as new as those to be predicted
                    told = told & ~(labeled & ~held_out.labeled) & inputs.filled
                loader = self._loader(shown, targets, told, graphs, sample_weight, loss, rank, world)
            warn_of_idle_graph(loader, loss, graphs)
            if not all(self.graphs_used_):
                loss = self._loss(len(graphs), self.graphs_used_)  # as many steps, without the edges that tell nothing
            with persistence.lock(self, rank, create=True):
                run = persistence.begin(self, data, leads=rank == 0) if self.folder is not None else None
                self.history_ = self._train(loader, loss, held_out, run, on_epoch)
                self._finish(loader, run if rank == 0 else None, witness)
        if self.history_.stopped == "interrupted":
            raise KeyboardInterrupt  # fitted and saved all the same
        return self

    def transform(self, x: Given) -> NDArray[np.floating]:
        """Hidden vectors h (n, width): of `layer` if that is set, else of the last hidden layer."""
        return self._run(x, self._hidden)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_iter_")

    def save(self, folder: str | Path, overwrite: bool = False) -> Path:
        """Writes a run folder; `ngm.load` reads it back. The graph is not part of it: prediction needs none.

        Args:
            folder: A new or an empty one.
            overwrite: Whether a run that is in it may be replaced.
        """
        check_is_fitted(self)
        return persistence.save(self, Path(folder), overwrite)

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
        return model_export.export(self, format, file, x).file

    @property
    def _n_features_out(self) -> int:
        """Width of h, for `get_feature_names_out`."""
        if hasattr(self, "reader_"):
            return int(self._batched(Texts([""], self.reader_.read([""])), self._hidden).shape[1])
        return int(self.transform(np.zeros((1, self.n_features_in_), dtype=np.float32)).shape[1])

    # What the two tasks fill in

    @abstractmethod
    def _encode(self, y: ArrayLike, rows: int) -> tuple[Tensor, Tensor]:
        """Y as the loader takes it: (targets (n, ...), labeled (n,)); remembers the classes."""

    @abstractmethod
    def _encode_known(self, y: ArrayLike, rows: int, columns: int) -> Tensor:
        """Targets of validation rows, in terms of what `_encode` remembered; as many columns as those of `fit`."""

    def _measure(self, targets: Tensor, labeled: Tensor, sample_weight: ArrayLike | None) -> None:
        """Remembers the scale of the targets that are trained on, where they have any."""

    def _scaled(self, targets: Tensor) -> Tensor:
        """Targets as the network is to give them."""
        return targets

    @abstractmethod
    def _out_features(self, targets: Tensor) -> int: ...

    @abstractmethod
    def _cost(self) -> str: ...

    @abstractmethod
    def _metrics(self, logits: Tensor, targets: Tensor) -> dict[str, float]:
        """Validation metrics; the first is the one to raise."""

    @abstractmethod
    def _say(self, outputs: Tensor) -> NDArray[np.object_]:
        """(n,) what the network's (n, c) outputs mean, in words."""

    @abstractmethod
    def _say_targets(self, targets: Tensor) -> NDArray[np.object_]:
        """(n,) encoded targets in words."""

    def _certainty(self, outputs: Tensor) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(n,) probability of what is said and (n,) its lead over the next; NaN where there is none."""
        unknown = np.full(len(outputs), np.nan)
        return unknown, unknown

    @abstractmethod
    def _describe(self) -> dict[str, JSON]:
        """What `model.json` needs so that predictions can be read back."""

    @abstractmethod
    def _recall(self, model: Mapping[str, JSON]) -> None:
        """Takes back what `_describe` wrote."""

    # How the parts meet

    def _teach(self, problem: Problem, some: bool) -> tuple[Tensor, Tensor]:
        """The strong recipe's targets: (shares (n, C), (n,) mask of the nodes that have any).

        Without a graph that tells anything (`some` says whether any was given) they are what they were.
        """
        raise ValueError(f"recipe is 'strong', which is for classes; {type(self).__name__} takes recipe='paper'")

    def _soft_targets(self, problem: Problem) -> tuple[Tensor, Tensor]:
        """The default recipe's targets: (soft labels (n, C), (n,) mask of the nodes that have any)."""
        return problem.targets, problem.labeled

    def _loss(self, graphs: int, used: Sequence[bool] = ()) -> NGMLoss:
        template = Regularizer(distance=self.distance, layer=self.layer, influence=self.influence)
        return edge_loss(self.settings_, template, self._cost(), self.scaling, graphs, used)

    def _loader(
        self,
        inputs: Inputs,
        targets: Tensor,
        labeled: Tensor,
        graphs: Sequence[Graph],
        sample_weight: ArrayLike | None,
        loss: NGMLoss,
        rank: int,
        world: int,
    ) -> EdgeLoader:
        return EdgeLoader(
            inputs,
            self._scaled(targets),
            list(graphs),
            batch_size=self.settings_.batch_size,
            seed=self.seed,
            kinds=loss.kinds[: len(graphs)] if graphs else None,
            sample_weight=sample_weight,
            labeled=labeled,
            sampling=self.sampling,
            labels=self.labels if self.sampling == "plain" else None,
            negatives=loss.negatives[: len(graphs)] if graphs else 0.0,
            dtype=self.dtype_,
            rank=rank,
            world=world,
        )

    def _squash(self, logits: Tensor) -> Tensor:
        """Logits to predictions."""
        return logits

    def _train(
        self,
        loader: EdgeLoader,
        loss: NGMLoss,
        held_out: HeldOut,
        run: Run | None,
        on_epoch: Callable[[Epoch], None] | None,
    ) -> History:
        truth = self._scaled(held_out.y)
        # decay over the nodes that were taught, or over all where no graph could teach any
        nodes = int(loader.labeled.sum()) if any(self.graphs_used_) else len(loader.labeled)
        settings = self.settings_ = self.settings_.completed(len(loader), nodes)

        def evaluate(network: nn.Module) -> dict[str, float]:
            logits = self._logits(held_out.x)
            cost = {"cost": float(loss.cost(logits, truth).mean())}
            return self._metrics(logits, truth) | cost if torch.isfinite(logits).all() else cost

        return train(
            self.network_,
            loader,
            loss,
            epochs=cast(int, settings.epochs),
            seed=self.seed,
            optimizer=self.optimizer,
            learning_rate=settings.learning_rate,
            weight_decay=cast(float, settings.weight_decay),
            clip=self.clip,
            bfloat16=self.bfloat16,
            average=settings.average,
            evaluate=evaluate if held_out.any else None,
            patience=self.patience,
            run=run,
            resume=self.resume,
            on_epoch=on_epoch,
        )

    def _finish(self, loader: EdgeLoader, run: Run | None, witness: Witness | None = None) -> None:
        self.n_iter_, self.steps_per_epoch_ = len(self.history_.epochs), len(loader)
        counts = [n for n, used in zip(loader.totals.num_edges, self.graphs_used_, strict=False) if used]
        by_kind = [sum(graph[kind] for graph in counts) for kind in EdgeKind]
        self.edges_by_kind_ = dict(zip(("ll", "lu", "uu"), by_kind, strict=True))
        self.num_labeled_ = int(loader.labeled.sum())
        self.network_.eval()
        if run is not None:
            records = None if witness is None else witness.evidence()
            persistence.run_writer(self).finish(run, persistence.trained_run(self), records)

    def _make_network(self, in_features: int, out_features: int, vectors: WordVectors | None = None) -> nn.Module:
        return make_network(self, in_features, out_features, vectors)

    def _in_features(self, inputs: Inputs) -> int:
        shape = getattr(inputs, "shape", None)
        return int(shape[1]) if shape is not None and len(shape) > 1 else 1

    def _logits(self, x: Inputs) -> Tensor:
        return self._batched(x, lambda rows: self.network_(rows))

    def _hidden(self, rows: Rows) -> Tensor:
        layer = self.layer or LAST_HIDDEN
        return tap(self.network_, rows, [layer])[1][layer]

    def _run(self, x: Given, read: Callable[..., Tensor]) -> NDArray[np.floating]:
        """Checks x and reads something off the network for its rows."""
        check_is_fitted(self)
        out: NDArray[np.floating] = self._batched(check_features(self, x, reset=False), read).numpy()
        return out

    def _batched(self, inputs: Inputs, read: Callable[..., Tensor], only: Tensor | None = None) -> Tensor:
        """What is read off the network for all rows, or for some of them by number."""
        self.network_.eval()
        return in_batches(inputs, read, self.dtype_, self.device, only)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
