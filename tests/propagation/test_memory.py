"""Label propagation and `diagnose` on a graph folder take memory for nodes and classes, not for edges."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ngm import Graph

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/status says how much memory is anonymous")

_PROGRAM = """
import json, sys, threading
import numpy as np
import ngm

def anonymous():
    lines = open("/proc/self/status", encoding="utf-8").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) * 1024

few = ngm.Graph.from_edges([[0, 1], [1, 2], [2, 3]])
ngm.graph.LARGE_EDGES = -1
ngm.LabelPropagation().fit(None, [0, -1, -1, 1], graph=few)  # loads compiled loops, or compiles them
ngm.diagnose(few, [0, -1, -1, 1])
ngm.graph.LARGE_EDGES = int(sys.argv[2])
graph = ngm.Graph.open(sys.argv[1])
y = np.where(np.arange(len(graph)) < 200, np.arange(len(graph)) % 2, -1)
before, over, peak = anonymous(), threading.Event(), 0

def look():
    global peak
    while not over.wait(0.002):
        peak = max(peak, anonymous() - before)

thread = threading.Thread(target=look)
thread.start()
model = ngm.LabelPropagation(tolerance=1e-2).fit(None, y, graph=graph)
found = ngm.diagnose(graph, y)
over.set()
thread.join()
print(json.dumps({"bytes_an_edge": peak / graph.num_edges, "kinds": [found.ll, found.lu, found.uu]}))
"""


def test_edges_of_a_graph_folder_take_a_fraction_of_a_matrix_of_them(tmp_path: Path) -> None:
    n, degree = 20_000, 60  # so that edges are many and nodes are few
    step = np.random.default_rng(0).permuted(np.tile(np.arange(1, 200), (n, 1)), axis=1)[:, :degree]
    source = np.repeat(np.arange(n), degree)
    target = source + step.ravel()
    inside = target < n
    Graph.from_edges(np.stack([source, target], axis=1)[inside], num_nodes=n).save(tmp_path / "graph")
    rows, matrix = (
        json.loads(
            subprocess.run(
                [sys.executable, "-c", _PROGRAM, str(tmp_path / "graph"), str(size)],
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            ).stdout
        )
        for size in (1_000, 10**9)
    )
    assert rows["kinds"] == matrix["kinds"]
    assert rows["bytes_an_edge"] < 30 < matrix["bytes_an_edge"]  # blocks and parts of a million are some of the 30
