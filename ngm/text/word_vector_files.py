"""Files of word vectors: GloVe and word2vec text, word2vec binary, and `.npz`."""

from __future__ import annotations

import gzip
import zlib
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray

from ngm._arguments import reason
from ngm.io.files import DAMAGED

_CHUNK_BYTES = 1 << 20
_MAX_WIDTH = 1_000_000  # numbers per word; what says more is damaged


def read(file: Path, selected_words: set[str] | None = None) -> tuple[list[str], NDArray[np.float32]]:
    """Reads (words, (V, d) vectors); the ending of the file's name says how.

    Args:
        file: `.npz`; `.bin` or `.bin.gz` for word2vec binary; anything else is text, `.gz` where compressed.
        selected_words: The words to keep; all where None.
    """
    if not file.is_file():
        raise FileNotFoundError(f"cannot find the word vectors {file}; give a text, .bin or .npz file")
    if file.suffix == ".npz":
        return _read_npz(file, selected_words)
    packed = file.suffix == ".gz"
    selected = _SelectedWords(selected_words)
    try:
        with gzip.open(file) if packed else file.open("rb") as stream:
            lines = cast(IO[bytes], stream)
            binary = (file.with_suffix("") if packed else file).suffix == ".bin"
            width = _read_binary(file, lines, selected) if binary else _read_text(file, lines, selected)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{file} cannot be unpacked ({error}); fetch it again") from None
    return list(selected.words), np.array(selected.numbers, dtype=np.float32).reshape(-1, width)


class _SelectedWords:
    """The selected words, each once, and their numbers one after the other."""

    def __init__(self, selection: set[str] | None) -> None:
        self.selection = selection
        self.words: dict[str, None] = {}
        self.numbers = array("f")

    def add(self, word: str, numbers: Iterable[float]) -> None:
        if word not in self.words and (self.selection is None or word in self.selection):
            self.words[word] = None
            self.numbers.extend(numbers)


def _read_text(file: Path, lines: IO[bytes], selected: _SelectedWords) -> int:
    """Takes a word and its numbers from each line, and returns the width."""
    width = first = declared_words = 0
    num_words = 0
    for number, line in enumerate(lines, start=1):
        fields = line.split(None) if not width else line.rsplit(None, width)  # a word may have spaces in it
        if not fields:
            continue
        if number == 1 and len(fields) == 2 and fields[0].isdigit() and fields[1].isdigit():
            declared_words, width, first = *_declared_size(file, fields), 1
            continue
        if not width:
            width, first = len(fields) - 1, number
            if not width:
                raise ValueError(f"{file}, line {number}, has no numbers; give a word and its numbers per line")
        count = len(fields) - 1 + (_numbers_at_the_end(fields[0]) if len(fields) > width else 0)
        if count != width:
            fields_text = f"line {first} says {width}" if declared_words else f"line {first} has {width}"
            raise ValueError(
                f"{file}, line {number}, has {count} numbers and {fields_text}; all words need the same width"
            )
        num_words += 1
        word = _decoded(fields[0], file, number)
        try:
            selected.add(word, map(float, fields[1:]))
        except ValueError as error:
            raise ValueError(f"{file}, line {number}: {error}; give a word and its numbers per line") from None
    if not width:
        raise ValueError(f"{file} is empty; give a word and its numbers per line")
    if declared_words and num_words != declared_words:
        raise ValueError(f"{file} says that it has {declared_words} words and has {num_words}; it may be cut short")
    return width


def _declared_size(file: Path, head: list[bytes]) -> tuple[int, int]:
    """(number of words, numbers per word) of a first line."""
    width = int(head[1][:20])
    if not 1 <= width <= _MAX_WIDTH:
        raise ValueError(f"{file} says that its vectors are {width} wide; they are 1 to {_MAX_WIDTH:,} wide")
    return int(head[0][:20]), width


def _numbers_at_the_end(word: bytes) -> int:
    """How many numbers stand behind the word proper: 1 for b"the 0.25", 0 for b"at home" and b"7"."""
    count = 0
    for part in reversed(word.split(None)[1:]):
        try:
            float(part)
        except ValueError:
            break
        count += 1
    return count


def _decoded(word: bytes, file: Path, line: int) -> str:
    try:
        return word.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{file}, line {line}, is not UTF-8 (byte 0x{word[error.start]:02x}); save it as UTF-8, "
            "or name it .bin if it is word2vec's binary form"
        ) from None


def _read_binary(file: Path, stream: IO[bytes], selected: _SelectedWords) -> int:
    """Takes words, each followed by a blank and 4 bytes per number, and returns the width."""
    head = stream.readline(_CHUNK_BYTES).split(None)
    if len(head) != 2 or not (head[0].isdigit() and head[1].isdigit()):
        raise ValueError(f"{file} does not start with its number of words and their width; word2vec's binary form does")
    declared_words, width = _declared_size(file, head)
    buffer, offset = b"", 0
    for num_words in range(declared_words):
        blank = buffer.find(b" ", offset)
        while blank < 0 or len(buffer) <= blank + 4 * width:
            chunk = stream.read(max(_CHUNK_BYTES, 4 * width))
            if not chunk:
                raise ValueError(f"{file} says that it has {declared_words} words and has {num_words}; it is cut short")
            buffer, offset = buffer[offset:] + chunk, 0
            blank = buffer.find(b" ")
        word = buffer[offset:blank].lstrip(b"\n")  # some writers end each vector with a new line
        numbers = np.frombuffer(buffer, dtype="<f4", count=width, offset=blank + 1)
        selected.add(word.decode("utf-8", errors="replace"), numbers)  # a word cut in the middle of a letter is common
        offset = blank + 1 + 4 * width
    return width


def _read_npz(file: Path, selected: set[str] | None) -> tuple[list[str], NDArray[np.float32]]:
    try:
        with np.load(file, allow_pickle=False) as arrays:
            missing = {"words", "vectors"} - set(arrays.files)
            if missing:
                present = ", ".join(sorted(arrays.files)) or "nothing"
                raise ValueError(f"it holds {present}, not 'words' and 'vectors'")
            words, vectors = [str(word) for word in arrays["words"].reshape(-1)], arrays["vectors"]
    except DAMAGED as error:
        raise ValueError(f"{file} cannot be read as word vectors ({reason(error)}); make it again") from None
    if vectors.dtype.kind not in "iufb":
        raise ValueError(f"{file} holds vectors of type {vectors.dtype}; give numbers")
    if vectors.ndim != 2 or len(vectors) != len(words):
        raise ValueError(f"{file} holds {len(words)} words and vectors of shape {vectors.shape}; give a row per word")
    rows: dict[str, int] = {}
    for row, word in enumerate(words):
        if selected is None or word in selected:
            rows.setdefault(word, row)
    with np.errstate(over="ignore"):  # infinite then, and refused
        return list(rows), vectors[list(rows.values())].astype(np.float32)
