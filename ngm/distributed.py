"""Several processes that train as one: rank and world from the environment, gradients summed over ranks.

Alone, everything here does nothing. Started by torchrun or Slurm (or inside a process group that something else,
such as Ray Train, has made), every rank takes its part of each batch, and the sum of the ranks' gradients is the
gradient of the whole batch.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor, nn


def rank_and_world() -> tuple[int, int]:
    """(this process' number, number of processes): of the process group if there is one, else (0, 1)."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


@contextmanager
def process_group() -> Iterator[tuple[int, int]]:
    """Joins the process group that torchrun or Slurm describe in the environment, and leaves it at the end.

    Yields:
        (rank, world); (0, 1) where the process is alone.
    """
    rank = int(os.environ.get("RANK", os.environ.get("SLURM_PROCID", "0")))
    world = int(os.environ.get("WORLD_SIZE", os.environ.get("SLURM_NTASKS", "1")))
    joined = dist.is_available() and dist.is_initialized()
    if world == 1 or joined or "MASTER_ADDR" not in os.environ:
        yield rank_and_world()
        return
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo", rank=rank, world_size=world)
    try:
        yield rank, world
    finally:
        dist.destroy_process_group()


def sum_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Adds up the gradients of all ranks, in place; a rank whose part of the batch was empty adds nothing."""
    if rank_and_world()[1] == 1:
        return
    learned = [p for p in parameters if p.requires_grad]
    for p in learned:
        if p.grad is None:
            p.grad = torch.zeros_like(p)
    flat = torch.cat([p.grad.reshape(-1) for p in learned if p.grad is not None])
    dist.all_reduce(flat)
    start = 0
    for p in learned:
        p.grad = flat[start : start + p.numel()].view_as(p)
        start += p.numel()


def from_first(values: Tensor) -> Tensor:
    """What the first rank has, on every rank: for decisions that all must share."""
    if rank_and_world()[1] > 1:
        values = values.clone()
        dist.broadcast(values, 0)
    return values


def sum_over_ranks(values: Tensor) -> Tensor:
    """The element-wise sum of `values` over all ranks."""
    if rank_and_world()[1] > 1:
        values = values.clone()
        dist.all_reduce(values)
    return values
