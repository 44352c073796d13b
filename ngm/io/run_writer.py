"""The owner of a run folder: writes `config.json` as training begins, and the other files, whole, when it has ended."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import cast

from ngm.io.node_records import NodeRecords, write_node_records
from ngm.io.run_folder import JSON, Run, TrainedRun


@dataclass(frozen=True, eq=False)
class FinishedRun:
    """A training that has ended, of which nothing but checkpoint and history is written yet.

    Args:
        run: Its folder.
        trained: What predictions need, and what was measured.
        records: What is kept of the nodes; None where nothing is.
    """

    run: Run
    trained: TrainedRun
    records: NodeRecords | None


class RunWriter:
    """Writes the run folder of one training.

    Args:
        command: Options of the command that trains, for `config.json`; None where it is trained in Python.
        metrics: Further entries of `metrics.json`, where they are known from the start.
        recomputed: Parts of the data ("x", "graphs", "views") that the caller made from others; see `data_digests`.
        deferred: Write nothing when training ends, but when `write` is called, with what the caller adds then.
    """

    def __init__(
        self,
        command: Mapping[str, JSON] | None = None,
        metrics: Mapping[str, JSON] | None = None,
        recomputed: Collection[str] = (),
        deferred: bool = False,
    ) -> None:
        self.command, self.metrics, self.deferred = command, dict(metrics or {}), deferred
        self.recomputed = frozenset(recomputed)
        self.finished: FinishedRun | None = None

    def begin(
        self,
        run: Run,
        estimator: str,
        settings: Mapping[str, JSON],
        data: Mapping[str, JSON],
        earlier: Mapping[str, JSON] | None,
    ) -> None:
        """Writes `config.json`.

        Args:
            run: The folder, made ready.
            estimator: Name of the class.
            settings: Its settings.
            data: Digests of what it is trained on.
            earlier: `config.json` of the run that is resumed; None for a new run.
        """
        command = self.command if self.command is not None else (earlier or {}).get("command")
        more = {} if command is None else {"command": cast(JSON, command)}
        run.write_config(estimator, settings, {"data": dict(data), **more})

    def finish(self, run: Run, trained: TrainedRun, records: NodeRecords | None = None) -> None:
        """Takes what training leaves, and writes it unless that is deferred."""
        self.finished = FinishedRun(run, trained, records)
        if not self.deferred:
            self.write()

    def write(
        self,
        metrics: Mapping[str, JSON] | None = None,
        name_records: Callable[[NodeRecords], NodeRecords] | None = None,
        save_features: Callable[[Run], None] | None = None,
    ) -> TrainedRun:
        """Writes every file; the weights, without which a run does not count as trained, come last.

        Args:
            metrics: Further entries of `metrics.json`.
            name_records: Gives the kept nodes the users' names.
            save_features: Writes how rows of a table are read.

        Returns:
            What was written of the training.
        """
        if self.finished is None:
            raise ValueError("the training has not ended, so there is no run to write; call fit first")
        run, trained, records = self.finished.run, self.finished.trained, self.finished.records
        if save_features is not None:
            save_features(run)
        if records is not None:
            write_node_records(run, records if name_records is None else name_records(records))
        trained = replace(trained, metrics={**trained.metrics, **self.metrics, **(metrics or {})})
        run.write_trained(trained)
        return trained
