"""Tables in, run folder out, predictions out: what `ngm train` and `ngm predict` do, without printing.

    result = ngm.workflow.train("news.csv", text="body", label="topic", output="run")
    ngm.workflow.predict("run", "new.csv", output="topics.csv")

options, checks    a training with all its options, and which of them contradict each other
training           train and dry_run: from options to a run folder
training_data      what is read: target_column, text_encoding, alignment, label_columns
training_runs      the estimator, its fit, the control without the graph
training_plan      what a training would do, and how long it would take
resumption         a run is resumed with the options it was begun with
run_summary        what there is to tell of a training, as JSON
graph_check        check_graph: a graph folder, or parts, and whether the graph is informative
monitor            progress and warnings, for who wants to show them
prediction         predict: from a run folder and a table to a file
prediction_items   what is predicted, piece by piece: rows of a table, nodes of a graph, new nodes by their links
predictions        what a network predicts, as columns
prediction_files   rows written as they come: CSV, JSON lines or Parquet
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ngm.workflow.monitor import Monitor
    from ngm.workflow.options import TrainOptions, TrainRequest
    from ngm.workflow.prediction import predict
    from ngm.workflow.prediction_result import PredictResult
    from ngm.workflow.training import DryRunResult, TrainResult, dry_run, train
    from ngm.workflow.training_plan import TrainingPlan

__all__ = [
    "DryRunResult",
    "Monitor",
    "PredictResult",
    "TrainOptions",
    "TrainRequest",
    "TrainResult",
    "TrainingPlan",
    "dry_run",
    "predict",
    "train",
]


if not TYPE_CHECKING:  # imported when first used: the options of a command are there without torch

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from ngm.workflow import monitor, options, prediction, prediction_result, training, training_plan

        homes = {
            monitor: ("Monitor",),
            options: ("TrainOptions", "TrainRequest"),
            prediction: ("predict",),
            prediction_result: ("PredictResult",),
            training: ("DryRunResult", "TrainResult", "dry_run", "train"),
            training_plan: ("TrainingPlan",),
        }
        globals().update({n: getattr(home, n) for home, names in homes.items() for n in names})
        return globals()[name]


def __dir__() -> list[str]:
    return __all__
