"""Reading the data sets; `tests/io/test_fetch.py` has how their files are found."""

from __future__ import annotations

import os
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from ngm import datasets
from ngm.datasets import Dataset, planetoid

CLASSES = ("a", "b", "c")
Patch = pytest.MonkeyPatch


def _array(array: NDArray[np.generic]) -> bytes:
    """Opcodes by which Python 2 pickled a numpy array."""
    shape = b"".join(_number(length) for length in array.shape)
    dtype = b"cnumpy\ndtype\n(U\x02" + array.dtype.str[1:].encode() + b"K\x00K\x01tR(K\x03U\x01<NNN"
    state = b"(K\x01(" + shape + b"t" + dtype + _number(-1) + _number(-1) + b"K\x00tb\x89"
    content = b"T" + struct.pack("<i", array.nbytes) + array.tobytes()
    return b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tU\x01btR" + state + content + b"tb"


def _number(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def _pickled(content: sp.csr_matrix | NDArray[np.generic] | dict[int, list[int]]) -> bytes:
    """The content as the original files have it: pickled by Python 2, under the names of its day."""
    if isinstance(content, dict):
        lists = [_number(node) + b"](" + b"".join(map(_number, near)) + b"e" for node, near in content.items()]
        body = b"ccollections\ndefaultdict\n(c__builtin__\nlist\ntR(" + b"".join(lists) + b"u"
    elif isinstance(content, np.ndarray):
        body = _array(content)
    else:
        fields = b"".join(
            b"U" + bytes([len(name)]) + name.encode() + _array(getattr(content, name))
            for name in ("indptr", "indices", "data")
        )
        shape = b"U\x06_shape" + _number(content.shape[0]) + _number(content.shape[1]) + b"\x86"
        body = b"cscipy.sparse.csr\ncsr_matrix\n)\x81}(" + shape + fields + b"ub"
    return b"\x80\x02" + body + b"."


def _row(node: int) -> list[float]:
    return [float(node + 1), 0.0, 1.0]


def _one_hot(nodes: list[int]) -> NDArray[np.int32]:
    return np.eye(3, dtype=np.int32)[[node % 3 for node in nodes]]


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """Nine nodes of class id mod 3: 2 seeds, 3 more, test nodes 8, 5 and 6 in that order; 7 has no row."""
    parts = {"x": [0, 1], "allx": [0, 1, 2, 3, 4], "tx": [8, 5, 6]}
    for part, nodes in parts.items():
        rows = sp.csr_matrix(np.array([_row(node) for node in nodes], dtype=np.float32))
        (tmp_path / f"ind.tiny.{part}").write_bytes(_pickled(rows))
        (tmp_path / f"ind.tiny.{part.replace('x', 'y')}").write_bytes(_pickled(_one_hot(nodes)))
    lists = {0: [1, 8, 8], 1: [0], 7: [2, 7], 8: [0], 2: [7]}
    (tmp_path / "ind.tiny.graph").write_bytes(_pickled(lists))
    (tmp_path / "ind.tiny.test.index").write_text("8\n5\n6\n", encoding="utf-8")
    return tmp_path


def test_test_rows_go_to_the_nodes_of_the_index(tiny: Path) -> None:
    data = planetoid.read(tiny, "tiny", CLASSES)
    x = sp.csr_matrix(data.x).toarray()
    for node in (0, 1, 2, 3, 4, 5, 6, 8):
        assert x[node].tolist() == _row(node)
        assert data.y[node] == node % 3
    assert data.x.dtype == np.float32
    assert data.y.dtype == np.int64


def test_node_without_a_row_has_no_features_no_label_and_is_not_tested(tiny: Path) -> None:
    data = planetoid.read(tiny, "tiny", CLASSES)
    assert data.x[[7]].sum() == 0
    assert data.y[7] == -1
    assert data.test.tolist() == [5, 6, 8]
    assert data.graph is not None
    assert data.graph.neighbors(7).tolist() == [2]


def test_test_row_without_a_class_is_not_tested(tiny: Path) -> None:
    blank = _one_hot([8, 5, 6])
    blank[1] = 0
    (tiny / "ind.tiny.ty").write_bytes(_pickled(blank))
    data = planetoid.read(tiny, "tiny", CLASSES)
    assert data.y[5] == -1
    assert data.test.tolist() == [6, 8]


def test_node_after_the_last_test_node_is_kept(tiny: Path) -> None:
    (tiny / "ind.tiny.graph").write_bytes(_pickled({0: [9], 9: [0]}))
    data = planetoid.read(tiny, "tiny", CLASSES)
    assert data.x.shape == (10, 3)
    assert data.y[9] == -1


def test_seeds_come_first_and_validation_after_them(tiny: Path, monkeypatch: Patch) -> None:
    data = planetoid.read(tiny, "tiny", CLASSES)
    assert data.train.tolist() == [0, 1]
    assert data.validation.tolist() == [2, 3, 4]
    monkeypatch.setattr(planetoid, "_NUM_VALIDATION", 2)
    assert planetoid.read(tiny, "tiny", CLASSES).validation.tolist() == [2, 3]


def test_citations_become_undirected_edges_without_loops_and_repeats(tiny: Path) -> None:
    graph = planetoid.read(tiny, "tiny", CLASSES).graph
    assert graph is not None
    assert graph.edges.tolist() == [[0, 1], [0, 8], [2, 7]]
    assert graph.weight.tolist() == [1.0, 1.0, 1.0]
    assert (graph.num_nodes, graph.self_loops, graph.duplicates) == (9, 1, 4)


def test_malicious_pickle_is_refused_before_it_runs(tiny: Path) -> None:
    class Malicious:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tiny / "owned"),)

    (tiny / "ind.tiny.tx").write_bytes(pickle.dumps(Malicious(), protocol=2))
    with pytest.raises(ValueError, match=r"ind\.tiny\.tx cannot be read: refused (posix|nt)\.mkdir; only"):
        planetoid.read(tiny, "tiny", CLASSES)
    assert not (tiny / "owned").exists()


@pytest.mark.parametrize("name", ["builtins\neval", "numpy\nload", "__builtin__\ngetattr", "os\nsystem"])
def test_names_beyond_the_six_are_refused(tiny: Path, name: str) -> None:
    (tiny / "ind.tiny.graph").write_bytes(b"\x80\x02c" + name.encode() + b"\n.")
    with pytest.raises(ValueError, match=f"refused {name.replace(chr(10), '.')};"):
        planetoid.read(tiny, "tiny", CLASSES)


def test_column_number_outside_the_matrix_is_refused(tiny: Path) -> None:
    rows = sp.csr_matrix(np.ones((3, 3), dtype=np.float32))
    rows.indices[4] = 1000
    (tiny / "ind.tiny.tx").write_bytes(_pickled(rows))
    with pytest.raises(ValueError, match="must be < 3"):
        planetoid.read(tiny, "tiny", CLASSES)


def test_reader_names_what_does_not_fit(tiny: Path) -> None:
    index = tiny / "ind.tiny.test.index"
    index.write_text("8\n5\n5\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"names 2 nodes in 3 lines for 3 test rows; each row needs its own line"):
        planetoid.read(tiny, "tiny", CLASSES)
    index.write_text("8\n5\n6\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"labels are 3 wide, there are 2 class names; name each class"):
        planetoid.read(tiny, "tiny", CLASSES[:2])
    (tiny / "ind.tiny.ty").write_bytes(_pickled(np.array([[1, 0, 0], [1, 0, 1], [0, 1, 0]])))
    with pytest.raises(ValueError, match=r"row 6 of the labels has 2 classes; each node has one class"):
        planetoid.read(tiny, "tiny", CLASSES)
    (tiny / "ind.tiny.ty").write_bytes(_pickled(_one_hot([8, 5])))
    with pytest.raises(ValueError, match=r"ind\.tiny\.tx has 3 rows, ind\.tiny\.ty has 2; both need a row"):
        planetoid.read(tiny, "tiny", CLASSES)


def test_unknown_name_gets_the_nearest_one() -> None:
    with pytest.raises(ValueError, match=r"^there is no data set 'PubMd' \(did you mean 'pubmed'\?\); the names"):
        datasets.load("PubMd")
    names = (
        "acm, ag_news, amazon_cs, banking77, blogcatalog, citeseer, clinc150, clinc20, coauthor_phy, cora, digits, "
        "flickr, messages, minesweeper, mr, pubmed, squirrel_filtered, subj, swda20, tolokers, trec"
    )
    with pytest.raises(ValueError, match=rf"no data set 'zzz'; the names are {names}$"):
        datasets.load("zzz")
    with pytest.raises(ValueError, match=r"no citation graph 'core'; choose pubmed, cora, citeseer"):
        planetoid.planetoid("core")  # type: ignore[arg-type]


def _here(name: str) -> Dataset:
    """The data set if its files are on this machine; a test never fetches."""
    place = {record.name: record.where for record in datasets.available()}[name]
    if place == "not fetched":
        pytest.skip(f"{name} is neither in $NGM_DATA nor in the cache")
    return datasets.load(name)


@pytest.mark.parametrize(("name", "unlabeled"), [("pubmed", 0), ("cora", 0), ("citeseer", 15)])
def test_citation_graphs_have_the_published_counts(name: str, unlabeled: int) -> None:
    data = _here(name)
    record = {record.name: record for record in datasets.available()}[name]
    assert data.graph is not None
    assert data.x.shape == (record.num_nodes, record.num_features)
    assert (data.graph.num_nodes, data.graph.num_edges) == (record.num_nodes, record.num_edges)
    assert len(data.classes) == record.num_classes
    assert np.bincount(data.y[data.train]).tolist() == [20] * record.num_classes
    assert (len(data.validation), len(data.test)) == (500, 1000)
    assert len(np.unique([*data.train, *data.validation, *data.test])) == 20 * record.num_classes + 1500
    assert (data.y == -1).sum() == unlabeled


SIZES = {
    "pubmed": {"experimental diabetes": 4103, "type 1 diabetes": 7875, "type 2 diabetes": 7739},
    "cora": {"neural networks": 818, "theory": 351, "rule learning": 180, "case based": 298},
    "citeseer": {"AI": 249, "databases": 701, "agents": 596, "HCI": 508},
}


@pytest.mark.parametrize("name", SIZES)
def test_class_names_have_the_sizes_of_the_original_collections(name: str) -> None:
    data = _here(name)
    assert {word: (data.y == data.classes.index(word)).sum() for word in SIZES[name]} == SIZES[name]


def test_neighbors_of_pubmed_test_nodes_mostly_share_their_class() -> None:
    data = _here("pubmed")  # would be near chance (.36) if test rows were left in file order
    assert data.graph is not None
    ends = data.graph.edges.numpy()
    tested = np.isin(ends, data.test).any(axis=1)
    assert (data.y[ends[tested, 0]] == data.y[ends[tested, 1]]).mean() > 0.7


def test_digits_are_scaled_and_split_by_class() -> None:
    data = datasets.load("digits")
    assert data.x.shape == (1797, 64)
    assert data.x.dtype == np.float32
    assert (data.x.min(), data.x.max()) == (0.0, 1.0)
    assert data.graph is None
    assert (len(data.train), len(data.validation), len(data.test)) == (1200, 0, 597)
    assert sorted([*data.train, *data.test]) == list(range(1797))
    share = np.bincount(data.y) * 597 / 1797
    assert np.abs(np.bincount(data.y[data.test]) - share).max() < 1


def test_digits_split_is_the_same_every_time() -> None:
    np.random.seed(1)
    first = datasets.load("digits")
    np.random.seed(2)
    assert datasets.load("digits").test.tolist() == first.test.tolist()
