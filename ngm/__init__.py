"""Neural Graph Machines: train any PyTorch network with few labels by using a graph over the examples.

Names are imported when they are first used, so that `import ngm` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module, util
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ngm.build import KnowledgeGraph, knn_graph, knowledge_graph, shared_graph, sparse_graph, text_graph
    from ngm.collapse import CollapseWarning
    from ngm.diagnosis.diagnose import diagnose
    from ngm.diagnosis.part_graph import diagnose_parts
    from ngm.diagnosis.records import Diagnosis
    from ngm.edge_batch import EdgeBatch, EdgeKind
    from ngm.estimators.classifier import NGMClassifier
    from ngm.estimators.co_training import CoTraining
    from ngm.estimators.control import without_graph
    from ngm.estimators.loading import load
    from ngm.estimators.regressor import NGMRegressor
    from ngm.estimators.self_training import SelfTraining
    from ngm.estimators.validation import LabeledKFold
    from ngm.graph import Graph
    from ngm.io.graph_data import GraphData, open_graph, read_graph, save_graph
    from ngm.io.tables import Table, read_table
    from ngm.objective import Cost, NGMLoss, Regularizer
    from ngm.partition.local_part import Partition, open_partition
    from ngm.partition.part_propagation import propagate_parts
    from ngm.partition.writing import partition_graph
    from ngm.propagation.label_propagation import LabelPropagation
    from ngm.recipes.optimizer import Optimizer
    from ngm.report import write_report
    from ngm.sampling import EdgeLoader
    from ngm.training import train

    __version__: str

__all__ = [
    "CoTraining",
    "CollapseWarning",
    "Cost",
    "Diagnosis",
    "EdgeBatch",
    "EdgeKind",
    "EdgeLoader",
    "Graph",
    "GraphData",
    "KnowledgeGraph",
    "LabelPropagation",
    "LabeledKFold",
    "NGMClassifier",
    "NGMLoss",
    "NGMRegressor",
    "Optimizer",
    "Partition",
    "Regularizer",
    "SelfTraining",
    "Table",
    "__version__",
    "diagnose",
    "diagnose_parts",
    "knn_graph",
    "knowledge_graph",
    "load",
    "open_graph",
    "open_partition",
    "partition_graph",
    "propagate_parts",
    "read_graph",
    "read_table",
    "save_graph",
    "shared_graph",
    "sparse_graph",
    "text_graph",
    "train",
    "without_graph",
    "write_report",
]

_HOMES = {  # the same as above, for Python itself
    "CoTraining": "ngm.estimators.co_training",
    "CollapseWarning": "ngm.collapse",
    "Cost": "ngm.objective",
    "Diagnosis": "ngm.diagnosis.records",
    "EdgeBatch": "ngm.edge_batch",
    "EdgeKind": "ngm.edge_batch",
    "EdgeLoader": "ngm.sampling",
    "Graph": "ngm.graph",
    "GraphData": "ngm.io.graph_data",
    "KnowledgeGraph": "ngm.build",
    "LabelPropagation": "ngm.propagation.label_propagation",
    "LabeledKFold": "ngm.estimators.validation",
    "NGMClassifier": "ngm.estimators.classifier",
    "NGMLoss": "ngm.objective",
    "NGMRegressor": "ngm.estimators.regressor",
    "Optimizer": "ngm.recipes.optimizer",
    "Partition": "ngm.partition.local_part",
    "Regularizer": "ngm.objective",
    "SelfTraining": "ngm.estimators.self_training",
    "Table": "ngm.io.tables",
    "diagnose": "ngm.diagnosis.diagnose",
    "diagnose_parts": "ngm.diagnosis.part_graph",
    "knn_graph": "ngm.build",
    "knowledge_graph": "ngm.build",
    "load": "ngm.estimators.loading",
    "open_graph": "ngm.io.graph_data",
    "open_partition": "ngm.partition.local_part",
    "partition_graph": "ngm.partition.writing",
    "propagate_parts": "ngm.partition.part_propagation",
    "read_graph": "ngm.io.graph_data",
    "read_table": "ngm.io.tables",
    "save_graph": "ngm.io.graph_data",
    "shared_graph": "ngm.build",
    "sparse_graph": "ngm.build",
    "text_graph": "ngm.build",
    "train": "ngm.training",
    "without_graph": "ngm.estimators.control",
    "write_report": "ngm.report",
}


if not TYPE_CHECKING:  # type checkers see the imports above, and so a name that is not there

    def __getattr__(name: str) -> object:
        """A public name or a module of the package, imported when it is first asked for."""
        if name in _HOMES:
            found = getattr(import_module(_HOMES[name]), name)
        elif name == "__version__":
            from importlib.metadata import version

            found = version("neural-graph-machines")
        elif not name.startswith("_") and util.find_spec(f"ngm.{name}") is not None:
            found = import_module(f"ngm.{name}")
        else:
            raise AttributeError(f"module 'ngm' has no attribute {name!r}")
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return __all__
