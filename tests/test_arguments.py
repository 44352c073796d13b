"""What functions are handed instead of numbers, arrays and paths is refused by name; benchmarks/fuzz.py found these."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch

import ngm
from ngm._arguments import as_array, as_numbers, as_path, flag, real_number, short_repr, whole_number
from ngm.io.node_records import read_node_records
from ngm.io.run_folder import Run
from ngm.text.thesaurus import Thesaurus
from ngm.text.word_vectors import WordVectors
from tests.runs_by_hand import by_hand, make_run

X = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
Y = [0, 1, 0, 1, -1, -1]
PATH = ngm.Graph.from_edges([[0, 1], [1, 2]], num_nodes=6)

REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: ngm.Graph.from_edges([["a", "b"]]), "edges is of shape (1, 2) and type <U1; give (m, 2)"),
    (lambda: ngm.Graph.from_edges([[0, 1], [1]]), "edges is not an array (setting an array element with a sequence"),
    (lambda: ngm.Graph.from_edges([[0, 1]], num_nodes=2.5), "num_nodes is 2.5; it must be a whole number"),
    (lambda: ngm.Graph.from_edges([[0, 1j]]), "edges is of shape (1, 2) and type complex128"),
    (lambda: ngm.Graph.from_edges(np.ma.masked_equal([[0, 1]], 0)), "edges has masked entries"),
    (lambda: ngm.Graph.from_scipy("word"), "adjacency is 'word'; give an (n, n) scipy sparse matrix"),
    (lambda: ngm.Graph.from_networkx(None), "graph is None; give a networkx Graph or DiGraph"),
    (lambda: ngm.Graph.from_networkx(nx.path_graph(3), weight=[]), "weight is []; give the name of an edge attribute"),
    (lambda: ngm.Graph.from_pyg(3), "data is 3; give a Data whose edge_index is a (2, m) tensor"),
    (lambda: ngm.Graph(3, None, torch.ones(0)), "edges is None; give a dense tensor, or use Graph.from_edges"),
    (lambda: PATH.merge(None), "cannot merge Graph(6 nodes, 2 undirected edges) with None; give another Graph"),
    (lambda: PATH.subgraph([None]), "nodes is of shape (1,) and type object; give (b,) node ids or a mask"),
    (lambda: PATH.save(3), "folder is 3; give a path"),
    (lambda: PATH.save("a\0b"), "folder is 'a\\x00b'; a path has no zero byte in it"),
    (lambda: ngm.EdgeLoader([[1.0]] * 6, Y, PATH), "x is a list, which has no rows by node ids"),
    (lambda: ngm.EdgeLoader(X, Y, "graph"), "graph is a str; make a Graph of it"),
    (lambda: ngm.EdgeLoader(X, Y, PATH, kinds=3), "kinds is 3; give a collection of EdgeKind, or one per graph"),
    (lambda: ngm.EdgeLoader(X, ["a"] * 6, PATH), "y is of shape (6,) and type <U1; give numbers"),
    (lambda: ngm.knn_graph(X, seed="x"), "seed is 'x'; it must be a whole number of at least 0"),
    (lambda: ngm.knn_graph(X, recall="x"), "recall is 'x'; it must lie between 0 and 1"),
    (lambda: ngm.knn_graph(X * 1e30), "row 0 of x is too long for torch.float32; scale x down"),
    (lambda: ngm.sparse_graph(sp.csr_array(X.astype(float) * 1e300)), "row 0 of x is too long for float64"),
    (lambda: ngm.text_graph(3), "texts is a int; give a list of texts, one per node"),
    (lambda: ngm.knowledge_graph(None), "triples is None; give a list of (head, relation, tail)"),
    (lambda: ngm.knowledge_graph([("a", "r", [])]), "triple 0 is ('a', 'r', []); give numbers or words"),
    (lambda: ngm.knowledge_graph([("a", "r", "b")], inverse=3), "inverse is 3; give a dict such as"),
    (lambda: ngm.diagnose(PATH, Y, seed=None), "seed is None; it must be a whole number of at least 0"),
    (lambda: ngm.diagnose(PATH, Y, X * 1e30), "and its rows are too long for float32; scale x down"),
    (lambda: ngm.LabelPropagation(prior="x").fit(None, Y, PATH), "prior holds <U1, not numbers"),
    (lambda: ngm.LabelPropagation().fit(None, 3, PATH), "y is 3; give a label per node, -1 where unlabelled"),
    (lambda: fit(pd.DataFrame(X, columns=["a", "a", "b"])), "x has 2 columns called 'a'; give each a different name"),
    (lambda: fit(torch.eye(6).to_sparse()), "x is a sparse tensor (torch.sparse_coo)"),
    (lambda: fit(X, y=[[0], [0, 1]]), "y is not an array"),
    (lambda: fit(X, y=np.array(["2020-01-01"] * 6, dtype="M8[D]")), "y is of type datetime64[D]; give classes"),
    (lambda: fit(X, y=[b"a", b"b"] * 3), "y is of type bytes; give classes as words or numbers"),
    (lambda: ngm.SelfTraining(small(), relabel=None).fit(X, Y, PATH), "relabel is None; it must be True or False"),
    (lambda: ngm.SelfTraining(small(folder="run", batch_size=b"1")).fit(X, Y, PATH), "batch_size is b'1'; it must be"),
    (lambda: fit(X, input_scaling="unit"), "input_scaling is 'unit' (did you mean 'unit_rows'?); choose from"),
    (lambda: fit(X, bfloat16=None), "bfloat16 is None; it must be True or False"),
    (lambda: fit(X, folder=b"run"), "folder is b'run'; give a path"),
    (lambda: fit(X, recipe=[]), "recipe is []; choose from auto, paper, strong"),
    (lambda: fit(X).predict({"a": X}), "x is {'a': array("),
    (lambda: ngm.NGMRegressor(epochs=1).fit(X, X[:, 0].astype(float) * 1e300), "whose square is beyond float64"),
    (lambda: ngm.CoTraining(small(), propagation=()).fit(X, Y, PATH), "propagation is (); give a LabelPropagation"),
    (lambda: ngm.read_table({"a": [[1], [1, 2]]}), "column 'a' is not an array"),
    (lambda: ngm.read_graph({"a": [1], "b": [2]}, memory_limit=3), "memory_limit is 3; give a text such as '4GB'"),
    (lambda: ngm.save_graph("out", PATH, counts={"a": {1}}), "counts cannot be written as JSON"),
    (lambda: WordVectors(None, np.ones((1, 2))), "words is None; give a list of strings"),
    (lambda: WordVectors(["a"], [[1.0]]), "vectors is of type list; give a numpy array of numbers"),
    (lambda: WordVectors.read(3), "the file of word vectors is 3; give a path"),
    (lambda: Thesaurus({3: ["a"]}), "3 cannot be found in a text; give single words in lower case"),
    (lambda: Thesaurus([]), "synonyms is []; give a dict of words"),
]  # fmt: skip


def small(**settings: object) -> ngm.NGMClassifier:
    return ngm.NGMClassifier(**{"hidden": (4,), "epochs": 1} | settings)


def fit(x: object, y: object = Y, **settings: object) -> ngm.NGMClassifier:
    return small(**settings).fit(x, y, PATH)


@pytest.mark.parametrize(("call", "text"), REFUSED, ids=[text[:40] for _, text in REFUSED])
def test_odd_arguments_are_refused_by_name(
    call: Callable[[], object], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=re.escape(text)):
        call()
    assert list(tmp_path.iterdir()) == []


def test_whole_numbers_of_every_library_are_taken() -> None:
    for five in (5, np.int8(5), np.array(5), torch.tensor(5)):
        assert whole_number("k", five, least=1) == 5
    for odd in (0, 5.0, "5", None, np.array([1, 2]), torch.tensor(5.0), 2**63):
        with pytest.raises(ValueError, match=r"^k is .*; it must be a whole number of at least 1$"):
            whole_number("k", odd, least=1)


def test_numbers_flags_and_paths_are_told_from_others() -> None:
    assert real_number("p", np.float32(0.5), lambda p: 0 < p < 1, "lie between 0 and 1") == 0.5
    for odd in ("0.5", None, float("nan"), 1j, np.array([0.5, 0.5]), 10**400):
        with pytest.raises(ValueError, match=r"^p is .*; it must lie between 0 and 1$"):
            real_number("p", odd, lambda p: 0 < p < 1, "lie between 0 and 1")
    assert (flag("f", np.bool_(True)), flag("f", 0)) == (True, False)
    with pytest.raises(ValueError, match=r"^f is 2; it must be True or False$"):
        flag("f", 2)
    assert as_path("folder", "a/b") == Path("a/b")
    assert short_repr("x" * 100) == "'" + "x" * 36 + "..."


def test_arrays_of_any_byte_order_and_width_become_the_same_tensor() -> None:
    wanted = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    for dtype in (">f8", "g", "f8"):
        given = np.array([3.0, 2.0, 1.0], dtype=dtype)[::-1]
        torch.testing.assert_close(as_numbers("x", given, "give numbers"), wanted)
    assert as_numbers("x", np.array([[7]], dtype=np.ulonglong)[::-1], "give numbers").tolist() == [[7]]
    assert as_array("x", range(3), "give numbers").tolist() == [0, 1, 2]


def test_rows_of_another_byte_order_have_the_same_neighbors() -> None:
    expected = ngm.knn_graph(X.astype(np.float64), k=2).edges
    for dtype in (">f8", "g"):
        assert torch.equal(ngm.knn_graph(X.astype(dtype), k=2).edges, expected)


def test_propagation_fitted_on_dense_rows_predicts_sparse_ones() -> None:
    method = ngm.LabelPropagation(k=2).fit(X, Y)
    assert method.predict(sp.csr_array(X)).tolist() == method.predict(X).tolist()


@pytest.mark.parametrize(("entry", "value"), [("edges", None), ("best_epoch", "x"), ("seconds", []), ("stopped", 3)])
def test_an_entry_of_another_kind_in_the_files_of_a_run_is_named(entry: str, value: object, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", by_hand(), **{entry: value})
    with pytest.raises(ValueError, match=rf"metrics.json is damaged \({entry} is .*\); train again"):
        ngm.write_report(folder)


def test_an_epoch_that_is_no_record_of_numbers_is_named(tmp_path: Path) -> None:
    run = Run(make_run(tmp_path / "run"))
    (run.folder / "history.jsonl").write_text(json.dumps({"epoch": 0, "total": {}}) + "\n", encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"history.jsonl is damaged \(line 1 is not a record of numbers\); train again"
    ):
        run.read_history()


@pytest.mark.parametrize(
    ("name", "array"),
    [("hidden", np.full((6, 2), np.nan)), ("before", np.ones((5, 2))), ("edges", np.full((4, 2), 9)), ("weight", [1])],
)
def test_kept_nodes_whose_arrays_do_not_belong_together_are_damaged(
    name: str, array: np.ndarray, tmp_path: Path
) -> None:
    run = Run(make_run(tmp_path / "run", by_hand()))
    np.save(run.folder / "evidence" / f"{name}.npy", array)
    with pytest.raises(ValueError, match=rf"evidence is damaged \({name}.npy .*\); train again"):
        read_node_records(run)
