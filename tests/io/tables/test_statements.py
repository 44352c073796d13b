"""Queries only read; one that nobody typed is a single SELECT over local files."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from ngm import read_table
from ngm.io.tables.query import connect
from ngm.io.tables.statements import parse_sql, referenced_files
from tests.commands import Run, runner
from tests.predictions import new_rows
from tests.predictions import train as train_run
from tests.train_tables import TEXTS, labels

LONG = "SELECT id, body, topic FROM 'texts.csv' WHERE " + " OR ".join(f"id = {i}" for i in range(100, 130))
TRAIN = ("--text", "body", "--label", "topic", "--epochs", "1", "--network", "lstm", "--no-report", "--json")
WRITING = [  # what is refused, and the word that says why
    ("SELECT 1 AS a; COPY (SELECT 1) TO 'owned.csv'; SELECT 2 AS a", "COPY"),
    ("SELECT 1 AS a; COPY (SELECT 1) TO 'owned.csv'", "COPY"),
    ("WITH a AS (SELECT 1) SELECT * FROM a; EXPORT DATABASE 'owned'; SELECT 1 AS b", "EXPORT"),
    ("ATTACH 'shop.db' AS shop; INSERT INTO shop.t VALUES (2); FROM shop.t", "INSERT"),
    ("ATTACH 'shop.db' AS shop; UPDATE shop.t SET a = 2; FROM shop.t", "UPDATE"),
    ("ATTACH 'shop.db' AS shop; DELETE FROM shop.t; FROM shop.t", "DELETE"),
    ("ATTACH 'shop.db' AS shop; DROP TABLE shop.t; SELECT 1 AS a", "DROP"),
    ("ATTACH 'shop.db' AS shop; ALTER TABLE shop.t ADD COLUMN b INT; FROM shop.t", "ALTER"),
    ("ATTACH 'shop.db' AS shop; CREATE TABLE shop.u AS SELECT 1 AS a; FROM shop.t", "attached for writing"),
    ("SELECT 1; CALL enable_logging('QueryLog', storage = 'file', storage_path = 'owned'); SELECT 1 AS a", "CALL"),
    ("SELECT 1; PRAGMA enable_profiling; SELECT 1 AS a", "PRAGMA"),
    ("SELECT 1; IMPORT DATABASE 'owned'; SELECT 1 AS a", "PRAGMA|schema.sql"),
]
UNTRUSTED = [  # in somebody's file
    ("SELECT 1 AS a; COPY (SELECT 1) TO 'owned.csv'; SELECT 2 AS a", "3 statements"),
    ("SET VARIABLE a = 1; SELECT 1 AS a", "2 statements"),
    ("ATTACH 'shop.db' AS shop; FROM shop.t", "2 statements"),
    ("ATTACH 'shop.db' AS shop", "ATTACH"),
    ("INSTALL httpfs; LOAD httpfs; FROM 'http://127.0.0.1:9/x.csv'", "3 statements"),
    ("FROM 'http://127.0.0.1:9/x.csv'", "httpfs"),
    ("FROM read_parquet('s3://bucket/x.parquet')", "httpfs"),
    ("http://127.0.0.1:9/x.csv", "address"),
    ("FROM sqlite_scan('shop.db', 't')", "sqlite_scan"),
    ("FROM enable_logging('QueryLog', storage = 'file', storage_path = 'owned')", "enable_logging"),
    ("FROM query('SELECT 1')", "query"),
    ("FROM arrow_scan(1, 2, 3)", "arrow_scan"),
    ("SELECT * FROM (SELECT 1 AS a), LATERAL (SELECT count(*) FROM enable_profiling())", "enable_profiling"),
]
NEWER = ("WITH a AS (INSERT INTO t VALUES (1) RETURNING a) FROM a", "WITH a AS (COPY t TO 'owned.csv') FROM a")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"id": range(100, 130), "body": TEXTS, "topic": labels()}).to_csv("texts.csv", index=False)
    with duckdb.connect("shop.db") as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    return runner(monkeypatch, capsys)


def everything() -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in Path().rglob("*") if file.is_file()}


@pytest.mark.parametrize(("query", "why"), WRITING)
@pytest.mark.usefixtures("run")
def test_a_query_that_writes_is_refused_and_nothing_is_changed(query: str, why: str) -> None:
    before = everything()
    with pytest.raises(ValueError, match=why):
        read_table(query)
    assert everything() == before


@pytest.mark.parametrize("query", NEWER)
@pytest.mark.parametrize("first", ["", "SELECT 1; "])
@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.usefixtures("run")
def test_a_select_that_writes_on_the_way_is_refused(query: str, first: str, trusted: bool) -> None:
    before = everything()
    with pytest.raises(ValueError, match="query"):
        read_table(first + query, trusted=trusted)
    assert everything() == before


@pytest.mark.usefixtures("run")
def test_queries_may_prepare_what_they_read() -> None:
    read = "LOAD json; SET VARIABLE top = 3; CREATE TEMP TABLE u AS SELECT 2 AS a; "
    assert read_table(read + "FROM u SELECT a + getvariable('top') AS b").column("b").tolist() == [5]
    attached = "ATTACH 'shop.db' AS shop (READ_ONLY); USE shop; CREATE TEMP VIEW v AS FROM shop.t; FROM v"
    assert read_table(attached).column("a").tolist() == [1]


@pytest.mark.usefixtures("run")
def test_a_name_in_a_query_is_no_variable_of_this_program() -> None:
    for name in ("connection", "text", "last"):
        with pytest.raises(ValueError, match="does not exist"):
            read_table(f"FROM {name}")


@pytest.mark.parametrize(("source", "why"), UNTRUSTED)
@pytest.mark.parametrize("dry", [True, False])
def test_what_a_config_asks_for_beyond_one_select_is_refused(source: str, why: str, dry: bool, run: Run) -> None:
    command = {"source": source, "text": "body", "label": "topic"}
    Path("config.json").write_text(json.dumps({"command": command}), encoding="utf-8")
    before = everything()
    code, out, err = run("train", "--config", "config.json", *(["--dry-run"] if dry else []))
    assert (code, out) == (2, "")
    assert why in err
    assert everything() == before


def test_a_config_may_name_a_file_or_one_select_over_files(run: Run) -> None:
    for i, source in enumerate(["texts.csv", LONG, "FROM read_csv('texts.csv', header = true)"]):
        command = {"source": source, "text": "body", "label": "topic"}
        Path("config.json").write_text(json.dumps({"command": command}), encoding="utf-8")
        options = ("--epochs", "1", "--network", "lstm", "--no-report", "--json")
        code, out, err = run("train", "--config", "config.json", *options, "-o", f"run{i}")
        assert (code, err, json.loads(out)["labeled"]) == (0, "", 20)


def test_a_query_given_beside_a_config_is_the_users_own(run: Run) -> None:
    Path("config.json").write_text(json.dumps({"command": {"source": "x.csv", "text": "body"}}), encoding="utf-8")
    query = "SET VARIABLE a = 1; FROM 'texts.csv'"
    code, _, err = run("train", query, "--config", "config.json", *TRAIN)
    assert (code, err) == (0, "")


def test_queries_may_be_longer_than_a_file_name(run: Run) -> None:
    assert len(LONG) > 255
    code, out, err = run("train", LONG, *TRAIN)
    assert (code, err, json.loads(out)["labeled"]) == (0, "", 20)
    query = "SELECT * FROM 'new.csv' WHERE " + " OR ".join(f"key = '{key}'" for key in "abcd" * 10)
    new_rows().to_csv("new.csv", index=False)
    train_run("words", folder="words")
    code, out, err = run("predict", "words", query, "--json")
    assert (code, err, json.loads(out)["texts"]) == (0, "", 4)
    code, _, err = run("build", LONG, "--text", "body", "-o", "graph")
    assert (code, err) == (0, "")
    code, _, err = run("ingest", "--edges", f"SELECT id AS src, id + 1 AS dst FROM ({LONG})", "-o", "edges")
    assert (code, err) == (0, "")


@pytest.mark.parametrize(
    ("query", "names", "computed"),
    [
        ("SELECT * FROM 'a.csv'", {"a.csv"}, False),
        ("FROM b.csv", {"b.csv", "csv"}, False),
        ("FROM read_csv(['a.csv', 'b[1].csv'], header = true)", {"a.csv", "b[1].csv"}, False),
        ("SELECT (SELECT count(*) FROM 'c.csv') FROM range(3)", {"c.csv"}, False),
        ("WITH x AS (FROM 'd.csv') SELECT 1 WHERE EXISTS (FROM x)", {"d.csv"}, False),
        ("FROM read_csv('a' || '.csv')", {"a", ".csv"}, True),
        ("FROM read_csv((SELECT file FROM glob('*.csv')))", {"*.csv"}, True),
        ("FROM delta_scan('folder')", {"folder"}, False),
        ("FROM query('FROM ''a.csv''')", {"FROM 'a.csv'"}, True),
    ],
)
def test_files_that_a_query_names_are_found_in_its_syntax_tree(query: str, names: set[str], computed: bool) -> None:
    found, unsure = referenced_files(parse_sql(connect(), query))
    assert names <= set(found)
    assert unsure is computed
