"""Graphs made from data."""

from ngm.build.knn import knn_graph, neighbor_graph
from ngm.build.knowledge import KnowledgeGraph, knowledge_graph, shared_graph
from ngm.build.neighbors import Neighbors, nearest_neighbors
from ngm.build.sparse import sparse_graph
from ngm.build.summary import Summary, summarize
from ngm.build.text import text_graph

__all__ = [
    "KnowledgeGraph",
    "Neighbors",
    "Summary",
    "knn_graph",
    "knowledge_graph",
    "nearest_neighbors",
    "neighbor_graph",
    "shared_graph",
    "sparse_graph",
    "summarize",
    "text_graph",
]
