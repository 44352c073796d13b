"""Static vectors: every wordpiece through MiniLM once, a text as the weighted mean of its wordpieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ngm.io.fetch import Progress, cache_folder
from ngm.io.files import file_written_whole
from ngm.text.encoders.encoder import Arrays, OnTexts, readable, unit_rows
from ngm.text.encoders.minilm import WEIGHTS, WIDTH, MiniLM, Tokenizer

_TEXTS_AT_ONCE = 8192


@dataclass(frozen=True, eq=False)
class StaticMiniLM:
    """Means of static vectors: 5,000 to 20,000 short texts a second on one core.

    Args:
        tokenizer: Of MiniLM.
        table: (V, d) a vector for each wordpiece.
        weight: (V,) of each wordpiece in the mean.
    """

    tokenizer: Tokenizer
    table: NDArray[np.floating]
    weight: NDArray[np.float32]
    name: str = "minilm-static"

    @classmethod
    def fit(cls, texts: Sequence[str], progress: Progress | None = None) -> StaticMiniLM:
        """Weighs wordpieces by how few of the texts have them: 1 + log((1 + n) / (1 + texts with it)).

        Args:
            texts: n texts, labelled or not.
            progress: Called while files are fetched.
        """
        tokenizer, table = _opened(progress)
        counts = _counts(tokenizer, texts, len(table))
        texts_with = np.bincount(counts.indices, minlength=len(table))
        weight = 1 + np.log((1 + len(texts)) / (1 + texts_with))
        return cls(tokenizer, table, weight.astype(np.float32))

    @classmethod
    def open(cls, arrays: Arrays, progress: Progress | None = None) -> StaticMiniLM:
        """Takes back what `arrays` gave."""
        weight = arrays["weight"].astype(np.float32)
        tokenizer, table = _opened(progress)
        if weight.shape != (len(table),):
            raise ValueError(f"weight has shape {weight.shape} and there are {len(table)} wordpieces")
        return cls(tokenizer, table, weight)

    @property
    def width(self) -> int:
        """Numbers per text."""
        return int(self.table.shape[1])

    def encode(self, texts: Sequence[str], progress: OnTexts | None = None) -> NDArray[np.float32]:
        """(n, 384) of length 1; zeros where a text has no wordpiece."""
        out = np.zeros((len(texts), self.width), dtype=np.float32)
        weighted = self.table.astype(np.float32) * self.weight[:, None]
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            some = texts[start : start + _TEXTS_AT_ONCE]
            out[start : start + len(some)] = unit_rows(_counts(self.tokenizer, some, len(weighted)) @ weighted)
            if progress:
                progress(start + len(some), len(texts))
        return out

    def as_json(self) -> dict[str, object]:
        """Its name."""
        return {"encoder": self.name}

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The weights; the table is made again from the model."""
        return {"weight": self.weight}


def _counts(tokenizer: Tokenizer, texts: Sequence[str], width: int) -> sp.csr_array:
    """(n, V) how often each text has each wordpiece."""
    read = tokenizer.encode_batch([readable(text) for text in texts], add_special_tokens=False)
    offsets = np.cumsum([0, *(len(encoding.ids) for encoding in read)])
    ids = np.fromiter((i for encoding in read for i in encoding.ids), dtype=np.int64, count=int(offsets[-1]))
    counts = sp.csr_array((np.ones(len(ids), dtype=np.float32), ids, offsets), shape=(len(texts), width))
    counts.sum_duplicates()
    return counts


def _opened(progress: Progress | None) -> tuple[Tokenizer, NDArray[np.floating]]:
    """The tokenizer, and the table from the cache or, once, from the model."""
    model = MiniLM.load(progress=progress)
    file = table_file()
    if not file.is_file():
        _write_table(model, file)
    table: NDArray[np.floating] = np.load(file, allow_pickle=False)
    size = model.tokenizer.get_vocab_size()
    if table.shape != (size, WIDTH) or not np.isfinite(table).all():
        file.unlink()
        raise ValueError(f"{file} is damaged and now deleted; run again to recreate it")
    return model.tokenizer, table


def table_file() -> Path:
    """Where the table is kept, by the hash of the model."""
    return cache_folder() / "encoders" / "minilm" / f"static_{WEIGHTS['float32'].sha256[:12]}.npy"


def _write_table(model: MiniLM, file: Path) -> None:
    """Puts each wordpiece through the model by itself; takes a quarter of a minute."""
    size = model.tokenizer.get_vocab_size()
    table = unit_rows(model.means([[piece] for piece in range(size)]))
    table -= table.mean(axis=0)  # what all wordpieces share says nothing of a text
    with file_written_whole(file) as part, part.open("wb") as stream:
        np.save(stream, table.astype(np.float16))
