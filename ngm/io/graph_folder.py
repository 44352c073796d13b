"""A graph folder on disk: `graph.json`, `edges.npy`, `weight.npy`, opened as memory maps."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Literal, TypedDict, cast

import numpy as np
import torch
from numpy.lib import format as npy
from numpy.typing import NDArray
from torch import Tensor

from ngm._arguments import reason
from ngm.io.files import DAMAGED, folder_written_whole

FORMAT = "ngm-graph"
VERSION = 1


class Header(TypedDict):
    """What `graph.json` says."""

    format: str
    version: int
    num_nodes: int
    num_edges: int
    directed: bool


def write(folder: Path, num_nodes: int, edges: Tensor, weight: Tensor, directed: bool) -> Path:
    """Writes the three files under a temporary name and renames the folder; an older one is replaced."""
    header = Header(format=FORMAT, version=VERSION, num_nodes=num_nodes, num_edges=len(edges), directed=directed)
    with folder_written_whole(folder, marker="graph.json") as part:
        save_array(part / "edges.npy", edges.numpy())
        save_array(part / "weight.npy", weight.numpy())
        (part / "graph.json").write_text(json.dumps(header, indent=2) + "\n", encoding="utf-8")
    return folder


def save_array(file: Path, array: NDArray[np.generic]) -> None:
    """Writes an .npy file, as `np.save` does, whose error does not say that the disk is full."""
    with file.open("wb") as opened:
        npy.write_array_header_1_0(opened, npy.header_data_from_array_1_0(np.ascontiguousarray(array)))
        opened.write(np.ascontiguousarray(array).data)


def load_array(file: Path, mmap_mode: Literal["r", "c"] | None = None) -> NDArray[np.generic]:
    """Reads an .npy file; where it is damaged, numpy raises one of `ngm.io.files.DAMAGED`."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # a header of another age is none of ours
        try:
            array = np.load(file, mmap_mode=mmap_mode, allow_pickle=False)
        except UserWarning as odd:
            raise ValueError(str(odd)) from None
    if not isinstance(array, np.ndarray):  # a zip file
        array.close()
        raise ValueError("it holds several arrays")
    return array


def read(folder: Path) -> tuple[Header, Tensor, Tensor]:
    """Opens a graph folder.

    Returns:
        (header, edges (m, 2) int64, weight (m,) float32); the arrays are memory maps, private to the reader.
    """
    try:
        header = json.loads((folder / "graph.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(f"{folder} is not a graph folder: it has no graph.json") from None
    except ValueError as error:
        raise ValueError(f"{folder / 'graph.json'} is damaged ({error}); save the graph again") from None
    if not isinstance(header, dict):
        raise ValueError(f"{folder / 'graph.json'} is damaged (it holds no table); save the graph again")
    if header.get("format") != FORMAT or header.get("version") != VERSION:
        raise ValueError(
            f"{folder / 'graph.json'} says format {header.get('format')!r} version {header.get('version')!r}; "
            f"this release reads {FORMAT!r} version {VERSION}"
        )
    missing = sorted(Header.__required_keys__ - set(header))
    if missing:
        raise ValueError(f"{folder / 'graph.json'} is damaged (it lacks {missing[0]!r}); save the graph again")
    for name, kind in (("num_nodes", int), ("num_edges", int), ("directed", bool)):
        if type(header[name]) is not kind or header[name] < 0:
            raise ValueError(f"{folder / 'graph.json'} is damaged ({name} is {header[name]!r}); save the graph again")
    edges = _mapped(folder / "edges.npy", (header["num_edges"], 2), np.dtype(np.int64))
    weight = _mapped(folder / "weight.npy", (header["num_edges"],), np.dtype(np.float32))
    return cast(Header, header), edges, weight


def _mapped(file: Path, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Tensor:
    try:
        # "c" is copy on write: torch wants a writable array, and what it writes must not reach the file
        array = load_array(file, "c" if shape[0] else None)
    except DAMAGED as error:
        raise ValueError(f"{file} cannot be read ({reason(error)}); save the graph again") from None
    if array.shape != shape or array.dtype != dtype:
        raise ValueError(
            f"{file} holds {array.dtype} {array.shape}, graph.json says {dtype} {shape}; save the graph again"
        )
    return torch.from_numpy(array)
