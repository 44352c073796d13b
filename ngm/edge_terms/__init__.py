"""The edge terms of Eq. 3 for one batch: weighted distances by kind of edge, and what negative pairs lack in distance.

`plain` has them in torch, for any distance, device and precision. `fused` has the same sums and gradients of the
distances between hidden vectors on the CPU in one compiled pass over the edges, at a fraction of the time.
"""

from ngm.edge_terms.fused import edge_terms
from ngm.edge_terms.plain import WeightedPairs, plain_edge_terms

__all__ = ["WeightedPairs", "edge_terms", "plain_edge_terms"]
