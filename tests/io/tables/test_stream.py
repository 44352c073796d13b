"""Tables read piece by piece."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ngm import read_table
from ngm.io.tables.stream import Stream, open_stream


def in_pieces(stream: Stream, column: str, holds: str, size: int = 2) -> list[list[object]]:
    return [piece.column(column).tolist() for piece in stream.pieces({column: holds}, size)]  # type: ignore[dict-item]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text("id,body,size,label\n7,1,1.5,a\n8,22,2,\n9,3 3,nan,b\n10,,4,a\n11,x,5,a\n", encoding="utf-8")
    return path


def test_pieces_are_the_rows_in_their_order(file: Path) -> None:
    stream = open_stream(file).counted(["id"])
    pieces = list(stream.pieces({"body": "text"}, 2, "id", "label"))
    assert [(piece.first, len(piece)) for piece in pieces] == [(0, 2), (2, 2), (4, 1)]
    assert [list(piece.ids or []) for piece in pieces] == [[7, 8], [9, 10], [11]]
    assert [list(piece.labels or []) for piece in pieces] == [["a", None], ["b", "a"], ["a"]]
    assert stream.num_rows == 5


def test_a_column_is_what_is_asked_for_whatever_its_values_look_like(file: Path) -> None:
    stream = open_stream(file).counted()
    assert in_pieces(stream, "id", "text") == [["7", "8"], ["9", "10"], ["11"]]
    assert in_pieces(stream, "body", "text") == [["1", "22"], ["3 3", None], ["x"]]
    first, second, third = in_pieces(stream, "size", "number")
    assert (first, second[1], third) == ([1.5, 2.0], 4.0, [5.0])
    assert np.isnan(second[0])  # type: ignore[call-overload]
    assert in_pieces(stream, "body", "number", 5) == [[1.0, 22.0, "3 3", None, "x"]]


def test_ids_are_whole_numbers_where_all_of_them_are(tmp_path: Path) -> None:
    path = tmp_path / "ids.csv"
    path.write_text("a,b,c\n1,007,2.10\n2,8,2.1\n", encoding="utf-8")
    stream = open_stream(path).counted(["a", "b", "c"])
    assert [stream.type_of(name) for name in "abc"] == ["BIGINT", "VARCHAR", "VARCHAR"]
    (piece,) = stream.pieces({}, 9, "b")
    assert list(piece.ids or []) == ["007", "8"]


def test_types_of_other_sources_stay(tmp_path: Path) -> None:
    day = datetime.date(2020, 1, 2)
    query = (
        f"SELECT 3::DECIMAL(9, 2) AS d, [1, 2]::DECIMAL(9, 1)[] AS v, DATE '{day}' AS t, 5 AS n, true AS b, 'a' AS s"
    )
    stream = open_stream(query)
    assert in_pieces(stream, "d", "number") == [[3.0]]
    assert in_pieces(stream, "v", "numbers") == [[[1.0, 2.0]]]
    assert in_pieces(stream, "b", "number") == [[1.0]]
    assert in_pieces(stream, "s", "number") == [["a"]]
    (piece,) = stream.pieces({"n": "text"}, 9, "t")
    assert piece.column("n").dtype == np.int64  # refused as a text by whoever reads it
    assert list(piece.ids or []) == [str(day)]


def test_lines_that_do_not_fit_are_those_that_read_table_leaves_out(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(
        b'id,body,x\n1,aa,b\n2,caf\xe9,b\n3,ok,caf\xe9\n4,short\n5,too,many,fields\n6,fine,z\n7,"q"uote,z\n8,e,1\n'
    )
    table, stream = read_table(path), open_stream(path).counted()
    assert in_pieces(stream, "id", "number", 9) == [table.column("id").tolist()] == [[1, 6, 8]]
    assert (stream.unread, stream.num_rows) == (table.bad, 3)


def test_broken_json_lines_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1}\n{oops\n{"a": 3}\n', encoding="utf-8")
    stream = open_stream(path).counted()
    assert in_pieces(stream, "a", "number") == [[1.0, 3.0]]
    assert stream.unread == read_table(path).bad


def test_a_table_may_be_longer_than_anything_can_hold() -> None:
    stream = open_stream("SELECT range AS id, 'text ' || range AS body FROM range(1000000000000)").counted()
    pieces = stream.pieces({"body": "text"}, 3, "id")
    assert next(pieces).column("body").tolist() == ["text 0", "text 1", "text 2"]
    assert next(pieces).ids == (3, 4, 5)
    assert stream.num_rows is None


def test_a_query_is_asked_once() -> None:
    stream = open_stream("SELECT 1 AS a WHERE random() < 2; SET VARIABLE a = 5; SELECT getvariable('a') AS a")
    assert in_pieces(stream.counted(["a"]), "a", "number") == [[5.0]]


# Links


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_all_links_of_a_node_come_at_once_whatever_the_size_of_a_piece(size: int, tmp_path: Path) -> None:
    path = tmp_path / "links.csv"
    path.write_text("new,old,weight\n9,a,1\n10,b,2\n9,c,3\n10,a,heavy\n9,d,1\n8,,1\n", encoding="utf-8")
    stream = open_stream(path, temporary=tmp_path / "spill").counted(["new", "old"])
    found: dict[object, set[tuple[object, object]]] = {}
    for source, target, weight in stream.links(size):
        for name in set(source):
            assert name not in found
            found[name] = {(t, w) for s, t, w in zip(source, target, weight, strict=True) if s == name}
    assert list(found) == [8, 9, 10]
    assert found == {8: {(None, 1.0)}, 9: {("a", 1.0), ("c", 3.0), ("d", 1.0)}, 10: {("b", 2.0), ("a", None)}}


def test_links_without_a_weight_weigh_one() -> None:
    stream = open_stream(pd.DataFrame({"new": ["p"], "old": [3]})).counted(["new", "old"])
    assert list(stream.links(5)) == [(["p"], [3], [1.0])]
    assert list(stream.links(5, known_ids=[4])) == [(["p"], ["3"], [1.0])]


def test_links_from_known_nodes_to_new_ones_are_turned_round() -> None:
    table = {"a": [1, 9, 1, 8, 2, None], "b": [9, 2, 2, 7, None, 9]}
    stream = open_stream(pd.DataFrame(table, dtype="Int64")).counted(["a", "b"])
    found = [(s, t) for piece in stream.links(5, known_ids=[1, 2]) for s, t, _ in zip(*piece, strict=True)]
    assert sorted(found, key=str) == [(1, 2), (2, None), (8, 7), (9, 1), (9, 2), (None, 9)]


# Mistakes


def test_an_empty_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "none.csv"
    path.write_text("a,b\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"none.csv has columns \(a, b\) and no rows; give a table with rows$"):
        open_stream(path).counted()
    with pytest.raises(ValueError, match=r"^the query has columns \(a\) and no rows; give a table with rows$"):
        list(open_stream("SELECT 1 AS a WHERE false").counted().pieces({"a": "number"}, 5))
    path.write_bytes("a,b\ncafé,1\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"^none of the 1 rows of .*none\.csv can be used: line 2: .* \(not UTF-8\)$"):
        open_stream(path).counted()


def test_a_column_that_was_not_asked_for_is_refused_by_name(file: Path) -> None:
    (piece,) = open_stream(file).pieces({"body": "text"}, 9)
    with pytest.raises(
        ValueError, match=r"has no column 'bodi' \(did you mean 'body'\?\); its columns are id, body, size, label$"
    ):
        piece.column("bodi")


def test_what_goes_wrong_on_the_way_is_one_line() -> None:
    stream = open_stream("SELECT CASE WHEN range > 5000 THEN error('bad row') ELSE 'a' END AS a FROM range(9000)")
    with pytest.raises(ValueError, match=r"^the query cannot be read: .*bad row"):
        list(stream.pieces({"a": "text"}, 100))


def test_a_name_of_blanks_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^the name of the table is empty; give a file, a folder or a query$"):
        open_stream(" ")
