"""`ngm build`: from a table or matrix to a graph folder."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from ngm import Graph, knn_graph
from ngm.build import text as text_module
from ngm.build.neighbors import Neighbors, nearest_neighbors
from ngm.build.space import Metric
from ngm.build.sparse import sparse_graph
from ngm.build.text import text_graph
from ngm.io.graph_data import open_graph
from tests.benchmark_modules import Forked
from tests.build_tables import BODIES, write_tables
from tests.commands import Run, runner
from tests.ranks import run_command, run_ranks


def weights(graph: Graph) -> dict[tuple[int, int], float]:
    return {(u, v): w for (u, v), w in zip(graph.edges.tolist(), graph.weight.tolist(), strict=True)}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `ngm build` in a folder of its own with a small table, and gives (exit code, output, errors)."""
    monkeypatch.chdir(tmp_path)
    write_tables()
    return runner(monkeypatch, capsys, "build")


def test_texts_become_a_graph_folder_that_keeps_the_table(run: Run) -> None:
    code, out, err = run("texts.csv", "--text", "body", "-k", "2", "--id", "id", "--label", "topic", "-o", "graph")
    assert (code, err) == (0, "")
    for part in (
        "nodes",
        "edges",
        "components",
        "without edges",
        "seconds",
        "edges at a node",
        "next: ngm check graph",
    ):
        assert part in out
    data = open_graph("graph")
    assert weights(data.graph) == weights(text_graph(BODIES, 2))
    assert data.ids.tolist() == list("abcdef")
    assert data.y is not None
    assert data.y.tolist() == ["pets"] * 3 + [None] * 3
    assert data.columns == ("id", "body", "topic", "size", "age")
    assert data.column("body").tolist() == BODIES


def test_json_is_the_summary_and_nothing_else(run: Run) -> None:
    code, out, err = run("texts.csv", "--text", "body", "-k", "2", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    graph = text_graph(BODIES, 2)
    assert (found["nodes"], found["edges"], found["recall"]) == (6, graph.num_edges, 1.0)
    assert sum(bar["nodes"] for bar in found["degrees"]) == 6
    assert found["graph"] == "graph"
    assert found["notes"] == []
    assert weights(Graph.open("graph")) == weights(graph)


def test_word_vectors_and_the_share_of_words_they_know(run: Run) -> None:
    pets = [BODIES[row] for row in (0, 1, 3, 4, 5)]
    pd.DataFrame({"body": pets}).to_csv("pets.csv", index=False)
    for idf in ([], ["--idf"]):
        code, out, _ = run("pets.csv", "--text", "body", "--vectors", "glove.npz", *idf, "-k", "1", "--json")
        assert code == 0
        assert weights(Graph.open("graph")) == weights(text_graph(pets, 1, vectors="glove.npz", idf=bool(idf)))
        assert json.loads(out)["coverage"] == 6 / 25
    assert "words known 24.0 %" in " ".join(
        run("pets.csv", "--text", "body", "--vectors", "glove.npz", "-k", "1")[1].split()
    )


def test_several_columns_of_text_are_joined(run: Run) -> None:
    assert run("texts.csv", "--text", "topic,body", "-k", "2")[0] == 0
    joined = [f"{topic} {body}".strip() for topic, body in zip(["pets"] * 3 + [""] * 3, BODIES, strict=True)]
    assert weights(Graph.open("graph")) == weights(text_graph(joined, 2))


def test_columns_of_numbers_are_vectors(run: Run) -> None:
    assert run("texts.csv", "--columns", "size, age", "--metric", "euclidean", "-k", "2", "--max-degree", "2")[0] == 0
    x = np.stack([np.arange(6.0) ** 2, [1, 2, 1, 9, 8, 9]], axis=1)
    assert weights(Graph.open("graph")) == weights(knn_graph(x, 2, "euclidean", max_degree=2))


def test_a_column_of_lists_is_vectors_too(run: Run) -> None:
    x = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)
    Path("rows.jsonl").write_text("\n".join(json.dumps({"vector": row}) for row in x.tolist()), encoding="utf-8")
    assert run("rows.jsonl", "--columns", "vector", "-k", "3", "--weight", "binary", "--mutual")[0] == 0
    assert weights(Graph.open("graph")) == weights(knn_graph(x, 3, weight="binary", join="mutual"))


def test_matrices_are_taken_dense_and_sparse(run: Run) -> None:
    x = np.abs(np.random.default_rng(0).normal(size=(20, 8))).astype(np.float32)
    sparse = sp.csr_matrix(np.where(x > 0.8, x, 0) + np.eye(20, 8) + 0.1 * (np.arange(8) == 0))
    np.save("x.npy", x)
    np.savez("x.npz", x=x, other=np.arange(3))
    sp.save_npz("sparse.npz", sparse)
    for name, expected in (
        ("x.npy", knn_graph(x, 3)),
        ("x.npz", knn_graph(x, 3)),
        ("sparse.npz", sparse_graph(sparse, 3)),
    ):
        assert run(name, "-k", "3")[0] == 0
        assert weights(Graph.open("graph")) == weights(expected)
    assert open_graph("graph").ids.tolist() == list(range(20))


def test_of_an_approximate_search_it_says_what_was_measured(run: Run) -> None:
    np.save("x.npy", np.random.default_rng(0).normal(size=(30, 4)))
    approximate = ("x.npy", "-k", "2", "--search", "approximate", "--recall", "0.9", "--seed", "3")
    told = " ".join(run(*approximate)[1].split())
    assert "neighbours found 100.0 % (recall on 30 rows searched exactly)" in told
    found = json.loads(run(*approximate, "--json")[1])
    assert (found["recall"], found["sampled"]) == (1.0, 30)
    assert "neighbours found all seconds" in " ".join(run("x.npy", "-k", "2")[1].split())
    assert json.loads(run("x.npy", "-k", "2", "--json")[1])["sampled"] == 0


def test_the_search_is_told_its_recall_and_seed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[object, object]] = []

    def noted(x: np.ndarray, k: int, metric: Metric, *, recall: float, seed: int, **others: object) -> Neighbors:
        given.append((recall, seed))
        return nearest_neighbors(x, k, metric)

    monkeypatch.setattr(text_module, "nearest_neighbors", noted)
    np.save("x.npy", np.random.default_rng(0).normal(size=(30, 4)))
    for options in ([], ["--recall", "0.9", "--seed", "3"]):
        assert run("x.npy", "-k", "2", *options)[0] == 0
    assert given == [(0.98, 0), (0.9, 3)]


def test_texts_without_words_are_noted_by_row(run: Run) -> None:
    bodies = ["cat", "", "dog cat", "unheard", "stocks", None]
    pd.DataFrame({"id": range(6), "body": bodies}).to_csv("gaps.csv", index=False)
    code, out, err = run("gaps.csv", "--text", "body", "--vectors", "glove.npz", "-k", "1")
    assert code == 0
    assert err == (
        "note: 2 of 6 texts left without edges: empty (rows 1, 5) "
        "note: 1 of 6 texts left without edges: no known word (row 3)"
    )
    assert "without edges 3" in " ".join(out.split())
    _, out, err = run("gaps.csv", "--text", "body", "--vectors", "glove.npz", "-k", "1", "--json")
    assert (len(json.loads(out)["notes"]), err) == (2, "")


def test_a_folder_with_other_files_is_left_alone(run: Run) -> None:
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("keep", encoding="utf-8")
    code, out, err = run("texts.csv", "--text", "body", "-k", "2", "-o", "mine")
    assert (code, out) == (2, "")
    assert err == "error: mine exists and has no graph.json; name a new or empty folder"
    assert [path.name for path in Path("mine").iterdir()] == ["notes.txt"]


def test_the_command_runs_on_its_own_and_shows_bars_of_text(tmp_path: Path) -> None:
    duckdb.from_df(pd.DataFrame({"body": BODIES})).write_parquet(str(tmp_path / "texts.parquet"))
    code = "import sys; from ngm.cli import main; sys.argv[0] = 'ngm'; main()"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, "build", "texts.parquet", "--text", "body", "-k", "2"],
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^ +2 to 3 +\d  █+", done.stdout, re.MULTILINE), done.stdout
    assert "\x1b[" not in done.stdout  # colours only on a terminal


def test_help_has_an_example(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    assert "Example:" in out
    assert "--json" in out


def test_two_processes_write_the_graph_of_one_and_print_it_once(run: Run, tmp_path: Path, server: Forked) -> None:
    rng = np.random.default_rng(0)
    pd.DataFrame({"id": range(60), "a": rng.normal(size=60), "b": rng.normal(size=60)}).to_csv("rows.csv", index=False)
    words = [str(tmp_path / "rows.csv"), "--columns", "a,b", "-k", "3", "--id", "id", "--json", "-o"]
    alone = json.loads(run(*words, str(tmp_path / "alone"))[1])
    ended = run_ranks(server, run_command("build", *words, str(tmp_path / "together")), 2)
    assert ended.code == 0, ended.err
    together = json.loads(ended.out)
    assert {**together, "seconds": 0, "graph": ""} == {**alone, "seconds": 0, "graph": ""}
    for file in ("edges.npy", "weight.npy", "nodes.parquet"):
        assert (tmp_path / "together" / file).read_bytes() == (tmp_path / "alone" / file).read_bytes()
