"""Several processes that train as one: rank and world from the environment, gradients summed over ranks.

Alone, everything here does nothing. Started by torchrun or Slurm (or inside a process group that something else,
such as Ray Train, has made), every rank takes its part of each batch, and the sum of the ranks' gradients is the
gradient of the whole batch. Decisions are those of rank 0. A rank that fails says why in the store through which the
processes found each other, and leaves; the others raise `RankError` with that reason instead of waiting for it.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from ngm._memory_order import ordered_like

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

Value = TypeVar("Value", int, float, str)
_PATIENCE = 1800.0  # seconds to wait for the other processes to start
_FAREWELL = 5.0  # seconds that the process with the store stays for the others to read why it failed
_LOST = (
    "the connection to another process was lost: it has died or cannot be reached; "
    "to go on from the last checkpoint, start all processes again with resume"
)


class RankError(RuntimeError):
    """Another process has failed or died, so this one cannot go on; says which and why, where that is known."""


def rank_and_world() -> tuple[int, int]:
    """(this process' number, number of processes): of the process group if there is one, else (0, 1)."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


@contextmanager
def process_group() -> Iterator[tuple[int, int]]:
    """Joins the process group that torchrun or Slurm describe in the environment, and leaves it at the end.

    The ranks leave together: what rank 0 writes inside is there for all of them after. Inside a process group that is
    there already, that one is used, and is left as it is.

    Yields:
        (rank, world); (0, 1) where the process is alone.
    """
    rank, world = _rank_and_world_of_environment()
    joined = dist.is_available() and dist.is_initialized()
    if world == 1 or joined or "MASTER_ADDR" not in os.environ:
        yield rank_and_world()
        return
    group = _join(rank, world)
    try:
        yield rank, world
        _collective(dist.barrier)  # nobody leaves while another still connects, or waits for what rank 0 writes
    except BaseException as error:
        group.fail(error)
        raise
    dist.destroy_process_group()


def _rank_and_world_of_environment() -> tuple[int, int]:
    names = ("RANK", "WORLD_SIZE") if "WORLD_SIZE" in os.environ else ("SLURM_PROCID", "SLURM_NTASKS")
    values = os.environ.get(names[0], "0"), os.environ.get(names[1], "1")
    environment = f"{names[0]} is {values[0]!r} and {names[1]} is {values[1]!r} in the environment"
    try:
        rank, world = int(values[0]), int(values[1])
    except ValueError:
        raise ValueError(f"{environment}; both must be whole numbers") from None
    if world < 1 or not 0 <= rank < world:
        raise ValueError(f"{environment}; the ranks of n processes are 0 to n - 1")
    return rank, world


@dataclass(frozen=True)
class _Group:
    """A process group that was made here.

    Args:
        store: Shared by its ranks, and by nobody else.
        rank: Of this process.
        world: Number of processes.
        serves: Whether the store is in this process, and ends with it.
    """

    store: Store
    rank: int
    world: int
    serves: bool

    def fail(self, error: BaseException) -> None:
        """Leaves the group because of an error, which the others are told unless they know."""
        try:
            if not isinstance(error, RankError):
                self.store.compare_set("failed", "", f"rank {self.rank} of {self.world} stopped: {_error_text(error)}")
            self.store.add("left", 1)
        except RuntimeError:  # the process with the store has died: nobody is left to tell
            pass
        dist.destroy_process_group()  # closes the connections, which ends what the others wait for
        until = time.monotonic() + (_FAREWELL if self.serves else 0)
        while time.monotonic() < until and self.store.add("left", 0) < self.world:
            time.sleep(0.02)

    def why(self) -> str:
        """Why another rank has left."""
        try:
            return self.store.get("failed").decode() if self.store.check(["failed"]) else _LOST
        except RuntimeError:
            return _LOST


_group: _Group | None = None  # the last one that was joined here


def _join(rank: int, world: int) -> _Group:
    """Makes a process group with keys of its own in the store: those of the groups before are still there."""
    global _group
    store, numbers = _store(rank, world, os.environ["MASTER_ADDR"], os.environ.get("MASTER_PORT", ""))
    own_store = dist.PrefixStore(str(next(numbers)), store)  # type: ignore[attr-defined]
    agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == str(True)
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    try:
        dist.init_process_group(backend, store=own_store, rank=rank, world_size=world)
    except dist.DistError as error:
        raise RankError(f"rank {rank} of {world} could not reach the others: {error}") from error
    _group = _Group(own_store, rank, world, serves=rank == 0 and not agent)
    return _group


@cache
def _store(rank: int, world: int, address: str, port: str) -> tuple[Store, Iterator[int]]:
    """The store through which the processes find each other, for as long as this one lives; numbers for its groups."""
    store, _, _ = next(dist.rendezvous("env://", rank, world))  # type: ignore[attr-defined]
    shared = dist.PrefixStore("ngm", store)  # type: ignore[attr-defined]
    name = _welcome(shared, world) if rank == 0 else _greet(shared, rank)
    return dist.PrefixStore(name, shared), iter(range(2**62))  # type: ignore[attr-defined]


def _welcome(store: Store, world: int) -> str:
    """Gives the others a new name for this start of the ranks, and waits until all have it.

    Where torchrun has started the ranks again, its store still has the keys of the ranks that were there before, and
    how often it did may not be the same on every host. So the others say hello by a new name of their own each, and the
    new name of all is told to those; whoever was there before does not answer any more.
    """
    name, missing = uuid.uuid4().hex, set(range(1, world))
    until = time.monotonic() + _PATIENCE
    while missing:
        for rank in sorted(missing):
            if store.check([f"{name}/ready/{rank}"]):
                missing.remove(rank)
            elif store.check([f"hello/{rank}"]):
                store.set(f"welcome/{store.get(f'hello/{rank}').decode()}", name)
        _wait(until, f"no sign of rank {', '.join(map(str, sorted(missing)))} of {world}")
    return name


def _greet(store: Store, rank: int) -> str:
    """The name that rank 0 has for this start of the ranks."""
    own, until = uuid.uuid4().hex, time.monotonic() + _PATIENCE
    store.set(f"hello/{rank}", own)
    while not store.check([f"welcome/{own}"]):
        _wait(until, "no sign of rank 0")
    name = store.get(f"welcome/{own}").decode()
    store.set(f"{name}/ready/{rank}", "")
    return name


def _wait(until: float, missing: str) -> None:
    if time.monotonic() > until:
        raise RankError(f"{missing} after {_PATIENCE / 60:.0f} minutes; start all ranks, and check the missing ones")
    time.sleep(0.01)


def _error_text(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _collective(call: Callable[[], object]) -> None:
    """Runs what all ranks do together; where another has left, says why."""
    try:
        call()
    except RuntimeError as error:
        raise RankError(_LOST if _group is None else _group.why()) from error


def sum_gradients(parameters: Iterable[nn.Parameter], flags: Tensor | None = None) -> Tensor:
    """Adds up the gradients of all ranks, in place; a rank whose part of the batch was empty adds nothing.

    Args:
        parameters: Of the network.
        flags: (k,) numbers to add up on the way, at no cost: what a rank has to tell the others.

    Returns:
        (k,) the flags summed over the ranks.
    """
    flags = torch.zeros(0) if flags is None else flags
    if rank_and_world()[1] == 1:
        return flags
    trainable = [p for p in parameters if p.requires_grad]
    for p in trainable:
        if p.grad is None:
            p.grad = torch.zeros_like(p)
    flat = torch.cat([p.grad.reshape(-1) for p in trainable if p.grad is not None])
    flat = torch.cat([flat, flags.to(flat)])
    _collective(lambda: dist.all_reduce(flat))
    start = 0
    for p in trainable:
        p.grad = ordered_like(flat[start : start + p.numel()].view(p.shape), p)
        start += p.numel()
    return flat[start:]


def from_first(values: Tensor) -> Tensor:
    """What the first rank has, on every rank: for decisions that all must share."""
    return _from(values, 0)


def _from(values: Tensor, rank: int) -> Tensor:
    if rank_and_world()[1] > 1:
        values = values.detach().clone().contiguous()
        _collective(lambda: dist.broadcast(values, rank))
    return values


def bytes_from(content: bytes, rank: int = 0) -> bytes:
    """What one rank has, on every rank; the others' content is ignored."""
    here, world = rank_and_world()
    if world == 1:
        return content
    length = int(_from(torch.tensor([len(content)]), rank))
    mine = torch.zeros(length, dtype=torch.uint8)
    if here == rank and content:
        mine = torch.frombuffer(bytearray(content), dtype=torch.uint8)
    return _from(mine, rank).numpy().tobytes() if length else b""


def text_of_any(text: str) -> str:
    """The text of the lowest rank that has one, on every rank; empty where none has."""
    rank, world = rank_and_world()
    if world == 1:
        return text
    lowest = torch.tensor([rank if text else world])
    _collective(lambda: dist.all_reduce(lowest, dist.ReduceOp.MIN))
    return bytes_from(text.encode(), int(lowest)).decode() if int(lowest) < world else ""


def sum_over_ranks(values: Tensor) -> Tensor:
    """The element-wise sum of `values` over all ranks."""
    if rank_and_world()[1] > 1:
        values = values.clone()
        _collective(lambda: dist.all_reduce(values))
    return values


def max_over_ranks(values: Tensor) -> Tensor:
    """The element-wise maximum of `values` over all ranks."""
    if rank_and_world()[1] > 1:
        values = values.clone()
        _collective(lambda: dist.all_reduce(values, dist.ReduceOp.MAX))
    return values


def gather_rows(values: Tensor) -> Tensor:
    """The rows that the ranks have, those of rank 0 first, on every rank; ranks may have different numbers of rows."""
    _, world = rank_and_world()
    if world == 1:
        return values
    counts = [torch.zeros(1, dtype=torch.int64) for _ in range(world)]
    _collective(lambda: dist.all_gather(counts, torch.tensor([len(values)])))
    most = max(int(count) for count in counts)
    kind = torch.uint8 if values.dtype == torch.bool else values.dtype
    padded = torch.zeros((most, *values.shape[1:]), dtype=kind)
    padded[: len(values)] = values.to(kind)
    rows = [torch.empty_like(padded) for _ in range(world)]
    _collective(lambda: dist.all_gather(rows, padded))
    return torch.cat([part[: int(count)] for part, count in zip(rows, counts, strict=True)]).to(values.dtype)


def exchange_rows(values: Tensor, send: Sequence[int], receive: Sequence[int]) -> Tensor:
    """Sends some rows to each rank, and returns what each rank sent here, that of rank 0 first.

    Args:
        values: (n, ...) rows, those for rank 0 first.
        send: How many go to each rank; they add up to n.
        receive: How many come from each rank.
    """
    if rank_and_world()[1] == 1:
        return values
    received = values.new_empty((sum(receive), *values.shape[1:]))
    rows = values.contiguous()
    _collective(lambda: dist.all_to_all_single(received, rows, list(receive), list(send)))
    return received


def rows_to_first(values: Tensor) -> Tensor:
    """The rows that the ranks have, those of rank 0 first, on rank 0; none on the others."""
    rank, world = rank_and_world()
    counts = gather_rows(torch.tensor([len(values)])).tolist()
    nothing = [0] * world
    return exchange_rows(values, [len(values), *nothing[1:]], counts if rank == 0 else nothing)


def json_from_first(values: Mapping[str, Value]) -> Mapping[str, Value]:
    """What the first rank has, on every rank: numbers and strings by their names."""
    if rank_and_world()[1] == 1:
        return values
    shared: dict[str, Value] = json.loads(bytes_from(json.dumps(dict(values), default=float).encode()))
    return shared


def check_same(facts: Mapping[str, int]) -> None:
    """Refuses to go on where a rank's facts are not those of rank 0."""
    first = json_from_first(facts)
    for name, value in facts.items():
        if first[name] != value:
            differing = f"{value:,} on rank {rank_and_world()[0]}, {first[name]:,} on rank 0"
            raise ValueError(f"{name} differ: {differing}; give all ranks the same data and settings")


@contextmanager
def file_from_first(file: Path) -> Iterator[Path | None]:
    """A file that the first rank has, for every rank to read; None where it has none.

    Args:
        file: Read by the first rank; others get a copy that is there for the time being, as their host may not have it.
    """
    rank, world = rank_and_world()
    exists = rank == 0 and file.exists()
    content = bytes_from(file.read_bytes() if exists and world > 1 else b"")
    if rank == 0 or not content:
        yield file if exists else None
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder) / file.name
        copy.write_bytes(content)
        yield copy


def share_weights(network: nn.Module) -> None:
    """Gives every rank the weights and buffers that the first rank has."""
    if rank_and_world()[1] > 1:
        network.load_state_dict({name: from_first(t) for name, t in network.state_dict().items()})


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """Where there are several ranks, Ctrl-C is noted rather than raised inside, so that all can stop at the same step.

    A second Ctrl-C is raised at once. In threads other than the main one, which get no signals, nothing changes.

    Yields:
        Whether there was a Ctrl-C; who asks has to see to it.
    """
    if rank_and_world()[1] == 1 or threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    noted = [False]

    def note(number: int, frame: object) -> None:
        if noted[0]:
            raise KeyboardInterrupt
        noted[0] = True

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: noted[0]
    finally:
        signal.signal(signal.SIGINT, before)
