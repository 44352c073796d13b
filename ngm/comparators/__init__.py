"""Methods to compare with, each with the same `fit(x, y, graph=)`."""
