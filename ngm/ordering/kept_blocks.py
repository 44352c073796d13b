"""The cut of a large graph, kept in its folder: computed once, a memory map from then on.

The file is `batches/KEY.npy` in the graph folder: the numbers of the edges block by block, and then the size of each
block. KEY is a digest of the edges, the number of nodes and how they are cut, so that a graph that has changed never
gets the cut of another. A folder keeps the few that were used last.
"""

from __future__ import annotations

import hashlib
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from ngm.io.files import DAMAGED, DiskFullError, file_written_whole, remove_all_leftovers
from ngm.io.graph_folder import load_array
from ngm.io.locks import FolderInUseError, folder_lock
from ngm.io.scratch import reserve
from ngm.ordering.blocks import EdgeBlocks
from ngm.ordering.out_of_core import PART_EDGES, EdgeSource, edge_blocks_out_of_core, order_type

FOLDER = "batches"
VERSION = 1  # of the way in which edges are cut
MAX_FILES = 4
_WAIT = 0.5  # seconds between two looks at what another process is computing


def kept_edge_blocks(
    source: EdgeSource, num_nodes: int, block: int, count: int, folder: Path | None = None
) -> EdgeBlocks:
    """As `edge_blocks_out_of_core`, read from the graph folder where it is kept there, and else kept there.

    Args:
        source: The edges.
        num_nodes: Number of nodes.
        block: The most edges of a block.
        count: Number of blocks.
        folder: The graph folder. Where it is None, is gone or cannot be written to, the cut is in memory.
    """
    if folder is None or not folder.is_dir():
        return edge_blocks_out_of_core(source, num_nodes, block, count)
    file = folder / FOLDER / f"{_key(source, num_nodes, block, count)}.npy"
    while True:
        found = _read(file, len(source), count)
        if found is not None:
            with suppress(OSError):
                file.touch()  # used last
            return found
        try:
            with folder_lock(file.parent, create=True):
                if not file.exists() or _read(file, len(source), count) is None:
                    _write(file, source, num_nodes, block, count)
        except FolderInUseError:  # most likely for the same cut
            time.sleep(_WAIT)
        except (PermissionError, DiskFullError):
            return edge_blocks_out_of_core(source, num_nodes, block, count)


def _key(source: EdgeSource, num_nodes: int, block: int, count: int) -> str:
    hasher = hashlib.sha256(f"{VERSION} {PART_EDGES} {num_nodes} {len(source)} {block} {count};".encode())
    for _, ends in source.chunks():
        hasher.update(np.ascontiguousarray(ends).reshape(-1).view(np.uint8).data)
    return hasher.hexdigest()[:32]


def _read(file: Path, num_edges: int, count: int) -> EdgeBlocks | None:
    """None where there is no such file, or one that is damaged."""
    try:
        found = load_array(file, "r")
    except DAMAGED:
        return None
    if found.shape != (num_edges + count,) or found.dtype != order_type(num_edges):
        return None
    start = np.concatenate([[0], np.cumsum(found[num_edges:], dtype=np.int64)])
    return EdgeBlocks(np.asarray(found[:num_edges]), start) if start[-1] == num_edges else None


def _write(file: Path, source: EdgeSource, num_nodes: int, block: int, count: int) -> None:
    m = len(source)
    remove_all_leftovers(file.parent)
    with file_written_whole(file) as part:
        whole = np.lib.format.open_memmap(part, "w+", order_type(m), (m + count,))
        with part.open("r+b") as opened:
            reserve(opened.fileno(), part.stat().st_size)
        cut = edge_blocks_out_of_core(source, num_nodes, block, count, whole[:m], file.parent)
        whole[m:] = np.diff(cut.start)
        whole.flush()
    files = sorted(file.parent.glob("*.npy"), key=lambda kept: kept.stat().st_mtime)
    for old in files[:-MAX_FILES]:
        old.unlink(missing_ok=True)
