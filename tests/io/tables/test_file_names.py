"""A file or folder that is there as it stands is read as it stands, whatever signs are in its name."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

from ngm import Graph, open_graph, read_graph, read_table, save_graph
from ngm.io.tables.stream import open_stream
from ngm.text.glove import _convert
from tests.commands import Run, runner
from tests.predictions import NEW, new_rows, train

NAMES = [
    "e[1]",
    "e*",
    "e?",
    "e[!x]",
    "it's",
    'a "b"',
    "über uns",
    "two\nlines",
    "~",
    "back\\slash",
    "a{b}c",
    "k=v",
    "file:",
]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    return runner(monkeypatch, capsys)


def to_parquet(file: Path, **columns: object) -> None:
    """Written under a plain name and renamed, so that DuckDB is not told the name."""
    duckdb.connect().register("columns", pd.DataFrame(columns, dtype=object)).execute(
        "COPY columns TO 'plain' (FORMAT parquet)"
    )
    Path("plain").rename(file)


def write(file: Path, value: int) -> None:
    """A table of one row, in the format that the name says."""
    frame = pd.DataFrame({"src": [value], "dst": [value + 1]})
    file.parent.mkdir(exist_ok=True)
    if file.suffix == ".parquet":
        to_parquet(file, src=[value], dst=[value + 1])
    elif file.suffix == ".jsonl":
        file.write_text(frame.to_json(orient="records", lines=True), encoding="utf-8")
    else:
        content = frame.to_csv(index=False).encode()
        file.write_bytes(gzip.compress(content) if file.suffix == ".gz" else content)


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "jsonl"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("run")
def test_a_table_is_read_by_its_own_name(name: str, kind: str) -> None:
    for value, other in enumerate(["e1", "ex", "ey", name]):  # the others are what the name means as a pattern
        write(Path(f"{other}.{kind}"), value)
    table = read_table(f"{name}.{kind}")
    assert (table.columns, table.column("src").tolist()) == (("src", "dst"), [3])
    piece = next(open_stream(Path(f"{name}.{kind}")).pieces({"src": "number"}, 9))
    assert piece.column("src").tolist() == [3.0]
    assert read_graph(Path(f"{name}.{kind}")).ids.tolist() == [3, 4]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("run")
def test_a_folder_is_read_by_its_own_name(name: str) -> None:
    for value, other in enumerate(["e1", "ex", name]):
        write(Path(other, "part.parquet"), value)
        write(Path(other, "part.csv"), value)
    assert read_table(Path(name, "part.parquet")).column("src").tolist() == [2]
    Path(name, "part.parquet").unlink()
    assert read_table(Path(name)).column("src").tolist() == [2]
    inside = Path(name).resolve() / ".." / name / "part.csv"
    assert read_table(inside).column("src").tolist() == [2]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("run")
def test_a_graph_folder_is_opened_with_its_own_ids(name: str) -> None:
    graph = Graph.from_edges([[0, 1]])
    for other in ("e1", "ex", name):
        save_graph(other, graph, {"id": [f"{other} u", f"{other} v"]}, id="id")
    data = open_graph(name)
    assert (data.ids.tolist(), data.columns) == ([f"{name} u", f"{name} v"], ("id",))
    read_graph({"src": ["u"], "dst": ["v"]}, folder=name, memory_limit="200MB")
    assert open_graph(name).ids.tolist() == ["u", "v"]
    assert sorted(p.name for p in Path().iterdir()) == sorted(["e1", "ex", name])


@pytest.mark.usefixtures("run")
def test_patterns_work_where_no_file_has_the_name() -> None:
    for value, name in enumerate(["p1.csv", "p[1].csv", "p2.csv"]):
        write(Path(name), value)
    assert read_table("p[12].csv").column("src").tolist() == [0, 2]
    assert read_table("p*.csv").column("src").tolist() == [0, 2, 1]  # by name: 1, 2, [
    assert read_table("p[1].csv").column("src").tolist() == [1]


@pytest.mark.usefixtures("run")
def test_folders_such_as_year_are_columns_only_below_what_is_named() -> None:
    for year in (2023, 2024):
        Path(f"seed=1/parts/year={year}").mkdir(parents=True)
        to_parquet(Path(f"seed=1/parts/year={year}/x.parquet"), src=[year])
    assert read_table("seed=1/parts/year=2023/x.parquet").columns == ("src",)
    assert read_table("seed=1/parts/year=2023").columns == ("src",)
    assert "year" in read_table("seed=1/parts").columns
    pd.DataFrame({"seed": ["own"]}).to_csv("seed=1/x.csv", index=False)
    assert read_table("seed=1/x.csv").column("seed").tolist() == ["own"]


@pytest.mark.usefixtures("run")
def test_a_name_that_duckdb_cannot_be_told_is_refused_by_name() -> None:
    write(Path("a\\b[1].csv"), 1)
    with pytest.raises(ValueError, match=r"a\\b\[1\].csv has both a backslash and one of"):
        read_table("a\\b[1].csv")


@pytest.mark.parametrize("name", ["e[1]", "it's", "~"])
def test_predictions_are_of_the_file_and_go_to_the_file_that_was_named(name: str, run: Run) -> None:
    train("words")
    new_rows().assign(body=NEW[0]).to_csv("e1.csv", index=False)
    new_rows()[:4].to_csv(f"{name}.csv", index=False)
    for out in (f"{name} out.parquet", f"{name} out.csv"):
        code, said, _ = run("predict", "run", f"{name}.csv", "--id", "key", "-o", out, "--json")
        assert (code, json.loads(said)["texts"]) == (0, 4)
        assert read_table(out).column("key").tolist() == ["a", "b", "c", "d"]


@pytest.mark.usefixtures("run")
def test_word_vectors_are_unpacked_in_any_temporary_folder(tmp_path: Path) -> None:
    for folder, word in (("t1", "wrong"), ("t[1]", "right")):
        (tmp_path / folder).mkdir()
        to_parquet(tmp_path / folder / "words.parquet", index=[word])
    np.save(tmp_path / "v.npy", np.ones((1, 2), dtype=np.float32))
    _convert(tmp_path / "t[1]" / "words.parquet", tmp_path / "v.npy", tmp_path / "all.npz")
    with np.load(tmp_path / "all.npz") as found:
        assert found["words"].tolist() == ["right"]


def test_a_name_that_is_not_utf_8_is_refused_in_one_line(run: Run) -> None:
    name = os.fsdecode(b"a\xff.csv")
    Path(name).write_text("src,dst\n1,2\n", encoding="utf-8")
    Path("ok.csv").write_text("src,dst\n1,2\n", encoding="utf-8")
    for edges, output in ((name, "out"), ("ok.csv", os.fsdecode(b"out\xff"))):
        code, _, err = run("ingest", "--edges", edges, "-o", output)
        assert code == 2
        assert "is not valid UTF-8" in err
    assert sorted(p.name for p in Path().iterdir()) == sorted([name, "ok.csv"])
