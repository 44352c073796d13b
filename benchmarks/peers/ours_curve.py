"""Validation accuracy over seconds of this library's `fit`: `python ours_curve.py DATA THREADS RECIPE`."""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import scipy.sparse as sp
import torch
from peer_data import read
from peer_worker import serve

from ngm import Graph, NGMClassifier
from ngm.networks import FFNN


def main() -> None:
    problem, recipe = read(sys.argv[1]), sys.argv[3]
    torch.set_num_threads(int(sys.argv[2]))
    graph = Graph.from_edges(problem.edges, num_nodes=len(problem.labeled))
    x, nodes = sp.csr_matrix(problem.x), problem.validation

    def run(seed: int, epochs: int | None = None) -> dict[str, Any]:
        warnings.simplefilter("ignore")
        curve: list[list[float]] = []
        validation = (x[nodes], problem.truth[nodes])
        if recipe == "paper":
            network = FFNN(input_scaling="unit_rows")
            model = NGMClassifier(recipe="paper", network=network, validation=validation, epochs=epochs, seed=seed)
        else:
            model = NGMClassifier(validation=validation, epochs=epochs, seed=seed)
        started = time.perf_counter()

        def note(record: dict[str, float]) -> None:
            curve.append([time.perf_counter() - started, record["validation_accuracy"]])

        model.fit(x, problem.y, graph=graph, on_epoch=note)
        return {"curve": curve, "seconds": time.perf_counter() - started}

    serve({"run": run})


if __name__ == "__main__":
    main()
