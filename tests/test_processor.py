"""Tests of ngm._processor."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
import torch

from ngm import NGMClassifier, _processor
from ngm.build.exact import fast_dtypes
from ngm.build.space import make_space

NEEDS_FORK = pytest.mark.skipif(not hasattr(os, "fork"), reason="no os.fork on this system")


@NEEDS_FORK
def test_a_child_that_is_killed_by_a_signal_does_not_survive() -> None:
    assert not _processor.survives(lambda: os.kill(os.getpid(), signal.SIGILL))


@NEEDS_FORK
def test_a_child_that_raises_or_hangs_does_not_survive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_processor, "SECONDS", 0.2)
    assert not _processor.survives(lambda: 1 / 0)
    assert not _processor.survives(signal.pause)


@NEEDS_FORK
def test_a_child_that_multiplies_survives_though_the_parent_has_threads() -> None:
    torch.randn(200, 200) @ torch.randn(200, 200)
    assert _processor.survives(lambda: torch.randn(200, 200) @ torch.randn(200, 200))


@NEEDS_FORK
def test_a_product_is_tried_where_torch_cannot_say_what_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    monkeypatch.setattr(_processor, "_multiply", lambda dtype: os.kill(os.getpid(), signal.SIGILL))
    assert not _processor.multiplies.__wrapped__(torch.bfloat16)


def test_types_that_do_not_work_are_not_searched_in(monkeypatch: pytest.MonkeyPatch) -> None:
    space = make_space(torch.randn(900, 33).numpy(), 6, "cosine")
    monkeypatch.setattr("ngm.build.exact.multiplies", lambda dtype: False)
    assert fast_dtypes(space) == [torch.float32]


def test_training_in_bfloat16_is_refused_where_it_would_end_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_processor, "multiplies", lambda dtype: False)
    with pytest.raises(ValueError, match=r"announces AMX and refuses .* ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16"):
        NGMClassifier(dtype="bfloat16").fit([[0.0], [1.0]], [0, 1])


def test_a_graph_is_built_on_this_machine_as_it_is() -> None:
    """In a process of its own without the setting that `conftest` may have made."""
    plain = {name: value for name, value in os.environ.items() if name != "ONEDNN_MAX_CPU_ISA"}
    code = "import numpy, ngm; print(ngm.knn_graph(numpy.random.default_rng(0).random((900, 33)), k=3))"
    done = subprocess.run([sys.executable, "-c", code], env=plain, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout[:16]) == (0, "Graph(900 nodes,")
