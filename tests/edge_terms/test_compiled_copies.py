"""Compiled edge terms give the same bits in the process that compiles them and in those that read them from disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import hashlib
import numpy as np
from ngm.edge_terms import kernels

rng, found = np.random.default_rng(0), np.empty(64, dtype=np.float32)
h, norms = rng.normal(size=(40, 37)).astype(np.float32), np.empty(40, dtype=np.float32)
ends, negatives, of = rng.integers(40, size=(60, 2)), rng.integers(40, size=(4, 2)), rng.integers(60, size=4)
pairs = ends, rng.random(60, dtype=np.float32), rng.integers(3, size=60), negatives, of, (1.0, 0.5, 0.2), 0.1, 9.0
for metric in kernels.METRICS.values():
    terms, gradient = np.empty(4, dtype=np.float32), np.zeros_like(h)
    kernels.sum_terms(metric, h, norms, *pairs, found, terms)
    kernels.add_gradients(metric, h, norms, *pairs, found, np.ones(4, dtype=np.float32), gradient)
    print(metric, *(hashlib.sha256(array.tobytes()).hexdigest() for array in (found, terms, gradient)))
"""


def run(cache: Path) -> str:
    """What the program prints in a process of its own, which keeps what it compiles in a folder."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", PROGRAM]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout


def test_what_is_read_from_disk_sums_in_the_same_order_as_what_was_just_compiled(tmp_path: Path) -> None:
    compiled = run(tmp_path)
    assert any(tmp_path.rglob("*.nbc"))
    assert run(tmp_path) == compiled
    assert len(compiled.splitlines()) == 4
