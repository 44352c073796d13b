"""What one of several processes does on its parts: trains and propagates; its memory and its bytes are counted."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from generated_graph import PeakMemory, memory
from sklearn.exceptions import ConvergenceWarning

STEPS = 5  # of label propagation


@contextmanager
def counted_bytes() -> Iterator[dict[str, int]]:
    """Counts the bytes that this process hands over to others in the block, by kind: gradients and rows."""
    counts = {"reduced": 0, "exchanged": 0}
    reduce, exchange = dist.all_reduce, dist.all_to_all_single

    def counting_reduce(tensor: torch.Tensor, *args: Any, **more: Any) -> Any:
        counts["reduced"] += tensor.numel() * tensor.element_size()
        return reduce(tensor, *args, **more)

    def counting_exchange(out: torch.Tensor, rows: torch.Tensor, *args: Any, **more: Any) -> Any:
        counts["exchanged"] += rows.numel() * rows.element_size()
        return exchange(out, rows, *args, **more)

    vars(dist).update(all_reduce=counting_reduce, all_to_all_single=counting_exchange)
    try:
        yield counts
    finally:
        vars(dist).update(all_reduce=reduce, all_to_all_single=exchange)


def run(folder: Path, epochs: int, batch_size: int) -> dict[str, Any]:
    """Trains on this process' parts and spreads labels over them.

    Args:
        folder: The partition.
        epochs: Of training; the first is not timed, as it orders the edges.
        batch_size: Edges in a batch, over all processes.
    """
    from ngm import LabelPropagation, NGMClassifier, open_partition, propagate_parts
    from ngm.distributed import process_group
    from ngm.training import Epoch

    torch.set_num_threads(1)
    before, epoch_seconds = memory()["anonymous"], []

    def on_epoch(epoch: Epoch) -> None:
        epoch_seconds.append(float(epoch["seconds"]))

    with process_group() as (rank, world):
        model = NGMClassifier(recipe="paper", hidden=(250, 100), epochs=epochs, batch_size=batch_size, validation=None)
        with counted_bytes() as training, PeakMemory() as trained:
            model.fit_parts(folder, on_epoch)
        started = time.perf_counter()
        settings = LabelPropagation(solver="jacobi", tolerance=1e-12, max_steps=STEPS)
        with counted_bytes() as spreading, PeakMemory() as spread, warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a few steps are enough to count
            found = propagate_parts(folder, settings)
        seconds = time.perf_counter() - started
        part = open_partition(folder).local(rank, world)
        return {
            "own": part.num_own,
            "border": len(part.nodes) - part.num_own,
            "edges": part.graph.num_edges,
            "steps": epochs * model.steps_per_epoch_,
            "seconds_an_epoch": min(epoch_seconds[1:] or epoch_seconds),
            "training_bytes": trained.anonymous - before,
            "gradient_bytes_a_step": training["reduced"] / (epochs * model.steps_per_epoch_),
            "propagation_bytes": spread.anonymous - before,
            "propagation_seconds_a_step": seconds / STEPS,
            "exchanged_bytes_a_step": spreading["exchanged"] / STEPS,
            "classes": len(found.classes),
        }
