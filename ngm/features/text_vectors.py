"""Texts as vectors of one or more encoders, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngm.features.feature_rows import NO_INPUT, FeatureRows, RowIssue, empty_rows
from ngm.io.run_folder import JSON
from ngm.io.table_columns import column_texts
from ngm.io.tables import Table
from ngm.io.tables.stream import Holds
from ngm.text.encoders import Encoder, open_encoder
from ngm.text.encoders.encoder import OnTexts
from ngm.text.words import tfidf_rows


@dataclass(frozen=True, eq=False)
class StoredEncoder:
    """An encoder as a run folder keeps it; it is opened when the first text is read.

    Args:
        content: What `Encoder.as_json` gave.
        arrays: What `Encoder.arrays` gave.
        width: Numbers per text.
    """

    content: Mapping[str, object]
    arrays: Mapping[str, NDArray[np.generic]]
    width: int

    @classmethod
    def of(cls, encoder: Encoder) -> StoredEncoder:
        """Of an encoder that is open already."""
        description = cls(encoder.as_json(), encoder.arrays(), encoder.width)
        description.__dict__["encoder"] = encoder  # the value of the cached property
        return description

    @property
    def name(self) -> str:
        """Of the encoder."""
        return str(self.content.get("name") or self.content["encoder"])

    @cached_property
    def encoder(self) -> Encoder:
        """Opened, its files fetched where they are not on this machine."""
        return open_encoder(self.content, self.arrays)


@dataclass(frozen=True, eq=False)
class TextVectors:
    """Vectors of texts, each of length 1, side by side.

    Args:
        names: Columns of texts, joined by a blank.
        encoders: What makes the vectors, in order.
    """

    names: tuple[str, ...]
    encoders: tuple[StoredEncoder, ...]

    @classmethod
    def fit(cls, names: Sequence[str], encoders: Sequence[Encoder]) -> TextVectors:
        """Takes encoders that are ready."""
        return cls(tuple(names), tuple(map(StoredEncoder.of, encoders)))

    @property
    def width(self) -> int:
        """Numbers per text."""
        return sum(part.width for part in self.encoders)

    @property
    def holds(self) -> dict[str, Holds]:
        """What each column must hold."""
        return dict.fromkeys(self.names, "text")

    def read(self, table: Table, first: int = 0, progress: OnTexts | None = None) -> FeatureRows:
        """(n, d) float32.

        Args:
            table: Has the columns.
            first: Number of its first row, for messages.
            progress: Called with (texts done, texts in all), for each encoder.
        """
        texts = column_texts(table, self.names)
        x = np.concatenate([part.encoder.encode(texts, progress) for part in self.encoders], axis=1)
        empty = empty_rows(x)
        return FeatureRows(x, [RowIssue(empty + first, "have no known word", NO_INPUT)] if len(empty) else [])

    def views(self, x: NDArray[np.float32], texts: Sequence[str]) -> dict[str, NDArray[np.float32] | sp.csr_array]:
        """What teachers look at beside x: the vectors of the first encoder by themselves, and all words of a text.

        Args:
            x: (n, d) what `read` gave.
            texts: The n texts.
        """
        first = self.encoders[0]
        return {first.name: np.ascontiguousarray(x[:, : first.width]), "words": tfidf_rows(texts)}

    def as_json(self) -> dict[str, JSON]:
        """For `features.json`."""
        encoders = [{**part.content, "width": part.width} for part in self.encoders]
        return {"text": list(self.names), "encoders": cast("list[JSON]", encoders)}

    def arrays(self) -> dict[str, Tensor]:
        """For `features.safetensors`: those of each encoder, by its place."""
        return {
            f"{i}.{name}": torch.from_numpy(np.ascontiguousarray(array))
            for i, part in enumerate(self.encoders)
            for name, array in part.arrays.items()
        }

    @classmethod
    def from_json(cls, content: Mapping[str, JSON], arrays: Mapping[str, Tensor]) -> TextVectors:
        """Takes back what was kept; nothing is fetched yet."""
        parts = []
        for i, encoder in enumerate(cast("list[dict[str, JSON]]", content["encoders"])):
            encoder_arrays = {n.removeprefix(f"{i}."): a.numpy() for n, a in arrays.items() if n.startswith(f"{i}.")}
            parts.append(
                StoredEncoder(
                    {k: v for k, v in encoder.items() if k != "width"}, encoder_arrays, cast(int, encoder["width"])
                )
            )
        return cls(tuple(cast("list[str]", content["text"])), tuple(parts))
