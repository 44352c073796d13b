"""Tables as people have them: formats, headers, types, lines that do not fit, and what is refused."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

from ngm.io.tables import read_table
from ngm.io.tables.text_format import detect_format, has_header
from tests.feature_tables import rows

ROWS = [("a", 1, 0.5), ("b", 2, None), (None, 3, 2.25)]
CSV = "name,size,share\na,1,0.5\nb,2,\n,3,2.25\n"
TSV = CSV.replace(",", "\t")
LINES = '{"name": "a", "size": 1, "share": 0.5}\n{"name": "b", "size": 2}\n{"name": null, "size": 3, "share": 2.25}\n'


def text(name: str, content: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        opened = gzip.open if name.endswith(".gz") else open
        with opened(folder / name, "wt", encoding="utf-8") as file:
            file.write(content)
        return folder / name

    return write


def by_duckdb(name: str, options: str = "") -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        duckdb.sql(f"COPY (FROM read_csv('{text('plain.csv', CSV)(folder)}')) TO '{folder / name}' {options}")
        return folder / name

    return write


def parts(folder: Path) -> Path:
    (folder / "parts" / "deep").mkdir(parents=True)
    (folder / "parts" / "_SUCCESS").write_text("all\ndone\n", encoding="utf-8")
    text("1.csv", "name,size,share\na,1,0.5\n")(folder / "parts")
    text("2.csv", "name,size,share\nb,2,\n,3,2.25\n")(folder / "parts" / "deep")
    return folder / "parts"


SOURCES: dict[str, Callable[[Path], object]] = {
    "csv": text("t.csv", CSV),
    "tsv": text("t.tsv", TSV),
    "semicolons": text("t.txt", CSV.replace(",", ";")),
    "bars": text("t", CSV.replace(",", "|")),
    "windows": text("t.csv", CSV.replace("\n", "\r\n")),
    "gz": text("t.csv.gz", CSV),
    "zst": by_duckdb("t.csv.zst", "(COMPRESSION zstd)"),
    "parquet": by_duckdb("t.parquet"),
    "json lines": text("t.jsonl", LINES),
    "json lines gz": text("t.ndjson.gz", LINES),
    "json": text("t.json", "[" + LINES.strip().replace("\n", ",") + "]"),
    "folder": parts,
    "pattern": lambda folder: str(parts(folder) / "**" / "*.csv"),
    "query": lambda folder: f"SELECT * FROM read_csv('{text('t.csv', CSV)(folder)}')",
    "several statements": lambda _: (
        "SET VARIABLE top = 3; FROM (VALUES ('a', 1, .5), ('b', 2, NULL), (NULL, getvariable('top'), 2.25)) "
        "t(name, size, share);"
    ),
    "pandas": lambda _: pd.DataFrame(ROWS, columns=["name", "size", "share"]),
    "dict": lambda _: {"name": ["a", "b", None], "size": [1, 2, 3], "share": np.array([0.5, np.nan, 2.25])},
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_format_gives_the_same_table(kind: str, tmp_path: Path) -> None:
    table = read_table(SOURCES[kind](tmp_path))  # type: ignore[arg-type]
    assert table.columns == ("name", "size", "share")
    assert len(table) == 3
    assert rows(table) == ROWS
    assert table.bad.count == 0


def test_a_table_that_was_read_is_taken_as_it_is() -> None:
    table = read_table({"a": [1]})
    assert read_table(table) is table


@pytest.mark.parametrize(
    ("content", "columns", "first"),
    [
        ("a\tb\t1.0\nb\tc\t0.5\n", ("column0", "column1", "column2"), ("a", "b", 1.0)),
        ("a\tb\n", ("a", "b"), None),  # all is text: a header
        ("1\t2\n3\t4\n", ("column0", "column1"), (1, 2)),
        ("id\tsize\n3\t4\n", ("id", "size"), (3, 4)),
        ("id\tid\t\tID\n1\t2\t3\t4\n", ("id", "id_1", "column2", "ID_1_1"), (1, 2, 3, 4)),
        ("only\nx y\nz\n", ("only",), ("x y",)),
    ],
)
def test_the_first_row_holds_names_where_it_holds_no_number(
    content: str, columns: tuple[str, ...], first: tuple[object, ...] | None, tmp_path: Path
) -> None:
    source = text("t.tsv", content)(tmp_path)
    if first is None:
        with pytest.raises(ValueError, match=r"has columns \(a, b\) and no rows; give a table with rows$"):
            read_table(source)
        assert rows(read_table(source, header=False)) == [columns]
        return
    table = read_table(source)
    assert (table.columns, rows(table)[0]) == (columns, first)


def test_a_header_is_known_by_its_names_or_by_the_numbers_below() -> None:
    words = [["a", "b"], ["c", "d"]]
    assert has_header(words, if_text=True)
    assert not has_header(words, if_text=False)
    assert has_header(words, known_names=["B"], if_text=False)
    assert has_header([["a", "b"], ["c", "4"], ["d", ""]], if_text=False)
    assert not has_header([["a", "b"], ["c", "4"], ["d", "e"]], if_text=False)
    assert not has_header([["b", "1"], ["c", "4"]], known_names=["b"])


def test_the_mark_that_cuts_most_lines_alike_separates() -> None:
    assert detect_format(["a,b;c\n", "d;e\n", "f,g,h;i\n"]).delimiter == ";"
    assert detect_format(['"x;y",1\n', '"z;z;z",2\n', "bad\n"]).delimiter == ","
    assert detect_format(["word\n", "other\n"]).delimiter == ","


def test_ids_and_codes_stay_as_they_are_written(tmp_path: Path) -> None:
    content = "zip,big,float,signed,mixed,date\n007,9223372036854775807,1e3,-1,1,2024-01-01\n010,5,.5,0,x,2024-01-02\n"
    table = read_table(text("t.csv", content)(tmp_path))
    assert rows(table)[0] == ("007", 9223372036854775807, 1000.0, -1, "1", "2024-01-01")
    assert table.column("signed").dtype == np.int64
    assert table.column("float").dtype == np.float64
    huge = read_table(text("t.csv", "a,b\n9223372036854775808,x\n")(tmp_path), header=True)
    assert huge.column("a").dtype == np.float64  # a number, if not one that 64 bits hold


def test_quotes_hold_delimiters_and_line_breaks_together(tmp_path: Path) -> None:
    table = read_table(text("t.csv", 'id,body\n1,"a, ""b""\nc"\n2,plain\n')(tmp_path))
    assert rows(table) == [(1, 'a, "b"\nc'), (2, "plain")]


def test_lines_that_do_not_fit_are_counted_and_shown(tmp_path: Path) -> None:
    content = "a,b\n1,2\n3\n4,5,6\n7,8\n" + "9\n10,11\n" * 5
    table = read_table(text("t.csv", content)(tmp_path))
    assert rows(table) == [(1, 2), (7, 8), *[(10, 11)] * 5]
    assert table.bad.count == 7
    assert table.bad.examples == (
        "line 3: '3' (fewer than 2 fields)",
        "line 4: '4,5,6' (more than 2 fields)",
        "line 6: '9' (fewer than 2 fields)",
    )


def test_missing_whole_numbers_are_none_and_missing_numbers_nan() -> None:
    table = read_table({"whole": [1, None], "number": [0.5, None], "word": ["x", None]})
    assert table.column("whole").tolist() == [1, None]
    assert table.column("word").tolist() == ["x", None]
    np.testing.assert_array_equal(table.column("number"), [0.5, np.nan])


def test_categories_and_mixed_json_come_as_text(tmp_path: Path) -> None:
    assert read_table(pd.DataFrame({"c": pd.Categorical(["u", "v"])})).column("c").tolist() == ["u", "v"]
    lines = text("t.jsonl", '{"id": 1}\n{"id": "b"}\n')(tmp_path)
    assert read_table(lines).column("id").tolist() == ["1", "b"]


def refused(source: object, message: str, **more: object) -> None:
    with pytest.raises((ValueError, OSError), match=rf"\A{re.escape(message)}\Z"):
        read_table(source, **more)  # type: ignore[arg-type]


def test_what_cannot_be_read_is_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text("edges.csv", CSV)(tmp_path)
    text("empty.csv", "")(tmp_path)
    text("names.csv", "src,dst\n")(tmp_path)
    (tmp_path / "folder").mkdir()
    refused("edgs.csv", "edgs.csv is not there (did you mean 'edges.csv'?); give a file, a folder or a query")
    refused("part-*.csv", "no file matches part-*.csv; check the pattern")
    refused("folder", "folder is an empty folder; name a folder of table files")
    refused("empty.csv", "empty.csv is empty; give a file with a row per line")
    refused("names.csv", "names.csv has columns (src, dst) and no rows; give a table with rows")
    refused("SELECT a FROM nowhere", "the query cannot be read: Catalog Error: Table with name nowhere does not exist!")
    refused("SELECT FROM WHERE 1", 'the query cannot be read: Parser Error: syntax error at or near "WHERE"')
    refused("edges.csv", "delimiter is '::'; give one character, such as ',' or a tab", delimiter="::")
    refused(
        "SELECT 1 AS a",
        "the query is not a text file, so delimiter and header have no effect; leave them out",
        header=True,
    )
    refused({"a": [1], "b": [1, 2]}, "columns of the table differ in length ('a' 1, 'b' 2); give each an entry per row")
    refused({"a": [[1, 2]]}, "column 'a' has shape (1, 2); give (n,), a value per row")
    refused(
        7,
        "the table is a int; give a file, a folder, a query, a dict of columns, or a table of pandas, polars or arrow",
    )
    text("a.db", "")(tmp_path)
    refused(
        "a.db", "a.db is not a text, Parquet or JSON file; give a query, such as \"FROM sqlite_scan('a.db', 'edges')\""
    )
    text("a.csv", CSV)(tmp_path / "folder")
    text("b.jsonl", LINES)(tmp_path / "folder")
    refused(
        "folder",
        "the parts are of different kinds: JSON lines (b.jsonl) and text (a.csv); give a pattern for one, such as "
        "'parts/*.csv'",
    )


def test_a_missing_column_is_answered_with_those_there_are(tmp_path: Path) -> None:
    source = text("t.csv", CSV)(tmp_path)
    message = f"{source} has no column 'Sise' (did you mean 'size'?); its columns are name, size, share"
    with pytest.raises(ValueError, match=rf"\A{re.escape(message)}\Z"):
        read_table(source).column("Sise")


def test_one_column_that_looks_like_several_says_what_seems_to_separate(tmp_path: Path) -> None:
    source = text("t.txt", "name size\na 1\nb 2\n")(tmp_path)
    assert rows(read_table(source, delimiter=" ")) == [("a", 1), ("b", 2)]
    message = f"{source} has one column, 'name size'; a space seems to separate, so give delimiter ' '"
    with pytest.raises(ValueError, match=rf"\A{re.escape(message)}\Z"):
        read_table(source).column("name")


def test_a_polars_frame_is_read_without_arrow() -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = polars.DataFrame({"id": ["a", "b", None], "size": [1, None, 3], "x": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]})
    table = read_table(frame)
    assert table.column("id").tolist() == ["a", "b", None]
    assert table.column("size").tolist() == [1, None, 3]
    assert [row.tolist() for row in table.column("x")] == [[1, 2], [3, 4], [5, 6]]
