"""Neural Graph Machines: train any PyTorch network with few labels by using a graph over the examples."""

from ngm.build import KnowledgeGraph, knn_graph, knowledge_graph, shared_graph, sparse_graph, text_graph
from ngm.diagnosis import Diagnosis, diagnose
from ngm.edge_batch import EdgeBatch, EdgeKind
from ngm.graph import Graph
from ngm.methods.classifier import NGMClassifier
from ngm.methods.co_training import CoTraining
from ngm.methods.propagation import LabelPropagation
from ngm.methods.regressor import NGMRegressor
from ngm.methods.saving import load
from ngm.methods.self_training import SelfTraining
from ngm.methods.validation import LabeledKFold
from ngm.objective import Cost, NGMLoss, Regularizer
from ngm.report import write_report
from ngm.sampling import EdgeLoader
from ngm.store import GraphData, open_graph, read_graph, save_graph
from ngm.tables import Table, read_table

__all__ = [
    "CoTraining",
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
    "Regularizer",
    "SelfTraining",
    "Table",
    "diagnose",
    "knn_graph",
    "knowledge_graph",
    "load",
    "open_graph",
    "read_graph",
    "read_table",
    "save_graph",
    "shared_graph",
    "sparse_graph",
    "text_graph",
    "write_report",
]
