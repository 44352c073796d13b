"""Odd numbers, arrays, targets, texts and graphs; half of what these give is in order."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from random import Random

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from ngm import Graph

WORDS = (
    "alpha",
    "beta",
    "gamma",
    "a b",
    "",
    " ",
    "-1",
    "nan",
    "None",
    "NULL",
    "007",
    "1.0",
    "é",
    "日本",
    "\x00",
    "a'b",
)
ODD_WORDS = (
    *WORDS,
    'a"b',
    "a,b",
    "a\nb",
    "\ud83d",
    "\u202e",
    "=1+1",
    "x" * 300,
    "\t",
    "[1]",
    "{}",
    "*",
    "?",
    "../x",
    "\r",
)
NUMBERS = (0, 1, 2, 3, 0.5, 1.0, -1, 1e-3)
ODD_NUMBERS = (
    *(-2, -0.0, float("nan"), float("inf"), -float("inf"), 1e-45, 1e38, 1e308, 2**31, 2**53 + 1, 2**63 - 1, 2**63),
    *(-(2**63), 2**64, 10**30, True, False, None, "3", "", "nan", "word", b"1", [], [1], (), {}, {1}, 1j),
    *(Decimal("0.1"), np.float32("nan"), np.int8(-1), np.float16(1), np.uint64(2**63), np.bool_(True)),
    *(torch.tensor(2), torch.tensor([1.0, 2.0]), np.array(1), np.array([1, 2]), datetime.date(2020, 1, 1), object, len),
)
DTYPES = (
    "f4",
    "f8",
    "f2",
    "i8",
    "i4",
    "i1",
    "u1",
    "u8",
    "?",
    ">f4",
    ">i8",
    "g",
    "c8",
    "O",
    "U5",
    "S3",
    "M8[s]",
    "m8[s]",
)
COUNT = 12  # nodes of a usual case


def odd(rng: Random, good: Sequence[object], chance: float = 0.5, bad: Sequence[object] = ODD_NUMBERS) -> object:
    """One of the good values, or with this chance anything at all."""
    if rng.random() >= chance:
        return rng.choice(good)
    value = rng.choice(bad)
    return rng.choice(WORDS) if hasattr(value, "dtype") and isinstance(good[0], str) else value  # no arrays for names


def numpy_rng(rng: Random) -> np.random.Generator:
    """A generator of numpy's from one of Python's."""
    return np.random.default_rng(rng.getrandbits(63))


def text(rng: Random, words: Sequence[str] = ODD_WORDS, most: int = 5) -> str:
    """A few words."""
    return " ".join(rng.choice(words) for _ in range(rng.randint(0, most)))


def shape(rng: Random, rows: int) -> tuple[int, ...]:
    """Mostly (rows, 3)."""
    odd_shapes = [(rows,), (rows, 0), (0, 3), (0,), (), (rows, 1), (rows, 2, 2), (rows + 1, 3), (1, rows), (rows, 3, 0)]
    return rng.choice(odd_shapes) if rng.random() < 0.25 else (rows, 3)


def array(rng: Random, rows: int = COUNT) -> NDArray[np.generic]:
    """Any type, any shape, any layout, perhaps with NaN, infinity and the largest and smallest numbers."""
    size = shape(rng, rows)
    values = np.asarray(numpy_rng(rng).normal(size=size)) * rng.choice([1, 1, 1, 100, 1e-42, 1e30, 1e300])
    if values.size and rng.random() < 0.2:
        values.reshape(-1)[rng.randrange(values.size)] = rng.choice([np.nan, np.inf, -np.inf, 3.5e38, 1e308])
    dtype = np.dtype(rng.choice(DTYPES) if rng.random() < 0.4 else rng.choice(["f4", "f8"]))
    with np.errstate(all="ignore"):
        made = (values * 10).astype("i8").astype(dtype) if dtype.kind in "OMm" else values.astype(dtype)
    made = np.asarray(made)  # of no dimensions, it is a number by now
    if dtype.kind == "O" and made.size and rng.random() < 0.6:
        flat = made.reshape(-1)
        flat[rng.randrange(flat.size)] = rng.choice(ODD_NUMBERS)
    return layout(rng, made)


def layout(rng: Random, made: NDArray[np.generic]) -> NDArray[np.generic]:
    """The same values, perhaps in another order of memory, read-only or masked."""
    made = np.asarray(made)  # a number is none yet
    kind = rng.randrange(12)
    if kind == 0:
        return np.asfortranarray(made)
    if kind == 1 and made.ndim:
        return np.repeat(made, 2, axis=0)[::2]
    if kind == 2 and made.ndim:
        return made[::-1]
    if kind == 3:
        made = made.copy()
        made.flags.writeable = False
        return made
    if kind == 4 and made.dtype.kind in "fiu":
        return np.ma.MaskedArray(made, mask=numpy_rng(rng).random(made.shape) < 0.2)
    return made


def sparse(rng: Random, rows: int = COUNT) -> object:
    """A sparse matrix of any format, perhaps with explicit zeros, repeats, unsorted indices or nothing in it."""
    random = numpy_rng(rng)
    width = rng.choice([3, 8, 1, 0])
    dense = random.normal(size=(rows + rng.choice([0, 0, 0, 1]), width)) * (random.random((1, width)) < 0.5)
    if dense.size and rng.random() < 0.2:
        dense.reshape(-1)[rng.randrange(dense.size)] = rng.choice([np.nan, np.inf, 1e308, 1e-320])
    with np.errstate(all="ignore"):
        made = sp.coo_array(dense.astype(rng.choice(["f4", "f8", "i8", "?", "c8"])))
    if made.nnz and rng.random() < 0.2:
        made = sp.coo_array(
            (np.r_[made.data, made.data], (np.r_[made.row, made.row], np.r_[made.col, made.col])), made.shape
        )
    form = rng.choice(["csr", "csr", "csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
    if form == "bsr" and not width:
        form = "csr"
    out = made.asformat(form)
    if form == "csr" and rng.random() < 0.3:
        out.indices, out.indptr = out.indices.astype(np.int64), out.indptr.astype(np.int64)
    return sp.csr_matrix(out) if rng.random() < 0.2 else out


def frame(rng: Random, rows: int = COUNT) -> object:
    """A table of pandas or polars."""
    random = numpy_rng(rng)
    columns: dict[str, object] = {f"c{i}": random.normal(size=rows) for i in range(rng.randint(0, 3))}
    for name in rng.sample(WORDS, rng.randint(0, 2)):
        columns[name] = [rng.choice([1, 2.5, None]) if rng.random() < 0.5 else 3 for _ in range(rows)]
    if rng.random() < 0.2:
        columns["w"] = [rng.choice(["u", "v", None]) for _ in range(rows)]
    if rng.random() < 0.4:
        return pl.DataFrame(columns, strict=False)
    made = pd.DataFrame(columns, index=range(rows))
    if rng.random() < 0.2 and made.shape[1]:
        made.columns = pd.Index([rng.choice([0, "a", None, 1.5, (1, 2)])] * made.shape[1])
    if rng.random() < 0.2 and made.shape[1]:
        kind = rng.choice(["category", "string", "object", "Float64"])
        return made.astype(kind) if kind in ("category", "object") or "w" not in columns else made
    return made


def tensor(rng: Random, rows: int = COUNT) -> torch.Tensor:
    """A tensor of any type and layout."""
    generator = torch.Generator().manual_seed(rng.getrandbits(32))
    made = torch.randn(shape(rng, rows), generator=generator)
    kind = rng.randrange(10)
    if kind == 0:
        return made.requires_grad_()
    if kind == 1:
        return made.to(
            rng.choice([torch.bfloat16, torch.float16, torch.int64, torch.bool, torch.complex64, torch.uint8])
        )
    if kind == 2 and made.ndim == 2:
        return made.to_sparse()
    if kind == 3 and made.ndim:
        return made.flip(0).t() if made.ndim == 2 else made.flip(0)
    return made.double() if kind == 4 else made


def texts(rng: Random, rows: int = COUNT) -> object:
    """Texts as people hand them over, some of them missing or empty."""
    made: list[object] = [" ".join(rng.choice(WORDS[:4]) for _ in range(rng.randint(1, 6))) for _ in range(rows)]
    while rng.random() < 0.4:
        made[rng.randrange(rows)] = rng.choice(
            [None, float("nan"), "", " ", 3, b"bytes", "\ud83d", "日本", "\x00", pd.NA, []]
        )
    if rng.random() < 0.6:
        return made
    held = np.empty(rows, dtype=object)
    held[:] = made
    forms: list[Callable[[], object]] = [
        lambda: held,
        lambda: tuple(made),
        lambda: pd.Series(made),
        lambda: [],
        lambda: "one string",
        lambda: held[:, None],
        lambda: np.array([str(m).encode("utf-8", "replace").decode() for m in made]),
        lambda: iter(made),
        lambda: {"x": made},
    ]
    return rng.choice(forms)()


def inputs(rng: Random, rows: int = COUNT) -> object:
    """X as `fit` and `predict` may get it."""
    if rng.random() < 0.35:
        return numpy_rng(rng).normal(size=(rows, 3)).astype(np.float32)
    plain = [
        None,
        3,
        "word",
        [],
        [[]],
        [[1], [1, 2]],
        [[1.0, 2.0]] * rows,
        {"a": np.ones((rows, 2))},
        {},
        object(),
        [None] * rows,
    ]
    kinds: list[Callable[[], object]] = [
        lambda: array(rng, rows),
        lambda: array(rng, rows),
        lambda: sparse(rng, rows),
        lambda: frame(rng, rows),
        lambda: tensor(rng, rows),
        lambda: texts(rng, rows),
        lambda: rng.choice(plain),
        lambda: np.matrix(numpy_rng(rng).normal(size=(rows, 3))),
    ]
    return rng.choice(kinds)()


def targets(rng: Random, rows: int = COUNT, numbers: bool = False) -> object:
    """Y as `fit` may get it: classes, words, several labels, shares or numbers, with unlabelled rows."""
    random = numpy_rng(rng)
    if rng.random() < 0.5:
        return random.normal(size=rows) if numbers else random.integers(-1, 2, size=rows)
    rows += rng.choice([0] * 8 + [1, -1])
    some = [rng.choice([0, 1, 2, -1, "a", "b", None, float("nan"), 1.5, True]) for _ in range(rows)]
    few = [rng.choice(["a", "b", None, -1]) for _ in range(rows)]
    held = np.empty(rows, dtype=object)
    held[:] = few
    plain: list[object] = [
        some,
        few,
        held,
        np.array(few, dtype=str),
        random.integers(0, 2, size=(rows, 3)),
        random.dirichlet([1, 1], rows),
        random.integers(-1, 2, size=(rows, 1)),
        random.integers(-1, 2, size=(rows, 2)),
        np.full(rows, -1),
        np.zeros(rows),
        np.arange(rows),
        random.normal(size=rows) * 1e300,
        random.normal(size=(rows, 2)),
        np.full(rows, np.nan),
        random.integers(-1, 2, size=rows).astype(rng.choice(DTYPES[:11])),
        pd.Series(few),
        pd.Series(few, dtype="category"),
        pd.Series([0, 1, None] * rows, dtype="Int64")[:rows],
        pl.Series([str(f) for f in few]),
        torch.arange(rows) % 3 - 1,
        sp.csr_array(random.integers(0, 2, size=(rows, 3))),
        None,
        3,
        "word",
        [],
        [[0, 1], [1]],
        {"a": few},
        np.zeros((rows, 2, 2)),
        random.integers(0, 2**62, size=rows),
        [2**70, -1] * (rows // 2),
        random.normal(size=rows).astype(np.complex64),
        np.where(random.random(rows) < 0.3, np.inf, 1.0),
        [b"a", b"b"] * (rows // 2),
        [(1, 2)] * rows,
        iter(few),
        np.array([f"2020-01-0{1 + i % 3}" for i in range(rows)], dtype="M8[D]"),
        [[1]] * rows,
        np.ma.masked_equal([0, 1] * (rows // 2), 0),
    ]
    return rng.choice(plain)


def edges(rng: Random, nodes: int = COUNT) -> NDArray[np.int64]:
    """(m, 2) good edges."""
    return numpy_rng(rng).integers(0, max(nodes, 1), size=(rng.choice([0, 1, 10, 30]) if nodes else 0, 2))


def good_graph(rng: Random, nodes: int = COUNT) -> Graph:
    """A graph; weights may be as large or small as float32 goes."""
    pairs = edges(rng, nodes)
    weight = numpy_rng(rng).random(len(pairs)) * rng.choice([1, 1, 1, 0, 1e-44, 1e-30, 1e30, 3e38])
    return Graph.from_edges(pairs, weight, nodes, directed=rng.random() < 0.3)


def graph(rng: Random, nodes: int = COUNT) -> object:
    """What `fit` may get as a graph."""
    kind = rng.randrange(12)
    if kind == 0:
        return rng.choice([None, 3, "graph", [], np.eye(nodes), sp.eye_array(nodes), [None], {}, edges(rng, nodes)])
    if kind == 1:
        return [good_graph(rng, nodes + rng.choice([0, 0, 1])) for _ in range(rng.randint(0, 3))]
    if kind == 2:
        return good_graph(rng, rng.choice([0, 1, nodes - 1, nodes + 1, 10 * nodes]))
    return None if kind == 3 else good_graph(rng, nodes)
