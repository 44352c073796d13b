"""No command writes over what it reads."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ngm import Graph, read_graph, read_table, save_graph
from ngm.io.tables.output_overlap import input_files
from tests.commands import Run, runner
from tests.predictions import NEW, new_rows, train

SAME = "which is read from the query; name another file"
QUERIES = [
    "FROM 'new.csv'",
    "SELECT * FROM new.csv",
    'SELECT * FROM "new.csv"',
    "SELECT * FROM read_csv('new.csv')",
    "SELECT * FROM read_csv(['new.csv'], header = true)",
    "SELECT * FROM read_csv($$new.csv$$)",
    "SELECT * FROM 'ne*.csv'",
    "SELECT * FROM read_csv('./../work/new.csv')",
    "SELECT * FROM 'link.csv'",
    "SELECT * FROM 'hard.csv'",
    "SELECT * FROM read_csv('file://{here}/new.csv')",
    "WITH a AS (FROM 'new.csv') SELECT * FROM a",
    "SELECT * FROM 'other.csv' WHERE key IN (SELECT key FROM 'new.csv')",
    "SELECT * FROM (SELECT * FROM 'other.csv' UNION ALL SELECT * FROM 'new.csv')",
    "ATTACH 'new.csv' AS a; SELECT 1 AS body",
]
UNSURE = [
    "SELECT * FROM read_csv('ne' || 'w.csv')",
    "SELECT * FROM read_csv((SELECT 'new' || '.csv'))",
    "SET VARIABLE f = concat('new', '.csv'); FROM read_csv(getvariable('f'))",
    "SET VARIABLE a = 1; CREATE TEMP MACRO f(a) AS TABLE FROM read_csv(a || '.csv'); FROM f('new')",
    "FROM query('FROM ''new' || '.csv''')",
]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """A folder with tables, links to them, a folder of parts, a graph folder and a run that reads texts."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    new_rows().to_csv("new.csv", index=False)
    new_rows().to_csv("other.csv", index=False)
    Path("link.csv").symlink_to("new.csv")
    os.link("new.csv", "hard.csv")
    Path("parts/deep").mkdir(parents=True)
    new_rows().to_csv("parts/one.csv", index=False)
    new_rows().to_csv("parts/deep/two.csv", index=False)
    save_graph("g", Graph.from_edges([[0, 1]], num_nodes=11), {"body": NEW})
    return runner(monkeypatch, capsys)


@pytest.fixture
def words(run: Run) -> Run:
    train("words")
    return run


def everything() -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in Path().rglob("*") if file.is_file()}


@pytest.mark.parametrize("query", QUERIES)
def test_predictions_do_not_replace_a_table_that_a_query_reads(query: str, run: Run) -> None:
    before = everything()
    code, out, err = run("predict", "run", query.format(here=Path.cwd()), "-o", "new.csv")
    assert (code, out, err) == (2, "", f"error: --output is 'new.csv', {SAME}")
    assert everything() == before


@pytest.mark.parametrize("query", UNSURE)
def test_a_file_that_is_there_is_not_replaced_where_nobody_knows_what_a_query_reads(query: str, run: Run) -> None:
    before = everything()
    code, out, err = run("predict", "run", query, "-o", "new.csv")
    assert (code, out) == (2, "")
    assert err.endswith("it is unknown whether the query reads it; name a new file")
    assert everything() == before


@pytest.mark.parametrize(
    ("source", "output", "said"),
    [
        ("new.csv", "new.csv", "the table itself"),
        ("new.csv", "link.csv", "the table itself"),
        ("new.csv", "hard.csv", "the table itself"),
        ("link.csv", "parts/../new.csv", "the table itself"),
        ("parts", "parts/one.csv", "which is read from parts"),
        ("parts", "parts/deep/two.csv", "which is read from parts"),
        ("parts/*.csv", "parts/one.csv", "which is read from parts/*.csv"),
        ("n*.csv", "hard.csv", "which is read from n*.csv"),
        ("g", "g/nodes.parquet", "a file of the graph folder itself"),
        ("new.csv", "g/nodes.parquet", "a file of the graph folder itself"),
        ("g", "nodes.parquet", "which is read from g"),
        ("new.csv", "run/history.jsonl", "a file of the run folder itself"),
    ],
)
def test_predictions_do_not_replace_what_is_read(source: str, output: str, said: str, words: Run) -> None:
    Path("nodes.parquet").symlink_to("g/nodes.parquet")
    before = everything()
    code, out, err = words("predict", "run", source, "-o", output)
    assert (code, out, err) == (2, "", f"error: --output is {output!r}, {said}; name another file")
    assert everything() == before


def test_predictions_are_replaced_by_later_ones(words: Run) -> None:
    for source in ("new.csv", "SELECT * FROM 'new.csv' WHERE key < 'x'", "parts/*.csv", "g"):
        for _ in range(2):
            code, out, _ = words("predict", "run", source, "-o", "classes.csv", "--json")
            assert (code, json.loads(out)["predictions"]) == (0, "classes.csv")
    code, _, _ = words("predict", "run", "SET VARIABLE a = 1; FROM 'new.csv'", "-o", "first.csv")
    assert (code, len(read_table("first.csv"))) == (0, 11)


@pytest.mark.parametrize("source", ["g/edges.csv", "g/*.csv", "FROM 'g/edges.csv'", "FROM read_csv('g/e*.csv')"])
def test_a_graph_does_not_replace_the_folder_that_its_tables_are_in(source: str, run: Run) -> None:
    Path("g/edges.csv").write_text("src,dst\n0,1\n", encoding="utf-8")
    before = everything()
    said = "error: g holds the input edges.csv, and would be replaced; name another folder"
    assert run("ingest", "--edges", source, "-o", "g") == (2, "", said)
    assert run("build", source, "--columns", "src,dst", "-o", "./g")[::2] == (2, said)
    with pytest.raises(ValueError, match="holds the input"):
        read_graph(source, folder="g")
    assert everything() == before
    assert run("ingest", "--edges", source, "-o", "h")[0] == 0
    assert run("ingest", "--edges", source, "-o", "h")[0] == 0  # an older graph is replaced


def test_a_graph_is_not_built_into_the_folder_of_its_own_nodes(run: Run) -> None:
    before = everything()
    code, _, err = run("build", "g/nodes.parquet", "--text", "body", "-o", "g")
    assert (code, err) == (2, "error: g holds the input nodes.parquet, and would be replaced; name another folder")
    assert everything() == before


def test_a_run_does_not_replace_the_folder_that_its_table_is_in(words: Run) -> None:
    new_rows().to_csv("run/log.csv", index=False)
    before = everything()
    code, out, err = words("train", "run/log.csv", "--text", "body", "--label", "topic", "-o", "run")
    assert (code, out, err) == (
        2,
        "",
        "error: run holds the input log.csv, and would be replaced; name another folder",
    )
    assert everything() == before


@pytest.mark.usefixtures("run")
def test_inputs_are_listed_whatever_they_are() -> None:
    assert input_files("new.csv") == ([Path("new.csv")], False)
    assert {file.name for file in input_files("parts")[0]} == {"one.csv", "two.csv"}
    assert input_files("s3://bucket/x.csv") == ([], False)
    assert input_files("FROM 's3://bucket/*.csv'") == ([], False)
