"""Edges cut into batches that are neighbourhoods: few nodes with all or most of their edges.

A batch costs one run of the network per distinct node, so what counts is the number of distinct ends in each block of
edges, summed over blocks: a vertex cut of the graph, with blocks of bounded size. docs/architecture.md has what was
tried, and the figures.
"""

from ngm.ordering.blocks import EdgeBlocks, edge_blocks, num_blocks
from ngm.ordering.kept_blocks import kept_edge_blocks
from ngm.ordering.out_of_core import epoch_order

__all__ = ["EdgeBlocks", "edge_blocks", "epoch_order", "kept_edge_blocks", "num_blocks"]
