"""Nearest neighbours by this library: `python ours_neighbors.py VECTORS LIBRARY THREADS`; see neighbor_libraries.py."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import torch
from peer_worker import peak_mib, serve

from ngm.build import nearest_neighbors, neighbor_graph

K = 5
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "ngm knn_graph": [{"recall": recall} for recall in (0.98, 0.985, 0.99)],
    "ngm exact": [{"search": "exact"}],
}


def main() -> None:
    """The whole search is the request `build`, from vectors to a graph; `ngm exact` stops at the neighbours."""
    x, name, threads = np.load(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    torch.set_num_threads(threads)
    nearest_neighbors(x[:3_000], K, search="approximate")  # compiles
    kept: dict[str, torch.Tensor] = {}

    def build(settings: dict[str, Any]) -> dict[str, Any]:
        started = time.perf_counter()
        found = nearest_neighbors(x, K, **settings)
        if name == "ngm knn_graph":
            neighbor_graph(found)  # as `knn_graph` does, with the neighbours kept to be checked
        seconds = time.perf_counter() - started
        kept["found"] = found.neighbor
        return {"seconds": seconds}

    def search(settings: dict[str, Any], sample: list[int]) -> dict[str, Any]:
        return {"seconds": 0.0, "peak_mib": peak_mib(), "found": kept["found"][sample].tolist()}

    serve({"settings": lambda: {"settings": [[s, [{}]] for s in SETTINGS[name]]}, "build": build, "search": search})


if __name__ == "__main__":
    main()
