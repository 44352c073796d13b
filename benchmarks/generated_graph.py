"""A graph of any size written to a folder piece by piece, so that it never has to fit into memory."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

_NODES = 200_000  # whose edges are made at once
WITHIN = 0.8  # of the edges join nodes of one class


def write_graph(folder: Path, num_nodes: int, degree: int, classes: int, seed: int = 0) -> int:
    """Writes a graph folder: node i is of class i % classes and has about `degree` edges to later nodes.

    Args:
        folder: A new one.
        num_nodes: n.
        degree: Edges that are drawn for each node; duplicates and those that lead past the last node are dropped.
        classes: Number of classes.
        seed: Same seed, same graph.

    Returns:
        The number of edges.
    """
    folder.mkdir(parents=True)
    rng, total = np.random.default_rng(seed), 0
    parts = [folder / "edges.part", folder / "weight.part"]
    reach = num_nodes // 20  # of an edge, so that few lead past the last node
    with parts[0].open("wb") as edges, parts[1].open("wb") as weights:
        for start in range(0, num_nodes, _NODES):
            count = min(_NODES, num_nodes - start)
            source = np.repeat(np.arange(start, start + count), degree)
            step = rng.integers(1, max(reach, 2), size=len(source))
            step = np.where(rng.random(len(source)) < WITHIN, -(-step // classes) * classes, step)
            target = source + step
            inside = target < num_nodes
            key = np.unique(source[inside] * num_nodes + target[inside])
            edges.write(np.stack([key // num_nodes, key % num_nodes], axis=1).tobytes())
            weights.write(np.ones(len(key), dtype=np.float32).tobytes())
            total += len(key)
    _with_header(parts[0], folder / "edges.npy", np.dtype(np.int64), (total, 2))
    _with_header(parts[1], folder / "weight.npy", np.dtype(np.float32), (total,))
    facts = {"format": "ngm-graph", "version": 1, "num_nodes": num_nodes, "num_edges": total, "directed": False}
    (folder / "graph.json").write_text(json.dumps(facts) + "\n", encoding="utf-8")
    return total


def _with_header(part: Path, file: Path, dtype: np.dtype[np.generic], shape: tuple[int, ...]) -> None:
    """Copies raw numbers into an .npy file, piece by piece."""
    made = np.lib.format.open_memmap(file, "w+", dtype, shape)
    flat, at = made.reshape(-1), 0
    with part.open("rb") as raw:
        while piece := raw.read(2**26):
            numbers = np.frombuffer(piece, dtype=dtype)
            flat[at : at + len(numbers)] = numbers
            at += len(numbers)
    made.flush()
    part.unlink()


def write_rows(file: Path, num_nodes: int, width: int, classes: int, seed: int = 0) -> None:
    """Writes (n, width) float32 rows: class means under noise."""
    rng = np.random.default_rng(seed)
    means = (0.25 * rng.standard_normal((classes, width))).astype(np.float32)
    rows = np.lib.format.open_memmap(file, "w+", np.float32, (num_nodes, width))
    for start in range(0, num_nodes, _NODES):
        nodes = np.arange(start, min(start + _NODES, num_nodes))
        rows[nodes] = means[nodes % classes] + rng.standard_normal((len(nodes), width), dtype=np.float32)
    rows.flush()


def few_labels(num_nodes: int, classes: int, share: float, seed: int = 0) -> NDArray[np.int64]:
    """(n,) classes of a share of the nodes, -1 elsewhere."""
    nodes = np.arange(num_nodes)
    return np.where(np.random.default_rng(seed).random(num_nodes) < share, nodes % classes, -1)


def compile_cuts() -> None:
    """Loads the compiled loops that cut edges into batches, or compiles them, which takes 100 MB."""
    from ngm.ordering import edge_blocks, out_of_core

    class Few:
        edges = np.stack([np.repeat(np.arange(3_000), 6), np.arange(18_000) * 7 % 3_000 + 3_000], axis=1)

        def __len__(self) -> int:
            return len(self.edges)

        def chunks(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
            yield 0, self.edges

        def ends_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
            return self.edges[rows]

    few = Few()
    edge_blocks(few.edges, 6_000, 0, 64)
    at_once, out_of_core.PART_EDGES = out_of_core.PART_EDGES, 5_000
    out_of_core.edge_blocks_out_of_core(few, 6_000, 64, 400)
    out_of_core.PART_EDGES = at_once


def memory() -> dict[str, int]:
    """Bytes of this process: `anonymous` belong to it alone, `mapped` are pages of files, which can be given back."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    sizes = {
        name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines) if "kB" in rest
    }
    return {"anonymous": sizes["RssAnon"], "mapped": sizes["RssFile"] + sizes["RssShmem"], "peak": sizes["VmHWM"]}


class PeakMemory:
    """Looks at the memory of this process while the block lasts: the most `anonymous` bytes, and the most in all."""

    def __init__(self, every: float = 0.02) -> None:
        self.every, self.anonymous, self.peak = every, 0, 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        while True:
            now = memory()
            self.anonymous = max(self.anonymous, now["anonymous"])
            self.peak = max(self.peak, now["anonymous"] + now["mapped"])
            if self._over.wait(self.every):
                return

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
