"""Tables as they come: stray quotes, parts that differ, odd names and ids, databases that must stay as they are."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

from ngm.io.graph_data import read_graph
from ngm.io.tables import read_table
from ngm.io.tables.text_format import detect_format, split_lines
from tests.feature_tables import rows


def write(file: Path, content: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, encoding="utf-8")
    return file


def refused(message: str, edges: object, **more: object) -> None:
    with pytest.raises((ValueError, OSError), match=rf"\A{re.escape(message)}\Z"):
        read_graph(edges, **more)  # type: ignore[arg-type]


# Databases of users


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    with duckdb.connect(tmp_path / "user.db") as connection:
        connection.execute("CREATE TABLE bought AS FROM (VALUES ('ann', 'tea'), ('bob', 'tea')) t(who, what)")
        for name in ("nodes", "ids", "kept", "coded", "seen", "source", "loaded"):
            connection.execute(f"CREATE TABLE {name} AS FROM (VALUES ('ann'), ('bob'), ('tea')) t(id)")
    return tmp_path / "user.db"


@pytest.mark.parametrize("how", ["", "(READ_ONLY)"])
def test_the_database_of_a_query_stays_as_it_is(shop: Path, how: str) -> None:
    before = shop.read_bytes()
    use = f"ATTACH '{shop}' AS shop {how}; USE shop;"
    assert read_graph(f"{use} FROM bought").graph.edges.tolist() == [[0, 2], [1, 2]]
    data = read_graph(f"{use} FROM bought", f"{use} FROM nodes")  # both attach it
    assert data.graph.edges.tolist() == [[0, 2], [1, 2]]
    assert read_graph(f"{use} FROM bought", "FROM shop.nodes").ids.tolist() == ["ann", "bob", "tea"]
    for name in ("nodes", "source", "loaded"):
        assert read_table(f"{use} FROM {name}").column("id").tolist() == ["ann", "bob", "tea"]
    assert shop.read_bytes() == before
    assert not shop.with_name("user.db.wal").exists()


def test_a_query_may_be_longer_than_the_name_of_a_file() -> None:
    assert len(read_table("SELECT 1 AS a" + " " * 5000 + ", 2 AS b")) == 1
    said = f"{'x' * 57 + '...'!r} is too long for a file; a query starts with SELECT, FROM, WITH or the like"
    refused(said, "x" * 5000)


# Quotes


@pytest.mark.parametrize("count", [2000, 600_000])  # the latter: more than DuckDB takes for one line
def test_a_stray_quote_swallows_no_line(count: int, tmp_path: Path) -> None:
    good = "".join(f"u{i}\tv{i}\n" for i in range(2000))
    file = write(tmp_path / "e.tsv", good + '"b\tc\n' + "".join(f"x{i}\ty{i}\n" for i in range(count)))
    data = read_graph(file)
    assert (data.counts["edges"], data.counts["bad_rows"]) == (2000 + count + 1, 0)
    assert '"b' in data.ids.tolist()


def test_two_stray_quotes_in_a_file_with_tabs_swallow_no_line(tmp_path: Path) -> None:
    file = write(tmp_path / "e.tsv", '"Jim\tx\n' + "a\tb\n" * 5 + 'Bob"\ty\n')
    assert read_graph(file, header=False).counts["edge_rows"] == 7


def test_a_stray_quote_among_proper_ones_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "e.csv", 'src,dst\n"a, b",c\n' + "d,e\n" * 3 + '"f,g\n' + "h,i\n" * 4)
    refused(
        f"{file} has a quote that is not closed, in which 4 lines are lost: line 6, '\"f,g'; close the quote or "
        "take it out",
        file,
    )


@pytest.mark.parametrize("mark", [",", "\t"])
def test_quoted_fields_of_several_lines_go_on_working(mark: str, tmp_path: Path) -> None:
    content = 'id,body\n1,"a\n\nc"\n2,plain\n'.replace(",", mark)
    assert rows(read_table(write(tmp_path / "t.csv", content))) == [(1, "a\n\nc"), (2, "plain")]
    late = "id,body\n" + "".join(f"{i},x\n" for i in range(1500)) + '1500,"x, y"\n'
    table = read_table(write(tmp_path / "late.csv", late))
    assert (rows(table)[-1], table.bad.count) == ((1500, "x, y"), 0)


def test_long_texts_are_read(tmp_path: Path) -> None:
    long = "word, " * 50_000
    table = read_table(write(tmp_path / "t.csv", f'id,body\n1,"{long}"\n2,short\n'))
    assert rows(table) == [(1, long), (2, "short")]
    endless = ["id,body\n", '1,"one\n', *["two, three, four\n"] * 998]  # a text that goes beyond the lines looked at
    assert split_lines(endless, ",")[1][0] == "1"
    assert detect_format(endless).names == ("id", "body")


# Parts


def test_parts_that_split_made_lose_no_row(tmp_path: Path) -> None:
    write(tmp_path / "p" / "1.csv", "src,dst,w\na,b,1\n")
    write(tmp_path / "p" / "2.csv", "c,d,\ne,f,3\nbad\n")  # no weight in the first row
    write(tmp_path / "p" / "3.csv", "")
    write(tmp_path / "p" / "4.csv", "only\ng,h,4\n")
    counts = read_graph(tmp_path / "p").counts
    assert (counts["edges"], counts["edge_rows"], counts["bad_rows"]) == (3, 6, 3)
    assert counts["bad_examples"][:2] == [
        "line 3: 'bad' (fewer than 3 fields)",
        "line 1: 'only' (fewer than 3 fields)",
    ]


def test_parts_with_their_columns_in_another_order_are_read_by_name(tmp_path: Path) -> None:
    write(tmp_path / "p" / "1.csv", "id,topic,size\na,x,1\n")
    write(tmp_path / "p" / "2.csv", "size,id,topic\n2,b,y\n")
    write(tmp_path / "p" / "3.csv", "\nid,topic,size\nc,z,3\n")
    assert rows(read_table(tmp_path / "p")) == [("a", "x", 1), ("b", "y", 2), ("c", "z", 3)]


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ("src,dst\nc,d\n", "columns src, dst"),
        ("from,to,w\nc,d,1\n", "columns from, to, w"),
        ("a,b,c\nc,d,1\n", "columns a, b, c"),
        ("bad\nc,d,1,2\ne,f,1,2\n", "4 columns"),
    ],
)
def test_a_part_with_other_columns_is_refused_by_name(second: str, said: str, tmp_path: Path) -> None:
    first = write(tmp_path / "p" / "1.csv", "src,dst,w\na,b,1\n")
    part = write(tmp_path / "p" / "2.csv", second)
    refused(f"{part} has {said}, {first} has src, dst, w; give parts with the same columns", tmp_path / "p")


# How a file is laid out


def test_blank_lines_and_comments_above_the_header_are_no_rows(tmp_path: Path) -> None:
    assert rows(read_table(write(tmp_path / "t.csv", "\n\nid,size\na,1\n"))) == [("a", 1)]
    snap = "# Directed graph: web\n# Nodes: 3\n#\n# FromNodeId\tToNodeId\n5\t6\n6\t7\nbad\n"
    counts = read_graph(write(tmp_path / "web.txt", snap)).counts
    assert (counts["edge_rows"], counts["edges"], counts["bad_rows"], counts["comments"]) == (3, 2, 1, 4)
    assert counts["bad_examples"] == ["line 7: 'bad' (fewer than 2 fields)"]
    tags = read_graph(write(tmp_path / "tags.csv", "#cats,#dogs\n#dogs,ann\n"))
    assert tags.ids.tolist() == ["#cats", "#dogs", "ann"]


@pytest.mark.parametrize(
    ("name", "line", "mark"),
    [
        ("names.tsv", "Smith, John\tDoe, Jane\t0.5\n", "\t"),
        ("names.txt", "Smith, John\tDoe, Jane\t0.5\n", "\t"),
        ("t.csv", "a;b;0,5\n", ";"),
    ],
)
def test_of_several_marks_that_cut_alike_the_rarer_in_texts_separates(
    name: str, line: str, mark: str, tmp_path: Path
) -> None:
    assert len(read_table(write(tmp_path / name, line * 3)).columns) == line.count(mark) + 1
    commas = ["a,b\tc\n", "d,e\tf\n", "g,h i\n"]  # more lines are cut by the comma
    assert [detect_format(commas, tab=tab).delimiter for tab in (False, True)] == [",", "\t"]


# Ids


def test_ids_with_a_point_are_text(tmp_path: Path) -> None:
    nodes = write(tmp_path / "n.csv", "id,share\n2101.10000,0.5\n2101.1,nan\n1.0,2.5\n")
    edges = write(tmp_path / "e.csv", "src,dst\n2101.10000,2101.1\n2101.1,1.0\n")
    for given in ((edges, nodes), (read_table(edges), read_table(nodes))):
        data = read_graph(*given)
        assert data.ids.tolist() == ["2101.10000", "2101.1", "1.0"]
        assert data.graph.edges.tolist() == [[0, 1], [1, 2]]
        np.testing.assert_array_equal(data.column("share"), [0.5, np.nan, 2.5])


@pytest.mark.parametrize("names", [("id", "h"), ("rowid", "id"), ("u", "rowid"), ("k", "gap"), ("s", "t")])
@pytest.mark.parametrize("ids", [["a", "b"], [7, 9]])
def test_columns_may_have_any_name(names: tuple[str, str], ids: list[str] | list[int]) -> None:
    edges = {names[0]: ids[:1], names[1]: ids[1:]}
    assert read_graph(edges).graph.edges.tolist() == [[0, 1]]
    nodes = {"id": ids[:1], "rowid": [1], "n": ["x"]}
    data = read_graph(edges, nodes, source=names[0], target=names[1], label="n", dangling="add")
    assert data.ids.tolist() == ids
    assert data.column("rowid").tolist() == [1, None]


def test_ids_beyond_64_bits_stay_apart(tmp_path: Path) -> None:
    big = 2**64 - 2
    data = read_graph({"u": np.array([big, 5], np.uint64), "v": np.array([big + 1, big], np.uint64)})
    assert data.ids.tolist() == [str(big), str(big + 1), "5"]
    assert data.graph.edges.tolist() == [[0, 1], [0, 2]]
    assert read_graph({"u": np.array([9], np.uint64), "v": np.array([10], np.uint64)}).ids.tolist() == [9, 10]
    huge = "SELECT unnest([{0}, {0} + 1])::HUGEINT AS {1}, 7::HUGEINT AS x"
    for start in (2**70, 3):
        data = read_graph(huge.format(start, "u"), huge.format(start, "id"), dangling="add")
        assert [str(v) for v in data.ids] == [str(start), str(start + 1), "7"]


def test_nan_is_missing(tmp_path: Path) -> None:
    nan = float("nan")
    for words in (["x", nan], np.array(["x", nan], dtype=object)):
        data = read_graph({"u": ["a"], "v": ["b"]}, {"id": ["a", "b"], "label": words})
        assert data.y is not None
        assert data.y.tolist() == ["x", None]
        assert (data.counts["classes"], data.counts["unlabeled"]) == (1, 1)
    duckdb.sql(f"COPY (FROM (VALUES (1::DOUBLE, 2, 3), ('nan', 3, 4)) t(u, v, x)) TO '{tmp_path / 'e.parquet'}'")
    data = read_graph(tmp_path / "e.parquet")
    assert (data.ids.tolist(), data.counts["bad_rows"]) == ([1, 2], 1)
    duckdb.sql(f"COPY (FROM (VALUES (1, 2::DOUBLE), (2, 'nan')) t(id, label)) TO '{tmp_path / 'n.parquet'}'")
    assert read_graph(tmp_path / "e.parquet", tmp_path / "n.parquet", label="label").counts["classes"] == 1
    assert read_graph(pd.DataFrame({"u": ["a", nan], "v": ["b", "c"]})).ids.tolist() == ["a", "b"]


# What is counted and refused


def test_broken_lines_of_json_are_counted(tmp_path: Path) -> None:
    lines = write(tmp_path / "t.jsonl", '{"u": "a", "v": "b"}\n{"u": "a",\n{"u": null, "v": "c"}\n')
    table = read_table(lines)
    assert rows(table) == [("a", "b"), (None, "c")]
    assert (table.bad.count, table.bad.examples) == (1, ("row 2 (broken, or without a value)",))
    counts = read_graph(lines).counts
    assert (counts["edge_rows"], counts["edges"], counts["bad_rows"]) == (3, 1, 2)


def test_a_table_that_was_read_brings_its_bad_lines_along(tmp_path: Path) -> None:
    edges = write(tmp_path / "e.csv", "src,dst\na,b\nbad\n")
    nodes = write(tmp_path / "n.csv", "id,topic\na,x\nbad\nb,y\n")
    assert read_graph(read_table(edges), read_table(nodes)).counts == read_graph(edges, nodes).counts


def test_tables_without_anything_to_use_are_refused(tmp_path: Path) -> None:
    for name in ("e.jsonl", "e.csv"):
        refused(f"{tmp_path / name} is empty; give a file with a row per line", write(tmp_path / name, ""))
    blank = write(tmp_path / "blank.jsonl", "\n\n")
    refused(f"{blank} is empty; give a file with a row per line", {"u": ["a"], "v": ["b"]}, nodes=blank)
    refused(f"{tmp_path / 'e.pq'} is empty; give a file with rows", write(tmp_path / "e.pq", ""))
    bad = write(tmp_path / "bad.csv", "src,dst\na,b,c\nb\n")
    why = "line 2: 'a,b,c' (more than 2 fields); line 3: 'b' (fewer than 2 fields)"
    refused(f"none of the 2 rows of {bad} can be used: {why}", bad, header=True)
    refused("none of the 1 rows of edges can be used: ', b' (no source)", {"u": [None], "v": ["b"]})
    two = "edges has two columns (src, w), and 'w' is the weight; an edge needs two more, a source and a target"
    refused(two, {"src": ["a"], "w": [1.0]})
