"""What alpha and scaling do on PubMed: the table of docs/alphas.md, accuracy on validation nodes only."""

from __future__ import annotations

import statistics
import time
import warnings

import bench

from ngm import NGMClassifier, Optimizer
from ngm.collapse import CollapseWarning
from ngm.datasets import load
from ngm.experiments.citations.protocol import inductive

SEEDS = 3
SETTINGS: dict[str, dict[str, object]] = {
    "all 0": {"alpha_ll": 0.0, "alpha_lu": 0.0, "alpha_uu": 0.0, "epochs": 300},
    "LL = LU = 0.2, UU = 0, sum": {"alpha_uu": 0.0, "scaling": "sum", "epochs": 300},
    "all 0.2, mean": {"epochs": 40},
    "all 0.2, mean, labels on edges": {"epochs": 40, "sampling": "edges"},
    "all 0.2, sum": {"scaling": "sum", "epochs": 40},
    "all 0.002, sum": {"alpha_ll": 0.002, "alpha_lu": 0.002, "alpha_uu": 0.002, "scaling": "sum", "epochs": 40},
    "all 0, weight decay": {
        "alpha_ll": 0.0,
        "alpha_lu": 0.0,
        "alpha_uu": 0.0,
        "epochs": 300,
        "optimizer": Optimizer(weight_decay=5e-3),
    },
    "all 0.2, mean, weight decay": {"epochs": 40, "optimizer": Optimizer(weight_decay=5e-3)},
    "js, all 1, mean, weight decay": {
        "alpha_ll": 1.0,
        "alpha_lu": 1.0,
        "alpha_uu": 1.0,
        "distance": "js",
        "epochs": 40,
        "optimizer": Optimizer(weight_decay=5e-3),
    },
}


def main() -> None:
    options = bench.arguments(__doc__)
    data = load("pubmed")
    graph, y = inductive(data)
    seconds, scores = {}, {}
    for name, settings in SETTINGS.items():
        started = time.perf_counter()
        found, first, collapsed = [], [], 0
        for seed in range(SEEDS):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", CollapseWarning)
                model = NGMClassifier(recipe="paper", negatives=0, seed=seed, validation=data.validation)
                model.set_params(graph_screen=False, **settings)
                model.fit(data.x, y, graph=graph)
            collapsed += any(issubclass(w.category, CollapseWarning) for w in caught)
            accuracies = [epoch["validation_accuracy"] for epoch in model.history_.epochs]
            found.append(accuracies[model.history_.best_epoch])
            first.append(accuracies[0])
        seconds[name] = (time.perf_counter() - started) / SEEDS
        scores[name] = {
            "best": round(statistics.fmean(found), 4),
            "std": round(statistics.stdev(found), 4),
            "after_first_epoch": round(statistics.fmean(first), 4),
            "collapsed": f"{collapsed} of {SEEDS}",
        }
    bench.report("alphas", {}, seconds, options, validation_accuracy=scores)


if __name__ == "__main__":
    main()
