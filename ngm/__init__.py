"""Neural Graph Machines: train any PyTorch network with few labels by using a graph over the examples."""

from ngm.build.knn import knn_graph
from ngm.graph import Graph
from ngm.methods.classifier import NGMClassifier
from ngm.methods.co_training import CoTraining
from ngm.methods.propagation import LabelPropagation
from ngm.methods.regressor import NGMRegressor
from ngm.methods.saving import load
from ngm.methods.self_training import SelfTraining
from ngm.methods.validation import LabeledKFold
from ngm.objective import Cost, NGMLoss, Regularizer
from ngm.sampling import EdgeBatch, EdgeKind, EdgeLoader

__all__ = [
    "CoTraining",
    "Cost",
    "EdgeBatch",
    "EdgeKind",
    "EdgeLoader",
    "Graph",
    "LabelPropagation",
    "LabeledKFold",
    "NGMClassifier",
    "NGMLoss",
    "NGMRegressor",
    "Regularizer",
    "SelfTraining",
    "knn_graph",
    "load",
]
