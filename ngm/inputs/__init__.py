"""Inputs made from the graph (the paper's section 3.2): each has a row per node.

`adjacency_rows`, `sampled_rows` and `identities` are sparse rows over the nodes; `clusters`, `node2vec`, `deepwalk` and
`netmf` are narrow; `neighborhoods` and `random_walks` are node ids. `concat` puts any of them beside the features one
has, `links` and `from_links` make them for nodes that are not in the graph.
"""

from ngm.inputs.adjacency import adjacency_rows, concat, neighborhoods, sampled_rows
from ngm.inputs.clusters import clusters
from ngm.inputs.identities import identities
from ngm.inputs.netmf import netmf
from ngm.inputs.new_nodes import from_links, links
from ngm.inputs.walks import deepwalk, node2vec, random_walks

__all__ = [
    "adjacency_rows",
    "clusters",
    "concat",
    "deepwalk",
    "from_links",
    "identities",
    "links",
    "neighborhoods",
    "netmf",
    "node2vec",
    "random_walks",
    "sampled_rows",
]
