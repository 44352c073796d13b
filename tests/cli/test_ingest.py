"""`ngm ingest`, and what reading a graph from tables refuses: each error word for word, and nothing left behind."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from ngm import Graph
from ngm.cli import ingest as command
from ngm.cli import main
from ngm.io.graph_data import open_graph, read_graph
from ngm.io.tables import ingest

NODES = "id,topic,size\na,x,1\nb,,2\nc,y,3\nd,y,4\nbroken\n"
EDGES = "from\tto\tstrength\na\tb\t0.5\nb\ta\t0.7\nc\tc\t1\nc\ta\t-1\nd\tq\t1\nd\t\t1\nc\td\tx\nc\td\t2\n"


@pytest.fixture
def ngm(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    """Runs `ngm ingest` with these words in this process; gives what is on standard output, and nothing else is."""
    monkeypatch.setattr(command, "out", Console(width=200))

    def run(words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["ngm", "ingest", *words.split()])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert (ended.value.code, said.err) == (0, "")
        return said.out

    return run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nodes.csv").write_text(NODES, encoding="utf-8")
    (tmp_path / "edges.tsv").write_text(EDGES, encoding="utf-8")
    return tmp_path


# The command


def test_the_command_shows_what_came_in_and_what_became_of_it(folder: Path, ngm: Callable[[str], str]) -> None:
    said = ngm("--nodes nodes.csv --edges edges.tsv --weight strength --dangling drop -o deep/graph")
    shown = re.sub(r" +", " ", said.replace("│", ""))
    for line in (
        "Graph(4 nodes, 2 undirected edges)",
        " nodes 4 ",
        " edges 2 undirected ",
        " rows of edges 8 ",
        " columns source from (guessed), target to (guessed), weight strength, id id (guessed), label topic (guessed) ",
        " duplicates merged 1 (weight: the largest) ",
        " self loops dropped 1 ",
        " dangling ends 1 edges dropped to 1 ids that are not among the nodes: q ",
        " bad rows 3: 'c, a, -1' (weight is below 0); 'd, , 1' (no target); 'c, d, x' (weight is no finite number) ",
        " bad rows of nodes 1: line 6: 'broken' (fewer than 3 fields) ",
        " labels y 2, x 1, none 1 ",
        "Graph folder: deep/graph (open it: ngm.open_graph('deep/graph'))",
    ):
        assert line in shown
    data = open_graph(folder / "deep" / "graph")
    assert data.graph.edges.tolist() == [[0, 1], [2, 3]]
    assert data.ids.tolist() == ["a", "b", "c", "d"]


def test_json_is_alone_on_standard_output_and_holds_every_count(folder: Path, ngm: Callable[[str], str]) -> None:
    (folder / "edges.txt").write_text("b;a;1\na;b;2\n", encoding="utf-8")
    options = "--directed --merge sum --delimiter ; --no-header --memory-limit 500MB --json"
    said = json.loads(ngm(f"--edges edges.txt -o g {options}"))
    expected = {"folder": "g", "directed": True, "nodes": 2, "edges": 2, "edge_rows": 2, "merge": "sum"}
    assert {key: said[key] for key in expected} == expected
    assert said["columns"] == {"source": "column0", "target": "column1", "weight": "column2", "id": None, "label": None}
    assert said["header"] is False
    assert said["seconds"] > 0
    assert Graph.open(folder / "g").weight.tolist() == [2.0, 1.0]


@pytest.mark.parametrize("tab", ["tab", "\\t"])
def test_a_tab_may_be_spelled_out_and_nodes_be_added(tab: str, folder: Path, ngm: Callable[[str], str]) -> None:
    said = ngm(f"--delimiter {tab} --nodes nodes.csv --edges edges.tsv --dangling add -o graph")
    assert "5 (1 of them added, since only edges have them)" in said
    assert open_graph(folder / "graph").ids.tolist() == ["a", "b", "c", "d", "q"]


def test_help_has_an_example(ngm: Callable[[str], str]) -> None:
    assert "Example:" in ngm("--help")


# A full disk


FULL = (
    "the disk is full: writing {place} needs more space, and the partial file was removed; free some, or write to "
    "another disk"
)
ON_A_SMALL_DISK = """
import subprocess, sys
from pathlib import Path
import torch
from ngm import Graph
from ngm.io.graph_data import open_graph, read_graph, save_graph

disk = Path(sys.argv[1])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], check=True)
read_graph({"u": ["a"], "v": ["b"]}, folder=disk / "graph")
many = "SELECT hash(i) % 30000 AS src, hash(i + 1000000) % 30000 AS dst FROM range({}) t(i)"
for rows, limit in ((100_000, None), (900_000, "20MB")):  # full while writing the graph; while spilling
    try:
        read_graph(many.format(rows), folder=disk / "graph", memory_limit=limit)
    except OSError as error:
        print(error)
    print(sorted(p.name for p in disk.iterdir()), open_graph(disk / "graph").ids.tolist())
large = Graph.from_edges(torch.arange(120_000).reshape(-1, 2))
for write in (lambda: large.save(disk / "graph"), lambda: save_graph(disk / "graph", large)):
    try:
        write()
    except OSError as error:
        print(error)
    print(sorted(p.name for p in disk.iterdir()), open_graph(disk / "graph").ids.tolist())
"""


def test_a_full_disk_is_one_clear_line_and_leaves_the_old_graph(tmp_path: Path) -> None:
    alone = ["unshare", "--mount"]  # the small disk is seen by this process only, and gone with it
    if shutil.which("unshare") is None or subprocess.run([*alone, "true"], capture_output=True).returncode:
        pytest.skip("a small disk can be mounted by root on Linux only")
    done = subprocess.run(
        [*alone, sys.executable, "-c", ON_A_SMALL_DISK, str(tmp_path)],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    if "mount:" in done.stderr:
        pytest.skip("a small disk can be mounted by root on Linux only")
    assert done.stderr == ""
    after = "['graph'] ['a', 'b']"
    full = FULL.format(place=tmp_path / "graph")
    assert done.stdout.splitlines() == [full, after] * 4
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fills_up_at_the_last_file_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ingest, "write_tables", full)
    with pytest.raises(OSError, match=rf"\A{re.escape(FULL.format(place=tmp_path / 'graph'))}\Z"):
        read_graph({"u": ["a"], "v": ["b"]}, folder=tmp_path / "graph")
    assert list(tmp_path.iterdir()) == []


def test_other_failures_of_the_disk_are_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(ingest, "write_tables", broken)
    with pytest.raises(OSError, match="Input/output error"):
        read_graph({"u": ["a"], "v": ["b"]}, folder=tmp_path / "graph")
