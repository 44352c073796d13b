"""Texts as characters, quantised as Zhang, Zhao and LeCun (2015) do: an alphabet of 70, read backwards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from ngm.text.ragged import Ragged
from ngm.text.words import checked_texts

ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789-,;.!?:'\"/\\|_@#$%^&*~`+-=<>()[]{}\n"
"""The 70 characters of Zhang et al.; the hyphen is in their list twice, and its second place counts."""

LENGTH = 1014
_TEXTS_AT_ONCE = 8192


def quantize(texts: Iterable[object], length: int = LENGTH) -> Ragged:
    """Reads texts as codes of their characters, the last character first, one byte each.

    Letters count in lower case. A character that is not in the alphabet, the blank among them, has code 0, as has
    everything behind the end of a text. Zhang et al. read backwards so that the end of a text always has the same
    place; of a text that is too long they read the end.

    Args:
        texts: n texts; None and NaN are texts without characters.
        length: Characters to read of a text, at most.

    Returns:
        n rows of uint8, 0 to 70.

    >>> quantize(["Cab é!"])[[0]].tolist()
    [[41, 0, 0, 2, 1, 3]]
    """
    if length < 1:
        raise ValueError(f"length is {length}; read at least 1 character of a text")
    listed = [text[-length:] for text in checked_texts(texts)]
    codes = list(_codes(listed))
    offsets = np.zeros(len(listed) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in listed], out=offsets[1:])
    values = np.concatenate(codes) if codes else np.zeros(0, dtype=np.uint8)
    return Ragged(torch.from_numpy(values), torch.from_numpy(offsets))


def blank_rows(codes: Ragged) -> NDArray[np.int64]:
    """(u,) rows of the texts without a character of the alphabet: to a network they all look the same."""
    num_codes = torch.cat([torch.zeros(1, dtype=torch.int64), (codes.values > 0).cumsum(0)])
    rows: NDArray[np.int64] = np.flatnonzero((num_codes[codes.offsets].diff() == 0).numpy())
    return rows


def _codes(texts: list[str]) -> Iterator[NDArray[np.uint8]]:
    """Codes of some texts at a time, so that the copies this takes stay small."""
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        # the texts from last to first, turned round as a whole, are the texts from first to last, each turned round
        joined = "".join(reversed(texts[start : start + _TEXTS_AT_ONCE]))
        if joined.isascii():
            codes = np.frombuffer(joined.encode("ascii").translate(_TABLE), dtype=np.uint8)
        else:
            points = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
            codes = np.frombuffer(_TABLE, dtype=np.uint8)[np.minimum(points, 255)]
        yield np.ascontiguousarray(codes[::-1])


def _table() -> bytes:
    """Code of each of the first 256 characters; those beyond have that of the last, 0."""
    code_of = {character: code for code, character in enumerate(ALPHABET, start=1)}
    return bytes(code_of.get(chr(point).lower(), 0) if point < 128 else 0 for point in range(256))


_TABLE = _table()
