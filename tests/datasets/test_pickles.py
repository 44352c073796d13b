"""Pickles that were made to do harm: none of them runs, crashes or is taken for data."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from ngm.datasets import pickles

RECONSTRUCT = b"cnumpy.core.multiarray\n_reconstruct\n"
NDARRAY, DTYPE, CSR = b"cnumpy\nndarray\n", b"cnumpy\ndtype\n", b"cscipy.sparse.csr\ncsr_matrix\n"
SYSTEM, EVAL = b"cos\nsystem\n", b"c__builtin__\neval\n"


def said(value: object) -> bytes:
    """Opcodes that leave a plain value on the stack."""
    return pickle.dumps(value, protocol=2)[2:-1]


def array(dtype: bytes, content: object, shape: tuple[int, ...] = (1,)) -> bytes:
    """Opcodes of an array with a state of one's own choice."""
    made = RECONSTRUCT + b"(" + NDARRAY + said((0,)) + said("b") + b"tR"
    return made + b"(" + said(1) + said(shape) + dtype + said(False) + said(content) + b"tb"


def dtype(name: str, *state: object) -> bytes:
    return DTYPE + said((name, False, True)) + b"R" + said((3, *(state or ("<", None, None, None, -1, -1, 0)))) + b"b"


def forged_dtype() -> bytes:
    """A record with a field of Python objects, and flags that deny it: numpy takes bytes for addresses of objects."""
    field = b"}" + said("a") + b"(" + dtype("O8", "|", None, None, None, -1, -1, 0) + said(0) + b"ts"
    state = b"(" + said(3) + said("|") + said(None) + said(("a",)) + field + said(8) + said(1) + said(0) + b"t"
    return DTYPE + said(("V8", False, True)) + b"R" + state + b"b"


FORGED = {
    "an array of objects over bytes": NDARRAY + b"(" + said((1,)) + dtype("O8") + said("A" * 8) + b"tR",
    "a record that hides objects": array(forged_dtype(), "A" * 8),
    "an array of objects": array(dtype("O8"), ["A"]),
    "an array of records": array(dtype("V8"), "A" * 8),
    "too few bytes": array(dtype("i8"), "A" * 8, (2,)),
    "a length below zero": array(dtype("i8"), "", (-1,)),
    "a length that no machine has": array(dtype("i8"), "A" * 8, (1 << 62,)),
    "a length that is no number": array(dtype("i8"), "A" * 8, ("1",)),  # type: ignore[arg-type]
    "a byte order that is none": array(dtype("i8", "O", None, None, None, -1, -1, 0), "A" * 8),
    "no state": RECONSTRUCT + b"(" + NDARRAY + said((0,)) + said("b") + b"tR",
    "a name alone": NDARRAY,
    "rows without a state": CSR + b")\x81",
    "rows with a state of other things": CSR + b")\x81" + said({"data": 1, "_shape": (1, 1)}) + b"b",
    "rows called instead of made": CSR + b"(" + said((9, 9)) + b"tR",
    "a dict of names": b"ccollections\ndefaultdict\n(" + DTYPE + b"tR(" + said(1) + NDARRAY + b"u",
    "a dict of numbers beyond those of nodes": said({0: [1 << 70]}),
    "a text": said("text"),
    "nothing on the stack": b"",
    "a call of nothing": b")R",
    "a memo that is empty": b"h\x07",
    "a name from a registry": b"\x82\x01",
    "a name from elsewhere": b"Pname\n",
    "a command": SYSTEM + b"(" + said("touch owned") + b"tR",
    "a command by build": b"c__builtin__\nlist\n" + b"c__builtin__\nsetattr\n" + b"b",
    "an expression": EVAL + b"(" + said("open('owned', 'w')") + b"tR",
    "an attribute of an admitted name": b"\x80\x04" + said("numpy") + said("ndarray.tofile") + b"\x93",
    "a loader of numpy": b"cnumpy\nload\n(" + said("owned") + b"tR",
    "a runner of numpy": b"cnumpy.testing._private.utils\nrunstring\n(" + said("open('owned', 'w')") + said({}) + b"tR",
    "a compiler of scipy": b"cscipy.io\nloadmat\n(" + said("owned") + b"tR",
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_pickle_is_refused_by_name_and_runs_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "ind.forged.x"
    file.write_bytes(b"\x80\x02" + FORGED[name] + b".")
    for read in (pickles.read_array, pickles.read_sparse_rows, pickles.read_neighbor_lists):
        with pytest.raises(ValueError, match=r"ind\.forged\.x cannot be read: .*; replace it by the original file$"):
            read(file)
    assert [path.name for path in tmp_path.iterdir()] == ["ind.forged.x"]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("by_column", [False, True])
def test_an_array_has_the_numbers_order_and_type_of_its_pickle(order: str, by_column: bool, tmp_path: Path) -> None:
    numbers = np.arange(6, dtype=f"{order}i4").reshape(2, 3)
    content = numbers.tobytes(order="F" if by_column else "C").decode("latin1")
    made = array(dtype("i4", order, None, None, None, -1, -1, 0), content, (2, 3))
    file = tmp_path / "numbers"
    file.write_bytes(b"\x80\x02" + made.replace(said(False) + said(content), said(by_column) + said(content)) + b".")
    found = pickles.read_array(file)
    np.testing.assert_array_equal(found, numbers)
    assert found.dtype == numbers.dtype
    assert found.flags.writeable


def test_a_pickle_that_is_cut_short_is_refused_by_name(tmp_path: Path) -> None:
    whole = b"\x80\x02" + array(dtype("i4"), "A" * 8, (2,)) + b"."
    file = tmp_path / "numbers"
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="numbers cannot be read: "):
            pickles.read_array(file)
