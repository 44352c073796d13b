"""Exports that need nothing but torch: the precision of a regressor, and which torch it takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ngm import NGMClassifier, NGMRegressor
from ngm.estimators import model_export

X = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)
VERSION = tuple(map(int, torch.__version__.split(".")[:2]))


@pytest.mark.skipif(model_export.LOWEST_TORCH > VERSION, reason=f"torch {torch.__version__} is too old to export")
def test_numbers_far_from_0_keep_their_differences_in_the_file(tmp_path: Path) -> None:
    seconds = 1.7e9 + 60 * X[:, 0].astype(np.float64)
    model = NGMRegressor(hidden=(16,), epochs=20).fit(X, seconds)
    file = model.export("torch", tmp_path / "model.pt2")
    found = torch.export.load(file).module()(torch.from_numpy(X))["prediction"][:, 0]
    np.testing.assert_allclose(found.numpy() - 1.7e9, model.predict(X) - 1.7e9, atol=1e-3)


def test_a_torch_that_is_too_old_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    model = NGMClassifier(hidden=(4,), epochs=1).fit(X, (X[:, 0] > 0).astype(int))
    monkeypatch.setattr(torch, "__version__", "2.8.1+cpu")
    with pytest.raises(
        ImportError, match=r"^export needs torch 2\.9 or later, this is 2\.8\.1\+cpu: pip install 'torch"
    ):
        model.export("torch")
