"""Prediction by a fitted estimator against its bare module, called on the same rows in batches of the same size.

Dense rows of random numbers, 200,000 x 500 by default, an FFNN 250-100 that was fitted for an epoch on a few of them.
Jobs take turns, and the best of several is taken. The bare module gets a tensor, the estimator an array; what it does
beside the module is checks of x, batches, and the softmax.
"""

from __future__ import annotations

import bench
import numpy as np
import torch

from ngm import NGMClassifier
from ngm.estimators.batch_prediction import PREDICTED_AT_ONCE
from ngm.networks import FFNN

CLASSES = 10
FITTED_ROWS = 1000


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=500)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    x = rng.standard_normal((options.rows, options.columns), dtype=np.float32)
    y = rng.integers(CLASSES, size=FITTED_ROWS)
    ratios: dict[str, float] = {}
    seconds: dict[str, float] = {}
    for scaling in ("none", "standardize"):
        network = FFNN(hidden=(250, 100), input_scaling=scaling)
        estimator = NGMClassifier(network=network, recipe="paper", epochs=1, seed=0)
        estimator.fit(x[:FITTED_ROWS], y)
        jobs = (_Estimator(estimator, x), _Bare(estimator, x))
        ours, bare = bench.best_of(options.repeats, *jobs)
        ratios[f"{options.rows:,} dense rows, input_scaling {scaling}"] = ours / bare
        seconds |= {f"estimator_{scaling}": ours, f"module_{scaling}": bare}
    bench.report("prediction", ratios, seconds, options, batch_rows=PREDICTED_AT_ONCE, columns=options.columns)


class _Estimator:
    """`predict_proba`."""

    def __init__(self, estimator: NGMClassifier, x: np.ndarray) -> None:
        self.estimator, self.x = estimator, x

    def __call__(self) -> None:
        self.estimator.predict_proba(self.x)


class _Bare:
    """The network alone."""

    def __init__(self, estimator: NGMClassifier, x: np.ndarray) -> None:
        self.network, self.x = estimator.network_.eval(), torch.from_numpy(x)

    def __call__(self) -> None:
        with torch.inference_mode():
            torch.cat([self.network(part) for part in torch.split(self.x, PREDICTED_AT_ONCE)])


if __name__ == "__main__":
    main()
