"""A table of nodes, a table of edges with what can be wrong in one, and how two graphs are compared."""

from __future__ import annotations

import torch

from ngm import Graph

NODES = {"id": ["a", "b", "c", "d"], "topic": ["x", None, "y", "x"]}
EDGES = "u,v,w\na,b,1\nb,a,3\nc,c,1\na,q,1\nr,q,1\n,b,1\na,,1\na,c,\nb,c,word\nb,d,-1\nb,d,inf\nc,d,0\nbroken\n"


def assert_same(graph: Graph, other: Graph) -> None:
    assert (graph.num_nodes, graph.directed) == (other.num_nodes, other.directed)
    assert (graph.self_loops, graph.duplicates) == (other.self_loops, other.duplicates)
    assert torch.equal(graph.edges, other.edges)
    torch.testing.assert_close(graph.weight, other.weight, rtol=1e-6, atol=0)
