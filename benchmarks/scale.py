"""A graph in parts on 1 and 2 processes of one thread each: memory, border, traffic, seconds an edge; how it is cut.

    python benchmarks/scale.py [--nodes 400000] [--degree 16] [--width 64] [--epochs 3] [--json] [--keep]
    python benchmarks/scale.py --page

A generated graph, one of half its degree and one of half its nodes are cut into two parts; every process trains on its
parts for some epochs, then spreads labels over them. From the three follow bytes an edge, a node and a process. Bytes
that are sent are counted where they are handed over. Cuts by streaming and, where pymetis is installed, by METIS are
compared on the generated graph and, where it is on this machine, on PubMed. `--page` writes the figures of
docs/scale.md from the kept result, and measures nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib import util
from pathlib import Path
from typing import Any

import bench
import numpy as np
from generated_graph import PeakMemory, few_labels, memory, write_graph, write_rows
from scale_parts import rank_job
from scale_parts.page import markdown, with_block
from scipy.optimize import nnls

from ngm import Graph, open_graph, partition_graph
from ngm.choices import PartitionMethod
from ngm.datasets import available, load
from ngm.io.files import file_written_whole
from ngm.partition.assignment import assign_nodes
from ngm.partition.part_arrays import part_arrays

NAME, CLASSES = "scale", 10
PAGE = Path(__file__).parent.parent / "docs" / "scale.md"
CUTS = (2, 8, 32)  # parts


def write_parts(folder: Path, nodes: int, degree: int, width: int) -> float:
    """Writes a generated graph in two parts; bytes an edge that cutting it took."""
    write_graph(folder / "graph", nodes, degree, CLASSES)
    write_rows(folder / "x.npy", nodes, width, CLASSES)
    graph, x = open_graph(folder / "graph").graph, np.load(folder / "x.npy", mmap_mode="r")
    before = memory()["anonymous"]
    with PeakMemory() as peak:
        partition_graph(folder / "parts", graph, x, few_labels(nodes, CLASSES, 0.01), parts=2)
    return (peak.anonymous - before) / graph.num_edges


def on_ranks(folder: Path, world: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """What each of so many processes has measured."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(world), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, *sys.argv[1:], "--job", str(folder)]
    ranks = [
        subprocess.Popen(command, env={**os.environ, **shared, "RANK": str(rank)}, stdout=subprocess.PIPE, text=True)
        for rank in range(world)
    ]
    outputs = [rank.communicate()[0] for rank in ranks]
    if any(rank.returncode for rank in ranks):
        raise SystemExit(f"a process failed: exit codes {[rank.returncode for rank in ranks]}")
    return [json.loads(output.splitlines()[-1]) for output in outputs]


def constants_of(*graphs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Bytes an edge, a node and a process, solved from the mean process of each graph; the rest from the first one."""
    ranks = graphs[0]

    def mean(key: str, some: Sequence[Mapping[str, Any]] = ranks) -> float:
        return float(np.mean([rank[key] for rank in some]))

    counts = [[mean("edges", some), mean("own", some) + mean("border", some), 1] for some in graphs]
    solved, _ = nnls(np.array(counts), np.array([mean("training_bytes", some) for some in graphs]))
    own = sum(rank["own"] for rank in ranks)
    return {
        "ranks": list(ranks),
        "bytes_an_edge": float(solved[0]),
        "bytes_a_node": float(solved[1]),
        "process_bytes": float(solved[2]),
        "border_share": sum(rank["border"] for rank in ranks) / own,
        "seconds_an_edge": max(rank["seconds_an_epoch"] for rank in ranks) / mean("edges"),
        "gradient_bytes": mean("gradient_bytes_a_step"),
        "exchanged_bytes": mean("exchanged_bytes_a_step"),
    }


def cuts(graph: Graph) -> dict[str, list[dict[str, float]]]:
    """Cut and border by streaming, and by METIS where that is installed."""
    methods: list[PartitionMethod] = ["streaming"]
    if util.find_spec("pymetis") is not None:
        methods.append("metis")
    found: dict[str, list[dict[str, float]]] = {}
    for method in methods:
        for parts in CUTS:
            made = assign_nodes(graph, parts, method)
            border = sum(len(part.nodes) - part.num_own for part in part_arrays(graph, made))
            share = border / graph.num_nodes
            row = {"parts": parts, "cut": made.cut, "border_share": share, "balance": made.edge_balance}
            found.setdefault(method, []).append(row)
    return found


def pubmed() -> Graph | None:
    """The graph of PubMed; None where its files are not on this machine."""
    here = {record.name: record.where for record in available()}
    return None if here["pubmed"] == "not fetched" else load("pubmed").graph


def measure(options: argparse.Namespace) -> None:
    """Measures everything, keeps and prints it."""
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        n, degree = options.nodes, options.degree
        shapes = ((n, degree), (n, degree // 2), (n // 2, degree))
        folders = [Path(name) / f"{i}" for i in range(len(shapes))]
        cutting = [write_parts(folder, *shape, options.width) for folder, shape in zip(folders, shapes, strict=True)]
        measured = {world: [on_ranks(folder / "parts", world, options) for folder in folders] for world in (1, 2)}
        graphs = {"generated": Graph.open(folders[0] / "graph"), "PubMed": pubmed()}
        found = {graph: cuts(edges) for graph, edges in graphs.items() if edges is not None}
    rows = {str(world): constants_of(*ranks) for world, ranks in measured.items()}
    alone, two = rows["1"], rows["2"]
    constants = {key: two[key] for key in two if key != "ranks"}
    constants |= {"disk_bytes_an_edge": 20.0, "partition_bytes_an_edge": cutting[0]}
    constants["border_share"] = found["generated"]["streaming"][-1]["border_share"]  # of the most parts
    ratios = {
        "edges/s a process, 2 processes / 1": alone["seconds_an_edge"] / two["seconds_an_edge"],
        "bytes a process, 2 processes / 1": _peak(two["ranks"]) / _peak(alone["ranks"]),
    }
    for graph, by_method in found.items():
        if "metis" in by_method:
            for ours, theirs in zip(by_method["streaming"], by_method["metis"], strict=True):
                name = f"edges cut, {graph}, {ours['parts']:.0f} parts, streaming / METIS"
                ratios[name] = ours["cut"] / max(theirs["cut"], 1e-12)
    seconds = {
        f"{world} processes, an epoch": max(r["seconds_an_epoch"] for r in rows[world]["ranks"]) for world in rows
    }
    sizes = {"nodes": options.nodes, "degree": options.degree, "width": options.width}
    bench.report(NAME, ratios, seconds, options, rows=rows, cuts=found, constants=constants, sizes=sizes)


def _peak(ranks: Sequence[Mapping[str, Any]]) -> float:
    return float(max(rank["training_bytes"] for rank in ranks))


def write_page() -> None:
    """Makes the figures of docs/scale.md from the kept result."""
    result = bench.kept(NAME)
    if result is None:
        raise SystemExit(f"benchmarks/results/{NAME}.json is not there; run python benchmarks/scale.py --keep first")
    with file_written_whole(PAGE) as part:
        part.write_text(with_block(PAGE.read_text(encoding="utf-8"), markdown(result)), encoding="utf-8")


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("--nodes", type=int, default=400_000)
    parser.add_argument("--degree", type=int, default=16)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=8192)
    parser.add_argument("--folder", type=Path, help="for the graphs; else a temporary one")
    parser.add_argument("--page", action="store_true", help="write docs/scale.md from the kept result")
    parser.add_argument("--job", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.page:
        write_page()
    elif options.job:
        print(json.dumps(rank_job.run(options.job, options.epochs, options.batch_size)))
    else:
        measure(options)


if __name__ == "__main__":
    main()
