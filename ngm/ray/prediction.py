"""Prediction over data sets of Ray Data: each worker loads a run folder once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import nn

from ngm._arguments import as_path, whole_number
from ngm._spelling import nearest
from ngm.estimators.loading import load
from ngm.features import Features
from ngm.io.run_folder import Run
from ngm.io.tables import read_table
from ngm.networks.specifications import network_of
from ngm.ray._installed import check_ray
from ngm.text.readers import Given
from ngm.workflow.prediction import training_record
from ngm.workflow.predictions import predicted

if TYPE_CHECKING:
    from pandas import DataFrame
    from ray.data import Dataset


def predict(
    dataset: Dataset,
    run: str | Path,
    columns: str | Sequence[str] | None = None,
    *,
    workers: int = 1,
    batch_size: int = 4096,
    all_classes: bool = False,
    network: Callable[[int, int], nn.Module] | None = None,
) -> Dataset:
    """Adds predictions to the rows of a Ray Data set, by `map_batches`; lazy, as all of Ray Data is.

    Args:
        dataset: Its columns are kept.
        run: Run folder, on a file system that all workers share; each loads it once.
        columns: What x is made from; see `Predictor`.
        workers: How many processes predict.
        batch_size: Rows at a time.
        all_classes: Whether each class has a column with its probability.
        network: The function that made the network, if it was a function of one's own.

    Returns:
        The data set with the columns of `ngm predict`: `class` and `probability` (and `p_...` of each class);
        `labels` and `p_...` of each label; or `prediction`.
    """
    check_ray("ngm.ray.predict")
    from ray.data import ActorPoolStrategy

    folder = as_path("run", run).resolve()
    Run.open(folder)  # refuses what is none before anything is started
    return dataset.map_batches(
        Predictor,
        fn_constructor_args=(str(folder), columns, all_classes, network),
        compute=ActorPoolStrategy(size=whole_number("workers", workers, 1)),
        batch_size=whole_number("batch_size", batch_size, 1),
        batch_format="numpy",
    )


class Predictor:
    """A run folder, loaded once, that adds predictions to batches of columns: for `map_batches`, or by itself.

    Args:
        run: Run folder.
        columns: Of a run that was trained in Python: the column that has the rows (vectors, or texts), or several of
            numbers. By default those of the data frame that it was trained on. Runs of `ngm train` know their columns.
        all_classes: Whether each class has a column with its probability.
        network: The function that made the network, if it was a function of one's own.
    """

    def __init__(
        self,
        run: str | Path,
        columns: str | Sequence[str] | None = None,
        all_classes: bool = False,
        network: Callable[[int, int], nn.Module] | None = None,
    ) -> None:
        folder = Path(run)
        self.model, self.features = load(folder, network), Features.open(Run.open(folder))
        data = training_record(folder)
        names, separator = cast("list[str] | None", data.get("label_names")), str(data.get("label_separator") or ";")
        self.predictions = predicted(self.model, all_classes, 1, names, separator)
        self.names = getattr(self.model, "feature_names_in_", None)
        self.columns = self._columns(folder, columns)

    def __call__(self, batch: Mapping[str, ArrayLike] | DataFrame) -> dict[str, NDArray[np.generic]]:
        """The columns of a batch, each with b values, and those of its predictions."""
        there = {str(name): np.asarray(batch[name]) for name in batch}
        for name in self.columns:
            if name not in there:
                raise ValueError(f"there is no column {name!r}{nearest(name, there)}; there are {', '.join(there)}")
        taken = [column.name for column in self.predictions.columns if column.name in there]
        if taken:
            raise ValueError(f"there is a column {taken[0]!r} already, as predictions are called; rename or drop it")
        values = self.predictions.take(self.predictions.outputs(self._rows(there)), None)
        new = zip(self.predictions.columns, values, strict=True)
        return there | {column.name: np.asarray(found) for column, found in new}

    def _columns(self, folder: Path, columns: str | Sequence[str] | None) -> tuple[str, ...]:
        if self.features is not None:
            if self.features.nodes is not None:
                raise ValueError(f"{folder} reads the graph, not columns; predict with ngm.workflow.predict")
            if columns is not None:
                read = ", ".join(self.features.names)
                raise ValueError(f"columns is {columns!r}, but {folder} reads {read}; leave columns out")
            return self.features.names
        chosen = self.names if columns is None else columns
        if chosen is None:
            raise ValueError(f"{folder} was trained in Python; give columns=, the names of those that x is made from")
        return (chosen,) if isinstance(chosen, str) else tuple(chosen)

    def _rows(self, batch: Mapping[str, NDArray[np.generic]]) -> Given:
        """X of a batch."""
        values = {name: _stacked(batch[name]) for name in self.columns}
        if self.features is not None:
            return self.features.rows(
                read_table({name: v if v.ndim == 1 else v.tolist() for name, v in values.items()})
            )
        first = values[self.columns[0]]
        if network_of(self.model.network).reads_texts:
            return cast("list[str]", first.tolist())
        if self.names is not None and len(self.columns) == len(self.names):
            from pandas import DataFrame

            return cast(Given, DataFrame(dict(zip(self.names, values.values(), strict=True))))
        return first if len(values) == 1 else np.column_stack(list(values.values()))


def _stacked(column: NDArray[np.generic]) -> NDArray[np.generic]:
    """A column of lists as (b, d) numbers; others as they are."""
    is_list = column.dtype == object and len(column) > 0 and isinstance(column[0], list | np.ndarray)
    return np.array([np.asarray(row) for row in column]) if is_list else column
