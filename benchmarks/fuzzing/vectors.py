"""Word vectors, thesauri and what is read with them."""

from __future__ import annotations

import gzip
import io
import struct
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np

from fuzzing import values
from fuzzing.files import damaged
from fuzzing.values import ODD_WORDS, odd
from ngm.text import document_vectors
from ngm.text.thesaurus import Thesaurus
from ngm.text.word_vectors import WordVectors

FIELDS = ("0.5", "-1", "1e-3", "nan", "inf", "1e400", "", "word", "0x1", "1_000", "½", "1,5")


def make(rng: Random, folder: Path) -> Callable[[], object]:
    """One case."""
    return rng.choice([_text, _text, _binary, _npz, _thesaurus, _thesaurus, _in_memory])(rng, folder)


def _written(rng: Random, folder: Path, name: str, content: bytes, chance: float) -> str:
    content = damaged(rng, content, chance)
    if rng.random() < 0.2:
        name, content = f"{name}.gz", damaged(rng, gzip.compress(content, mtime=0), 0.2)
    (folder / name).write_bytes(content)
    return name if rng.random() < 0.97 else rng.choice(["none.txt", "", ".", "\x00", "x" * 300])


def _read_vectors(rng: Random, file: object) -> Callable[[], object]:
    keep = odd(rng, [None, None, ["alpha"], []], 0.05, [3, [None], "word", [3]])
    texts = values.texts(rng, 4) if rng.random() < 0.5 else ["alpha beta", ""]
    idf = odd(rng, [False, True], 0.1)

    def call() -> object:
        words = WordVectors.read(file, keep)
        return repr(words), document_vectors(texts, words, idf).coverage

    return call


def _text(rng: Random, folder: Path) -> Callable[[], object]:
    width, count = rng.choice([1, 2, 3, 0]), rng.choice([0, 1, 5])
    rows = []
    for _ in range(count):
        word = rng.choice(["alpha", "beta", "gamma", "delta"]) if rng.random() < 0.9 else rng.choice(ODD_WORDS)
        wide = width if rng.random() < 0.97 else rng.randint(0, 4)
        rows.append(
            " ".join(
                [word, *(f"{rng.random():.2f}" if rng.random() < 0.97 else rng.choice(FIELDS) for _ in range(wide))]
            )
        )
    if rng.random() < 0.3:
        rows.insert(
            0,
            rng.choice(
                [
                    f"{count} {width}",
                    f"{count + 1} {width}",
                    f"{count} 99999999999999999999",
                    "0 0",
                    "x y",
                    f"{count} 0",
                    f"{2**40} {2**40}",
                ]
            ),
        )
    content = (
        rng.choice(["\n", "\r\n"])
        .join(rows)
        .encode(rng.choice(["utf-8", "utf-8", "utf-8", "utf-16", "latin-1", "utf-8-sig"]), "replace")
    )
    return _read_vectors(rng, _written(rng, folder, "v.txt", content, 0.3))


def _binary(rng: Random, folder: Path) -> Callable[[], object]:
    width, count = rng.choice([1, 2, 3]), rng.choice([0, 1, 4])
    head = rng.choice(
        [f"{count} {width}"] * 5
        + [f"{2**40} {width}", f"{count} {2**40}", f"{count} 0", "a b", "3", f"-1 {width}", f"{count} {10**25}"]
    )
    body = b"".join(
        rng.choice([b"alpha", b"beta", b"\xc3", b"x y", b""])
        + b" "
        + struct.pack(f"<{width}f", *(odd_float(rng) for _ in range(width)))
        for _ in range(count)
    )
    return _read_vectors(rng, _written(rng, folder, "v.bin", head.encode() + b"\n" + body, 0.4))


def odd_float(rng: Random) -> float:
    """Mostly between 0 and 1."""
    return rng.random() if rng.random() < 0.95 else rng.choice([float("nan"), float("inf"), 3e38, -1.0])


def _npz(rng: Random, folder: Path) -> Callable[[], object]:
    file = io.BytesIO()
    words: object = np.array(["alpha", "beta", "gamma"])
    words = rng.choice(
        [
            words,
            words,
            words,
            np.array([1, 2, 3]),
            np.array(["a", "a", "b"]),
            np.array(["a"]),
            np.array("a"),
            np.array([["a"]]),
            np.array([b"a", b"b", b"c"]),
            np.zeros(0),
        ]
    )
    vectors = values.array(rng, 3) if rng.random() < 0.5 else values.numpy_rng(rng).normal(size=(3, 2))
    if vectors.dtype.kind == "O":
        vectors = np.zeros((3, 2))
    np.savez(
        file, **{rng.choice(["words"] * 9 + ["word"]): words, rng.choice(["vectors"] * 9 + ["v"]): np.asarray(vectors)}
    )
    (folder / "v.npz").write_bytes(damaged(rng, file.getvalue(), 0.4))
    return _read_vectors(rng, rng.choice(["v.npz", folder / "v.npz"]))


def _thesaurus(rng: Random, folder: Path) -> Callable[[], object]:
    lines = [
        rng.choice(
            [
                "UTF-8",
                "UTF-8",
                "UTF-8",
                "ISO8859-1",
                "utf-16",
                "",
                "nothing",
                "hex",
                "rot13",
                "idna",
                "punycode",
                "undefined",
                "base64",
                "zlib",
                "unicode_escape",
            ]
        )
    ]
    for word in rng.sample(["good", "big", "cat", "sea side", "é", "", "a|b", "3rd"], rng.randint(0, 5)):
        count = rng.randint(0, 3)
        said = count if rng.random() < 0.95 else rng.choice([-1, count + 1, 10**20, "x", "", "²", "٣"])
        lines.append(f"{word}|{said}")
        for _ in range(count):
            terms = [
                rng.choice(
                    [
                        "fine",
                        "large",
                        "kitty",
                        "bad (antonym)",
                        "x (generic term)",
                        "",
                        " ",
                        "(",
                        "good",
                        "日本",
                        "\x00",
                    ]
                )
                for _ in range(rng.randint(0, 3))
            ]
            lines.append("|".join([rng.choice(["(adj)", "-", "(noun)", ""]), *terms]))
    content = "\n".join(lines).encode(rng.choice(["utf-8", "utf-8", "latin-1", "utf-16"]), "replace")
    file = _written(rng, folder, "th.dat", content, 0.3)
    p, q = (odd(rng, [0.5, 0.1, 0.99], 0.1) for _ in range(2))
    texts = values.texts(rng, 3) if rng.random() < 0.3 else ["a good CAT", "", "Big"]

    def call() -> object:
        thesaurus = Thesaurus.read(file, p, q)
        found = thesaurus.find(texts)
        return repr(thesaurus), thesaurus.replace(found, np.random.default_rng(0))

    return call


def _in_memory(rng: Random, folder: Path) -> Callable[[], object]:
    if rng.random() < 0.5:
        words = rng.choice(
            [
                ["a", "b", "c"],
                ["a", "a", "b"],
                [],
                None,
                "abc",
                ["a", 3, "c"],
                np.array(["a", "b", "c"]),
                ("a", "b", "c"),
                [None] * 3,
                [[], [], []],
            ]
        )
        vectors = values.array(rng, 3) if rng.random() < 0.7 else rng.choice([np.ones((3, 2)), [[1, 2]] * 3, None, 3])
        texts, idf = values.texts(rng, 4), odd(rng, [True, False, np.ones(3)], 0.3)
        return lambda: document_vectors(texts, WordVectors(words, vectors), idf)
    synonyms = odd(
        rng,
        [
            {"good": ["fine"]},
            {},
            {"good": []},
            {"good": "fine"},
            {"Good": ["fine"]},
            {"a b": ["c"]},
            {3: ["a"]},
            {"good": [3]},
            {"good": None},
            {"good": [""]},
        ],
        0.2,
    )
    p, text = odd(rng, [0.5, 0.1], 0.3), odd(rng, ["a good cat", ""], 0.3)
    return lambda: Thesaurus(synonyms, p).rewrite(text, np.random.default_rng(0))
