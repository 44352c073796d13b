"""Nearest neighbours by this library: `python ours_neighbors.py VECTORS LIBRARY THREADS`; see neighbor_libraries.py."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import torch
from peer_worker import peak_mib, serve

from ngm.build import nearest_neighbors, neighbor_graph
from ngm.build.neighbors import EXACT_UP_TO

K = 5


def settings_of(name: str, rows: int) -> list[dict[str, Any]]:
    """The default, and a higher recall where it is approximate."""
    if name == "ngm exact":
        return [{"search": "exact"}]
    return [{}] if rows <= EXACT_UP_TO else [{}, {"recall": 0.985}, {"recall": 0.99}]


def main() -> None:
    """The whole search is the request `build`, from vectors to a graph; `ngm exact` stops at the neighbours."""
    x, name, threads = np.load(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    torch.set_num_threads(threads)
    nearest_neighbors(x[:20_000], K, search="exact")  # compiles
    nearest_neighbors(x[:20_000], K, search="approximate", recall=0.999)
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

    serve(
        {
            "settings": lambda: {"settings": [[s, [{}]] for s in settings_of(name, len(x))]},
            "build": build,
            "search": search,
        }
    )


if __name__ == "__main__":
    main()
