"""Images and a custom convolutional network, with and without a graph over the images."""

import numpy as np
from sklearn.base import clone
from torch import Tensor, nn

import ngm
from ngm.datasets import few_labels, load


class Convolutional(nn.Module):
    """Two convolutions and a hidden layer for 1 x 8 x 8 images; what goes into the last layer is h."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(32 * 4 * 4, 64),
            nn.ReLU(),
        )
        self.output = nn.Linear(64, out_features)

    def forward(self, images: Tensor) -> Tensor:
        """(b, 1, 8, 8) -> (b, out_features)."""
        logits: Tensor = self.output(self.features(images))
        return logits


digits = load("digits")
pixels = np.asarray(digits.x)  # (n, 64)
images, new = (pixels[rows].reshape(-1, 1, 8, 8) for rows in (digits.train, digits.test))
graph = ngm.knn_graph(pixels[digits.train], k=5)  # any graph over the images will do: here their pixels alike
y = few_labels(digits.y[digits.train], 2, seed=0)  # two labels a class
found: dict[str, list[float]] = {"without graph": [], "with graph": []}
for seed in range(2):
    network = ngm.NGMClassifier(network=Convolutional, recipe="paper", seed=seed)
    plain = clone(network).set_params(epochs=225).fit(images, y)  # 225 steps
    model = clone(network).set_params(epochs=25).fit(images, y, graph=graph)  # 25 times nine
    for name, fitted in zip(found, (plain, model), strict=True):
        found[name].append(fitted.score(new, digits.y[digits.test]))
for name, scores in found.items():
    print(f"{name:13} {np.mean(scores):.3f} (2 seeds: {', '.join(f'{score:.3f}' for score in scores)})")
