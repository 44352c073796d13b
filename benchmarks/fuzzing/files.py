"""Files that are wrong: tables of every dialect and encoding, and good files with bytes, words or values changed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from random import Random

from fuzzing.values import ODD_WORDS, WORDS

ENCODINGS = (
    "utf-8",
    "utf-8",
    "utf-8",
    "utf-8-sig",
    "utf-16",
    "utf-16-le",
    "utf-32",
    "latin-1",
    "cp1252",
    "shift_jis",
    "ascii",
)
NAMES = ("id", "src", "dst", "source", "target", "weight", "w", "label", "topic", "text", "x", "")
ODD_NAMES = (
    *NAMES,
    "ID",
    "Id",
    "rowid",
    "c",
    "select",
    "a b",
    'a"b',
    "a'b",
    "é",
    "\x00",
    "1",
    "column0",
    "x" * 200,
    ";",
    "\ufeff",
    "_id",
    "*",
    "WEIGHT",
)
FIELDS = (
    *(
        "a",
        "b",
        "c",
        "1",
        "2",
        "3",
        "0.5",
        "-1",
        "",
        "NaN",
        "nan",
        "inf",
        "1e400",
        "0x10",
        "007",
        "+1",
        "1.",
        ".5",
        "1,5",
    ),
    *("99999999999999999999", "-9223372036854775808", "true", "NULL", "None", "2020-01-01", " 1", "1 ", "é", "\ufeff"),
)
ODD_JSON = (
    None,
    True,
    -1,
    0,
    2**63,
    2**70,
    1e308,
    1.5,
    float("nan"),
    float("inf"),
    "",
    "x",
    "nan",
    [],
    {},
    [None],
    [[]],
    {"a": 1},
    ["a"] * 3,
    [1, "a"],
    -(2**40),
)


def cell(rng: Random) -> str:
    """A field of a table."""
    kind = rng.random()
    if kind < 0.5:
        return str(rng.randint(0, 5))
    return rng.choice(FIELDS) if kind < 0.9 else rng.choice(ODD_WORDS)


def quoted(rng: Random, value: str, delimiter: str) -> str:
    """A field as somebody writes it, perhaps with quotes that do not match."""
    kind = rng.random()
    if kind < 0.05:
        return rng.choice(['"', "'", '""', '"a', 'a"b', '\\"']) + value
    if any(mark in value for mark in ('"', "\n", "\r", delimiter)) and kind < 0.9:
        return '"' + value.replace('"', '""') + '"'
    return value


def delimited(rng: Random) -> bytes:
    """A text file of rows: any dialect, any encoding, perhaps ragged, damaged or empty."""
    delimiter = rng.choice([",", ",", "\t", ";", "|", " ", "::", ",,", "\x01"])
    width, rows = rng.choice([2, 2, 3, 3, 4, 1, 7]), rng.choice([5, 5, 5, 1, 0, 30])
    names = [rng.choice(NAMES) if rng.random() < 0.7 else rng.choice(ODD_NAMES) for _ in range(width)]
    if rng.random() < 0.7:
        names = [name or f"c{i}" for i, name in enumerate(dict.fromkeys(names))]
    table = [names] * rng.choice([1, 1, 1, 0, 2]) + [[cell(rng) for _ in names] for _ in range(rows)]
    for row in range(len(table)):
        if rng.random() < 0.03:
            table[row] = table[row][: rng.randint(0, width)] + ["extra"] * rng.choice([0, 0, 1, 3])
    end = rng.choice(["\n", "\n", "\n", "\r\n", "\r", "\n\n"])
    content = end.join(delimiter.join(quoted(rng, field, delimiter) for field in row) for row in table)
    content = rng.choice(["", "", "", "# comment\n", "\n", " ", "%"]) + content + rng.choice([end, end, ""])
    return damaged(rng, content.encode(rng.choice(ENCODINGS), "replace"), 0.15)


def nearly_good(rng: Random, stem: str) -> bytes:
    """A proper table of edges or nodes with a few fields changed, in some dialect."""
    edges = [["src", "dst", "weight"]] + [
        [f"n{rng.randrange(6)}", f"n{rng.randrange(6)}", f"{rng.random():.2f}"] for _ in range(8)
    ]
    nodes = [["id", "label", "x", "text"]] + [[f"n{i}", "ab"[i % 2], f"{rng.random():.2f}", "a word"] for i in range(6)]
    table = edges if stem == "edges" else nodes
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        row = rng.choice(table)
        row[rng.randrange(len(row))] = cell(rng)
    if rng.random() < 0.1:
        rng.choice(table).pop()
    delimiter, end = rng.choice([",", ",", ",", "\t", ";", " ", "|"]), rng.choice(["\n", "\n", "\r\n"])
    content = end.join(delimiter.join(quoted(rng, field, delimiter) for field in row) for row in table) + end
    return damaged(rng, content.encode(rng.choice(ENCODINGS[:5]) if rng.random() < 0.3 else "utf-8", "replace"), 0.05)


def json_lines(rng: Random) -> bytes:
    """Rows as JSON, one per line or in one list, perhaps with other values and broken lines."""
    names = [rng.choice(NAMES[:-1]) for _ in range(rng.randint(1, 4))]
    rows = [
        {n: rng.choice([rng.randint(0, 4), cell(rng), rng.choice(ODD_JSON)]) for n in names}
        for _ in range(rng.randint(0, 6))
    ]
    lines = [json.dumps(row) for row in rows]
    while lines and rng.random() < 0.2:
        lines[rng.randrange(len(lines))] = rng.choice(["", "{", "[]", "null", "3", '{"a": }', '"x"', "{}"])
    whole = rng.choice(["\n".join(lines), "\n".join(lines), "[" + ",".join(lines) + "]"])
    return damaged(rng, whole.encode(), 0.15)


def parquet(rng: Random, folder: Path) -> bytes:
    """A Parquet file, perhaps damaged."""
    from ngm.io.tables.query import connect

    file = folder / "made.parquet"
    columns = ", ".join(f"{_sql(rng)} AS c{i}" for i in range(rng.randint(1, 3)))
    connect().execute(f"COPY (SELECT {columns} FROM range({rng.choice([0, 1, 6])}) t(i)) TO '{file}' (FORMAT parquet)")
    content = file.read_bytes()
    file.unlink()
    return damaged(rng, content, 0.5)


def _sql(rng: Random) -> str:
    kinds = (
        "i",
        "i::VARCHAR",
        "i / 3",
        "NULL",
        "NULL::INT",
        "[i, 2]",
        "{'a': i}",
        "i::HUGEINT * 99999999999999999999",
        "DATE '2020-01-01'",
    )
    return rng.choice(
        (
            *kinds,
            "i % 2 = 0",
            "'x'::BLOB",
            "(i % 2)::DECIMAL(9, 3)",
            "'nan'::DOUBLE",
            "INTERVAL 1 DAY",
            "uuid()",
            "TIMESTAMP '2020-01-01'",
        )
    )


def table_file(rng: Random, folder: Path, stem: str = "table") -> Path:
    """Writes a table of some kind, under some name."""
    kind = rng.choice(
        [
            "csv",
            "csv",
            "csv",
            "csv",
            "csv",
            "tsv",
            "txt",
            "csv.gz",
            "jsonl",
            "json",
            "parquet",
            "dat",
            "csv.zst",
            "xlsx",
            "",
        ]
    )
    if kind == "parquet":
        content = parquet(rng, folder)
    elif kind in ("json", "jsonl"):
        content = json_lines(rng)
    else:
        content = nearly_good(rng, stem) if rng.random() < 0.6 else delimited(rng)
    if kind == "csv.gz":
        content = damaged(rng, gzip.compress(content, mtime=0), 0.2)
    name = (
        rng.choice([stem] * 8 + ["a b", "a'b", 'q"t', "ü", "[1]", "a*", "x?", "-n", "{a}", "%20", "$HOME", "~"])
        if stem == "table"
        else stem
    )
    file = folder / (f"{name}.{kind}" if kind else name)
    file.write_bytes(content)
    return file


def damaged(rng: Random, content: bytes, chance: float = 1.0) -> bytes:
    """The bytes, with this chance cut short, with some flipped, put in, taken out or repeated."""
    if rng.random() >= chance:
        return content
    at = rng.randrange(len(content) + 1)
    kind = rng.randrange(8)
    if kind == 0:
        return content[:at]
    if kind == 1:
        return b""
    if kind == 2:
        return content[:at] + bytes(rng.getrandbits(8) for _ in range(rng.choice([1, 2, 8]))) + content[at:]
    if kind == 3:
        return content[:at] + content[at + rng.choice([1, 2, 8, 64]) :]
    if kind == 4:
        return (
            content[:at] + rng.choice([b"\x00", b"\xff\xfe", b"\xc3", b'"', b"\n", b"\x1a", b"\x1b[31m"]) + content[at:]
        )
    if kind == 5:
        return bytes(rng.getrandbits(8) for _ in range(min(len(content), 64)))
    out = bytearray(content)
    for _ in range(rng.choice([1, 1, 4, 32])):
        if out:
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def damage_json(rng: Random, file: Path) -> None:
    """Changes, drops or adds a value somewhere in a JSON file, or its bytes."""
    content = file.read_bytes()
    try:
        held = [json.loads(line) for line in content.splitlines()] if file.suffix == ".jsonl" else [json.loads(content)]
    except ValueError:
        held = []
    if not held or rng.random() < 0.2:
        file.write_bytes(damaged(rng, content))
        return
    place = rng.randrange(len(held))
    held[place] = changed(rng, held[place])
    file.write_text("\n".join(json.dumps(one) for one in held) + "\n", encoding="utf-8")


def changed(rng: Random, value: object) -> object:
    """The value with one of its entries, at any depth, changed, dropped or added."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        kind = rng.random()
        if kind < 0.2:
            return {k: v for k, v in value.items() if k != key}
        if kind < 0.25:
            return {**value, rng.choice(WORDS): rng.choice(ODD_JSON)}
        return {**value, key: changed(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.7:
        place = rng.randrange(len(value))
        kind = rng.random()
        inside: Sequence[object] = [changed(rng, value[place])] if kind < 0.7 else []
        return [*value[:place], *inside, *value[place + (kind < 0.85) :]] if kind < 0.95 else [*value, *value]
    if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.5:
        return rng.choice([-value, value + 1, value - 1, value * 1000, 0, float(value)])
    if isinstance(value, str) and rng.random() < 0.3:
        return rng.choice([value[:-1], value.upper(), value + "x", rng.choice(WORDS)])
    return rng.choice(ODD_JSON)
