"""Graphs made from data."""

from ngm.build.knn import knn_graph

__all__ = ["knn_graph"]
